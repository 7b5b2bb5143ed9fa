// Sorting and scans. nan is larger than every number, as in jax.numpy.sort and argsort (also when descending: nan
// first).
#include <catch2/catch.hpp>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "runtime/kernels/kernels.h"
#include "tests/runtime/arrays.h"

using namespace shard::runtime;
using namespace shard::runtime::test;

namespace {
bool before(double a, double b) { return a < b || (std::isnan(b) && !std::isnan(a)); }
}  // namespace

TEST_CASE("the first positions of an order are those of all", "[order]") {
  for (const DType t : {DType::F32, DType::F64, DType::BF16, DType::I8})
    for (const bool descending : {false, true})
      for (const std::int64_t n : {1, 40, 1000}) {
        Array a = random_array(t, {3, n}, 1);  // of i8 and bf16 many are equal
        if (is_float(t)) set(a.view(), n - 1, NAN), set(a.view(), n, NAN);
        Array all(DType::I32, {3, n});
        argsort(a.view(), all.view(), descending);
        for (const std::int64_t k : {std::int64_t{1}, n / 10, n / 2, n}) {
          if (k == 0) continue;
          Array first(DType::I32, {3, k});
          argsort(a.view(), first.view(), descending);
          for (std::int64_t line = 0; line < 3; ++line)
            CHECK(std::equal(first.as<std::int32_t>() + line * k, first.as<std::int32_t>() + (line + 1) * k,
                             all.as<std::int32_t>() + line * n));
        }
      }
}

TEST_CASE("sorts of every type and layout", "[order]") {
  for (const DType t : number_types())
    for (const bool descending : {false, true}) {
      Array a = random_array(t, {3, 40}, 1);
      if (is_float(t))
        set(a.view(), 41, NAN), set(a.view(), 50, NAN), set(a.view(), 3, 0.0), set(a.view(), 9, -0.0),
            set(a.view(), 11, INFINITY);
      for (const View& in : {a.view(), View{t, {40, 3}, {1, 40}, a.data()}, View{t, {3, 20}, {40, 2}, a.data()},
                             View{t, {40}, {0}, a.data()}}) {
        Array s(t, in.shape), o(DType::I32, in.shape);
        sort(in, s.view(), descending);
        argsort(in, o.view(), descending);
        const std::int64_t n = in.shape.back();
        Shape lines = in.shape;
        lines.back() = 1;
        each_index(lines, [&](const Shape& line) {
          std::vector<int> want(static_cast<std::size_t>(n));
          std::iota(want.begin(), want.end(), 0);
          const auto value = [&](int i) {
            Shape k = line;
            k.back() = i;
            return at(in, k);
          };
          std::vector<int> sorted = want;  // descending: ascending from its end, zeros of both signs too (jnp.sort)
          std::stable_sort(sorted.begin(), sorted.end(), [&](int x, int y) { return before(value(x), value(y)); });
          if (descending) std::reverse(sorted.begin(), sorted.end());
          std::stable_sort(want.begin(), want.end(), [&](int x, int y) {
            return descending ? before(value(y), value(x)) : before(value(x), value(y));
          });
          for (std::int64_t i = 0; i < n; ++i) {
            Shape k = line;
            k.back() = i;
            const int w = want[static_cast<std::size_t>(i)];
            CHECK(at(o.view(), k) == w);
            const double got = at(s.view(), k), expected = value(sorted[static_cast<std::size_t>(i)]);
            CHECK((std::isnan(expected) ? std::isnan(got)
                                        : got == expected && std::signbit(got) == std::signbit(expected)));
          }
        });
      }
    }
  sort(contiguous(DType::F32, {3, 0}), contiguous(DType::F32, {3, 0}));
}

TEST_CASE("scans", "[order]") {
  for (const DType t : {DType::I32, DType::U8, DType::F32, DType::F64, DType::BF16})
    for (const Scan op : {Scan::Sum, Scan::Prod, Scan::Max, Scan::Min})
      for (const bool reverse : {false, true}) {
        Array a(t, {2, 9});
        for (std::int64_t i = 0; i < 18; ++i) set(a.view(), i, 1 + (i * 5 + 1) % 3 * (op != Scan::Prod) + (i % 4 == 1));
        Array out(t, {2, 9});
        cumulative(op, a.view(), out.view(), reverse);
        for (std::int64_t r = 0; r < 2; ++r) {
          double acc = 0;
          for (std::int64_t k = 0; k < 9; ++k) {
            const std::int64_t i = r * 9 + (reverse ? 8 - k : k);
            const double x = get(a.view(), i);
            acc = k == 0             ? x
                  : op == Scan::Sum  ? acc + x
                  : op == Scan::Prod ? acc * x
                  : op == Scan::Max  ? std::max(acc, x)
                                     : std::min(acc, x);
            CHECK(get(out.view(), i) == acc);
          }
        }
      }
  Array wraps(DType::I8, {3}), out(DType::I8, {3});
  fill(wraps.view(), 100, 100);
  cumulative(Scan::Sum, wraps.view(), out.view(), false);
  CHECK(out.as<std::int8_t>()[2] == 300 - 256);
  Array n = random_array(DType::F32, {5}, 3), m(DType::F32, {5});
  n.as<float>()[2] = NAN;
  cumulative(Scan::Max, n.view(), m.view(), false);
  CHECK_FALSE(std::isnan(m.as<float>()[1]));
  CHECK(std::isnan(m.as<float>()[4]));
  cumulative(Scan::Sum, contiguous(DType::F32, {0}), contiguous(DType::F32, {0}), false);
  Array ones(DType::F32, {1000000}), total(DType::F32, {1000000});
  fill(ones.view(), 0.1, 0);
  cumulative(Scan::Sum, ones.view(), total.view(), false);
  CHECK(total.as<float>()[999999] == Approx(100000.0015).epsilon(1e-6));  // 10^6 times the f32 nearest to 0.1
}
