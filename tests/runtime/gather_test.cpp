// Rows taken and scattered, against plain loops; what happens out of range is JAX's (take: nan, integers the extreme
// value).
#include <catch2/catch.hpp>

#include <cmath>

#include "runtime/kernels/kernels.h"
#include "runtime/kernels/moves.h"
#include "tests/runtime/arrays.h"

using namespace shard::runtime;
using namespace shard::runtime::test;

namespace {
template <class T>
Array indices(DType t, Shape shape, std::vector<T> values) {
  Array a(t, std::move(shape));
  std::copy(values.begin(), values.end(), a.as<T>());
  return a;
}
}  // namespace

TEST_CASE("take", "[gather]") {
  std::vector<DType> types = number_types();
  types.push_back(DType::Key);
  for (const DType t : types)
    for (const DType it : {DType::I32, DType::I64}) {
      Array x = random_array(t, {2, 5, 3}, 1);
      const std::vector<int> at_{4, 0, 0, -1, 5, 2, 1, 3};
      Array index = it == DType::I32 ? indices<std::int32_t>(it, {2, 4}, {4, 0, 0, -1, 5, 2, 1, 3})
                                     : indices<std::int64_t>(it, {2, 4}, {4, 0, 0, -1, 5, 2, 1, 3});
      for (const Bounds bounds : {Bounds::Clamp, Bounds::Nan}) {
        Array out(t, {2, 4, 3});
        take(x.view(), index.view(), out.view(), bounds);
        each_index(out.shape, [&](const Shape& k) {
          const int i = at_[static_cast<std::size_t>(k[0] * 4 + k[1])];
          const double got = at(out.view(), k);
          if (i >= 0 && i < 5)
            CHECK(got == at(x.view(), {k[0], i, k[2]}));
          else if (bounds == Bounds::Clamp)
            CHECK(got == at(x.view(), {k[0], i < 0 ? 0 : 4, k[2]}));
          else if (is_float(t))
            CHECK(std::isnan(got));
          else if (t == DType::Bool)
            CHECK(got == 1);
          else if (is_signed(t))
            CHECK(got == -std::ldexp(1, static_cast<int>(size_of(t)) * 8 - 1));
          else
            CHECK(got == (size_of(t) == 8 ? 0x1p64 : std::ldexp(1, static_cast<int>(size_of(t)) * 8) - 1));
        });
      }
    }
}

TEST_CASE("take from strided and shared arrays", "[gather]") {
  Array x = random_array(DType::F32, {6, 4}, 2);
  Array index = indices<std::int32_t>(DType::I32, {3}, {2, 0, 3});
  Array out(DType::F32, {2, 3, 6});
  take({DType::F32, {2, 4, 6}, {0, 1, 4}, x.data()}, {DType::I32, {2, 3}, {0, 1}, index.data()}, out.view(),
       Bounds::Clamp);
  each_index(out.shape, [&](const Shape& k) {
    CHECK(at(out.view(), k) == x.as<float>()[k[2] * 4 + index.as<std::int32_t>()[k[1]]]);
  });
  Array big = random_array(DType::F32, {1, 1000, 64}, 3), many(DType::I32, {1, 5000}), rows(DType::F32, {1, 5000, 64});
  for (std::int64_t i = 0; i < 5000; ++i) many.as<std::int32_t>()[i] = static_cast<std::int32_t>(i * 7919 % 1000);
  take(big.view(), many.view(), rows.view(), Bounds::Clamp);
  for (std::int64_t i = 0; i < 5000; i += 97)
    CHECK(std::memcmp(rows.as<float>() + i * 64, big.as<float>() + i * 7919 % 1000 * 64, 256) == 0);
  Array each = indices<std::int32_t>(DType::I32, {1000, 1}, {}), ones(DType::F32, {1000, 1, 1});
  for (std::int64_t i = 0; i < 1000; ++i) each.as<std::int32_t>()[i] = static_cast<std::int32_t>(i % 66 - 1);
  take({DType::F32, {1000, 64, 1}, {64, 1, 1}, big.data()}, each.view(), ones.view(), Bounds::Nan);
  for (std::int64_t i = 0; i < 1000; ++i)  // one of each entry
    if (const std::int64_t k = i % 66 - 1; k < 0 || k > 63)
      CHECK(std::isnan(ones.as<float>()[i]));
    else
      CHECK(ones.as<float>()[i] == big.as<float>()[i * 64 + k]);
  Array columns(DType::F32, {1000, 5000, 1});  // one index for all
  for (std::int64_t i = 0; i < 5000; ++i) many.as<std::int32_t>()[i] = static_cast<std::int32_t>(i * 31 % 64);
  take({DType::F32, {1000, 64, 1}, {64, 1, 1}, big.data()}, View{DType::I32, {1000, 5000}, {0, 1}, many.data()},
       columns.view(), Bounds::Clamp);
  for (std::int64_t i = 0; i < columns.size(); i += 977)
    CHECK(columns.as<float>()[i] == big.as<float>()[i / 5000 * 64 + i % 5000 * 31 % 64]);
  Array none(DType::F32, {1, 0, 3}), two(DType::F32, {1, 3, 3});
  take(none.view(), View{DType::I32, {1, 3}, {3, 1}, index.data()}, two.view(),
       Bounds::Clamp);  // nothing to take: zeros, no crash
  CHECK(two.as<float>()[0] == 0);
}

