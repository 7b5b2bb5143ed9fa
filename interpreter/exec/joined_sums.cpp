// Small sums over processes go in one message where none needs another: a message costs more than the bytes of most
// gradients of biases and of statistics of a batch. What reads them is done after all that does not, so that they meet.
// Which ones go together hangs on the graph alone: all processes decide alike.
#include <algorithm>
#include <utility>

#include "interpreter/exec/lowering.h"
#include "interpreter/transform/distinct.h"
#include "runtime/mesh/between.h"

namespace shard::exec {

using ir::Node;

namespace {

constexpr std::int64_t kTogether = 64 << 10;  // bytes of a block: what goes whole, in one exchange (mesh/between.h)

}  // namespace

// Whether the sum was put to those that wait.
bool Lowering::waits(const Unit& unit) {
  if (unit.nodes.size() != 1) return false;
  const Node& n = g_.nodes[static_cast<std::size_t>(unit.nodes[0])];
  if (!n.op->comm || !ir::sums_all(*n.op) || n.attrs.has("groups")) return false;
  const std::vector<AxisId> list = transform::axes_of(n, *around_.mesh_ref, true);
  const StridedView& p = place(n.inputs[0]);
  const AxisSet differs = p.distinct & apart(list);
  const std::int64_t bytes = elements(p.distinct, p.shape, mesh_) * static_cast<std::int64_t>(size_of(p.dtype));
  if (differs.empty() || !neighbours(list) || bytes > kTogether || p.dtype == DType::Bool) return false;
  const auto alike = [&](const Waiting& w) { return w.list == list && w.distinct == p.distinct && w.dtype == p.dtype; };
  auto found = std::find_if(waiting_.begin(), waiting_.end(), alike);
  if (found != waiting_.end() && found->bytes + bytes > kTogether) {
    send(*found);
    waiting_.erase(found);
    found = waiting_.end();
  }
  if (found == waiting_.end()) found = waiting_.insert(found, {list, p.distinct, p.dtype, 0, {}});
  found->bytes += bytes;
  found->nodes.push_back(&n);
  return true;
}

// In rounds: first what needs none of the sums that wait, then these, then what was left. Effects keep their order.
void Lowering::emit_together(std::span<const Unit> units) {
  std::vector<const Unit*> now, later;
  for (const Unit& u : units) now.push_back(&u);
  for (; !now.empty(); now = std::exchange(later, {})) {
    std::vector<char> missing(g_.types.size(), 0);
    bool effects_wait = false;
    for (const Unit* u : now) {
      bool can = !(u->effect && effects_wait);
      for (int i : u->nodes)
        for (ir::Var v : g_.nodes[static_cast<std::size_t>(i)].inputs) can = can && !missing[at(v)];
      if (can && !waits(*u)) {
        emit(*u);
        continue;
      }
      if (!can) {
        later.push_back(u);
        effects_wait = effects_wait || u->effect;
      }
      for (int i : u->nodes)
        for (ir::Var v : g_.nodes[static_cast<std::size_t>(i)].outputs) missing[at(v)] = 1;
    }
    for (const Waiting& w : std::exchange(waiting_, {})) send(w);
  }
}

void Lowering::send(const Waiting& w) {
  span_ = w.nodes.back()->span;
  node_ = w.nodes.back();
  if (w.nodes.size() == 1) return emit_node(*w.nodes[0]);
  std::vector<Terms> all;
  std::int64_t count = 0;
  for (const Node* n : w.nodes) {
    all.push_back(own_terms(*n->op->comm, place(n->inputs[0]), w.list));
    count += runtime::numel(all.back().place.shape);
  }
  const auto part = [&](StridedView whole, const Shape& shape, std::int64_t from) {
    whole.offset += from;
    whole.shape = shape;
    whole.strides = runtime::row_major(shape);
    return whole;
  };
  const StridedView& first = all[0].place;
  const StridedView joint = fresh(first.dtype, first.distinct, {count}),
                    out = fresh(first.dtype, first.distinct, {count});
  std::int64_t from = 0;
  for (const Terms& t : all) {
    copy_into(t.place, part(joint, t.place.shape, from));
    from += runtime::numel(t.place.shape);
  }
  between(*w.nodes[0], all[0].over, joint, out);
  from = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Shape& shape = all[i].place.shape;
    const StridedView sum = converted(scaled(part(out, shape, from), all[i].same), w.dtype);
    put(w.nodes[i]->outputs[0], around_.exact ? dense(sum, sum.distinct) : sum);
    from += runtime::numel(shape);
  }
}

}  // namespace shard::exec
