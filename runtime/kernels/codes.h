// The vocabulary of elementwise programs: one line a code. How many operands it has, what it gives, what it costs and
// which element types it takes stand here and nowhere else; what it computes is its function (vector/functions.h).
// Nobody depends on the order of the lines.
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

enum class Reduce : std::uint8_t { Sum, Prod, Max, Min, And, Or };

enum class Gives : std::uint8_t {
  Same,   // an element of the operands' type (of three operands: of the last two's)
  Truth,  // a bool
  Named,  // of the type that the destination has
};

// Code, operands (of one type; of three the first is a bool), what it gives, its cost in additions (rough: it decides
// how a run is spread over threads, and nothing else), element types that it takes, the one operation of StableHLO that
// does the same (or of CHLO where every engine expands it the same way).
// Semantics: integers wrap; Div of integers truncates, FloorDiv and Mod round down (a zero divisor gives -1 and the
// dividend, as XLA's CPU does, and never traps); Max and Min spread nan; Round is half to even; Convert float ->
// integer truncates and clamps (nan -> 0) as XLA does; narrow floats are computed in f32 and rounded after every code,
// i4 in i8; Real and Imag give the part of a complex number, Complex makes one of two floats.
#define SHARD_CODES(CODE)                                              \
  CODE(Neg, 1, Same, 1, kNumbers, "stablehlo.negate")                  \
  CODE(Abs, 1, Same, 1, kPlain, "stablehlo.abs")                       \
  CODE(Sign, 1, Same, 1, kPlain, "stablehlo.sign")                     \
  CODE(Square, 1, Same, 1, kPlain, nullptr)                            \
  CODE(Sqrt, 1, Same, 1, kFloats, "stablehlo.sqrt")                    \
  CODE(Rsqrt, 1, Same, 12, kFloats, "stablehlo.rsqrt")                 \
  CODE(Cbrt, 1, Same, 12, kFloats, "stablehlo.cbrt")                   \
  CODE(Reciprocal, 1, Same, 1, kNumbers, nullptr)                      \
  CODE(Exp, 1, Same, 12, kFloats, "stablehlo.exponential")             \
  CODE(Expm1, 1, Same, 12, kFloats, "stablehlo.exponential_minus_one") \
  CODE(Log, 1, Same, 12, kFloats, "stablehlo.log")                     \
  CODE(Log1p, 1, Same, 12, kFloats, "stablehlo.log_plus_one")          \
  CODE(Sin, 1, Same, 12, kFloats, "stablehlo.sine")                    \
  CODE(Cos, 1, Same, 12, kFloats, "stablehlo.cosine")                  \
  CODE(Tan, 1, Same, 12, kFloats, "stablehlo.tan")                     \
  CODE(Asin, 1, Same, 12, kFloats, "chlo.asin")                        \
  CODE(Acos, 1, Same, 12, kFloats, "chlo.acos")                        \
  CODE(Atan, 1, Same, 12, kFloats, "chlo.atan")                        \
  CODE(Sinh, 1, Same, 12, kFloats, "chlo.sinh")                        \
  CODE(Cosh, 1, Same, 12, kFloats, "chlo.cosh")                        \
  CODE(Tanh, 1, Same, 12, kFloats, "stablehlo.tanh")                   \
  CODE(Asinh, 1, Same, 12, kFloats, "chlo.asinh")                      \
  CODE(Acosh, 1, Same, 12, kFloats, "chlo.acosh")                      \
  CODE(Atanh, 1, Same, 12, kFloats, "chlo.atanh")                      \
  CODE(Sigmoid, 1, Same, 12, kFloats, "stablehlo.logistic")            \
  CODE(Erf, 1, Same, 12, kFloats, "chlo.erf")                          \
  CODE(ErfInv, 1, Same, 12, kFloats, "chlo.erf_inv")                   \
  CODE(Erfc, 1, Same, 12, kFloats, "chlo.erfc")                        \
  CODE(Lgamma, 1, Same, 24, kFloats, "chlo.lgamma")                    \
  CODE(Digamma, 1, Same, 24, kFloats, "chlo.digamma")                  \
  CODE(Trigamma, 1, Same, 24, kFloats, nullptr)                        \
  CODE(Floor, 1, Same, 1, kNumbers, "stablehlo.floor")                 \
  CODE(Ceil, 1, Same, 1, kNumbers, "stablehlo.ceil")                   \
  CODE(Round, 1, Same, 1, kNumbers, "stablehlo.round_nearest_even")    \
  CODE(BitNot, 1, Same, 1, kBools | kIntegers, "stablehlo.not")        \
  CODE(Identity, 1, Same, 1, kAnyType, nullptr)                        \
  CODE(Not, 1, Truth, 1, kPlain, nullptr)                              \
  CODE(IsNan, 1, Truth, 1, kPlain, nullptr)                            \
  CODE(IsInf, 1, Truth, 1, kPlain, nullptr)                            \
  CODE(IsFinite, 1, Truth, 1, kPlain, nullptr)                         \
  CODE(Add, 2, Same, 1, kPlain, "stablehlo.add")                       \
  CODE(Sub, 2, Same, 1, kNumbers, "stablehlo.subtract")                \
  CODE(Mul, 2, Same, 1, kPlain, "stablehlo.multiply")                  \
  CODE(Div, 2, Same, 1, kNumbers, "stablehlo.divide")                  \
  CODE(FloorDiv, 2, Same, 24, kNumbers, nullptr)                       \
  CODE(Mod, 2, Same, 24, kNumbers, nullptr)                            \
  CODE(Pow, 2, Same, 24, kNumbers, "stablehlo.power")                  \
  CODE(Max, 2, Same, 1, kPlain, "stablehlo.maximum")                   \
  CODE(Min, 2, Same, 1, kPlain, "stablehlo.minimum")                   \
  CODE(Atan2, 2, Same, 24, kFloats, "stablehlo.atan2")                 \
  CODE(BitAnd, 2, Same, 1, kBools | kIntegers, "stablehlo.and")        \
  CODE(BitOr, 2, Same, 1, kBools | kIntegers, "stablehlo.or")          \
  CODE(BitXor, 2, Same, 1, kBools | kIntegers, "stablehlo.xor")        \
  CODE(Shl, 2, Same, 1, kIntegers, "stablehlo.shift_left")             \
  CODE(Shr, 2, Same, 1, kIntegers, nullptr)                            \
  CODE(Eq, 2, Truth, 1, kAnyType, "compare EQ")                        \
  CODE(Ne, 2, Truth, 1, kAnyType, "compare NE")                        \
  CODE(Lt, 2, Truth, 1, kPlain, "compare LT")                          \
  CODE(Le, 2, Truth, 1, kPlain, "compare LE")                          \
  CODE(Gt, 2, Truth, 1, kPlain, "compare GT")                          \
  CODE(Ge, 2, Truth, 1, kPlain, "compare GE")                          \
  CODE(Select, 3, Same, 1, kAnyType, nullptr)                          \
  CODE(Convert, 1, Named, 1, kPlain, nullptr)                          \
  CODE(Real, 1, Named, 1, kComplexes, nullptr)                         \
  CODE(Imag, 1, Named, 1, kComplexes, nullptr)                         \
  CODE(Complex, 2, Named, 1, kFloats, nullptr)

#define SHARD_CODE_NAME(code, operands, gives, cost, takes, hlo) code,
enum class Code : std::uint8_t { SHARD_CODES(SHARD_CODE_NAME) };
#undef SHARD_CODE_NAME

#define SHARD_CODE_ITSELF(code, operands, gives, cost, takes, hlo) Code::code,
inline constexpr std::array kCodes{SHARD_CODES(SHARD_CODE_ITSELF)};
#undef SHARD_CODE_ITSELF

struct CodeFacts {
  const char* name;
  int operands;
  Gives gives;
  int cost;
  TypeSet takes;
  const char* hlo;  // null: interpreter/hlo/code_text.cpp composes it
};
const CodeFacts& facts(Code code);
Code joins(Reduce how);  // what two results of parts become one with
bool takes(Code code, DType type);
bool holds(TypeSet types, DType type);
std::string to_string(TypeSet types);  // "numbers", "integers and bools"

}  // namespace shard::runtime
