// Windows whose start is known when the program runs: dynamic_slice_at and dynamic_update_at (internal), dynamic_slice
// and dynamic_update_slice as users call them. `axes` counts from the end; starts are scalars, one an axis, and are
// clamped so that the window lies inside (JAX). Split dimensions: an update writes where its window falls, a window of
// one element is taken where it is; longer windows need them whole.
#include <algorithm>

#include "interpreter/hlo/writer.h"
#include "interpreter/transform/batch.h"
#include "runtime/kernels/kernels.h"
#include "runtime/kernels/moves.h"
#include "stdlib/ops/elementwise.h"
#include "stdlib/ops/moving/halo.h"
#include "stdlib/ops/moving/moving_steps.h"
#include "stdlib/ops/ops.h"

namespace shard::stdlib {
namespace {

Shape window_shape(const OpCall& call) {
  Shape made = call.in[0].shape;
  const Ints &axes = call.attrs.ints("axes"), &sizes = call.attrs.ints("sizes");
  for (std::size_t i = 0; i < axes.size(); ++i)
    made.at(static_cast<std::size_t>(from_front(axes[i], call.in[0].rank()))) = sizes[i];
  return made;
}

void check_window(const OpCall& call, const Shape& window, std::size_t first_start) {
  const Type& x = call.in[0];
  std::size_t count = call.attrs.ints("axes").size();
  if (call.in.size() != first_start + count)
    fail("shape", std::to_string(call.in.size() - first_start) + " starts for " + std::to_string(count) +
                      " dimensions of " + runtime::to_string(x));
  for (std::size_t d = 0; d < x.shape.size(); ++d)
    if (window[d] < 0 || window[d] > x.shape[d])
      fail("shape", "a window of shape " + runtime::to_string(window) + " does not fit into " + runtime::to_string(x));
  for (std::size_t i = first_start; i < call.in.size(); ++i)
    if (!call.in[i].shape.empty() || !runtime::is_integer(call.in[i].dtype))
      fail("type", "a start is one integer, got " + runtime::to_string(call.in[i]));
}

ir::KindFn kind_of_array(std::size_t first_start) {
  return [first_start](const OpCall& call) {
    if (first_start == 2 && call.in[1].dtype != call.in[0].dtype)
      fail("type",
           "a window of " + runtime::to_string(call.in[1]) + " does not go into " + runtime::to_string(call.in[0]));
    for (std::size_t i = first_start; i < call.in.size(); ++i)
      if (call.in[i].dtype != DType::I32 && call.in[i].dtype != DType::I64)
        fail("type", "a start is i32 or i64, got " + runtime::to_string(call.in[i]));
    return std::vector<Kind>{call.in[0].kind()};
  };
}

Shape front(const Shape& s, int count) { return {s.begin(), s.begin() + count}; }

// What both kernels need: for each block of the devices, where the window begins in the array.
struct Window {
  View array, part;                // of one block
  std::vector<View> starts;        // with the blocks' dimensions
  std::vector<std::size_t> dims;   // windowed dimensions of a block
  std::vector<std::int64_t> room;  // largest start of each
  Shape blocks;
  std::vector<runtime::Strides> strides;  // of the blocks of what is copied, of the result, of the starts
  Window(const KernelCall& c, const View& whole, const View& window, std::size_t first_start) {
    auto lead = static_cast<std::size_t>(c.batch);
    auto block = [&](const View& v) {
      View made = v;
      made.shape.erase(made.shape.begin(), made.shape.begin() + c.batch);
      made.strides.erase(made.strides.begin(), made.strides.begin() + c.batch);
      return made;
    };
    array = block(whole);
    part = block(window);
    starts.assign(c.in.begin() + static_cast<std::ptrdiff_t>(first_start), c.in.end());
    blocks = front(c.out[0].shape, c.batch);
    strides = {front(c.in[first_start - 1].strides, c.batch), front(c.out[0].strides, c.batch)};
    for (auto& s : starts) strides.push_back(s.strides);
    for (auto a : c.attrs.ints("axes")) {
      dims.push_back(static_cast<std::size_t>(from_front(a, whole.rank())) - lead);
      room.push_back(array.shape[dims.back()] - part.shape[dims.back()]);
    }
  }
  std::int64_t offset(void* const* in, std::size_t first_start, const std::vector<std::int64_t>& at_block) const {
    std::int64_t made = 0;
    for (std::size_t i = 0; i < dims.size(); ++i) {
      std::int64_t o = at_block[2 + i];
      std::int64_t s = starts[i].dtype == DType::I64 ? static_cast<const std::int64_t*>(in[first_start + i])[o]
                                                     : static_cast<const std::int32_t*>(in[first_start + i])[o];
      made += std::clamp<std::int64_t>(s, 0, room[i]) * array.strides[dims[i]];
    }
    return made;
  }
  // Adds what is copied, from this array or into it, where it is little.
  bool added_to(runtime::Moves& few, const View& from, const View& to, std::size_t first_start) const {
    const auto item = static_cast<std::int64_t>(size_of(array.dtype));
    const bool into = first_start == 2;
    bool little = true;
    for_each_block(blocks, strides, [&](const std::vector<std::int64_t>& at_block) {
      const std::size_t first = few.all.size();
      little = little && few.add(first_start - 1, from, at_block[0], to, at_block[1]);
      for (std::size_t i = 0; little && i < dims.size(); ++i) {
        const auto word = static_cast<std::int64_t>(size_of(starts[i].dtype));
        few.place(first,
                  {first_start + i, at_block[2 + i] * word, starts[i].dtype == DType::I64, room[i] + 1,
                   array.strides[dims[i]] * item, runtime::Bounds::Clamp},
                  into);
      }
    });
    return little;
  }
};

BoundKernel bind_slice(const KernelCall& c) {
  View x = c.in[0], out = c.out[0];
  Window w(c, x, out, 1);
  View from = w.array, to = w.part;
  from.shape = to.shape;
  if (runtime::numel(out.shape) == 0) return [](void* const*, void* const*) {};
  if (runtime::Moves few; w.added_to(few, from, to, 1)) return few;
  return [=](void* const* in, void* const* o) mutable {
    for_each_block(w.blocks, w.strides, [&](const std::vector<std::int64_t>& at_block) {
      runtime::copy(at(from, in[0], at_block[0] + w.offset(in, 1, at_block)), at(to, o[0], at_block[1]));
    });
  };
}

BoundKernel bind_update(const KernelCall& c) {
  View x = c.in[0], v = c.in[1], out = c.out[0];
  Window w(c, out, v, 2);
  View from = w.part, to = w.array;
  to.shape = from.shape;
  if (runtime::numel(out.shape) == 0) return [](void* const*, void* const*) {};
  bool nothing = runtime::numel(v.shape) == 0;
  runtime::Moves few;
  few.whole(0, out);
  if (runtime::is_contiguous(x) && runtime::is_contiguous(out) && w.added_to(few, from, to, 2)) return few;
  return [=](void* const* in, void* const* o) mutable {
    if (in[0] != o[0]) runtime::copy(at(x, in[0]), at(out, o[0]));
    if (nothing) return;
    for_each_block(w.blocks, w.strides, [&](const std::vector<std::int64_t>& at_block) {
      runtime::copy(at(from, in[1], at_block[0]), at(to, o[0], at_block[1] + w.offset(in, 2, at_block)));
    });
  };
}

// ---- batching. With starts of its own for each mapped entry, rows are read and written one axis after the other.

struct MappedWindow {
  Builder& b;
  std::int64_t entries;
  const Ints& axes;
  std::span<const Mapped> starts;

