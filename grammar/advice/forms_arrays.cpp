// Arrays, ranges, layouts and meshes as other languages write them: `[1 2; 3 4]`, `sin.(x)`, `1:10`, `shard(x, P(@i))`,
// `mesh((4, 2), ("data", "model"))`.
#include <algorithm>
#include <string>
#include <vector>

#include "grammar/advice/advice.h"
#include "grammar/advice/forms.h"
#include "grammar/parse.h"

namespace shard::grammar {

// Only the numbers before the names are sizes, and of these the last: `Mesh(devices()[:8].reshape(4, 2), ("a", "b"))`.
std::string mesh_line(std::string_view call, std::string_view name) {
  const std::string_view text = call.substr(0, call.find("axis_types"));
  const bool typed = call.substr(text.size()).find("Explicit") != npos;
  std::vector<std::string> sizes, names;
  Scanner scan(text, Strings::Whole);
  for (Token t = scan.next(); t; t = scan.next()) {
    if (t.kind == TokenKind::Number && names.empty()) sizes.emplace_back(scan.text(t));
    if (t.kind == TokenKind::Text && t.whole) names.emplace_back(text.substr(t.begin + 1, t.end - t.begin - 2));
  }
  if (names.size() == 1 && sizes.empty()) sizes.emplace_back("_");  // all the devices there are
  if (names.empty() || sizes.size() < names.size()) return {};
  sizes.erase(sizes.begin(), sizes.end() - static_cast<std::ptrdiff_t>(names.size()));
  std::string out;
  for (std::size_t i = 0; i < names.size(); ++i) out += (i ? ", @" : "(@") + names[i] + ": " + sizes[i];
  return "mesh " + std::string(is_keyword(name) ? "m" : name) + " = " + out + (typed ? ") explicit" : ")");
}

namespace {

// The number behind the last one of a range that has both ends.
std::string behind(const std::string& last) {
  const bool digits = !last.empty() && last.size() < 10 && last.find_first_not_of("0123456789") == npos;
  return digits ? std::to_string(std::stoll(last) + 1) : last + " + 1";
}

}  // namespace

Advice mesh_call(NearText& t) {
  const std::string_view before = t.word_before(t.at);
  const std::size_t end = t.end(t.statement, "\n;"), equals = t.end(t.statement, "=\n;");
  const bool called = before == "mesh" && t.begin_of(before) == t.statement && t.token == "(";
  // `mesh = jax.make_mesh(...)`, and the same behind a `let`
  const std::string_view value =
      equals < end ? trimmed(t.text.substr(equals + 1, end - equals - 1)) : std::string_view();
  const std::string_view callee = value.substr(0, value.find('('));
  const bool made = callee.size() < value.size() && (callee == "Mesh" || callee == "make_mesh" ||
                                                     callee.ends_with(".Mesh") || callee.ends_with(".make_mesh"));
  if (!called && !made) return {};
  const std::string text = mesh_line(called ? t.text.substr(t.at, end - t.at) : value,
                                     called ? std::string_view("m") : t.word_before(equals));
  const Span word = t.span(t.statement, called ? t.statement + before.size() : t.back(end));
  if (!text.empty())
    return say(word, "a mesh is declared: " + quote(text), {{"declare it", t.span(t.statement, t.back(end)), text}});
  if (made) return say(word, "a mesh is declared: `mesh m = (@X: 8)`");
  return say(t.span(t.at, t.at + 1), "a mesh has a name: `mesh m = (@X: 8)`",
             {{"name it", t.span(t.at, t.at), "m = "}});
}

Advice shard_call(NearText& t) {
  if (!t.expects("as")) return {};
  const std::size_t word = t.word("shard", t.statement, t.at);
  const std::size_t open = word < t.at ? t.skip(word + 5) : t.text.size();
  if (open >= t.text.size() || t.text[open] != '(') return {};
  std::vector<std::string> parts;
  std::size_t from = open + 1, close = from;
  for (; close < t.text.size(); from = close + 1) {
    close = t.end(from, ",)");
    if (close >= t.text.size()) return {};
    parts.emplace_back(trimmed(t.text.substr(from, close - from)));
    if (t.text[close] == ')') break;
  }
  if (parts.size() < 2 || parts.size() > 3) return {};
  const std::string text = "shard " + parts[0] + " as " + parts[1] + (parts.size() == 3 ? " on " + parts[2] : "");
  return say(t.span(word, close + 1), "`shard` is no function: " + quote(text),
             {{"say the layout with `as`", t.span(word, close + 1), text}});
}

// `for i in 1:10 {`, `for i in 1:2:10 {`, `for i = 1:10`, `for i = 1, 10 do`: ranges with both of their ends.
Advice ranged_for(NearText& t) {
  if (!t.is_word(t.statement, 3) || t.text.substr(t.statement, 3) != "for") return {};
  const bool equals = t.token == "=" && t.expects("in");
  if (!equals && !(t.token == ":" && t.expects("{"))) return {};
  const std::size_t line = t.end(t.at, "{\n;"), word = std::min(t.word("do", t.at, line), line);
  if (!equals && (line >= t.text.size() || t.text[line] != '{')) return {};  // `for x in xs:` is a block's colon
  const std::size_t from = equals ? t.skip(t.at + 1) : t.skip(t.word("in", t.statement, t.at) + 2);
  const std::size_t end = t.back(word);
  if (from >= end) return {};
  std::vector<std::string> parts;
  const char* signs = equals ? ":," : ":";
  const bool commas = equals && t.text.substr(from, end - from).find(':') == npos;
  for (std::size_t at = from; at <= end;) {
    const std::size_t stop = std::min(t.end(at, signs), end);
    parts.emplace_back(trimmed(t.text.substr(at, stop - at)));
    at = stop + 1;
  }
  if (parts.size() < 2 || parts.size() > 3) return {};
  for (const std::string& part : parts)
    if (part.empty()) return {};
  const std::string &stop = commas ? parts[1] : parts.back(), &step = commas ? parts.back() : parts[1];
  const std::string text = parts.size() == 2 ? parts[0] + ".." + behind(stop)
                                             : "range(" + parts[0] + ", " + behind(stop) + ", " + step + ")";
  return say(t.span(t.at, t.at + 1), "a range ends before its last number: " + quote("for i in " + text + " { ... }"),
             {{"write the range", t.span(equals ? t.at : from, end), equals ? "in " + text : text}});
}

// `[1 2 3]`, `[1 2; 3 4]`
Advice blanks_in_list(NearText& t) {
  if (!t.expects(",") || t.open == npos || t.text[t.open] != '[' || t.token.empty()) return {};
  const char before = t.open ? t.text[t.open - 1] : ' ';
  if (is_word_part(before) || before == ')' || before == ']') return {};  // an index, where blanks mean nothing
  const std::size_t close = t.end(t.open + 1, "]");
  if (close >= t.text.size()) return {};
  std::vector<std::string> rows{""};
  bool gap = false;
  for (const char c : t.text.substr(t.open + 1, close - t.open - 1)) {
    if (c == ';') {
      rows.emplace_back();
    } else if (c == ' ' || c == '\t' || c == '\n') {
      gap = true;
      continue;
    } else if ((c >= '0' && c <= '9') || c == '.' || c == '-' || c == '_' || (c >= 'a' && c <= 'z')) {
      rows.back() += (gap && !rows.back().empty() ? ", " : "") + std::string(1, c);
    } else {
      return {};
    }
    gap = false;
  }
  std::string text;
  for (const std::string& row : rows) text += (text.empty() ? "" : ", ") + (rows.size() > 1 ? "[" + row + "]" : row);
  return say(t.here(), "commas stand between the elements of a list: " + quote("[" + text + "]"),
             {{"add the commas", t.span(t.open, close + 1), "[" + text + "]"}});
}

// `sin.(x)`, `x .+ 1`
Advice dotted(NearText& t) {
  if (!t.expects("a field's name") || t.at == 0 || t.text[t.at - 1] != '.' || t.token.empty()) return {};
  const char c = t.text[t.at];
  if (std::string_view("(+-*/<>=").find(c) == npos) return {};
  const std::string what = c == '(' ? "functions" : "operators";
  return say(t.span(t.at - 1, t.at + 1), what + " act on each element as they are, without a dot",
             {{"drop the dot", t.span(t.at - 1, t.at), ""}});
}

}  // namespace shard::grammar
