#!/usr/bin/env python3
"""Whether "Adding things" (interpreter/README.md) is true: one of each kind is added to a copy of the tree, in no files but those that its
row names, and used.

    adding.py [KIND...]   all kinds, or those whose first column has one of these words; closes with "N passed, N failed"

What a row's "its page" says under "To add ..." counts as part of the row. No part of the suite, as it builds the program; the
copy with its build stays in build-adding/, so that the next time only what changed is compiled (CMAKE_BUILD_PARALLEL_LEVEL=1: a file at a
time). All patches are built together, whatever KIND is asked for. Run from the repository's root.
"""
import json, os, pathlib, re, subprocess, sys, tempfile

COPY = pathlib.Path('build-adding')
PAGE = 'interpreter/README.md'
EXAMPLES = 'stdlib/examples.txt'   # which the sentence above the table asks for


def message(method, id=None, **params):   # as the language server is sent them
    body = json.dumps({'jsonrpc': '2.0', 'method': method, 'params': params, **({'id': id} if id else {})})
    return f'Content-Length: {len(body)}\r\n\r\n{body}'


# By first column: the patches, and of each use the words for `shard` (FILE: a script of this text; else it is the standard input), the
# text, and what is printed. A patch is a path, and what stands there in a new file, or `after` or `instead of` a text that is there (after
# the end of a line: as lines of its own).
KINDS = {
    'an operation': (r'''
=== stdlib/ops/activation.cpp after   register_rectifiers(t);
  add_composite(t, "tripled(x)", "x * 3.", unary_samples(),
                [](Builder& b, std::span<const Var> in, const Attrs&) -> Vars { return {Expr{b, in[0]} * 3.0}; });
=== stdlib/examples.txt after === Elementwise
== tripled
print(tripled(2.0))   # 6.0
''', [('run FILE', 'print(tripled(array([1.0, 2.0])), grad(tripled)(1.0))', '[3. 6.] 3.0\n'), ('help tripled', '', 'print(tripled(2.0))')]),
    'a file format': (r'''
=== stdlib/host/files/format_loud.cpp
// A text in capital letters.
#include "stdlib/host/files/format.h"

namespace shard::stdlib {
struct Loud : Contents {
  explicit Loud(Source& file) : text(file.rest(0)) {}
  void read(std::size_t, const ArrayPart&) override {}  // there are no arrays
  Value tree(std::vector<Value>) override { return Value::string(text); }
  std::string text;
};

Format loud_format() {
  return {"loud", {".loud"}, "a string", [](std::string_view, std::string_view path) { return path.ends_with(".loud"); }, opened<Loud>,
          [](Interpreter&, const Value& v, Sink& file) {
            std::string text = v.str();
            for (char& c : text) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
            file.write(text);
          }};
}
}  // namespace shard::stdlib
=== stdlib/host/files/format.h after Format text_format();
Format loud_format();
=== stdlib/host/files/formats.cpp after kFormats[] = {
loud_format(),
''', [('run FILE', 'save("a.loud", "hello")\nprint(load("a.loud"), read_text("a.loud"))', 'HELLO HELLO\n')]),
    'a collective': (r'''
=== stdlib/ops/control/collective.cpp after void register_collective(OpTable& table) {
  table.add(row("pproduct(x, axes: ints)", "The product of x over the devices along the axes.", {.combine = Reduce::Prod},
                ir::NotDifferentiable{"nobody has written it down"}, infer_reduction));
=== stdlib/host/devices/collectives.cpp after enum class Reduction { Sum, Mean, Max, Min };

Value pproduct(Interpreter& in, BoundArgs& a) {
  const Along where = along_axes(in, a[1], "pproduct", a.args[1].span);
  return over_tree(in, a[0], a.span, [&](const Tensor& given) -> Value {
    Tensor x = as_number(in, given);
    for (const MappedAxis& axis : where.mapped) x = mapped_product(in, x, axis);
    return where.axes.empty() ? x : over_axes(in, in.context().table().at("pproduct"), x, where);
  });
}
=== stdlib/host/devices/collectives.cpp after           {"all_reduce", "allreduce"}});
  define({"pproduct", "pproduct(x, along)", "The product of x over the devices along a mesh axis.", pproduct});
=== stdlib/host/devices/along.h after Tensor mapped_sum(Interpreter& in, const Tensor& x, const MappedAxis& axis);
Tensor mapped_product(Interpreter& in, const Tensor& x, const MappedAxis& axis);
=== stdlib/host/transforms/mapped_collectives.cpp after { return apply(in, "mapped_sum", x, axis); }

Tensor mapped_product(Interpreter& in, const Tensor& x, const MappedAxis& axis) {
  const std::int64_t front = -static_cast<std::int64_t>(x.type().rank()) - 1;
  Tensor all = apply(in, "mapped_gather", x, axis, {{"axis", front}, {"size", axis.size}});
  return in.context().apply1(in.context().table().at("prod"), {all}, {{"axis", ir::Ints{front}}});
}
=== stdlib/examples.txt after === Elementwise
== pproduct
mesh m = (@X: 4)
manual fn f(x: P(@X)) -> P() = pproduct(x[0], @X)
print(f(arange(4) + 1))   # 24
''', [('run FILE', '# devices: 4\nmesh m = (@d: 4)\nmanual fn f(x: P(@d)) -> P() = pproduct(x, @d)\nlet x = arange(4) + 1\n'
       'print(f(x), comm(f, x), vmap(fn(x) = pproduct(x, @i), axis: @i)(x))', '[24] {pproduct: {count: 1, bytes: 4}} [24 24 24 24]\n')]),
    'a method of the language server': (r'''
=== interpreter/lsp/line_count.cpp
// How many lines a text has.
#include "interpreter/lsp/features.h"

namespace shard::lsp {
std::string line_count(Session& s, const Params& p) { return number(static_cast<std::int64_t>(s.document(p).text.lines())); }
}  // namespace shard::lsp
=== interpreter/lsp/features.h after std::string folding_ranges(Session& s, const Params& p);
// line_count.cpp
std::string line_count(Session& s, const Params& p);
=== interpreter/lsp/methods.cpp after     {"textDocument/foldingRange", folding_ranges},
    {"shard/lineCount", line_count},
=== interpreter/lsp/methods.cpp after       {"foldingRangeProvider", yes},
      {"experimental", object({{"lineCount", yes}})},
''', [('lsp', message('initialize', 1, capabilities={}) + message('initialized') +
       message('textDocument/didOpen', textDocument={'uri': 'file:///a.shard', 'languageId': 'shard', 'version': 1, 'text': '1\n2\n3'}) +
       message('shard/lineCount', 2, textDocument={'uri': 'file:///a.shard'}) + message('shutdown', 3) + message('exit'), pattern)
      for pattern in ('"lineCount":true', '"id":2,"result":3')]),
    'a subcommand': (r'''
=== interpreter/cli/greet.cpp
// shard greet: says a name.
#include "interpreter/cli/command.h"
#include "interpreter/cli/standard_output.h"

namespace shard::cli {
Command greet_command() {
  return {"greet", "Greet somebody", {{"name", "Whom", Option::Word, true}}, false,
          [](const Arguments& a) { return print_out("hello " + a.words[0] + "\n"); }};
}
}  // namespace shard::cli
=== interpreter/cli/command.h after Command fmt_command();
Command greet_command();
=== interpreter/cli/commands.cpp after kCommands[] = {
      greet_command(),
''', [('greet world', '', 'hello world\n'), ('greet --help', '', 'Greet somebody')]),
    'an elementwise function': (r'''
=== runtime/kernels/codes.h after #define SHARD_CODES(CODE)                                              \
  CODE(TwoTo, 1, Same, 12, kFloats, nullptr)                           \
=== runtime/kernels/vector/functions.h after SHARD_LOOP double Sigmoid(double x) { return 1.0 / (1.0 + exp(-x)); }
SHARD_LOOP float TwoTo(float x) { return Exp(x * 0.6931471805599453f); }
SHARD_LOOP double TwoTo(double x) { return exp(x * 0.6931471805599453); }
=== stdlib/ops/math.cpp after #include <numbers>

#include "interpreter/hlo/writer.h"
=== stdlib/ops/math.cpp after void register_circular(OpTable& t) {
  t.add(unary_row("two_to(x)", "2 to the power x.", Code::TwoTo, kInexact, [](Expr, Expr y) { return std::numbers::ln2 * y; }))
      .hlo = [](const hlo::Use& u) -> hlo::Values { return {hlo::unary("exponential", u.in[0] * std::numbers::ln2)}; };
=== stdlib/examples.txt after === Elementwise
== two_to
print(two_to(3.0))   # 8.0
''', [('run FILE', 'print(two_to(array([1.0, 3.0])).round(4), grad(two_to)(f64(0.0)))', '[2. 8.] 0.6931471805599453\n'),
      ('run FILE', 'print(export_stablehlo(two_to, f32[4]))', 'stablehlo.exponential')]),
    'a chip': (r'''
=== stdlib/chips.shard after   memory: 141e9, bandwidth: 4.8e12}
let h300 = {...h200, name: "h300", described: "one of a test", memory: 300e9}
''', [('estimate --chip h300 FILE', 'jit fn f(x) = x @ x\nlet y = f(ones([512, 512]))', 'h300'),
      ('run FILE', 'import chips\nprint(chips.h300.memory)', '300000000000.0\n')]),
    'a target': (r'''
=== interpreter/exec/second.cpp
// The target `second`: lockstep by another name.
#include "interpreter/exec/target.h"

namespace shard::exec {
std::unique_ptr<const Target> make_second(const ir::OpTable& table, runtime::Pool& pool) { return make_lockstep(table, pool); }
}  // namespace shard::exec
=== interpreter/exec/target.h after                                             bool nan_check = false);
std::unique_ptr<const Target> make_second(const ir::OpTable& table, runtime::Pool& pool);
=== interpreter/exec/targets.cpp after kTargets[] = {
      {"second", "Lockstep by another name.", make_second},
''', [('run FILE --engine second', 'print(sum(arange(5)))', '10\n'), ('engines', '', 'second    Lockstep by another name.')]),
    'an alias ("users of NumPy write ...")': (r'''
=== stdlib/ops/math.cpp after size.aliases = {"absolute"
, "magnitude_of"
''', [('run FILE', 'print(magnitude_of(-1))', '`abs`')]),
    'a row that only moves elements (view, transpose, broadcast)': (r'''
=== stdlib/ops/moving/reshaping.cpp after void register_size_one(OpTable& t) {
  OpDef turned = row_of("turned(x)", "The last two dimensions in the other order.", "*b m n -> *b n m");
  static const auto order = [](std::size_t rank) {
    std::vector<int> out(rank);
    std::iota(out.begin(), out.end(), 0);
    std::swap(out[rank - 2], out[rank - 1]);
    return out;
  };
  turned.dtype.operands = Operands::AsIs;
  turned.derivative = linear([](Builder& b, const NodeView& n, Var ct, const Type&) { return b.emit1(n.call.op, {ct}, {}); });
  turned.hlo = [](const hlo::Use& u) -> hlo::Values {
    const std::vector<int> by = order(u.in[0].shape.size());
    return {hlo::transpose(u.in[0], Ints(by.begin(), by.end()))};
  };
  turned.kernel = ir::ViewOf{[](const Strided& x, const Attrs&, const Shape&) -> std::optional<Strided> {
    return runtime::permuted(x, order(x.shape.size()));
  }};
  turned.flops = 0;
  turned.samples = "[4, 6]; [2, 4, 6]; i32[4, 4]";
  t.add(std::move(turned));
=== stdlib/examples.txt after === Elementwise
== turned
print(turned(array([[1, 2], [3, 4]])))   # [[1 3] [2 4]]
''', [('run FILE', '# devices: 2\nmesh m = (@d: 2) explicit\nlet x = shard arange(4.0).reshape([2, 2]) as P(@d)\n'
       'print(turned(x).sum(axis: 0, out: P()), typeof(turned(x)), vmap(turned)(ones([3, 2, 1])).shape, grad(fn(x) = sum(turned(x) * x))(ones([2, 2])))',
       '[1. 5.] f32[2,2@d] (3, 1, 2) [[2. 2.]\n')]),
    'a kind of loop or branch': (r'''
=== interpreter/ir/op.h after   Constant,  // attrs: value (number or bool), dtype, weak; a scalar
  Repeat,    // regions [body]; attrs times, consts (a count, none where it is left out). in: consts, carry; out: carry
=== interpreter/ir/region_edges.cpp after     case Structure::While: return while_edges(while_wiring(attrs), operands);
    case Structure::Repeat: {
      const std::size_t fixed = attrs.has(kConsts) ? count(attrs, kConsts) : 0;
      return scan_edges({fixed, operands - fixed, attrs.integer("times")}, operands, regions[0]->results.size());
    }
=== interpreter/ir/region_edges.cpp after WhileWiring{edges.constants(0).count, edges.constants(1).count});
  } else if (kind == Structure::Repeat) {
    attrs.set(kConsts, whole(edges.constants(0).count));
=== stdlib/ops/control/control.cpp after void register_control(ir::OpTable& table) {
  OpDef repeat = internal_row("repeated(values: arrays)", "A body run a number of times that is known.");
  repeat.kernel = ir::Structure::Repeat;
  repeat.derivative = ir::NotDifferentiable{"nobody has written it down"};
  repeat.infer = [](const OpCall& call) {
    const auto carry = call.in.last(call.regions[0]->results.size());
    return std::vector<Type>(carry.begin(), carry.end());
  };
  table.add(std::move(repeat));
  OpDef doubled = row_of("doubled(x, times: int)", "x + x, and so on, so many times.");
  doubled.kernel = ir::Compose([](Builder& b, std::span<const Var> in, const Attrs& attrs) -> Vars {
    Builder body = transform::builder_like(b.table(), b.graph());
    const Var x = body.param(b.type(in[0]));
    const GraphRef turn = share(body.finish({ir::add(body, x, x)}));
    return b.emit(b.table().at("repeated"), {in[0]}, {{"times", attrs.integer("times")}}, {turn});
  });
  doubled.samples = "[4] times=3";
  table.add(std::move(doubled));
=== stdlib/examples.txt after === Elementwise
== doubled
print(doubled(1.0, 10))   # 1024.0
''', [('run FILE', '# devices: 2\nmesh m = (@d: 2)\njit fn f(x) = doubled(x, 3)\nlet x = f(shard arange(4.0) as P(@d))\n'
       'print(x, sharding(x), doubled(1, 0))', '[ 0.  8. 16. 24.] P(@d) 1\n'),
      ('run FILE', 'print(export_stablehlo(fn(x) = doubled(x, 3), f32[4]))', 'stablehlo.while'),
      ('estimate --chip h100 --json FILE', 'jit fn f(x) = doubled(x, 3)\nlet y = f(ones([512, 512]))', '"step_seconds"')]),
    'a pass': (r'''
=== interpreter/transform/negations.cpp
// What is negated twice is itself.
#include "interpreter/transform/passes.h"
#include "interpreter/transform/regions.h"

namespace shard::transform {
ir::Graph without_negations(const ir::OpTable& table, const ir::Graph& graph) {
  ir::Builder b = builder_like(table, graph);
  ir::GraphCopy copy(b, graph);
  copy.params();
  const std::vector<const ir::Node*> made = ir::producers(graph);
  const auto negated = [&](const ir::Node* n) {
    const auto* code = n ? std::get_if<runtime::Code>(&n->op->kernel) : nullptr;
    return code && *code == runtime::Code::Neg ? n->inputs[0] : ir::Var{};
  };
  for (const ir::Node& n : graph.nodes) {
    const ir::Var once = negated(&n), twice = once.valid() ? negated(made[at(once)]) : ir::Var{};
    if (twice.valid())
      copy[n.outputs[0]] = copy[twice];
    else
      copy.node(n);
  }
  return copy.finish();
}
}  // namespace shard::transform
=== interpreter/transform/passes.h after ir::Graph simplify(const ir::OpTable& table, const ir::Graph& graph);
// ---- negations.cpp
ir::Graph without_negations(const ir::OpTable& table, const ir::Graph& graph);
=== interpreter/transform/pipeline.cpp after   after("inline calls", whole, options);
  whole = without_negations(table, whole);
  after("negations", whole, options);
''', [('run FILE', 'jit fn f(x) = -(-x) * 2\nprint(f(array([1.0])), export_stablehlo(f, f32[4]).find("negate"))', '[2.] none\n')]),
    'a form of the language': (r'''
=== grammar/ast.h after struct BreakStmt {};
struct BarringStmt {
  ExprPtr condition;
  ExprPtr body;
};
=== grammar/ast.h after   std::variant<LetStmt, FnStmt, MeshStmt,
 BarringStmt,
=== grammar/walk.h after                  [&](const UseStmt& x) { see(x.mesh); },
                 [&](const BarringStmt& x) { see(x.condition, x.body); },
=== grammar/operator_table.cpp instead of 24> keywords = {
25> keywords = {"barring",
=== grammar/statement.cpp after const x3::rule<class return_id, ReturnStmt> return_ = "return";
const x3::rule<class barring_id, BarringStmt> barring = "barring";
=== grammar/statement.cpp after const auto return__def = kw("return") > (ends | expression[set(&ReturnStmt::value)]);
const auto barring_def = kw("barring") > expression[set(&BarringStmt::condition)] > as_expr[block][set(&BarringStmt::body)];
=== grammar/statement.cpp after as_stmt[return_][all] |
 as_stmt[barring][all] |
=== grammar/statement.cpp after for_, while_, return_,
 barring,
=== grammar/printer.cpp after                    [&](const BreakStmt&) { put("break"); },
                   [&](const BarringStmt& x) { put("barring ", x.condition, " ", x.body); },
=== interpreter/lang/eval/statements.cpp after       [&](const BreakStmt&) { return left(Flow::Break); },
      [&](const BarringStmt& x) {
        Value met = eval(*x.condition), unused;
        const Truth truth = condition(met, x.condition->span);
        if (truth == Truth::Traced) fail("condition", x.condition->span, "`barring` asks what is known before the run");
        return truth == Truth::False ? eval_flow(*x.body, unused) : Flow::Next;
      },
''', [('run FILE', 'fn f(n) {\n  barring n > 2 { return "small" }\n  "large"\n}\nprint(f(1), f(3))', 'small large\n'),
      ('fmt -', 'let n = 1\nbarring   n>2 {print(n)}\n', 'barring n > 2 { print(n) }\n')]),
    'a kind of value': (r'''
=== interpreter/lang/values/value.h after struct Loader;   // an iterable of the host, e.g. batches (native.h)

struct Interval {
  double low = 0, high = 0;
  bool operator==(const Interval&) const = default;
};
=== interpreter/lang/values/value.h after std::shared_ptr<const runtime::Type>, Range,
                   Interval,
=== interpreter/lang/values/value.cpp after "dtype", "type", "range",
 "interval",
=== interpreter/lang/values/value_text.cpp after             [&](const Range& r) { put(std::to_string(r.begin) + ".." + std::to_string(r.end)); },
            [&](const Interval& i) { put(runtime::format_double(i.low) + " to " + runtime::format_double(i.high)); },
''', [('run FILE', 'let a = interval(1, 2)   # of the host function below\njit fn f(x, i) = if i == a { x } else { -x }\n'
       'print("{a}", a == interval(1, 2), f(1.0, a), f(1.0, interval(0, 2)), [a])', '1.0 to 2.0 true 1.0 -1.0 [1.0 to 2.0]\n'),
      ('run FILE', 'print(interval(1, 2) + 1)', 'interval')]),
    'a warning': (r'''
=== interpreter/lang/warnings/warnings.cpp after constexpr Warning kWarnings[] = {
    {"looks-like-one", "A variable is called `l`.", "By its name, before the script runs.", "Call it otherwise.",
     "let l = 2\nprint(l)\n"},
=== interpreter/lang/names/lint.cpp after   swapped(s);
  for (const Variable* v : declared)
    if (v->name == "l") warn("looks-like-one", s.pattern->span, "`l` looks like `1`", {"call it otherwise"});
''', [('run FILE', 'let l = 2\nprint(l)', 'looks-like-one'), ('run --allow looks-like-one FILE', 'let l = 2\nprint(l)', '2\n'),
      ('help looks-like-one', '', 'Call it otherwise.')]),
    'a fix for an error': (r'''
=== interpreter/lang/eval/hooks.h after   virtual ~Fixer() = default;
  virtual void condition(grammar::Error& error, const grammar::Expr& e, const Value& value) = 0;
=== interpreter/lang/eval/evaluate.cpp instead of   switch (m.condition(*c, x.condition->span)) {
  Truth truth = Truth::False;
  try {
    truth = m.condition(*c, x.condition->span);
  } catch (Error& error) {
    if (m.fixer) m.fixer->condition(error, *x.condition, *c);
    throw;
  }
  switch (truth) {
=== interpreter/lang/fixes/fix.h after   // fix.cpp
  void condition(grammar::Error& error, const grammar::Expr& e, const Value& value) override;
=== interpreter/lang/fixes/fix.cpp after void install_fixes(Interpreter& in) { in.set_fixer(std::make_unique<Fixes>(in)); }

void Fixes::condition(Error& error, const Expr& e, const Value& value) {
  if (value.is_host_number())
    error.diagnostic.fixes.push_back({"compare it", e.span, operand_at(in_.sources(), e.span) + " != 0"});
}
''', [('run FILE', 'let n = 3\nif n { print(n) }', 'n != 0')]),
    'a host function': (r'''
=== stdlib/host/values/texts.cpp after void register_texts(Interpreter& in) {
  in.define({"interval", "interval(low, high)", "The numbers from low to high.", [](Interpreter& i, BoundArgs& a) {
               return Value(lang::Interval{i.number(a[0], a.span, "the low end"), i.number(a[1], a.span, "the high end")});
             }});
=== stdlib/examples.txt after === Elementwise
== interval
print(interval(1, 2.5))   # 1.0 to 2.5
''', [('run FILE', 'print(interval(1, high: 2.5))', '1.0 to 2.5\n'), ('help interval', '', 'The numbers from low to high.')]),
}


