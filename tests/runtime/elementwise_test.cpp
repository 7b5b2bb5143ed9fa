// Elementwise codes: accuracy of every function against the C library in f64, special values, integers at their edges,
// conversions.
#include <catch2/catch.hpp>

#include <cmath>
#include <limits>

#include "tests/runtime/element_programs.h"

using namespace shard::runtime;
using namespace shard::runtime::test;

namespace {

bool same(const std::vector<double>& a, const std::vector<double>& b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i)
    if (!(std::isnan(a[i]) ? std::isnan(b[i]) : a[i] == b[i] && std::signbit(a[i]) == std::signbit(b[i]))) return false;
  return true;
}

// Units in the last place of f32 between got and the true value; subnormal results count in units of the least
// subnormal.
double ulps(float got, double want) {
  const float w = static_cast<float>(want);
  if (std::isnan(want) || std::isnan(got)) return std::isnan(want) == std::isnan(got) ? 0 : 1e9;
  if (std::isinf(w) || std::isinf(got)) return w == got || std::fabs(want - got) < std::fabs(want) * 1e-6 ? 0 : 1e9;
  int e = 0;
  std::frexp(w, &e);
  return std::fabs(got - want) / std::ldexp(1.0, std::max(e - 24, -149));
}

struct Function {
  Code code;
  double (*truth)(double);
  double low, high;
  double allowed;
};
double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
double rsqrt(double x) { return 1 / std::sqrt(x); }
double square(double x) { return x * x; }
double reciprocal(double x) { return 1 / x; }
const std::vector<Function> kFunctions{
    {Code::Exp, std::exp, -120, 89, 1.5},        {Code::Expm1, std::expm1, -30, 89, 2.5},
    {Code::Log, std::log, 1e-44, 3e38, 1.5},     {Code::Log1p, std::log1p, -0.99999, 1e6, 2.5},
    {Code::Sqrt, std::sqrt, 0, 3e38, 0.5},       {Code::Rsqrt, rsqrt, 1e-30, 1e30, 1.5},
    {Code::Square, square, -100, 100, 0.5},      {Code::Cbrt, std::cbrt, -1000, 1000, 1},
    {Code::Sin, std::sin, -40, 40, 1.5},         {Code::Cos, std::cos, -40, 40, 1.5},
    {Code::Tan, std::tan, -40, 40, 3},           {Code::Sinh, std::sinh, -89, 89, 3.5},
    {Code::Cosh, std::cosh, -89, 89, 3.5},       {Code::Tanh, std::tanh, -12, 12, 3},
    {Code::Asin, std::asin, -1, 1, 1},           {Code::Acos, std::acos, -1, 1, 1},
    {Code::Atan, std::atan, -100, 100, 1},       {Code::Asinh, std::asinh, -100, 100, 2.5},
    {Code::Acosh, std::acosh, 1, 100, 2},        {Code::Atanh, std::atanh, -1, 1, 2.5},
    {Code::Sigmoid, sigmoid, -88, 88, 3},        {Code::Erf, std::erf, -4.5, 4.5, 8},
    {Code::Erfc, std::erfc, -3, 3, 16},          {Code::Lgamma, std::lgamma, 0.1, 50, 1},
    {Code::Floor, std::floor, -1e7, 1e7, 0},     {Code::Ceil, std::ceil, -1e7, 1e7, 0},
    {Code::Round, std::nearbyint, -1e7, 1e7, 0}, {Code::Reciprocal, reciprocal, -100, 100, 0.5}};

}  // namespace