  std::int64_t size(Var x, std::size_t i) const {
    return b.type(x).shape[static_cast<std::size_t>(from_front(axes[i], b.type(x).rank()))];
  }
  // The places of a window of k rows along the i-th axis of x: [entries, k].
  Var places(Var x, std::size_t i, std::int64_t k) const {
    Expr start{b, starts[i].var};
    start = minimum(maximum(start, start.number(0)), start.number(static_cast<double>(size(x, i) - k)));
    Var first = starts[i].mapped ? expand(b, start, {entries, 1}) : start.var();
    Var steps = positions_along(b, k, 2, -1, start.type().dtype);
    return ir::broadcast_to(b, ir::add(b, first, steps), {entries, k});
  }
  // Laid out as x, but for an axis of which fewer rows are left than its parts.
  Attrs along(Var x, std::size_t i, std::int64_t k, const char* name, const char* value) const {
    Attrs attrs{{"axis", axes[i]}, {"batch", std::int64_t{1}}, {name, std::string(value)}};
    const Type& t = b.type(x);
    if (!laid_out(t)) return attrs;
    Layout out{t.mesh, t.sharding};
    auto& dim = out.sharding.dims[static_cast<std::size_t>(from_front(axes[i], t.rank()))];
    if (k % runtime::parts(*t.mesh, dim) != 0) dim.axes.clear();
    for (auto& d : out.sharding.dims) d.open = !t.mesh->of_kind(runtime::AxisKind::Auto).empty();
    attrs.set("out", std::move(out));
    return attrs;
  }
  Var read(Var x, std::size_t i, Var at, std::int64_t k) const {
    return b.call("take", {x, at}, along(x, i, k, "bounds", "clamp"));
  }
  Var written(Var x, Var v, std::size_t i = 0) const {
    const std::int64_t k = size(v, i);
    const Var at = places(x, i, k), rows = i + 1 == axes.size() ? v : written(read(x, i, at, k), v, i + 1);
    return b.call("scatter_rows", {x, at, rows}, along(x, i, size(x, i), "op", "set"));
  }
};

bool any_mapped(std::span<const Mapped> in) {
  return std::any_of(in.begin(), in.end(), [](const Mapped& m) { return m.mapped; });
}

std::vector<Mapped> slice_batch(Builder& b, const OpCall& call, std::span<const Mapped> in, std::int64_t size) {
  if (!any_mapped(in.subspan(1))) return {{b.emit(call.op, vars_of(in), call.attrs).at(0), true}};
  const Ints& sizes = call.attrs.ints("sizes");
  const MappedWindow w{b, size, call.attrs.ints("axes"), in.subspan(1)};
  Var x = transform::front_mapped(b, in[0], size, transform::front_of(b, in));
  for (std::size_t i = 0; i < sizes.size(); ++i) x = w.read(x, i, w.places(x, i, sizes[i]), sizes[i]);
  return {{x, true}};
}

std::vector<Mapped> update_batch(Builder& b, const OpCall& call, std::span<const Mapped> in, std::int64_t size) {
  const transform::Front front = transform::front_of(b, in);
  Var x = transform::front_mapped(b, in[0], size, front), v = transform::front_mapped(b, in[1], size, front);
  if (any_mapped(in.subspan(2)))
    return {{MappedWindow{b, size, call.attrs.ints("axes"), in.subspan(2)}.written(x, v), true}};
  Vars operands = vars_of(in);
  operands[0] = x, operands[1] = v;
  return {{b.emit(call.op, operands, call.attrs).at(0), true}};
}

// Where a window of n elements along a split dimension of x begins, counted from this device's block.
Expr start_here(Builder& b, const ir::LocalCall& c, const SplitDim& s, Var given, std::int64_t n) {
  const std::int64_t whole = c.call.in[0].shape[s.dim];
  Expr start{b, given};
  start = minimum(maximum(start, start.number(0)), start.number(static_cast<double>(whole - n)));
  Expr first{b, ir::convert(b, device_position(b, s.axes), start.type().dtype)};
  return start - first * static_cast<double>(s.block_of(whole));
}
// Whether this device has the element, and (where there is one) `also`.
Expr is_here(const Expr& start, std::int64_t block, const std::optional<Expr>& also) {
  Expr inside = both(ge(start, 0.0), lt(start, static_cast<double>(block)));
  return also ? both(*also, inside) : inside;
}

// Windows of one element along a split dimension: taken where it is, zero on the other devices.
Vars cut_locally(Builder& b, const ir::LocalCall& c, std::span<const Var> in) {
  Vars now(in.begin(), in.end());
  const Ints& axes = c.call.attrs.ints("axes");
  const Shape block = b.type(in[0]).shape;
  std::optional<Expr> here;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const auto d = static_cast<std::size_t>(from_front(axes[i], c.call.in[0].rank()));
    const auto s = split_dim(c, 0, d);
    if (!s) continue;
    const Expr start = start_here(b, c, *s, in[1 + i], 1);
    here = is_here(start, block[d], here);
    now[1 + i] = start;
  }
  Var made = b.emit(c.call.op, now, c.attrs).at(0);
  return {here ? select(*here, {b, made}, 0.0).var() : made};
}

// Where x is split along a windowed dimension, each device writes what falls into its block. A window of one element is
// written or not; a longer one goes into a block with room for it on both sides, which is cut off again.
Vars update_locally(Builder& b, const ir::LocalCall& c, std::span<const Var> in) {
  Vars now(in.begin(), in.end());
  const Ints& axes = c.call.attrs.ints("axes");
  const Shape whole = c.call.in[0].shape, part = c.call.in[1].shape, block = b.type(in[0]).shape;
  Pairs room(whole.size(), {0, 0});
  std::optional<Expr> here;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const auto d = static_cast<std::size_t>(from_front(axes[i], c.call.in[0].rank()));
    const auto s = split_dim(c, 0, d);
    if (!s) continue;
    const std::int64_t n = part[d];
    Expr start = start_here(b, c, *s, in[2 + i], n);
    if (n == 1) {
      here = is_here(start, block[d], here);
    } else {
      room[d] = {n, n};
      start = start + static_cast<double>(n);
    }
    now[2 + i] = start;
  }
  const bool roomy = std::any_of(room.begin(), room.end(), [](auto w) { return w.first > 0; });
  if (roomy) {
    Var filler = ir::constant(b, 0, b.type(in[0]).dtype, b.type(in[0]).weak);
    now[0] = b.emit1(*b.core().pad, {in[0], filler}, {{"widths", room}});
  }
  if (here) {
    Ints sizes;
    for (int a : from_front(axes, c.call.in[1].rank())) sizes.push_back(part[static_cast<std::size_t>(a)]);
    Vars window = {now[0]};
    window.insert(window.end(), now.begin() + 2, now.end());
    Var old = b.emit(*b.core().dynamic_slice, window, {{"axes", axes}, {"sizes", sizes}}).at(0);
    now[1] = ir::select(b, ir::broadcast_to(b, *here, b.type(old).shape), now[1], old);
  }
  Var made = b.emit(c.call.op, now, c.attrs).at(0);
  if (!roomy) return {made};
  Ints from, to, step(whole.size(), 1);
  for (std::size_t d = 0; d < whole.size(); ++d) {
    from.push_back(room[d].first);
    to.push_back(room[d].first ? room[d].first + block[d] : ir::kWhole);
  }
  return {b.emit1(*b.core().slice, {made}, {{"start", from}, {"limit", to}, {"step", step}})};
}