def rows():
    """The table, first column to second, and with it what the pages that the second links to say on adding such a thing, by page."""
    text = pathlib.Path(PAGE).read_text()
    out = {}
    for line in text[text.index('## Adding things'):text.index('## Decisions')].split('\n'):
        cells = [c.strip() for c in line.split('|')]
        if len(cells) < 4 or cells[1] == 'to add' or set(cells[1]) <= {'-'}: continue
        kind, said = cells[1], {PAGE: cells[2]}
        for link in re.findall(r'\[its page\]\(([^)#]+\.md)', cells[2]):
            page = os.path.normpath(os.path.join(os.path.dirname(PAGE), link))
            advice = re.findall(r'^(?:## |\*\*)To add (.*?)(?::\*\*|\n)(.*?)(?=^#|^\*\*|\Z)', pathlib.Path(page).read_text(), re.S | re.M)
            said[page] = '\n'.join(how for what, how in advice if kind.startswith(what))
            assert said[page], f'{kind}: {page} does not say how'
        out[kind] = said
    return out


def names(said, path):
    """Whether the row or its pages name the file: whole or by its folder (`lang/eval/`), with `<name>` and `...` for anything; from the
    root, the page's folder, or the folder of the file that was named before it."""
    for page, text in said.items():
        near = ['', os.path.dirname(page) + '/']
        folder = near[1]
        for token in re.findall(r'`([\w./<>-]+)`', text):
            if not re.search(r'/|\.\w+$', token): continue   # no file: a type, a column
            parts = re.split(r'(<name>|\.\.\.)', token)
            pattern = ''.join({'<name>': r'\w+', '...': '.*'}.get(part) or re.escape(part) for part in parts)
            if token.endswith('/'): pattern += '.*'
            if any(re.fullmatch(re.escape(base) + pattern, path) for base in [*near, folder]): return True
            if '/' in token: folder = next(filter(os.path.isdir, (os.path.dirname(base + token) + '/' for base in near)), folder)
    return False


