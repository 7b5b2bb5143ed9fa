// Rows that move elements along a dimension by constant amounts and lose none: rev, rotate, concatenate. A split
// dimension needs neighbours (factors of kind halo).
#include <algorithm>

#include "interpreter/hlo/writer.h"
#include "runtime/kernels/joined.h"
#include "runtime/kernels/kernels.h"
#include "runtime/kernels/moves.h"
#include "stdlib/ops/elementwise.h"
#include "stdlib/ops/moving/halo.h"
#include "stdlib/ops/moving/moving_steps.h"
#include "stdlib/ops/ops.h"

namespace shard::stdlib {
namespace {

// ---- reverse

void register_reverse(OpTable& t) {
  OpDef row = internal_row("rev(x, axes: ints)", "The elements along the axes from last to first.");
  row.factors = [](const OpCall& call) {
    RuleBuilder r;
    auto dims = r.dims(call.in[0].shape);
    for (int a : from_front(call.attrs.ints("axes"), call.in[0].rank()))
      r.rule.factors[static_cast<std::size_t>(dims.at(static_cast<std::size_t>(a))[0])].kind = halo_of(call.in[0]);
    return r.made({dims}, {dims});
  };
  row.derivative =
      linear([](Builder& b, const NodeView& n, Var ct, const Type&) { return b.emit1(n.call.op, {ct}, n.call.attrs); });
  row.hlo = [](const hlo::Use& u) -> hlo::Values {
    Ints dims;
    for (int d : from_front(u.attrs.ints("axes"), u.in[0].rank())) dims.push_back(d);
    return {hlo::reverse(u.in[0], dims)};
  };
  row.of_complex = ir::OnParts{};
  row.kernel = [](const KernelCall& c) -> BoundKernel {
    View from = c.in[0], out = c.out[0];
    std::int64_t offset = 0;
    for (int a : from_front(c.attrs.ints("axes"), from.rank())) {
      auto d = static_cast<std::size_t>(a);
      if (from.shape[d] > 0) offset += (from.shape[d] - 1) * from.strides[d];
      from.strides[d] = -from.strides[d];
    }
    if (runtime::numel(from.shape) == 0) offset = 0;  // there is no last element to begin with
    return [=](void* const* i, void* const* o) mutable { runtime::copy(at(from, i[0], offset), at(out, o[0])); };
  };
  row.flops = 0;
  row.partition = [](Builder& b, const ir::LocalCall& c, std::span<const Var> in) -> Vars {
    Var x = in[0];
    Ints local;
    for (auto a : c.call.attrs.ints("axes")) {
      if (auto s = split_dim(c, 0, static_cast<std::size_t>(from_front(a, c.call.in[0].rank()))))
        x = reversed(b, x, *s);
      else
        local.push_back(a);
    }
    return {local.empty() ? x : b.emit1(c.call.op, {x}, {{"axes", local}})};
  };
  row.samples = "[4, 6] axes=[-1]; [2, 4, 6] axes=[-3, -2]; i32[4] axes=[-1]";
  t.add(std::move(row));
}

// ---- rotate: what falls off at the end comes in at the front

void register_turn(OpTable& t) {
  OpDef row = internal_row("rotate(x, axis: int, shift: int)", "The elements moved on along an axis, round its end.");
  row.factors = [](const OpCall& call) {
    RuleBuilder r;
    auto dims = r.dims(call.in[0].shape);
    auto a = static_cast<std::size_t>(from_front(call.attrs.integer("axis"), call.in[0].rank()));
    const std::int64_t shift = call.attrs.integer("shift");
    if (shift < 0 || shift >= std::max<std::int64_t>(call.in[0].shape.at(a), 1))
      fail("shape", "a rotation by " + std::to_string(shift) + " of dimension " + std::to_string(a) + " of " +
                        runtime::to_string(call.in[0]));
    r.rule.factors[static_cast<std::size_t>(dims[a][0])].kind = halo_of(call.in[0]);
    return r.made({dims}, {dims});
  };
  row.derivative = linear([](Builder& b, const NodeView& n, Var ct, const Type& want) {
    const std::int64_t axis = n.call.attrs.integer("axis"), shift = n.call.attrs.integer("shift");
    const std::int64_t size = want.shape[static_cast<std::size_t>(from_front(axis, want.rank()))];
    return b.emit1(n.call.op, {ct}, {{"axis", axis}, {"shift", size ? (size - shift) % size : 0}});
  });
  row.hlo = [](const hlo::Use& u) -> hlo::Values {
    const hlo::Value& x = u.in[0];
    const int d = from_front(u.attrs.integer("axis"), x.rank());
    const std::int64_t size = x.shape[static_cast<std::size_t>(d)], from = size - u.attrs.integer("shift");
    if (from == size) return {x};
    const hlo::Values turned{hlo::part(x, d, from, size), hlo::part(x, d, 0, from)};
    return {hlo::concatenate(turned, d)};
  };
  row.of_complex = ir::OnParts{};
  row.kernel = [](const KernelCall& c) -> BoundKernel {
    View front = c.in[0], out = c.out[0];
    auto a = static_cast<std::size_t>(from_front(c.attrs.integer("axis"), out.rank()));
    const std::int64_t size = out.shape[a], shift = c.attrs.integer("shift");
    if (runtime::numel(out.shape) == 0) return [](void* const*, void* const*) {};
    View back = front, to_front = out, to_back = out;
    front.shape[a] = to_front.shape[a] = size - shift;  // what stays before the end
    back.shape[a] = to_back.shape[a] = shift;
    const std::int64_t over = (size - shift) * back.strides[a], on = shift * out.strides[a];
    if (runtime::Moves few; few.add(0, front, 0, to_front, on) && few.add(0, back, over, to_back, 0)) return few;
    return [=](void* const* i, void* const* o) mutable {
      runtime::copy(at(front, i[0]), at(to_front, o[0], on));
      if (shift > 0) runtime::copy(at(back, i[0], over), at(to_back, o[0]));
    };
  };
  row.flops = 0;
  row.partition = [](Builder& b, const ir::LocalCall& c, std::span<const Var> in) -> Vars {
    const std::int64_t shift = c.call.attrs.integer("shift");
    const auto a = static_cast<std::size_t>(from_front(c.call.attrs.integer("axis"), c.call.in[0].rank()));
    if (auto s = split_dim(c, 0, a)) return {rolled(b, in[0], *s, shift)};
    return b.emit(c.call.op, in, c.attrs);
  };
  row.samples = "[8, 4] axis=-2 shift=3; [4, 6] axis=-1 shift=2; [8] axis=-1 shift=5; i32[4, 2] axis=-2 shift=1";
  t.add(std::move(row));
}

// ---- concatenate

// Along a split dimension each device fetches from every array what its block of the result shows of it.
Vars join_locally(Builder& b, const ir::LocalCall& c, std::span<const Var> in) {
  const auto a = static_cast<std::size_t>(from_front(c.call.attrs.integer("axis"), c.call.in[0].rank()));
  auto s = split_dim(c, 0, a);
  if (!s) return b.emit(c.call.op, in, c.attrs);
  std::int64_t size = 0, first = 0;
  for (const Type& type : c.call.in) size += type.shape[a];
  const std::int64_t each = s->block_of(size);
  Var made;
  for (std::size_t k = 0; k < in.size(); ++k) {
    const std::int64_t own = c.call.in[k].shape[a];
    if (own == 0) continue;
    s->size = own;
    Var shown = window(b, in[k], *s, -first, each, each);
    const Shape shape = b.type(shown).shape;
    Expr at{b, positions_of(b, *s, shape.size(), each)};
    made = made.valid() ? ir::select(b, ir::broadcast_to(b, ge(at, static_cast<double>(first)), shape), shown, made)
                        : shown;
    first += own;
  }
  return {made};
}

void register_concatenate(OpTable& t) {
  OpDef row = internal_row("concatenate(xs: arrays, axis: int)", "Arrays one after the other along an axis.");
  row.dtype.operands = Operands::Promote;
  row.factors = [](const OpCall& call) {
    RuleBuilder r;
    auto rank = static_cast<std::int64_t>(call.in[0].shape.size());
    auto dims = r.dims(call.in[0].shape);
    auto a = static_cast<std::size_t>(from_front(call.attrs.integer("axis"), rank));
    r.rule.factors[static_cast<std::size_t>(dims.at(a)[0])].kind = halo_of(call.in[0]);
    for (auto& type : call.in) {
      bool fits = static_cast<std::int64_t>(type.shape.size()) == rank;
      for (std::size_t d = 0; fits && d < type.shape.size(); ++d) fits = d == a || type.shape[d] == call.in[0].shape[d];
      if (!fits)
        fail("shape", "arrays to join must agree in all but dimension " + std::to_string(a) + ", got " +
                          runtime::to_string(call.in[0]) + " and " + runtime::to_string(type));
      r.rule.operands.push_back(dims);
    }
    r.rule.results = {dims};
    return r.rule;
  };
  row.shape = [](const OpCall& call) {
    Shape made = call.in[0].shape;
    auto a = static_cast<std::size_t>(from_front(call.attrs.integer("axis"), call.in[0].rank()));
    made[a] = 0;
    for (auto& type : call.in)
      if (__builtin_add_overflow(made[a], type.shape.at(a), &made[a]))
        fail("shape", "the joined dimension is too large");
    return std::vector<Shape>{made};
  };
  row.derivative = Transposes{
      {}, true, [](Builder& b, const NodeView& n, int operand, std::span<const Var> ct, const Type& want) -> Var {
        std::int64_t axis = n.call.attrs.integer("axis"), from = 0;
        auto a = static_cast<std::size_t>(from_front(axis, want.rank()));
        for (int i = 0; i < operand; ++i) from += n.call.in[static_cast<std::size_t>(i)].shape[a];
        return part_of(b, ct[0], axis, from, from + want.shape[a]);
      }};
  row.hlo = [](const hlo::Use& u) -> hlo::Values {
    return {hlo::concatenate(u.in, from_front(u.attrs.integer("axis"), u.in[0].rank()))};
  };
  row.of_complex = ir::OnParts{};
  row.kernel = [](const KernelCall& c) -> BoundKernel {
    std::vector<View> from(c.in.begin(), c.in.end()), to;
    std::vector<std::int64_t> offsets;
    View out = c.out[0];
    auto a = static_cast<std::size_t>(from_front(c.attrs.integer("axis"), out.rank()));
    std::int64_t offset = 0;
    for (auto& v : from) {
      View part = out;
      part.shape[a] = v.shape[a];
      to.push_back(part);
      offsets.push_back(offset);
      offset += v.shape[a] * out.strides[a];
    }
    runtime::Moves few;
    bool are_few = true;
    for (std::size_t k = 0; k < from.size(); ++k) are_few = are_few && few.add(k, from[k], 0, to[k], offsets[k]);
    if (are_few) return few;
    if (from.size() == 2)
      if (const auto joined = runtime::JoinedLines::of(from[0], from[1], out, a))
        return [=](void* const* i, void* const* o) { joined->run(i[0], i[1], o[0]); };
    return [=](void* const* i, void* const* o) mutable {
      for (std::size_t k = 0; k < from.size(); ++k)
        if (from[k].shape[a] > 0) runtime::copy(at(from[k], i[k]), at(to[k], o[0], offsets[k]));
    };
  };
  row.flops = 0;
  row.explicit_refuses = [](const OpCall& call, const FactorRule&) -> std::optional<std::string> {
    for (auto& type : call.in)
      if (!same_layout(type, call.in[0]) || laid_out(type) != laid_out(call.in[0]))
        return "arrays to join must have one layout, got " + runtime::to_string(call.in[0]) + " and " +
               runtime::to_string(type) + ": `shard` one of them first";
    return std::nullopt;
  };
  row.partition = join_locally;
  row.samples = "[4, 6] [2, 6] axis=-2; [4, 2] [4, 2] [4, 4] axis=-1; [4] axis=-1; i32[2, 2] i32[2, 2] axis=-1";
  t.add(std::move(row));
}
}  // namespace

void register_rotate(OpTable& t) {
  register_reverse(t);
  register_turn(t);
  register_concatenate(t);
}

}  // namespace shard::stdlib
