// Words and operators of other languages: `def`, `lambda`, `elif`, `print x`, `&&`, `!`, `i++`, `===`, `*xs`.
#include "grammar/advice/forms.h"

#include <algorithm>
#include <array>
#include <cstdio>

#include "grammar/advice/advice.h"
#include "grammar/characters.h"
#include "grammar/logical_lines.h"

namespace shard::grammar {

std::string quote(std::string_view text) { return "`" + shortened(text) + "`"; }

Diagnostic say(Span span, std::string message, std::vector<Fix> fixes) {
  if (fixes.size() == 1) fixes[0].safe = true;
  return {"syntax", span, std::move(message), {}, std::move(fixes), {}};
}

Diagnostic perhaps(Diagnostic d) {
  for (Fix& f : d.fixes) f.safe = false;
  return d;
}

// ---- words of other languages ---------------------------------------------------------------------------------------
namespace {

struct Alias {
  std::string_view word, here;
};
constexpr std::array<Alias, 13> aliases = {{{"def", "fn"},
                                            {"function", "fn"},
                                            {"func", "fn"},
                                            {"fun", "fn"},
                                            {"elif", "else if"},
                                            {"elsif", "else if"},
                                            {"elseif", "else if"},
                                            {"var", "let"},
                                            {"const", "let"},
                                            {"val", "let"},
                                            {"foreach", "for"},
                                            {"None", "none"},
                                            {"is", "=="}}};

}  // namespace

std::string_view module_here(std::string_view module) {
  if (one_of(module,
             {"numpy", "np", "jnp", "jax", "lax", "torch", "tensorflow", "tf", "scipy", "cupy", "math", "random"}))
    return "arrays and their functions need no import and no prefix: `zeros([3])`, `grad(f)`, `normal(key(0), [3])`";
  if (one_of(module, {"flax", "haiku", "equinox", "keras"}))
    return "layers are the module nn: `import nn`, then `nn.linear(784, 10)`";
  if (module == "optax") return "optimizers are the module optim: `import optim`, then `optim.adam(1e-3)`";
  if (one_of(module, {"os", "sys", "time", "re", "json", "pathlib", "typing", "functools", "dataclasses"}))
    return "a script needs no module of the system: files are read by `load` and `read_text`, settings come with "
           "`--set name=value`";
  return {};
}

// `def f(x)`, `elif c`: the word itself was taken for a name, and what follows it cannot follow a name. `is` and a late
// `elif` are where it stopped.
Advice foreign_word(NearText& t) {
  if (t.token == "is" && t.word("not", t.at + 2, t.text.size()) == t.skip(t.at + 2)) {
    const Span both = t.span(t.at, t.skip(t.at + 2) + 3);
    return say(both, "`is not` is written `!=` here", {{"write `!=`", both, "!="}});
  }
  const std::string_view before = t.word_before(t.at);
  for (const Alias& f : aliases) {
    const bool infix = f.word == "is" || f.here == "else if";
    Span span;
    if (infix && t.token == f.word)
      span = t.span(t.at, t.at + f.word.size());
    else if (before == f.word && f.word != "is" && is_word_start(t.text[t.at]))
      span = t.span(t.begin_of(before), t.begin_of(before) + before.size());
    else
      continue;
    return say(span, quote(f.word) + " is written " + quote(f.here) + " here",
               {{"write " + quote(f.here), span, std::string(f.here)}});
  }
  return {};
}

Advice lambda(NearText& t) {
  std::size_t from = t.statement;
  for (from = t.text.rfind("lambda", t.at); from != std::string_view::npos && from >= t.statement;
       from = from ? t.text.rfind("lambda", from - 1) : std::string_view::npos) {
    if (t.is_word(from, 6)) break;
  }
  if (from == std::string_view::npos || from < t.statement) return {};
  const std::size_t after = from + 6, colon = t.end(after, ":");
  if (colon >= t.text.size() || t.text[colon] != ':' || t.at > colon) return {};
  const std::string head = "fn(" + std::string(trimmed(t.text.substr(after, colon - after))) + ") =";
  const std::string body(trimmed(t.text.substr(colon + 1, t.end(colon + 1, ",)]}\n;") - colon - 1)));
  return say(t.span(from, after), "a function is written " + quote(head + " " + body),
             {{"write a function", t.span(from, colon + 1), head}});
}

Advice print_statement(NearText& t) {
  if (t.word_before(t.at) != "print") return {};
  const std::size_t from = t.begin_of(t.word_before(t.at)), end = t.end(t.at, "\n;}");
  const std::string text = "print(" + std::string(trimmed(t.text.substr(t.at, end - t.at))) + ")";
  return say(t.here(), "a call has parentheses: " + quote(text), {{"add the parentheses", t.span(from, end), text}});
}

Advice string_prefix(NearText& t) {
  if (t.token.empty() || t.token[0] != '"' || t.at == 0 || !is_word_part(t.text[t.at - 1])) return {};
  const std::string_view word = t.word_before(t.at);
  if (!one_of(word, {"f", "r", "b", "u", "fr", "rb"})) return {};
  const Span span = t.span(t.at - word.size(), t.at);
  return say(span, "a string has no prefix: `\"loss {loss:.4f}\"` interpolates as it is",
             {{"drop the prefix", span, ""}});
}

// ---- operators of other languages -----------------------------------------------------------------------------------
Advice logical(NearText& t) {
  const char c = t.text[t.at];
  if ((c == '&' || c == '|') && t.at > 0 && t.text[t.at - 1] == c) {
    const std::string word = c == '&' ? "and" : "or";
    const Span span = t.span(t.at - 1, t.at + 1);
    return say(span,
               quote(std::string(2, c)) + " is written " + quote(word) + "; on arrays, " + quote(std::string(1, c)),
               {{"write " + quote(word), span, word}});
  }
  if (t.text.substr(t.at, 2) == "~=") {
    const Span span = t.span(t.at, t.at + 2);
    return say(span, "`~=` is written `!=`", {{"write `!=`", span, "!="}});
  }
  if (c == '!' && t.text.substr(t.at, 2) != "!=") {
    const Span span = t.span(t.at, t.at + 1);
    return perhaps(say(span, "`!` is written `not`; on arrays, `~`", {{"write `not`", span, "not "}}));
  }
  return {};
}

Advice increment(NearText& t) {
  const std::size_t end = t.back(t.at);
  if (end < 2 || (t.text.substr(end - 2, 2) != "++" && t.text.substr(end - 2, 2) != "--")) return {};
  const std::string sign(1, t.text[end - 1]);
  const std::size_t from = t.operand_begin(end - 2);
  const std::string name(trimmed(t.text.substr(from, end - 2 - from)));
  if (name.empty()) return {};
  const std::string text = name + " " + sign + "= 1";
  return say(t.span(from, end), quote(name + sign + sign) + " is written " + quote(text),
             {{"assign", t.span(from, end), text}});
}

// `x **= 2`, `a === b`, `x => e`: an operator and, touching it, a sign that cannot follow.
Advice operator_and_more(NearText& t) {
  if (t.at == 0) return {};
  const std::size_t arrow = t.text[t.at] == '>' ? t.at - 1 : t.at;
  if (t.text.substr(arrow, 2) == "=>") return say(t.span(arrow, arrow + 2), "a function is written `fn(x) = ...`");
  if (t.text[t.at] != '=') return {};
  if (t.at > 1 && t.text.substr(t.at - 2, 3) == "===")
    return say(t.span(t.at - 2, t.at + 1), "`===` is written `==`", {{"write `==`", t.span(t.at - 2, t.at + 1), "=="}});
  for (std::string_view op : {"**", "//", "<<", ">>", "%", "@", "&", "|"}) {
    if (t.at < op.size() || t.text.substr(t.at - op.size(), op.size()) != op) continue;
    const std::string name(trimmed(t.text.substr(t.statement, t.at - op.size() - t.statement)));
    return say(t.span(t.at - op.size(), t.at + 1), "only `+=` `-=` `*=` `/=` assign and compute: write " +
                                                       quote(name + " = " + name + " " + std::string(op) + " ..."));
  }
  return {};
}

namespace {

// Signs that editors and keyboards put in place of those of the language.
struct Sign {
  std::string_view sign, here;
};
constexpr std::array<Sign, 16> signs = {{{"\u2212", "-"},
                                         {"\u2013", "-"},
                                         {"\u2014", "-"},
                                         {"\u00D7", "*"},
                                         {"\u00B7", "*"},
                                         {"\u00F7", "/"},
                                         {"\u2264", "<="},
                                         {"\u2265", ">="},
                                         {"\u2260", "!="},
                                         {"\u2192", "->"},
                                         {"\u00B2", "** 2"},
                                         {"\u00A0", " "},
                                         {"\u3000", " "},
                                         {"\uFF08", "("},
                                         {"\uFF09", ")"},
                                         {"\uFF0C", ","}}};

// U+00A0: the number of the character that begins there.
std::string code_point(std::string_view token) {
  std::size_t at = 0;
  char text[16];
  std::snprintf(text, sizeof text, "U+%04X", decode(token, at));
  return text;
}

bool shows_nothing(std::string_view token) {  // control characters and blanks of no width
  const auto c = static_cast<unsigned char>(token[0]);
  return c < 0x20 || c == 0x7F || (c == 0xC2 && static_cast<unsigned char>(token[1]) <= 0xA0) || c == 0xEF ||
         (c == 0xE2 && static_cast<unsigned char>(token[1]) == 0x80) || token.substr(0, 2) == "\xE3\x80";
}

}  // namespace

Advice unknown_sign(NearText& t) {
  const bool ascii = t.token.empty() ||
                     (static_cast<unsigned char>(t.token[0]) >= 0x20 && static_cast<unsigned char>(t.token[0]) < 0x7F);
  if (!ascii && t.token[0] != '\n' && !one_of(t.token, {"\u201C", "\u201D", "\u2018", "\u2019"})) {
    const Span span = t.here();
    for (const Sign& s : signs)
      if (s.sign == t.token)
        return say(span,
                   s.here == " " ? "this blank is " + code_point(t.token) + ", not the one of the space bar"
                                 : quote(t.token) + " is written " + quote(s.here),
                   {{s.here == " " ? "write a blank" : "write " + quote(s.here), span, std::string(s.here)}});
    if (shows_nothing(t.token))
      return perhaps(
          say(span, "the character " + code_point(t.token) + " has no meaning here", {{"drop it", span, ""}}));
    const bool in_name = t.at > 0 && is_word_part(t.text[t.at - 1]);
    if (in_name || static_cast<unsigned char>(t.token[0]) < 0xE2)
      return say(span, quote(t.token) + " cannot be part of a name: names are made of `A-Z a-z 0-9 _`");
    return say(span, quote(t.token) + " (" + code_point(t.token) + ") has no meaning here");
  }
  if (t.token == "^") {
    const Span span = t.span(t.at, t.at + 1);
    return perhaps(say(span, "`^` is no operator: a power is `x ** y`, and the exclusive or of bits `bit_xor(x, y)`",
                       {{"write `**`", span, "**"}}));
  }
  if (t.text.substr(t.at, 2) == "//" || t.text.substr(t.at, 2) == "/*")
    return say(
        t.span(t.at, t.at + 2), "a comment starts with `#`",
        t.text[t.at + 1] == '/' ? std::vector<Fix>{{"write `#`", t.span(t.at, t.at + 2), "#"}} : std::vector<Fix>{});
  if (one_of(t.token, {"\u201C", "\u201D", "\u2018", "\u2019"}))
    return say(t.here(), "a string stands in straight double quotes: \"abc\"");
  if (t.text[t.at] == '.' && t.at + 1 < t.text.size() && t.text[t.at + 1] >= '0' && t.text[t.at + 1] <= '9' &&
      t.expects("an expression")) {
    std::size_t end = t.at + 1;
    while (end < t.text.size() && is_word_part(t.text[end])) ++end;
    const std::string text = "0" + std::string(t.text.substr(t.at, end - t.at));
    return say(t.span(t.at, end), "a float has a digit on both sides of the dot: " + quote(text),
               {{"add the digit", t.span(t.at, end), text}});
  }
  return {};
}

// A line that begins with an operator that cannot begin a statement: `* 3`, `and b`
Advice leading_operator(NearText& t) {
  if (!t.expects("a statement") || t.at != t.statement || t.at == 0) return {};
  if (!one_of(t.token,
              {"*", "/", "%", "**", "==", "!=", "<", "<=", ">", ">=", "&", "<<", ">>", "and", "or", "..", "="}))
    return {};
  std::size_t above = t.at;
  while (above > 0 && one_of(t.text.substr(above - 1, 1), {" ", "\t", "\r", "\n"})) --above;
  if (above == 0 || one_of(t.text.substr(above - 1, 1), {"{", ";"})) return {};
  return say(t.here(), "a line that begins with " + quote(t.token) +
                           " does not go on from the line above: put it at the end of that line");
}

Advice compare(NearText& t) {  // if a = b { }
  if (t.token != "=" || !t.expects("{") || one_of(t.word_before(t.at), {"fn"})) return {};
  const Span span = t.span(t.at, t.at + 1);
  return perhaps(say(span, "a condition compares with `==`", {{"write `==`", span, "=="}}));
}

Advice spread(NearText& t) {  // f(*xs)
  if ((t.token != "*" && t.token != "**") || t.open == npos || !t.expects("an expression")) return {};
  const std::size_t before = t.back(t.at);
  if (before != t.open + 1 && (before == 0 || t.text[before - 1] != ',')) return {};
  const Span span = t.here();
  return say(span, quote(t.token) + " before a value is written `...`", {{"write `...`", span, "..."}});
}

}  // namespace shard::grammar