def patched(text, how, anchor, more, where):
    assert text.count(anchor) == 1, f'{where}: {anchor!r} stands there {text.count(anchor)} times'
    begin = text.index(anchor)
    end = begin + len(anchor)
    if how == 'instead of': return text[:begin] + more + text[end:]
    return text[:end] + ('\n' if text[end] == '\n' else '') + more + text[end:]


def changed(table):
    """The files that differ in the copy."""
    out = {}
    for kind, (patches, _) in KINDS.items():
        for patch in re.split(r'^=== (?=[\w/]+\.)', patches, flags=re.M)[1:]:
            head, more = patch.split('\n', 1)
            path, how, anchor = re.fullmatch(r'(\S+)(?: (after|instead of) (.*))?', head).groups()
            assert path == EXAMPLES or names(table[kind], path), f'{kind}: no row or page names {path}'
            before = out.get(path) or (pathlib.Path(path).read_text() if how else '')
            out[path] = patched(before, how, anchor, more.removesuffix('\n'), f'{kind}: {path}') if how else more
    return out


def build(changes):
    """Only what differs is written, so that only that is compiled again."""
    listed = subprocess.run(['git', 'ls-files', '-co', '--exclude-standard', ':!tests'], capture_output=True, text=True, check=True).stdout.split('\n')
    files = {path: pathlib.Path(path).read_bytes() for path in listed if os.path.isfile(path)}
    files.update({path: text.encode() for path, text in changes.items()})
    tree = COPY / 'tree'
    for path in [p for p in tree.rglob('*') if p.is_file() and str(p.relative_to(tree)) not in files]: path.unlink()
    for path, content in files.items():
        place = tree / path
        place.parent.mkdir(parents=True, exist_ok=True)
        if not place.exists() or place.read_bytes() != content: place.write_bytes(content)
    if not (COPY / 'build/build.ninja').exists():
        options = ['-DCMAKE_BUILD_TYPE=Release', '-DSHARD_TESTS=OFF', '-DSHARD_MPI=OFF']
        subprocess.run(['cmake', '-S', tree, '-B', COPY / 'build', '-G', 'Ninja', *options], check=True, stdout=subprocess.DEVNULL)
    subprocess.run(['cmake', '--build', COPY / 'build', '--target', 'shard'], check=True)


def works(words, text, prints):
    with tempfile.TemporaryDirectory() as folder:
        pathlib.Path(folder, 'a.shard').write_text(text + '\n')
        done = subprocess.run([(COPY / 'build/shard').absolute(), *words.replace('FILE', 'a.shard').split()], cwd=folder, timeout=60,
                              input='' if 'FILE' in words else text, capture_output=True, text=True)
    if prints in done.stdout + done.stderr: return True
    print(f'shard {words}, of\n{text}\nprinted {done.stdout}{done.stderr}instead of {prints}')
    return False


def main():
    table = rows()
    assert list(table) == list(KINDS), f'the table has {list(table)}'
    build(changed(table))
    asked = [kind for kind in KINDS if not sys.argv[1:] or any(word in kind for word in sys.argv[1:])]
    failed = [kind for kind in asked if not all([works(*use) for use in KINDS[kind][1]])]
    for kind in asked: print('FAILED' if kind in failed else 'ok    ', kind)
    print(f'{len(asked) - len(failed)} passed, {len(failed)} failed')
    return 1 if failed or not asked else 0


if __name__ == '__main__':
    sys.exit(main())