TEST_CASE("f32 functions are accurate", "[elementwise]") {
  for (const Function& f : kFunctions) {
    std::vector<double> x;
    std::mt19937 rng(5);
    std::uniform_real_distribution<double> even(f.low, f.high), near(-1, 1), power(-44, 38);
    for (int i = 0; i < 20000; ++i) x.push_back(static_cast<float>(even(rng)));
    for (int i = 0; i < 20000; ++i) {
      const double y = i % 2 ? near(rng) : std::pow(10.0, power(rng)) * (i % 4 ? 1 : -1);
      if (y >= f.low && y <= f.high) x.push_back(static_cast<float>(y));
    }
    Array a = of(DType::F32, x);
    Array got = unary(f.code, a);
    double worst = 0, at_ = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double u = ulps(got.as<float>()[i], f.truth(a.as<float>()[i]));
      if (u > worst) worst = u, at_ = a.as<float>()[i];
    }
    INFO("code " << static_cast<int>(f.code) << " worst at " << at_);
    CHECK(worst <= f.allowed);
  }
}

TEST_CASE("large angles", "[elementwise]") {
  std::vector<double> x;
  for (int e = 0; e < 38; ++e)
    for (const double m : {1.0, 1.2345, 3.14159265, 7.7, 9.99}) x.push_back(static_cast<float>(m * std::pow(10.0, e)));
  // f32 near multiples of pi/2, where the reduction must keep digits
  for (const double k : {1.0, 2.0, 355.0, 103993.0, 1e6, 5e6}) x.push_back(static_cast<float>(k * 1.5707963267948966));
  Array a = of(DType::F32, x);
  for (const auto& [code, truth] : std::vector<std::pair<Code, double (*)(double)>>{
           {Code::Sin, std::sin}, {Code::Cos, std::cos}, {Code::Tan, std::tan}}) {
    Array got = unary(code, a);
    for (std::size_t i = 0; i < x.size(); ++i) {
      INFO(a.as<float>()[i]);
      CHECK(ulps(got.as<float>()[i], truth(a.as<float>()[i])) <= 3);
    }
  }
}

TEST_CASE("powers", "[elementwise]") {
  std::mt19937 rng(6);
  std::uniform_real_distribution<double> base(-45, 38), exponent(-4, 4), around(0.9, 1.1), wide(-1000, 1000);
  std::vector<double> x, y;
  for (int i = 0; i < 30000; ++i) {
    x.push_back(i % 3 ? std::pow(10.0, base(rng) / 4) : around(rng));
    y.push_back(i % 3 ? exponent(rng) : wide(rng));
  }
  Array a = of(DType::F32, x), b = of(DType::F32, y), got = binary(Code::Pow, a, b);
  double worst = 0;
  for (std::size_t i = 0; i < x.size(); ++i)
    worst = std::max(worst, ulps(got.as<float>()[i], std::pow(double(a.as<float>()[i]), double(b.as<float>()[i]))));
  CHECK(worst <= 1);
  std::vector<double> specials{0,      -0.0,    1,        -1,       2,    -2,         0.5,  -0.5,
                               3,      -3,      2.5,      -2.5,     kInf, -kInf,      kNan, 1e-40,
                               -1e-40, 8388609, -8388609, 16777216, 3e38, 4194305.5f, 1e-45};
  std::vector<double> p, q, want;
  for (const double s : specials)
    for (const double t : specials)
      p.push_back(static_cast<float>(s)), q.push_back(static_cast<float>(t)),
          want.push_back(std::pow(static_cast<float>(s), static_cast<float>(t)));
  const std::vector<double> have = two(Code::Pow, DType::F32, p, q);
  for (std::size_t i = 0; i < p.size(); ++i) {
    INFO(p[i] << " ** " << q[i]);
    CHECK(ulps(static_cast<float>(have[i]), want[i]) <= 1);
    CHECK((std::isnan(have[i]) || std::signbit(have[i]) == std::signbit(want[i])));
  }
}

