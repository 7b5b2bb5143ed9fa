// A form a function: it looks whether it fits around the place where the parse stopped, and says what to write.
// The text between brackets is cut by near_text.h's rough scans: advice may quote it, nothing else depends on it.
#include "grammar/advice.h"

#include <algorithm>
#include <array>

#include "grammar/near_text.h"
#include "grammar/operators.h"

namespace shard::grammar {
namespace {

using Advice = std::optional<Diagnostic>;

bool one_of(std::string_view word, std::initializer_list<std::string_view> words) { return std::find(words.begin(), words.end(), word) != words.end(); }
// Long texts are cut: a message is a sentence. The fixes have them whole.
std::string quote(std::string_view text) { return "`" + shortened(text) + "`"; }

Diagnostic say(Span span, std::string message, std::vector<Fix> fixes = {}, std::vector<std::string> notes = {}) {
  return {"syntax", span, std::move(message), std::move(notes), std::move(fixes), {}};
}

// ---- words of other languages ---------------------------------------------------------------------------------------
struct Foreign { std::string_view word, here; };
constexpr std::array<Foreign, 13> foreign = {{{"def", "fn"}, {"function", "fn"}, {"func", "fn"}, {"fun", "fn"}, {"elif", "else if"}, {"elsif", "else if"},
                                              {"elseif", "else if"}, {"var", "let"}, {"const", "let"}, {"val", "let"}, {"foreach", "for"}, {"None", "none"},
                                              {"is", "=="}}};

// `def f(x)`, `elif c`: the word itself was taken for a name, and what follows it cannot follow a name. `is` and a late `elif` are where it stopped.
Advice foreign_word(NearText& t) {
  const std::string_view before = t.word_before(t.at);
  for (const Foreign& f : foreign) {
    const bool infix = f.word == "is" || f.here == "else if";
    Span span;
    if (infix && t.token == f.word) span = t.span(t.at, t.at + f.word.size());
    else if (before == f.word && f.word != "is" && is_word_start(t.text[t.at])) span = t.span(t.begin_of(before), t.begin_of(before) + before.size());
    else continue;
    return say(span, quote(f.word) + " is written " + quote(f.here) + " here", {{"write " + quote(f.here), span, std::string(f.here)}});
  }
  return {};
}

Advice lambda(NearText& t) {
  std::size_t from = t.statement;
  for (from = t.text.rfind("lambda", t.at); from != std::string_view::npos && from >= t.statement; from = from ? t.text.rfind("lambda", from - 1) : std::string_view::npos) {
    if (t.is_word(from, 6)) break;
  }
  if (from == std::string_view::npos || from < t.statement) return {};
  const std::size_t after = from + 6, colon = t.end(after, ":");
  if (colon >= t.text.size() || t.text[colon] != ':' || t.at > colon) return {};
  const std::string head = "fn(" + std::string(trimmed(t.text.substr(after, colon - after))) + ") =";
  const std::string body(trimmed(t.text.substr(colon + 1, t.end(colon + 1, ",)]}\n;") - colon - 1)));
  return say(t.span(from, after), "a function is written " + quote(head + " " + body), {{"write a function", t.span(from, colon + 1), head}});
}

Advice print_statement(NearText& t) {
  if (t.word_before(t.at) != "print") return {};
  const std::size_t from = t.begin_of(t.word_before(t.at)), end = t.end(t.at, "\n;}");
  const std::string text = "print(" + std::string(trimmed(t.text.substr(t.at, end - t.at))) + ")";
  return say(t.span(t.at, t.at + t.token.size()), "a call has parentheses: " + quote(text), {{"add the parentheses", t.span(from, end), text}});
}

Advice string_prefix(NearText& t) {
  if (t.token.empty() || t.token[0] != '"' || t.at == 0 || !is_word_part(t.text[t.at - 1])) return {};
  const std::string_view word = t.word_before(t.at);
  if (!one_of(word, {"f", "r", "b", "u", "fr", "rb"})) return {};
  const Span span = t.span(t.at - word.size(), t.at);
  return say(span, "a string has no prefix: `\"loss {loss:.4f}\"` interpolates as it is", {{"drop the prefix", span, ""}});
}

// ---- operators of other languages -----------------------------------------------------------------------------------
Advice logical(NearText& t) {
  const char c = t.text[t.at];
  if ((c == '&' || c == '|') && t.at > 0 && t.text[t.at - 1] == c) {
    const std::string word = c == '&' ? "and" : "or";
    const Span span = t.span(t.at - 1, t.at + 1);
    return say(span, quote(std::string(2, c)) + " is written " + quote(word) + "; on arrays, " + quote(std::string(1, c)), {{"write " + quote(word), span, word}});
  }
  if (c == '!' && t.text.substr(t.at, 2) != "!=") {
    const Span span = t.span(t.at, t.at + 1);
    return say(span, "`!` is written `not`; on arrays, `~`", {{"write `not`", span, "not "}});
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
  return say(t.span(from, end), quote(name + sign + sign) + " is written " + quote(text), {{"assign", t.span(from, end), text}});
}

// `x **= 2`, `a === b`, `x => e`: an operator and, touching it, a sign that cannot follow.
Advice operator_and_more(NearText& t) {
  if (t.at == 0) return {};
  const std::size_t arrow = t.text[t.at] == '>' ? t.at - 1 : t.at;
  if (t.text.substr(arrow, 2) == "=>") return say(t.span(arrow, arrow + 2), "a function is written `fn(x) = ...`");
  if (t.text[t.at] != '=') return {};
  if (t.at > 1 && t.text.substr(t.at - 2, 3) == "===") return say(t.span(t.at - 2, t.at + 1), "`===` is written `==`", {{"write `==`", t.span(t.at - 2, t.at + 1), "=="}});
  for (std::string_view op : {"**", "//", "<<", ">>", "%", "@", "&", "|"}) {
    if (t.at < op.size() || t.text.substr(t.at - op.size(), op.size()) != op) continue;
    const std::string name(trimmed(t.text.substr(t.statement, t.at - op.size() - t.statement)));
    return say(t.span(t.at - op.size(), t.at + 1), "only `+=` `-=` `*=` `/=` assign and compute: write " + quote(name + " = " + name + " " + std::string(op) + " ..."));
  }
  return {};
}

Advice unknown_sign(NearText& t) {
  if (t.token == "^") return say(t.span(t.at, t.at + 1), "`^` is no operator: a power is `x ** y`");
  if (t.text.substr(t.at, 2) == "//" || t.text.substr(t.at, 2) == "/*") return say(t.span(t.at, t.at + 2), "a comment starts with `#`");
  if (one_of(t.token, {"\u201C", "\u201D", "\u2018", "\u2019"})) return say(t.span(t.at, t.at + t.token.size()), "a string stands in straight double quotes: \"abc\"");
  if (t.text[t.at] == '.' && t.at + 1 < t.text.size() && t.text[t.at + 1] >= '0' && t.text[t.at + 1] <= '9' && t.expects("an expression")) {
    std::size_t end = t.at + 1;
    while (end < t.text.size() && is_word_part(t.text[end])) ++end;
    const std::string text = "0" + std::string(t.text.substr(t.at, end - t.at));
    return say(t.span(t.at, end), "a float has a digit on both sides of the dot: " + quote(text), {{"add the digit", t.span(t.at, end), text}});
  }
  return {};
}

// ---- conditions and loops within expressions ------------------------------------------------------------------------
std::string chosen(std::string_view c, std::string_view a, std::string_view b) {
  return "if " + std::string(trimmed(c)) + " { " + std::string(trimmed(a)) + " }" + (trimmed(b).empty() ? "" : " else { " + std::string(trimmed(b)) + " }");
}

Advice ternary(NearText& t) {  // a if c else b, and c ? a : b
  const bool sign = t.token == "?";
  if ((t.token != "if" && !sign) || t.expects("an expression")) return {};
  const std::size_t from = t.operand_begin(t.at), first = t.at + t.token.size();
  const std::size_t middle = sign ? t.end(first, ":,)]}\n;") : t.word("else", first, t.end(first, ",)]}\n;"));
  const bool both = middle < t.text.size() && (sign ? t.text[middle] == ':' : t.is_word(middle, 4));
  const std::size_t second = middle + (sign ? 1 : 4);
  const std::size_t end = both ? t.end(second, ",)]}\n;") : middle;
  const std::string_view a = t.text.substr(from, t.at - from), b = t.text.substr(first, middle - first), c = both ? t.text.substr(second, end - second) : "";
  const std::string text = sign ? chosen(a, b, c) : chosen(b, a, c);
  return say(t.span(t.at, first), "a condition comes first: " + quote(text), {{"put the condition first", t.span(from, t.back(end)), text}});
}

Advice comprehension(NearText& t) {
  if (t.token != "for" || t.open == npos || t.expects("an expression")) return {};
  const char bracket = t.text[t.open];
  const std::size_t from = bracket == '(' ? t.operand_begin(t.at) : t.open + 1, pattern = t.at + 3;
  const std::size_t close = t.end(pattern, ")]}");
  const std::size_t in = t.word("in", pattern, close);
  std::string text = "map(fn(x) = ..., xs)";
  std::vector<Fix> fixes;
  if (in < close) {
    const std::size_t condition = t.word("if", in, close);
    std::string names(trimmed(t.text.substr(pattern, in - pattern))), over(trimmed(t.text.substr(in + 2, condition - in - 2)));
    if (names.find(',') != std::string::npos && names[0] != '(') names = "(" + names + ")";
    const std::string head = "fn(" + names + ") = ";
    if (condition < close) over = "filter(" + head + std::string(trimmed(t.text.substr(condition + 2, close - condition - 2))) + ", " + over + ")";
    text = "map(" + head + std::string(trimmed(t.text.substr(from, t.at - from))) + ", " + over + ")";
    if (bracket == '[') fixes.push_back({"use map", t.span(t.open, close + 1), text});
    else if (bracket == '(') fixes.push_back({"use map", t.span(from, close), text});
  }
  return say(t.span(t.at, pattern), "a list made of another is written with map: " + quote(text), std::move(fixes));
}

// for (i = 0; i < n; i++)
Advice c_style_for(NearText& t) {
  const std::size_t from = t.word("for", t.statement, std::min(t.at, t.text.size()));
  if (from >= t.at) return {};
  const std::size_t round = t.skip(from + 3);
  if (round >= t.text.size() || t.text[round] != '(') return {};
  const std::size_t first = t.end(round + 1, ";)\n");
  if (first >= t.text.size() || t.text[first] != ';') return {};
  const std::size_t second = t.end(first + 1, ";)\n"), close = t.end(second < t.text.size() ? second + 1 : second, ")\n");
  std::string name = "i", start = "0", stop = "n";
  std::vector<Fix> fixes;
  const std::string_view init = t.text.substr(round + 1, first - round - 1), test = t.text.substr(first + 1, second - first - 1);
  const std::size_t equals = init.find('='), less = test.find('<');
  if (equals != npos && less != npos && close < t.text.size() && t.text[close] == ')') {
    const std::string_view left = trimmed(init.substr(0, equals));
    name = left.substr(std::min(left.find_last_of(" \t") + 1, left.size()));
    start = trimmed(init.substr(equals + 1));
    const bool equal = test.substr(less, 2) == "<=";
    stop = std::string(trimmed(test.substr(less + (equal ? 2 : 1)))) + (equal ? " + 1" : "");
    fixes.push_back({"count with a range", t.span(from, close + 1), "for " + name + " in " + start + ".." + stop});
  }
  return say(t.span(from, round + 1), "a loop goes over a range: " + quote("for " + name + " in " + start + ".." + stop + " { ... }"), std::move(fixes));
}

Advice compare(NearText& t) {  // if a = b { }
  if (t.token != "=" || !t.expects("{") || one_of(t.word_before(t.at), {"fn"})) return {};
  const Span span = t.span(t.at, t.at + 1);
  return say(span, "a condition compares with `==`", {{"write `==`", span, "=="}});
}

// ---- blocks ---------------------------------------------------------------------------------------------------------
Advice block_place(NearText& t) {
  if (!t.expects("{")) return {};
  if (t.text[t.at] == '\n') {
    std::size_t next = t.at;
    while (next < t.text.size() && (t.text[next] == '\n' || t.text[next] == ' ' || t.text[next] == '\t' || t.text[next] == '\r')) ++next;
    if (next >= t.text.size() || t.text[next] != '{') return {};
    return say(t.span(next, next + 1), "a block's `{` stands on the line of its header", {{"put it on the header's line", t.span(t.back(t.at), next + 1), " {"}});
  }
  std::size_t header = npos;
  std::string_view word;
  for (std::string_view w : {"if", "while", "for", "else", "fn", "use", "test"}) {
    for (std::size_t i = t.word(w, t.statement, t.at); i < t.at; i = t.word(w, i + w.size(), t.at)) {
      if (header == npos || i > header) { header = i; word = w; }
    }
  }
  if (header == npos || (t.text[t.at] != ':' && word == "fn")) return {};
  const std::string text = std::string(trimmed(t.text.substr(header, t.at - header))) + " { ... }";
  return say(t.span(t.at, t.at + t.token.size()), "a block stands in braces: " + quote(text));
}

Advice lone_else(NearText& t) {
  if (t.token != "else" || t.expects("{")) return {};
  return say(t.span(t.at, t.at + 4), "this `else` belongs to no `if`: it follows the `}` of the `if`'s block");
}

// `{w, b}` or `{a = 1, b = 2}` where a value stands
Advice record_fields(NearText& t) {
  if (t.token != "," || t.open == npos || t.text[t.open] != '{') return {};
  const std::size_t close = t.end(t.open + 1, "}");
  if (close >= t.text.size()) return {};
  const std::size_t before = t.back(t.open);
  const bool value = before > 0 && (std::string_view("=(,[:").find(t.text[before - 1]) != npos || t.word_before(t.open) == "return");
  std::string fields, items;
  bool words = true;
  for (std::size_t at = t.open + 1; at < close;) {
    const std::size_t end = std::min(t.end(at, ",}\n;"), close);
    const std::string item(trimmed(t.text.substr(at, end - at)));
    const std::size_t equals = item.find('=');
    std::string name(trimmed(std::string_view(item).substr(0, equals)));
    const bool word = !name.empty() && is_word_start(name[0]) && std::all_of(name.begin(), name.end(), is_word_part);
    if (!item.empty()) {
      words = words && word;
      fields += (fields.empty() ? "" : ", ") + name + ": " + std::string(equals == npos ? std::string_view(name) : trimmed(std::string_view(item).substr(equals + 1)));
      items += (items.empty() ? "" : ", ") + item;
    }
    if (end < close && t.text[end] != ',') return {};
    at = end + 1;
  }
  const Span all = t.span(t.open, close + 1);
  if (!value) return say(t.span(t.at, t.at + 1), "several values make a tuple: " + quote("(" + items + ")"));
  if (words) return say(all, "a record names each of its fields: " + quote("{" + fields + "}"), {{"name the fields", all, "{" + fields + "}"}});
  return say(all, "braces hold a record or a block; a list is " + quote("[" + items + "]"), {{"write a list", all, "[" + items + "]"}});
}

// ---- calls, meshes, specs -------------------------------------------------------------------------------------------
Advice named_argument(NearText& t) {
  if (t.token != "=" || t.open == npos || t.text[t.open] != '(') return {};
  const std::string_view name = t.word_before(t.at);
  const std::size_t called = t.back(t.open);
  if (name.empty() || called == 0 || !(is_word_part(t.text[called - 1]) || t.text[called - 1] == ')' || t.text[called - 1] == ']')) return {};
  const std::size_t from = t.begin_of(name), end = t.back(t.end(t.at + 1, ",)"));
  const std::string text = std::string(name) + ": " + std::string(trimmed(t.text.substr(t.at + 1, end - t.at - 1)));
  return say(t.span(from, end), "an argument is named with a colon: " + quote(text), {{"use a colon", t.span(from, end), text}});
}

Advice spread(NearText& t) {  // f(*xs)
  if ((t.token != "*" && t.token != "**") || t.open == npos || !t.expects("an expression")) return {};
  const std::size_t before = t.back(t.at);
  if (before != t.open + 1 && (before == 0 || t.text[before - 1] != ',')) return {};
  const Span span = t.span(t.at, t.at + t.token.size());
  return say(span, quote(t.token) + " before a value is written `...`", {{"write `...`", span, "..."}});
}

Advice axis_sign(NearText& t) {
  if (t.expects("an axis such as `@X: 8`") || t.expects("an axis such as `@X`")) {
    std::string name(t.token);
    if (name.size() > 1 && name.front() == '"') name = name.substr(1, name.size() - 2);
    if (name.empty() || !is_word_start(name[0])) return {};
    const Span span = t.span(t.at, t.at + t.token.size());
    return say(span, "an axis is written with `@`: " + quote("@" + name), {{"add the `@`", span, "@" + name}});
  }
  if (t.expects("an axis' name") && t.at > 0 && t.text[t.at - 1] == '@' && (t.text[t.at] == ' ' || t.text[t.at] == '\t')) {
    return say(t.span(t.at - 1, t.at), "an axis has no blank after its `@`");
  }
  return {};
}

Advice in_parentheses(NearText& t) {
  if (t.word_before(t.at) == "P" && t.expects("(")) return say(t.span(t.begin_of(t.word_before(t.at)), t.at), "a spec is written with parentheses: `P(@X, _)`, or `P()` for whole copies");
  const bool function = one_of(t.token, {"fn", "manual"}) || (t.token == "jit" && t.expects("an expression"));
  if (t.token != "shard" && !function) return {};
  const std::size_t before = t.back(t.at);
  if (before <= t.statement) return {};
  const std::string form = function ? "(fn(x) = ...)" : "(shard ... as ...)";
  return say(t.span(t.at, t.at + t.token.size()), "as an operand, " + quote(t.token) + " needs parentheses: " + quote(form));
}

Advice in_let(NearText& t) {
  if (!t.expects("=") || !t.is_word(t.statement, 3) || t.text.substr(t.statement, 3) != "let") return {};
  if (t.token == "(") return say(t.span(t.statement, t.statement + 3), "a function is declared with `fn`", {{"write `fn`", t.span(t.statement, t.statement + 3), "fn"}});
  if (t.token != ":") return {};
  return say(t.span(t.at, t.at + 1), "a `let` has no annotation: a variable takes its type from its value");
}

}  // namespace

std::optional<Diagnostic> advise(State& state) {
  NearText t(state, static_cast<std::size_t>(state.furthest - state.begin));
  if (t.at >= t.text.size()) return std::nullopt;
  for (auto form : {c_style_for, lambda, foreign_word, string_prefix, print_statement, logical, increment, operator_and_more, comprehension, ternary, lone_else,
                    record_fields, named_argument, axis_sign, in_parentheses, in_let, spread, compare, block_place, unknown_sign}) {
    if (Advice d = form(t)) return d;
  }
  return std::nullopt;
}

std::optional<Diagnostic> advise_loop(State& state, Span where) {
  NearText t(state, where.begin);
  return t.at < t.text.size() ? c_style_for(t) : std::nullopt;
}

void check_digit_after_dot(State& state, const char* begin, const char* end) {
  if (end >= state.end || *end != '.') return;
  const char next = end + 1 < state.end ? end[1] : '\n';
  if (next == '.' || is_word_start(next)) return;
  const std::string text = std::string(begin, end) + ".0";
  state.fail(state.span(begin, end + 1), "a float has a digit on both sides of the dot: `" + text + "`", {},
             {{"add the digit", state.span(begin, end + 1), text}});
}

void fail_number_runs_on(State& state, const char* begin, const char* end) {
  while (end < state.end && is_word_part(*end)) ++end;
  state.fail(state.span(begin, end), quote(std::string_view(begin, static_cast<std::size_t>(end - begin))) + " is neither a number nor a name");
}

void check_after_shard(State& state, const Shard& shard, const char* at) {
  const std::string_view rest(at, static_cast<std::size_t>(state.end - at));
  if (rest.empty()) return;
  const bool follows = binary_at(rest) || rest[0] == '(' || rest[0] == '[' || (rest[0] == '.' && rest.size() > 1 && is_word_start(rest[1]));
  if (!follows) return;
  const std::string_view text(state.begin, static_cast<std::size_t>(state.end - state.begin));
  const std::size_t from = std::min<std::size_t>(text.rfind("shard", shard.value->span.begin), shard.value->span.begin);
  const Span span = state.span(state.begin + from, at);
  const std::string mended = "(" + std::string(state.text(span)) + ")";
  state.fail(span, "only `|>` may follow `shard ... as ...`: put it in parentheses: `" + mended + "`", {}, {{"put it in parentheses", span, mended}});
}

void check_lambda(State& state, const Function& function) {
  if (function.name.empty()) return;
  state.fail(function.name_span, "a function within an expression has no name: write `fn(...)`, and name it with `let` or in a statement of its own", {},
             {{"drop the name", function.name_span, ""}});
}

}  // namespace shard::grammar
