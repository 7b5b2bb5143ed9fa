// Which units are done depth first. From a product of a batch of matrices on, units that read what is made are taken in
// as long as they work on each matrix of the batch by itself; a unit that makes something large for them only is taken
// in too. A product of a batch has factors that both operands and the result have; rows are no such factor, so a
// product with a weight is not cut, and bits cannot depend on blocks. Of what is left, the same is done from a
// reduction on: its batch are the dimensions before those that it reduces.
#include "interpreter/exec/depth_first.h"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "interpreter/ir/op.h"
#include "interpreter/ir/region_edges.h"
#include "interpreter/transform/factor_layout.h"
#include "runtime/array/shape.h"
#include "runtime/array/stop.h"

namespace shard::exec {
namespace {

using ir::Node;
using runtime::AxisSet;
using runtime::Shape;

// Less than this between the products stays in the caches anyway. Blocks shall hold no more of it than kBlock, half of
// a second cache; where they would be fewer than kFew there is nothing for threads.
constexpr std::int64_t kWorth = 512 << 10, kBlock = 192 << 10, kFew = 4;
// A reduction uses all threads without blocks: there must be some, and they must stay in a cache.
constexpr std::int64_t kSome = 16, kLargest = 512 << 10;

enum class Seed { Product, Reduction };      // what is done together begins with it
using Dims = std::vector<int>;               // by factor: a value's dimension
using Known = std::map<std::int32_t, Dims>;  // by value

class Growth {
 public:
  Growth(const ir::Graph& g, const std::vector<AxisSet>& distinct, const std::vector<Unit>& units)
      : g_(g),
        distinct_(distinct),
        units_(units),
        maker_(g.types.size(), kNone),
        readers_(g.types.size()),
        inputs_(units.size()) {
    for (std::size_t u = 0; u < units.size(); ++u)
      for (int i : units[u].nodes) {
        for (ir::Var v : node(i).outputs) maker_[at(v)] = static_cast<int>(u);
        for (ir::Var v : node(i).inputs) {
          if (maker_[at(v)] == static_cast<int>(u)) continue;
          inputs_[u].push_back(v);
          auto& readers = readers_[at(v)];
          if (readers.empty() || readers.back() != static_cast<int>(u)) readers.push_back(static_cast<int>(u));
        }
      }
    is_result_.assign(g.types.size(), false);
    for (ir::Var v : g.results) is_result_[at(v)] = true;
  }

  // All that can be done together with `seed`, of units from `floor` on; false where that is nothing.
  bool from(std::size_t seed, std::size_t floor, Seed kind) {
    members_.clear();
    known_.clear();
    sizes_.clear();
    const bool begun = kind == Seed::Product ? begin(units_[seed]) : begin_reduced(units_[seed]);
    if (!begun) return false;
    in_.assign(units_.size(), 0);
    behind_.assign(units_.size(), 0);
    reach_ = 0;
    if (kind == Seed::Reduction) take_in_makers(seed, floor);
    add(seed);
    for (std::size_t u = seed + 1; u <= reach_ && !units_[u].effect; ++u) {
      bool reads = false, needs_late = false;
      for (ir::Var v : inputs_[u]) {
        reads |= inside(maker_[at(v)]);
        needs_late |= late(maker_[at(v)]);
      }
      behind_[u] = needs_late;
      if (needs_late || !reads) continue;
      if (Known trial = known_; fits(units_[u], trial)) {
        known_ = std::move(trial);
        take_in_makers(u, floor);
        add(u);
      } else {
        behind_[u] = 1;
      }
    }
    std::sort(members_.begin(), members_.end());
    return kind == Seed::Reduction ||
           std::count_if(members_.begin(), members_.end(), [&](std::size_t u) { return product(units_[u]); }) > 1;
  }

  const std::vector<std::size_t>& members() const { return members_; }
  bool behind(std::size_t u) const { return behind_[u] != 0; }
  AxisSet axes() const { return axes_; }

  // Elements' bytes on one device of what is made and used inside only.
  std::int64_t bytes_between() const {
    std::int64_t bytes = 0;
    for (std::size_t u : members_)
      for (ir::Var v : outputs(units_[u])) {
        const auto& readers = readers_[at(v)];
        if (readers.empty() || is_result_[at(v)]) continue;
        if (std::all_of(readers.begin(), readers.end(), [&](int r) { return in_[static_cast<std::size_t>(r)]; }))
          bytes += transform::bytes_of(g_.type(v));
      }
    return bytes;
  }

  std::vector<Segment::Cut> cuts() const {
    std::vector<Segment::Cut> out;
    for (std::size_t f = 0; f < sizes_.size(); ++f) {
      Segment::Cut& cut =
          out.emplace_back(Segment::Cut{sizes_[f], 1, std::vector<int>(g_.types.size(), Segment::kWhole)});
      for (const auto& [id, dims] : known_) cut.dim[static_cast<std::size_t>(id)] = dims[f];
    }
    return out;
  }

