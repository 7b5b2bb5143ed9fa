// `ragged_all_to_all`, as jax.lax has it: slices of different lengths to every device. Made of other operations, which
// also give its gradient: each slice is sent in a block as long as the longest that could come, and what is too much is
// dropped where it arrives.
#include "stdlib/host/devices/along.h"
#include "stdlib/host/host.h"

#include <algorithm>

namespace shard::stdlib {
namespace {

Tensor run(Interpreter& in, std::string_view row, std::initializer_list<Tensor> operands, ir::Attrs attrs = {}) {
  return in.context().apply1(*in.context().table().find(row), operands, std::move(attrs));
}

Tensor exchanged(Interpreter& in, const Tensor& x, const Along& where, grammar::Span span) {
  const std::int64_t first = -x.type().rank();
  if (where.over_mapped()) return mapped_exchange(in, x, where.mapped[0], first, first, true, span);
  return over_axes(in, *in.context().table().core().all_to_all, x, where, {},
                   {{"split", first}, {"concat", first}, {"tiled", true}});
}

// Offsets or sizes: a vector of integers, `slices` of them where that is known.
Tensor vector_of(Interpreter& in, BoundArgs& a, std::size_t i, const char* what, std::int64_t& slices) {
  Tensor x = in.tensor(a[i], a.span);
  const Type t = x.type();
  if (t.rank() != 1 || !runtime::is_integer(t.dtype) || (slices >= 0 && t.shape[0] != slices))
    in.fail(
        "shape", a.span,
        "ragged_all_to_all: `" + std::string(what) + "` is a vector of integers, " +
            (slices >= 0 ? std::to_string(slices) + " as the offsets before it" : std::string("one for each slice")) +
            "; this is " + runtime::to_string(t));
  slices = t.shape[0];
  return run(in, "cast", {x}, {{"dtype", DType::I32}});
}

Value ragged_all_to_all(Interpreter& in, BoundArgs& a) {
  const Along where = along_axes(in, a[6], "ragged_all_to_all", a.args[6].span);
  if (where.over_mapped() && (where.mapped.size() > 1 || !where.axes.empty()))
    in.fail("spec", a.span, "ragged_all_to_all over " + where.text + ": a dimension that vmap maps over goes alone");
  Tensor x = in.tensor(a[0], a.span), output = in.tensor(a[1], a.span);
  const Type from = x.type(), to = output.type();
  if (from.shape.empty() || to.shape.empty() || from.dtype != to.dtype ||
      !std::equal(from.shape.begin() + 1, from.shape.end(), to.shape.begin() + 1, to.shape.end()))
    in.fail("shape", a.span,
            "ragged_all_to_all: `operand` and `output` differ in their first dimension alone; these are " +
                runtime::to_string(from) + " and " + runtime::to_string(to));
  std::int64_t slices = -1;
  const Tensor input_offsets = vector_of(in, a, 2, "input_offsets", slices);
  vector_of(in, a, 3, "send_sizes", slices);
  const Tensor output_offsets = vector_of(in, a, 4, "output_offsets", slices);
  const Tensor sizes = vector_of(in, a, 5, "recv_sizes", slices);
  if (slices % where.size != 0)
    in.fail("shape", a.span,
            "ragged_all_to_all over " + where.text + ": " + std::to_string(slices) +
                " slices are not as many for each of the " + std::to_string(where.size) + " devices");
  const std::int64_t block = std::min(from.shape[0], to.shape[0]);
  if (block == 0 || slices == 0) return varying_along(in, output, where);

  const Tensor step =
      run(in, "arange", {},
          {{"start", std::int64_t{0}}, {"stop", block}, {"step", std::int64_t{1}}, {"dtype", DType::I32}});
  const auto column = [&](const Tensor& v) { return run(in, "reshape", {v}, {{"shape", ir::Ints{slices, 1}}}); };
  const auto number = [&](std::int64_t n) { return in.context().scalar(n); };
  const Tensor rows = run(in, "minimum", {run(in, "add", {column(input_offsets), step}), number(from.shape[0] - 1)});
  const Tensor got = exchanged(in, run(in, "take", {x, rows}, {{"axis", std::int64_t{0}}}), where, a.span);
  const Tensor place = run(in, "add", {column(exchanged(in, output_offsets, where, a.span)), step});
  const Tensor there = run(in, "lt", {step, column(sizes)});  // elsewhere: behind the end, where nothing is written
  const Tensor target = run(in, "where", {there, place, number(to.shape[0])});
  return run(in, "scatter", {varying_along(in, output, where), target, got}, {{"op", std::string("set")}});
}

}  // namespace

void register_ragged_exchange(Interpreter& in) {
  in.define({"ragged_all_to_all",
             "ragged_all_to_all(operand, output, input_offsets, send_sizes, output_offsets, recv_sizes, along)",
             "Slices of `operand` to the devices along a mesh axis, as many to each: slice i begins at "
             "input_offsets[i], has send_sizes[i] rows and is written where it arrives at output_offsets[i] of "
             "`output`; recv_sizes[i] rows come for the i-th slice from there. A block as long as the longest slice "
             "that fits is sent for each.",
             ragged_all_to_all});
}

}  // namespace shard::stdlib
