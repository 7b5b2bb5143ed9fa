// Reading a format, padding and grouping; digits of floats come from std::to_chars, which rounds exactly as Python
// does.
#include "interpreter/lang/values/format_spec.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <vector>

#include "grammar/characters.h"
#include "runtime/array/array_text.h"
#include "runtime/array/shape.h"

namespace shard::lang {
namespace {

using runtime::RuntimeError;

constexpr int kLimit = 4096;

[[noreturn]] void refuse(const std::string& message) { throw RuntimeError("format", message); }

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_align(char c) { return c == '<' || c == '>' || c == '=' || c == '^'; }

int read_number(std::string_view text, std::size_t& at, const char* what) {
  int n = 0;
  for (; at < text.size() && is_digit(text[at]); ++at) {
    n = n * 10 + (text[at] - '0');
    if (n > kLimit) refuse(std::string("the ") + what + " of the format '" + std::string(text) + "' is more than 4096");
  }
  return n;
}

// A number taken apart: sign, prefix (0x), digits before the point, and the rest (point, digits, exponent, %).
struct Parts {
  bool negative = false;
  std::string prefix, digits, rest;
};

std::string repeat(const std::string& fill, int n) {
  std::string out;
  for (int i = 0; i < n; ++i) out += fill;
  return out;
}

std::string pad(const std::string& head, const std::string& body, const FormatSpec& spec, char default_align) {
  const int missing = spec.width - static_cast<int>(grammar::characters(head) + grammar::characters(body));
  if (missing <= 0) return head + body;
  switch (spec.align ? spec.align : default_align) {
    case '<': return head + body + repeat(spec.fill, missing);
    case '^': return repeat(spec.fill, missing / 2) + head + body + repeat(spec.fill, missing - missing / 2);
    case '=': return head + repeat(spec.fill, missing) + body;
    default: return repeat(spec.fill, missing) + head + body;
  }
}

// Digits with separators, filled up with zeros to at least `min_width` characters (which never begin with a separator).
std::string grouped(const std::string& digits, char separator, int group, int min_width) {
  if (digits.empty()) return {};
  std::string reversed;
  int remaining = static_cast<int>(digits.size()), width = min_width;
  for (bool first = true;; first = false) {
    const int here = std::min(separator ? group : std::max(remaining, width), std::max({remaining, width, 1}));
    if (!first) reversed += separator;
    for (int i = 0; i < here; ++i)
      reversed += i < remaining ? digits[static_cast<std::size_t>(remaining - 1 - i)] : '0';
    remaining -= std::min(remaining, here);
    width -= here;
    if (remaining <= 0 && width <= 0) break;
    if (!separator) break;
    --width;
  }
  std::reverse(reversed.begin(), reversed.end());
  return reversed;
}

std::string assemble(const Parts& p, const FormatSpec& spec, int group) {
  std::string head = p.negative ? "-" : spec.sign == '+' ? "+" : spec.sign == ' ' ? " " : "";
  head += p.prefix;
  const bool zero_filled = spec.fill == "0" && spec.align == '=';
  const int min_width = zero_filled ? spec.width - static_cast<int>(head.size() + p.rest.size()) : 0;
  return pad(head, grouped(p.digits, spec.grouping, group, min_width) + p.rest, spec, '>');
}

[[noreturn]] void unknown_type(const FormatSpec& spec, const char* kind) {
  refuse(std::string("the format type '") + spec.type + "' does not fit " + kind);
}

void refuse_grouping(const FormatSpec& spec) {
  refuse(std::string("'") + spec.grouping + "' does not go with the format type '" + spec.type + "'");
}

// Digits in the manner of e, f or g; to_chars gives e and f directly.
std::string chars(double x, std::chars_format how, int precision) {
  std::string buffer(static_cast<std::size_t>(precision) + 400, '\0');
  const auto r = std::to_chars(buffer.data(), buffer.data() + buffer.size(), x, how, precision);
  buffer.resize(static_cast<std::size_t>(r.ptr - buffer.data()));
  return buffer;
}

void ensure_point(std::string& s) {  // before the exponent, or at the end
  if (s.find('.') == std::string::npos) s.insert(std::min(s.find('e'), s.size()), ".");
}

// `general`: significant digits; `dot_zero`: an integral result shows ".0" and turns to exponents one digit earlier (no
// type given).
std::string general(double x, int precision, bool alternate, bool dot_zero) {
  precision = std::max(precision, 1);
  std::string e = chars(x, std::chars_format::scientific, precision - 1);
  const std::size_t mark = e.find('e');
  const int exponent = std::stoi(e.substr(mark + 1));
  const auto trim = [&](std::string s) {
    if (alternate || s.find('.') == std::string::npos) return s;
    s.erase(s.find_last_not_of('0') + 1);
    if (s.back() == '.') s.pop_back();
    return s;
  };
  if (exponent < -4 || exponent + 1 > precision - (dot_zero ? 1 : 0)) {
    std::string mantissa = trim(e.substr(0, mark));
    std::string out = mantissa + e.substr(mark);
    if (alternate) ensure_point(out);
    return out;
  }
  std::string out = trim(chars(x, std::chars_format::fixed, std::max(0, precision - 1 - exponent)));
  if (alternate) ensure_point(out);
  if (dot_zero && out.find('.') == std::string::npos) out += ".0";
  return out;
}

std::string finite_digits(double x, const FormatSpec& spec, std::string_view shortest) {
  const int precision = spec.precision < 0 ? 6 : spec.precision;
  std::string out;
  switch (spec.type) {
    case 0:
      if (spec.precision >= 0) return general(x, spec.precision, spec.alternate, true);
      out = shortest.empty() ? runtime::format_double(x) : std::string(shortest);
      if (spec.alternate) ensure_point(out);
      return out;
    case 'e':
    case 'E': out = chars(x, std::chars_format::scientific, precision); break;
    case 'f':
    case 'F': out = chars(x, std::chars_format::fixed, precision); break;
    case '%': out = chars(x * 100, std::chars_format::fixed, precision); break;
    case 'g':
    case 'G':
    case 'n': return general(x, precision, spec.alternate, false);
    default: unknown_type(spec, "a float");
  }
  if (spec.alternate) ensure_point(out);
  return out;
}

std::string in_base(std::uint64_t n, unsigned base, bool upper) {
  std::string s;
  do {
    const unsigned d = static_cast<unsigned>(n % base);
    s += static_cast<char>(d < 10 ? '0' + d : (upper ? 'A' : 'a') + d - 10);
    n /= base;
  } while (n);
  std::reverse(s.begin(), s.end());
  return s;
}

}  // namespace

bool FormatSpec::plain() const {
  return !align && !sign_given && !coerce_zero && !alternate && !zeros && !width && !grouping && precision < 0 && !type;
}

FormatSpec parse_format(std::string_view text) {
  FormatSpec s;
  std::size_t at = 0;
  bool fill_given = false;
  const std::size_t first = text.empty() ? 0 : grammar::character_bytes(text, 0);
  if (text.size() > first && is_align(text[first])) {
    s.fill = std::string(text.substr(0, first));
    s.align = text[first];
    fill_given = true;
    at = first + 1;
  } else if (!text.empty() && is_align(text[0])) {
    s.align = text[0];
    at = 1;
  }
  const auto take = [&](char c) { return at < text.size() && text[at] == c ? (++at, true) : false; };
  if (at < text.size() && (text[at] == '+' || text[at] == '-' || text[at] == ' '))
    s.sign = text[at++], s.sign_given = true;
  s.coerce_zero = take('z');
  s.alternate = take('#');
  if (!fill_given && take('0')) s.zeros = true, s.fill = "0";
  s.width = read_number(text, at, "width");
  if (take(',')) s.grouping = ',';
  if (take('_')) {
    if (s.grouping) refuse("a format cannot ask for ',' and '_' at once");
    s.grouping = '_';
  }
  if (s.grouping && take(',')) refuse("a format cannot ask for ',' and '_' at once");
  if (take('.')) {
    if (at >= text.size() || !is_digit(text[at]))
      refuse("the format '" + std::string(text) + "' has no digits after its '.'");
    s.precision = read_number(text, at, "precision");
  }
  if (at < text.size()) {
    const std::string_view rest = text.substr(at);
    if (rest.size() > 1 || std::string_view("bcdeEfFgGnosxX%").find(rest[0]) == std::string_view::npos)
      refuse("the format '" + std::string(text) +
             "' is not known: write it as in Python, e.g. '.4f', '>8', '05d', ',', '.1%', 'x'");
    s.type = rest[0];
  }
  return s;
}

std::string format_integer(bool negative, std::uint64_t magnitude, const FormatSpec& given) {
  FormatSpec spec = given;
  if (std::string_view("eEfFgG%").find(spec.type) != std::string_view::npos && spec.type) {
    const double x = static_cast<double>(magnitude);
    return format_float(negative ? -x : x, spec);
  }
  if (spec.precision >= 0) refuse("a precision does not go with an integer: '.2f' shows it with decimals");
  if (spec.coerce_zero) refuse("'z' does not go with an integer");
  if (spec.zeros && !spec.align) spec.align = '=';
  Parts p;
  p.negative = negative;
  int group = 3;
  const auto base = [&](unsigned n, const char* prefix, bool upper) {
    if (spec.grouping == ',') refuse_grouping(spec);
    group = 4;
    p.digits = in_base(magnitude, n, upper);
    if (spec.alternate) p.prefix = prefix;
  };
  switch (spec.type) {
    case 0:
    case 'd': p.digits = in_base(magnitude, 10, false); break;
    case 'n':
      if (spec.grouping) refuse_grouping(spec);
      p.digits = in_base(magnitude, 10, false);
      break;
    case 'b': base(2, "0b", false); break;
    case 'o': base(8, "0o", false); break;
    case 'x': base(16, "0x", false); break;
    case 'X': base(16, "0X", true); break;
    case 'c':
      if (spec.sign_given || spec.alternate) refuse("a sign or '#' does not go with the format type 'c'");
      if (spec.grouping) refuse_grouping(spec);
      if (negative || magnitude > 0x10ffff) refuse("the format type 'c' takes a code point from 0 to 0x10ffff");
      grammar::append_utf8(p.rest, static_cast<std::uint32_t>(magnitude));
      return pad("", p.rest, spec, '>');
    default: unknown_type(spec, "an integer");
  }
  return assemble(p, spec, group);
}

std::string format_float(double x, const FormatSpec& given, std::string_view shortest) {
  FormatSpec spec = given;
  if (spec.zeros && !spec.align) spec.align = '=';
  if (spec.grouping && spec.type == 'n') refuse_grouping(spec);
  Parts p;
  p.negative = std::signbit(x) && !std::isnan(x);
  const double magnitude = std::fabs(x);
  if (!shortest.empty() && shortest.front() == '-') shortest.remove_prefix(1);
  std::string text;
  if (std::isfinite(magnitude)) {
    text = finite_digits(magnitude, spec, shortest);
    if (spec.coerce_zero && p.negative && text.substr(0, text.find('e')).find_first_not_of("0.") == std::string::npos)
      p.negative = false;
  } else {
    if (spec.type && std::string_view("eEfFgG%n").find(spec.type) == std::string_view::npos)
      unknown_type(spec, "a float");
    text = std::isnan(x) ? "nan" : "inf";
  }
  if (spec.type == 'E' || spec.type == 'F' || spec.type == 'G')
    for (char& c : text) c = static_cast<char>(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
  if (spec.type == '%') text += '%';
  std::size_t digits = 0;
  while (digits < text.size() && is_digit(text[digits])) ++digits;
  p.digits = text.substr(0, digits);
  p.rest = text.substr(digits);
  return assemble(p, spec, 3);
}

std::string format_text(std::string_view text, const FormatSpec& spec) {
  if (spec.type && spec.type != 's') unknown_type(spec, "text");
  if (spec.sign_given) refuse("a sign does not go with text");
  if (spec.coerce_zero || spec.alternate) refuse("'z' and '#' do not go with text");
  if (spec.grouping) refuse(std::string("'") + spec.grouping + "' does not go with text");
  if (spec.align == '=') refuse("'=' does not go with text: align with <, > or ^");
  std::string shown(text);
  if (spec.precision >= 0) {
    std::size_t end = 0;
    for (int n = 0; n < spec.precision && end < shown.size(); ++n) end += grammar::character_bytes(shown, end);
    shown.resize(end);
  }
  return pad("", shown, spec, '<');
}

}  // namespace shard::lang
