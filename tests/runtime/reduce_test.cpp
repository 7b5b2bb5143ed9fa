// Reductions against plain sums in f64 (integers: exact), for every layout; and that bits depend neither on threads nor
// layout's path.
#include <catch2/catch.hpp>

#include <tbb/global_control.h>

#include <bit>
#include <cmath>
#include <map>

#include "runtime/kernels/kernels.h"
#include "tests/runtime/arrays.h"

using namespace shard::runtime;
using namespace shard::runtime::test;

namespace {

double slow(Reduce op, double a, double b) {
  switch (op) {
    case Reduce::Sum: return a + b;
    case Reduce::Prod: return a * b;
    case Reduce::Max: return std::isnan(a) || a > b ? a : b;
    case Reduce::Min: return std::isnan(a) || a < b ? a : b;
    case Reduce::And: return static_cast<double>(static_cast<std::int64_t>(a) & static_cast<std::int64_t>(b));
    default: return static_cast<double>(static_cast<std::int64_t>(a) | static_cast<std::int64_t>(b));
  }
}

Shape kept_of(const Shape& s, const std::vector<int>& axes) {
  Shape out;
  for (std::size_t i = 0; i < s.size(); ++i)
    if (std::find(axes.begin(), axes.end(), static_cast<int>(i)) == axes.end()) out.push_back(s[i]);
  return out;
}

void check_reduce(Reduce op, const View& in, const std::vector<int>& axes) {
  Array out(in.dtype, kept_of(in.shape, axes));
  reduce(op, in, axes, out.view());
  std::map<Shape, double> expected, magnitude;
  each_index(in.shape, [&](const Shape& i) {
    const Shape k = kept_of(i, axes);
    const double x = at(in, i);
    const auto it = expected.find(k);
    if (it == expected.end())
      expected[k] = x, magnitude[k] = std::fabs(x);
    else
      it->second = slow(op, it->second, x), magnitude[k] += std::fabs(x);
  });
  const double eps = in.dtype == DType::F64   ? 1e-14
                     : in.dtype == DType::F32 ? 2e-6
                     : in.dtype == DType::F16 ? 1e-3
                                              : 8e-3;
  int wrong = 0;
  each_index(out.shape, [&](const Shape& k) {
    const double got = at(out.view(), k), want = expected[k];
    const double tolerance = is_float(in.dtype) ? eps * (op == Reduce::Sum ? magnitude[k] : std::fabs(want)) : 0;
    const bool same = std::isnan(want) ? std::isnan(got) : std::fabs(got - want) <= tolerance;
    if (!same && ++wrong < 3) {
      INFO(name(in.dtype) << " op " << static_cast<int>(op) << " in " << to_string(in.shape) << " got " << got
                          << " want " << want);
      CHECK(same);
    }
  });
  CHECK(wrong == 0);
}

}  // namespace

TEST_CASE("every operation and type", "[reduce]") {
  for (const DType t :
       {DType::I32, DType::I64, DType::U32, DType::U64, DType::F16, DType::BF16, DType::F32, DType::F64})
    for (const Reduce op : {Reduce::Sum, Reduce::Prod, Reduce::Max, Reduce::Min, Reduce::And, Reduce::Or}) {
      if (is_float(t) && (op == Reduce::And || op == Reduce::Or)) continue;
      Array a = random_array(t, {7, 9, 6}, 3);
      if (op == Reduce::Prod)
        for (std::int64_t i = 0; i < a.size(); ++i) set(a.view(), i, 1 + i % 2 * (i % 37 == 0));
      for (const auto& axes : std::vector<std::vector<int>>{{0}, {1}, {2}, {0, 1}, {0, 2}, {1, 2}, {0, 1, 2}})
        check_reduce(op, a.view(), axes);
    }
  for (const DType t : {DType::I8, DType::I16, DType::U8, DType::U16})  // small sums, so that none wraps
    for (const Reduce op : {Reduce::Max, Reduce::Min, Reduce::And, Reduce::Or})
      check_reduce(op, random_array(t, {5, 80}, 4).view(), {1});
}

