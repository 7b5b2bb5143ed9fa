// key, split, permutation and choice: functions that serve arrays and keys alike, or take host values.
#include "runtime/kernels/kernels.h"
#include "stdlib/host/host.h"

namespace shard::stdlib {
namespace {

// A host seed gives the words on the host (64 bits of it, as JAX takes them: the low word alone by default); a traced
// one, a row.
Value key(Interpreter& in, BoundArgs& a) {
  const Value& seed = a[0];
  if (seed.is_tensor()) {
    const Tensor& t = seed.tensor();
    if (t.known()) return call_row(in, "make_key", {Value(converted(in, t, DType::I32))}, a.span);
    if (t.type().rank() != 0) in.fail("type", a.span, "key takes one integer, this is " + runtime::to_string(t.type()));
    return call_row(in, "make_key", {seed}, a.span);
  }
  std::uint32_t words[2];
  runtime::key_from_seed(in.integer(seed, a.span, "a seed"), words);
  return new_array(in, DType::Key, {}, words);
}

Value split(Interpreter& in, BoundArgs& a) {
  if (a[0].is_string()) return split_text(in, a[0].str(), a[1], a.args[1].span);
  Tensor x = in.tensor(a[0], a.span);
  auto named = [&](const char* name, const Value& v) { return CallArg{name, v, a.span}; };
  Value n = a[1].is_none() ? Value(std::int64_t{2}) : a[1];
  if (x.type().dtype == DType::Key && !a.given(2))
    return call_row(in, "split_key", {{"", Value(x), a.span}, named("n", n)}, a.span);
  const bool places = n.items() || (n.is_tensor() && n.tensor().type().rank() > 0);
  Value parts = call_row(
      in, "split_parts",
      std::vector<CallArg>{{"", Value(x), a.span}, named(places ? "at" : "n", n), named("axis", a[2])}, a.span);
  auto* items = parts.items();
  return items ? Value::list(*items) : Value::list({parts});
}

// permutation and choice take an array or a number of things: permutation(key, 8) is the order of 0..8. A number
// becomes arange(n) here, the operations of the same names do the rest.
Value over_things(Interpreter& in, BoundArgs& a, const char* row) {
  const bool number = a[1].is<std::int64_t>() || (a[1].is_tensor() && a[1].tensor().type().rank() == 0 &&
                                                  runtime::is_integer(a[1].tensor().type().dtype));
  if (number) {
    const std::int64_t n = in.integer(a[1], a.args[1].span, "a number of things");
    if (n < 0) in.fail("shape", a.args[1].span, "a number of things is not negative, this is " + std::to_string(n));
    a[1] = call_row(in, "arange", {Value(n)}, a.args[1].span);
  }
  return pass_on(in, row, a);
}

}  // namespace

void register_keys(Interpreter& in) {
  in.define({"key",
             "key(seed)",
             "A Threefry key from an integer seed; the same numbers as jax.random.key gives.",
             key,
             {"PRNGKey",
              {"random", "random numbers are drawn by functions that take a key: `normal(key(0), [3])`"},
              {"seed", "random numbers are drawn with a key: `normal(key(0), [3])`"},
              {"manual_seed", "random numbers are drawn with a key: `normal(key(0), [3])`"}}});
  in.define({"split",
             "split(x, n = none, axis = 0)",
             "New keys from a key: an array of n. Of any other array a list of n equal parts along a dimension (or, "
             "for a list n, cut at those places: `[4]` gives two parts); of a text a list of what stands between a "
             "text n, or between blanks.",
             split,
             {"split_keys"}});
  in.define({"permutation", "permutation(key, x, rest...)",
             "The rows of an array in random order; of a number n, the numbers 0 to n - 1 (axis:, independent:, out:).",
             [](Interpreter& i, BoundArgs& a) { return over_things(i, a, "permutation"); }});
  in.define({"choice", "choice(key, a, rest...)",
             "Rows of an array, or numbers below n, chosen at random (shape:, replace:, p:, axis:, out:).",
             [](Interpreter& i, BoundArgs& a) { return over_things(i, a, "choice"); }});
}

}  // namespace shard::stdlib
