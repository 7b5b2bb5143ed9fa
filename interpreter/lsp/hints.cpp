// What stands nowhere in the text: types with layouts behind the names that `let` declares, and above a compiled
// function what its calls send.
#include <algorithm>
#include <map>

#include "interpreter/lsp/features.h"

namespace shard::lsp {
namespace {

using grammar::Span;

bool has_array(const std::string& types) { return types.find('[') != std::string::npos && !types.starts_with("_"); }

}  // namespace

std::string types_of(const Document& d, Span declared) {
  if (!d.types || !d.tree) return "";
  const auto at = Shift(d.tree->text, d.types->text)(declared.begin, true);
  for (const lang::Check::Let& l : d.types->checker.lets)
    if (at && l.word.begin == *at) return l.type();
  return "";
}

std::string inlay_hints(Session& s, const Params& p) {
  const Document& d = s.document(p);
  const auto line = [&](std::string_view end) { return need_number(p, {"range", end, "line"}); };
  const std::int64_t first = line("start"), last = line("end");
  std::vector<std::string> out;
  if (!d.types) return list(out);
  const Shift shift(d.types->text, d.text.str());
  constexpr std::size_t kLongest = 60;
  for (const lang::Check::Let& l : d.types->checker.lets) {
    const auto at = carried(shift, l.word);
    const std::string types = l.type();
    if (!at || !has_array(types)) continue;
    const Place place = d.text.place(at->second, s.units);
    if (place.line < first || place.line > last) continue;
    const bool long_one = types.size() > kLongest;
    out.push_back(object({{"position", s.place(d.text, at->second)},
                          {"label", json_string(": " + (long_one ? types.substr(0, kLongest - 3) + "..." : types))},
                          {"kind", number(1)},
                          {"tooltip", long_one ? json_string(types) : ""}}));
  }
  return list(out);
}

std::string code_lenses(Session& s, const Params& p) {
  const Document& d = s.document(p);
  std::vector<std::string> out;
  if (!d.types) return list(out);
  const Shift shift(d.types->text, d.text.str());
  std::map<std::size_t, std::vector<std::string>> lenses;  // by where the function begins: a title each
  for (const ExplainedCall& c : d.types->calls) {
    if (!c.function.known()) continue;
    const auto at = carried(shift, {c.function.source, c.function.begin, c.function.begin});
    if (!at) continue;
    std::string title = c.sends.empty() ? "communicates nothing" : "communicates " + c.sends;
    std::vector<std::string>& of_function = lenses[at->first];
    if (std::find(of_function.begin(), of_function.end(), title) == of_function.end())
      of_function.push_back(std::move(title));
  }
  for (const auto& [at, titles] : lenses)
    for (const std::string& title : titles)
      out.push_back(object({{"range", s.range(d.text, at, at)},
                            {"command", object({{"title", json_string(title)}, {"command", json_string("")}})}}));
  return list(out);
}

}  // namespace shard::lsp
