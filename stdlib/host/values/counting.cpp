// Functions whose result has as many elements as the data says, and what a type can hold: unique, bincount, repeat,
// finfo, iinfo. Inside of traced code the count must be said; outside it is found by looking.
#include <algorithm>
#include <cmath>
#include <limits>

#include "stdlib/host/host.h"

namespace shard::stdlib {
namespace {

// A call of `row` with the arguments of this call, and `name` (how many there are) as `count` says where it is not
// given.
template <class Count>
Value counted(Interpreter& in, BoundArgs& a, const char* op, const char* row, const char* name, Count count) {
  const bool given =
      std::any_of(a.rest.begin(), a.rest.end(), [&](const CallArg& x) { return x.name == name && !x.value.is_none(); });
  if (!given) {
    const Tensor x = in.tensor(a[0], a.args[0].span);
    if (x.traced())
      in.fail(
          "traced", a.span,
          std::string(op) + " in traced code needs `" + name + ":`, since the result's size cannot wait for the data",
          {"say it: `" + std::string(op) + "(x, " + name + ": 10)`"});
    a.rest.push_back({name, Value(count(x)), a.span});
  }
  return pass_on(in, row, a);
}

Value unique(Interpreter& in, BoundArgs& a) {
  return counted(in, a, "unique", "unique_values", "size", [&](const Tensor& x) -> std::int64_t {
    const std::int64_t n = runtime::numel(x.type().shape);
    if (n == 0) return 0;
    const Value line = call_row(in, "reshape", {Value(x), list_of({n})}, a.span);
    std::vector<CallArg> args{{"", line, a.span}, {"size", Value(n), a.span}, {"return_counts", Value(true), a.span}};
    const Value found = call_row(in, "unique_values", std::move(args), a.span);
    const Value real = call_row(in, "gt", {(*found.items())[1], Value(std::int64_t{0})}, a.span);
    const Value count = call_row(in, "sum", {real}, a.span);
    return in.integer(count, a.span, "a count");
  });
}

Value bincount(Interpreter& in, BoundArgs& a) {
  std::int64_t least = 0;
  if (const auto x = take_named(a, "minlength")) least = in.integer(x->value, x->span, "minlength");
  return counted(in, a, "bincount", "count_bins", "length", [&](const Tensor& x) -> std::int64_t {
    if (runtime::numel(x.type().shape) == 0) return least;
    const Value largest = call_row(in, "max", {Value(x)}, a.span);
    return std::max(least, in.integer(largest, a.span, "a count") + 1);
  });
}

// How many elements these counts give; they are known.
std::int64_t total_of(Interpreter& in, const Value& counts, grammar::Span span) {
  if (const auto* items = counts.items()) {
    std::int64_t total = 0;
    for (const Value& n : *items) total += in.integer(n, span, "a count");
    return total;
  }
  const ArrayRef all = on_host(in, counts.tensor(), "the counts of `repeat`");
  if (!runtime::is_integer(all->type.dtype))
    in.fail("type", span, "repeat: counts are integers, got " + runtime::to_string(counts.tensor().type()));
  std::int64_t total = 0;
  for (std::int64_t i = 0; i < runtime::numel(all->type.shape); ++i) total += runtime::element_int(*all, i);
  return total;
}

// The elements that one count for all is for.
std::int64_t repeated(Interpreter& in, BoundArgs& a) {
  const Shape shape = in.tensor(a[0], a.args[0].span).type().shape;
  if (a[2].is_none()) return runtime::numel(shape);
  const std::int64_t axis = in.integer(a[2], a.args[2].span, "`axis` of `repeat`"),
                     rank = static_cast<std::int64_t>(shape.size());
  return axis < -rank || axis >= rank ? 1 : shape[static_cast<std::size_t>(axis < 0 ? axis + rank : axis)];
}

// The row `repeat` where one host number says how often; else each element has its count.
Value repeat(Interpreter& in, BoundArgs& a) {
  const Value& n = a[1];
  const bool one = !n.items() && !(n.is_tensor() && (n.tensor().type().rank() > 0 || !a[3].is_none()));
  std::vector<CallArg> args{{"", a[0], a.args[0].span}, {"", n, a.args[1].span}};
  for (const auto& [name, at] : {std::pair{"axis", 2}, std::pair{"out", 4}})
    if (!a[at].is_none()) args.push_back({name, a[at], a.args[static_cast<std::size_t>(at)].span});
  if (one && a[3].is_none()) return call_row(in, "repeat", std::move(args), a.span);
  Value total = a[3];
  if (total.is_none() && n.is_tensor() && n.tensor().traced())
    in.fail("traced", a.args[1].span,
            "repeat by counts in traced code needs `total_repeat_length:`, since the result's size cannot wait for the "
            "data",
            {"say it: `repeat(x, counts, total_repeat_length: 10)`"});
  if (total.is_none()) {
    const bool same = n.is_tensor() ? n.tensor().type().shape == Shape{1} : n.items() && n.items()->size() == 1;
    total = Value(total_of(in, n, a.span) * (same ? repeated(in, a) : 1));
  }
  args.push_back({"total", total, a.args[3].span});
  return call_row(in, "repeat_each", std::move(args), a.span);
}

DType type_in(Interpreter& in, BoundArgs& a, std::string_view op) {
  if (auto* d = a[0].get<DType>()) return *d;
  if (a[0].is_tensor()) return a[0].tensor().type().dtype;
  in.fail("type", a.args[0].span,
          std::string(op) + " takes an element type such as f32, or an array; this is " + lang::kind_name(a[0]));
}

Value finfo(Interpreter& in, BoundArgs& a) {
  DType d = type_in(in, a, "finfo");
  if (runtime::is_complex(d)) d = runtime::part_of(d);  // as NumPy
  const auto form = runtime::float_form(d);
  if (!form)
    in.fail("type", a.args[0].span, "finfo describes float types, this is " + std::string(runtime::name(d)),
            {"of an integer type: `iinfo(" + std::string(runtime::name(d)) + ")`"});
  const double eps = std::ldexp(1.0, -form->fraction), tiny = std::ldexp(1.0, form->low);
  const std::int64_t bits = runtime::bits_of(d);
  return Value::record({{"dtype", Value(d)},
                        {"bits", Value(bits)},
                        {"eps", Value(eps)},
                        {"max", Value(form->largest)},
                        {"min", Value(-form->largest)},
                        {"tiny", Value(tiny)},
                        {"smallest_normal", Value(tiny)},
                        {"smallest_subnormal", Value(eps * tiny)},
                        {"nmant", Value(std::int64_t{form->fraction})},
                        {"nexp", Value(bits - 1 - form->fraction)}});
}

Value iinfo(Interpreter& in, BoundArgs& a) {
  const DType d = type_in(in, a, "iinfo");
  if (!runtime::is_integer(d))
    in.fail("type", a.args[0].span, "iinfo describes integer types, this is " + std::string(runtime::name(d)),
            {"of a float type: `finfo(" + std::string(runtime::name(d)) + ")`"});
  const int bits = runtime::bits_of(d);
  const bool is_signed = runtime::is_signed(d);
  // The largest u64 is no 64-bit integer of the host: a float stands for it.
  Value largest = !is_signed && bits == 64
                      ? Value(std::ldexp(1.0, 64))
                      : Value(static_cast<std::int64_t>((std::uint64_t{1} << (is_signed ? bits - 1 : bits)) - 1));
  const std::int64_t smallest = !is_signed   ? 0
                                : bits == 64 ? std::numeric_limits<std::int64_t>::min()
                                             : -(std::int64_t{1} << (bits - 1));
  return Value::record(
      {{"dtype", Value(d)}, {"bits", Value(std::int64_t{bits})}, {"min", Value(smallest)}, {"max", largest}});
}

}  // namespace

void register_counting(Interpreter& in) {
  in.define({"unique", "unique(x, rest...)",
             "The distinct elements in order (size:, fill_value:, return_index:, return_inverse:, return_counts:).",
             unique});
  in.define({"bincount", "bincount(x, rest...)",
             "How often each number from 0 on occurs (length:, minlength:), or what its weights add up to (weights:).",
             bincount});
  in.define({"repeat", "repeat(x, n, axis = none, total_repeat_length = none, out = none)",
             "Each element n times in a row, or (where n is a list or an array) as many times as its count says; "
             "total_repeat_length cuts the result or fills it up with the last element.",
             repeat});
  in.define({"finfo", "finfo(dtype)", "What a float type can hold: {dtype, bits, eps, max, min, tiny, ...}.", finfo});
  in.define({"iinfo", "iinfo(dtype)", "What an integer type can hold: {dtype, bits, min, max}.", iinfo});
}

}  // namespace shard::stdlib
