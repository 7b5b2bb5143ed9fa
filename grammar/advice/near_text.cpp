// The scans. All are linear in the text; they run once, after a parse has failed.
#include "grammar/advice/near_text.h"

#include <algorithm>

#include "grammar/characters.h"
#include "grammar/tokens.h"

namespace shard::grammar {
std::string shortened(std::string_view text) {
  const std::string_view begin = whole_characters(text, 100);
  return std::string(begin) + (begin.size() < text.size() ? "..." : "");
}

NearText::NearText(State& s, std::size_t where)
    : state(s),
      text(s.begin, static_cast<std::size_t>(s.end - s.begin)),
      at(std::min(where, text.size())),
      token(found(s, s.begin + at)) {
  struct Level {
    std::size_t open, statement;
  };
  std::vector<Level> levels{{npos, 0}};
  std::vector<std::size_t> strings;  // how many levels were open where an interpolation began
  for (std::size_t i = 0; i < at;) {
    const char c = text[i];
    if (c == '"') {
      ++i;
      while (i < at) {  // to the end of the string, or into what it interpolates
        if (text[i] == '\\') {
          i += 2;
          continue;
        }
        if (text[i] == '{' && i + 1 < text.size() && text[i + 1] == '{') {
          i += 2;
          continue;
        }
        if (text[i] == '"') {
          ++i;
          break;
        }
        if (text[i] == '{') {
          strings.push_back(levels.size());
          levels.push_back({i, i + 1});
          ++i;
          break;
        }
        ++i;
      }
      continue;
    }
    if (c == '(' || c == '[' || c == '{') levels.push_back({i, i + 1});
    if (c == '\n' || c == ';') levels.back().statement = i + 1;
    if ((c == ')' || c == ']' || c == '}') && levels.size() > 1) {
      levels.pop_back();
      if (!strings.empty() && strings.back() == levels.size()) {
        strings.pop_back();
        ++i;
        while (i < at && text[i] != '"' && text[i] != '{') i += text[i] == '\\' ? 2 : 1;
        if (i < at && text[i] == '"')
          ++i;
        else if (i < at) {
          strings.push_back(levels.size());
          levels.push_back({i, i + 1});
          ++i;
        }
        continue;
      }
    }
    ++i;
  }
  open = levels.back().open;
  for (auto level = levels.rbegin(); level != levels.rend();
       ++level) {  // brackets other than blocks are part of a statement
    statement = level->statement;
    if (level->open == npos || text[level->open] == '{') break;
  }
  statement = skip(statement);
}

bool NearText::between_statements() const {
  if (open == npos || text[open] != '{') return open == npos;
  const std::size_t before = back(open);  // `= {a, b`: a record, whose fields begin on its line
  const bool value = before == 0 || std::string_view("=(,:[").find(text[before - 1]) != npos;
  return !value || text.substr(open, statement - open).find('\n') != npos;
}

Span NearText::span(std::size_t begin, std::size_t end) const {
  const auto size = static_cast<std::size_t>(state.layout.text.size() - 1);
  return {state.source, static_cast<std::uint32_t>(std::min(begin, size)),
          static_cast<std::uint32_t>(std::min(std::max(begin, end), size))};
}

bool NearText::expects(std::string_view what) const {
  return std::any_of(state.expected.begin(), state.expected.end(),
                     [&](const State::Expected& e) { return e.what == what; });
}

bool NearText::is_word(std::size_t where, std::size_t length) const {
  if (where + length > text.size() || (where > 0 && is_word_part(text[where - 1]))) return false;
  return where + length == text.size() || !is_word_part(text[where + length]);
}

std::size_t NearText::string_end(std::size_t quote) const {
  std::size_t i = quote + 1;
  while (i < text.size() && text[i] != '"' && text[i] != '\n') i += text[i] == '\\' ? 2 : 1;
  return std::min(i + 1, text.size());
}

std::size_t NearText::word(std::string_view w, std::size_t from, std::size_t to) const {
  int depth = 0;
  for (std::size_t i = from; i < to && i < text.size();) {
    const char c = text[i];
    if (c == '"') {
      i = string_end(i);
      continue;
    }
    if (c == '(' || c == '[' || c == '{') ++depth;
    if (c == ')' || c == ']' || c == '}') --depth;
    if (depth <= 0 && text.substr(i, w.size()) == w && is_word(i, w.size())) return i;
    ++i;
  }
  return to;
}

std::size_t NearText::skip(std::size_t from) const {
  while (from < text.size() && is_blank(text[from])) ++from;
  return from;
}

std::size_t NearText::back(std::size_t from) const {
  from = std::min(from, text.size());
  while (from > 0 && is_blank(text[from - 1])) --from;
  return from;
}

std::string_view NearText::word_before(std::size_t from) const {
  const std::size_t end = back(from);
  std::size_t begin = end;
  while (begin > 0 && is_word_part(text[begin - 1])) --begin;
  const std::string_view w = text.substr(begin, end - begin);
  return !w.empty() && is_word_start(w[0]) ? w : std::string_view();
}

std::size_t NearText::end(std::size_t from, std::string_view stops) const {
  int depth = 0;
  for (std::size_t i = from; i < text.size();) {
    const char c = text[i];
    if (depth == 0 && stops.find(c) != npos) return i;
    if (c == '"') {
      i = string_end(i);
      continue;
    }
    if (c == '(' || c == '[' || c == '{') ++depth;
    if (c == ')' || c == ']' || c == '}') --depth;
    if (depth < 0) return i;
    ++i;
  }
  return text.size();
}

std::size_t NearText::operand_begin(std::size_t before) const {
  int depth = 0;
  std::size_t i = std::min(before, text.size());
  while (i > 0) {
    const char c = text[i - 1];
    if (c == '"') {
      for (--i; i > 0 && text[i - 1] != '"' && text[i - 1] != '\n'; --i) {}
      if (i > 0) --i;
      continue;
    }
    if (c == ')' || c == ']' || c == '}') ++depth;
    if (c == '(' || c == '[' || c == '{') {
      if (depth == 0) break;
      --depth;
    }
    if (depth == 0) {
      if (c == ',' || c == '\n' || c == ';' || c == ':') break;
      const bool compared = i > 1 && std::string_view("=!<>").find(text[i - 2]) != npos;
      if (c == '=' && !compared && (i >= text.size() || text[i] != '=')) break;
      if (i < text.size() && is_word_part(c) && !is_word_part(text[i])) {
        const std::string_view w = word_before(i);
        if (w == "return" || w == "in" || w == "let") break;
      }
    }
    --i;
  }
  return skip(i);
}

}  // namespace shard::grammar
