// Conditions, loops, blocks and calls of other languages: `a if c else b`, `[e for x in xs]`, `if c:`, `f(a=1)`,
// `(X: 8)`.
#include "grammar/advice/forms.h"

#include <algorithm>

#include "grammar/logical_lines.h"

namespace shard::grammar {

// ---- conditions and loops within expressions ------------------------------------------------------------------------
namespace {

std::string chosen(std::string_view c, std::string_view a, std::string_view b) {
  return "if " + std::string(trimmed(c)) + " { " + std::string(trimmed(a)) + " }" +
         (trimmed(b).empty() ? "" : " else { " + std::string(trimmed(b)) + " }");
}

}  // namespace

Advice ternary(NearText& t) {  // a if c else b, and c ? a : b
  const bool sign = t.token == "?";
  if ((t.token != "if" && !sign) || t.expects("an expression")) return {};
  const std::size_t from = t.operand_begin(t.at), first = t.at + t.token.size();
  const std::size_t middle = sign ? t.end(first, ":,)]}\n;") : t.word("else", first, t.end(first, ",)]}\n;"));
  const bool both = middle < t.text.size() && (sign ? t.text[middle] == ':' : t.is_word(middle, 4));
  const std::size_t second = middle + (sign ? 1 : 4);
  const std::size_t end = both ? t.end(second, ",)]}\n;") : middle;
  const std::string_view a = t.text.substr(from, t.at - from), b = t.text.substr(first, middle - first),
                         c = both ? t.text.substr(second, end - second) : "";
  const std::string text = sign ? chosen(a, b, c) : chosen(b, a, c);
  return say(t.span(t.at, first), "a condition comes first: " + quote(text),
             {{"put the condition first", t.span(from, t.back(end)), text}});
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
    std::string names(trimmed(t.text.substr(pattern, in - pattern))),
        over(trimmed(t.text.substr(in + 2, condition - in - 2)));
    if (names.find(',') != std::string::npos && names[0] != '(') names = "(" + names + ")";
    const std::string head = "fn(" + names + ") = ";
    if (condition < close)
      over = "filter(" + head + std::string(trimmed(t.text.substr(condition + 2, close - condition - 2))) + ", " +
             over + ")";
    text = "map(" + head + std::string(trimmed(t.text.substr(from, t.at - from))) + ", " + over + ")";
    if (bracket == '[')
      fixes.push_back({"use map", t.span(t.open, close + 1), text});
    else if (bracket == '(')
      fixes.push_back({"use map", t.span(from, close), text});
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
  const std::size_t second = t.end(first + 1, ";)\n"),
                    close = t.end(second < t.text.size() ? second + 1 : second, ")\n");
  std::string name = "i", start = "0", stop = "n";
  std::vector<Fix> fixes;
  const std::string_view init = t.text.substr(round + 1, first - round - 1),
                         test = t.text.substr(first + 1, second - first - 1);
  const std::size_t equals = init.find('='), less = test.find('<');
  if (equals != npos && less != npos && close < t.text.size() && t.text[close] == ')') {
    const std::string_view left = trimmed(init.substr(0, equals));
    name = left.substr(std::min(left.find_last_of(" \t") + 1, left.size()));
    start = trimmed(init.substr(equals + 1));
    const bool equal = test.substr(less, 2) == "<=";
    stop = std::string(trimmed(test.substr(less + (equal ? 2 : 1)))) + (equal ? " + 1" : "");
    fixes.push_back({"count with a range", t.span(from, close + 1), "for " + name + " in " + start + ".." + stop});
  }
  return say(t.span(from, round + 1),
             "a loop goes over a range: " + quote("for " + name + " in " + start + ".." + stop + " { ... }"),
             std::move(fixes));
}

// ---- blocks ---------------------------------------------------------------------------------------------------------
Advice block_place(NearText& t) {
  if (!t.expects("{")) return {};
  if (t.text[t.at] == '\n') {
    std::size_t next = t.at;
    while (next < t.text.size() &&
           (t.text[next] == '\n' || t.text[next] == ' ' || t.text[next] == '\t' || t.text[next] == '\r'))
      ++next;
    if (next >= t.text.size() || t.text[next] != '{') {
      const Span end = t.span(t.back(t.at), t.back(t.at));
      return perhaps(say(end, "a block begins with `{` on the line of its header, and ends with `}`",
                         {{"open the block", end, " {"}}));
    }
    return say(t.span(next, next + 1), "a block's `{` stands on the line of its header",
               {{"put it on the header's line", t.span(t.back(t.at), next + 1), " {"}});
  }
  std::size_t header = npos;
  std::string_view word;
  for (std::string_view w : {"if", "while", "for", "else", "fn", "use", "test"}) {
    for (std::size_t i = t.word(w, t.statement, t.at); i < t.at; i = t.word(w, i + w.size(), t.at)) {
      if (header == npos || i > header) {
        header = i;
        word = w;
      }
    }
  }
  if (header == npos || (t.text[t.at] != ':' && word == "fn")) return {};
  const std::string text = std::string(trimmed(t.text.substr(header, t.at - header))) + " { ... }";
  return say(t.here(), "a block stands in braces: " + quote(text));
}

Advice lone_else(NearText& t) {
  if (t.token != "else" || t.expects("{")) return {};
  return say(t.span(t.at, t.at + 4), "this `else` belongs to no `if`: it follows the `}` of the `if`'s block");
}

// `{w: 1, b}`: the text with `b: b`, or empty unless some parts have a name before a colon and others not.
std::string fields_completed(const NearText& t, std::size_t from, std::size_t close) {
  std::string out;
  bool named = false, lacks = false;
  for (std::size_t at = from; at < close;) {
    const std::size_t end = std::min(t.end(at, ",}\n;"), close);
    const std::string_view item = trimmed(t.text.substr(at, end - at));
    const std::size_t word = std::find_if_not(item.begin(), item.end(), is_word_part) - item.begin();
    if (word == 0 || !is_word_start(item[0])) return {};
    const std::string_view behind = trimmed(item.substr(word));
    if (!behind.empty() && behind[0] != ':') return {};
    (behind.empty() ? lacks : named) = true;
    out += (out.empty() ? "" : ", ") + std::string(item) + (behind.empty() ? ": " + std::string(item) : "");
    if (end < close && t.text[end] != ',') return {};
    at = end + 1;
  }
  return named && lacks ? out : std::string();
}

// `{w, b}` or `{a = 1, b = 2}` where a value stands
Advice record_fields(NearText& t) {
  if ((t.token != "," && t.token != "}") || t.open == npos || t.text[t.open] != '{') return {};
  const std::size_t close = t.token == "}" ? t.at : t.end(t.open + 1, "}");
  if (close >= t.text.size()) return {};
  const Span all = t.span(t.open, close + 1);
  if (const std::string fields = fields_completed(t, t.open + 1, close); !fields.empty())
    return say(all, "a record names each of its fields: " + quote("{" + fields + "}"),
               {{"name the fields", all, "{" + fields + "}"}});
  if (t.token == "}") return {};
  const std::size_t before = t.back(t.open);
  const bool value =
      before > 0 && (std::string_view("=(,[:").find(t.text[before - 1]) != npos || t.word_before(t.open) == "return");
  std::string fields, items;
  bool words = true;
  for (std::size_t at = t.open + 1; at < close;) {
    const std::size_t end = std::min(t.end(at, ",}\n;"), close);
    std::string item(trimmed(t.text.substr(at, end - at)));
    if (item.substr(0, 7) == "return ") item = trimmed(std::string_view(item).substr(7));
    const std::size_t equals = item.find('=');
    std::string name(trimmed(std::string_view(item).substr(0, equals)));
    const bool word = !name.empty() && is_word_start(name[0]) && std::all_of(name.begin(), name.end(), is_word_part);
    if (!item.empty()) {
      words = words && word;
      fields +=
          (fields.empty() ? "" : ", ") + name + ": " +
          std::string(equals == npos ? std::string_view(name) : trimmed(std::string_view(item).substr(equals + 1)));
      items += (items.empty() ? "" : ", ") + item;
    }
    if (end < close && t.text[end] != ',') return {};
    at = end + 1;
  }
  if (!value) return say(t.span(t.at, t.at + 1), "several values make a tuple: " + quote("(" + items + ")"));
  if (words)
    return say(all, "a record names each of its fields: " + quote("{" + fields + "}"),
               {{"name the fields", all, "{" + fields + "}"}});
  return perhaps(say(all, "braces hold a record or a block; a list is " + quote("[" + items + "]"),
                     {{"write a list", all, "[" + items + "]"}}));
}

// ---- calls, meshes, specs -------------------------------------------------------------------------------------------
Advice named_argument(NearText& t) {
  if (t.token != "=" || t.open == npos || t.text[t.open] != '(') return {};
  const std::string_view name = t.word_before(t.at);
  const std::size_t called = t.back(t.open);
  if (name.empty() || called == 0 ||
      !(is_word_part(t.text[called - 1]) || t.text[called - 1] == ')' || t.text[called - 1] == ']'))
    return {};
  const std::size_t from = t.begin_of(name), end = t.back(t.end(t.at + 1, ",)"));
  const std::string text = std::string(name) + ": " + std::string(trimmed(t.text.substr(t.at + 1, end - t.at - 1)));
  return say(t.span(from, end), "an argument is named with a colon: " + quote(text),
             {{"use a colon", t.span(from, end), text}});
}

Advice axis_sign(NearText& t) {
  if (t.expects("an axis such as `@X: 8`") || t.expects("an axis such as `@X`")) {
    std::string name(t.token);
    if (name.size() > 1 && name.front() == '"') name = name.substr(1, name.size() - 2);
    if (name.empty() || !is_word_start(name[0])) return {};
    const Span span = t.here();
    return say(span, "an axis is written with `@`: " + quote("@" + name), {{"add the `@`", span, "@" + name}});
  }
  if (t.expects("an axis' name") && t.at > 0 && t.text[t.at - 1] == '@' &&
      (t.text[t.at] == ' ' || t.text[t.at] == '\t')) {
    return say(t.span(t.at - 1, t.at), "an axis has no blank after its `@`");
  }
  return {};
}

Advice in_parentheses(NearText& t) {
  if (t.word_before(t.at) == "P" && t.expects("("))
    return say(t.span(t.begin_of(t.word_before(t.at)), t.at),
               "a spec is written with parentheses: `P(@X, _)`, or `P()` for whole copies");
  const bool function = one_of(t.token, {"fn", "manual"}) || (t.token == "jit" && t.expects("an expression"));
  if (t.token != "shard" && !function) return {};
  const std::size_t before = t.back(t.at);
  if (before <= t.statement) return {};
  const std::string form = function ? "(fn(x) = ...)" : "(shard ... as ...)";
  return say(t.here(), "as an operand, " + quote(t.token) + " needs parentheses: " + quote(form));
}

}  // namespace shard::grammar
