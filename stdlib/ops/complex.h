// What arithmetic does with complex numbers, in real rows: the column `of_complex` of elementwise rows and products.
#pragma once
#include "stdlib/ops/rows.h"

namespace shard::stdlib::complex {

ir::OfComplex function(std::string_view name);  // of one number; none for other names

Vars mul(Builder& b, std::span<const Var> in, const Attrs&);
Vars div(Builder& b, std::span<const Var> in, const Attrs&);
Vars power(Builder& b, std::span<const Var> in, const Attrs&);
Vars abs(Builder& b, std::span<const Var> in, const Attrs&);  // real
Vars eq(Builder& b, std::span<const Var> in, const Attrs&);
Vars ne(Builder& b, std::span<const Var> in, const Attrs&);
Vars isfinite(Builder& b, std::span<const Var> in, const Attrs&);
ir::Compose of_either(std::string_view test);  // whether a part is so
Vars convert(Builder& b, std::span<const Var> in, const Attrs& attrs);
Vars constant(Builder& b, std::span<const Var> in, const Attrs& attrs);
Vars filled(Builder& b, std::span<const Var> in, const Attrs& attrs);
ir::Compose bilinear(std::string_view row);  // the product of two operands; those behind them as they are

}  // namespace shard::stdlib::complex