TEST_CASE("scatter", "[gather]") {
  for (const DType t : number_types())
    for (const Scatter op : {Scatter::Set, Scatter::Add, Scatter::Mul, Scatter::Min, Scatter::Max}) {
      Array x(t, {2, 4, 3}), v(t, {2, 5, 3});
      for (std::int64_t i = 0; i < x.size(); ++i) set(x.view(), i, t == DType::Bool ? i % 2 : 1 + i % 3);
      for (std::int64_t i = 0; i < v.size(); ++i) set(v.view(), i, t == DType::Bool ? i % 3 == 0 : 1 + i % 2);
      const std::vector<int> at_{1, 1, 7, -1, 0, 3, 3, 3, 2, 4};
      Array index(DType::I32, {2, 5}), out(t, {2, 4, 3});
      std::copy(at_.begin(), at_.end(), index.as<std::int32_t>());
      scatter(op, x.view(), index.view(), v.view(), out.view());
      std::vector<double> want;
      for (std::int64_t i = 0; i < x.size(); ++i) want.push_back(get(x.view(), i));
      for (int b = 0; b < 2; ++b)
        for (int j = 0; j < 5; ++j) {
          const int i = at_[static_cast<std::size_t>(b * 5 + j)];
          if (i < 0 || i >= 4) continue;
          for (int c = 0; c < 3; ++c) {
            double& w = want[static_cast<std::size_t>((b * 4 + i) * 3 + c)];
            const double y = get(v.view(), (b * 5 + j) * 3 + c);
            const bool truth = t == DType::Bool;
            w = op == Scatter::Set   ? y
                : op == Scatter::Add ? (truth ? w + y > 0 : w + y)
                : op == Scatter::Mul ? w * y
                : op == Scatter::Min ? std::min(w, y)
                                     : std::max(w, y);
          }
        }
      for (std::int64_t i = 0; i < out.size(); ++i) CHECK(get(out.view(), i) == want[static_cast<std::size_t>(i)]);
    }
}

TEST_CASE("many integers are added to few places", "[gather]") {
  for (const DType t : {DType::I8, DType::U32, DType::I64})
    for (const std::int64_t n : {0, 7, 1000}) {
      constexpr std::int64_t kCount = 100'003;
      Array x(t, {1, n, 1}), v(t, {1, kCount, 1}), index(DType::I32, {1, kCount}), out(t, {1, n, 1});
      std::vector<std::int64_t> want(static_cast<std::size_t>(n), 1);
      fill(x.view(), 1, 1);
      for (std::int64_t i = 0; i < kCount; ++i) {
        const std::int64_t to = i * 7919 % 1100 - 50;  // some are out of range
        set(v.view(), i, static_cast<double>(i % 100));
        index.as<std::int32_t>()[i] = static_cast<std::int32_t>(to);
        if (to >= 0 && to < n) want[static_cast<std::size_t>(to)] += i % 100;
      }
      scatter(Scatter::Add, x.view(), index.view(), v.view(), out.view());
      for (std::int64_t i = 0; i < n; ++i) {
        const std::int64_t sum = want[static_cast<std::size_t>(i)];  // i8 wraps
        CHECK(get(out.view(), i) == static_cast<double>(t == DType::I8 ? static_cast<std::int8_t>(sum) : sum));
      }
    }
}

