#include "interpreter/ir/core_ops.h"

#include <cmath>

#include "interpreter/ir/builder.h"

namespace shard::ir {

using runtime::DType;

CoreOps find_core_ops(const OpTable& t) {
  CoreOps c{};
  c.add = &t.at("add");
  c.sub = &t.at("sub");
  c.mul = &t.at("mul");
  c.div = &t.at("div");
  c.neg = &t.at("neg");
  c.select = &t.at("select");
  c.convert = &t.at("convert");
  c.eq = &t.at("eq");
  c.ge = &t.at("ge");
  c.lt = &t.at("lt");
  c.logical_and = &t.at("logical_and");
  c.complex_pair = &t.at("complex_pair");
  c.real_part = &t.at("real_part");
  c.imag_part = &t.at("imag_part");
  c.broadcast_to = &t.at("broadcast");
  c.reshape = &t.at("reshape_to");
  c.transpose = &t.at("permute");
  c.reduce_sum = &t.at("reduce_sum");
  c.concat = &t.at("concatenate");
  c.slice = &t.at("slice");
  c.rev = &t.at("rev");
  c.pad = &t.at("pad_with");
  c.iota = &t.at("iota");
  c.take = &t.at("take_rows");
  c.scatter = &t.at("scatter_rows");
  c.dynamic_slice = &t.at("dynamic_slice_at");
  c.dynamic_update = &t.at("dynamic_update_at");
  c.contract = &t.at("contract");
  c.constant = &t.at("constant");
  c.shard = &t.at("shard");
  c.while_loop = &t.at("while_loop");
  c.scan = &t.at("scan");
  c.branch = &t.at("branch");
  c.psum = &t.at("psum");
  c.pmax = &t.at("pmax");
  c.pprod = &t.at("pprod");
  c.pmin = &t.at("pmin");
  c.all_gather = &t.at("all_gather");
  c.psum_scatter = &t.at("psum_scatter");
  c.all_to_all = &t.at("all_to_all");
  c.ppermute = &t.at("ppermute");
  c.axis_index = &t.at("axis_index");
  c.pcast = &t.at("pcast");
  c.own_slice = &t.at("own_slice");
  c.per_device = &t.at("per_device");
  return c;
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

Var index_row(Builder& b, Var x, Var i, int axis) {
  std::int64_t from_end = axis < 0 ? axis : axis - b.type(x).rank();
  return b.emit1(*b.core().take, {x, i},
                 {{"axis", from_end}, {"batch", std::int64_t{0}}, {"bounds", std::string("clamp")}});
}

}  // namespace shard::ir