TEST_CASE("layouts of the reduced array", "[reduce]") {
  Array a = random_array(DType::F32, {40, 33, 50}, 5);
  float* x = a.as<float>();
  for (const auto& axes : std::vector<std::vector<int>>{{0}, {1}, {2}, {0, 1}, {0, 2}, {1, 2}, {0, 1, 2}}) {
    check_reduce(Reduce::Sum, {DType::F32, {40, 33, 50}, {1650, 50, 1}, x}, axes);
    check_reduce(Reduce::Sum, {DType::F32, {50, 33, 40}, {1, 50, 1650}, x}, axes);
    check_reduce(Reduce::Sum, {DType::F32, {33, 40, 50}, {50, 1650, 1}, x}, axes);
    check_reduce(Reduce::Sum, {DType::F32, {40, 33, 25}, {1650, 50, 2}, x}, axes);
    check_reduce(Reduce::Sum, {DType::F32, {40, 33, 50}, {0, 50, 1}, x}, axes);
    check_reduce(Reduce::Sum, {DType::F32, {40, 33, 50}, {1650, 0, 0}, x}, axes);
    check_reduce(Reduce::Max, {DType::F32, {40, 33, 50}, {-1650, -50, -1}, x + a.size() - 1}, axes);
    check_reduce(Reduce::Sum, {DType::F32, {40, 1, 50}, {1650, 7, 1}, x}, axes);
  }
  check_reduce(Reduce::Sum, contiguous(DType::F32, {}, x), {});
  check_reduce(Reduce::Sum, contiguous(DType::F32, {3, 4}, x), {});
}

TEST_CASE("truth values, integers that wrap, nan, and nothing", "[reduce]") {
  Array b(DType::Bool, {3, 100});
  b.as<std::uint8_t>()[150] = 1;
  std::fill_n(b.as<std::uint8_t>() + 200, 100, std::uint8_t{1});
  Array out(DType::Bool, {3});
  const int one[] = {1};
  const auto expect = [&](Reduce op, std::vector<std::uint8_t> want) {
    reduce(op, b.view(), one, out.view());
    CHECK(std::vector<std::uint8_t>(out.as<std::uint8_t>(), out.as<std::uint8_t>() + 3) == want);
  };
  expect(Reduce::Or, {0, 1, 1});
  expect(Reduce::And, {0, 0, 1});
  expect(Reduce::Max, {0, 1, 1});
  expect(Reduce::Min, {0, 0, 1});

  Array i(DType::I8, {300}), sum(DType::I8, {});
  fill(i.view(), 1, 1);
  const int zero[] = {0};
  reduce(Reduce::Sum, i.view(), zero, sum.view());
  CHECK(*sum.as<std::int8_t>() == 300 - 256);

  Array f = random_array(DType::F32, {50, 300}, 6), rows(DType::F32, {50}), columns(DType::F32, {300});
  f.as<float>()[7 * 300 + 299] = NAN;
  for (const Reduce op : {Reduce::Max, Reduce::Min}) {
    check_reduce(op, f.view(), {1});
    check_reduce(op, f.view(), {0});
  }
  Array none(DType::F32, {0, 3}), three(DType::F32, {3});
  reduce(Reduce::Sum, none.view(), zero, three.view());
  CHECK(three.as<float>()[2] == 0);
  reduce(Reduce::Max, none.view(), zero, three.view());
  CHECK(three.as<float>()[2] == -INFINITY);
  reduce(Reduce::Prod, none.view(), zero, three.view());
  CHECK(three.as<float>()[2] == 1);
  reduce(Reduce::Sum, none.view(), one, contiguous(DType::F32, {0}));
  Array key(DType::Key, {2}), key1(DType::Key, {});
  CHECK_THROWS_AS(reduce(Reduce::Sum, key.view(), zero, key1.view()), RuntimeError);
  for (const auto& [t, low, high] : std::vector<std::tuple<DType, double, double>>{
           {DType::I8, -128, 127}, {DType::U16, 0, 65535}, {DType::I32, -2147483648.0, 2147483647.0}}) {
    Array empty(t, {0}), extreme(t, {});
    reduce(Reduce::Max, empty.view(), zero, extreme.view());
    CHECK(get(extreme.view(), 0) == low);
    reduce(Reduce::Min, empty.view(), zero, extreme.view());
    CHECK(get(extreme.view(), 0) == high);
  }
}