 private:
  static constexpr int kNone = -1;
  const Node& node(int i) const { return g_.nodes[static_cast<std::size_t>(i)]; }
  const Shape& shape(ir::Var v) const { return g_.type(v).shape; }
  bool inside(int unit) const { return unit != kNone && in_[static_cast<std::size_t>(unit)]; }
  bool late(int unit) const { return unit != kNone && behind_[static_cast<std::size_t>(unit)]; }
  static bool product(const Node& n) { return !n.op->comm && n.op->kernel_sum && n.op->any_order; }
  bool product(const Unit& u) const { return u.nodes.size() == 1 && product(node(u.nodes.front())); }
  bool outer(const Unit& u, ir::Var v) const {  // not made by the unit
    return maker_[at(v)] == kNone || &units_[static_cast<std::size_t>(maker_[at(v)])] != &u;
  }
  ir::Vars outputs(const Unit& u) const {  // that somebody outside of it sees
    ir::Vars out;
    for (int i : u.nodes)
      for (ir::Var v : node(i).outputs)
        if (is_result_[at(v)] || !readers_[at(v)].empty()) out.push_back(v);
    return out;
  }
  void add(std::size_t u) {
    in_[u] = 1;
    members_.push_back(u);
    for (ir::Var v : outputs(units_[u]))
      if (!readers_[at(v)].empty()) reach_ = std::max(reach_, static_cast<std::size_t>(readers_[at(v)].back()));
  }

  // The factors of a batch: both operands and the result have them.
  bool begin(const Unit& seed) {
    if (!product(seed)) return false;
    const Node& n = node(seed.nodes.front());
    const transform::RuleRef rule = transform::local_rule(*n.op, types_of(g_, n.inputs), n.attrs, n.rule);
    if (!rule || rule->operands.size() != 2) return false;
    axes_ = distinct_[at(n.outputs[0])];
    if (!along_axes(n)) return false;
    std::vector<Dims> of(3);
    for (const ir::DimFactors& dim : rule->results[0])
      if (const auto all = dim.size() == 1 ? of_batch(*rule, dim[0]) : std::nullopt) {
        sizes_.push_back(rule->factor(dim[0]).size);
        for (std::size_t k = 0; k < 3; ++k) of[k].push_back((*all)[k]);
      }
    return (!sizes_.empty() || !axes_.empty()) && knows(known_, n.inputs[0], of[0]) &&
           knows(known_, n.inputs[1], of[1]) && knows(known_, n.outputs[0], of[2]);
  }

  // The dimensions before those that are reduced: of the operand, and of what a program computes.
  bool begin_reduced(const Unit& seed) {
    if (seed.segment || seed.summed || (seed.elementwise && seed.points.last == 0)) return false;
    const Node& n = node(seed.nodes.back());
    if (!seed.elementwise && (!n.op->reduces || n.inputs.size() != 1)) return false;
    std::size_t first = seed.points.first;
    const Shape& whole = seed.elementwise ? seed.points.shape : shape(n.inputs[0]);
    if (!seed.elementwise) {
      const auto axes = n.attrs.ints("axes");
      if (axes.empty()) return false;
      first = whole.size() - static_cast<std::size_t>(-*std::min_element(axes.begin(), axes.end()));
    }
    axes_ = distinct_[at(n.outputs[0])];
    Dims cut;
    for (std::size_t d = 0; d < first; ++d)
      if (whole[d] > 1) cut.push_back(static_cast<int>(d)), sizes_.push_back(whole[d]);
    if ((cut.empty() && axes_.empty()) || !knows(known_, n.outputs[0], cut)) return false;
    return fits(seed, known_);
  }

  // Whether the axes of devices are dimensions of a batch too: both operands differ along all of them.
  bool along_axes(const Node& n) const {
    return std::all_of(n.inputs.begin(), n.inputs.end(), [&](ir::Var v) { return distinct_[at(v)] == axes_; });
  }

  // The dimensions of both operands and of the result that are this factor and no other one.
  static std::optional<std::vector<int>> of_batch(const ir::FactorRule& rule, int factor) {
    std::vector<int> out;
    if (rule.factor(factor).kind != ir::FactorKind::Pass || rule.factor(factor).size < 2) return std::nullopt;
    for (const ir::ValueFactors* value : {&rule.operands[0], &rule.operands[1], &rule.results[0]}) {
      const auto d = ir::dimension_with(*value, factor);
      if (!d || (*value)[*d].size() != 1) return std::nullopt;
      out.push_back(static_cast<int>(*d));
    }
    return out;
  }

