// Small sums over processes go in one message where none needs another: a message costs more than the bytes of most
// gradients of biases and of statistics of a batch. What reads them is done after all that does not, so that they meet.
// Which ones go together hangs on the graph alone: all processes decide alike.
#include <algorithm>
#include <utility>

#include "interpreter/exec/lower_collectives.h"
#include "runtime/mesh/between.h"

namespace shard::exec {

using ir::Node;

namespace {

constexpr std::int64_t kTogether = 64 << 10;  // bytes of a block: what goes whole, in one exchange (mesh/between.h)

class Together {
 public:
  explicit Together(Lowering& l) : l_(l) {}

  // In rounds: first what needs none of the sums that wait, then these, then what was left. Effects keep their order.
  void run(std::span<const Unit> units) {
    std::vector<const Unit*> now, later;
    for (const Unit& u : units) now.push_back(&u);
    for (; !now.empty(); now = std::exchange(later, {})) {
      std::vector<char> missing(l_.values(), 0);
      bool effects_wait = false;
      for (const Unit* u : now) {
        bool can = !(u->effect && effects_wait);
        for (int i : u->all())
          for (ir::Var v : l_.node(i).inputs) can = can && !missing[at(v)];
        if (can && !waits(*u)) {
          l_.emit(*u);
          continue;
        }
        if (!can) {
          later.push_back(u);
          effects_wait = effects_wait || u->effect;
        }
        for (int i : u->nodes)
          for (ir::Var v : l_.node(i).outputs) missing[at(v)] = 1;
      }
      for (const Waiting& w : std::exchange(waiting_, {})) send(w);
    }
  }

 private:
  struct Waiting {  // sums of one kind, not emitted yet
    AxisSet distinct;
    DType dtype;
    std::int64_t bytes;
    std::vector<CollectiveSteps> sums;
  };

  // Whether the sum was put to those that wait.
  bool waits(const Unit& unit) {
    if (unit.nodes.size() != 1) return false;
    const Node& n = l_.node(unit.nodes[0]);
    if (!n.op->comm || !ir::sums_all(*n.op) || n.attrs.has("groups")) return false;
    CollectiveSteps sum(l_, n);
    const StridedView& p = l_.place(n.inputs[0]);
    const std::int64_t bytes = bytes_of(p, l_.mesh());
    if ((p.distinct & sum.apart()).empty() || !sum.neighbours() || bytes > kTogether || p.dtype == DType::Bool)
      return false;
    const auto alike = [&](const Waiting& w) {
      return w.sums[0].list() == sum.list() && w.distinct == p.distinct && w.dtype == p.dtype;
    };
    auto found = std::find_if(waiting_.begin(), waiting_.end(), alike);
    if (found != waiting_.end() && found->bytes + bytes > kTogether) {
      send(*found);
      waiting_.erase(found);
      found = waiting_.end();
    }
    if (found == waiting_.end()) found = waiting_.insert(found, {p.distinct, p.dtype, 0, {}});
    found->bytes += bytes;
    found->sums.push_back(std::move(sum));
    return true;
  }

  void send(const Waiting& w) {
    l_.of_node(w.sums.back().node());
    if (w.sums.size() == 1) return w.sums[0].emit();
    std::vector<CollectiveSteps::Terms> all;
    std::int64_t count = 0;
    for (const CollectiveSteps& sum : w.sums) {
      all.push_back(sum.own_terms(l_.place(sum.node().inputs[0])));
      count += runtime::numel(all.back().place.shape);
    }
    const auto part = [&](StridedView whole, const Shape& shape, std::int64_t from) {
      whole.offset += from;
      whole.shape = shape;
      whole.strides = runtime::row_major(shape);
      return whole;
    };
    const StridedView& first = all[0].place;
    const StridedView joint = l_.fresh(first.dtype, first.distinct, {count}),
                      out = l_.fresh(first.dtype, first.distinct, {count});
    std::int64_t from = 0;
    for (const auto& t : all) {
      l_.copy_into(t.place, part(joint, t.place.shape, from));
      from += runtime::numel(t.place.shape);
    }
    w.sums[0].between(all[0].over, joint, out);
    from = 0;
    for (std::size_t i = 0; i < all.size(); ++i) {
      const Shape& shape = all[i].place.shape;
      const StridedView sum = l_.converted(l_.scaled(part(out, shape, from), all[i].same), w.dtype);
      l_.put(w.sums[i].node().outputs[0], l_.around().exact ? l_.dense(sum, sum.distinct) : sum);
      from += runtime::numel(shape);
    }
  }

  Lowering& l_;
  std::vector<Waiting> waiting_;
};

}  // namespace

void lower_together(Lowering& l, std::span<const Unit> units) { Together(l).run(units); }

}  // namespace shard::exec
