// Where text comes from and how a place in it is named.
// A Source is one file (or one REPL entry); a Span is a half-open byte range in one; the SourceMap owns the sources of
// an engine. Nothing here renders: see interpreter/lang/report/report.h for the picture with the caret.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace shard::grammar {

struct Span {
  std::uint32_t source = 0;  // index into the SourceMap; 0 is "no source"
  std::uint32_t begin = 0;   // byte offsets, half open
  std::uint32_t end = 0;
  bool known() const { return source != 0; }
  bool operator==(const Span&) const = default;
};

struct Position {
  int line = 1;
  int column = 1;
};  // both from 1; columns count UTF-8 code points

inline bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }  // within a line
std::size_t line_begin(std::string_view text, std::size_t at);               // of the line around `at`
std::size_t indent_of(std::string_view text, std::size_t at);                // how many blanks that line begins with

class Source {
 public:
  Source(std::string name, std::string text, int first_line = 1);  // the number of its first line
  const std::string& name() const { return name_; }
  const std::string& text() const { return text_; }
  Position position(std::uint32_t offset) const;
  std::string_view line(int number) const;  // without its newline; empty beyond the end

 private:
  std::string name_, text_;
  int before_;                         // lines that stand before it
  std::vector<std::uint32_t> starts_;  // offset at which each line begins
};

class SourceMap {
 public:
  std::uint32_t add(std::string name, std::string text, int first_line = 1);  // the id to put into spans
  const Source& at(std::uint32_t id) const { return *sources_.at(id - 1); }
  bool has(std::uint32_t id) const { return id >= 1 && id <= sources_.size(); }
  std::string_view text(const Span& s) const;  // what the span covers
  int line_of(const Span& s) const { return has(s.source) ? at(s.source).position(s.begin).line : 0; }  // 0: not known

 private:
  std::vector<std::unique_ptr<Source>> sources_;
};

}  // namespace shard::grammar
