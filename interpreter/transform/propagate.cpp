// Layouts grow along the items of the flow until nothing changes, the lowest level first (flow.h, factor_layout.h).
// Layouts only grow and each is bounded by the mesh, so it ends; items are looked at in a fixed order, so it is
// deterministic.
#include "interpreter/transform/factor_layout.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "grammar/stable_sort.h"
#include "interpreter/transform/flow.h"
#include "interpreter/transform/uneven.h"
#include "runtime/array/stop.h"

namespace shard::transform {
namespace {

using ir::FactorKind;

struct Offer {
  int factor;
  Axes axes;           // the list that the source has, longer than the target's
  std::int64_t bytes;  // of the source
  std::size_t source;
};

class Propagation {
 public:
  Propagation(DataFlow& flow, const Mesh& mesh, bool uneven) : flow_(flow), mesh_(mesh), uneven_(uneven) {}

  // The item to look at is always one of the lowest level, the first of these: what elementwise operations and edges
  // say of a layout is known before a product of matrices has to choose. A value that changed brings its items back.
  void run() {
    std::set<std::pair<int, int>> open;
    auto enter = [&](int item) {
      for (int level : levels_of(flow_.items[static_cast<std::size_t>(item)])) open.emplace(level, item);
    };
    std::map<const Scope*, std::vector<std::vector<int>>> users;  // items by Var::id
    for (int i = 0; i < static_cast<int>(flow_.items.size()); ++i) {
      enter(i);
      for (const FlowValue& v : flow_.items[static_cast<std::size_t>(i)].values) {
        auto& of = users[v.scope];
        of.resize(v.scope->of.size());
        of[at(v.var)].push_back(i);
      }
    }
    while (!open.empty()) {
      auto [level, item] = *open.begin();
      open.erase(open.begin());
      changed_.clear();
      visit(flow_.items[static_cast<std::size_t>(item)], level);
      for (const auto& [scope, var] : changed_)
        for (int user : users[scope][at(var)]) enter(user);
    }
  }

 private:
  // Levels: 1 one-use pass-through and edges, 2 all pass-through, 3 pass factors of all, 4 all factors, 5 broadcasts
  // forward. An item is looked at where it joins, and at each higher level that lets more of it through (offers_to).
  static std::vector<int> levels_of(const FlowItem& item) {
    std::vector<int> out{item.level};
    const auto& all = item.rule->factors;
    if (item.level < 4 &&
        !std::all_of(all.begin(), all.end(), [](const auto& f) { return f.kind == FactorKind::Pass; }))
      out.push_back(4);
    if (item.level < 5 && (item.repeats || std::any_of(item.values.begin(), item.values.end(),
                                                       [](const FlowValue& v) { return v.repeated; })))
      out.push_back(5);
    return out;
  }

  static Sharding& layout(const FlowValue& v) { return v.scope->of[at(v.var)]; }

  // What the inside of per-device code sees of a layout: nothing where it does not begin with the axes of the spec.
  FactorAxes factors_of(const FlowItem& item, const FlowValue& v) const {
    const Sharding& whole = layout(v);
    if (v.outside.empty()) return project(*item.rule, *v.dims, whole, mesh_);
    Sharding inner = whole;
    for (std::size_t d = 0; d < inner.dims.size() && d < v.outside.size(); ++d) {
      Axes& axes = inner.dims[d].axes;
      if (is_prefix(v.outside[d], axes))
        axes.erase(axes.begin(), axes.begin() + static_cast<std::ptrdiff_t>(v.outside[d].size()));
      else
        axes.clear();
    }
    return project(*item.rule, *v.dims, inner, mesh_);
  }

  static bool in_results(const FlowItem& item, int f) {
    return std::any_of(item.values.begin(), item.values.end(),
                       [&](const FlowValue& v) { return v.result && ir::dimension_with(*v.dims, f); });
  }

  // The size of the dimension where a value has the factor; 0 where it has not.
  static std::int64_t size_along(const FlowValue& v, int f) {
    const auto d = ir::dimension_with(*v.dims, f);
    return d ? v.scope->graph->type(v.var).shape[*d] : 0;
  }

  void visit(FlowItem& item, int level) {
    runtime::Stop::ask_here();
    std::vector<FactorAxes> known;
    bool any = false;
    for (const auto& v : item.values) {
      known.push_back(factors_of(item, v));
      for (const auto& axes : known.back()) any |= !axes.empty();
    }
    if (!any) return;
    auto grow = [&](std::size_t t) {
      if (item.values[t].still) return;
      bool grown = false;
      for (const Offer& o : offers_to(item, t, known, level))
        for (std::size_t k = known[t][static_cast<std::size_t>(o.factor)].size(); k < o.axes.size(); ++k) {
          if (!extend(item, t, known[t], o.factor, o.axes[k])) break;
          grown = true;
        }
      if (!grown) return;
      known[t] = factors_of(item, item.values[t]);
      changed_.emplace_back(item.values[t].scope, item.values[t].var);
    };
    for (std::size_t t = 0; t < item.values.size(); ++t)
      if (item.values[t].result || item.edge) grow(t);
    for (std::size_t t = 0; t < item.values.size(); ++t)
      if (!item.values[t].result && !item.edge) grow(t);
  }

