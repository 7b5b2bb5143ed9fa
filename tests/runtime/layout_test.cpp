// Copies between any strides against a slow walk, fills and ramps.
#include <catch2/catch.hpp>

#include <random>

#include "runtime/kernels/joined.h"
#include "runtime/kernels/kernels.h"
#include "tests/runtime/arrays.h"

using namespace shard::runtime;
using namespace shard::runtime::test;

namespace {

void check_copy(const View& in, const View& out) {
  copy(in, out);
  std::int64_t wrong = 0;
  each_index(out.shape, [&](const Shape& i) { wrong += at(in, i) != at(out, i); });
  CHECK(wrong == 0);
}

View permuted(const View& v, const std::vector<std::size_t>& order) {
  View p{v.dtype, {}, {}, v.data};
  for (const std::size_t d : order) {
    p.shape.push_back(v.shape[d]);
    p.strides.push_back(v.strides[d]);
  }
  return p;
}

}  // namespace

TEST_CASE("copies of every layout", "[layout]") {
  std::vector<DType> types = number_types();
  types.push_back(DType::Key);
  for (const DType t : types) {
    Array a(t, {3, 70, 5, 41});
    for (std::int64_t i = 0; i < a.size(); ++i)
      set(a.view(), i, static_cast<double>(t == DType::Bool ? i % 2 : i % 120));
    for (const auto& order : std::vector<std::vector<std::size_t>>{
             {0, 1, 2, 3}, {3, 2, 1, 0}, {0, 3, 2, 1}, {1, 0, 2, 3}, {2, 0, 3, 1}, {0, 2, 1, 3}}) {
      const View in = permuted(a.view(), order);
      Array b(t, in.shape);
      check_copy(in, b.view());
      Array c(t, {3, 70, 5, 41});
      check_copy(a.view(), permuted(c.view(), {0, 1, 2, 3}));
      check_copy(b.view(), permuted(c.view(), order));
    }
  }
}

TEST_CASE("broadcast, reversed, sliced and strided copies", "[layout]") {
  Array a = random_array(DType::F32, {4, 100}, 1);
  float* x = a.as<float>();
  Array b(DType::F32, {5, 4, 100});
  check_copy({DType::F32, {5, 4, 100}, {0, 100, 1}, x}, b.view());
  check_copy({DType::F32, {5, 4, 100}, {0, 100, 0}, x}, b.view());
  check_copy({DType::F32, {5, 4, 100}, {0, -100, -1}, x + 399}, b.view());
  Array c(DType::F32, {2, 33});
  check_copy({DType::F32, {2, 33}, {200, 3}, x}, c.view());
  check_copy({DType::F32, {2, 33}, {100, 1}, x + 60}, {DType::F32, {2, 33}, {-33, 1}, c.as<float>() + 33});
  Array d(DType::F32, {4, 300});
  check_copy(a.view(), {DType::F32, {4, 100}, {300, 3}, d.data()});
  check_copy({DType::F32, {}, {}, x + 7}, {DType::F32, {}, {}, d.as<float>() + 5});
  copy({DType::F32, {0, 3}, {3, 1}, nullptr}, {DType::F32, {0, 3}, {3, 1}, nullptr});
}

TEST_CASE("narrow matrices are turned, and nothing beside them", "[layout]") {
  std::vector<std::int64_t> sizes{100, 1003};
  for (std::int64_t n = 1; n < 20; ++n) sizes.push_back(n);
  for (const std::int64_t lines : sizes)
    for (const std::int64_t n : sizes) {
      if (lines > 20 && n > 20) continue;
      const Guarded memory((lines * n + 1023) / 1024), result((lines * n + 1023) / 1024);
      float* const first = memory.end() - lines * n;
      for (std::int64_t i = 0; i < lines * n; ++i) first[i] = static_cast<float>(i);
      const View in{DType::F32, {n, lines}, {1, n}, first};
      Array wide(DType::F32, {n, lines + 3});
      CAPTURE(lines, n);
      check_copy(in, contiguous(DType::F32, {n, lines}, result.end() - lines * n));
      fill(wide.view(), -1, -1);
      check_copy(in, {DType::F32, {n, lines}, {lines + 3, 1}, wide.data()});
      std::int64_t beside = 0;
      for (std::int64_t i = 0; i < n; ++i)
        for (std::int64_t j = lines; j < lines + 3; ++j) beside += wide.as<float>()[i * (lines + 3) + j] == -1;
      CHECK(beside == 3 * n);
    }
}

