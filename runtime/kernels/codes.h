// The vocabulary of elementwise programs: one line a code. How many operands it has, what it gives, what it costs and
// which element types it takes stand here and nowhere else; what it computes is its loop (vector/loops_*.cpp). Nobody
// depends on the order of the lines.
#pragma once
#include <array>
#include <cstdint>
#include <string>

#include "runtime/array/dtype.h"

namespace shard::runtime {

// Sets of element types.
using TypeSet = std::uint8_t;
inline constexpr TypeSet kBools = 1, kIntegers = 2, kFloats = 4, kKeys = 8, kComplexes = 16;
inline constexpr TypeSet kNumbers = kIntegers | kFloats, kPlain = kBools | kNumbers, kAnyType = kPlain | kKeys;

enum class Gives : std::uint8_t {
  Same,   // an element of the operands' type (of three operands: of the last two's)
  Truth,  // a bool
  Named,  // of the type that the destination has
};

// Code, operands (of one type; of three the first is a bool), what it gives, its cost in additions (rough: it decides
// how a run is spread over threads, and nothing else), element types that it takes.
// Semantics: integers wrap; Div of integers truncates, FloorDiv and Mod round down (a zero divisor gives -1 and the
// dividend, as XLA's CPU does, and never traps); Max and Min spread nan; Round is half to even; Convert float ->
// integer truncates and clamps (nan -> 0) as XLA does; narrow floats are computed in f32 and rounded after every code,
// i4 in i8; Real and Imag give the part of a complex number, Complex makes one of two floats.
#define SHARD_CODES(CODE)                      \
  CODE(Neg, 1, Same, 1, kNumbers)              \
  CODE(Abs, 1, Same, 1, kPlain)                \
  CODE(Sign, 1, Same, 1, kPlain)               \
  CODE(Square, 1, Same, 1, kPlain)             \
  CODE(Sqrt, 1, Same, 1, kFloats)              \
  CODE(Rsqrt, 1, Same, 12, kFloats)            \
  CODE(Cbrt, 1, Same, 12, kFloats)             \
  CODE(Reciprocal, 1, Same, 1, kNumbers)       \
  CODE(Exp, 1, Same, 12, kFloats)              \
  CODE(Expm1, 1, Same, 12, kFloats)            \
  CODE(Log, 1, Same, 12, kFloats)              \
  CODE(Log1p, 1, Same, 12, kFloats)            \
  CODE(Sin, 1, Same, 12, kFloats)              \
  CODE(Cos, 1, Same, 12, kFloats)              \
  CODE(Tan, 1, Same, 12, kFloats)              \
  CODE(Asin, 1, Same, 12, kFloats)             \
  CODE(Acos, 1, Same, 12, kFloats)             \
  CODE(Atan, 1, Same, 12, kFloats)             \
  CODE(Sinh, 1, Same, 12, kFloats)             \
  CODE(Cosh, 1, Same, 12, kFloats)             \
  CODE(Tanh, 1, Same, 12, kFloats)             \
  CODE(Asinh, 1, Same, 12, kFloats)            \
  CODE(Acosh, 1, Same, 12, kFloats)            \
  CODE(Atanh, 1, Same, 12, kFloats)            \
  CODE(Sigmoid, 1, Same, 12, kFloats)          \
  CODE(Erf, 1, Same, 12, kFloats)              \
  CODE(ErfInv, 1, Same, 12, kFloats)           \
  CODE(Erfc, 1, Same, 12, kFloats)             \
  CODE(Lgamma, 1, Same, 24, kFloats)           \
  CODE(Digamma, 1, Same, 24, kFloats)          \
  CODE(Trigamma, 1, Same, 24, kFloats)         \
  CODE(Floor, 1, Same, 1, kNumbers)            \
  CODE(Ceil, 1, Same, 1, kNumbers)             \
  CODE(Round, 1, Same, 1, kNumbers)            \
  CODE(BitNot, 1, Same, 1, kBools | kIntegers) \
  CODE(Identity, 1, Same, 1, kAnyType)         \
  CODE(Not, 1, Truth, 1, kPlain)               \
  CODE(IsNan, 1, Truth, 1, kPlain)             \
  CODE(IsInf, 1, Truth, 1, kPlain)             \
  CODE(IsFinite, 1, Truth, 1, kPlain)          \
  CODE(Add, 2, Same, 1, kPlain)                \
  CODE(Sub, 2, Same, 1, kNumbers)              \
  CODE(Mul, 2, Same, 1, kPlain)                \
  CODE(Div, 2, Same, 1, kNumbers)              \
  CODE(FloorDiv, 2, Same, 24, kNumbers)        \
  CODE(Mod, 2, Same, 24, kNumbers)             \
  CODE(Pow, 2, Same, 24, kNumbers)             \
  CODE(Max, 2, Same, 1, kPlain)                \
  CODE(Min, 2, Same, 1, kPlain)                \
  CODE(Atan2, 2, Same, 24, kFloats)            \
  CODE(BitAnd, 2, Same, 1, kBools | kIntegers) \
  CODE(BitOr, 2, Same, 1, kBools | kIntegers)  \
  CODE(BitXor, 2, Same, 1, kBools | kIntegers) \
  CODE(Shl, 2, Same, 1, kIntegers)             \
  CODE(Shr, 2, Same, 1, kIntegers)             \
  CODE(Eq, 2, Truth, 1, kAnyType)              \
  CODE(Ne, 2, Truth, 1, kAnyType)              \
  CODE(Lt, 2, Truth, 1, kPlain)                \
  CODE(Le, 2, Truth, 1, kPlain)                \
  CODE(Gt, 2, Truth, 1, kPlain)                \
  CODE(Ge, 2, Truth, 1, kPlain)                \
  CODE(Select, 3, Same, 1, kAnyType)           \
  CODE(Convert, 1, Named, 1, kPlain)           \
  CODE(Real, 1, Named, 1, kComplexes)          \
  CODE(Imag, 1, Named, 1, kComplexes)          \
  CODE(Complex, 2, Named, 1, kFloats)

#define SHARD_CODE_NAME(code, operands, gives, cost, takes) code,
enum class Code : std::uint8_t { SHARD_CODES(SHARD_CODE_NAME) };
#undef SHARD_CODE_NAME

#define SHARD_CODE_ITSELF(code, operands, gives, cost, takes) Code::code,
inline constexpr std::array kCodes{SHARD_CODES(SHARD_CODE_ITSELF)};
#undef SHARD_CODE_ITSELF

struct CodeFacts {
  const char* name;
  int operands;
  Gives gives;
  int cost;
  TypeSet takes;
};
const CodeFacts& facts(Code code);
bool takes(Code code, DType type);
bool holds(TypeSet types, DType type);
std::string to_string(TypeSet types);  // "numbers", "integers and bools"

}  // namespace shard::runtime
