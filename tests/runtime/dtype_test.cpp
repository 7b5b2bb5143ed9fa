// Element types: names, sizes, promotion. The table is jax.eval_shape of jax.numpy.add (JAX 0.10) for each pair: with
// 64-bit types enabled where an operand has one, without elsewhere; JAX's default float is f32 here also beside 64-bit
// integers.
#include <catch2/catch.hpp>

#include <sstream>
#include <string>
#include <vector>

#include "runtime/array/dtype.h"

using namespace shard::runtime;

TEST_CASE("promotion is JAX's", "[dtype]") {
  const std::string table = R"(
bool bool i8 i16 i32 i64 u8 u16 u32 u64 f16 bf16 f32 f64 i32* f32*
i8 i8 i8 i16 i32 i64 i16 i32 i32 f32* f16 bf16 f32 f64 i8 f32*
i16 i16 i16 i16 i32 i64 i16 i32 i32 f32* f16 bf16 f32 f64 i16 f32*
i32 i32 i32 i32 i32 i64 i32 i32 i32 f32* f16 bf16 f32 f64 i32 f32*
i64 i64 i64 i64 i64 i64 i64 i64 i64 f32* f16 bf16 f32 f64 i64 f32*
u8 u8 i16 i16 i32 i64 u8 u16 u32 u64 f16 bf16 f32 f64 u8 f32*
u16 u16 i32 i32 i32 i64 u16 u16 u32 u64 f16 bf16 f32 f64 u16 f32*
u32 u32 i32 i32 i32 i64 u32 u32 u32 u64 f16 bf16 f32 f64 u32 f32*
u64 u64 f32* f32* f32* f32* u64 u64 u64 u64 f16 bf16 f32 f64 u64 f32*
f16 f16 f16 f16 f16 f16 f16 f16 f16 f16 f16 f32 f32 f64 f16 f16
bf16 bf16 bf16 bf16 bf16 bf16 bf16 bf16 bf16 bf16 f32 bf16 f32 f64 bf16 bf16
f32 f32 f32 f32 f32 f32 f32 f32 f32 f32 f32 f32 f32 f64 f32 f32
f64 f64 f64 f64 f64 f64 f64 f64 f64 f64 f64 f64 f64 f64 f64 f64
i32* i32* i8 i16 i32 i64 u8 u16 u32 u64 f16 bf16 f32 f64 i32* f32*
f32* f32* f32* f32* f32* f32* f32* f32* f32* f32* f16 bf16 f32 f64 f32* f32*
)";
  const auto parse = [](std::string s) {
    const bool weak = s.back() == '*';
    if (weak) s.pop_back();
    return Kind{*dtype_named(s), weak};
  };
  const std::vector<std::string> columns{"bool", "i8",  "i16",  "i32", "i64", "u8",   "u16", "u32",
                                         "u64",  "f16", "bf16", "f32", "f64", "i32*", "f32*"};
  std::istringstream in(table);
  std::string row, cell;
  for (int r = 0; r < 15; ++r) {
    in >> row;
    for (const std::string& column : columns) {
      in >> cell;
      INFO(row << " + " << column);
      const auto got = promote(parse(row), parse(column));
      REQUIRE(got);
      CHECK(*got == parse(cell));
    }
  }
}

TEST_CASE("keys meet only keys", "[dtype]") {
  const Kind key{DType::Key, false};
  CHECK(promote(key, key) == key);
  CHECK_FALSE(promote(key, {DType::U32, false}));
  CHECK_FALSE(promote({DType::Bool, false}, key));
}

TEST_CASE("names, sizes and families", "[dtype]") {
  for (int i = 0; i < kDTypes; ++i) {
    const DType t = static_cast<DType>(i);
    CHECK(dtype_named(name(t)) == t);
    CHECK(is_float(t) + is_integer(t) + (t == DType::Bool) + (t == DType::Key) + is_complex(t) == 1);
  }
  CHECK_FALSE(dtype_named("int"));
  CHECK_FALSE(dtype_named(""));
  CHECK(size_of(DType::Key) == 8);
  CHECK(size_of(DType::BF16) == 2);
  CHECK(to_inexact(DType::I64) == DType::F32);
  CHECK(to_inexact(DType::Bool) == DType::F32);
  CHECK(to_inexact(DType::F16) == DType::F16);
  CHECK(to_inexact(DType::C64) == DType::C64);
  CHECK(size_of(DType::C128) == 16);
  CHECK(bits_of(DType::I4) == 4);
}

// What jax.numpy gives (0.10), with 64 bits where an operand has them.
TEST_CASE("complex numbers, 8-bit floats and i4 meet others", "[dtype]") {
  const auto strong = [](DType t) { return Kind{t, false}; };
  const Kind c64 = strong(DType::C64), c128 = strong(DType::C128), f8 = strong(DType::F8E4M3), i4 = strong(DType::I4);
  for (const DType t : {DType::Bool, DType::I32, DType::U8, DType::F16, DType::BF16, DType::F32})
    CHECK(promote(c64, strong(t)) == c64);
  CHECK(promote(c64, strong(DType::F64)) == c128);
  CHECK(promote(strong(DType::F32), c128) == c128);
  CHECK(promote(c64, {DType::F32, true}) == c64);
  CHECK(promote({DType::C64, true}, strong(DType::I32)) == Kind{DType::C64, true});
  CHECK(promote({DType::C64, true}, strong(DType::F64)) == c128);
  for (const DType t : {DType::Bool, DType::I8, DType::I32}) CHECK(promote(strong(t), f8) == f8);
  CHECK(promote(f8, {DType::F32, true}) == f8);
  for (const DType t : {DType::F32, DType::BF16, DType::F8E5M2, DType::C64, DType::I4})
    CHECK_FALSE(promote(f8, strong(t)));
  CHECK(promote(i4, strong(DType::Bool)) == i4);
  CHECK(promote(i4, {DType::I32, true}) == i4);
  CHECK_FALSE(promote(i4, {DType::F32, true}));
  for (const DType t : {DType::I8, DType::U8, DType::I32, DType::F32}) CHECK_FALSE(promote(i4, strong(t)));
}
