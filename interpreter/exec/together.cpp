// Small sums over processes that stand together go in one message. A sum waits until somebody reads it, and takes along
// all that wait with it: a message costs more than the bytes of most gradients of biases and of statistics of a batch.
// Which ones go together hangs on the graph alone, so all processes decide alike.
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
  if (!around_.part || around_.watch || unit.nodes.size() != 1) return false;
  const Node& n = g_.nodes[static_cast<std::size_t>(unit.nodes[0])];
  if (!n.op->comm || !ir::sums_all(*n.op) || n.attrs.has("groups")) return false;
  const std::vector<AxisId> list = transform::axes_of(n, *around_.mesh_ref, true);
  const Place& p = place(n.inputs[0]);
  const AxisSet differs = p.distinct & apart(list);
  const std::int64_t bytes = elements(p.distinct, p.shape, mesh_) * static_cast<std::int64_t>(size_of(p.dtype));
  if (differs.empty() || !neighbours(list) || bytes > kTogether) return false;
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

// Those that this unit reads, or all, are sent before it.
void Lowering::send_before(const Unit* unit) {
  const auto reads = [&](const Waiting& w) {
    return !unit || std::any_of(unit->nodes.begin(), unit->nodes.end(), [&](int i) {
      const auto& inputs = g_.nodes[static_cast<std::size_t>(i)].inputs;
      return std::any_of(w.nodes.begin(), w.nodes.end(), [&](const Node* n) {
        return std::find(inputs.begin(), inputs.end(), n->outputs[0]) != inputs.end();
      });
    });
  };
  for (std::size_t i = 0; i < waiting_.size();) {
    if (!reads(waiting_[i])) {
      ++i;
      continue;
    }
    send(waiting_[i]);
    waiting_.erase(waiting_.begin() + static_cast<std::ptrdiff_t>(i));
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
  const auto part = [&](Place whole, const Shape& shape, std::int64_t from) {
    whole.offset += from;
    whole.shape = shape;
    whole.strides = runtime::row_major(shape);
    return whole;
  };
  const Place& first = all[0].place;
  const Place joint = fresh(first.dtype, first.distinct, {count}), out = fresh(first.dtype, first.distinct, {count});
  std::int64_t from = 0;
  for (const Terms& t : all) {
    copy_into(t.place, part(joint, t.place.shape, from));
    from += runtime::numel(t.place.shape);
  }
  between(*w.nodes[0], all[0].over, joint, out);
  from = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Shape& shape = all[i].place.shape;
    const Place sum = converted(scaled(part(out, shape, from), all[i].same), w.dtype);
    put(w.nodes[i]->outputs[0], around_.exact ? dense(sum, sum.distinct) : sum);
    from += runtime::numel(shape);
  }
}

}  // namespace shard::exec
