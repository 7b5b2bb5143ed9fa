#include "interpreter/transform/choose.h"

#include <algorithm>
#include <tuple>

namespace shard::transform {
namespace {

using ir::FactorKind;

class Chooser {
 public:
  Chooser(const ir::FactorRule& rule, std::span<const SplitValue> operands, std::span<const SplitValue> results,
          AxisSet barred, bool masks, const Mesh& mesh)
      : rule_(rule), used_(barred), masks_(masks), mesh_(mesh), chosen_(rule.factors.size()) {
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
    known_.push_back({v, project(rule_, *v.dims, *v.layout, mesh_).axes, result});
  }

  int rank(int f) const {  // the higher the earlier; negative: not to be split
    const ir::Factor& factor = rule_.factors[static_cast<std::size_t>(f)];
    switch (factor.kind) {
      case FactorKind::Pass: return 3;
      case FactorKind::Masked: return masks_ ? 2 : -1;
      case FactorKind::Reduced: return 1;
      case FactorKind::Halo: return masks_ && (joint_ || !shared(f)) ? 0 : -1;
      case FactorKind::Whole: return -1;
    }
    return -1;
  }

  // Several operands have it (they are joined): exchanges to a dimension that passes and back cost no more than windows
  // of each, so these come first.
  bool shared(int f) const {
    return std::count_if(known_.begin(), known_.end(), [&](const Known& k) { return !k.result && has(k, f); }) > 1;
  }

  bool possible(int f, const Axes& axes, std::size_t have) const {
    for (std::size_t i = have; i < axes.size(); ++i)
      if (used_.has(axes[i])) return false;
    if (rule_.factors[static_cast<std::size_t>(f)].size % parts(mesh_, axes) != 0) return false;
    if (!evenly(f, axes)) return false;
    for (const auto& k : known_) {
      if (!reachable(rule_, *k.value.dims, chosen_, f, mesh_)) return false;
      int times = 0;  // a diagonal: one axis cannot split two dimensions
      for (const auto& dim : *k.value.dims) times += static_cast<int>(std::count(dim.begin(), dim.end(), f));
      if (times > 1) return false;
    }
    return true;
  }

  // A halo factor stands for dimensions of several sizes.
  bool evenly(int f, const Axes& axes) const {
    if (rule_.factors[static_cast<std::size_t>(f)].kind != FactorKind::Halo) return true;
    for (const auto& k : known_)
      for (std::size_t d = 0; k.value.shape && d < k.value.dims->size(); ++d)
        if (const auto& dim = (*k.value.dims)[d]; std::find(dim.begin(), dim.end(), f) != dim.end())
          if ((*k.value.shape)[d] % parts(mesh_, axes) != 0 || (*k.value.shape)[d] == 0) return false;
    return true;
  }

  // A result wants these axes on another factor, and it is cheaper to move the operand there than the result: an
  // operand that is repeated (a bias over a split batch). Sums are not looked at: no operand is gathered to save one.
  bool better_moved(const Known& operand, int f, const Axes& axes, std::size_t have) const {
    if (rule_.factors[static_cast<std::size_t>(f)].kind != FactorKind::Pass) return false;
    for (const auto& k : known_) {
      if (!k.result) continue;
      for (std::size_t g = 0; g < k.axes.size(); ++g) {
        if (static_cast<int>(g) == f || rank(static_cast<int>(g)) < 0) continue;
        bool wanted = false;
        for (std::size_t i = have; i < axes.size(); ++i)
          wanted |= std::find(k.axes[g].begin(), k.axes[g].end(), axes[i]) != k.axes[g].end();
        if (!wanted) continue;
        bool there = false;  // an exchange moves a part of the operand, a gather as many times as there are devices
        for (const auto& dim : *operand.value.dims)
          there |= std::find(dim.begin(), dim.end(), static_cast<int>(g)) != dim.end();
        std::int64_t moved = there ? 1 : parts(mesh_, axes);
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
        for (std::size_t i = have; i < axes.size(); ++i)
          table |= std::find(k.axes[g].begin(), k.axes[g].end(), axes[i]) != k.axes[g].end();
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

  static bool has(const Known& k, int f) {
    return std::any_of(k.value.dims->begin(), k.value.dims->end(),
                       [&](const auto& dim) { return std::find(dim.begin(), dim.end(), f) != dim.end(); });
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
          if (!possible(static_cast<int>(g), axes, chosen_[g].size())) continue;
          for (AxisId a : k.axes[f]) used_.add(a);
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
        if (wishes && rule_.factors[static_cast<std::size_t>(f)].kind == FactorKind::Halo) continue;  // not free
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
          if (!wishes && rule_.factors[static_cast<std::size_t>(f)].kind == FactorKind::Pass &&
              better_masked(source, axes, mine.size()))
            continue;
          if (!wishes && rule_.factors[static_cast<std::size_t>(f)].kind == FactorKind::Masked && mine.empty() &&
              better_summed(f, axes))
            continue;
          Key key{agreed, carried, rank(f), parts(mesh_, axes), -f};
          if (best_factor >= 0 && key <= best_key) continue;
          best_factor = f;
          best = std::move(axes);
          best_key = key;
        }
      }
    }
    if (best_factor < 0) return false;
    for (AxisId a : best) used_.add(a);
    chosen_[static_cast<std::size_t>(best_factor)] = std::move(best);
    return true;
  }

  const ir::FactorRule& rule_;
  AxisSet used_;
  bool masks_;
  const Mesh& mesh_;
  FactorAxes chosen_;
  std::vector<Known> known_;
  bool joint_ = false;
};

}  // namespace

FactorAxes choose(const ir::FactorRule& rule, std::span<const SplitValue> operands, std::span<const SplitValue> results,
                  AxisSet barred, bool masks, const Mesh& mesh) {
  return Chooser(rule, operands, results, barred, masks, mesh).run();
}

}  // namespace shard::transform
