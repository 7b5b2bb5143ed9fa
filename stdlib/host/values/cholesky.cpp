// Systems of equations by a factor that is made once, as jax.scipy.linalg has it: cho_factor, cho_solve. The factor
// goes with which triangle it is, so these are functions on values; rows do the work.
#include "stdlib/host/host.h"

namespace shard::stdlib {
namespace {

using lang::BoundArgs;
using lang::CallArg;
using lang::Interpreter;
using lang::Value;

Value adjoint(Interpreter& in, const Value& x, grammar::Span span) {
  const std::vector<CallArg> turned{
      {"", x, span}, {"axis1", Value(std::int64_t{-1}), span}, {"axis2", Value(std::int64_t{-2}), span}};
  return call_row(in, "conj", std::vector<Value>{call_row(in, "swapaxes", turned, span)}, span);
}

// Only the triangle that is asked for is read, as SciPy and JAX have it.
Value cho_factor(Interpreter& in, BoundArgs& a) {
  const bool lower = in.truth(a[1], a.args[1].span);
  const Value matrix = lower ? a[0] : adjoint(in, a[0], a.span);
  Value factor = call_row(
      in, "cholesky", std::vector<CallArg>{{"", matrix, a.span}, {"symmetrize_input", Value(false), a.span}}, a.span);
  if (!lower) factor = adjoint(in, factor, a.span);
  return Value::tuple({std::move(factor), Value(lower)});
}

// One system by a triangle: of the factor, or of its conjugate transpose.
Value solved(Interpreter& in, const Value& factor, const Value& right, bool lower, bool turned, grammar::Span span) {
  return call_row(in, "solve_triangular",
                  std::vector<CallArg>{{"", factor, span},
                                       {"", right, span},
                                       {"trans", Value(std::int64_t{turned ? 2 : 0}), span},
                                       {"lower", Value(lower), span}},
                  span);
}

Value cho_solve(Interpreter& in, BoundArgs& a) {
  Value factor = a[0];
  bool lower = true;
  if (const auto* pair = a[0].items()) {
    if (pair->size() != 2)
      in.fail("type", a.args[0].span,
              "cho_solve takes what cho_factor gives, (factor, lower), or what cholesky gives; this is " +
                  lang::kind_name(a[0]));
    lower = in.truth((*pair)[1], a.args[0].span);
    factor = Value((*pair)[0]);
  }
  const Value half = solved(in, factor, a[1], lower, !lower, a.span);
  return solved(in, factor, half, lower, lower, a.span);
}

}  // namespace

void register_cholesky(Interpreter& in) {
  in.define({"cho_factor", "cho_factor(a, lower = false)",
             "The Cholesky factor of a, the upper triangle or the lower one, and which it is: (factor, lower).",
             cho_factor});
  in.define({"cho_solve", "cho_solve(factor, b)",
             "The x of a x = b, of what cho_factor(a) gives, (factor, lower), or of the lower triangle cholesky(a).",
             cho_solve});
}

}  // namespace shard::stdlib
