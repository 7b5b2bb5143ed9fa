// Python's format mini-language ("[[fill]align][sign][z][#][0][width][grouping][.precision][type]") over plain numbers
// and strings: what stands behind the colon in "{loss:.4f}". It knows no values of scripts; value_text.h chooses the
// function for a value. Source: the "Format Specification Mini-Language" of Python 3.11's documentation, and its
// behaviour.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace shard::lang {

struct FormatSpec {
  std::string fill = " ";  // one UTF-8 character
  char align = 0;          // < > = ^, or 0: the default of the kind of value
  char sign = '-';         // + - or blank
  bool sign_given = false;
  bool coerce_zero = false;  // z: -0.00 is 0.00
  bool alternate = false;    // #
  bool zeros = false;        // a 0 before the width
  int width = 0;
  char grouping = 0;  // , or _
  int precision = -1;
  char type = 0;
  bool plain() const;  // says nothing: the value as print shows it
};

// All throw runtime::RuntimeError("format") with a sentence that names the spec's fault. Width and precision are at
// most 4,096.
FormatSpec parse_format(std::string_view text);
std::string format_integer(bool negative, std::uint64_t magnitude, const FormatSpec& spec);
// `shortest`: the digits to show where the spec names neither precision nor type (an f32's are shorter than its
// double's).
std::string format_float(double x, const FormatSpec& spec, std::string_view shortest = {});
std::string format_text(std::string_view text, const FormatSpec& spec);

}  // namespace shard::lang