// A value whose windowed dimensions are whole where a window of these sizes could not be split as they are.
Var window_whole(Builder& b, Var x, const Ints& axes, const Shape& window) {
  Type t = b.type(x);
  if (!size_change_refuses("dynamic_slice", t, window)) return x;
  for (int a : from_front(axes, t.rank())) t.sharding.dims[static_cast<std::size_t>(a)].axes.clear();
  return b.emit1(*b.core().shard, {x}, {{"layout", Layout{t.mesh, t.sharding}}});
}

// A start for each dimension, of one type. StableHLO clamps them, too.
hlo::Values starts_of(const hlo::Use& u, std::size_t first) {
  DType dtype = DType::I32;
  for (const hlo::Value& v : u.in.subspan(first))
    if (v.dtype == DType::I64) dtype = v.dtype;
  hlo::Values starts(u.in[0].shape.size(), u.to.constant(dtype, {}, 0));
  const auto dims = from_front(u.attrs.ints("axes"), u.in[0].rank());
  for (std::size_t i = 0; i < dims.size(); ++i)
    starts[static_cast<std::size_t>(dims[i])] = hlo::convert(u.in[first + i], dtype);
  return starts;
}

void register_window_at(OpTable& t) {
  OpDef cut = internal_row("dynamic_slice_at(x, starts: arrays, axes: ints, sizes: ints)",
                           "A window of x that begins at traced positions.");
  cut.factors = [](const OpCall& call) {
    RuleBuilder r;
    Shape window = window_shape(call);
    check_window(call, window, 1);
    auto dims = r.dims(call.in[0].shape), out = dims;
    bool single = std::all_of(window.begin(), window.end(), [](auto n) { return n == 1; });
    for (int a : from_front(call.attrs.ints("axes"), call.in[0].rank())) {
      auto d = static_cast<std::size_t>(a);
      const bool picked =
          window[d] == 1 && call.in[0].dtype != DType::Key;  // the device's that has it: a sum is unreduced
      r.rule.factors[static_cast<std::size_t>(dims[d][0])].kind = picked ? FactorKind::Masked : FactorKind::Whole;
      if (single || picked) out[d] = {r.factor(1)};
    }
    return r.made(call, {dims}, out);
  };
  cut.shape = [](const OpCall& call) { return std::vector<Shape>{window_shape(call)}; };
  cut.dtype.result = kind_of_array(1);
  cut.derivative =
      Transposes{{0}, false, [](Builder& b, const NodeView& n, int, std::span<const Var> ct, const Type& want) {
                   Vars in = {ir::zeros(b, want), ct[0]};
                   in.insert(in.end(), n.in.begin() + 1, n.in.end());
                   return b.emit(*b.core().dynamic_update, in, {{"axes", n.call.attrs.ints("axes")}}).at(0);
                 }};
  cut.hlo = [](const hlo::Use& u) -> hlo::Values {
    return {hlo::dynamic_slice(u.in[0], starts_of(u, 1), u.out[0].shape)};
  };
  cut.of_complex = ir::OnParts{};
  cut.kernel = ir::KernelFn(bind_slice);
  cut.explicit_refuses = [](const OpCall& call, const FactorRule&) {
    return size_change_refuses("dynamic_slice", call.in[0], window_shape(call));
  };
  cut.partition = cut_locally;
  cut.batch = slice_batch;
  cut.flops = 0;
  cut.samples =
      "[8, 4] i32[] 0..9 axes=[-2] sizes=[4]; "
      "[2, 8, 4] i32[] 0..9 i32[] -2..3 axes=[-2, -1] sizes=[2, 2]";
  t.add(std::move(cut));
}

