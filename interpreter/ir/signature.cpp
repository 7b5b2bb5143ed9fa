#include "interpreter/ir/signature.h"

#include <charconv>
#include <map>
#include <stdexcept>

#include "grammar/characters.h"

namespace shard::ir {
namespace {

[[noreturn]] void malformed(std::string_view text, const std::string& why) {
  throw std::logic_error("signature `" + std::string(text) + "`: " + why);
}

const std::map<std::string_view, ParamKind>& kinds() {
  static const std::map<std::string_view, ParamKind> table = {
      {"array", ParamKind::Array}, {"arrays", ParamKind::Arrays}, {"int", ParamKind::Int},
      {"ints", ParamKind::Ints},   {"float", ParamKind::Float},   {"bool", ParamKind::Bool},
      {"str", ParamKind::Str},     {"dtype", ParamKind::DType},   {"spec", ParamKind::Spec},
      {"pairs", ParamKind::Pairs}, {"number", ParamKind::Number}};
  return table;
}

AttrValue literal(std::string_view word, std::string_view text) {
  if (word == "none") return std::monostate{};
  if (word == "true") return true;
  if (word == "false") return false;
  if (word.size() >= 2 && word.front() == '"' && word.back() == '"')
    return std::string(word.substr(1, word.size() - 2));
  if (auto t = runtime::dtype_named(word)) return *t;
  if (word.size() >= 2 && word.front() == '[' && word.back() == ']') {
    Ints out;
    std::string_view inner = grammar::trimmed(word.substr(1, word.size() - 2));
    while (!inner.empty()) {
      std::size_t comma = inner.find(',');
      std::string_view one = grammar::trimmed(inner.substr(0, comma));
      std::int64_t n = 0;
      if (std::from_chars(one.data(), one.data() + one.size(), n).ec != std::errc())
        malformed(text, "default " + std::string(word));
      out.push_back(n);
      inner = comma == std::string_view::npos ? std::string_view() : inner.substr(comma + 1);
    }
    return out;
  }
  const char *b = word.data(), *e = b + word.size();
  std::int64_t n = 0;
  if (auto r = std::from_chars(b, e, n); r.ec == std::errc() && r.ptr == e) return n;
  double d = 0;
  if (auto r = std::from_chars(b, e, d); r.ec == std::errc() && r.ptr == e) return d;
  malformed(text, "default `" + std::string(word) + "` is no literal");
}

}  // namespace

Signature parse_signature(std::string_view text) {
  Signature s;
  s.text = std::string(text);
  std::size_t open = text.find('('), close = text.rfind(')');
  if (open == std::string_view::npos || close == std::string_view::npos || close < open)
    malformed(text, "needs `name(...)`");
  s.name = std::string(grammar::trimmed(text.substr(0, open)));
  std::string_view rest = text.substr(open + 1, close - open - 1);
  while (!grammar::trimmed(rest).empty()) {
    int depth = 0;
    std::size_t end = 0;
    for (; end < rest.size() && !(rest[end] == ',' && depth == 0); ++end)
      depth += rest[end] == '[' ? 1 : rest[end] == ']' ? -1 : 0;
    std::string_view item = grammar::trimmed(rest.substr(0, end));
    rest = end < rest.size() ? rest.substr(end + 1) : std::string_view();
    Parameter p;
    if (std::size_t eq = item.find('='); eq != std::string_view::npos) {
      p.default_value = literal(grammar::trimmed(item.substr(eq + 1)), text);
      item = grammar::trimmed(item.substr(0, eq));
    }
    if (item.ends_with("...")) {
      p.rest = true;
      item = grammar::trimmed(item.substr(0, item.size() - 3));
    }
    if (item.ends_with("?")) {
      p.optional = true;
      item = grammar::trimmed(item.substr(0, item.size() - 1));
    }
    std::size_t colon = item.find(':');
    p.name = std::string(grammar::trimmed(item.substr(0, colon)));
    if (p.name.empty()) malformed(text, "a parameter has no name");
    if (colon != std::string_view::npos) {
      auto it = kinds().find(grammar::trimmed(item.substr(colon + 1)));
      if (it == kinds().end())
        malformed(text, "`" + std::string(grammar::trimmed(item.substr(colon + 1))) + "` is no kind of parameter");
      p.kind = it->second;
    }
    if (p.optional && !p.default_value) p.default_value = std::monostate{};
    s.params.push_back(std::move(p));
  }
  return s;
}

}  // namespace shard::ir
