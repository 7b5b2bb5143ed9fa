#!/usr/bin/env python3
"""Whether "Adding things" (interpreter/README.md) is true: adds one of each kind to a copy of the tree, in no other files than its row
names, builds the copy, and runs a script that uses what was added.

    adding.py [KIND...]      all kinds, or those whose row begins so; ends with "N passed, N failed"

Not part of the suite: it builds the program (in build-adding, which is kept for the next time). Run from the repository's root.
"""
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
COPY = ROOT / 'build-adding'


def new(text):
    return ('new', text)


def after(anchor, text):
    return ('after', anchor, text)


def before(anchor, text):
    return ('before', anchor, text)


OPERATION = '''
  t.add(composite_row(
      "tripled", "tripled(x)", "x * 3.",
      [](Builder& b, std::span<const Var> in, const Attrs&) -> Vars { return {Expr{b, in[0]} * 3.0}; }, unary_samples()));
'''
VIEW = '''
  OpDef back{.name = "backwards", .signature = "backwards(x)", .doc = "The elements along the last dimension, from its end."};
  back.factors = [](const OpCall& call) {
    RuleBuilder r;
    auto dims = r.dims(call.in[0].shape);
    r.rule.factors[static_cast<std::size_t>(dims.back()[0])].kind = halo_of(call.in[0]);
    r.rule.operands = {dims};
    r.rule.results = {dims};
    return r.rule;
  };
  back.dtype.operands = Operands::AsIs;
  back.derivative = Transposes{{}, false, [](Builder& b, const NodeView& n, int, std::span<const Var> ct, const Type&) {
                                 return b.emit1(n.call.op, {ct[0]}, n.call.attrs);
                               }};
  back.kernel = ir::ViewOf{[](const Strided& x, const Attrs&, const Shape&) -> std::optional<Strided> {
                             Strided out = x;
                             out.offset += (out.shape.back() - 1) * out.strides.back();
                             out.strides.back() = -out.strides.back();
                             return out;
                           },
                           false};
  back.internal = true;
  back.samples = "[4, 6]; i32[4]";
  t.add(std::move(back));
'''
FORMAT = '''// Text in capital letters.
#include <cctype>

#include "stdlib/host/files/format.h"

namespace shard::stdlib {
namespace {

class Loud : public Contents {
 public:
  explicit Loud(Source& file) : file_(file) {}
  void read(std::size_t, const Block&) override {}  // there are no arrays
  lang::Value tree(lang::Interpreter&, std::vector<lang::Value>) override { return lang::Value::string(file_.rest(0)); }

 private:
  Source& file_;
};

}  // namespace

Format loud_format() {
  return {"loud",
          {".loud"},
          "a string",
          [](std::string_view, std::string_view path) { return path.ends_with(".loud"); },
          [](Source& file) -> std::unique_ptr<Contents> { return std::make_unique<Loud>(file); },
          [](lang::Interpreter&, const lang::Value& v, Sink& file) {
            std::string text = v.str();
            for (char& c : text) c = static_cast<char>(std::toupper(c));
            file.write(text);
          }};
}

}  // namespace shard::stdlib
'''
COLLECTIVE_ROW = '''
  table.add(row("plowest", "plowest(x, axes: ints)", "The smallest x along the axes.", {.combine = Reduce::Min}, extreme(),
                infer_reduction));
'''
COLLECTIVE = '''
  define({"plowest", "plowest(x, along)", "The smallest x along a mesh axis.", [](Interpreter& in, BoundArgs& a) -> Value {
            const Along where = along_axes(in, a[1], "plowest", place(a, 1));
            const Tensor x = varying_along(in, in.tensor(a[0], a.span), where);
            return in.context().apply1(in.context().table().at("plowest"), {x}, written_along(where));
          }});
'''
COMMAND = '''// shard greet: says a name.
#include "interpreter/cli/command.h"
#include "interpreter/cli/standard_output.h"

namespace shard::cli {

Command greet_command() {
  return {"greet", "Greet somebody", {{"name", "Who", Option::Word, true}}, false, [](const Arguments& a) {
            write_out("hello " + a.words[0] + "\\n");
            flush_out();
            return 0;
          }};
}

}  // namespace shard::cli
'''
TARGET = '''// The target `second`: lockstep by another name.
#include "interpreter/exec/targets.h"

namespace shard::exec {

std::unique_ptr<const Target> make_second(const ir::OpTable& table, runtime::Pool& pool) { return make_lockstep(table, pool); }

}  // namespace shard::exec
'''
PASS = '''// A pass that leaves a graph as it is.
#include "interpreter/transform/leave.h"

namespace shard::transform {

ir::Graph leave(const ir::Graph& g) { return g; }

}  // namespace shard::transform
'''
HOST = '''
  in.define({"shout", "shout(text)", "A text in capital letters.", [](Interpreter& i, BoundArgs& a) {
               std::string text = i.text(a[0], a.span, "what is shouted");
               for (char& c : text) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
               return Value::string(text);
             }});
'''
WARNING = '''
    {"many-parameters", "A function takes more than twelve parameters.", "By its form, before the script runs.",
     "Pass a record.", "fn f(a, b, c, d, e, g, h, i, j, k, l, m, n) = a\\nprint(f(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13))\\n"},
'''

