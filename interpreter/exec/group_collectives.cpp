// Collectives restricted to groups of positions along their axes. The groups' members are first brought together in
// memory (groups, then members); over that the operation is one along the members, and every device then takes what its
// group got.
#include <algorithm>
#include <numeric>
#include <stdexcept>
#include <utility>

#include "interpreter/exec/lower_collectives.h"
#include "runtime/kernels/kernels.h"

namespace shard::exec {

using ir::Node;

namespace {

class GroupedCollective {
 public:
  // `combine`: how terms become one, where they do.
  GroupedCollective(Lowering& lowering, const Node& n, const std::vector<AxisId>& list,
                    std::optional<runtime::Reduce> combine, const StridedView& operand)
      : l_(lowering),
        n_(n),
        c_(*n.op->comm),
        mesh_(*lowering.mesh()),
        list_(list),
        combine_(combine),
        operand_(operand),
        order_(n.attrs.ints("groups")),
        members_(n.attrs.integer("group_size")),
        rest_(operand.distinct - AxisSet::of(list)),
        others_(rest_.list()) {
    if (!c_.combine && !c_.join) throw std::logic_error("groups are of reductions, gathers and exchanges");
    const std::int64_t devices = mesh_.size_of(list_);
    if (members_ < 1 || static_cast<std::int64_t>(order_.size()) != devices || devices % members_)
      throw runtime::RuntimeError("collective", "groups must name each of the " + std::to_string(devices) +
                                                    " positions once and be of one size");
  }

  StridedView run() {
    const StridedView t = side_by_side(operand_);
    return handed_out(combine_ ? combined(t) : t);
  }

 private:
  // The block of a device, by its position along the axes, in bytes.
  std::int64_t at_device(const StridedView& q, std::int64_t position) const {
    return offset_at(q, list_, position, mesh_) * item_bytes(q.dtype);
  }
  // The i-th of all members, of groups and members that lie so far apart, in bytes.
  std::int64_t at_member(std::size_t i, std::int64_t group_step, std::int64_t member_step, DType dtype) const {
    const auto n = static_cast<std::int64_t>(i);
    return (n / members_ * group_step + n % members_ * member_step) * item_bytes(dtype);
  }
  void move(BlockMoves m, const StridedView& from, const StridedView& to) {
    l_.step([m = std::move(m)](void* const* i, void* const* o) mutable { m.run(*i, *o); }, {from}, {to});
  }

  // 1. Members side by side: [others..., group, member, local...].
  StridedView side_by_side(const StridedView& p) {
    Shape grouped = p.shape;
    grouped.insert(grouped.begin(), {static_cast<std::int64_t>(order_.size()) / members_, members_});
    StridedView t = l_.fresh(p.dtype, rest_, grouped), one = t;
    one.shape = p.shape;
    one.strides.erase(one.strides.begin(), one.strides.begin() + 2);
    BlockMoves m{view_of(p, others_, &mesh_), view_of(one, others_, &mesh_), {}};
    for (std::size_t i = 0; i < order_.size(); ++i)
      m.at.emplace_back(at_device(p, order_[i]), at_member(i, t.strides[0], t.strides[1], p.dtype));
    move(std::move(m), p, t);
    return t;
  }

  // 2. What the group has in common: [others..., group, local...].
  StridedView combined(const StridedView& t) {
    Shape kept = t.shape;
    kept.erase(kept.begin() + 1);
    const StridedView got = l_.fresh(t.dtype, rest_, kept);
    View in = view_of(t, others_, &mesh_), made = view_of(got, others_, &mesh_);
    const auto member = static_cast<std::ptrdiff_t>(others_.size()) + 1;  // to the front
    std::rotate(in.shape.begin(), in.shape.begin() + member, in.shape.begin() + member + 1);
    std::rotate(in.strides.begin(), in.strides.begin() + member, in.strides.begin() + member + 1);
    l_.step(
        [sum = runtime::bind_reduce_blocks(*combine_, in, 1, made)](void* const* i, void* const* o) { sum(*i, *o); },
        {t}, {got});
    return got;
  }

  // 3. Each device takes its part of what its group has, at an offset for its place in the group.
  StridedView handed_out(const StridedView& got) {
    const bool whole = ir::tiled(c_, n_.attrs);
    const auto dimension = [&](const char* name, std::size_t rank) {
      const std::int64_t d = n_.attrs.integer(name);
      return static_cast<std::size_t>(d < 0 ? d + static_cast<std::int64_t>(rank) : d);
    };
    std::vector<std::vector<Dim>> dims;
    for (std::size_t d = combine_ ? 1 : 2; d < got.shape.size(); ++d) dims.push_back({{got.shape[d], got.strides[d]}});
    std::int64_t member_step = 0;  // elements
    if (c_.split) {
      const std::size_t d = dimension(c_.split, dims.size());
      dims[d][0].size /= members_;
      member_step = dims[d][0].size * dims[d][0].stride;
      if (!whole) dims.erase(dims.begin() + static_cast<std::ptrdiff_t>(d));
    }
    if (c_.join) {
      const std::size_t d = dimension(c_.join, dims.size() + (whole ? 0 : 1));
      if (!whole) dims.insert(dims.begin() + static_cast<std::ptrdiff_t>(d), std::vector<Dim>());
      dims[d].insert(dims[d].begin(), Dim{members_, got.strides[1]});
    }
    StridedView apart = got;
    const Shape shape = lay_apart(apart, dims);
    const ir::Var result = n_.outputs[0];
    AxisSet distinct = l_.axes(result) | rest_;
    for (AxisId a : list_)
      if (mesh_.size_of(a) > 1) distinct.add(a);
    const StridedView out = l_.fresh(got.dtype, distinct, apart.shape);
    BlockMoves m{view_of(apart, others_, &mesh_), view_of(out, others_, &mesh_), {}};
    for (std::size_t i = 0; i < order_.size(); ++i)
      m.at.emplace_back(at_member(i, got.strides[0], member_step, got.dtype), at_device(out, order_[i]));
    move(std::move(m), got, out);
    // Where all groups held the same to begin with, the result is still equal everywhere: any block stands for all.
    return seen_along(*reshaped(out, shape), l_.axes(result));
  }

  Lowering& l_;
  const Node& n_;
  const ir::Collective& c_;
  const Mesh& mesh_;
  const std::vector<AxisId>& list_;
  std::optional<runtime::Reduce> combine_;
  const StridedView& operand_;
  const ir::Ints& order_;  // positions along the axes, group after group
  std::int64_t members_;
  AxisSet rest_;  // further axes along which the operand differs
  std::vector<AxisId> others_;
};

}  // namespace

StridedView CollectiveSteps::grouped(StridedView p) const {
  const auto run = [&] {
    return GroupedCollective(l_, n_, list_, c_.combine ? std::optional(combining(p.dtype)) : std::nullopt, p).run();
  };
  if (apart_.empty()) return run();
  const Mesh wide = widened();
  p = brought(std::move(p), p.distinct & apart_, wide);
  const OnMesh scope(l_, wide);
  return own_of(run(), {});
}

}  // namespace shard::exec
