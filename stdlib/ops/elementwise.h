// Makers of elementwise rows: one code of runtime/kernels/element_program.h, one partial derivative an operand.
#pragma once
#include <functional>

#include "stdlib/ops/expr.h"
#include "stdlib/ops/rows.h"

namespace shard::stdlib {

using Partial1 = std::function<Expr(Expr x, Expr y)>;                           // d y / d x
using Partial2 = std::function<std::pair<Expr, Expr>(Expr x, Expr y, Expr z)>;  // d z / d x, d z / d y

// `domain`: where samples lie, so that differences exist.
using Domain = ir::Range;
inline constexpr Domain kDomain{-2, 2};
OpDef unary_row(std::string_view name, std::string_view signature, std::string_view doc, runtime::Code code,
                Operands operands, Partial1 partial, Domain domain = kDomain);
OpDef unary_zero_row(std::string_view name, std::string_view signature, std::string_view doc, runtime::Code code,
                     Operands operands, Domain domain = kDomain);
OpDef binary_row(std::string_view name, std::string_view signature, std::string_view doc, runtime::Code code,
                 Operands operands, ir::Derivative derivative, Domain domain = kDomain);
ir::Derivative partials2(Partial2 of);
ir::KindFn always(DType dtype);  // results of this type, never weak
ir::Samples unary_samples(Domain domain = kDomain, std::string_view also = {});
ir::Samples binary_samples(Domain domain = kDomain, std::string_view also = {});
// A composite's row; `compose` sees operands as they came.
OpDef composite_row(std::string_view name, std::string_view signature, std::string_view doc, ir::Compose compose,
                    ir::Samples samples);

}  // namespace shard::stdlib
