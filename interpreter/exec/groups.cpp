// Collectives restricted to groups of positions along their axes. The groups' members are first brought together in
// memory (groups, then members); over that the operation is one along the members, and every device then takes what its
// group got.
#include <algorithm>
#include <numeric>
#include <stdexcept>

#include "interpreter/exec/lowering.h"
#include "interpreter/transform/distinct.h"
#include "runtime/kernels/kernels.h"

namespace shard::exec {

using ir::Comm;
using ir::Node;

namespace {

struct GroupedMove {  // copies of one block each; offsets in bytes
  View from, to;
  std::vector<std::pair<std::int64_t, std::int64_t>> at;
  void run(void* in, void* out) {
    for (auto [i, o] : at) {
      from.data = static_cast<char*>(in) + i;
      to.data = static_cast<char*>(out) + o;
      runtime::copy(from, to);
    }
  }
};

}  // namespace

// One collective in groups.
class Lowering::Grouped {
 public:
  Grouped(Lowering& l, const Node& n)
      : l_(l), n_(n), p_(l.place(n.inputs[0])), list_(transform::axes_of(n, *l.mesh_)), order_(n.attrs.ints("groups")) {
    std::int64_t devices = 1;
    rest_ = p_.distinct;
    for (AxisId a : list_) {
      if (l_.around_.frozen.has(a)) throw std::logic_error("a collective in a region that runs block by block");
      devices *= l_.mesh_->size_of(a);
      rest_.remove(a);
    }
    members_ = n.attrs.integer("group_size");
    if (members_ < 1 || static_cast<std::int64_t>(order_.size()) != devices || devices % members_)
      throw runtime::RuntimeError("collective", "groups must name each of the " + std::to_string(devices) +
                                                    " positions once and be of one size");
    groups_ = devices / members_;
    others_ = rest_.list();
    const Comm c = n.op->comm;
    reduces_ = c == Comm::Sum || c == Comm::Max || c == Comm::Min || c == Comm::ScatterSum;
    tiled_ = n.attrs.has("tiled") && n.attrs.flag("tiled");
  }

  void run() {
    const Place together = side_by_side();
    const Place got = reduces_ ? reduced(together) : together;
    hand_out(got, parts_of(got));
  }

 private:
  // What each device takes of its group's memory: dimensions, each made of parts, from an offset for its place there.
  struct Parts {
    std::vector<std::vector<Dim>> dims;
    std::int64_t member_step = 0;  // elements
  };

  View view(const Place& q) const { return view_of(q, others_, l_.mesh_); }
  std::int64_t item() const { return static_cast<std::int64_t>(runtime::size_of(p_.dtype)); }
  std::int64_t group(std::size_t i) const { return static_cast<std::int64_t>(i) / members_; }
  std::int64_t member(std::size_t i) const { return static_cast<std::int64_t>(i) % members_; }
  std::int64_t device_offset(const Place& q, std::int64_t position) const {
    std::int64_t at = 0;
    for (std::size_t i = list_.size(); i-- > 0;) {
      at += position % l_.mesh_->size_of(list_[i]) * q.device_stride(list_[i]);
      position /= l_.mesh_->size_of(list_[i]);
    }
    return at;
  }
  // The dimension of the local shape that an attribute names; `more`: of a result with one more.
  std::size_t dimension(const char* attribute, std::size_t more = 0) const {
    const std::int64_t d = n_.attrs.integer(attribute);
    return static_cast<std::size_t>(d < 0 ? d + static_cast<std::int64_t>(p_.shape.size() + more) : d);
  }
  void copy(GroupedMove move, const Place& from, const Place& to) {
    l_.step([move](void* const* i, void* const* o) mutable { move.run(*i, *o); }, {from}, {to});
  }

  // Members side by side: [others..., group, member, local...].
  Place side_by_side() {
    Shape grouped = p_.shape;
    grouped.insert(grouped.begin(), {groups_, members_});
    Place t = l_.fresh(p_.dtype, rest_, grouped);
    Place one = t;
    one.shape = p_.shape;
    one.strides.erase(one.strides.begin(), one.strides.begin() + 2);
    GroupedMove move{view(p_), view(one), {}};
    for (std::size_t i = 0; i < order_.size(); ++i)
      move.at.emplace_back(device_offset(p_, order_[i]) * item(),
                           (group(i) * t.strides[0] + member(i) * t.strides[1]) * item());
    copy(std::move(move), p_, t);
    return t;
  }