TEST_CASE("the inverse error function", "[elementwise]") {
  // jax.scipy.special.erfinv (JAX 0.10)
  const std::vector<double> got = one(Code::ErfInv, DType::F32, {-0.99, -0.5, 0.0, 0.3, 0.999, 1, -1, 2, kNan, 1e-30});
  const std::vector<double> want{-1.8213867, -0.47693628, 0,    0.27246276, 2.3267577,
                                 kInf,       -kInf,       kNan, kNan,       8.8622693e-31};
  for (std::size_t i = 0; i < want.size(); ++i) CHECK(ulps(static_cast<float>(got[i]), want[i]) <= 4);
  std::vector<double> x;
  for (int i = -999; i < 1000; ++i) x.push_back(i / 1000.0);
  Array a = of(DType::F64, x), inverse = unary(Code::ErfInv, a), back = unary(Code::Erf, inverse);
  for (std::size_t i = 0; i < x.size(); ++i) CHECK(back.as<double>()[i] == Approx(x[i]).epsilon(1e-14).margin(1e-16));
  const std::vector<double> edge = one(Code::ErfInv, DType::F64, {1 - 1e-15, 1e-300, -1, 1.5});
  CHECK(std::erfc(edge[0]) == Approx(1 - (1 - 1e-15)).epsilon(1e-12));
  CHECK(edge[1] == Approx(8.862269254527581e-301).epsilon(1e-12));
  CHECK(edge[2] == -kInf);
  CHECK(std::isnan(edge[3]));
}

TEST_CASE("special values", "[elementwise]") {
  const std::vector<double> x{0, -0.0, kInf, -kInf, kNan};
  const auto check = [&](Code c, std::vector<double> want, DType t) {
    INFO("code " << static_cast<int>(c) << " of " << name(t));
    CHECK(same(one(c, t, x), want));
  };
  for (const DType t : {DType::F32, DType::F64}) {
    check(Code::Exp, {1, 1, kInf, 0, kNan}, t);
    check(Code::Expm1, {0, -0.0, kInf, -1, kNan}, t);
    check(Code::Log, {-kInf, -kInf, kInf, kNan, kNan}, t);
    check(Code::Log1p, {0, -0.0, kInf, kNan, kNan}, t);
    check(Code::Sqrt, {0, -0.0, kInf, kNan, kNan}, t);
    check(Code::Rsqrt, {kInf, -kInf, 0, kNan, kNan}, t);
    check(Code::Sin, {0, -0.0, kNan, kNan, kNan}, t);
    check(Code::Cos, {1, 1, kNan, kNan, kNan}, t);
    check(Code::Tanh, {0, -0.0, 1, -1, kNan}, t);
    check(Code::Sinh, {0, -0.0, kInf, -kInf, kNan}, t);
    check(Code::Cosh, {1, 1, kInf, kInf, kNan}, t);
    check(Code::Sigmoid, {0.5, 0.5, 1, 0, kNan}, t);
    check(Code::Erf, {0, -0.0, 1, -1, kNan}, t);
    check(Code::Sign, {0, -0.0, 1, -1, kNan}, t);
    check(Code::Abs, {0, 0, kInf, kInf, kNan}, t);
    check(Code::Neg, {-0.0, 0, -kInf, kInf, kNan}, t);
    check(Code::IsNan, {0, 0, 0, 0, 1}, t);
    check(Code::IsInf, {0, 0, 1, 1, 0}, t);
    check(Code::IsFinite, {1, 1, 0, 0, 0}, t);
    CHECK(same(one(Code::Log1p, t, {-1, -2}), {-kInf, kNan}));
    CHECK(same(one(Code::Round, t, {0.5, 1.5, 2.5, -0.5, -1.5, 1e30}),
               {0, 2, 2, -0.0, -2, t == DType::F32 ? double(1e30f) : 1e30}));
    CHECK(same(one(Code::Floor, t, {-0.5, 0.5, -2, 1e9 + 1}), {-1, 0, -2, t == DType::F32 ? 1e9 : 1e9 + 1}));
    CHECK(same(two(Code::Max, t, {1, kNan, 1, 0, -0.0, -kInf}, {2, 1, kNan, -0.0, 0, 5}), {2, kNan, kNan, 0, 0, 5}));
    CHECK(same(two(Code::Min, t, {1, kNan, 1, 0, -0.0, -kInf}, {2, 1, kNan, -0.0, 0, 5}),
               {1, kNan, kNan, -0.0, -0.0, -kInf}));
    // jax.numpy.floor_divide and remainder
    CHECK(same(two(Code::FloorDiv, t, {-7, 5, -5, 7, 7}, {2, 0, kInf, -2, kNan}), {-4, kInf, -1, -4, kNan}));
    CHECK(same(two(Code::Mod, t, {-7, 7, -4, 4, 5, -5}, {2, -2, 2, -2, 0, kInf}), {1, -1, -0.0, 0, kNan, kInf}));
    CHECK(same(two(Code::Eq, t, {kNan, 0, 1}, {kNan, -0.0, 2}), {0, 1, 0}));
    CHECK(same(two(Code::Ne, t, {kNan, 0, 1}, {kNan, -0.0, 2}), {1, 0, 1}));
    CHECK(same(two(Code::Ge, t, {kNan, 0, 1}, {0, -0.0, 2}), {0, 1, 0}));
  }
}

