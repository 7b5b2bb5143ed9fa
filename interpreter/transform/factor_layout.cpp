#include "interpreter/transform/factor_layout.h"

#include <algorithm>

namespace shard::transform {

using ir::FactorRule;
using ir::ValueFactors;

namespace {
std::int64_t size_of(const FactorRule& rule, int f) { return rule.factors[static_cast<std::size_t>(f)].size; }
}  // namespace

std::int64_t parts(const Mesh& mesh, const Axes& axes) {
  std::int64_t n = 1;
  for (AxisId a : axes) n *= mesh.size_of(a);
  return n;
}

bool is_prefix(const Axes& a, const Axes& b) {
  return a.size() <= b.size() && std::equal(a.begin(), a.end(), b.begin());
}

Projection project(const FactorRule& rule, const ValueFactors& value, const Sharding& layout, const Mesh& mesh) {
  Projection p;
  p.axes.resize(rule.factors.size());
  for (std::size_t d = 0; d < value.size() && d < layout.dims.size(); ++d) {
    const auto& factors = value[d];
    const Axes& axes = layout.dims[d].axes;
    if (axes.empty()) continue;
    if (factors.empty()) {
      p.whole = false;
      continue;
    }
    std::size_t k = 0;
    std::int64_t done = 1;
    for (AxisId a : axes) {
      std::int64_t n = mesh.size_of(a);
      while (n > 1 && k + 1 < factors.size() && done == size_of(rule, factors[k])) ++k, done = 1;
      if (size_of(rule, factors[k]) % (done * n) != 0) {
        p.whole = false;
        break;
      }
      p.axes[static_cast<std::size_t>(factors[k])].push_back(a);
      done *= n;
    }
  }
  return p;
}

Sharding layout_of(const FactorRule& rule, const ValueFactors& value, const FactorAxes& axes, const Mesh& mesh) {
  Sharding out = Sharding::replicated(value.size());
  for (std::size_t d = 0; d < value.size(); ++d)
    for (int f : value[d]) {
      const Axes& more = axes[static_cast<std::size_t>(f)];
      out.dims[d].axes.insert(out.dims[d].axes.end(), more.begin(), more.end());
      if (parts(mesh, more) != size_of(rule, f)) break;
    }
  return out;
}

bool reachable(const FactorRule& rule, const ValueFactors& value, const FactorAxes& axes, int f, const Mesh& mesh) {
  for (const auto& dim : value)
    for (int g : dim) {
      if (g == f) break;
      if (std::find(dim.begin(), dim.end(), f) == dim.end()) break;
      if (parts(mesh, axes[static_cast<std::size_t>(g)]) != size_of(rule, g)) return false;
    }
  return true;
}

bool divides(const FactorRule& rule, const ValueFactors& value, const FactorAxes& axes, int f, AxisId axis,
             const Mesh& mesh) {
  std::int64_t n = parts(mesh, axes[static_cast<std::size_t>(f)]) * mesh.size_of(axis);
  return size_of(rule, f) % n == 0 && reachable(rule, value, axes, f, mesh);
}

std::vector<ir::Type> types_of(const ir::Graph& g, const ir::Vars& vars) {
  std::vector<ir::Type> out;
  out.reserve(vars.size());
  for (ir::Var v : vars) out.push_back(g.type(v));
  return out;
}

std::optional<FactorRule> rule_of(const ir::Graph& g, const ir::Node& n) {
  if (std::holds_alternative<std::monostate>(n.op->factors)) return std::nullopt;
  std::vector<ir::Type> in = types_of(g, n.inputs);
  FactorRule rule = ir::factors_of(ir::OpCall{*n.op, in, n.attrs, n.regions});
  if (rule.operands.size() != n.inputs.size() || rule.results.size() != n.outputs.size()) return std::nullopt;
  for (std::size_t i = 0; i < n.inputs.size(); ++i)
    if (rule.operands[i].size() != g.type(n.inputs[i]).shape.size()) return std::nullopt;
  for (std::size_t i = 0; i < n.outputs.size(); ++i)
    if (rule.results[i].size() != g.type(n.outputs[i]).shape.size()) return std::nullopt;
  return rule;
}

std::int64_t bytes_of(const ir::Type& t) {
  std::int64_t n = static_cast<std::int64_t>(runtime::size_of(t.dtype));
  for (std::int64_t s : t.shape)
    if (__builtin_mul_overflow(n, s, &n)) return INT64_MAX / 64;
  return std::min(n, INT64_MAX / 64);
}

Sharding closed(Sharding layout) {
  for (auto& d : layout.dims) d.open = false;
  layout.reduced = {};
  return layout;
}

bool same_split(const Sharding& a, const Sharding& b) {
  if (a.dims.size() != b.dims.size()) return false;
  for (std::size_t d = 0; d < a.dims.size(); ++d)
    if (a.dims[d].axes != b.dims[d].axes) return false;
  return true;
}

Sharding without_front(const Sharding& layout) {
  Sharding out = layout;
  if (!out.dims.empty()) out.dims.erase(out.dims.begin());
  return out;
}

Sharding with_whole_front(const Sharding& layout) {
  Sharding out = layout;
  out.dims.insert(out.dims.begin(), runtime::DimSharding{});
  return out;
}

}  // namespace shard::transform