  bool knows(Known& known, ir::Var v, const Dims& dims) const {
    return known.try_emplace(v.id, dims).first->second == dims;
  }

  // Whether the unit works on each part by itself, and where its values are cut then.
  bool fits(const Unit& u, Known& known) const {
    if (u.summed || u.effect || u.segment) return false;
    for (int i : u.nodes)
      if (ir::host_copy(node(i)) != ir::HostCopy::None) return false;
    for (ir::Var v : outputs(u))
      if (distinct_[at(v)] != axes_) return false;
    return u.elementwise ? fits_program(u, known) : fits_node(node(u.nodes.front()), known);
  }

  // Of a program all elements of the same points; what is read from outside is aligned from the right.
  bool fits_program(const Unit& u, Known& known) const {
    const Shape& points = u.points.shape;
    const auto lead = static_cast<int>(u.points.last > 0 ? u.points.first : points.size() - u.points.row);
    const auto spread_to = [&](const Node& n) {
      return static_cast<int>(n.op->reduces ? points.size() : shape(n.outputs[0]).size());
    };
    std::optional<Dims> cut;  // dimensions of the points
    for (int i : u.nodes) {
      for (ir::Var v : node(i).inputs)
        if (const auto it = known.find(v.id); !cut && it != known.end() && outer(u, v)) {
          cut = it->second;
          for (int& d : *cut) {
            if (d == Segment::kWhole) return false;
            d += spread_to(node(i)) - static_cast<int>(shape(v).size());
          }
        }
      if (const auto it = known.find(node(i).outputs[0].id); !cut && it != known.end()) cut = it->second;
    }
    if (!cut) return false;
    for (std::size_t f = 0; f < cut->size(); ++f)
      if ((*cut)[f] < 0 || (*cut)[f] >= lead || points[static_cast<std::size_t>((*cut)[f])] != sizes_[f]) return false;
    for (int i : u.nodes) {
      if (!knows(known, node(i).outputs[0], *cut)) return false;
      for (ir::Var v : node(i).inputs) {
        if (!outer(u, v)) continue;
        Dims dims = *cut;
        for (int& d : dims) {
          d -= spread_to(node(i)) - static_cast<int>(shape(v).size());
          if (d < 0 || shape(v)[static_cast<std::size_t>(d)] == 1) d = Segment::kWhole;
        }
        if (!knows(known, v, dims)) return false;
      }
    }
    return true;
  }

  // A product of a batch with all of the factors, a reduction of other dimensions, or a view in which each is a
  // dimension of its own.
  bool fits_node(const Node& n, Known& known) const {
    if (n.outputs.size() != 1 || !(product(n) || n.op->reduces || ir::shows_all(*n.op)) || !along_axes(n)) return false;
    const transform::RuleRef rule = transform::local_rule(*n.op, types_of(g_, n.inputs), n.attrs, n.rule);
    if (!rule) return false;
    std::vector<Dims> of(n.inputs.size() + 1);
    for (std::size_t f = 0; f < sizes_.size(); ++f) {
      std::optional<int> factor;
      const auto look = [&](ir::Var v, const ir::ValueFactors& value) {
        const auto it = known.find(v.id);
        if (factor || it == known.end() || it->second[f] == Segment::kWhole) return;
        if (const auto& dim = value[static_cast<std::size_t>(it->second[f])]; dim.size() == 1) factor = dim[0];
      };
      for (std::size_t i = 0; i < n.inputs.size(); ++i) look(n.inputs[i], rule->operands[i]);
      look(n.outputs[0], rule->results[0]);
      if (!factor || rule->factor(*factor).kind != ir::FactorKind::Pass || rule->factor(*factor).size != sizes_[f])
        return false;
      for (std::size_t i = 0; i < of.size(); ++i) {
        const auto& value = i < n.inputs.size() ? rule->operands[i] : rule->results[0];
        const auto d = ir::dimension_with(value, *factor);
        if (!d || value[*d].size() != 1) return false;
        of[i].push_back(static_cast<int>(*d));
      }
    }
    for (std::size_t i = 0; i < n.inputs.size(); ++i)
      if (!knows(known, n.inputs[i], of[i])) return false;
    return knows(known, n.outputs[0], of.back());
  }

  // Takes in what makes an operand of unit u for units inside only, before u.
  void take_in_makers(std::size_t u, std::size_t floor) {
    for (ir::Var v : inputs_[u]) {
      const int w = maker_[at(v)];
      if (w == kNone || inside(w) || static_cast<std::size_t>(w) < floor) continue;
      const Dims& dims = known_.at(v.id);
      if (std::count(dims.begin(), dims.end(), Segment::kWhole) > 0) continue;
      bool early = false;  // somebody reads it before, who may be before what is inside
      const Unit& unit = units_[static_cast<std::size_t>(w)];
      for (ir::Var made : outputs(unit))
        for (int reader : readers_[at(made)]) early |= reader < static_cast<int>(u) && !inside(reader);
      if (Known trial = known_; !early && fits(unit, trial)) {
        known_ = std::move(trial);
        add(static_cast<std::size_t>(w));
      }
    }
  }

