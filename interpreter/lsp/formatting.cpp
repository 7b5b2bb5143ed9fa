// A text in the one style.
#include "grammar/characters.h"
#include "interpreter/cli/session.h"
#include "interpreter/lsp/features.h"

namespace shard::lsp {

std::string null() { return "null"; }

std::vector<std::string> edits_to(Session& s, const Text& from, const std::string& to) {
  const std::string& old = from.str();
  if (old == to) return {};
  const auto within = [](const std::string& text, std::size_t at) {  // a character
    return at < text.size() && grammar::continues(text[at]);
  };
  std::size_t begin = 0, end = 0;  // `end` counts from the back
  while (begin < old.size() && begin < to.size() && old[begin] == to[begin]) ++begin;
  while (begin > 0 && (within(old, begin) || within(to, begin) || old[begin - 1] == '\r')) --begin;
  while (end < old.size() - begin && end < to.size() - begin && old[old.size() - 1 - end] == to[to.size() - 1 - end])
    ++end;
  while (end > 0 && (within(old, old.size() - end) || old[old.size() - end] == '\n')) --end;
  return {object({{"range", s.range(from, begin, old.size() - end)},
                  {"newText", json_string(std::string_view(to).substr(begin, to.size() - end - begin))}})};
}

std::string formatting(Session& s, const Params& p) {
  const Document& d = s.document(p);
  const cli::Restyled styled = cli::restyled(d.path, d.text.str());
  if (!styled.same_program) throw Refused{kRequestFailed, "a fault in Shard itself: this text cannot be formatted"};
  return list(styled.parses ? edits_to(s, d.text, styled.text) : std::vector<std::string>());  // a broken one stays
}

}  // namespace shard::lsp
