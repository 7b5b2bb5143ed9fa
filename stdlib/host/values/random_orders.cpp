// permutation and choice take an array or a number of things: permutation(key, 8) is the order of 0..8. A number
// becomes arange(n) here, the operations of the same names do the rest.
#include "stdlib/host/host.h"

namespace shard::stdlib {
namespace {

using lang::BoundArgs;
using lang::Interpreter;
using lang::Value;

Value over_things(Interpreter& in, BoundArgs& a, const char* row) {
  const bool number = a[1].is<std::int64_t>() || (a[1].is_tensor() && a[1].tensor().type().rank() == 0 &&
                                                  runtime::is_integer(a[1].tensor().type().dtype));
  if (number) {
    const std::int64_t n = in.integer(a[1], a.args[1].span, "a number of things");
    if (n < 0) in.fail("shape", a.args[1].span, "a number of things is not negative, this is " + std::to_string(n));
    a[1] = call_row(in, "arange", std::vector<Value>{Value(n)}, a.args[1].span);
  }
  std::vector<lang::CallArg> args{{"", a[0], a.args[0].span}, {"", a[1], a.args[1].span}};
  for (lang::CallArg& x : a.rest) args.push_back(std::move(x));
  return call_row(in, row, std::move(args), a.span);
}

}  // namespace

void register_random_orders(Interpreter& in) {
  in.define({"permutation", "permutation(key, x, rest...)",
             "The rows of an array in random order; of a number n, the numbers 0 to n - 1 (axis:, independent:, out:).",
             [](Interpreter& i, BoundArgs& a) { return over_things(i, a, "permutation"); }});
  in.define({"choice", "choice(key, a, rest...)",
             "Rows of an array, or numbers below n, chosen at random (shape:, replace:, p:, axis:, out:).",
             [](Interpreter& i, BoundArgs& a) { return over_things(i, a, "choice"); }});
}

}  // namespace shard::stdlib
