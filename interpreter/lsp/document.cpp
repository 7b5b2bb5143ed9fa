#include "interpreter/lsp/document.h"

#include <algorithm>

#include "grammar/characters.h"

namespace shard::lsp {
namespace {

using grammar::continues;

// The units of the character that begins with `c`.
std::int64_t units_of(char c, Units units) {
  return units == Units::Utf16 && static_cast<unsigned char>(c) >= 0xf0 ? 2 : 1;
}

}  // namespace

Text::Text(std::string text) : text_(std::move(text)) { find_lines(); }

void Text::find_lines() {
  starts_.assign(1, 0);
  for (std::size_t at = text_.find('\n'); at != std::string::npos; at = text_.find('\n', at + 1))
    starts_.push_back(at + 1);
}

std::size_t Text::line_of(std::size_t offset) const {
  return static_cast<std::size_t>(std::upper_bound(starts_.begin(), starts_.end(), offset) - starts_.begin()) - 1;
}

std::size_t Text::end_of(std::size_t line) const {
  std::size_t end = line + 1 < starts_.size() ? starts_[line + 1] - 1 : text_.size();
  if (line + 1 < starts_.size() && end > starts_[line] && text_[end - 1] == '\r') --end;
  return end;
}

Place Text::place(std::size_t offset, Units units) const {
  offset = std::min(offset, text_.size());
  const std::size_t line = line_of(offset), begin = starts_[line];
  Place out{static_cast<std::int64_t>(line), 0};
  if (units == Units::Utf8) {
    out.character = static_cast<std::int64_t>(offset - begin);
    return out;
  }
  for (std::size_t i = begin; i < offset; ++i)
    if (!continues(text_[i])) out.character += units_of(text_[i], units);
  return out;
}

std::size_t Text::offset(Place place, Units units) const {
  if (place.line < 0) return 0;
  if (static_cast<std::size_t>(place.line) >= starts_.size()) return text_.size();
  const auto line = static_cast<std::size_t>(place.line);
  std::size_t at = starts_[line];
  const std::size_t end = end_of(line);
  std::int64_t left = place.character;
  if (units == Units::Utf8) {
    at = left <= 0 ? at : static_cast<std::size_t>(left) > end - at ? end : at + static_cast<std::size_t>(left);
    while (at > starts_[line] && at < end && continues(text_[at])) --at;
    return at;
  }
  while (at < end && left > 0) {
    left -= units_of(text_[at], units);
    if (left < 0) break;  // within a pair
    for (++at; at < end && continues(text_[at]);) ++at;
  }
  return at;
}

void Text::replace(std::size_t begin, std::size_t end, std::string_view by) {
  text_.replace(begin, std::max(begin, end) - begin, by);
  find_lines();
}

Shift::Shift(std::string_view from, std::string_view to) : same_(from == to) {
  const auto [a, b] = std::mismatch(from.begin(), from.end(), to.begin(), to.end());
  before_ = static_cast<std::size_t>(a - from.begin());
  std::size_t behind = 0;
  while (behind < from.size() - before_ && behind < to.size() - before_ &&
         from[from.size() - 1 - behind] == to[to.size() - 1 - behind])
    ++behind;
  from_end_ = from.size() - behind;
  to_end_ = to.size() - behind;
}

std::optional<std::size_t> Shift::operator()(std::size_t offset, bool begins) const {
  if (same_ || offset < before_ || (offset == before_ && !begins)) return offset;
  if (offset >= from_end_) return offset - from_end_ + to_end_;
  return offset == before_ ? std::optional(offset) : std::nullopt;
}

}  // namespace shard::lsp
