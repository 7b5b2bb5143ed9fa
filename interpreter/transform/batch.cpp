#include "interpreter/transform/batch.h"

#include "grammar/diagnostic.h"
#include "interpreter/transform/differentiate.h"
#include "interpreter/transform/regions.h"

namespace shard::transform {
namespace {

using ir::Builder;
using ir::Graph;
using ir::Mapped;
using ir::Node;
using ir::OpCall;
using ir::Type;
using ir::Var;
using ir::Vars;

// Every operand's dimensions are the result's last ones, or broadcast: elementwise operations and broadcasts
// themselves.
bool aligned(const ir::FactorRule& rule) {
  if (rule.results.empty()) return false;
  for (const auto& f : rule.factors)
    if (f.kind != ir::FactorKind::Pass) return false;
  const ir::ValueFactors& out = rule.results[0];
  for (const auto& other : rule.results)
    if (other != out) return false;
  for (const auto& operand : rule.operands) {
    if (operand.size() > out.size()) return false;
    for (std::size_t d = 0; d < operand.size(); ++d)
      if (!operand[d].empty() && operand[d] != out[out.size() - operand.size() + d]) return false;
  }
  return true;
}

class Batcher {
 public:
  Batcher(const ir::OpTable& table, const Graph& f, std::int64_t size, const Front& front)
      : b_(builder_like(table, f)), f_(f), size_(size), front_(front), now_(f.types.size()) {}

  Batched run(const std::vector<bool>& mapped, const std::vector<bool>& force) {
    for (std::size_t i = 0; i < f_.params.size(); ++i) {
      const Type& t = f_.type(f_.params[i]);
      now_[at(f_.params[i])] = {b_.param(mapped.at(i) ? with_front(t, size_, front_) : t), mapped[i]};
    }
    for (const Node& n : f_.nodes) node(n);
    Batched out;
    Vars results;
    for (std::size_t i = 0; i < f_.results.size(); ++i) {
      Mapped r = now_[at(f_.results[i])];
      if (!r.mapped && force.at(i)) r = {repeat_front(b_, r.var, size_, front_), true};
      results.push_back(r.var);
      out.mapped.push_back(r.mapped);
    }
    out.graph = b_.finish(std::move(results));
    return out;
  }

 private:
  void node(const Node& n) {
    ir::SpanScope scope(b_, n.span);
    std::vector<Mapped> in, out;
    bool any = false;
    for (Var v : n.inputs) in.push_back(now_[at(v)]), any |= in.back().mapped;
    const std::vector<Type> types = types_of(f_, n.inputs);
    const OpCall call{*n.op, types, n.attrs, n.regions};
    if (!any) {
      Vars inputs;
      for (const Mapped& m : in) inputs.push_back(m.var);
      for (Var v : b_.append(*n.op, std::move(inputs), n.attrs, n.regions, types_of(f_, n.outputs), n.rule))
        out.push_back({v, false});
    } else {
      out = n.op->batch ? n.op->batch(b_, call, in, size_) : by_columns(call, in);
    }
    for (std::size_t k = 0; k < n.outputs.size(); ++k) now_[at(n.outputs[k])] = out.at(k);
  }

  [[noreturn]] void refuse(const OpCall& call) {
    throw grammar::Error("vmap", b_.span(), "vmap of " + std::string(call.op.name) + " is not defined",
                         {"in " + ir::use_of(call.op, call.in)});
  }

  std::vector<Mapped> by_columns(const OpCall& call, std::span<const Mapped> in) {
    ir::Attrs attrs = call.attrs;
    if (auto* shape = attrs.get<ir::Ints>("shape")) {
      ir::Ints longer = *shape;
      longer.insert(longer.begin(), size_);
      attrs.set("shape", std::move(longer));
    }
    if (attrs.has("out")) attrs.set("out", in_front(attrs.layout("out"), attrs.layout("out").sharding.dims.size()));
    if (is(call.op, ir::Structure::Shard))
      attrs.set("layout", in_front(attrs.layout("layout"), call.in[0].shape.size()));
    else if (ir::structure_of(call.op) && !is(call.op, ir::Structure::Collective))
      refuse(call);
    Vars operands;
    auto* text = std::get_if<std::string_view>(&call.op.factors);
    if (std::holds_alternative<std::monostate>(call.op.factors)) {
      operands = everywhere(in);
    } else if (ir::FactorRule rule = ir::factors_of(call); aligned(rule)) {
      const std::size_t rank = rule.results[0].size();
      for (const Mapped& m : in) operands.push_back(m.mapped ? padded(m.var, rank) : m.var);
    } else if (text) {
      operands = by_runs(call, in, ir::fixed_beside_run(*text));
    } else {
      operands = everywhere(in);
    }
    std::vector<Mapped> out;
    for (Var v :
         b_.emit(call.op, std::span<const Var>(operands), std::move(attrs), {call.regions.begin(), call.regions.end()}))
      out.push_back({v, true});
    return out;
  }

