// Positions in text: lines are indexed once, columns are counted where they are asked for.
#include "grammar/source.h"

#include <algorithm>

#include "grammar/characters.h"

namespace shard::grammar {

std::size_t line_begin(std::string_view text, std::size_t at) {
  return at == 0 ? 0 : text.rfind('\n', at - 1) + 1;  // npos + 1: the first line
}

std::size_t indent_of(std::string_view text, std::size_t at) {
  const std::size_t line = line_begin(text, at);
  return std::min(text.find_first_not_of(" \t\r", line), text.size()) - line;
}

Source::Source(std::string name, std::string text, int first_line)
    : name_(std::move(name)), text_(std::move(text)), before_(first_line - 1) {
  starts_.push_back(0);
  for (std::size_t i = 0; i < text_.size(); ++i) {
    if (text_[i] == '\n') starts_.push_back(static_cast<std::uint32_t>(i + 1));
  }
}

Position Source::position(std::uint32_t offset) const {
  offset = std::min(offset, static_cast<std::uint32_t>(text_.size()));
  const auto next = std::upper_bound(starts_.begin(), starts_.end(), offset);
  const std::uint32_t start = *(next - 1);
  int column = 1;
  for (std::uint32_t i = start; i < offset; ++i) {
    if (!continues(text_[i])) ++column;
  }
  return {static_cast<int>(next - starts_.begin()) + before_, column};
}

std::string_view Source::line(int number) const {
  number -= before_;
  if (number < 1 || static_cast<std::size_t>(number) > starts_.size()) return {};
  const std::size_t start = starts_[static_cast<std::size_t>(number - 1)];
  std::size_t end = text_.find('\n', start);
  if (end == std::string::npos) end = text_.size();
  if (end > start && text_[end - 1] == '\r') --end;
  return std::string_view(text_).substr(start, end - start);
}

std::uint32_t SourceMap::add(std::string name, std::string text, int first_line) {
  sources_.push_back(std::make_unique<Source>(std::move(name), std::move(text), first_line));
  return static_cast<std::uint32_t>(sources_.size());
}

std::string_view SourceMap::text(const Span& s) const {
  if (!has(s.source)) return {};
  const std::string& text = at(s.source).text();
  const std::size_t begin = std::min<std::size_t>(s.begin, text.size());
  return std::string_view(text).substr(begin, s.end > begin ? s.end - begin : 0);
}

}  // namespace shard::grammar
