// What arithmetic does with complex numbers, in real rows: the column `of_complex` of elementwise rows and products.
#pragma once
#include "stdlib/ops/rows.h"

namespace shard::stdlib::complex {

Vars mul(Builder& b, std::span<const Var> in, const Attrs&);
Vars div(Builder& b, std::span<const Var> in, const Attrs&);
Vars power(Builder& b, std::span<const Var> in, const Attrs&);
Vars squared(Builder& b, std::span<const Var> in, const Attrs&);
Vars exp(Builder& b, std::span<const Var> in, const Attrs&);
Vars log(Builder& b, std::span<const Var> in, const Attrs&);
Vars sqrt(Builder& b, std::span<const Var> in, const Attrs&);
Vars sin(Builder& b, std::span<const Var> in, const Attrs&);
Vars cos(Builder& b, std::span<const Var> in, const Attrs&);
Vars sinh(Builder& b, std::span<const Var> in, const Attrs&);
Vars cosh(Builder& b, std::span<const Var> in, const Attrs&);
Vars tanh(Builder& b, std::span<const Var> in, const Attrs&);
Vars tan(Builder& b, std::span<const Var> in, const Attrs&);  // complex_functions.cpp, to sigmoid
Vars asin(Builder& b, std::span<const Var> in, const Attrs&);
Vars acos(Builder& b, std::span<const Var> in, const Attrs&);
Vars atan(Builder& b, std::span<const Var> in, const Attrs&);
Vars asinh(Builder& b, std::span<const Var> in, const Attrs&);
Vars acosh(Builder& b, std::span<const Var> in, const Attrs&);
Vars atanh(Builder& b, std::span<const Var> in, const Attrs&);
Vars expm1(Builder& b, std::span<const Var> in, const Attrs&);
Vars log1p(Builder& b, std::span<const Var> in, const Attrs&);
Vars rsqrt(Builder& b, std::span<const Var> in, const Attrs&);
Vars sigmoid(Builder& b, std::span<const Var> in, const Attrs&);
Vars abs(Builder& b, std::span<const Var> in, const Attrs&);   // real
Vars sign(Builder& b, std::span<const Var> in, const Attrs&);  // of size 1, or 0
Vars eq(Builder& b, std::span<const Var> in, const Attrs&);
Vars ne(Builder& b, std::span<const Var> in, const Attrs&);
Vars isfinite(Builder& b, std::span<const Var> in, const Attrs&);
ir::Compose of_either(std::string_view test);  // whether a part is so
Vars convert(Builder& b, std::span<const Var> in, const Attrs& attrs);
Vars constant(Builder& b, std::span<const Var> in, const Attrs& attrs);
Vars filled(Builder& b, std::span<const Var> in, const Attrs& attrs);
ir::Compose bilinear(std::string_view row);  // the product of two operands; those behind them as they are

}  // namespace shard::stdlib::complex
