// Shapes from hostile hands, views, halves and the buffer pool.
#include <catch2/catch.hpp>

#include <cmath>
#include <cstring>
#include <limits>
#include <thread>

#include "runtime/array/buffer.h"
#include "runtime/array/half.h"
#include "runtime/array/view.h"

using namespace shard::runtime;

TEST_CASE("shape arithmetic refuses what does not fit", "[shape]") {
  CHECK(numel({}) == 1);
  CHECK(numel({2, 3}) == 6);
  CHECK(numel({std::int64_t{1} << 40, 0, std::int64_t{1} << 40}) == 0);
  CHECK_THROWS_AS(numel({std::int64_t{1} << 40, std::int64_t{1} << 40}), RuntimeError);
  CHECK_THROWS_AS(numel({-1}), RuntimeError);
  CHECK_THROWS_AS(numel({0, -1}), RuntimeError);
  CHECK(checked_bytes({1024, 1024}, 4) == 4 << 20);
  CHECK_THROWS_WITH(checked_bytes({1 << 20, 1 << 20}, 4), Catch::Contains("(1048576, 1048576)"));
  CHECK_THROWS_AS(checked_bytes({INT64_MAX}, 8), RuntimeError);
  CHECK_THROWS_WITH(checked_bytes(Shape(17, 1), 4), Catch::Contains("at most 16 dimensions"));
  CHECK_NOTHROW(checked_bytes(Shape(16, 1), 4));
  try {
    checked_bytes({INT64_MAX / 8, 4}, 8);
    FAIL("not refused");
  } catch (const RuntimeError& e) { CHECK((e.code == "shape" || e.code == "memory")); }
}

TEST_CASE("broadcasting and strides", "[shape]") {
  CHECK(broadcast(Shape{3, 1}, Shape{4}) == Shape{3, 4});
  CHECK(broadcast(Shape{}, Shape{2}) == Shape{2});
  CHECK(broadcast(Shape{1, 0}, Shape{5, 1}) == Shape{5, 0});
  CHECK_FALSE(broadcast(Shape{3}, Shape{4}));
  CHECK_FALSE(broadcast(Shape{0}, Shape{4}));
  CHECK(row_major({2, 3, 4}) == Strides{12, 4, 1});
  CHECK(row_major({2, 0, 4}) == Strides{4, 4, 1});
  CHECK_NOTHROW(row_major({std::int64_t{1} << 40, std::int64_t{1} << 40, 2}));
  CHECK(to_string(Shape{2, 3}) == "(2, 3)");
  CHECK(to_string(Shape{512}) == "(512)");
  CHECK(to_string(Shape{}) == "()");
  CHECK(is_contiguous({DType::F32, {2, 1, 3}, {3, 77, 1}, nullptr}));
  CHECK(is_contiguous({DType::F32, {2, 0}, {9, 9}, nullptr}));
  CHECK_FALSE(is_contiguous({DType::F32, {2, 3}, {1, 2}, nullptr}));
}

TEST_CASE("halves round to nearest, ties to even", "[half]") {
  for (std::uint32_t h = 0; h < 0x10000; ++h) {  // every value survives the way through f32
    const auto x = static_cast<std::uint16_t>(h);
    if (!std::isnan(f16_to_f32(x))) CHECK(f32_to_f16(f16_to_f32(x)) == x);
    if (!std::isnan(bf16_to_f32(x))) CHECK(f32_to_bf16(bf16_to_f32(x)) == x);
  }
  // Between neighbours a < b: the middle goes to the even one, just above it to b, just below to a.
  for (std::uint32_t h = 0; h < 0x7bff; ++h) {
    const float a = f16_to_f32(static_cast<std::uint16_t>(h)), b = f16_to_f32(static_cast<std::uint16_t>(h + 1));
    const float middle = a + (b - a) / 2;
    CHECK(f32_to_f16(middle) == (h & 1 ? h + 1 : h));
    CHECK(f32_to_f16(std::nextafter(middle, b)) == h + 1);
    CHECK(f32_to_f16(-std::nextafter(middle, a)) == (h | 0x8000));
  }
  CHECK(f32_to_f16(65519.99f) == 0x7bff);
  CHECK(f32_to_f16(65520.0f) == 0x7c00);
  CHECK(f32_to_f16(1e-10f) == 0);
  CHECK(f32_to_bf16(std::numeric_limits<float>::max()) == 0x7f80);
  CHECK(std::isnan(f16_to_f32(f32_to_f16(NAN))));
  CHECK(std::isnan(bf16_to_f32(f32_to_bf16(NAN))));
  CHECK(f16_to_f32(f32_to_f16(-INFINITY)) == -INFINITY);
  // 1 + 2^-11 + 2^-40 lies above the middle between two f16, but rounding to f32 first would hit the middle.
  CHECK(f16_to_f32(f32_to_f16(f64_to_f32_odd(1 + 0x1p-11 + 0x1p-40))) == 1 + 0x1p-10f);
  CHECK(f64_to_f32_odd(0.5) == 0.5f);
  CHECK(f64_to_f32_odd(1e300) == INFINITY);
}

