// A text as editors speak of it: lines from 0, and within a line units of UTF-16 (or what was agreed on). Offsets are
// bytes, as in spans.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace shard::lsp {

enum class Units : std::uint8_t { Utf16, Utf8, Utf32 };

struct Place {
  std::int64_t line = 0, character = 0;
};

class Text {
 public:
  explicit Text(std::string text = "");
  const std::string& str() const { return text_; }
  Place place(std::size_t offset, Units units) const;
  std::size_t offset(Place place, Units units) const;  // places beyond a line or the text are at its end
  void replace(std::size_t begin, std::size_t end, std::string_view by);
  std::size_t line_of(std::size_t offset) const;
  std::size_t begin_of(std::size_t line) const { return starts_[line]; }
  std::size_t end_of(std::size_t line) const;  // before its newline
  std::size_t lines() const { return starts_.size(); }

 private:
  void find_lines();
  std::string text_;
  std::vector<std::size_t> starts_;
};

// Where a place of one text is in another that was made of it by changes in one stretch: the text before and behind it
// is the same.
class Shift {
 public:
  Shift(std::string_view from, std::string_view to);
  // Nothing within the stretch. What begins where something was put in stands behind it, what ends there before it.
  std::optional<std::size_t> operator()(std::size_t offset, bool begins = false) const;
  bool same() const { return same_; }

 private:
  std::size_t before_, from_end_, to_end_;
  bool same_;
};

}  // namespace shard::lsp