TEST_CASE("remainders of f32 are exact", "[elementwise]") {  // fmod of f64 is, and has the remainder of f32
  std::mt19937 rng(8);
  std::uniform_real_distribution<double> size(-30, 30), digits(-3, 3), quotient(-4, 9);
  std::vector<double> x, y;
  for (int i = 0; i < 20000; ++i) {
    const double z = digits(rng) * std::pow(10.0, size(rng)), least = i < 10000 ? 0 : i % 100 == 0 ? 12 : -4;
    x.push_back(static_cast<float>(z));
    y.push_back(static_cast<float>(z / std::pow(10.0, std::max(least, quotient(rng))) * digits(rng)));
    if (y.back() == 0) y.back() = 1;
  }
  Array a = of(DType::F32, x), b = of(DType::F32, y), mod = binary(Code::Mod, a, b),
        floor = binary(Code::FloorDiv, a, b);
  int wrong = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const auto r = static_cast<float>(std::fmod(x[i], y[i])), u = static_cast<float>(x[i]),
               v = static_cast<float>(y[i]);
    const bool crosses = r != 0 && (r < 0) != (v < 0);
    const float q = (u - r) / v;
    wrong += mod.as<float>()[i] != (crosses ? r + v : r);
    wrong += floor.as<float>()[i] != std::rint(crosses ? q - 1 : q);
  }
  CHECK(wrong == 0);
}

