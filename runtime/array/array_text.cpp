// NumPy's array printing (array2string with its defaults: precision 8, threshold 1000, three edge items, lines of 75),
// from the published behaviour of NumPy 2. All elements of an array share one format: positional unless the range of
// magnitudes asks for exponents, padded so that columns align.
#include "runtime/array/array_text.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <utility>

namespace shard::runtime {
namespace {

constexpr int kPrecision = 8;
constexpr std::int64_t kThreshold = 1000, kEdge = 3;
constexpr std::size_t kLine = 75;
thread_local std::size_t line_limit = kLine;

const void* element(const View& v, std::int64_t i) {
  return v.as<char>() + i * static_cast<std::int64_t>(size_of(v.dtype));
}

double float_at(const View& v, std::int64_t i) { return element_double(v.dtype, element(v, i)); }

std::string integer_at(const View& v, std::int64_t i) {
  const std::int64_t x = element_int(v.dtype, element(v, i));
  return v.dtype == DType::U64 ? std::to_string(static_cast<std::uint64_t>(x)) : std::to_string(x);
}

// Quotients and limits of NumPy's exponent test are taken in the array's own type.
double rounded(double x, DType t) {
  alignas(double) char of_type[sizeof x];
  store_element(t, x, 0, of_type);
  return element_double(t, of_type);
}

using Text = char[512];  // the longest fixed f64 has 309 digits and 8 places

std::string to_text(double x, std::chars_format format, int places) {
  Text buffer;
  const auto r = std::to_chars(buffer, buffer + sizeof buffer, x, format, places);
  return {buffer, r.ptr};
}

// The shortest digits that name x, a float of its type: by std::to_chars for f32 and f64; for the narrower types, whose
// spacing is coarse, by trying one digit more until the text reads back as the same number.
std::string shortest_scientific(double x, DType type) {
  Text buffer;
  if (type == DType::F64)
    return {buffer, std::to_chars(buffer, buffer + sizeof buffer, x, std::chars_format::scientific).ptr};
  if (type == DType::F32)
    return {buffer,
            std::to_chars(buffer, buffer + sizeof buffer, static_cast<float>(x), std::chars_format::scientific).ptr};
  for (int places = 0; places < 8; ++places) {
    std::string text = to_text(x, std::chars_format::scientific, places);
    if (rounded(std::strtof(text.c_str(), nullptr), type) == x) return text;
  }
  return to_text(x, std::chars_format::scientific, 8);
}

// The value is 0.d1d2d3... * 10^point (for zero: digits "0", point 1). Finite values only; the sign is kept apart.
struct Digits {
  bool negative = false;
  std::string digits;
  int point = 1;
};

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

Digits shortest_digits(double x, DType type) {
  Digits d = parse(shortest_scientific(std::fabs(x), type));
  d.negative = std::signbit(x);
  return d;
}

// Positional, at most `places` digits after the point (rounded exactly, ties to even), trailing zeros trimmed; always
// has the point: "-1.", "0.25".
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

// Scientific, at most `places` digits after the point, trailing zeros trimmed: "1.e+10", "-2.5e-07"; the exponent has
// two digits or more.
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

// From where on whole numbers get exponents: NumPy's min(8, decimal digits of the type); bf16, which NumPy lacks, as
// f16.
double cutoff(DType t) { return t == DType::F64 ? 1e8 : t == DType::F32 ? 1e6 : 1e3; }

std::string pad_left(const std::string& s, std::size_t width) {
  return s.size() < width ? std::string(width - s.size(), ' ') + s : s;
}
std::string pad_right(std::string s, std::size_t width) {
  if (s.size() < width) s.resize(width, ' ');
  return s;
}

class FloatFormat {
 public:
  // `plus`: of the imaginary part, whose sign is always written.
  FloatFormat(const std::vector<double>& values, DType type, bool plus = false) : type_(type), plus_(plus) {
    double largest = 0, smallest = 0;
    bool nonzero = false, special = false, neginf = false, finite = false;
    for (const double x : values) {
      if (!std::isfinite(x)) {
        special = true;
        neginf = neginf || (std::isinf(x) && x < 0);
        continue;
      }
      finite = true;
      const double m = std::fabs(x);
      if (m == 0) continue;
      largest = nonzero ? std::max(largest, m) : m;
      smallest = nonzero ? std::min(smallest, m) : m;
      nonzero = true;
    }
    exponents_ = nonzero && (largest >= cutoff(type) || smallest < rounded(1e-4, type) ||
                             rounded(largest / smallest, type) > 1000);
    if (finite) measure(values);
    if (special) {
      const std::size_t offset = right_ + 1, inf = neginf || plus ? 4 : 3;
      left_ = std::max({left_, 3 > offset ? 3 - offset : 0, inf > offset ? inf - offset : 0});
    }
  }

