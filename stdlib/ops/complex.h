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
Vars abs(Builder& b, std::span<const Var> in, const Attrs&);   // real
Vars sign(Builder& b, std::span<const Var> in, const Attrs&);  // of size 1, or 0
Vars eq(Builder& b, std::span<const Var> in, const Attrs&);
Vars ne(Builder& b, std::span<const Var> in, const Attrs&);
Vars isfinite(Builder& b, std::span<const Var> in, const Attrs&);
ir::Compose of_either(std::string_view test);  // whether a part is so
Vars convert(Builder& b, std::span<const Var> in, const Attrs& attrs);
Vars constant(Builder& b, std::span<const Var> in, const Attrs& attrs);
Vars contract(Builder& b, std::span<const Var> in, const Attrs& attrs);

}  // namespace shard::stdlib::complex