void register_window_update(OpTable& t) {
  OpDef update = internal_row("dynamic_update_at(x, v, starts: arrays, axes: ints)",
                              "x with the window v written at traced positions.");
  update.factors = [](const OpCall& call) {
    RuleBuilder r;
    const Type &x = call.in[0], &v = call.in[1];
    auto dims = r.dims(x.shape), part = dims;
    bool fits = v.shape.size() == x.shape.size();
    std::vector<bool> windowed(x.shape.size(), false);
    for (int a : from_front(call.attrs.ints("axes"), x.rank())) windowed.at(static_cast<std::size_t>(a)) = true;
    for (std::size_t d = 0; fits && d < x.shape.size(); ++d) {
      if (!windowed[d]) {
        fits = v.shape[d] == x.shape[d];
        continue;
      }
      r.rule.factors[static_cast<std::size_t>(dims[d][0])].kind = halo_of(x);
      part[d] = {r.factor(v.shape[d], FactorKind::Whole)};
    }
    if (!fits) fail("shape", "a window of " + runtime::to_string(v) + " does not go into " + runtime::to_string(x));
    check_window(call, v.shape, 2);
    return r.made(call, {dims, part}, dims);
  };
  update.dtype.result = kind_of_array(2);
  update.derivative =
      Transposes{{0, 1}, true, [](Builder& b, const NodeView& n, int operand, std::span<const Var> ct, const Type&) {
                   const Ints& axes = n.call.attrs.ints("axes");
                   if (operand == 0) {
                     Type none = n.call.in[1];  // unreduced where the cotangent is
                     const Type& back = b.type(ct[0]);
                     if (none.sharding.dims.empty()) none.sharding = runtime::Sharding::replicated(none.shape.size());
                     if (!none.mesh) none.mesh = back.mesh;
                     none.sharding.unreduced = back.sharding.unreduced;
                     none.sharding.reduced = {};
                     Vars in = {ct[0], ir::zeros(b, none)};
                     in.insert(in.end(), n.in.begin() + 2, n.in.end());
                     return b.emit(n.call.op, in, n.call.attrs).at(0);
                   }
                   Vars in = {window_whole(b, ct[0], axes, n.call.in[1].shape)};
                   in.insert(in.end(), n.in.begin() + 2, n.in.end());
                   Ints sizes;
                   for (int a : from_front(axes, n.call.in[1].rank()))
                     sizes.push_back(n.call.in[1].shape[static_cast<std::size_t>(a)]);
                   return b.emit(*b.core().dynamic_slice, in, {{"axes", axes}, {"sizes", sizes}}).at(0);
                 }};
  update.explicit_refuses = [](const OpCall& call, const FactorRule&) -> std::optional<std::string> {
    const Type &x = call.in[0], &v = call.in[1];  // what is written does not decide how the array is laid out
    for (int d = 0; d < v.rank(); ++d)
      if (is_split(v, d) && axes_text(v, d) != axes_text(x, d))
        return "dynamic_update_slice: the update must be laid out as the array is, got " + runtime::to_string(x) +
               " and " + runtime::to_string(v) + "; `shard` one of them first";
    return std::nullopt;
  };
  update.hlo = [](const hlo::Use& u) -> hlo::Values {
    return {hlo::dynamic_update(u.in[0], u.in[1], starts_of(u, 2))};
  };
  update.of_complex = ir::OnParts{};
  update.in_place = true;
  update.kernel = ir::KernelFn(bind_update);
  update.partition = update_locally;
  update.batch = update_batch;
  update.flops = 0;
  update.samples = "[8, 4] [2, 4] i32[] 0..9 axes=[-2]; [4, 8] [2, 2] i32[] 0..3 i32[] 0..9 axes=[-2, -1]";
  t.add(std::move(update));
}

