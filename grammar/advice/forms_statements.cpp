// Statements of other languages: `from x import y`, `class A`, `try`, `let a, b = ...`, `for i, x in ...`, `@jit`; and
// meshes, imports and tests that lack a sign.
#include <algorithm>
#include <array>

#include "grammar/advice/advice.h"
#include "grammar/advice/forms.h"

namespace shard::grammar {
namespace {

// Words that begin a statement elsewhere, and what is done here.
struct Opening {
  std::string_view word, say;
};
constexpr std::array<Opening, 25> openings = {{
    {"from", "a module comes in whole: `import nn`, then `nn.linear`"},
    {"class", "there are no classes: a record holds fields, `{w: 1, b: 2}`, and `p.f()` is `f(p)`"},
    {"struct", "a record needs no declaration: `{w: 1, b: 2}`"},
    {"enum", "there are no enumerations: use strings or numbers"},
    {"type", "types need no declaration: a variable takes its type from its value"},
    {"switch", "there is no `switch`: write `if a { ... } else if b { ... }`"},
    {"match", "there is no `match`: write `if a { ... } else if b { ... }`"},
    {"try", "an error ends the program: check before, or test with `assert_error(f, \"words\")`"},
    {"raise", "an error is raised by a call: `error(\"words\")`"},
    {"throw", "an error is raised by a call: `error(\"words\")`"},
    {"with", "a mesh for one block is `use m { ... }`"},
    {"del", "a variable ends with its block: nothing has to be deleted"},
    {"delete", "a variable ends with its block: nothing has to be deleted"},
    {"yield", "there are no generators: return a list"},
    {"async", "there are no tasks: a program runs in order"},
    {"await", "there are no tasks: a program runs in order"},
    {"do", "a loop that runs at least once is `while true { ...; if done { break } }`"},
    {"loop", "a loop without end is `while true { ... }`"},
    {"repeat", "a loop runs while its condition holds: `while not done { ... }`"},
    {"until", "a loop runs while its condition holds: `while not done { ... }`"},
    {"unless", "a condition is turned round with `not`: `if not c { ... }`"},
    {"global", "a function may assign the variables around it as they are"},
    {"nonlocal", "a function may assign the variables around it as they are"},
    {"export", "everything at the top level of a file can be imported: drop the word"},
    {"pub", "everything at the top level of a file can be imported: drop the word"},
}};

std::string after_word(NearText& t, std::string_view word) {  // what follows it in the statement
  const std::size_t from = t.begin_of(word) + word.size();
  return std::string(trimmed(t.text.substr(from, t.end(from, "\n;") - from)));
}

bool starts_with(NearText& t, std::string_view word) {
  return t.is_word(t.statement, word.size()) && t.text.substr(t.statement, word.size()) == word;
}

}  // namespace

Advice opening_word(NearText& t) {
  const std::string_view before = t.word_before(t.at);
  if (before.empty() || t.begin_of(before) != t.statement) return {};
  const Span span = t.span(t.statement, t.statement + before.size());
  if (before == "from") {
    std::string_view root = t.token;
    if (const std::string_view here = module_here(root); !here.empty())
      return say(t.span(t.statement, t.back(t.end(t.statement, "\n;"))), std::string(here));
  }
  for (const Opening& o : openings)
    if (o.word == before) return say(span, std::string(o.say));
  if (before == "jit" && !t.token.empty() && is_word_start(t.token[0])) {
    const std::string text = "jit fn " + after_word(t, before);
    return say(span, "a function is declared with `fn`: " + quote(text), {{"write `fn`", span, "jit fn"}});
  }
  if (before == "assert") {
    const std::string text = "assert(" + after_word(t, before) + ")";
    return say(t.here(), "a call has parentheses: " + quote(text),
               {{"add the parentheses", t.span(t.statement, t.end(t.at, "\n;}")), text}});
  }
  if (before == "test") return say(span, "a test has a title: `test \"what holds\" { ... }`");
  if (before == "rules" && t.token != "=")
    return say(t.here(), "`rules` takes a record: `rules { batch: @data, hidden: @model, embed: _ }`");
  if (before == "echo" || before == "puts") {
    const std::string text = "print(" + after_word(t, before) + ")";
    return say(span, quote(before) + " is a call here: " + quote(text),
               {{"call `print`", t.span(t.statement, t.end(t.at, "\n;}")), text}});
  }
  // `int x = 3`, `local x = 3`: a word for "here begins a variable"
  if (one_of(before, {"local", "auto", "int", "float", "double", "bool", "str", "string", "long", "char", "final"}) &&
      !t.token.empty() && is_word_start(t.token[0])) {
    const std::size_t next = t.skip(t.at + t.token.size());
    const std::string here = one_of(t.token, {"function", "fn"}) ? "fn" : "let";
    const bool declares =
        here == "fn" || next >= t.text.size() || one_of(t.text.substr(next, 1), {"=", "\n", ";", ","});
    const Span word = here == "fn" ? t.span(t.statement, t.at + t.token.size()) : span;
    if (declares)
      return say(word,
                 std::string(here == "fn" ? "a function" : "a variable") + " is declared with " + quote(here) +
                     (here == "fn" ? "" : ", and takes its type from its value"),
                 {{"write " + quote(here), word, here}});
  }
  return {};
}

// `@jit` on a line of its own, above the function
Advice decorator(NearText& t) {
  if (t.at == 0 || t.text[t.at - 1] != '@' || !one_of(t.token, {"jit", "manual"})) return {};
  const std::size_t end = t.end(t.at, "\n;");
  const Span span = t.span(t.at - 1, t.at + t.token.size());
  const std::string word(t.token);
  const std::size_t next = t.skip(std::min(end + 1, t.text.size()));
  std::vector<Fix> fixes;
  if (t.text.substr(next, 3) == "fn ") fixes.push_back({"write it before `fn`", t.span(t.at - 1, next), word + " "});
  return say(span, "nothing decorates a function: " + quote(word) + " stands before `fn`: " + quote(word + " fn f(x)"),
             std::move(fixes));
}

// `a, *rest` as `(a, ...rest)`
static std::string parenthesised(std::string_view names) {
  std::string out = "(";
  for (std::size_t i = 0; i < names.size(); ++i) {
    const bool first = out.find_last_not_of(" (") == std::string::npos || out[out.find_last_not_of(' ')] == ',';
    out += names[i] == '*' && first ? "..." : std::string(1, names[i]);
  }
  return out + ")";
}

// `let a, b = pair`, `let a = 1, 2`, `let mut a = 1`, `let f(x) = x`, `let a: f32 = 1`, `let p.w = 1`
Advice in_let(NearText& t) {
  if (!starts_with(t, "let")) return {};
  const std::size_t first = t.skip(t.statement + 3);
  const Span word = t.span(t.statement, t.statement + 3);
  if (t.token == "=" && t.at == first)
    return say(t.span(t.at, t.at + 1), "the name of the variable is missing: `let x = ...`");
  if (t.token == "," && t.between_statements()) {
    const bool names = t.expects("=");
    const std::size_t equals = t.end(first, "=\n;");
    const std::size_t from = names ? first : t.skip(equals + 1), to = t.back(names ? equals : t.end(t.at, "\n;"));
    if (to <= from) return {};
    const std::string text = parenthesised(t.text.substr(from, to - from));
    return say(t.span(t.at, t.at + 1),
               names ? "several names stand in parentheses: " + quote("let " + text + " = ...")
                     : "several values make a tuple: " + quote(text),
               {{"add the parentheses", t.span(from, to), text}});
  }
  if (t.token == "=" && t.between_statements() && !t.expects("="))
    return say(t.span(t.at, t.at + 1), "one `let` declares one value: assign to each variable by itself");
  if (!t.expects("=")) return {};
  if (t.word_before(t.at) == "mut")
    return say(t.span(t.begin_of(t.word_before(t.at)), t.back(t.at)), "every variable can be assigned: drop the `mut`",
               {{"drop it", t.span(t.begin_of(t.word_before(t.at)), t.at), ""}});
  if (t.token == "(") return say(word, "a function is declared with `fn`", {{"write `fn`", word, "fn"}});
  if (t.token == "." || t.token == "[")
    return perhaps(say(word, "an element or a field of a variable is assigned without `let`",
                       {{"drop the `let`", t.span(t.statement, first), ""}}));
  if (t.token == "==")
    return say(t.span(t.at, t.at + 2), "`let` gives a value with one `=`",
               {{"write `=`", t.span(t.at, t.at + 2), "="}});
  if (t.token != ":" || t.text.substr(t.at, 2) == ":=") return {};
  return say(t.span(t.at, t.at + 1), "a `let` has no annotation: a variable takes its type from its value");
}

// `a, b = b, a`
Advice several_targets(NearText& t) {
  if (t.token != "," || !t.between_statements()) return {};
  const std::size_t stop = t.end(t.statement, "\n;{}"), equals = t.end(t.statement, "=\n;{}");
  if (equals >= stop || t.at > equals || t.text.substr(equals, 2) == "==") return {};
  const auto bracketed = [&](std::size_t from, std::size_t to) {
    const std::string part(trimmed(t.text.substr(from, to - from)));
    const bool several = t.end(from, ",\n;") < to;
    return several ? parenthesised(part) : part;
  };
  const std::size_t to = t.back(stop);
  const std::string text = bracketed(t.statement, equals) + " = " + bracketed(equals + 1, to);
  return say(t.span(t.at, t.at + 1), "several variables stand in parentheses: " + quote(text),
             {{"add the parentheses", t.span(t.statement, to), text}});
}

Advice colon_equals(NearText& t) {
  if (t.text.substr(t.at, 2) != ":=") return {};
  const Span span = t.span(t.at, t.at + 2);
  return say(span, "`:=` is written `=`, with a `let` in front where the variable is new", {{"write `=`", span, "="}});
}

// `for i, x in enumerate(xs)`, `for i in 0..=10`, `for i in 0...10`
Advice in_for(NearText& t) {
  if (!starts_with(t, "for")) return {};
  if (t.expects("{") && one_of(t.token, {"to", "step", "by", "until"})) {
    const std::size_t from = t.skip(t.word("in", t.statement, t.at) + 2), end = t.back(t.end(t.at, "{:\n;"));
    const std::string range(trimmed(t.text.substr(from, t.at - from)));
    const std::string last(trimmed(t.text.substr(t.at + t.token.size(), end - t.at - t.token.size())));
    const std::size_t dots = range.find("..");
    const bool step = t.token == "step" || t.token == "by";
    if (from >= t.at || last.empty() || (step && dots == npos)) return {};
    const std::string text = step ? "range(" + range.substr(0, dots) + ", " + range.substr(dots + 2) + ", " + last + ")"
                                  : range + ".." + last;
    return say(t.here(),
               step ? "numbers with a step between them are " + quote(text)
                    : "a range is written with two dots, and ends before its last number: " + quote(text),
               {{"write the range", t.span(from, end), text}});
  }
  if (t.token == "," && t.expects("in")) {
    const std::size_t from = t.skip(t.statement + 3), to = t.back(t.word("in", t.at, t.text.size()));
    const std::string names = parenthesised(t.text.substr(from, to - from));
    return say(t.span(t.at, t.at + 1), "several names stand in parentheses: " + quote("for " + names + " in ..."),
               {{"add the parentheses", t.span(from, to), names}});
  }
  if (t.token == "...") {
    const Span span = t.span(t.at, t.at + 3);
    return say(span, "a range has two dots, and ends before its last number: `0..10`", {{"write `..`", span, ".."}});
  }
  return {};
}

// `x -> x + 1`, `(x, y) -> x + y`, `\\x -> x + 1`
Advice arrow_function(NearText& t) {
  const bool slash = t.token == "\\";
  if (!slash && (t.text.substr(t.at, 2) != "->" || t.expects("->"))) return {};
  if (starts_with(t, "fn") || starts_with(t, "jit") || starts_with(t, "manual")) return {};
  const std::size_t arrow = slash ? t.text.find("->", t.at) : t.at;
  if (arrow >= t.end(t.at, "\n;")) return {};
  const std::size_t from = slash ? t.at : t.operand_begin(t.at);
  std::string names(trimmed(t.text.substr(from + (slash ? 1 : 0), arrow - from - (slash ? 1 : 0))));
  if (names.empty() || (!is_word_start(names[0]) && names[0] != '(')) return {};
  if (names[0] != '(') names = "(" + names + ")";
  const std::string head = "fn" + names + " =";
  return say(t.span(arrow, arrow + 2), "a function is written " + quote(head + " ..."),
             {{"write a function", t.span(from, arrow + 2), head}});
}

Advice closed_range(NearText& t) {
  if (t.token != "=" || t.at < 2 || t.text.substr(t.at - 2, 2) != "..") return {};
  return say(t.span(t.at - 2, t.at + 1), "a range ends before its last number: `0..n + 1` takes `n` too");
}

// `x in xs`, `x not in xs`
Advice in_operator(NearText& t) {
  const bool negated = t.token == "not" && t.word("in", t.at + 3, t.end(t.at, ",)]}\n;")) == t.skip(t.at + 3);
  if ((t.token != "in" && !negated) || t.expects("in") || t.expects("an expression")) return {};
  return say(t.here(),
             "`in` belongs to `for`; what a list holds is looked up with `len(filter(fn(y) = y == x, xs)) > 0`");
}

// ---- functions ------------------------------------------------------------------------------------------------------
Advice in_parameters(NearText& t) {
  const bool field = t.expects("a field's name") && t.end(t.statement, "=\n;") > t.at;  // `let {w, *r} = p`
  if ((t.token == "*" || t.token == "**" || t.token == "...") && (t.expects("a name") || field)) {
    const std::string_view name = t.open == npos ? "" : t.word_before(t.open);
    const bool parameters = name == "fn" || (!name.empty() && t.word_before(t.begin_of(name)) == "fn");
    const Span span = t.here();
    return say(span,
               parameters ? "a function takes a fixed number of arguments: take a list, or a record, as one of them"
                          : "what a pattern leaves is taken by `...`: `(first, ...others)`, `{w, ...others}`",
               parameters || t.token == "..." ? std::vector<Fix>{} : std::vector<Fix>{{"write `...`", span, "..."}});
  }
  if (t.token == "|" && t.expects("an expression") && !t.expects("{"))
    return say(t.span(t.at, t.at + 1), "a function is written `fn(x) = ...`");
  const std::string_view before = t.word_before(t.at);
  const bool lambda = before.empty() || t.word_before(t.begin_of(before)) != "fn";
  if (t.expects("(") && !lambda && (is_word_start(t.text[t.at]) || t.token == ":" || t.token == "=")) {
    const Span span = t.here();
    return say(span, "parameters stand in parentheses: `fn f(x, y) = ...`, `fn(x) = ...`");
  }
  const std::size_t end = t.back(t.at);
  if (t.expects("{") && t.expects("=") && end > 0 && t.text[end - 1] == ')' && !t.token.empty() &&
      (is_word_part(t.token[0]) || one_of(t.token, {"(", "[", "\"", "-"})))  // fn(x) x + 1
    return say(t.here(), "what a function returns follows `=`: `fn(x) = x + 1`",
               {{"write `=`", t.span(t.at, t.at), "= "}});
  return {};
}

// `fn f(x): f32[3] = x`
Advice result_annotation(NearText& t) {
  const std::size_t before = t.back(t.at);
  if (t.token != ":" || !t.expects("{") || before == 0 || t.text[before - 1] != ')') return {};
  const std::size_t end = t.end(t.at, "\n;"), next = t.skip(t.at + 1);
  if (next >= end) return {};
  const std::size_t body = std::min(t.end(next, "={\n;"), end);
  if (body >= end) return {};
  const std::string text = " -> " + std::string(trimmed(t.text.substr(next, body - next)));
  return say(t.span(t.at, t.at + 1), "what a function returns is annotated with `->`: " + quote(trimmed(text)),
             {{"write `->`", t.span(t.back(t.at), next), " -> "}});
}

// ---- meshes, layouts, imports ---------------------------------------------------------------------------------------
Advice in_mesh(NearText& t) {
  if (starts_with(t, "mesh")) {
    if (t.token == "=" && t.expects(":")) {
      const Span span = t.span(t.at, t.at + 1);
      return say(span, "the size of an axis follows a colon: `@X: 8`", {{"write `:`", span, ": "}});
    }
    if (t.expects("(") && one_of(t.token, {"{", "[", "@"}))
      return say(t.span(t.at, t.at + 1), "the axes of a mesh stand in parentheses: `mesh m = (@X: 8)`");
    if (t.expects("an axis such as `@X: 8`") && !t.token.empty() && t.token[0] >= '0' && t.token[0] <= '9')
      return say(t.here(), "each axis of a mesh has a name: `(@X: " + std::string(t.token) + ")`");
    if (t.token == "manual" && !t.expects("an expression"))
      return say(t.span(t.at, t.at + 6), "an axis is `auto` or `explicit`; per-device code is a `manual fn`");
  }
  if (starts_with(t, "use") && t.token == "mesh") {
    const std::size_t next = t.skip(t.at + 4);
    return say(t.span(t.at, t.at + 4), "`use` takes the mesh alone: `use m`", {{"drop it", t.span(t.at, next), ""}});
  }
  if (t.token == "P" && t.expects("as") && t.word("shard", t.statement, t.at) < t.at)
    return say(t.span(t.at, t.at + 1), "a layout follows `as`: `shard x as P(@X)`",
               {{"write `as`", t.span(t.at, t.at), "as "}});
  return {};
}

Advice in_import(NearText& t) {
  if (!starts_with(t, "import")) return {};
  const std::string_view root = t.text.substr(t.skip(t.statement + 6));
  std::size_t length = 0;
  while (length < root.size() && is_word_part(root[length])) ++length;
  if (const std::string_view here = module_here(root.substr(0, length)); !here.empty()) {
    const std::size_t end = t.back(t.end(t.statement, "\n;"));
    return say(t.span(t.statement, end), std::string(here));
  }
  if (t.token == ",") return say(t.span(t.at, t.at + 1), "one `import` brings in one module: write another one");
  if (t.token != ".") return {};
  const std::string_view module = t.word_before(t.at);
  return say(t.span(t.at, t.at + 1), "a module comes in whole: " + quote("import " + std::string(module)) +
                                         ", then its functions by " + quote(std::string(module) + "."));
}

// ---- text -----------------------------------------------------------------------------------------------------------
Advice in_text(NearText& t) {
  if (t.token == "!" && t.at + 2 < t.text.size() && t.open != npos && t.text[t.open] == '{' &&
      one_of(t.text.substr(t.at + 1, 1), {"r", "s", "a"}) && one_of(t.text.substr(t.at + 2, 1), {"}", ":"}))
    return say(t.span(t.at, t.at + 2),
               "a value in a string is shown as `print` shows it: drop the " + quote(t.text.substr(t.at, 2)),
               {{"drop it", t.span(t.at, t.at + 2), ""}});
  if (t.token == "\\")
    return say(t.span(t.at, t.at + 1),
               "a line goes on after an operator or a comma, and within brackets: drop the `\\`",
               {{"drop it", t.span(t.at, t.at + 1), ""}});
  if (t.text[t.at] == '"' && t.at > 1 && t.text.substr(t.at - 2, 2) == "\"\"")
    return say(t.span(t.at - 2, t.at + 1),
               "a string stands between single double quotes, on one line; a new line in it is \\n");
  if (t.token == "}" && t.at > 0 && t.text[t.at - 1] == '{' && t.expects("an expression"))
    return say(t.span(t.at - 1, t.at + 1),
               "braces in a string hold what is shown, such as `{loss:.4f}`; a brace itself is `{{`");
  if (t.token == ";" && t.open != npos && t.text[t.open] == '[')
    return say(t.span(t.at, t.at + 1), "the rows of a matrix are lists: `array([[1, 2], [3, 4]])`");
  return {};
}

// `x = 1 // the size`, `f(x) -- twice`: a comment after a statement, in the manner of C or Lua
Advice comment_behind(NearText& t) {
  const bool ended = t.expects("") || t.expects("an expression");
  if (!ended || t.open != npos) return {};
  for (std::string_view sign : {"//", "--"}) {
    const std::size_t from = t.text.rfind(sign, t.at);
    if (from == npos || from < t.statement || from + 2 >= t.text.size() || t.text[from + 2] != ' ') continue;
    if (from > t.statement && t.text[from - 1] != ' ') continue;
    return say(t.span(from, from + 2), "a comment starts with `#`", {{"write `#`", t.span(from, from + 2), "#"}});
  }
  return {};
}

// `for i in xs { f(i) } g()`, `let a = 1 print(a)`: nothing stands between two statements
Advice two_statements(NearText& t) {
  const bool block = t.open == npos || t.text[t.open] == '{';
  const std::size_t end = t.back(t.at);
  if (!block || end <= t.statement || t.token.empty()) return {};
  if ((!t.expects("") && !t.expects("}")) || t.expects(",")) return {};
  if (t.text.substr(end, t.at - end).find('\r') != npos)
    return say(t.here(), "a line ends in a carriage return alone: save the file with line feeds");
  if (!is_word_part(t.token[0]) && t.token[0] != '"') return {};
  const char last = t.text[end - 1];
  if (last != '}' && last != ')' && last != ']' && last != '"' && !(last >= '0' && last <= '9')) return {};
  return perhaps(
      say(t.here(), "a newline or `;` stands between two statements", {{"part them", t.span(end, t.at), "; "}}));
}

// `ones([8]) as P(@X)`
Advice lone_as(NearText& t) {
  if (t.token != "as" || t.expects("as")) return {};
  const std::size_t from = t.operand_begin(t.at);
  return say(t.span(t.at, t.at + 2), "a layout is given by `shard ... as ...`",
             {{"write `shard`", t.span(from, from), "shard "}});
}

}  // namespace shard::grammar
