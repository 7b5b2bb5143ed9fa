// key and split: functions that serve arrays and keys alike, or take host values.
#include "runtime/kernels/kernels.h"
#include "stdlib/host/host.h"

namespace shard::stdlib {
namespace {

using lang::BoundArgs;
using lang::Interpreter;
using lang::Value;
using trace::Tensor;

// A host seed gives the words on the host (64 bits of it, as JAX takes them: the low word alone by default); a traced
// one, a row.
Value key(Interpreter& in, BoundArgs& a) {
  const Value& seed = a[0];
  if (seed.is_tensor()) {
    const Tensor& t = seed.tensor();
    if (t.known())
      return call_row(in, "make_key",
                      {Value(in.context().apply1(*in.context().table().core().convert, {t},
                                                 {{"dtype", runtime::DType::I32}, {"weak", false}}))},
                      a.span);
    if (t.type().rank() != 0) in.fail("type", a.span, "key takes one integer, this is " + runtime::to_string(t.type()));
    return call_row(in, "make_key", {seed}, a.span);
  }
  std::uint32_t words[2];
  runtime::key_from_seed(in.integer(seed, a.span, "a seed"), words);
  return new_array(in, runtime::DType::Key, {}, words);
}

Value split(Interpreter& in, BoundArgs& a) {
  if (a[0].is_string()) return split_text(in, a[0].str(), a[1], a.args[1].span.known() ? a.args[1].span : a.span);
  Tensor x = in.tensor(a[0], a.span);
  auto named = [&](const char* name, const Value& v) { return lang::CallArg{name, v, a.span}; };
  Value n = a[1].is_none() ? Value(std::int64_t{2}) : a[1];
  if (x.type().dtype == runtime::DType::Key && !a.given(2))
    return call_row(in, "split_key", std::vector<lang::CallArg>{{"", Value(x), a.span}, named("n", n)}, a.span);
  const bool places = n.items() || (n.is_tensor() && n.tensor().type().rank() > 0);
  Value parts = call_row(
      in, "split_parts",
      std::vector<lang::CallArg>{{"", Value(x), a.span}, named(places ? "at" : "n", n), named("axis", a[2])}, a.span);
  auto* items = parts.items();
  return items ? Value::list(*items) : Value::list({parts});
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
}

}  // namespace shard::stdlib