TEST_CASE("short lines of two arrays are joined, and nothing beside them", "[layout]") {
  for (const std::int64_t n : {1, 2, 3, 5, 8, 15})
    for (const std::int64_t m : {1, 2, 4, 7, 17})
      for (const std::int64_t lines : {64, 65, 131, 20011}) {
        const auto pages = [&](std::int64_t each) { return static_cast<std::size_t>(lines * each + 1023) / 1024; };
        const Guarded first(pages(n)), second(pages(m)), result(pages(n + m));
        float *x = first.end() - lines * n, *y = second.end() - lines * m, *out = result.end() - lines * (n + m);
        for (std::int64_t i = 0; i < lines * n; ++i) x[i] = static_cast<float>(i);
        for (std::int64_t i = 0; i < lines * m; ++i) y[i] = static_cast<float>(-i - 1);
        const auto joined =
            JoinedLines::of(contiguous(DType::F32, {lines, n}, x), contiguous(DType::F32, {lines, m}, y),
                            contiguous(DType::F32, {lines, n + m}, out), 1);
        CHECK(joined.has_value() == (vector_table().group_lanes > 0));
        if (!joined) continue;
        joined->run(x, y, out);
        std::int64_t wrong = 0;
        for (std::int64_t l = 0; l < lines; ++l)
          for (std::int64_t i = 0; i < n + m; ++i)
            wrong += out[l * (n + m) + i] != (i < n ? x[l * n + i] : y[l * m + i - n]);
        CAPTURE(n, m, lines);
        CHECK(wrong == 0);
      }
}

TEST_CASE("short lines are padded with one element, before and behind", "[layout]") {
  const float one = 7;
  for (const auto& [n, low, high] : std::vector<std::tuple<std::int64_t, std::int64_t, std::int64_t>>{
           {3, 0, 1}, {3, 1, 0}, {5, 2, 3}, {1, 1, 1}, {16, 1, 9}, {30, 1, 1}})
    for (const std::int64_t lines : {64, 67, 20011}) {
      const std::int64_t wide = low + n + high;
      const auto pages = [&](std::int64_t each) { return static_cast<std::size_t>(lines * each + 1023) / 1024; };
      const Guarded memory(pages(n)), result(pages(wide));
      float *x = memory.end() - lines * n, *out = result.end() - lines * wide;
      for (std::int64_t i = 0; i < lines * n; ++i) x[i] = static_cast<float>(-i - 1);
      const View from = contiguous(DType::F32, {lines, n}, x), to = contiguous(DType::F32, {lines, wide}, out);
      const View alike{DType::F32, {lines, low + high}, {0, 0}, const_cast<float*>(&one)};
      const auto padded = JoinedLines::padded(from, low, high, to, 1);
      const auto joined = low == 0 ? JoinedLines::of(from, alike, to, 1) : JoinedLines::of(alike, from, to, 1);
      CHECK(padded.has_value() == (vector_table().group_lanes > 0));
      if (!padded) continue;
      const auto wrong = [&](std::int64_t first) {  // place of the line's own elements
        std::int64_t count = 0;
        for (std::int64_t i = 0; i < lines * wide; ++i) {
          const std::int64_t at = i % wide - first;
          count += out[i] != (at >= 0 && at < n ? x[i / wide * n + at] : one);
        }
        return count;
      };
      CAPTURE(n, low, high, lines);
      padded->run(x, &one, out);
      CHECK(wrong(low) == 0);
      low == 0 ? joined->run(x, &one, out) : joined->run(&one, x, out);
      CHECK(wrong(low == 0 ? 0 : low + high) == 0);
    }
}

TEST_CASE("short lines that are near each other", "[layout]") {  // with nothing before the first and behind the last
  for (const std::int64_t n : {2, 3, 4, 7, 10, 15})
    for (const std::int64_t line : {-5, -3, -2, -1, 1, 2, 3, 4, 5, 11, 16})
      for (const std::int64_t step : {-1, 0, 1})
        for (const std::int64_t lines : {70, 193, 1000}) {
          const std::int64_t down = (line < 0 ? (lines - 1) * -line : 0) + (step < 0 ? n - 1 : 0),
                             up = (line > 0 ? (lines - 1) * line : 0) + (step > 0 ? n - 1 : 0);
          Array a = random_array(DType::F32, {down + up + 1}, 1), out(DType::F32, {lines, n});
          CAPTURE(n, line, step, lines);
          check_copy({DType::F32, {lines, n}, {line, step}, a.as<float>() + down}, out.view());
        }
}

TEST_CASE("copies of short lines", "[layout]") {
  for (const DType t : {DType::U8, DType::BF16, DType::F32, DType::F64})
    for (const std::int64_t n : {1, 2, 3, 4, 5, 7, 8, 9, 11, 13, 16}) {
      Array a = random_array(t, {3, 50, 24}, 4), out(t, {3, 50, n}), wide(t, {3, 50, 2 * n});
      const std::int64_t size = static_cast<std::int64_t>(size_of(t));
      const auto from = [&](Strides strides, std::int64_t first = 0) {
        return View{t, {3, 50, n}, std::move(strides), static_cast<char*>(a.data()) + first * size};
      };
      for (const View& in : {from({800, 16, 1}), from({800, 16, 2}), from({800, 16, -1}, n), from({50, 1, 0}),
                             from({800, 0, 1}), from({0, 1, 0}), from({800, 1, 50})}) {
        check_copy(in, out.view());
        check_copy(in, View{t, {3, 50, n}, {100 * n, 2 * n, 2}, wide.data()});
      }
    }
}

