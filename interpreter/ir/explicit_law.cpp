#include "interpreter/ir/explicit_law.h"

#include <algorithm>

namespace shard::ir {
namespace {

using runtime::AxisId;
using runtime::RuntimeError;
using Axes = std::vector<AxisId>;

std::string names(const runtime::Mesh& mesh, const Axes& axes) {
  if (axes.empty()) return "_";
  if (axes.size() == 1) return "@" + mesh.axes[axes[0]].name;
  std::string out = "@(";
  for (std::size_t i = 0; i < axes.size(); ++i) out += (i ? ", " : "") + mesh.axes[axes[i]].name;
  return out + ")";
}

std::string operand_types(const OpCall& call) {
  std::string out;
  for (std::size_t i = 0; i < call.in.size(); ++i) out += (i == 0 ? "" : i + 1 == call.in.size() ? " and " : ", ") + runtime::to_string(call.in[i]);
  return out;
}

// Hands a dimension's axes out to its factors, the major one first; false where an axis does not divide what is left.
bool hand_out(const runtime::Mesh& mesh, const Axes& axes, const DimFactors& dim, const FactorRule& rule, std::vector<Axes>& given) {
  std::size_t at = 0;
  for (int f : dim) {
    std::int64_t left = rule.factors[static_cast<std::size_t>(f)].size;
    while (at < axes.size() && left > 1) {
      if (left % mesh.size_of(axes[at])) return false;
      left /= mesh.size_of(axes[at]);
      given[static_cast<std::size_t>(f)].push_back(axes[at++]);
    }
  }
  return at == axes.size();
}

}  // namespace

void apply_explicit_law(const OpCall& call, const FactorRule& rule, std::vector<Type>& results) {
  runtime::MeshRef mesh;
  for (const Type& t : call.in) {
    if (!t.mesh) continue;
    if (mesh && !same_devices(*mesh, *t.mesh))
      throw RuntimeError("mesh", "operands live on two meshes, " + runtime::to_string(*mesh) + " and " + runtime::to_string(*t.mesh) +
                                     ": move one with `shard x as P(...) on m`");
    if (!mesh) mesh = t.mesh;
  }
  if (!mesh) return;
  for (Type& t : results)
    if (!t.varying.empty()) t.mesh = mesh;
  bool laid_out = false;
  for (const Type& t : call.in) laid_out |= !t.sharding.used_axes().empty();
  if (!laid_out) return;

  if (call.op.explicit_refuses)
    if (auto why = call.op.explicit_refuses(call, rule)) throw RuntimeError("layout", *why);

  std::vector<Axes> chosen(rule.factors.size());
  std::vector<int> chosen_by(rule.factors.size(), -1);
  for (std::size_t i = 0; i < call.in.size(); ++i) {
    std::vector<Axes> given(rule.factors.size());
    for (std::size_t d = 0; d < call.in[i].sharding.dims.size(); ++d) {
      const Axes& axes = call.in[i].sharding.dims[d].axes;
      if (axes.empty()) continue;
      if (!hand_out(*mesh, axes, rule.operands[i][d], rule, given))
        throw RuntimeError("layout", std::string(call.op.name) + " cannot keep the layout of " + runtime::to_string(call.in[i]) +
                                         ": say the result's layout with `out: P(...)`, or `shard` the operand first");
    }
    for (std::size_t f = 0; f < given.size(); ++f) {
      if (given[f].empty()) continue;
      if (chosen_by[f] < 0) {
        chosen[f] = given[f];
        chosen_by[f] = static_cast<int>(i);
      } else if (rule.factors[f].kind == FactorKind::Reduced) {
        throw RuntimeError("layout", std::string(call.op.name) + " of " + operand_types(call) + ": the summed dimension is split on both sides (" +
                                         names(*mesh, chosen[f]) + " and " + names(*mesh, given[f]) +
                                         "), so the result's layout is ambiguous: say it with `out: P(...)`");
      } else if (chosen[f] != given[f]) {
        throw RuntimeError("layout", std::string(call.op.name) + " of " + operand_types(call) + ": one dimension is split over " + names(*mesh, chosen[f]) +
                                         " and over " + names(*mesh, given[f]) + ": `shard` one of them first");
      }
    }
  }
  for (std::size_t r = 0; r < results.size(); ++r) {
    Type& t = results[r];
    t.mesh = mesh;
    runtime::AxisSet used;
    for (std::size_t d = 0; d < t.shape.size(); ++d) {
      Axes axes;
      for (int f : rule.results[r][d]) {
        const Axes& more = chosen[static_cast<std::size_t>(f)];
        axes.insert(axes.end(), more.begin(), more.end());
      }
      for (AxisId a : axes) {
        if (used.has(a))
          throw RuntimeError("layout", std::string(call.op.name) + " of " + operand_types(call) + " would split two dimensions of its result over @" +
                                           mesh->axes[a].name + ": `shard` one operand first, or say the result's layout with `out: P(...)`");
        used.add(a);
      }
      t.sharding.dims[d].axes = std::move(axes);
    }
  }
}

}  // namespace shard::ir
