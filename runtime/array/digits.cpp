// Shortest digits: by std::to_chars for f32 and f64; for the narrower types, whose spacing is coarse, by trying one
// digit more until the text reads back as the same bits.
#include "runtime/array/digits.h"

#include <charconv>
#include <cmath>
#include <cstdlib>

#include "runtime/array/half.h"

namespace shard::runtime {
namespace {

using Text = char[512];  // the longest fixed f64 has 309 digits and 8 places

std::string to_text(double x, std::chars_format format, int places) {
  Text buffer;
  const auto r = std::to_chars(buffer, buffer + sizeof buffer, x, format, places);
  return {buffer, r.ptr};
}

std::string shortest_scientific(double x, DType type) {
  Text buffer;
  if (type == DType::F64)
    return {buffer, std::to_chars(buffer, buffer + sizeof buffer, x, std::chars_format::scientific).ptr};
  const float f = static_cast<float>(x);
  if (type == DType::F32)
    return {buffer, std::to_chars(buffer, buffer + sizeof buffer, f, std::chars_format::scientific).ptr};
  const auto bits = [type](float v) -> int {
    switch (type) {
      case DType::F8E4M3: return f32_to_e4m3(v);
      case DType::F8E5M2: return f32_to_e5m2(v);
      case DType::F16: return f32_to_f16(v);
      default: return f32_to_bf16(v);
    }
  };
  for (int places = 0; places < 8; ++places) {
    std::string text = to_text(x, std::chars_format::scientific, places);
    if (bits(std::strtof(text.c_str(), nullptr)) == bits(f)) return text;
  }
  return to_text(x, std::chars_format::scientific, 8);
}

Digits parse(const std::string& text) {  // "-d.ddde+XX" without the sign
  Digits d;
  const std::size_t e = text.find('e');
  for (const char c : text.substr(0, e))
    if (c != '.') d.digits += c;
  d.point = std::atoi(text.c_str() + e + 1) + 1;
  while (d.digits.size() > 1 && d.digits.back() == '0') d.digits.pop_back();
  if (d.digits == "0") d.point = 1;
  return d;
}

std::string trimmed(std::string s) {
  while (s.back() == '0') s.pop_back();
  return s;
}

}  // namespace

Digits shortest_digits(double x, DType type) {
  Digits d = parse(shortest_scientific(std::fabs(x), type));
  d.negative = std::signbit(x);
  return d;
}

std::string positional(double x, DType type, int places) {
  const Digits d = shortest_digits(x, type);
  const int size = static_cast<int>(d.digits.size());
  const std::string sign = d.negative ? "-" : "";
  if (size - d.point > places) return sign + trimmed(to_text(std::fabs(x), std::chars_format::fixed, places));
  if (d.point <= 0) return sign + trimmed("0." + std::string(static_cast<std::size_t>(-d.point), '0') + d.digits);
  std::string whole = d.digits.substr(0, static_cast<std::size_t>(d.point));
  whole.resize(static_cast<std::size_t>(d.point), '0');
  return sign + whole + "." + (size > d.point ? trimmed(d.digits.substr(static_cast<std::size_t>(d.point))) : "");
}

std::string scientific(double x, DType type, int places) {
  Digits d = shortest_digits(x, type);
  const bool negative = d.negative;
  if (static_cast<int>(d.digits.size()) > places + 1)
    d = parse(to_text(std::fabs(x), std::chars_format::scientific, places));
  const int e = d.point - 1;
  std::string power = std::to_string(std::abs(e));
  if (power.size() < 2) power.insert(0, "0");
  return (negative ? "-" : "") + d.digits.substr(0, 1) + "." + d.digits.substr(1) + "e" + (e < 0 ? "-" : "+") + power;
}

std::string rounded_scientific(double x, int places) { return to_text(x, std::chars_format::scientific, places); }

}  // namespace shard::runtime