TEST_CASE("integers at their edges", "[elementwise]") {
  const double low = -2147483648.0, high = 2147483647.0;
  CHECK(two(Code::Add, DType::I32, {high, low, 1}, {1, -1, 2}) == std::vector<double>{low, high, 3});
  CHECK(two(Code::Sub, DType::I32, {low}, {1}) == std::vector<double>{high});
  CHECK(two(Code::Mul, DType::I32, {65536, high}, {65536, 2}) == std::vector<double>{0, -2});
  CHECK(two(Code::Mul, DType::U16, {65535}, {65535}) == std::vector<double>{1});
  CHECK(two(Code::Div, DType::I32, {low, 7, -7, 5}, {-1, -2, 2, 0}) == std::vector<double>{low, -3, -3, -1});
  CHECK(two(Code::FloorDiv, DType::I32, {7, -7, 7, -7, low, 5}, {2, 2, -2, -2, -1, 0}) ==
        std::vector<double>{3, -4, -4, 3, low, -2});  // by zero as jax.numpy has it
  CHECK(two(Code::Mod, DType::I32, {7, -7, 7, -7, low, 5}, {2, 2, -2, -2, -1, 0}) ==
        std::vector<double>{1, 1, -1, -1, 0, 0});
  CHECK(two(Code::Div, DType::U8, {200, 200}, {3, 0}) == std::vector<double>{66, 255});
  CHECK(two(Code::Pow, DType::I32, {3, 2, -1, 1, 5, 0, 7}, {4, 31, -3, -2, -1, 0, 11}) ==
        std::vector<double>{81, low, -1, 1, 0, 1, 1977326743});
  CHECK(two(Code::Shl, DType::I32, {1, 1, 1, 5}, {31, 32, -1, 0}) == std::vector<double>{low, 0, 0, 5});
  CHECK(two(Code::Shr, DType::I32, {-8, -8, -8, 8, 8}, {1, 32, -1, 33, 1}) == std::vector<double>{-4, -1, -1, 0, 4});
  CHECK(two(Code::Shr, DType::U32, {8, 8, 4294967295.0}, {1, 32, 31}) == std::vector<double>{4, 0, 1});
  CHECK(two(Code::Shr, DType::I8, {-128, -128}, {7, 100}) == std::vector<double>{-1, -1});
  CHECK(two(Code::Shl, DType::U8, {255, 255}, {4, 8}) == std::vector<double>{240, 0});
  CHECK(one(Code::Abs, DType::I8, {-128, -5}) == std::vector<double>{-128, 5});
  CHECK(one(Code::Neg, DType::I8, {-128, 127}) == std::vector<double>{-128, -127});
  CHECK(one(Code::Neg, DType::U8, {1}) == std::vector<double>{255});
  CHECK(one(Code::BitNot, DType::I32, {0, 5}) == std::vector<double>{-1, -6});
  CHECK(one(Code::BitNot, DType::Bool, {0, 1}) == std::vector<double>{1, 0});
  CHECK(one(Code::Sign, DType::I16, {-7, 0, 7}) == std::vector<double>{-1, 0, 1});
  CHECK(one(Code::Square, DType::I8, {100}) == std::vector<double>{16});
  CHECK(two(Code::BitXor, DType::Bool, {0, 0, 1, 1}, {0, 1, 0, 1}) == std::vector<double>{0, 1, 1, 0});
  CHECK(two(Code::Lt, DType::U8, {200, 1}, {100, 2}) == std::vector<double>{0, 1});
  CHECK(two(Code::Lt, DType::I8, {-100, 1}, {100, 1}) == std::vector<double>{1, 0});
}

TEST_CASE("quotients and remainders of integers", "[elementwise]") {  // as whole numbers of 64 bits have them
  const std::vector<DType> types{DType::I8, DType::U8, DType::I16, DType::U16, DType::I32, DType::U32};
  for (const DType t : types) {
    const std::int64_t bits = static_cast<std::int64_t>(size_of(t)) * 8;
    const std::int64_t low = is_signed(t) ? -(std::int64_t{1} << (bits - 1)) : 0,
                       high = low + (std::int64_t{1} << bits) - 1;
    std::vector<double> x, y, div, floor, mod;
    std::vector<std::int64_t> some{low, low + 1, low / 2, -1000, -7,  -3,   -2,       -1,       1,   2,
                                   3,   5,       7,       100,   127, 1000, high / 3, high - 1, high};
    std::erase_if(some, [&](std::int64_t v) { return v < low || v > high || v == 0; });
    for (const std::int64_t a : some)
      for (const std::int64_t b : some) {
        if (a == low && b == -1) continue;  // wraps: see above
        const std::int64_t q = a / b, r = a % b, down = r != 0 && (r < 0) != (b < 0) ? 1 : 0;
        x.push_back(static_cast<double>(a)), y.push_back(static_cast<double>(b));
        div.push_back(static_cast<double>(q));
        floor.push_back(static_cast<double>(q - down)), mod.push_back(static_cast<double>(r + down * b));
      }
    INFO(name(t));
    CHECK(two(Code::Div, t, x, y) == div);
    CHECK(two(Code::FloorDiv, t, x, y) == floor);
    CHECK(two(Code::Mod, t, x, y) == mod);
  }
}