  // x with dimensions of size 1 put behind the new one, until the others are `rank`.
  Var padded(Var x, std::size_t rank) {
    runtime::Shape shape = b_.type(x).shape;
    if (shape.size() < rank + 1) shape.insert(shape.begin() + 1, rank + 1 - shape.size(), 1);
    return ir::reshape(b_, x, std::move(shape));
  }

  Vars everywhere(std::span<const Mapped> in) {
    const Front front = front_of(b_, in);
    Vars out;
    for (const Mapped& m : in) out.push_back(front_mapped(b_, m, size_, front));
    return out;
  }

  Vars by_runs(const OpCall& call, std::span<const Mapped> in, const std::vector<int>& fixed) {
    std::size_t run = 0;
    for (std::size_t i = 0; i < in.size(); ++i)
      if (fixed.at(i) >= 0) run = std::max(run, call.in[i].shape.size() - static_cast<std::size_t>(fixed[i]));
    const Front front = front_of(b_, in);
    Vars out;
    for (std::size_t i = 0; i < in.size(); ++i) {
      if (fixed[i] < 0) {
        if (in[i].mapped) refuse(call);
        out.push_back(in[i].var);
        continue;
      }
      Var x = front_mapped(b_, in[i], size_, front);
      out.push_back(padded(x, run + static_cast<std::size_t>(fixed[i])));
    }
    return out;
  }

  // A layout with the new dimension: as it is split, and open where the partitioner may choose. Leading dimensions that
  // it does not say are open.
  ir::Layout in_front(ir::Layout layout, std::size_t rank) const {
    auto& dims = layout.sharding.dims;
    dims.insert(dims.begin(), rank - dims.size(), runtime::DimSharding{{}, true});
    runtime::DimSharding dim = front_.dim;
    dim.open = layout.mesh && !layout.mesh->of_kind(runtime::AxisKind::Auto).empty();
    dims.insert(dims.begin(), dim);
    return layout;
  }

  Builder b_;
  const Graph& f_;
  std::int64_t size_;
  Front front_;
  std::vector<Mapped> now_;  // by Var of f
};

}  // namespace

Type with_front(Type t, std::int64_t size, const Front& front) {
  t.shape.insert(t.shape.begin(), size);
  t.sharding.dims.insert(t.sharding.dims.begin(), front.dim);
  if (!front.dim.axes.empty() && !t.mesh) t.mesh = front.mesh;
  return t;
}

Var repeat_front(Builder& b, Var x, std::int64_t size, const Front& front) {
  const Type want = with_front(b.type(x), size, front);
  x = ir::broadcast_to(b, x, want.shape);
  return front.dim.axes.empty() ? x : fit(b, x, want);
}

Var front_mapped(Builder& b, const Mapped& x, std::int64_t size, const Front& front) {
  return x.mapped ? x.var : repeat_front(b, x.var, size, front);
}

Front front_of(const Builder& b, std::span<const Mapped> operands) {
  for (const Mapped& m : operands)
    if (m.mapped) return {b.type(m.var).sharding.dims.at(0), b.type(m.var).mesh};
  return {};
}

Batched batch(const ir::OpTable& table, const Graph& f, const std::vector<bool>& mapped, std::int64_t size,
              const std::vector<bool>& force, const Front& front) {
  return Batcher(table, f, size, front).run(mapped, force);
}

Batched batch(const ir::OpTable& table, const Graph& f, const std::vector<bool>& mapped, std::int64_t size,
              bool force) {
  return batch(table, f, mapped, size, std::vector<bool>(f.results.size(), force));
}

}  // namespace shard::transform
