#include "interpreter/transform/factor_layout.h"

#include <algorithm>
#include <tuple>

namespace shard::transform {

using ir::FactorRule;
using ir::ValueFactors;

bool is_prefix(const Axes& a, const Axes& b) {
  return a.size() <= b.size() && std::equal(a.begin(), a.end(), b.begin());
}

FactorAxes project(const FactorRule& rule, const ValueFactors& value, const Sharding& layout, const Mesh& mesh) {
  FactorAxes out(rule.factors.size());
  for (std::size_t d = 0; d < value.size() && d < layout.dims.size(); ++d) {
    const auto& factors = value[d];
    const Axes& axes = layout.dims[d].axes;
    if (factors.empty()) continue;
    std::size_t k = 0;
    std::int64_t done = 1;
    for (AxisId a : axes) {
      std::int64_t n = mesh.size_of(a);
      while (n > 1 && k + 1 < factors.size() && done == rule.factor(factors[k]).size) ++k, done = 1;
      if (factors.size() > 1 && rule.factor(factors[k]).size % (done * n) != 0) break;
      out[static_cast<std::size_t>(factors[k])].push_back(a);
      done *= n;
    }
  }
  return out;
}

Sharding layout_of(const FactorRule& rule, const ValueFactors& value, const FactorAxes& axes, const Mesh& mesh) {
  Sharding out = Sharding::replicated(value.size());
  for (std::size_t d = 0; d < value.size(); ++d)
    for (int f : value[d]) {
      const Axes& more = axes[static_cast<std::size_t>(f)];
      out.dims[d].axes.insert(out.dims[d].axes.end(), more.begin(), more.end());
      if (mesh.size_of(more) != rule.factor(f).size) break;
    }
  return out;
}

bool reachable(const FactorRule& rule, const ValueFactors& value, const FactorAxes& axes, int f, const Mesh& mesh) {
  for (const auto& dim : value)
    for (int g : dim) {
      if (g == f) break;
      if (std::find(dim.begin(), dim.end(), f) == dim.end()) break;
      if (mesh.size_of(axes[static_cast<std::size_t>(g)]) != rule.factor(g).size) return false;
    }
  return true;
}

RuleRef rule_of(const ir::Graph& g, const ir::Node& n) {
  if (std::holds_alternative<std::monostate>(n.op->factors)) return nullptr;
  const std::vector<ir::Type> in = types_of(g, n.inputs);
  RuleRef rule = n.rule;
  if (!rule) rule = std::make_shared<const FactorRule>(ir::factors_of({*n.op, in, n.attrs, n.regions}));
  const auto fits = [&](const ValueFactors& value, ir::Var v) { return value.size() == g.type(v).shape.size(); };
  const bool all = std::equal(rule->operands.begin(), rule->operands.end(), n.inputs.begin(), n.inputs.end(), fits) &&
                   std::equal(rule->results.begin(), rule->results.end(), n.outputs.begin(), n.outputs.end(), fits);
  return all ? rule : nullptr;
}

RuleRef local_rule(const ir::OpDef& op, std::span<const ir::Type> in, const ir::Attrs& attrs, RuleRef kept) {
  if (ir::structure_of(op)) return nullptr;
  if (kept) return kept;
  try {
    return std::make_shared<const FactorRule>(ir::factors_of({op, in, attrs}));
  } catch (const std::exception&) { return nullptr; }
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

Sharding with_whole_front(Sharding layout) {
  layout.dims.insert(layout.dims.begin(), runtime::DimSharding{});
  return layout;
}

// ---- one operation's split
namespace {

using ir::FactorKind;

class Chooser {
 public:
  Chooser(const ir::FactorRule& rule, std::span<const SplitValue> operands, std::span<const SplitValue> results,
          AxisSet barred, bool masks, bool uneven, const Mesh& mesh)
      : rule_(rule), used_(barred), masks_(masks), uneven_(uneven), mesh_(mesh), chosen_(rule.factors.size()) {
    for (const auto& v : operands) add(v, false);
    for (const auto& v : results) add(v, true);
  }

  FactorAxes run() {
    while (take(false)) {}
    while (take(true)) {}
    relocate();
    joint_ = true;
    while (take(false)) {}
    return std::move(chosen_);
  }

 private:
  struct Known {
    SplitValue value;
    FactorAxes axes;
    bool result;
  };

  void add(const SplitValue& v, bool result) {
    known_.push_back({v, project(rule_, *v.dims, *v.layout, mesh_), result});
  }

  int rank(int f) const {  // the higher the earlier; negative: not to be split
    const ir::Factor& factor = rule_.factor(f);
    switch (factor.kind) {
      case FactorKind::Pass: return 3;
      case FactorKind::Masked: return masks_ ? 2 : -1;
      case FactorKind::Reduced: return 1;
      case FactorKind::Halo: return masks_ && (joint_ || !shared(f)) ? 0 : -1;
      case FactorKind::Whole: return -1;
    }
    return -1;
  }

  // Operands are joined along it: exchanges to a dimension that passes and back cost no more than windows of each, so
  // these come first; but where one is split and the others are less than a block of it, that hardly moves.
  bool shared(int f) const {
    std::int64_t operands = 0, all = 0, largest = 0, devices = 1, made = 0;
    for (const Known& k : known_) {
      const auto d = ir::dimension_with(*k.value.dims, f);
      if (!d) continue;
      const std::int64_t size = k.value.type->shape[*d];
      if (k.result) {
        made = size;
        continue;
      }
      ++operands;
      all += size;
      if (size > largest) largest = size, devices = mesh_.size_of(k.axes[static_cast<std::size_t>(f)]);
    }
    return operands > 1 && made == all && (devices == 1 || all - largest > largest / devices);
  }

  bool possible(int f, const Axes& axes, std::size_t have) const {
    for (std::size_t i = have; i < axes.size(); ++i)
      if (used_.has(axes[i])) return false;
    const std::int64_t devices = mesh_.size_of(axes);
    const bool halo = rule_.factor(f).kind == FactorKind::Halo;  // it stands for dimensions of several sizes
    if (!halo && rule_.factor(f).size == 1 && devices > 1) return false;
    for (const auto& k : known_) {
      if (const auto d = ir::dimension_with(*k.value.dims, f)) {
        const bool alone = (*k.value.dims)[*d].size() == 1;
        const std::int64_t size = alone ? k.value.type->shape[*d] : rule_.factor(f).size;
        if (halo && size == 0) return false;
        // Blocks of different sizes are blocks of one dimension; of keys there are none (uneven.h).
        if (size % devices != 0 && (!alone || !uneven_ || k.value.type->dtype == runtime::DType::Key)) return false;
      }
      if (!reachable(rule_, *k.value.dims, chosen_, f, mesh_)) return false;
      int times = 0;  // a diagonal: one axis cannot split two dimensions
      for (const auto& dim : *k.value.dims) times += static_cast<int>(std::count(dim.begin(), dim.end(), f));
      if (times > 1) return false;
    }
    return true;
  }

  // A result wants these axes on another factor, and it is cheaper to move the operand there than the result: an
  // operand that is repeated (a bias over a split batch). Sums are not looked at: no operand is gathered to save one.
  bool better_moved(const Known& operand, int f, const Axes& axes, std::size_t have) const {
    if (rule_.factor(f).kind != FactorKind::Pass) return false;
    for (const auto& k : known_) {
      if (!k.result) continue;
      for (std::size_t g = 0; g < k.axes.size(); ++g) {
        if (static_cast<int>(g) == f || rank(static_cast<int>(g)) < 0) continue;
        if (!meets(k.axes[g], axes, have)) continue;
        // An exchange moves a part of the operand, a gather as many times as there are devices.
        const std::int64_t moved = has(operand, static_cast<int>(g)) ? 1 : mesh_.size_of(axes);
        if (operand.value.bytes < k.value.bytes / moved) return true;
      }
    }
    return false;
  }

  // The same axes split a table on a masked factor, and the table is more than its lookups and what comes of them.
  bool better_masked(const Known& source, const Axes& axes, std::size_t have) const {
    std::int64_t lookups = source.value.bytes, tables = 0;
    for (const auto& k : known_) {
      if (k.result) lookups = std::min(lookups + k.value.bytes, INT64_MAX / 2);
      bool table = false;
      for (std::size_t g = 0; g < k.axes.size(); ++g) {
        if (rule_.factors[g].kind != FactorKind::Masked || rank(static_cast<int>(g)) < 0) continue;
        table |= meets(k.axes[g], axes, have);
      }
      if (table && !k.result) tables = std::min(tables + k.value.bytes, INT64_MAX / 2);
    }
    return tables > lookups;
  }

  // The same axes split what is summed into a table (the lookups of an embedding's gradient), and to gather that moves
  // more than to sum the table.
  bool better_summed(int f, const Axes& axes) const {
    std::int64_t summed = 0, tables = 0;
    for (const auto& k : known_) {
      if (is_prefix(axes, k.axes[static_cast<std::size_t>(f)]))
        tables = std::min(tables + k.value.bytes, INT64_MAX / 2);
      for (std::size_t g = 0; !k.result && g < k.axes.size(); ++g)
        if (rule_.factors[g].kind == FactorKind::Reduced && is_prefix(axes, k.axes[g]) &&
            possible(static_cast<int>(g), axes, 0))
          summed = std::min(summed + k.value.bytes, INT64_MAX / 2);
    }
    return summed > tables;
  }

  static bool has(const Known& k, int f) { return ir::dimension_with(*k.value.dims, f).has_value(); }
  // Whether one of `axes` behind the first `have` is among these.
  static bool meets(const Axes& these, const Axes& axes, std::size_t have) {
    return std::any_of(axes.begin() + static_cast<std::ptrdiff_t>(have), axes.end(),
                       [&](AxisId a) { return std::find(these.begin(), these.end(), a) != these.end(); });
  }
  bool in_results(int f) const {
    return std::all_of(known_.begin(), known_.end(), [&](const Known& k) { return !k.result || has(k, f); });
  }

  // Axes of operands on factors that cannot be split go to one that passes: an exchange in place of a gather.
  void relocate() {
    for (const auto& k : known_) {
      if (k.result) continue;
      for (std::size_t f = 0; f < k.axes.size(); ++f) {
        const bool stays =
            rank(static_cast<int>(f)) >= 0 && (rule_.factors[f].kind != FactorKind::Halo || !chosen_[f].empty());
        if (stays || k.axes[f].empty()) continue;
        for (std::size_t g = 0; g < chosen_.size(); ++g) {
          if (rule_.factors[g].kind != FactorKind::Pass || !has(k, static_cast<int>(g)) ||
              !in_results(static_cast<int>(g)))
            continue;
          Axes axes = chosen_[g];
          axes.insert(axes.end(), k.axes[f].begin(), k.axes[f].end());
          if (rule_.factors[g].size % mesh_.size_of(axes) != 0) continue;  // it is free to stay even
          if (!possible(static_cast<int>(g), axes, chosen_[g].size())) continue;
          used_ |= AxisSet::of(k.axes[f]);
          chosen_[g] = std::move(axes);
          break;
        }
      }
    }
  }

  bool take(bool wishes) {
    using Key = std::tuple<bool, std::int64_t, int, std::int64_t, int>;
    int best_factor = -1;
    Axes best;
    Key best_key;
    for (const auto& source : known_) {
      if (source.result != wishes) continue;
      for (int f = 0; f < static_cast<int>(rule_.factors.size()); ++f) {
        const Axes& list = source.axes[static_cast<std::size_t>(f)];
        const Axes& mine = chosen_[static_cast<std::size_t>(f)];
        if (wishes && rule_.factor(f).kind == FactorKind::Halo) continue;  // not free
        if (rank(f) < 0 || list.size() <= mine.size() || !is_prefix(mine, list)) continue;
        for (std::size_t n = list.size(); n > mine.size(); --n) {
          Axes axes(list.begin(), list.begin() + static_cast<std::ptrdiff_t>(n));
          if (!possible(f, axes, mine.size())) continue;
          std::int64_t carried = 0;
          bool agreed = false;
          for (const auto& k : known_) {
            if (!is_prefix(axes, k.axes[static_cast<std::size_t>(f)])) continue;
            carried = std::min(carried + k.value.bytes, INT64_MAX / 2);
            agreed |= k.result;
          }
          if (!wishes && !agreed && better_moved(source, f, axes, mine.size())) continue;
          if (!wishes && rule_.factor(f).kind == FactorKind::Pass && better_masked(source, axes, mine.size())) continue;
          if (!wishes && rule_.factor(f).kind == FactorKind::Masked && mine.empty() && better_summed(f, axes)) continue;
          Key key{agreed, carried, rank(f), mesh_.size_of(axes), -f};
          if (best_factor >= 0 && key <= best_key) continue;
          best_factor = f;
          best = std::move(axes);
          best_key = key;
        }
      }
    }
    if (best_factor < 0) return false;
    used_ |= AxisSet::of(best);
    chosen_[static_cast<std::size_t>(best_factor)] = std::move(best);
    return true;
  }

  const ir::FactorRule& rule_;
  AxisSet used_;
  bool masks_, uneven_;
  const Mesh& mesh_;
  FactorAxes chosen_;
  std::vector<Known> known_;
  bool joint_ = false;
};

}  // namespace

FactorAxes choose(const ir::FactorRule& rule, std::span<const SplitValue> operands, std::span<const SplitValue> results,
                  AxisSet barred, bool masks, bool uneven, const Mesh& mesh) {
  return Chooser(rule, operands, results, barred, masks, uneven, mesh).run();
}

}  // namespace shard::transform