  const ir::Graph& g_;
  const std::vector<AxisSet>& distinct_;
  const std::vector<Unit>& units_;
  std::vector<int> maker_;                 // by value: its unit
  std::vector<std::vector<int>> readers_;  // by value: other units, ascending
  std::vector<ir::Vars> inputs_;           // by unit: from outside of it
  std::vector<bool> is_result_;
  // Of what grows:
  std::vector<char> in_, behind_;  // by unit; behind: it needs what is inside, and is outside
  std::vector<std::size_t> members_;
  std::size_t reach_ = 0;  // the last unit that reads what is inside
  Known known_;
  std::vector<std::int64_t> sizes_;  // by factor
  AxisSet axes_;
};

// Blocks, outer dimensions first, of about kBlock bytes, the last of them cut in parts that divide it; no cut where the
// devices' blocks do already.
void settle(Segment& s, std::int64_t bytes) {
  std::int64_t blocks = 1;
  for (Segment::Cut& cut : s.cuts) {
    const std::int64_t size = cut.count, wanted = std::max((bytes / blocks + kBlock - 1) / kBlock, kFew / blocks);
    cut.count = 1;
    while (cut.count < size && (cut.count < wanted || size % cut.count != 0)) ++cut.count;
    cut.each = size / cut.count;
    blocks *= cut.count;
  }
  std::erase_if(s.cuts, [](const Segment::Cut& cut) { return cut.count == 1; });
}

// What begins with seeds of one kind.
std::vector<Unit> together(const ir::Graph& g, const std::vector<AxisSet>& distinct, const runtime::Mesh* mesh,
                           const runtime::Mesh* whole, std::vector<Unit> units, Seed kind) {
  Growth growth(g, distinct, units);
  std::vector<char> taken(units.size(), 0);
  std::vector<std::size_t> order(units.size());  // of the units, as they are after all
  for (std::size_t u = 0; u < units.size(); ++u) order[u] = u;
  std::map<std::size_t, Unit> made;  // by the last of their units
  std::size_t floor = 0;             // stretches of units that are done together do not overlap
  for (std::size_t seed = 0; seed < units.size(); ++seed) {
    runtime::Stop::ask_here();
    if (seed < floor || !growth.from(seed, floor, kind)) continue;
    const auto devices = [&](const runtime::Mesh* m) { return m ? m->size_of(growth.axes()) : 1; };
    const std::int64_t each = growth.bytes_between();
    if (each < kWorth / devices(whole)) continue;
    auto s = std::make_shared<Segment>();
    s->axes = growth.axes();
    s->cuts = growth.cuts();
    settle(*s, each);
    std::int64_t blocks = 1;
    for (const Segment::Cut& cut : s->cuts) blocks *= cut.count;
    if (kind == Seed::Reduction && (blocks * devices(whole) < kSome || each / blocks > kLargest)) continue;
    if (blocks * devices(mesh) < 2) continue;
    Unit all;
    const std::size_t first = growth.members().front(), last = growth.members().back();
    for (std::size_t u : growth.members()) {
      taken[u] = 1;
      all.nodes.insert(all.nodes.end(), units[u].nodes.begin(), units[u].nodes.end());
      s->parts.push_back(units[u]);
    }
    std::sort(all.nodes.begin(), all.nodes.end());
    all.segment = std::move(s);
    made.emplace(last, std::move(all));
    // What needs it comes behind it; all else of the stretch before.
    const auto place = [&](std::size_t u) { return order.begin() + static_cast<std::ptrdiff_t>(u); };
    std::stable_partition(place(first), place(last + 1), [&](std::size_t u) { return !growth.behind(u); });
    floor = last + 1;
  }
  if (made.empty()) return units;
  std::vector<Unit> out;
  for (std::size_t u : order)
    if (const auto it = made.find(u); it != made.end())
      out.push_back(std::move(it->second));
    else if (!taken[u])
      out.push_back(std::move(units[u]));
  return out;
}

}  // namespace

std::vector<Unit> depth_first(const ir::Graph& g, const std::vector<AxisSet>& distinct, const runtime::Mesh* mesh,
                              const runtime::Mesh* whole, std::vector<Unit> units) {
  for (const Seed kind : {Seed::Product, Seed::Reduction})
    units = together(g, distinct, mesh, whole, std::move(units), kind);
  return units;
}

}  // namespace shard::exec