TEST_CASE("the extreme of a row, a nan and a zero are found wherever they are", "[reduce]") {
  const int zero[] = {0};
  for (const DType t : {DType::F32, DType::F64})
    for (const std::int64_t n : {3, 7, 8, 31, 50, 63, 64, 95, 96, 131, 1024}) {
      Array row(t, {n}), out(t, {});
      const auto with = [&](Reduce op, double others, std::int64_t at, double one) {
        fill(row.view(), others, 0);
        set(row.view(), at, one);
        reduce(op, row.view(), zero, out.view());
        return get(out.view(), 0);
      };
      int wrong = 0;
      for (std::int64_t at = 0; at < n; ++at) {
        wrong += with(Reduce::Max, -3, at, -2) != -2 || with(Reduce::Min, 3, at, 2) != 2;
        wrong += with(Reduce::Max, -3, at, -4) != -3 || with(Reduce::Min, 3, at, 4) != 3;
        wrong += !std::isnan(with(Reduce::Max, 5, at, NAN)) || !std::isnan(with(Reduce::Min, 5, at, NAN));
        wrong += std::signbit(with(Reduce::Max, -0.0, at, 0.0)) || !std::signbit(with(Reduce::Min, 0.0, at, -0.0));
      }
      CHECK(wrong == 0);
    }
}

TEST_CASE("sums do not depend on the threads, and stay exact when long", "[reduce]") {
  Array a = random_array(DType::F32, {3000000}, 8);
  double exact = 0;
  for (std::int64_t i = 0; i < a.size(); ++i) exact += a.as<float>()[i];
  for (const auto& [shape, axes] : std::vector<std::pair<Shape, std::vector<int>>>{{{3000000}, {0}},
                                                                                   {{300000, 10}, {0}},
                                                                                   {{10, 300000}, {1}},
                                                                                   {{3000, 1000}, {0}},
                                                                                   {{3000, 1000}, {1}},
                                                                                   {{100, 300, 100}, {0, 2}},
                                                                                   {{12500, 30, 8}, {0, 2}},
                                                                                   {{2, 1500000}, {0, 1}}}) {
    Array one(DType::F32, kept_of(shape, axes)), two(DType::F32, kept_of(shape, axes));
    {
      const tbb::global_control limit(tbb::global_control::max_allowed_parallelism, 1);
      reduce(Reduce::Sum, contiguous(DType::F32, shape, a.data()), axes, one.view());
    }
    {
      const tbb::global_control limit(tbb::global_control::max_allowed_parallelism, 4);
      reduce(Reduce::Sum, contiguous(DType::F32, shape, a.data()), axes, two.view());
    }
    CHECK(one.bytes == two.bytes);
    double total = 0;
    for (std::int64_t i = 0; i < one.size(); ++i) total += one.as<float>()[i];
    CHECK(total == Approx(exact).epsilon(1e-5));
  }
}

TEST_CASE("halves are summed in f32", "[reduce]") {
  for (const DType t : {DType::F16, DType::BF16}) {
    Array a(t, {10000}), out(t, {});
    fill(a.view(), 1, 1);
    const int zero[] = {0};
    reduce(Reduce::Sum, a.view(), zero, out.view());
    CHECK(get(out.view(), 0) == (t == DType::F16 ? 10000 : 9984));  // 10000 rounded to bf16
  }
}

TEST_CASE("short lines together have the bits of each by itself", "[reduce]") {
  const int last[] = {1}, only[] = {0};
  for (const std::int64_t n : {2, 3, 4, 5, 7, 8, 13, 64, 65})
    for (const std::int64_t lines : {1, 7, 8, 9, 37})
      for (const Reduce op : {Reduce::Sum, Reduce::Max, Reduce::Min}) {
        Array a = random_array(DType::F32, {lines, n + 1}, 14);  // a line is followed by what is not its own
        for (std::int64_t i = 0; i < lines * (n + 1); i += 5) a.as<float>()[i] = i % 2 ? 0.0f : -0.0f;
        for (std::int64_t i = 3; i < lines * (n + 1); i += 41) a.as<float>()[i] = NAN;
        const View in{DType::F32, {lines, n}, {n + 1, 1}, a.data()};
        Array together(DType::F32, {lines}), alone(DType::F32, {lines});
        reduce(op, in, last, together.view());
        for (std::int64_t i = 0; i < lines; ++i)
          reduce(op, View{DType::F32, {n}, {1}, a.as<float>() + i * (n + 1)}, only,
                 View{DType::F32, {}, {}, alone.as<float>() + i});
        for (std::int64_t i = 0; i < lines; ++i) {
          const float x = together.as<float>()[i], y = alone.as<float>()[i];
          INFO(n << " elements, " << lines << " lines");
          CHECK(
              ((std::isnan(x) && std::isnan(y)) || std::bit_cast<std::uint32_t>(x) == std::bit_cast<std::uint32_t>(y)));
        }
      }
}