  std::string operator()(double x) const {
    if (!std::isfinite(x)) {
      const std::string word = std::isnan(x) ? "nan" : x < 0 ? "-inf" : "inf";
      return pad_left(word[0] == '-' ? word : signed_text(word), left_ + right_ + 1);
    }
    if (!exponents_) {
      const std::string s = signed_text(positional(x, type_, kPrecision));
      const std::size_t dot = s.find('.');
      return pad_left(s.substr(0, dot), left_) + "." + pad_right(s.substr(dot + 1), right_);
    }
    return exponent_text(x);
  }

 private:
  std::string signed_text(std::string s) const { return plus_ && s[0] != '-' ? "+" + s : s; }
  // Digits beyond the fewest that name the number are its true ones, as NumPy's, not zeros.
  std::string exponent_text(double x) const {
    const std::string s = signed_text(to_text(x, std::chars_format::scientific, static_cast<int>(places_)));
    const std::size_t e = s.find('e'), dot = std::min(s.find('.'), e);
    std::string power = s.substr(e + 2);
    if (power.size() < power_) power.insert(0, power_ - power.size(), '0');
    return pad_left(s.substr(0, dot), left_) + (dot == e ? "." : "") + s.substr(dot, e - dot) + s.substr(e, 2) + power;
  }
  void measure(const std::vector<double>& values) {
    for (const double x : values) {
      if (!std::isfinite(x)) continue;
      const std::string s =
          signed_text(exponents_ ? scientific(x, type_, kPrecision) : positional(x, type_, kPrecision));
      const std::size_t dot = s.find('.'), e = std::min(s.find('e'), s.size());
      left_ = std::max(left_, dot);
      places_ = std::max(places_, e - dot - 1);
      if (exponents_) power_ = std::max(power_, s.size() - e - 2);
    }
    right_ = exponents_ ? power_ + 2 + places_ : places_;
  }
  DType type_;
  bool plus_, exponents_ = false;
  std::size_t left_ = 0, right_ = 0, places_ = 0, power_ = 2;
};

// Lays out the nested brackets; `word` gives the text of the element at an offset.
class ColumnLayout {
 public:
  ColumnLayout(const View& v, bool summary, std::function<std::string(std::int64_t)> word)
      : v_(v), summary_(summary), word_(std::move(word)) {}

  std::string print(std::size_t axis, std::int64_t offset, const std::string& indent, std::size_t width) const {
    if (axis == v_.shape.size()) return word_(offset);
    const std::int64_t n = v_.shape[axis], step = v_.strides[axis];
    const bool cut = summary_ && n > 2 * kEdge;
    std::string s;
    const bool last = axis + 1 == v_.shape.size();
    if (last) {
      std::string line = indent;
      for (std::int64_t i = 0; i < n; ++i) {
        if (cut && i == kEdge) {
          extend(s, line, "...", width - 1, indent);
          line += ' ';
          i = n - kEdge;
        }
        extend(s, line, word_(offset + i * step), width - 1, indent);
        if (i + 1 < n) line += ' ';
      }
      s += line;
    } else {
      const std::string gap(v_.shape.size() - axis - 1, '\n');
      for (std::int64_t i = 0; i < n; ++i) {
        if (cut && i == kEdge) {
          s += indent + "..." + gap;
          i = n - kEdge;
        }
        s += indent + print(axis + 1, offset + i * step, indent + ' ', width - 1);
        if (i + 1 < n) s += gap;
      }
    }
    return '[' + s.substr(indent.size()) + ']';
  }