TEST_CASE("repetitions along middle dimensions are copied", "[layout]") {
  for (const std::int64_t times : {2, 3, 7})
    for (const std::int64_t n : {5, 16, 40}) {
      Array a = random_array(DType::F32, {4, 20, n}, 6), out(DType::F32, {4, times, 20, times, n});
      check_copy({DType::F32, out.shape, {20 * n, 0, n, 0, 1}, a.data()}, out.view());
      Array wide(DType::F32, {4, 3000, times, n});  // what one stretch writes leaves the first cache
      check_copy({DType::F32, wide.shape, {20 * n, 0, 0, 1}, a.data()}, wide.view());
    }
}

TEST_CASE("every few elements of a line, and nothing behind the last", "[layout]") {
  const Guarded memory(2);
  for (float* x = memory.begin(); x < memory.end(); ++x) *x = static_cast<float>(x - memory.begin());
  for (const std::int64_t step : {2, 3, 4, 5})
    for (std::int64_t n = 1; n < 60; ++n) {
      float* const first = memory.end() - (n - 1) * step - 1;
      Array out(DType::F32, {n});
      check_copy({DType::F32, {n}, {step}, first}, out.view());
      check_copy({DType::F32, {n}, {-step}, memory.end() - 1}, out.view());
      if (n % 2 == 0) {
        Array halves(DType::F64, {n / 2});
        check_copy({DType::F64, {n / 2}, {step}, memory.end() - (n - 2) * step - 2}, halves.view());
      }
    }
}

TEST_CASE("lines of three elements, forwards, backwards and several times, and nothing beside them", "[layout]") {
  const Guarded memory(2);  // nothing may be read before it or behind it
  for (float* x = memory.begin(); x < memory.end(); ++x) *x = static_cast<float>(x - memory.begin());
  for (const std::int64_t rows : {1, 2, 3, 4, 7, 50})
    for (const std::int64_t step : {0, 1, 2, 3, 4, 7})
      for (const std::int64_t times : {1, 2, 3, 5}) {
        const std::int64_t last = (rows - 1) * step;
        for (float* const first : {memory.begin(), memory.end() - last - 3}) {
          Array out(DType::F32, {rows, times, 3});
          check_copy({DType::F32, {rows, times, 3}, {step, 0, 1}, first}, out.view());
          check_copy({DType::F32, {rows, times, 3}, {-step, 0, 1}, first + last}, out.view());
        }
      }
  for (const std::int64_t n : {1, 7, 8, 9, 100}) {
    Array out(DType::F32, {n, 4});
    for (float* const first : {memory.begin(), memory.end() - n})
      check_copy({DType::F32, {n, 4}, {1, 0}, first}, out.view());
  }
}

TEST_CASE("few long lines are turned", "[layout]") {
  for (const DType t : {DType::U8, DType::F32, DType::F64})
    for (const std::int64_t few : {4, 5, 10, 33}) {
      Array a = random_array(t, {20'000, few}, 5), b(t, {few, 20'000}), c(t, {20'000, few});
      check_copy({t, {few, 20'000}, {1, few}, a.data()}, b.view());
      check_copy({t, {20'000, few}, {1, 20'000}, b.data()}, c.view());
      CHECK(a.bytes == c.bytes);
    }
}

TEST_CASE("large copies", "[layout]") {
  Array a = random_array(DType::F32, {1000, 301}, 2);
  Array t(DType::F32, {301, 1000});
  check_copy({DType::F32, {301, 1000}, {1, 301}, a.data()}, t.view());
  Array flat(DType::F32, {301000});
  check_copy({DType::F32, {301000}, {-1}, a.as<float>() + 300999}, flat.view());
}

TEST_CASE("copies of many dimensions", "[layout]") {
  Array a = random_array(DType::F32, Shape(13, 2), 3);
  View r = a.view();
  std::reverse(r.strides.begin(), r.strides.end());
  Array b(DType::F32, Shape(13, 2));
  check_copy(r, b.view());
}

TEST_CASE("fill and iota", "[layout]") {
  for (const DType t : number_types()) {
    Array a(t, {3, 5});
    fill(a.view(), 1.0, 1);
    each_index({3, 5}, [&](const Shape& i) { CHECK(at(a.view(), i) == 1); });
    if (t == DType::Bool) continue;
    iota(a.view(), 1);
    each_index({3, 5}, [&](const Shape& i) { CHECK(at(a.view(), i) == i[1]); });
    iota(a.view(), 0);
    each_index({3, 5}, [&](const Shape& i) { CHECK(at(a.view(), i) == i[0]); });
  }
  Array big(DType::I64, {2});
  fill(big.view(), 0, INT64_MIN + 1);
  CHECK(big.as<std::int64_t>()[1] == INT64_MIN + 1);
  Array wrapped(DType::U8, {300});
  iota(wrapped.view(), 0);
  CHECK(wrapped.as<std::uint8_t>()[299] == 299 % 256);
  iota(contiguous(DType::F32, {0}), 0);
}