TEST_CASE("no line is read beyond its array", "[reduce][arg_reduce]") {
  const Guarded memory(4);
  float* const end = memory.end();
  std::fill(memory.begin(), end, 1.0f);
  const int last[] = {1};
  for (const std::int64_t n : {2, 3, 4, 5, 7, 10, 65})
    for (const std::int64_t apart : {-n, std::int64_t{0}, std::int64_t{1}, n, n + 1})
      for (const std::int64_t lines : {8, 9, 16, 17}) {
        const std::int64_t ahead = n + std::max<std::int64_t>(apart, 0) * (lines - 1);
        const View in{DType::F32, {lines, n}, {apart, 1}, end - ahead};
        Array sums(DType::F32, {lines}), largest(DType::F32, {lines}), where(DType::I32, {lines});
        reduce(Reduce::Sum, in, last, sums.view());
        reduce(Reduce::Max, in, last, largest.view());
        arg_reduce(true, in, 1, where.view());
        for (std::int64_t i = 0; i < lines; ++i)
          CHECK((get(sums.view(), i) == n && get(largest.view(), i) == 1 && get(where.view(), i) == 0));
      }
}

TEST_CASE("columns are added row by row", "[reduce]") {
  const int first[] = {0};
  for (const DType t : {DType::F32, DType::F64})
    for (const std::int64_t width : {3, 8, 70, 133, 1100}) {
      Array a = random_array(t, {16, width}, 15), out(t, {width});  // as many rows as are added one after the other
      reduce(Reduce::Sum, a.view(), first, out.view());
      for (std::int64_t j = 0; j < width; ++j) {
        double sum = get(a.view(), j);
        for (std::int64_t r = 1; r < 16; ++r) {
          sum += get(a.view(), r * width + j);
          if (t == DType::F32) sum = static_cast<float>(sum);
        }
        CHECK(get(out.view(), j) == sum);
      }
    }
}

TEST_CASE("index of the extreme", "[arg_reduce]") {
  const auto check = [](const View& in, int axis) {
    for (const bool largest : {true, false}) {
      Array out(DType::I32, kept_of(in.shape, {axis}));
      arg_reduce(largest, in, axis, out.view());
      each_index(out.shape, [&](const Shape& k) {
        Shape i = k;
        i.insert(i.begin() + axis, 0);
        std::int64_t best = 0;
        double value = at(in, i);
        for (std::int64_t j = 1; j < in.shape[static_cast<std::size_t>(axis)]; ++j) {
          i[static_cast<std::size_t>(axis)] = j;
          const double x = at(in, i);
          if (std::isnan(value)) break;
          if (std::isnan(x) || (largest ? x > value : x < value)) value = x, best = j;
        }
        CHECK(at(out.view(), k) == best);
      });
    }
  };
  for (const DType t : number_types()) {
    Array a = random_array(t, {4, 30, 6}, 11);
    for (const int axis : {0, 1, 2}) check(a.view(), axis);
  }
  Array n = random_array(DType::F32, {5, 200}, 12);
  n.as<float>()[3 * 200 + 77] = NAN;
  n.as<float>()[3 * 200 + 99] = NAN;
  check(n.view(), 0);
  check(n.view(), 1);
  check({DType::F32, {200, 5}, {1, 200}, n.data()}, 0);
  check({DType::F32, {5, 100}, {200, 2}, n.data()}, 1);
  check({DType::F32, {250, 4}, {4, 1}, n.data()}, 1);  // many short lines, with a nan
  check({DType::F32, {25, 10, 4}, {40, 1, 10}, n.data()}, 1);
  for (const DType t : {DType::F32, DType::F64, DType::I32})  // equals, extremes of the type, several pieces of a line
    for (const Shape& shape : {Shape{37, 4}, {37, 10}, {9, 64}, {9, 65}, {3, 5000}, {2, 3, 1025}}) {
      Array x = random_array(t, shape, 13);
      check(x.view(), static_cast<int>(shape.size()) - 1);
      const std::int64_t size = numel(shape);
      for (std::int64_t i = 0; i < size; ++i) set(x.view(), i, static_cast<double>(i * 7 % 5));
      for (std::int64_t i = 0; i < size; i += 11) set(x.view(), i, t == DType::I32 ? 2147483647.0 : INFINITY);
      for (std::int64_t i = 5; i < size; i += 13) set(x.view(), i, t == DType::I32 ? -2147483648.0 : -INFINITY);
      if (t != DType::I32) set(x.view(), size - 2, NAN), set(x.view(), size / 2, NAN);
      check(x.view(), static_cast<int>(shape.size()) - 1);
    }
  Array empty(DType::F32, {3, 0}), out(DType::I32, {3});
  CHECK_THROWS_AS(arg_reduce(true, empty.view(), 1, out.view()), RuntimeError);
}
