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
    CHECK(is_float(t) + is_integer(t) + (t == DType::Bool) + (t == DType::Key) == 1);
  }
  CHECK_FALSE(dtype_named("int"));
  CHECK_FALSE(dtype_named(""));
  CHECK(size_of(DType::Key) == 8);
  CHECK(size_of(DType::BF16) == 2);
  CHECK(to_inexact(DType::I64) == DType::F32);
  CHECK(to_inexact(DType::Bool) == DType::F32);
  CHECK(to_inexact(DType::F16) == DType::F16);
}
