// Characters of texts in UTF-8, the blanks around a text, and lists as text. Nothing here throws: a byte that is no
// UTF-8 counts as one character.
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

namespace shard::grammar {

inline bool is_word_start(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
inline bool is_digit(char c) { return c >= '0' && c <= '9'; }
inline bool is_word_part(char c) { return is_word_start(c) || is_digit(c); }
bool is_word(std::string_view text);
inline bool continues(char c) { return (static_cast<unsigned char>(c) & 0xc0) == 0x80; }  // a byte within a character

std::size_t character_bytes(std::string_view text,
                            std::size_t at);                   // of the character that begins there; at < text.size()
std::uint32_t decode(std::string_view text, std::size_t& at);  // that character, and past it; no UTF-8 gives U+FFFD
std::size_t not_utf8(std::string_view text);                   // where the first byte stands that is none, or npos
std::size_t characters(std::string_view text);                 // how many
std::string_view whole_characters(std::string_view text, std::size_t bytes);  // what of them lies in the first `bytes`
void append_utf8(std::string& out, std::uint32_t character);

std::string escaped(std::string_view text, bool delete_too = true);  // as between the quotes of a string; U+007F too
std::string_view trimmed(std::string_view text);                     // without blanks and ends of lines around it

// What `text` gives of each item, with `between` between them: "a, b, c".
template <class Items, class F = std::identity>
std::string separated(const Items& items, std::string_view between = ", ", const F& text = {}) {
  std::string out;
  bool first = true;
  for (const auto& item : items) {
    if (!std::exchange(first, false)) out += between;
    out += text(item);
  }
  return out;
}

}  // namespace shard::grammar
