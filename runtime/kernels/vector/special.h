// Functions of one f64 number that the C library has not, or not for several threads: the inverse error function,
// digamma, the logarithm of gamma. Compiled for each instruction set, as its neighbours are.
#pragma once
#include <math.h>

#include "runtime/kernels/vector/common.h"

namespace shard::runtime::SHARD_ISA {

// Giles' single-precision start would be good to 1e-7; two steps of Halley's method against erfc bring it to f64.
SHARD_LOOP double erf_inv(double x) {
  const double a = fabs(x);
  if (!(a < 1.0)) return a == 1.0 ? x * HUGE_VAL : NAN;
  if (a == 0.0) return x;
  const double l = log1p(-a * a), t = 4.330746750799873 + 0.5 * l;  // 2 / (pi * 0.147) + l / 2 (Winitzki's formula)
  double y = sqrt(sqrt(t * t - l / 0.147) - t);
  const double rest = 1.0 - a;  // exact for a >= 1/2, where erfc keeps the digits that erf loses
  for (int i = 0; i < 3; ++i) {
    const double e = a < 0.5 ? erf(y) - a : rest - erfc(y);
    const double step = e / (1.1283791670955126 * exp(-y * y));  // 2 / sqrt(pi)
    y -= step / (1.0 + y * step);
  }
  return copysign(y, x);
}

SHARD_LOOP double lgamma_of(double x) {  // lgamma itself keeps the sign where all threads write it
  int sign = 0;
  return x == -HUGE_VAL ? HUGE_VAL : lgamma_r(x, &sign);
}

// By recurrence up to 10 and an asymptotic series from there; by reflection below 1/2. nan at the poles, as XLA has it.
SHARD_LOOP double digamma(double x) {
  constexpr double kPi = 3.14159265358979323846;
  if (x != x || x == -HUGE_VAL || (x <= 0.0 && x == floor(x))) return NAN;
  double sum = 0.0;
  if (x < 0.5) {
    const double part = x - floor(x);  // the tangent's argument, small
    sum = -kPi / tan(kPi * part);
    x = 1.0 - x;
  }
  if (x == HUGE_VAL) return x;
  for (; x < 10.0; x += 1.0) sum -= 1.0 / x;
  const double z = 1.0 / (x * x);
  return sum + log(x) - 0.5 / x -
         z * (1.0 / 12 - z * (1.0 / 120 - z * (1.0 / 252 - z * (1.0 / 240 - z * (1.0 / 132 - z * (691.0 / 32760))))));
}

// The derivative of digamma, likewise.
SHARD_LOOP double trigamma(double x) {
  constexpr double kPi = 3.14159265358979323846;
  if (x != x || x == -HUGE_VAL || (x <= 0.0 && x == floor(x))) return x == x && x != -HUGE_VAL ? HUGE_VAL : NAN;
  double sum = 0.0, sign = 1.0;
  if (x < 0.5) {
    const double s = kPi / sin(kPi * (x - floor(x)));
    sum = s * s;
    sign = -1.0;
    x = 1.0 - x;
  }
  double rest = 0.0;
  for (; x < 10.0; x += 1.0) rest += 1.0 / (x * x);
  const double z = 1.0 / (x * x);
  rest += 1.0 / x + 0.5 * z +
          z / x * (1.0 / 6 - z * (1.0 / 30 - z * (1.0 / 42 - z * (1.0 / 30 - z * (5.0 / 66 - z * (691.0 / 2730))))));
  return sum + sign * rest;
}

}  // namespace shard::runtime::SHARD_ISA
