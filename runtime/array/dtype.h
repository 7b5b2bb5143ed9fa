// Element types of arrays, and JAX's promotion lattice (jax.numpy type promotion, with weak types).
// A `key` is an element type too: two 32-bit Threefry words (k0, k1) an element, k0 first in memory. Complex numbers
// are their real and imaginary part; an i4 lies in a byte of its own.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace shard::runtime {

enum class DType : std::uint8_t {
  Bool,
  I8,
  I16,
  I32,
  I64,
  U8,
  U16,
  U32,
  U64,
  F16,
  BF16,
  F32,
  F64,
  Key,
  C64,
  C128,
  F8E4M3,
  F8E5M2,
  I4
};
inline constexpr int kDTypes = 19;

std::string_view name(DType t);  // "f32"
std::optional<DType> dtype_named(std::string_view name);
std::size_t size_of(DType t);  // bytes an element
int bits_of(DType t);          // of an integer: those that count
bool is_float(DType t);        // f8_e4m3fn f8_e5m2 f16 bf16 f32 f64
bool is_narrow(DType t);       // floats that are computed as f32
bool is_complex(DType t);
bool is_inexact(DType t);      // floats and complex numbers: what has derivatives
DType part_of(DType complex);  // of its real and imaginary part
DType complex_of(DType part);  // c128 of f64, else c64
bool is_integer(DType t);      // signed and unsigned, not bool
bool is_signed(DType t);       // signed integers
bool is_number(DType t);       // everything but key

// What a float type holds, beside 0 and what is no number.
struct FloatForm {
  int fraction;   // bits behind the point
  int low, high;  // exponents of the smallest and the largest number of full precision
  double largest;
};
std::optional<FloatForm> float_form(DType t);  // nullopt where it is no float

struct Kind {
  DType dtype;
  bool weak;
  bool operator==(const Kind&) const = default;
};

// The kind of an operation on both; nullopt where there is none: a key with something else, an 8-bit float or an i4
// with another type. Weak kinds exist for i32, f32 and c64 (bool is never weak).
std::optional<Kind> promote(Kind a, Kind b);
// What a float function of an integer gives: f32 for bool and integers (f64 never by itself), else the
// type.
DType to_inexact(DType t);

}  // namespace shard::runtime