TEST_CASE("conversions", "[elementwise]") {
  // As XLA: cut off, clamped, nan is 0 (true as a truth value).
  const std::vector<double> x{1.9, -1.9, 200, -1, 3e9, -3e9, 1e30, -1e30, kNan, kInf, -kInf, 0.5, -0.0};
  const auto to = [&](DType from, DType t) {
    Array a = of(from, x);
    return list(unary(Code::Convert, a, t));
  };
  for (const DType from : {DType::F32, DType::F64}) {
    CHECK(to(from, DType::I8) == std::vector<double>{1, -1, 127, -1, 127, -128, 127, -128, 0, 127, -128, 0, 0});
    CHECK(to(from, DType::U8) == std::vector<double>{1, 0, 200, 0, 255, 0, 255, 0, 0, 255, 0, 0, 0});
    CHECK(to(from, DType::I32) == std::vector<double>{1, -1, 200, -1, 2147483647.0, -2147483648.0, 2147483647.0,
                                                      -2147483648.0, 0, 2147483647.0, -2147483648.0, 0, 0});
    CHECK(to(from, DType::U32) == std::vector<double>{1, 0, 200, 0, 3e9, 0, 4294967295.0, 0, 0, 4294967295.0, 0, 0, 0});
    CHECK(to(from, DType::I64) ==
          std::vector<double>{1, -1, 200, -1, 3e9, -3e9, 0x1p63, -0x1p63, 0, 0x1p63, -0x1p63, 0, 0});
    CHECK(to(from, DType::U64) == std::vector<double>{1, 0, 200, 0, 3e9, 0, 0x1p64, 0, 0, 0x1p64, 0, 0, 0});
    CHECK(to(from, DType::Bool) == std::vector<double>{1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0});
  }
  // By vectors and behind them: what C++ cuts off, within the ends.
  struct Ends {
    DType type;
    double low, high;
  };
  for (const Ends& e : {Ends{DType::I8, -128, 127}, Ends{DType::U8, 0, 255}, Ends{DType::I16, -32768, 32767},
                        Ends{DType::U16, 0, 65535}, Ends{DType::I4, -8, 7}})
    for (const DType from : {DType::F32, DType::F64}) {
      std::vector<double> many, want;
      for (int i = 0; i < 301; ++i)
        many.push_back(i % 37 == 5 ? kNan : (i % 2 ? e.high : e.low) + static_cast<float>(i - 150) / 4);
      for (const double v : many) want.push_back(std::isnan(v) ? 0 : std::trunc(std::clamp(v, e.low, e.high)));
      INFO(name(from) << " to " << name(e.type));
      Array a = of(from, many);
      CHECK(list(unary(Code::Convert, a, e.type)) == want);
    }
  for (const DType from : number_types())
    for (const DType t : number_types()) {
      Array a = of(from, {0, 1, 3, 100, 77, 1, 0});
      const std::vector<double> want = list(of(t, list(a)));
      INFO(name(from) << " to " << name(t));
      CHECK(list(unary(Code::Convert, a, t)) == want);
    }
  Array wide = of(DType::I32, {300, -1, 70000});
  CHECK(list(unary(Code::Convert, wide, DType::U8)) == std::vector<double>{44, 255, 112});
  CHECK(list(unary(Code::Convert, wide, DType::I16)) == std::vector<double>{300, -1, 4464});
  Array fine = of(DType::F64, {1 + 0x1p-11 + 0x1p-40, 65519.9, 65520, 1e-9});
  CHECK(list(unary(Code::Convert, fine, DType::F16)) == std::vector<double>{1 + 0x1p-10, 65504, kInf, 0});
  Array brain = of(DType::F64, {1 + 0x1p-8 + 0x1p-40, 1 + 0x1p-8});
  CHECK(list(unary(Code::Convert, brain, DType::BF16)) == std::vector<double>{1 + 0x1p-7, 1});
}