TEST_CASE("scatter in place, of wide rows and of keys", "[gather]") {
  Array x(DType::F32, {1, 10, 3000}), v(DType::F32, {1, 40, 3000}), index(DType::I64, {1, 40});
  fill(v.view(), 0.5, 0);
  for (std::int64_t i = 0; i < 40; ++i) index.as<std::int64_t>()[i] = i % 4;
  scatter(Scatter::Add, x.view(), index.view(), v.view(), x.view());
  CHECK(x.as<float>()[2999] == 5);
  CHECK(x.as<float>()[3 * 3000] == 5);
  CHECK(x.as<float>()[4 * 3000] == 0);
  Array k(DType::Key, {1, 2, 1}), w(DType::Key, {1, 1, 1}), one(DType::I32, {1, 1}), out(DType::Key, {1, 2, 1});
  w.as<std::uint64_t>()[0] = 0x123456789abcdef0;
  one.as<std::int32_t>()[0] = 1;
  scatter(Scatter::Set, k.view(), one.view(), w.view(), out.view());
  CHECK(out.as<std::uint64_t>()[1] == 0x123456789abcdef0);
  CHECK_THROWS_AS(scatter(Scatter::Add, k.view(), one.view(), w.view(), out.view()), RuntimeError);
}

TEST_CASE("few rows are copies that numbers place: what take and scatter give", "[gather]") {
  const Shape four{2, 1, 5, 3}, rows{2, 1, 3, 3};  // batch, before, n or m, inner
  for (const DType t : {DType::F32, DType::I8, DType::BF16, DType::F64, DType::Key})
    for (const DType it : {DType::I32, DType::I64})
      for (const std::vector<int>& at_ : {std::vector<int>{4, 0, 0, 2, 1, 1}, {-1, 5, 2, -5, 99, 0}}) {
        Array x = random_array(t, four, 1), v = random_array(t, rows, 2), index(it, {2, 3});
        for (std::size_t i = 0; i < 6; ++i)
          if (it == DType::I32)
            index.as<std::int32_t>()[i] = at_[i];
          else
            index.as<std::int64_t>()[i] = at_[i];
        const auto three = [](const View& w) {
          return contiguous(w.dtype, {w.shape[0], w.shape[2], w.shape[3]}, w.data);
        };
        void* const in[] = {x.data(), index.data(), v.data()};
        for (const Bounds outside : {Bounds::Clamp, Bounds::Folded, Bounds::Drop}) {
          Array want(t, rows), got = random_array(t, rows, 3);
          take(three(x.view()), index.view(), three(want.view()), outside);
          Moves moves;
          REQUIRE(moves.take(0, x.view(), 1, index.view(), got.view(), outside));
          void* out = got.data();
          moves(in, &out);
          CHECK(std::memcmp(got.data(), want.data(), static_cast<std::size_t>(want.size()) * size_of(t)) == 0);
        }
        for (const Scatter op : {Scatter::Set, Scatter::Add, Scatter::Mul, Scatter::Max}) {
          const bool sums = t == DType::F32 || t == DType::F64,
                     known = op == Scatter::Set || (sums && op != Scatter::Max);
          Array want(t, four), got = random_array(t, four, 3);
          Moves moves;
          moves.whole(0, x.view());
          CHECK(moves.put(2, v.view(), 1, index.view(), got.view(), op) == known);
          if (!known) continue;
          scatter(op, three(x.view()), index.view(), three(v.view()), three(want.view()));
          void* out = got.data();
          moves(in, &out);
          CHECK(std::memcmp(got.data(), want.data(), static_cast<std::size_t>(want.size()) * size_of(t)) == 0);
        }
      }
  Moves moves;
  Array x(DType::F32, four), many(DType::I32, {2, 9}), none(DType::F32, {2, 1, 0, 3}), out(DType::F32, {2, 1, 9, 3});
  CHECK_FALSE(moves.take(0, x.view(), 1, many.view(), out.view(), Bounds::Clamp));
  Moves nowhere;
  CHECK_FALSE(nowhere.take(0, none.view(), 1, many.view(), out.view(), Bounds::Clamp));
}

TEST_CASE("a large array whose row changes is copied to the result, or lies there already", "[gather]") {
  const std::int64_t n = 3 << 20;  // by several threads
  Array x(DType::F32, {1, 1, n, 1}), out(DType::F32, {1, 1, n, 1}), v(DType::F32, {1, 1, 1, 1}),
      at_(DType::I32, {1, 1});
  iota(contiguous(DType::F32, {n}, x.data()), 0);
  *v.as<float>() = -1;
  *at_.as<std::int32_t>() = 12345;
  Moves moves;
  moves.whole(0, x.view());
  REQUIRE(moves.put(2, v.view(), 1, at_.view(), out.view()));
  void* const in[] = {x.data(), at_.data(), v.data()};
  for (Array* to : {&out, &x}) {
    void* o = to->data();
    moves(in, &o);
    std::int64_t wrong = 0;
    for (std::int64_t i = 0; i < n; ++i) wrong += to->as<float>()[i] != static_cast<float>(i == 12345 ? -1 : i);
    CHECK(wrong == 0);
  }
}
