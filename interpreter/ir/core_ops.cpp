#include "interpreter/ir/core_ops.h"

#include "interpreter/ir/builder.h"

namespace shard::ir {

using runtime::DType;

CoreOps find_core_ops(const OpTable& t) {
  const auto row = [&](const char* name) { return &t.at(name); };
  return {row("add"),
          row("sub"),
          row("mul"),
          row("div"),
          row("neg"),
          row("select"),
          row("convert"),
          row("eq"),
          row("ge"),
          row("lt"),
          row("logical_and"),
          row("complex_pair"),
          row("real_part"),
          row("imag_part"),
          row("broadcast"),
          row("reshape"),
          row("permute"),
          row("reduce_sum"),
          row("concatenate"),
          row("slice"),
          row("rev"),
          row("pad_with"),
          row("iota"),
          row("take"),
          row("scatter_rows"),
          row("dynamic_slice_at"),
          row("dynamic_update_at"),
          row("contract"),
          row("constant"),
          row("shard"),
          row("while_loop"),
          row("scan"),
          row("branch"),
          row("psum"),
          row("pmax"),
          row("pmin"),
          row("pprod"),
          row("all_gather"),
          row("psum_scatter"),
          row("all_to_all"),
          row("ppermute"),
          row("axis_index"),
          row("pcast"),
          row("own_slice"),
          row("per_device")};
}

Var constant(Builder& b, double value, DType dtype, bool weak) {
  AttrValue v = value;
  if (dtype == DType::Bool)
    v = value != 0;
  else if (runtime::is_integer(dtype))
    v = static_cast<std::int64_t>(value);
  return b.emit1(*b.core().constant, {}, {{"value", v}, {"dtype", dtype}, {"weak", weak}});
}

Var constant_int(Builder& b, std::int64_t value, DType dtype, bool weak) {
  return b.emit1(*b.core().constant, {}, {{"value", value}, {"dtype", dtype}, {"weak", weak}});
}

Var add(Builder& b, Var x, Var y) { return b.emit1(*b.core().add, {x, y}); }
Var sub(Builder& b, Var x, Var y) { return b.emit1(*b.core().sub, {x, y}); }
Var mul(Builder& b, Var x, Var y) { return b.emit1(*b.core().mul, {x, y}); }
Var div(Builder& b, Var x, Var y) { return b.emit1(*b.core().div, {x, y}); }
Var neg(Builder& b, Var x) { return b.emit1(*b.core().neg, {x}); }
Var select(Builder& b, Var condition, Var x, Var y) { return b.emit1(*b.core().select, {condition, x, y}); }

Var convert(Builder& b, Var x, DType dtype, bool weak) {
  const Type& t = b.type(x);
  if (t.dtype == dtype && t.weak == weak) return x;
  return b.emit1(*b.core().convert, {x}, {{"dtype", dtype}, {"weak", weak}});
}

Var broadcast_to(Builder& b, Var x, runtime::Shape shape) {
  if (b.type(x).shape == shape) return x;
  return b.emit1(*b.core().broadcast_to, {x}, {{"shape", std::move(shape)}});
}

Var reshape(Builder& b, Var x, runtime::Shape shape) {
  if (b.type(x).shape == shape) return x;
  return b.emit1(*b.core().reshape, {x}, {{"shape", std::move(shape)}});
}

Var transpose(Builder& b, Var x, std::vector<std::int64_t> perm) {
  bool identity = true;
  std::int64_t rank = b.type(x).rank();
  for (std::size_t i = 0; i < perm.size(); ++i) {
    if (perm[i] < 0) perm[i] += rank;
    identity &= perm[i] == static_cast<std::int64_t>(i);
    perm[i] -= rank;
  }
  if (identity) return x;
  return b.emit1(*b.core().transpose, {x}, {{"perm", std::move(perm)}});
}

Var reduce_sum(Builder& b, Var x, std::vector<std::int64_t> axes) {
  if (axes.empty()) return x;
  std::int64_t rank = b.type(x).rank();
  for (auto& a : axes)
    if (a >= 0) a -= rank;
  return b.emit1(*b.core().reduce_sum, {x}, {{"axes", std::move(axes)}});
}

Var full_like(Builder& b, const Type& like, double value) {
  const Type type = like;  // it may be one of the builder's own, which move as it grows
  Var x = broadcast_to(b, constant(b, value, type.dtype, type.weak), type.shape);
  if (type.mesh && !type.sharding.used_axes().empty())
    x = b.emit1(*b.core().shard, {x}, {{"layout", Layout{type.mesh, type.sharding}}});
  return x;
}
Var zeros(Builder& b, const Type& type) { return full_like(b, type, 0); }
Var ones(Builder& b, const Type& type) { return full_like(b, type, 1); }

Var unbroadcast(Builder& b, Var x, const Type& want) {
  Type have = b.type(x);
  std::int64_t extra = have.rank() - want.rank();
  std::vector<std::int64_t> axes;
  for (std::int64_t d = 0; d < have.rank(); ++d) {
    bool grown = d < extra ||
                 (want.shape[static_cast<std::size_t>(d - extra)] == 1 && have.shape[static_cast<std::size_t>(d)] != 1);
    if (grown) axes.push_back(d);
  }
  x = reduce_sum(b, x, std::move(axes));
  x = reshape(b, x, want.shape);
  return convert(b, x, want.dtype, want.weak);
}

}  // namespace shard::ir
