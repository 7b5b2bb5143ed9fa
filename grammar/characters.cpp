#include "grammar/characters.h"

#include <algorithm>

namespace shard::grammar {
namespace {

// Bytes of the character that begins there; 0 where none does.
std::size_t whole(std::string_view s, std::size_t at) {
  const auto c = static_cast<unsigned char>(s[at]);
  const std::size_t n = c < 0x80                ? 1
                        : c >= 0xc2 && c < 0xe0 ? 2
                        : c >= 0xe0 && c < 0xf0 ? 3
                        : c >= 0xf0 && c < 0xf5 ? 4
                                                : 0;
  if (at + n > s.size()) return 0;
  return std::all_of(s.begin() + static_cast<std::ptrdiff_t>(at + 1),
                     s.begin() + static_cast<std::ptrdiff_t>(at + std::max<std::size_t>(n, 1)), continues)
             ? n
             : 0;
}

}  // namespace

std::size_t character_bytes(std::string_view text, std::size_t at) { return std::max<std::size_t>(whole(text, at), 1); }

std::uint32_t decode(std::string_view text, std::size_t& at) {
  const std::size_t n = whole(text, at), from = at;
  at += std::max<std::size_t>(n, 1);
  if (n == 0) return 0xfffd;
  std::uint32_t out = static_cast<unsigned char>(text[from]) & (n == 1 ? 0x7fu : 0x3fu >> (n - 1));
  for (std::size_t i = 1; i < n; ++i) out = out << 6 | (static_cast<unsigned char>(text[from + i]) & 0x3fu);
  return out;
}

std::size_t not_utf8(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t n = whole(text, at);
    if (n == 0) return at;
    at += n;
  }
  return std::string_view::npos;
}

std::size_t characters(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) { return !continues(c); }));
}

std::string_view whole_characters(std::string_view text, std::size_t bytes) {
  if (bytes >= text.size()) return text;
  while (bytes > 0 && continues(text[bytes])) --bytes;
  return text.substr(0, bytes);
}

void append_utf8(std::string& out, std::uint32_t c) {
  const int more = c < 0x80 ? 0 : c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
  constexpr unsigned kFirst[] = {0, 0xc0, 0xe0, 0xf0};
  out += static_cast<char>(kFirst[more] | c >> 6 * more);
  for (int i = more - 1; i >= 0; --i) out += static_cast<char>(0x80 | (c >> 6 * i & 0x3f));
}

bool is_word(std::string_view text) {
  return !text.empty() && is_word_start(text[0]) && std::all_of(text.begin(), text.end(), is_word_part);
}

std::string escaped(std::string_view text, bool delete_too) {
  constexpr char hex[] = "0123456789abcdef";
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '"': out += "\\\""; break;
      case '\\': out += "\\\\"; break;
      case '\n': out += "\\n"; break;
      case '\t': out += "\\t"; break;
      case '\r': out += "\\r"; break;
      case '{': out += "{{"; break;
      case '}': out += "}}"; break;
      default:
        if (static_cast<unsigned char>(c) < 0x20 || (delete_too && c == 0x7F))
          ((out += "\\x") += hex[(c >> 4) & 15]) += hex[c & 15];
        else
          out += c;
    }
  }
  return out;
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r\n";
  const std::size_t first = text.find_first_not_of(kBlanks);
  return first == std::string_view::npos ? std::string_view()
                                         : text.substr(first, text.find_last_not_of(kBlanks) + 1 - first);
}

}  // namespace shard::grammar
