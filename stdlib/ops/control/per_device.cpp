// Per-device code in a global graph (manual mode): one region, written for the blocks of one device.
//   per_device   regions [local body]; attrs axes: those that it takes (positions in the mesh), in0, in1, ... and out0,
//   ...: the layouts
//                over these axes by which operands are cut and results put together; check: whether results are looked
//                at
// The partitioner inlines the region (transform/partition_regions.cpp). Semantics and transposes as jax.shard_map's.
#include "interpreter/ir/collective.h"
#include "interpreter/ir/region_edges.h"
#include "interpreter/transform/batch.h"
#include "interpreter/transform/differentiate.h"
#include "stdlib/ops/control/control.h"

namespace shard::stdlib {
namespace {

using runtime::AxisSet;

// Of a local result: every dimension times the axes that the spec names.
Type whole_type(const Type& local, const Layout& spec, AxisSet taken) {
  Type t = Type::of(local.dtype, local.shape, local.weak);
  const runtime::Mesh& mesh = *spec.mesh;
  AxisSet shown = mesh.of_kind(runtime::AxisKind::Explicit) | mesh.of_kind(runtime::AxisKind::Manual);
  for (std::size_t d = 0; d < t.shape.size(); ++d) {
    std::vector<runtime::AxisId> axes;
    if (d < spec.sharding.dims.size()) axes = spec.sharding.dims[d].axes;
    for (auto a : axes) {
      if (__builtin_mul_overflow(t.shape[d], mesh.size_of(a), &t.shape[d]))
        fail("shape", "a result of per-device code is too large");
      if (shown.has(a) && mesh.axes[a].kind == runtime::AxisKind::Explicit) t.sharding.dims[d].axes.push_back(a);
    }
    for (auto a : local.sharding.dims[d].axes) t.sharding.dims[d].axes.push_back(a);  // of axes that were not taken
  }
  t.varying = local.varying - taken;
  t.sharding.unreduced = local.sharding.unreduced;
  if (!t.sharding.used_axes().empty() || !t.varying.empty()) t.mesh = spec.mesh;
  return t;
}

std::vector<Type> infer(const OpCall& call) {
  const Graph& body = *call.regions[0];
  AxisSet taken = call.attrs.axes();
  std::vector<Type> out;
  for (std::size_t i = 0; i < body.results.size(); ++i) {
    const Type& local = body.type(body.results[i]);
    const Layout& spec = call.attrs.layout(ir::result_spec(i));
    const AxisSet undeclared = ir::undeclared_axes(local, spec, taken);
    if (flag_or(call.attrs, "check", true) && !undeclared.empty())
      fail("varying", ir::undeclared_message("result " + std::to_string(i), local, spec, undeclared));
    out.push_back(whole_type(local, spec, taken));
  }
  return out;
}

Attrs kept(const Attrs& attrs) {
  Attrs out;
  out.set("axes", *attrs.find("axes"));
  out.set("check", flag_or(attrs, "check", true));
  return out;
}

// The node of a derivative: primals, then tangents or cotangents; both laid out like what they belong to.
struct Derived {
  Vars operands;
  Attrs attrs;
  explicit Derived(const NodeView& n) : attrs(kept(n.call.attrs)) {
    for (std::size_t i = 0; i < n.in.size(); ++i) operand(n.in[i], n.call.attrs.layout(ir::operand_spec(i)));
  }
  void operand(Var v, const Layout& layout) {
    attrs.set(ir::operand_spec(operands.size()), layout);
    operands.push_back(v);
  }
};

Vars jvp(Builder& b, const NodeView& n, std::span<const Var> tangents) {
  Derived d(n);
  std::vector<int> wrt;
  for (std::size_t i = 0; i < tangents.size(); ++i) {
    if (!tangents[i].valid()) continue;
    wrt.push_back(static_cast<int>(i));
    d.operand(tangents[i], n.call.attrs.layout(ir::operand_spec(i)));
  }
  std::size_t results = n.out.size();
  for (std::size_t r = 0; r < 2 * results; ++r)
    d.attrs.set(ir::result_spec(r), n.call.attrs.layout(ir::result_spec(r % results)));
  Vars out = b.emit(n.call.op, d.operands, d.attrs, {share(transform::jvp(b.table(), *n.call.regions[0], wrt))});
  return Vars(out.begin() + static_cast<std::ptrdiff_t>(results), out.end());
}

// Without the check, a result may differ along axes that its spec leaves out: one device's is taken for all of them.
// Its cotangent is then shared out evenly, as jax.shard_map does with check_vma=False.
Var shared_out(Builder& b, Var ct, const Type& local, const Layout& spec, AxisSet taken) {
  const AxisSet undeclared = ir::undeclared_axes(local, spec, taken);
  if (undeclared.empty()) return ct;
  return ir::mul(b, ct, ir::constant(b, 1.0 / static_cast<double>(spec.mesh->size_of(undeclared)), local.dtype));
}

Vars vjp(Builder& b, const NodeView& n, std::span<const Var> cotangents) {
  Derived d(n);
  std::vector<bool> with_ct;
  for (std::size_t r = 0; r < cotangents.size(); ++r) {
    with_ct.push_back(cotangents[r].valid());
    if (!cotangents[r].valid()) continue;
    const Layout& spec = n.call.attrs.layout(ir::result_spec(r));
    const Type& local = n.call.regions[0]->type(n.call.regions[0]->results[r]);
    d.operand(shared_out(b, cotangents[r], local, spec, n.call.attrs.axes()), spec);
  }
  std::vector<int> wrt;
  for (std::size_t i = 0; i < n.call.in.size(); ++i)
    if (n.wanted[i] && runtime::is_inexact(n.call.in[i].dtype)) {
      d.attrs.set(ir::result_spec(wrt.size()), n.call.attrs.layout(ir::operand_spec(i)));
      wrt.push_back(static_cast<int>(i));
    }
  Vars grads(n.in.size());
  if (wrt.empty()) return grads;
  Vars out = b.emit(n.call.op, d.operands, d.attrs,
                    {share(transform::vjp(b.table(), *n.call.regions[0], wrt, with_ct, false))});
  for (std::size_t k = 0; k < wrt.size(); ++k) grads[static_cast<std::size_t>(wrt[k])] = out[k];
  return grads;
}

Layout with_whole_front(Layout layout) {
  layout.sharding.dims.insert(layout.sharding.dims.begin(), runtime::DimSharding{});
  return layout;
}

std::vector<Mapped> batch_per_device(Builder& b, const OpCall& call, std::span<const Mapped> in, std::int64_t size) {
  Attrs attrs = kept(call.attrs);
  for (std::size_t i = 0; i < in.size(); ++i) {
    const Layout& layout = call.attrs.layout(ir::operand_spec(i));
    attrs.set(ir::operand_spec(i), in[i].mapped ? with_whole_front(layout) : layout);
  }
  auto body = transform::batch(b.table(), *call.regions[0], mapped_of(in, 0, in.size()), size, false);
  for (std::size_t r = 0; r < body.mapped.size(); ++r) {
    const Layout& layout = call.attrs.layout(ir::result_spec(r));
    attrs.set(ir::result_spec(r), body.mapped[r] ? with_whole_front(layout) : layout);
  }
  return with_marks(b.emit(call.op, vars_of(in), attrs, {share(std::move(body.graph))}), body.mapped);
}

}  // namespace

void register_per_device(OpTable& table) {
  OpDef row = internal_row("per_device(xs: arrays...)", "A function that each device runs on its own blocks.");
  row.derivative = ir::Custom{jvp, vjp};
  row.kernel = ir::Structure::Manual;
  row.batch = batch_per_device;
  row.infer = infer;
  table.add(std::move(row));
}

}  // namespace shard::stdlib