 private:
  static void extend(std::string& s, std::string& line, const std::string& word, std::size_t width,
                     const std::string& indent) {
    if (line.size() + word.size() > width && line.size() > indent.size()) {
      while (!line.empty() && line.back() == ' ') line.pop_back();
      s += line + '\n';
      line = indent;
    }
    line += word;
  }
  const View& v_;
  bool summary_;
  std::function<std::string(std::int64_t)> word_;
};

// Offsets of the elements that will be shown.
void collect(const View& v, bool summary, std::size_t axis, std::int64_t offset, std::vector<std::int64_t>& out) {
  if (axis == v.shape.size()) {
    out.push_back(offset);
    return;
  }
  const std::int64_t n = v.shape[axis];
  for (std::int64_t i = 0; i < n; ++i) {
    if (summary && n > 2 * kEdge && i == kEdge) i = n - kEdge;
    collect(v, summary, axis + 1, offset + i * v.strides[axis], out);
  }
}

View as_words(const View& key) {  // a key as two u32
  View w = key;
  w.dtype = DType::U32;
  for (std::int64_t& s : w.strides) s *= 2;
  w.shape.push_back(2);
  w.strides.push_back(1);
  return w;
}

// Real and imaginary part of the element at `i` of a view of complex numbers.
std::pair<double, double> parts_at(const View& v, std::int64_t i) {
  const View part{part_of(v.dtype), {}, {}, v.data};
  return {float_at(part, 2 * i), float_at(part, 2 * i + 1)};
}

// Each part has its own format, and the blanks behind the imaginary one come behind its `j` (NumPy).
std::function<std::string(std::int64_t)> complex_words(const View& v, const std::vector<std::int64_t>& shown) {
  std::vector<double> re, im;
  for (const std::int64_t i : shown) re.push_back(parts_at(v, i).first), im.push_back(parts_at(v, i).second);
  const DType part = part_of(v.dtype);
  return [&v, left = FloatFormat(re, part), right = FloatFormat(im, part, true)](std::int64_t i) {
    const auto [a, b] = parts_at(v, i);
    std::string s = right(b);
    s.insert(s.find_last_not_of(' ') + 1, "j");
    return left(a) + s;
  };
}

std::string scalar_text(double x, DType type) {  // as Python's str of a float of that type
  if (std::isnan(x)) return "nan";
  if (std::isinf(x)) return x < 0 ? "-inf" : "inf";
  const double m = std::fabs(x);
  if (m == 0 || (m >= 1e-4 && m < (type == DType::F64 ? 1e16 : cutoff(type)))) {
    std::string s = positional(x, type, 400);
    return s.back() == '.' ? s + '0' : s;
  }
  std::string s = scientific(x, type, 20);
  if (const std::size_t dot = s.find(".e"); dot != std::string::npos) s.erase(dot, 1);
  return s;
}

// As Python's str of a complex number.
std::string complex_text(const View& scalar) {
  const auto [re, im] = parts_at(scalar, 0);
  const auto short_text = [&](double x) {
    std::string s = scalar_text(x, part_of(scalar.dtype));
    return s.ends_with(".0") ? s.substr(0, s.size() - 2) : s;
  };
  const std::string imag = short_text(im) + "j";
  if (re == 0 && !std::signbit(re)) return imag;
  return "(" + short_text(re) + (imag[0] == '-' ? "" : "+") + imag + ")";
}

}  // namespace

LineLimit::LineLimit(int characters)
    : before_(std::exchange(line_limit, std::min(kLine, static_cast<std::size_t>(std::max(characters, 20))))) {}
LineLimit::~LineLimit() { line_limit = before_; }

std::string format_array(const View& v) {
  if (v.dtype == DType::Key) return format_array(as_words(v));
  if (v.shape.empty()) return format_element(v);
  const std::int64_t n = numel(v.shape);
  if (n == 0) return "[]";
  const bool summary = n > kThreshold;
  std::vector<std::int64_t> shown;
  collect(v, summary, 0, 0, shown);
  std::function<std::string(std::int64_t)> word;
  if (v.dtype == DType::Bool) {
    word = [&v](std::int64_t i) -> std::string { return v.as<std::uint8_t>()[i] ? " true" : "false"; };
  } else if (is_complex(v.dtype)) {
    word = complex_words(v, shown);
  } else if (is_float(v.dtype)) {
    std::vector<double> values;
    for (const std::int64_t i : shown) values.push_back(float_at(v, i));
    word = [&v, format = FloatFormat(values, v.dtype)](std::int64_t i) { return format(float_at(v, i)); };
  } else {
    std::size_t width = 0;
    for (const std::int64_t i : shown) width = std::max(width, integer_at(v, i).size());
    word = [&v, width](std::int64_t i) { return pad_left(integer_at(v, i), width); };
  }
  return ColumnLayout(v, summary, std::move(word)).print(0, 0, " ", line_limit);
}

std::string format_element(const View& scalar) {
  if (scalar.dtype == DType::Key) return format_array(as_words(scalar));
  if (scalar.dtype == DType::Bool) return *scalar.as<std::uint8_t>() ? "true" : "false";
  if (is_complex(scalar.dtype)) return complex_text(scalar);
  if (is_float(scalar.dtype)) return scalar_text(float_at(scalar, 0), scalar.dtype);
  return integer_at(scalar, 0);
}

std::string format_double(double x) { return scalar_text(x, DType::F64); }

}  // namespace shard::runtime