# The row's first column, what is added where, a script or a command that uses it, and what that prints.
KINDS = [
    ('an operation', {'stdlib/ops/activation.cpp': [after('void register_activation(OpTable& t) {', OPERATION)],
                      'stdlib/examples.txt': [before('== relu\n', '== tripled\nprint(tripled(2.0))   # 6.0\n')]},
     'print(tripled(array([1.0, 2.0])), grad(fn(x) = tripled(x))(1.0))', '[3. 6.] 3.0'),
    ('a file format', {'stdlib/host/files/format_loud.cpp': new(FORMAT),
                       'stdlib/host/files/format.h': [after('Format text_format();', '\nFormat loud_format();')],
                       'stdlib/host/files/formats.cpp': [after('kFormats[] = {', 'loud_format(), ')]},
     'save("{FOLDER}/a.loud", "hello")\nprint(load("{FOLDER}/a.loud"))', 'HELLO'),
    ('a collective', {'stdlib/ops/control/communication.cpp': [after('void register_communication(OpTable& table) {', COLLECTIVE_ROW)],
                      'stdlib/host/devices/collectives.cpp': [before('  define({"pmean",', COLLECTIVE)]},
     '# devices: 4\nmesh m = (@d: 4)\nmanual fn f(x: P(@d)) -> P() { plowest(x, @d) }\nprint(f(arange(4) + 3))\nprint(comm(f, arange(4)).bytes)', '[3]\n4'),
    ('an elementwise code', {}, None, None),
    ('a subcommand', {'interpreter/cli/greet.cpp': new(COMMAND),
                      'interpreter/cli/command.h': [after('Command fmt_command();', '\nCommand greet_command();')],
                      'interpreter/cli/commands.cpp': [after('kCommands[] = {', ' greet_command(),')]},
     ['greet', 'you'], 'hello you'),
    ('a chip', {'stdlib/chips.shard': [after('let h200 = {...h100,', ' name: "h200", memory: 141e9, bandwidth: 4.8e12}\nlet h300 = {...h100, flops: {f32: 1e15},')]},
     None, None),
    ('a target', {'interpreter/exec/second.cpp': new(TARGET),
                  'interpreter/exec/targets.h': [before('std::unique_ptr<const Target> make_lockstep', 'std::unique_ptr<const Target> make_second(const ir::OpTable& table, runtime::Pool& pool);\n')],
                  'interpreter/exec/targets.cpp': [after('kTargets[] = {', '\n      {"second", "Lockstep by another name.", make_second},')]},
     ['engines'], 'second    Lockstep by another name.'),
    ('an alias', {'stdlib/ops/math.cpp': [after('{"absolute"', ', "magnitude_of"')]},
     'magnitude_of(-1)', '`abs`'),
    ('a row that only moves elements', {'stdlib/ops/moving/rotate.cpp': [after('void register_rotate(OpTable& t) {', VIEW)]},
     None, None),
    ('a pass', {'interpreter/transform/leave.cpp': new(PASS),
                'interpreter/transform/leave.h': new('// See leave.cpp.\n#pragma once\n#include "interpreter/ir/graph.h"\n\nnamespace shard::transform {\n\nir::Graph leave(const ir::Graph& g);\n\n}  // namespace shard::transform\n'),
                'interpreter/transform/pipeline.cpp': [before('#include "interpreter/transform/loop_cleanup.h"', '#include "interpreter/transform/leave.h"\n'),
                                                       before('  after("inline calls"', '  whole = leave(whole);\n')]},
     'jit fn f(x) = x + 1\nprint(f(1.0))', '2.0'),
    ('a warning', {'interpreter/lang/warnings/warnings.cpp': [after('kWarnings[] = {', WARNING)]}, ['help', 'many-parameters'], 'more than twelve parameters'),
    ('a host function', {'stdlib/host/values/texts.cpp': [after('void register_texts(Interpreter& in) {', HOST)]}, 'print(shout("hi"))', 'HI'),
]


def rows():
    """The table: first column to the paths in its second."""
    page = (ROOT / 'interpreter/README.md').read_text()
    table = page[page.index('## Adding things'):].split('\n## ')[1] if False else page[page.index('## Adding things'):]
    out = {}
    for line in table.split('\n'):
        cells = [c.strip() for c in line.split('|')]
        if len(cells) > 3 and cells[1] and not set(cells[1]) <= set('- '):
            out[cells[1]] = re.findall(r'`([^`]+)`', cells[2])
    return out


def named(path, row):
    """Whether the row names this file: whole, by its folder, by a placeholder, or by the end of its path."""
    for name in row:
        pattern = re.escape(name).replace('<name>', '[^/]+').replace(r'\.\.\.', '.*')
        if re.search(rf'(^|/){pattern}($|/)', path) or re.search(rf'(^|/){pattern}', path) and name.endswith('...'): return True
    return False


def add(kind, files, table):
    row = next(places for first, places in table.items() if first.startswith(kind))
    for path, edits in files.items():
        if path != 'stdlib/examples.txt': assert named(path, row), f'{kind}: its row does not name {path}'
        place = COPY / path
        if edits[0] == 'new':
            place.write_text(edits[1])
            continue
        text = place.read_text()
        for how, anchor, more in edits:
            assert text.count(anchor) >= 1, f'{kind}: {path} does not hold {anchor!r}'
            at = text.index(anchor) + (len(anchor) if how == 'after' else 0)
            text = text[:at] + more + text[at:]
        place.write_text(text)


def uses(kind, use, prints):
    with tempfile.TemporaryDirectory() as folder:
        if isinstance(use, str):
            script = pathlib.Path(folder, 'a.shard')
            script.write_text(use.replace('{FOLDER}', folder) + '\n')
            use = ['run', str(script)]
        done = subprocess.run([str(COPY / 'build/shard'), *use], capture_output=True, text=True)
    good = prints in done.stdout + done.stderr
    print(('ok      ' if good else 'FAILED  ') + kind + ('' if good else f': {done.stdout}{done.stderr}'))
    return good