TEST_CASE("buffers are reused, aligned and counted", "[buffer]") {
  Pool pool;
  void* first = nullptr;
  {
    const BufferRef b = pool.allocate(1000);
    first = b->data();
    CHECK(reinterpret_cast<std::uintptr_t>(first) % 64 == 0);
    CHECK(b->bytes() == 1000);
    CHECK(pool.stats().live == 1000);
    std::memset(first, 1, 1000);
  }
  CHECK(pool.stats().live == 0);
  CHECK(pool.stats().peak == 1000);
  CHECK(pool.stats().cached >= 1000);
  CHECK(pool.allocate(990)->data() == first);
  pool.trim();
  CHECK(pool.stats().cached == 0);
  pool.reset_peak();
  CHECK(pool.stats().peak == 0);
  const BufferRef big = pool.allocate(std::size_t{5} << 20);
  CHECK(reinterpret_cast<std::uintptr_t>(big->data()) % (2 << 20) == 0);
  CHECK(pool.allocate(0)->data() != nullptr);
}

TEST_CASE("a pool keeps no more than was ever in use at once, and gives back what was freed first", "[buffer]") {
  constexpr std::size_t kMega = std::size_t{1} << 20;
  constexpr std::int64_t kParts = 64;  // of the most, one of them more
  Pool pool;
  const auto together = [&] { return pool.stats().live + pool.stats().cached; };
  std::vector<BufferRef> first;
  for (int i = 0; i < 50; ++i) first.push_back(pool.allocate(2 * kMega));
  first.clear();
  CHECK(pool.stats().cached == static_cast<std::int64_t>(100 * kMega));
  for (std::size_t round = 0; round < 3; ++round)
    for (std::size_t size = 40; size <= 90; size += 10) {
      const BufferRef b = pool.allocate(size * kMega);
      CHECK(together() <= static_cast<std::int64_t>(100 * kMega) * (kParts + 1) / kParts);
    }
  void* large = nullptr;
  {
    const BufferRef b = pool.allocate(96 * kMega);
    large = b->data();
  }
  const BufferRef soon_gone = pool.scratch(30 * kMega);  // whatever is kept and large enough
  CHECK(soon_gone->data() == large);
  CHECK(pool.allocate(30 * kMega)->data() != large);
}

TEST_CASE("memory that is not there is an error", "[buffer]") {
  Pool pool;
  CHECK_THROWS_AS(pool.allocate(std::size_t{1} << 50), RuntimeError);
  CHECK_THROWS_AS(pool.allocate(SIZE_MAX), RuntimeError);
  try {
    pool.allocate(std::size_t{1} << 60);
  } catch (const RuntimeError& e) {
    CHECK(e.code == "memory");
    CHECK(std::string(e.what()).find(std::to_string(std::size_t{1} << 60)) != std::string::npos);
  }
  CHECK(pool.stats().live == 0);
}

TEST_CASE("a pool is shared by threads, and arrays outlive it", "[buffer]") {
  BufferRef kept;
  {
    Pool pool;
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t)
      threads.emplace_back([&pool, t] {
        for (int i = 0; i < 2000; ++i) {
          const BufferRef b = pool.allocate(static_cast<std::size_t>(64 * (1 + (i * 7 + t) % 50)));
          std::memset(b->data(), t, b->bytes());
        }
      });
    for (std::thread& t : threads) t.join();
    CHECK(pool.stats().live == 0);
    CHECK(pool.stats().cached <= std::max<std::int64_t>(pool.stats().peak, 32 << 20));
    kept = pool.allocate(128);
  }
  std::memset(kept->data(), 1, 128);
}