  // The best list for each factor of a target, the most preferred first: that of the largest value, then of the first.
  // An operand takes a factor that the result has from the result only: it is not given an axis that the result could
  // not take.
  std::vector<Offer> offers_to(const FlowItem& item, std::size_t t, const std::vector<FactorAxes>& known,
                               int level) const {
    std::vector<Offer> offers;
    const FlowValue& target = item.values[t];
    for (const auto& dim : *target.dims)
      for (int f : dim) {
        const ir::Factor& factor = item.rule->factor(f);
        if (factor.kind != FactorKind::Pass && level < 4) continue;
        const Axes& mine = known[t][static_cast<std::size_t>(f)];
        bool from_results = !item.edge && !target.result && in_results(item, f);
        const Offer* best = nullptr;
        Offer found;
        for (std::size_t s = 0; s < item.values.size(); ++s) {
          const FlowValue& source = item.values[s];
          if (s == t || (from_results && !source.result)) continue;
          if ((item.repeats || source.repeated) && level < 5 && target.result && !source.result) continue;
          if (factor.kind == FactorKind::Whole && size_along(target, f) < size_along(source, f)) continue;
          const Axes& theirs = known[s][static_cast<std::size_t>(f)];
          if (theirs.size() <= mine.size() || !is_prefix(mine, theirs)) continue;
          if (best && source.bytes <= best->bytes) continue;
          found = Offer{f, theirs, source.bytes, s};
          best = &found;
        }
        if (best) offers.push_back(found);
      }
    stable_sort(offers, [](const Offer& a, const Offer& b) {
      return std::tuple(-a.bytes, a.source, a.factor) < std::tuple(-b.bytes, b.source, b.factor);
    });
    return offers;
  }

  // Appends one axis to a factor of a value if its layout may take it.
  bool extend(const FlowItem& item, std::size_t t, FactorAxes& axes, int f, AxisId axis) {
    const FlowValue& v = item.values[t];
    Sharding& to = layout(v);
    const ir::Type& type = v.scope->graph->type(v.var);
    if (v.scope->mesh[at(v.var)]->axes[axis].kind == runtime::AxisKind::Explicit && !v.scope->blocked.has(axis))
      return false;
    if (v.scope->blocked.has(axis) || to.split_axes().has(axis) || to.unreduced.has(axis)) return false;
    if (!reachable(*item.rule, *v.dims, axes, f, mesh_)) return false;
    const auto found = ir::dimension_with(*v.dims, f);
    if (!found) return false;
    const std::size_t d = *found;
    const ir::DimFactors& dim = (*v.dims)[d];
    auto& axes_of_dim = to.dims[d];
    if (!axes_of_dim.open) return false;
    std::size_t seen =
        0;  // axes that the factors account for; others (overflow, or another spec outside) block the dimension
    for (int g : dim) seen += axes[static_cast<std::size_t>(g)].size();
    std::size_t outside = d < v.outside.size() ? v.outside[d].size() : 0;
    if (seen + outside != axes_of_dim.axes.size()) return false;
    if (outside && !is_prefix(v.outside[d], axes_of_dim.axes)) return false;
    for (auto g = std::find(dim.begin(), dim.end(), f) + 1; g != dim.end(); ++g)
      if (!axes[static_cast<std::size_t>(*g)].empty()) return false;
    Axes grown = axes_of_dim.axes;
    grown.push_back(axis);
    // Of one factor the dimension itself is split: an operation may change its size.
    Axes of_factor = axes[static_cast<std::size_t>(f)];
    of_factor.push_back(axis);
    const bool divides = dim.size() == 1 ? type.shape[d] % mesh_.size_of(grown) == 0
                                         : item.rule->factor(f).size % mesh_.size_of(of_factor) == 0;
    const bool uneven = uneven_ && dim.size() == 1 && outside == 0 && splits_unevenly(type, d, mesh_.size_of(grown));
    if (!divides && !uneven) return false;
    axes_of_dim.axes = std::move(grown);
    axes[static_cast<std::size_t>(f)].push_back(axis);
    return true;
  }

  DataFlow& flow_;
  const Mesh& mesh_;
  bool uneven_;
  std::vector<std::pair<const Scope*, ir::Var>> changed_;  // by the item that was looked at last
};

Layouts layouts_of(const Scope& s) {
  Layouts out;
  out.of.reserve(s.of.size());
  for (const Sharding& l : s.of) out.of.push_back(closed(l));
  out.regions.resize(s.regions.size());
  for (std::size_t i = 0; i < s.regions.size(); ++i)
    for (const auto& r : s.regions[i]) out.regions[i].push_back(layouts_of(*r));
  return out;
}

}  // namespace

Layouts propagate(const ir::Graph& graph, const runtime::MeshRef& mesh, std::span<const Sharding> params, bool uneven) {
  DataFlow flow = build_flow(graph, mesh, params, uneven);
  Propagation(flow, *mesh, uneven).run();
  return layouts_of(*flow.top);
}

}  // namespace shard::transform
