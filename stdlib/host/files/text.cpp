// Text: floats as text, whether bytes are UTF-8, and its characters as codes.
#include "stdlib/host/files/text.h"

#include <array>
#include <charconv>
#include <cmath>
#include <map>

#include "stdlib/host/host.h"

namespace shard::stdlib {

using lang::BoundArgs;
using lang::Interpreter;
using lang::Value;

std::string float_text(double x, bool single) {
  char text[40], *end = text + sizeof text;
  std::string out(text, (single ? std::to_chars(text, end, static_cast<float>(x)) : std::to_chars(text, end, x)).ptr);
  if (std::isfinite(x) && out.find_first_of(".ei") == std::string::npos) out += ".0";
  return out;
}

bool valid_utf8(const std::string& s) {
  for (std::size_t i = 0; i < s.size();) {
    const auto c = static_cast<unsigned char>(s[i]);
    const int more = c < 0x80                ? 0
                     : c >= 0xc2 && c < 0xe0 ? 1
                     : c >= 0xe0 && c < 0xf0 ? 2
                     : c >= 0xf0 && c < 0xf5 ? 3
                                             : -1;
    if (more < 0 || i + static_cast<std::size_t>(more) >= s.size()) return false;
    for (int k = 1; k <= more; ++k)
      if ((static_cast<unsigned char>(s[i + static_cast<std::size_t>(k)]) & 0xc0) != 0x80) return false;
    i += static_cast<std::size_t>(more) + 1;
  }
  return true;
}

namespace {

// Each character of a text in UTF-8: its bytes, the first in front, so that they sort as code points do.
template <class F>
void each_character(const std::string& text, F f) {
  for (std::size_t i = 0; i < text.size();) {
    const auto c = static_cast<unsigned char>(text[i]);
    const std::size_t n = std::min<std::size_t>(c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : c >= 0xc0 ? 2 : 1, text.size() - i);
    std::uint32_t bytes = 0;
    for (std::size_t k = 0; k < n; ++k)
      bytes |= static_cast<std::uint32_t>(static_cast<unsigned char>(text[i + k])) << (24 - 8 * k);
    f(bytes);
    i += n;
  }
}

}  // namespace

// The text's characters as codes into the sorted list of the characters that occur.
Value chars(Interpreter& in, BoundArgs& a) {
  const std::string& text = in.text(a[0], a.args[0].span, "the text of chars");
  std::map<std::uint32_t, std::int32_t> codes;
  std::array<std::int32_t, 128> ascii{};
  ascii.fill(-1);
  std::size_t count = 0;
  each_character(text, [&](std::uint32_t bytes) {
    if (bytes >> 24 < 128)
      ascii[bytes >> 24] = 0;
    else
      codes.try_emplace(bytes, 0);
    ++count;
  });
  for (std::uint32_t c = 0; c < 128; ++c)
    if (ascii[c] >= 0) codes.emplace(c << 24, 0);
  std::vector<Value> vocabulary;
  for (auto& [bytes, code] : codes) {
    std::string c;
    for (int shift = 24; shift >= 0 && (c.empty() || (bytes >> shift & 0xff)); shift -= 8)
      c += static_cast<char>(bytes >> shift & 0xff);
    code = static_cast<std::int32_t>(vocabulary.size());
    if (bytes >> 24 < 128) ascii[bytes >> 24] = code;
    vocabulary.push_back(Value::string(std::move(c)));
  }
  const runtime::Shape shape{static_cast<std::int64_t>(count)};
  if (in.context().types_only())  // what the codes are, nobody asks
    return Value::tuple({Value(in.context().unknown(runtime::Type::of(runtime::DType::I32, shape))),
                         Value::list(std::move(vocabulary))});
  std::vector<std::int32_t> out;
  out.reserve(count);
  each_character(text,
                 [&](std::uint32_t bytes) { out.push_back(bytes >> 24 < 128 ? ascii[bytes >> 24] : codes.at(bytes)); });
  return Value::tuple(
      {Value(new_array(in, runtime::DType::I32, shape, out.data())), Value::list(std::move(vocabulary))});
}

}  // namespace shard::stdlib
