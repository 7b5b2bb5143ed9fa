// Text: floats as text, and the characters of a text as codes.
#include "stdlib/host/files/float_text.h"

#include <array>
#include <charconv>
#include <cmath>
#include <map>

#include "grammar/characters.h"
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

namespace {

// Each character of a text in UTF-8: its bytes, the first in front, so that they sort as code points do.
template <class F>
void each_character(const std::string& text, F f) {
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t n = grammar::character_bytes(text, i);
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
