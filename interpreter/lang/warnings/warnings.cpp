// The table of warnings, and what becomes of one that was found.
#include "interpreter/lang/warnings/warnings.h"

#include <algorithm>

namespace shard::lang {
namespace {

constexpr Warning kWarnings[] = {
    {"unused-variable", "A variable inside of a function or block is given a value that nothing reads.",
     "By its name, before the script runs: `let` and `fn` inside of braces. Parameters, variables of loops, those at "
     "the top level of a file, a tuple of which one part is read, and names that begin with `_` are left alone.",
     "Use it, drop it, or begin its name with `_`.", "fn f(x) {\n  let y = x + 1\n  x * 2\n}\nprint(f(1))\n"},
    {"let-in-loop",
     "A `let` inside a loop makes a new variable in each turn, where one outside of the loop of the same "
     "name was to be assigned.",
     "By its name: nothing reads the new one; or the outer one begins with a literal, is assigned nowhere and read "
     "after the loop.",
     "Drop the `let`.", "let total = 0\nfor i in 0..3 {\n  let total = i * i\n}\nprint(total)\n"},
    {"lost-assignment",
     "A function assigns its parameter, or a part of it, and does not read it after that: values never "
     "change in place, so the caller's keeps what it was.",
     "By its name, before the script runs.", "Give the changed copy back, and assign it where the function is called.",
     "fn clear(x) {\n  x[0] = 0.0\n}\nlet x = ones([2])\nclear(x)\nprint(x)\n"},
    {"unreachable", "Statements after a `return`, `break` or `continue` never run.",
     "By the form, before the script runs; also after an `if` of which both parts leave.",
     "Drop them, or move them up.", "fn f(x) {\n  return x\n  print(x)\n}\nf(1)\n"},
    {"shadowed-builtin",
     "A variable that is no function has the name of a builtin function that the same block calls "
     "further up.",
     "By its name, before the script runs; also where a call of it further down finds a number, a list or a text. "
     "Parameters, and builtins that are not called there, are left alone.",
     "Call the variable otherwise.", "let n = sum([1, 2])\nlet sum = n + 1\nprint(sum)\n"},
    {"swapped-gradient", "What `value_and_grad` gives is taken apart as (gradient, value), and the value comes first.",
     "By the names, before the script runs: the first is called `g`, `grad` or the like, the second `l`, `loss` or "
     "`value`.",
     "Write `let (loss, grads) = value_and_grad(f)(x)`.",
     "fn f(x) = x * x\nlet (grads, loss) = value_and_grad(f)(3.0)\nprint(grads, loss)\n"},
    {"updates-as-parameters",
     "What an optimizer's `update` gives is assigned to the parameters: it is what `step` adds to them, so nothing is "
     "trained.",
     "By the names, before the script runs: `(p, s) = opt.update(g, s, p)`.", "Write `(p, s) = opt.step(p, g, s)`.",
     "import optim\nlet opt = optim.sgd(0.1)\nlet p = ones([2])\nlet s = opt.init(p)\n(p, s) = opt.update(p, s, "
     "p)\nprint(p, s)\n"},
    {"unused-result", "A call stands alone as a statement, gives a value, and does nothing else.",
     "While the script runs: nothing was printed, written, asserted or assigned by the call. Functions of a host, and "
     "those that ever did such a thing, are left alone.",
     "Assign the value, or drop the call.", "let x = ones([2, 3])\nx.reshape([6])\nprint(x)\n"},
    {"unused-axis",
     "An axis of a mesh stands in no spec, type, collective or rule: the devices along it all do the same.",
     "By its name in the script and its modules, when the script has ended. Explicit axes, which types show, and axes "
     "of size 1 are left alone, and all of them where `.axes` is read.",
     "Split an array over it, or leave it out of the mesh.",
     "mesh m = (@data: 4, @model: 2)\nprint(shard arange(8) as P(@data))\n"},
    {"axis-of-one", "A collective communicates over axes that the mesh gives the size 1, so it does nothing.",
     "By the names, before the script runs: every mesh of the text that has the axis writes the size 1.",
     "Give the axis a size, or drop the collective.",
     "mesh m = (@data: 8, @model: 1)\nmanual fn f(x: P(@data)) -> P(@data) = psum(x, @model)\nprint(f(arange(8)))\n"},
    {"dropout-without-key",
     "A layer with dropout is applied with `train: true` and without a key, so it drops nothing.",
     "While the script runs, where the rate is above 0.", "Pass `key:`, another one in each step, or `train: false`.",
     "import nn\nlet drop = nn.dropout(0.5)\nprint(drop.apply(none, ones([4]), train: true))\n"},
    {"trained-number",
     "A tree of parameters that an optimizer is given holds a host number: it becomes an f32 array in "
     "the first step, which is compiled anew for it.",
     "While the script runs, by `init` of an optimizer.", "Write it as an array: `array(1.0)`.",
     "import optim\nlet opt = optim.sgd(0.1)\nprint(opt.init({w: ones([2]), scale: 1.0}))\n"},
    {"warned", "The script, or a module of it, called `warn`; or a file holds more than `load` gives (text in an npz).",
     "While the script runs.", "Do what its words say.",
     "fn half(x) {\n  if x.ndim > 1 { warn(\"half takes a vector\") }\n  x / 2\n}\nprint(half(ones([2, 2])))\n"},
};

bool is_code_part(char c) { return (c >= 'a' && c <= 'z') || c == '-'; }

}  // namespace

std::span<const Warning> all_warnings() { return kWarnings; }

const Warning* find_warning(std::string_view code) {
  const auto it = std::find_if(std::begin(kWarnings), std::end(kWarnings), [&](auto& w) { return w.code == code; });
  return it == std::end(kWarnings) ? nullptr : it;
}

std::string help_of_warning(std::string_view topic) {
  std::string out;
  if (topic == "warnings" || topic == "warning") {
    for (const Warning& w : kWarnings) out += std::string(w.code) + "\n  " + std::string(w.what) + "\n";
    return out +
           "A comment `# allow: CODE` at the end of the line silences one there, `--allow CODE` everywhere; with\n"
           "`--deny-warnings` each is an error. `shard help CODE` explains one.\n";
  }
  const Warning* w = find_warning(topic);
  if (!w) return out;
  out = std::string(w->code) + ": a warning\n  " + std::string(w->what) + "\n  found:   " + std::string(w->found) +
        "\n  instead: " + std::string(w->instead) + "\n  silent:  `# allow: " + std::string(w->code) +
        "` at the end of the line, or `--allow " + std::string(w->code) + "`\n  example:\n    ";
  for (const char c : w->example) {
    out += c;
    if (c == '\n') out += "    ";
  }
  return out.substr(0, out.find_last_not_of(' ') + 1);
}

bool allowed_by_comment(std::string_view line, std::string_view code) {
  std::size_t at = line.rfind('#');
  if (at == std::string_view::npos) return false;
  std::string_view text = line.substr(at + 1);
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  if (!text.starts_with("allow:")) return false;
  for (at = 6; at < text.size();) {
    std::size_t end = at;
    while (end < text.size() && is_code_part(text[end])) ++end;
    if (text.substr(at, end - at) == code) return true;
    at = std::max(end, at + 1);
  }
  return false;
}

bool Warnings::wanted(const grammar::Diagnostic& d, const grammar::SourceMap& sources) {
  if (allow_.contains(d.code)) return false;
  if (sources.has(d.span.source)) {
    const grammar::Source& source = sources.at(d.span.source);
    if (allowed_by_comment(source.line(source.position(d.span.begin).line), d.code)) return false;
  }
  return seen_.insert({d.code, {d.span.source, d.span.begin}}).second;
}

std::vector<grammar::Diagnostic> Warnings::add(std::vector<grammar::Diagnostic> found,
                                               const grammar::SourceMap& sources) {
  std::vector<grammar::Diagnostic> denied;
  for (grammar::Diagnostic& d : found) {
    if (!wanted(d, sources)) continue;
    d.warning = !deny_;
    if (deny_)
      denied.push_back(std::move(d));
    else if (told_)
      told_(d, sources);
  }
  return denied;
}

}  // namespace shard::lang
