// Rows that show elements otherwise: a view of where the operand lies, or of a copy of it between zeros.
#include <algorithm>
#include <utility>

#include "interpreter/exec/draft.h"
#include "interpreter/exec/lowering.h"
#include "interpreter/ir/op.h"
#include "runtime/kernels/kernels.h"

namespace shard::exec {

using ir::Node;

void Lowering::emit_view(const Node& n, const ir::ViewOf& view) {
  const StridedView x =
      view.frame ? framed(place(n.inputs[0]), view.frame(n.attrs, type(n.inputs[0]).shape.size())) : place(n.inputs[0]);
  const Shape& shape = type(n.outputs[0]).shape;
  if (x.splat) return put(n.outputs[0], broadcast(constant(x.dtype, *x.splat), shape));
  StridedView p = x;
  auto seen = view.strides(strided(p), n.attrs, shape);
  if (!seen) {
    p = fresh(x.dtype, x.distinct, x.shape);
    copy_into(x, p);
    seen = view.strides(strided(p), n.attrs, shape);
  }
  StridedView out = seen_as(p, *std::move(seen));
  // Small parts of what is not small itself are copied: they would keep all of it alive.
  constexpr std::int64_t kSmall = 4096;  // bytes
  if (view.part && 4 * runtime::numel(shape) < runtime::numel(p.shape) && draft_.at(p.storage).bytes > kSmall) {
    StridedView copy = fresh(out.dtype, out.distinct, shape);
    copy_into(out, copy);
    out = std::move(copy);
  }
  put(n.outputs[0], std::move(out));
}

// `p` between elements of 0.
StridedView Lowering::framed(const StridedView& p, const ir::Pairs& frame) {
  const bool none = std::all_of(frame.begin(), frame.end(), [](auto& f) { return f.first == 0 && f.second == 0; });
  if (none) return p;
  const Anchors order = anchors_of(p, mesh_).value_or(anchored(p.distinct, 0));
  const StridedView out = fresh(p.dtype, order, ir::framed(p.shape, frame));
  StridedView inner = out;
  inner.shape = p.shape;
  for (std::size_t d = 0; d < frame.size(); ++d) inner.offset += frame[d].first * inner.strides[d];
  const View whole = view_of(out, out.distinct.list(), mesh_);
  step(
      [whole](void* const*, void* const* o) {
        View all = whole;
        all.data = *o;
        runtime::fill(all, 0, 0);
      },
      {}, {out});
  copy_into(p, inner);
  return out;
}

}  // namespace shard::exec
