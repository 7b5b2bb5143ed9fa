// Threefry: known answers of Random123, and jax.random's (partitionable) keys and bits.
#include <catch2/catch.hpp>

#include "runtime/kernels/vector/loop_table.h"
#include "tests/runtime/arrays.h"

using namespace shard::runtime;
using namespace shard::runtime::test;

namespace {

Array key_of(std::int64_t seed) {
  Array k(DType::Key, {1});
  key_from_seed(seed, k.as<std::uint32_t>());
  return k;
}
std::vector<std::uint32_t> words(Array& keys) {
  return {keys.as<std::uint32_t>(), keys.as<std::uint32_t>() + 2 * keys.size()};
}
template <class T>
std::vector<T> draw(std::int64_t seed, DType type, std::int64_t n) {
  Array k = key_of(seed), out(type, {1, n});
  const std::int64_t start[] = {0};
  random_bits(k.view(), {n}, start, {n}, out.view());
  return {out.as<T>(), out.as<T>() + n};
}

}  // namespace

TEST_CASE("the cipher's known answers", "[random]") {
  const auto check = [](std::uint32_t k0, std::uint32_t k1, std::uint64_t counter, std::uint32_t a, std::uint32_t b) {
    std::uint32_t x = 0, y = 0;
    vector_table().threefry(k0, k1, counter, 1, &x, &y);
    CHECK(x == a);
    CHECK(y == b);
  };
  check(0, 0, 0, 0x6b200159, 0x99ba4efe);
  check(0xffffffff, 0xffffffff, 0xffffffffffffffff, 0x1cb996fc, 0xbb002be7);
  check(0x13198a2e, 0x03707344, 0x243f6a8885a308d3, 0xc4923a9c, 0x483df7a0);
}

TEST_CASE("keys as jax.random makes them", "[random]") {
  Array k = key_of(-1);
  CHECK(words(k) == std::vector<std::uint32_t>{0, 4294967295});
  Array k42 = key_of(42), two(DType::Key, {1, 2});
  split_keys(k42.view(), 0, two.view());
  CHECK(words(two) == std::vector<std::uint32_t>{1832780943, 270669613, 64467757, 2916123636});
  Array k1701 = key_of(1701), four(DType::Key, {1, 4});
  split_keys(k1701.view(), 0, four.view());
  CHECK(words(four) == std::vector<std::uint32_t>{741045208, 1847055613, 85238482, 2594297577, 56197195, 961309823,
                                                  927208350, 676898860});
  Array tail(DType::Key, {1, 2});
  split_keys(k1701.view(), 2, tail.view());
  CHECK(words(tail) == std::vector<std::uint32_t>{56197195, 961309823, 927208350, 676898860});

  Array zero = key_of(0), data(DType::U32, {4}), out(DType::Key, {4});
  for (std::uint32_t i = 0; i < 4; ++i) data.as<std::uint32_t>()[i] = i;
  fold_in(View{DType::Key, {4}, {0}, zero.data()}, data.view(), out.view());
  CHECK(words(out) == std::vector<std::uint32_t>{1797259609, 2579123966, 928981903, 3453687069, 4146024105, 2718843009,
                                                 2467461003, 3840466878});
  Array twins(DType::Key, {2}), split(DType::Key, {2, 3000}), one(DType::Key, {1, 3000});
  twins.as<std::uint32_t>()[0] = 5, twins.as<std::uint32_t>()[1] = 6;
  twins.as<std::uint32_t>()[3] = 42;
  split_keys(twins.view(), 0, split.view());
  split_keys(k42.view(), 0, one.view());
  CHECK(std::equal(one.as<std::uint64_t>(), one.as<std::uint64_t>() + 3000, split.as<std::uint64_t>() + 3000));
}

TEST_CASE("bits as jax.random makes them", "[random]") {
  CHECK(draw<std::uint32_t>(0, DType::U32, 4) ==
        std::vector<std::uint32_t>{4070199207, 4202968722, 1427181096, 2012915765});
  CHECK(draw<std::uint8_t>(0, DType::U8, 4) == std::vector<std::uint8_t>{167, 146, 40, 53});
  CHECK(draw<std::uint16_t>(0, DType::U16, 4) == std::vector<std::uint16_t>{20391, 13970, 3624, 43061});
  CHECK(draw<std::uint64_t>(0, DType::U64, 2) ==
        std::vector<std::uint64_t>{7719171245655871230u, 3989946895414531357u});
  CHECK(draw<std::uint32_t>(1701, DType::U32, 3) == std::vector<std::uint32_t>{1111271205, 2679469115, 974515252});
}

TEST_CASE("a block holds what the whole array holds there", "[random]") {
  const Shape whole{6, 5, 8};
  Array k = key_of(9), all(DType::U32, {1, 240});
  const std::int64_t zero[] = {0, 0, 0};
  random_bits(k.view(), whole, zero, whole, all.view());
  for (const auto& [start, block] : std::vector<std::pair<Shape, Shape>>{{{0, 0, 0}, {6, 5, 4}},
                                                                         {{2, 1, 4}, {3, 2, 4}},
                                                                         {{5, 4, 7}, {1, 1, 1}},
                                                                         {{3, 0, 0}, {3, 5, 8}},
                                                                         {{1, 1, 0}, {2, 0, 8}},
                                                                         {{0, 2, 3}, {6, 1, 1}}}) {
    Array part(DType::U32, {1, numel(block)});
    random_bits(k.view(), whole, start, block, part.view());
    std::int64_t j = 0;
    const std::uint32_t* a = all.as<std::uint32_t>();
    const Shape& s = start;
    each_index(block, [&](const Shape& i) {
      const std::int64_t flat = ((s[0] + i[0]) * 5 + s[1] + i[1]) * 8 + s[2] + i[2];
      CHECK(part.as<std::uint32_t>()[j++] == a[flat]);
    });
  }
  // Counters beyond 32 bits: the low word wraps in the middle of the block.
  const std::int64_t n = std::int64_t{1} << 33;
  const std::int64_t start[] = {(std::int64_t{1} << 32) - 3};
  Array cross(DType::U32, {1, 6});
  random_bits(k.view(), {n}, start, {6}, cross.view());
  for (std::int64_t i = 0; i < 6; ++i) {
    std::uint32_t a = 0, b = 0;
    vector_table().threefry(0, 9, static_cast<std::uint64_t>(start[0] + i), 1, &a, &b);
    CHECK(cross.as<std::uint32_t>()[i] == (a ^ b));
  }
}

TEST_CASE("several keys at once, and long draws", "[random]") {
  const std::int64_t n = 100000;
  Array keys(DType::Key, {2}), both(DType::U32, {2, n});
  key_from_seed(3, keys.as<std::uint32_t>());
  key_from_seed(4, keys.as<std::uint32_t>() + 2);
  const std::int64_t start[] = {0};
  random_bits(keys.view(), {n}, start, {n}, both.view());
  const auto a = draw<std::uint32_t>(3, DType::U32, n), b = draw<std::uint32_t>(4, DType::U32, n);
  CHECK(std::equal(a.begin(), a.end(), both.as<std::uint32_t>()));
  CHECK(std::equal(b.begin(), b.end(), both.as<std::uint32_t>() + n));
  std::uint32_t x = 0, y = 0;
  vector_table().threefry(0, 4, 77777, 1, &x, &y);
  CHECK(b[77777] == (x ^ y));
}
