// The shortest decimal digits that name a float of its own type, as a digit string and an exponent, and the two ways of
// laying them out. Used by array_text.cpp only.
#pragma once
#include <string>

#include "runtime/array/dtype.h"

namespace shard::runtime {

// The value is 0.d1d2d3... * 10^point (for zero: digits "0", point 1). Finite values only; the sign is kept apart.
struct Digits {
  bool negative = false;
  std::string digits;
  int point = 1;
};

Digits shortest_digits(double x, DType type);  // x is a value of `type` (a float's)

// Positional, at most `places` digits after the point (rounded exactly, ties to even), trailing zeros trimmed; always
// has the point: "-1.", "0.25".
std::string positional(double x, DType type, int places);
// Scientific, at most `places` digits after the point, trailing zeros trimmed: "1.e+10", "-2.5e-07"; the exponent has
// two digits or more.
std::string scientific(double x, DType type, int places);
// Scientific with exactly `places` digits after the point (no point where there are none), of the exact value, ties to
// even.
std::string rounded_scientific(double x, int places);

}  // namespace shard::runtime