  // What the group has of a reduction: [others..., group, local...].
  Place reduced(const Place& t) {
    const Comm c = n_.op->comm;
    Shape kept = t.shape;
    kept.erase(kept.begin() + 1);
    const Place got = l_.fresh(p_.dtype, rest_, kept);
    runtime::Reduce op = c == Comm::Max            ? runtime::Reduce::Max
                         : c == Comm::Min          ? runtime::Reduce::Min
                         : p_.dtype == DType::Bool ? runtime::Reduce::Or
                                                   : runtime::Reduce::Sum;
    View in = view(t), made = view(got);
    const auto member = static_cast<std::ptrdiff_t>(others_.size()) + 1;  // to the front
    std::rotate(in.shape.begin(), in.shape.begin() + member, in.shape.begin() + member + 1);
    std::rotate(in.strides.begin(), in.strides.begin() + member, in.strides.begin() + member + 1);
    l_.step([sum = runtime::bind_reduce_blocks(op, in, 1, made)](void* const* i, void* const* o) { sum(*i, *o); }, {t},
            {got});
    return got;
  }

  Parts parts_of(const Place& got) const {
    const Comm c = n_.op->comm;
    Parts out;
    for (std::size_t d = reduces_ ? 1 : 2; d < got.shape.size(); ++d)
      out.dims.push_back({{got.shape[d], got.strides[d]}});
    auto cut = [&](std::size_t d) {  // dimension d over the members
      out.dims[d][0].size /= members_;
      out.member_step = out.dims[d][0].size * out.dims[d][0].stride;
      if (!tiled_) out.dims.erase(out.dims.begin() + static_cast<std::ptrdiff_t>(d));
    };
    auto put_together = [&](std::size_t d) {  // the members along dimension d
      const Dim across{members_, got.strides[1]};
      if (tiled_)
        out.dims[d].insert(out.dims[d].begin(), across);
      else
        out.dims.insert(out.dims.begin() + static_cast<std::ptrdiff_t>(d), {across});
    };
    switch (c) {
      case Comm::ScatterSum: cut(dimension("axis")); break;
      case Comm::Gather: put_together(dimension("axis", tiled_ ? 0 : 1)); break;
      case Comm::AllToAll:
        cut(dimension("split"));
        put_together(dimension("concat"));
        break;
      case Comm::Permute:
      case Comm::Index:
      case Comm::Slice:
      case Comm::Cast: throw std::logic_error("groups are of reductions, gathers and exchanges");
      default: break;
    }
    return out;
  }

  // Each device takes its part.
  void hand_out(const Place& got, const Parts& parts) {
    Place apart = got;
    apart.shape.clear();
    apart.strides.clear();
    Shape shape;
    for (const auto& dim : parts.dims) {
      std::int64_t size = 1;
      for (const Dim& d : dim) {
        size *= d.size;
        apart.shape.push_back(d.size);
        apart.strides.push_back(d.stride);
      }
      shape.push_back(size);
    }
    const ir::Var out_var = n_.outputs[0];
    AxisSet distinct = l_.axes(out_var) | rest_;
    for (AxisId a : list_)
      if (l_.mesh_->size_of(a) > 1) distinct.add(a);
    const Place out = l_.fresh(p_.dtype, distinct, apart.shape);
    GroupedMove move{view(apart), view(out), {}};
    for (std::size_t i = 0; i < order_.size(); ++i)
      move.at.emplace_back((group(i) * got.strides[0] + member(i) * parts.member_step) * item(),
                           device_offset(out, order_[i]) * item());
    copy(std::move(move), got, out);
    // Where all groups held the same to begin with, the result is still equal everywhere: any block stands for all.
    Place seen = *reshaped(out, shape);
    Strides device;
    for (AxisId a : l_.axes(out_var).list()) device.push_back(seen.device_stride(a));
    seen.device = std::move(device);
    seen.distinct = l_.axes(out_var);
    l_.put(out_var, std::move(seen));
  }

  Lowering& l_;
  const Node& n_;
  const Place p_;
  std::vector<AxisId> list_;
  const ir::Ints& order_;  // positions, group after group
  std::int64_t members_ = 1, groups_ = 1;
  AxisSet rest_;                // axes along which blocks differ beside those of the collective
  std::vector<AxisId> others_;  // the same in order
  bool reduces_ = false, tiled_ = false;
};

void Lowering::emit_grouped(const Node& n) { Grouped(*this, n).run(); }

}  // namespace shard::exec
