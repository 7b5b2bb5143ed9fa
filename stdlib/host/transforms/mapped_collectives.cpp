// Collectives over a dimension that vmap maps over, in terms of the rows of ops/mapped_axis.cpp.
#include "stdlib/host/devices/along.h"
#include "stdlib/host/transforms/transforms.h"

namespace shard::stdlib {
namespace {

Tensor apply(Interpreter& in, std::string_view row, const Tensor& x, const MappedAxis& axis, ir::Attrs attrs = {}) {
  return in.context().apply1(in.context().table().at(row), {x, axis.place}, std::move(attrs));
}

Tensor reshaped(Interpreter& in, const Tensor& x, Shape shape) {
  return in.context().apply1(*in.context().table().core().reshape, {x}, {{"shape", std::move(shape)}});
}

// The size of dimension `at` is the axis', or (tiled) a multiple of it.
void check_parts(Interpreter& in, const char* who, const Tensor& x, const MappedAxis& axis, std::int64_t at, bool tiled,
                 grammar::Span span) {
  const std::int64_t n = x.type().shape[static_cast<std::size_t>(at)];
  if (tiled ? n % axis.size == 0 : n == axis.size) return;
  const std::string size = std::to_string(axis.size);
  in.fail("shape", span,
          std::string(who) + " of " + runtime::to_string(x.type()) + " over @" + axis.name + ": dimension " +
              std::to_string(at) + " has size " + std::to_string(n) + ", which " +
              (tiled ? "does not divide by " + size : "must be " + size + " (or say `tiled: true`)"));
}

// Dimension `at` as two: the axis' size, then what is left.
Tensor in_parts(Interpreter& in, const Tensor& x, const MappedAxis& axis, std::int64_t at) {
  Shape shape = x.type().shape;
  auto d = shape.begin() + at;
  *d /= axis.size;
  shape.insert(d, axis.size);
  return reshaped(in, x, std::move(shape));
}

// Dimensions `at` and `at + 1` as one.
Tensor merged(Interpreter& in, const Tensor& x, std::int64_t at) {
  Shape shape = x.type().shape;
  shape[static_cast<std::size_t>(at)] *= shape[static_cast<std::size_t>(at) + 1];
  shape.erase(shape.begin() + at + 1);
  return reshaped(in, x, std::move(shape));
}

}  // namespace

std::vector<MappedAxis> mapped_axes(Interpreter& in) {
  std::vector<MappedAxis> out;
  for (trace::FrameRef f = in.context().frame(); f; f = f->outer())
    if (f->mapped) out.push_back({f->mapped->name, f->mapped->size, Tensor(f, f->mapped->place)});
  return out;
}

Tensor mapped_sum(Interpreter& in, const Tensor& x, const MappedAxis& axis) { return apply(in, "mapped_sum", x, axis); }

Tensor mapped_extreme(Interpreter& in, const Tensor& x, const MappedAxis& axis, bool largest) {
  const std::int64_t front = -static_cast<std::int64_t>(x.type().rank()) - 1;
  Tensor all = apply(in, "mapped_gather", x, axis, {{"axis", front}, {"size", axis.size}});
  return in.context().apply1(in.context().table().at(largest ? "max" : "min"), {all}, {{"axis", ir::Ints{front}}});
}

Tensor mapped_gather(Interpreter& in, const Tensor& x, const MappedAxis& axis, std::int64_t dim, bool tiled) {
  const std::int64_t at = x.type().rank() + (tiled ? 0 : 1) + dim;
  Tensor all = apply(in, "mapped_gather", x, axis, {{"axis", at - x.type().rank() - 1}, {"size", axis.size}});
  return tiled ? merged(in, all, at) : all;
}

Tensor mapped_scatter(Interpreter& in, const Tensor& x, const MappedAxis& axis, std::int64_t dim, bool tiled,
                      grammar::Span span) {
  const std::int64_t at = x.type().rank() + dim;
  check_parts(in, "psum_scatter", x, axis, at, tiled, span);
  Tensor parts = tiled ? in_parts(in, x, axis, at) : x;
  return apply(in, "mapped_part", parts, axis, {{"axis", at - parts.type().rank()}});
}

Tensor mapped_exchange(Interpreter& in, const Tensor& x, const MappedAxis& axis, std::int64_t split,
                       std::int64_t concat, bool tiled, grammar::Span span) {
  const std::int64_t from = x.type().rank() + split, to = x.type().rank() + concat;
  check_parts(in, "all_to_all", x, axis, from, tiled, span);
  Tensor parts = tiled ? in_parts(in, x, axis, from) : x;
  Tensor swapped = apply(in, "mapped_exchange", parts, axis, {{"axis", from - parts.type().rank()}});
  Tensor placed = moved_axis(in, swapped, from, to);  // in front of the dimension that it joins
  return tiled ? merged(in, placed, to) : placed;
}

Tensor mapped_permute(Interpreter& in, const Tensor& x, const MappedAxis& axis, const ir::Pairs& pairs) {
  return apply(in, "mapped_permute", x, axis, {{"pairs", pairs}});
}

}  // namespace shard::stdlib
