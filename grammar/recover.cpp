#include "grammar/recover.h"

#include <algorithm>
#include <array>
#include <vector>

namespace shard::grammar {
namespace {

// Past the string whose quote stands at `at`, with all that it interpolates.
std::size_t string_end(std::string_view s, std::size_t at) {
  int holes = 0;  // open interpolations; a quote within one opens a string of its own
  for (std::size_t i = at + 1; i < s.size(); ++i) {
    const char c = s[i];
    if (c == '\n') return i;
    if (c == '\\' && !holes) {
      ++i;
    } else if (c == '{') {
      if (!holes && i + 1 < s.size() && s[i + 1] == '{')
        ++i;
      else
        ++holes;
    } else if (c == '}' && holes) {
      --holes;
    } else if (c == '"') {
      if (!holes) return i + 1;
      i = string_end(s, i) - 1;
    }
  }
  return s.size();
}

struct Statement {
  std::size_t begin = 0, end = 0;
  std::size_t block = std::string_view::npos;  // the first `{` of a block that belongs to it, behind the error
};

// The innermost statement around `at`, in a text whose brackets fit.
Statement statement_around(std::string_view s, std::size_t at) {
  struct Level {
    char sign;
    bool block;
    std::size_t begin;  // of the statement at hand
  };
  std::vector<Level> open{{'{', true, 0}};
  Statement found;
  std::size_t depth = 0;  // of the statement that was found, once it is
  for (std::size_t i = 0; i < s.size(); ++i) {
    const char c = s[i];
    if (!depth && i >= at && open.back().block) {
      found.begin = open.back().begin;
      depth = open.size();
    }
    if (c == '"') {
      i = string_end(s, i) - 1;
    } else if (c == '(' || c == '[' || c == '{') {
      const bool block = c == '{' && !opens_record(s.substr(i + 1));
      if (depth == open.size() && block && found.block == std::string_view::npos) found.block = i;
      open.push_back({c, block, i + 1});
    } else if (c == ')' || c == ']' || c == '}') {
      if (depth && depth == open.size() && open.back().block) {
        found.end = i;
        return found;
      }
      if (open.size() > 1) open.pop_back();
    } else if ((c == '\n' || c == ';') && open.back().block) {
      if (depth == open.size()) {
        found.end = i;
        return found;
      }
      open.back().begin = i + 1;
    }
  }
  found.end = s.size() - 1;
  if (!depth) found.begin = open.front().begin;
  return found;
}

std::string_view word_at(std::string_view s, std::size_t at) {
  std::size_t end = at;
  while (end < s.size() && is_word_part(s[end])) ++end;
  return s.substr(at, end - at);
}

// What a header that cannot be read is replaced by, so that its block stays what it was.
std::string_view placeholder(std::string_view header) {
  const std::string_view word = word_at(header, 0);
  if (word == "for" || word == "while") return "while 1 ";
  if (word == "fn" || word == "jit" || word == "manual" || word == "def" || word == "function" || word == "func")
    return "fn _()";
  return word == "if" || word == "test" || word == "use" || word == "elif" ? "if 1 " : std::string_view();
}

bool begins_statement(std::string_view word) {
  static constexpr std::array<std::string_view, 14> words = {"let",   "fn",    "jit",      "manual", "for",
                                                             "while", "if",    "mesh",     "import", "return",
                                                             "use",   "break", "continue", "test"};
  return std::find(words.begin(), words.end(), word) != words.end();
}

void blank(std::string& text, std::size_t begin, std::size_t end) {
  std::fill(text.begin() + static_cast<std::ptrdiff_t>(begin), text.begin() + static_cast<std::ptrdiff_t>(end), ' ');
}

}  // namespace

bool leave_out_statement(std::string& text, std::string_view source, std::size_t at) {
  at = std::min(at, text.size() - 1);
  Statement s = statement_around(text, at);
  while (s.begin < s.end && (is_blank(text[s.begin]) || text[s.begin] == '\n')) ++s.begin;
  if (s.begin >= s.end) return false;
  // A line that was to end the statement, and begins the next one: `let a =`, and then `let b = 2`.
  std::size_t line = at;
  while (line > s.begin && is_blank(text[line - 1])) --line;
  if (at > s.begin && at < s.end && begins_statement(word_at(text, at)) &&
      source.substr(line, at - line).find('\n') != std::string_view::npos) {
    blank(text, s.begin, at);
    text[line] = '\n';  // the newline that was taken for a blank
    return true;
  }
  const std::string_view other = placeholder(std::string_view(text).substr(s.begin));
  if (s.block != std::string_view::npos && at <= s.block && !other.empty() && s.begin + other.size() <= s.block) {
    blank(text, s.begin, s.block);
    text.replace(s.begin, other.size(), other);
    return true;
  }
  blank(text, s.begin, s.end);
  return true;
}

bool leave_out_lines(std::string& source, std::size_t opened) {
  if (opened >= source.size()) return false;
  std::size_t begin = source.rfind('\n', opened);
  begin = begin == std::string_view::npos ? 0 : begin + 1;
  const auto indent = [&](std::size_t line) {
    std::size_t i = line;
    while (i < source.size() && is_blank(source[i])) ++i;
    return i - line;
  };
  const std::size_t own = indent(begin);
  std::size_t end = std::min(source.find('\n', opened), source.size());
  while (end < source.size()) {
    const std::size_t next = end + 1, right = indent(next);
    const char c = next + right < source.size() ? source[next + right] : '\n';
    const bool closes = right == own && (c == ')' || c == ']' || c == '}');
    if (c != '\n' && right <= own && !closes) break;
    end = std::min(source.find('\n', next), source.size());
    if (closes) break;
  }
  bool any = false;
  for (std::size_t i = begin; i < end; ++i) any = any || !(is_blank(source[i]) || source[i] == '\n');
  for (std::size_t i = begin; i < end; ++i)
    if (source[i] != '\n') source[i] = ' ';
  return any;
}

}  // namespace shard::grammar