// One scalar start a dimension, from a list of numbers or one array of them.
Vars start_scalars(Builder& b, std::span<const Var> given, std::int64_t rank) {
  Vars made = scalars_of(b, given);
  if (static_cast<std::int64_t>(made.size()) != rank)
    fail("shape", std::to_string(made.size()) + " starts for an array of rank " + std::to_string(rank));
  for (auto& v : made) v = require_integer_index(b, v, "dynamic_slice");
  return made;
}

}  // namespace

void register_dynamic(OpTable& t) {
  register_window_at(t);
  register_window_update(t);
  add_composite(t, "dynamic_slice(x, start: arrays, sizes: ints)",
                "A window of these sizes that begins at `start`, moved inside where it would stand out.",
                "[8, 4] i32[] 0..9 i32[] 0..2 sizes=[4, 4]; [8] i32[] 0..9 sizes=[2]",
                [](Builder& b, std::span<const Var> in, const Attrs& attrs) -> Vars {
                  const Shape shape = b.type(in[0]).shape;
                  Ints sizes = attrs.ints("sizes"), axes, wanted;
                  if (sizes.size() != shape.size())
                    fail("shape", "dynamic_slice: " + std::to_string(sizes.size()) + " sizes for " +
                                      runtime::to_string(b.type(in[0])));
                  Vars starts = start_scalars(b, in.subspan(1), static_cast<std::int64_t>(shape.size())),
                       operands = {in[0]};
                  for (std::size_t d = 0; d < shape.size(); ++d) {
                    if (sizes[d] == shape[d]) continue;  // a whole dimension begins at 0, whatever was said
                    axes.push_back(static_cast<std::int64_t>(d) - static_cast<std::int64_t>(shape.size()));
                    wanted.push_back(sizes[d]);
                    operands.push_back(wrap_negative(b, starts[d], shape[d]));
                  }
                  if (axes.empty()) return {in[0]};
                  return b.emit(*b.core().dynamic_slice, operands, {{"axes", axes}, {"sizes", wanted}});
                });
  add_composite(t, "dynamic_update_slice(x, v, start: arrays)",
                "x with v written at `start`, moved inside where it would stand out.",
                "[8, 4] [2, 4] i32[] 0..9 i32[] 0..2; [8] [3] i32[] 0..9",
                [](Builder& b, std::span<const Var> in, const Attrs&) -> Vars {
                  const Type x = b.type(in[0]);
                  const Shape part = b.type(in[1]).shape;
                  if (part.size() != x.shape.size())
                    fail("shape", "dynamic_update_slice: " + runtime::to_string(b.type(in[1])) + " does not go into " +
                                      runtime::to_string(x));
                  if (const Type update = b.type(in[1]); laid_out(x) && laid_out(update) && !same_layout(x, update))
                    fail("layout", "dynamic_update_slice: the update must be laid out as the array is, got " +
                                       runtime::to_string(x) + " and " + runtime::to_string(update) +
                                       "; `shard` one of them first");
                  Vars starts = start_scalars(b, in.subspan(2), x.rank()),
                       operands = {in[0], ir::convert(b, in[1], x.dtype, x.weak)};
                  Ints axes;
                  for (std::size_t d = 0; d < part.size(); ++d) {
                    if (part[d] == x.shape[d]) continue;
                    axes.push_back(static_cast<std::int64_t>(d) - x.rank());
                    operands.push_back(wrap_negative(b, starts[d], x.shape[d]));
                  }
                  if (axes.empty() && !laid_out(x) && !laid_out(b.type(in[1]))) return {operands[1]};
                  return b.emit(*b.core().dynamic_update, operands, {{"axes", axes}});
                });
}

}  // namespace shard::stdlib
