// Rows that cut and extend dimensions by constant amounts: slice and pad_with. What a dimension loses or gains needs
// neighbours (factors of kind halo); dimensions taken whole pass.
#include <algorithm>

#include "interpreter/hlo/writer.h"
#include "runtime/kernels/frame.h"
#include "runtime/kernels/joined.h"
#include "runtime/kernels/kernels.h"
#include "runtime/kernels/moves.h"
#include "stdlib/ops/elementwise.h"
#include "stdlib/ops/moving/halo.h"
#include "stdlib/ops/moving/moving_steps.h"
#include "stdlib/ops/ops.h"

namespace shard::stdlib {
namespace {

using ir::kWhole;
using runtime::Strided;

// ---- slice

struct Cut {
  std::int64_t start, count, step;
};

// What is cut of each dimension of an array; dimensions in front of those that the attributes cover are whole.
std::vector<Cut> cuts(const Attrs& attrs, const Shape& shape) {
  const Ints &start = attrs.ints("start"), &limit = attrs.ints("limit"), &step = attrs.ints("step");
  std::vector<Cut> made;
  std::size_t lead = shape.size() - std::min(shape.size(), start.size());
  for (std::size_t d = 0; d < shape.size(); ++d) {
    if (d < lead || limit[d - lead] == kWhole) {
      made.push_back({0, shape[d], 1});
      continue;
    }
    std::size_t i = d - lead;
    if (start[i] < 0 || start[i] > limit[i] || limit[i] > shape[d] || step[i] < 1)
      fail("shape", "slice " + std::to_string(start[i]) + ":" + std::to_string(limit[i]) + ":" +
                        std::to_string(step[i]) + " of a dimension of size " + std::to_string(shape[d]));
    made.push_back({start[i], (limit[i] - start[i] + step[i] - 1) / step[i], step[i]});
  }
  return made;
}

bool taken_whole(const Attrs& attrs, std::string_view name, std::size_t rank, std::size_t d) {
  const Ints& of = attrs.ints(name);
  std::size_t lead = rank - of.size();
  return d < lead || of[d - lead] == kWhole;
}

// Dimensions that change their size share a halo factor; where the whole result is single elements no layout passes to
// it. `picks`: where one element is left of a dimension, it is the device's that has it, and zero elsewhere: a sum is
// unreduced.
FactorRule changed_sizes(const OpCall& call, const Shape& to, const std::vector<bool>& changes, bool picks) {
  const Type& x = call.in[0];
  RuleBuilder r;
  const Shape& from = x.shape;
  auto dims = r.dims(from), out = dims;
  bool single = std::all_of(to.begin(), to.end(), [](auto n) { return n == 1; });
  for (std::size_t d = 0; d < from.size(); ++d) {
    if (!changes[d]) continue;
    ir::Factor& factor = r.rule.factors[static_cast<std::size_t>(dims[d][0])];
    const bool picked = picks && to[d] == 1 && x.dtype != DType::Key;
    factor.kind = picked ? FactorKind::Masked : halo_of(x);
    if (single || picked) out[d] = {r.factor(1)};
  }
  return r.made(call, {dims}, out);
}

Shape sliced_shape(const OpCall& call) {
  Shape made;
  for (auto& c : cuts(call.attrs, call.in[0].shape)) made.push_back(c.count);
  return made;
}

// The cotangent of a slice: zeros around it, and between its elements where it had a step.
Var slice_transpose(Builder& b, const NodeView& n, int, std::span<const Var> ct, const Type& want) {
  Pairs widths;
  Ints interior;
  for (auto& c : cuts(n.call.attrs, want.shape)) {
    std::size_t d = widths.size();
    std::int64_t reach = c.count == 0 ? 0 : c.start + (c.count - 1) * c.step + 1;
    widths.emplace_back(c.count == 0 ? 0 : c.start, want.shape[d] - reach);
    interior.push_back(c.step - 1);
  }
  Expr g{b, ct[0]};
  return b.call("pad_with", {g, g.number(0)}, {{"widths", widths}, {"interior", interior}});
}

// The one element of a split dimension that is picked, on the device that has it; zero on the others.
Var picked_locally(Builder& b, Var x, const SplitDim& s, std::int64_t place) {
  const Shape block = b.type(x).shape;
  const std::int64_t at = place % block[s.dim];
  Expr mine = part_of(b, x, static_cast<std::int64_t>(s.dim) - b.type(x).rank(), at, at + 1);
  Expr here = eq(Expr{b, device_position(b, s.axes)}, static_cast<double>(place / block[s.dim]));
  return select(here, mine, 0.0);
}

// On a split dimension each device fetches what its block of the result spans, and takes every step-th of it.
Vars slice_locally(Builder& b, const ir::LocalCall& c, std::span<const Var> in) {
  const Shape from = c.call.in[0].shape;
  const auto parts = cuts(c.call.attrs, from);
  std::vector<SplitDim> split;
  Ints start, limit, step;
  for (std::size_t d = 0; d < from.size(); ++d) {
    const bool whole = parts[d].count == from[d] && parts[d].step == 1;
    auto s = whole ? std::nullopt : split_dim(c, 0, d);
    if (s) split.push_back(*s);
    start.push_back(s || whole ? 0 : parts[d].start);
    limit.push_back(s || whole            ? kWhole
                    : parts[d].count == 0 ? parts[d].start
                                          : parts[d].start + (parts[d].count - 1) * parts[d].step + 1);
    step.push_back(s || whole ? 1 : parts[d].step);
  }
  Var x = b.emit1(c.call.op, {in[0]}, {{"start", start}, {"limit", limit}, {"step", step}});
  for (const SplitDim& s : split) {
    const Cut& cut = parts[s.dim];
    if (cut.count == 1) {
      x = picked_locally(b, x, s, cut.start);
      continue;
    }
    const std::int64_t each = s.block_of(cut.count), span = (each - 1) * cut.step + 1;
    x = window(b, x, s, cut.start, cut.step * each, span);
    x = part_of(b, x, static_cast<std::int64_t>(s.dim) - b.type(x).rank(), 0, span, cut.step);
  }
  return {x};
}

void register_cut(OpTable& t) {
  OpDef row = internal_row("slice(x, start: ints, limit: ints, step: ints)",
                           "Part of each of the last dimensions: start up to limit, every step-th.");
  row.factors = [](const OpCall& call) {
    const Shape& from = call.in[0].shape;
    if (call.attrs.ints("start").size() > from.size())
      fail("shape", "slice of more dimensions than " + runtime::to_string(call.in[0]) + " has");
    std::vector<bool> changes;
    for (std::size_t d = 0; d < from.size(); ++d) changes.push_back(!taken_whole(call.attrs, "limit", from.size(), d));
    return changed_sizes(call, sliced_shape(call), changes, true);
  };
  row.shape = [](const OpCall& call) { return std::vector<Shape>{sliced_shape(call)}; };
  row.derivative = Transposes{{}, false, slice_transpose};
  row.hlo = [](const hlo::Use& u) -> hlo::Values {
    Ints start, limit, step;
    for (const Cut& cut : cuts(u.attrs, u.in[0].shape)) {
      start.push_back(cut.start);
      limit.push_back(cut.count == 0 ? cut.start : cut.start + (cut.count - 1) * cut.step + 1);
      step.push_back(cut.step);
    }
    return {hlo::slice(u.in[0], start, limit, step)};
  };
  row.kernel = ir::ViewOf{[](const Strided& x, const Attrs& attrs, const Shape&) -> std::optional<Strided> {
                            Strided out = x;
                            const auto parts = cuts(attrs, x.shape);
                            for (std::size_t d = 0; d < parts.size(); ++d) {
                              out.offset += parts[d].start * x.strides[d];
                              out.shape[d] = parts[d].count;
                              out.strides[d] *= parts[d].step;
                            }
                            return out;
                          },
                          true};
  row.flops = 0;
  row.explicit_refuses = [](const OpCall& call, const FactorRule&) {
    return size_change_refuses("slice", call.in[0], sliced_shape(call));
  };
  row.partition = slice_locally;
  row.samples =
      "[8, 6] start=[2, 0] limit=[6, whole] step=[1, 1]; [4, 6] start=[1] limit=[6] step=[2]; "
      "[2, 4, 6] start=[0, 1, 0] limit=[whole, 2, whole] step=[1, 1, 1]; "
      "i32[8] start=[3] limit=[4] step=[1]; [8] start=[4] limit=[4] step=[1]";
  t.add(std::move(row));
}

// ---- pad

Shape padded_shape(const Attrs& attrs, const Shape& from) {
  const Pairs& widths = attrs.pairs("widths");
  auto interior = ints_if(attrs, "interior");
  Shape made = from;
  std::size_t lead = from.size() - std::min(from.size(), widths.size());
  for (std::size_t i = 0; i < widths.size(); ++i) {
    std::int64_t& n = made.at(lead + i);
    std::int64_t between = interior && n > 1 ? (n - 1) * (*interior)[i] : 0;
    n += widths[i].first + widths[i].second + between;
  }
  return made;
}

Var pad_transpose(Builder& b, const NodeView& n, int operand, std::span<const Var> ct, const Type& want) {
  const Attrs& attrs = n.call.attrs;
  const Pairs& widths = attrs.pairs("widths");
  auto interior = ints_if(attrs, "interior");
  const Shape from = n.call.in[0].shape;
  std::size_t lead = from.size() - widths.size();
  Ints start, limit, step;
  for (std::size_t i = 0; i < widths.size(); ++i) {
    std::int64_t by = interior ? (*interior)[i] + 1 : 1, count = from[lead + i];
    bool whole = widths[i].first == 0 && widths[i].second == 0 && by == 1;
    start.push_back(whole ? 0 : widths[i].first);
    limit.push_back(whole ? kWhole : count == 0 ? widths[i].first : widths[i].first + (count - 1) * by + 1);
    step.push_back(by);
  }
  Var inner = b.call("slice", {ct[0]}, {{"start", start}, {"limit", limit}, {"step", step}});
  if (operand == 0) return inner;
  return ir::unbroadcast(b,
                         ir::sub(b, ir::reduce_sum(b, ct[0], last(b.type(ct[0]).rank())),
                                 ir::reduce_sum(b, inner, last(b.type(inner).rank()))),
                         want);
}

// A mapped value to pad with is filled in afterwards, where the padding is.
std::vector<Mapped> pad_batch(Builder& b, const OpCall& call, std::span<const Mapped> in, std::int64_t size) {
  if (!in[1].mapped) return {{b.emit1(call.op, {in[0].var, in[1].var}, call.attrs), true}};
  Expr x{b, in[0].var};
  Var inside = b.emit1(call.op, {x, x.number(0)}, call.attrs);
  Var yes = ir::broadcast_to(b, ir::constant(b, 1, DType::Bool), x.type().shape);
  Var mask = b.emit1(call.op, {yes, ir::constant(b, 0, DType::Bool)}, call.attrs);
  Shape one(b.type(inside).shape.size() + (in[0].mapped ? 0 : 1), 1);
  one[0] = size;
  return {{ir::select(b, mask, inside, expand(b, in[1].var, one)), true}};
}

// On a split dimension each device fetches what its block of the result shows of x, and fills up the rest.
Vars pad_locally(Builder& b, const ir::LocalCall& c, std::span<const Var> in) {
  const Shape from = c.call.in[0].shape, to = padded_shape(c.call.attrs, from);
  const Pairs& widths = c.call.attrs.pairs("widths");
  const auto interior = ints_if(c.call.attrs, "interior");
  const std::size_t lead = from.size() - widths.size();
  Var x = in[0];
  Pairs here = widths;
  std::vector<SplitDim> fetched, back;
  for (std::size_t i = 0; i < widths.size(); ++i) {
    auto s = split_dim(c, 0, lead + i);
    const bool between = interior && (*interior)[i] != 0;
    if (!s || (widths[i] == std::pair<std::int64_t, std::int64_t>{0, 0} && !between)) continue;
    if (between) {  // gaps between elements: done whole
      x = gathered(b, x, *s);
      back.push_back(*s);
      back.back().size = to[s->dim];
    } else {
      here[i] = {0, 0};
      fetched.push_back(*s);
    }
  }
  Attrs attrs{{"widths", here}};
  if (interior) attrs.set("interior", *interior);
  x = b.emit1(c.call.op, {x, in[1]}, std::move(attrs));
  for (const SplitDim& s : back) x = kept(b, x, s);
  for (const SplitDim& s : fetched) {
    const std::int64_t each = s.block_of(to[s.dim]), low = widths[s.dim - lead].first;
    x = window(b, x, s, -low, each, each);
    const Shape shape = b.type(x).shape;
    Expr at{b, positions_of(b, s, shape.size(), each)};
    Expr inside = both(ge(at, static_cast<double>(low)), lt(at, static_cast<double>(low + from[s.dim])));
    Expr filler{b, ir::convert(b, in[1], b.type(x).dtype)};
    x = ir::select(b, ir::broadcast_to(b, inside, shape), x, ir::broadcast_to(b, filler, shape));
  }
  return {x};
}

BoundKernel pad_kernel(const KernelCall& c) {
  View from = c.in[0], value = c.in[1], out = c.out[0], inner = out;
  Shape begin(out.shape.size(), 0);
  const Pairs& widths = c.attrs.pairs("widths");
  auto interior = ints_if(c.attrs, "interior");
  std::size_t lead = from.shape.size() - widths.size();
  std::int64_t offset = 0;
  for (std::size_t i = 0; i < widths.size(); ++i) {
    offset += widths[i].first * out.strides[lead + i];
    begin[lead + i] = widths[i].first;
    if (interior) inner.strides[lead + i] *= (*interior)[i] + 1;
  }
  inner.shape = from.shape;
  View everywhere = value;  // the value over all of the result, of the same blocks
  everywhere.shape = out.shape;
  everywhere.strides.resize(out.shape.size(), 0);
  for (std::size_t d = static_cast<std::size_t>(c.batch); d < out.shape.size(); ++d) everywhere.strides[d] = 0;
  bool nothing = runtime::numel(from.shape) == 0;
  runtime::Moves few;
  bool little = !interior && few.add(0, from, 0, inner, offset);
  for (const runtime::Block& block : runtime::around(out.shape, begin, from.shape)) {
    const View some{out.dtype, block.shape, everywhere.strides, nullptr},
        to{out.dtype, block.shape, out.strides, nullptr};
    little = little && few.add(1, some, first_element(block, everywhere), to, first_element(block, out));
  }
  if (little) return few;
  const auto is_padded = [](const auto& w) { return w.first + w.second > 0; };
  const auto one = std::find_if(widths.begin(), widths.end(), is_padded);
  const bool alone = std::count_if(widths.begin(), widths.end(), is_padded) == 1;
  if (alone && !interior && runtime::all_alike(everywhere))
    if (const auto lines = runtime::JoinedLines::padded(from, one->first, one->second, out,
                                                        lead + static_cast<std::size_t>(one - widths.begin())))
      return [=](void* const* i, void* const* o) { lines->run(i[0], i[1], o[0]); };
  return [=](void* const* i, void* const* o) mutable {
    if (interior)
      runtime::copy(at(everywhere, i[1]), at(out, o[0]));
    else
      runtime::copy_around(at(everywhere, i[1]), at(out, o[0]), begin, from.shape);
    if (!nothing) runtime::copy(at(from, i[0]), at(inner, o[0], offset));
  };
}

void register_pad_with(OpTable& t) {
  OpDef row = internal_row("pad_with(x, value, widths: pairs, interior: ints? = none)",
                           "A value before, after and (interior) between the elements of the last dimensions.");
  row.dtype.operands = Operands::Promote;
  row.factors = [](const OpCall& call) {
    const Shape& from = call.in[0].shape;
    const Pairs& widths = call.attrs.pairs("widths");
    auto interior = ints_if(call.attrs, "interior");
    if (widths.size() > from.size())
      fail("shape", "pad: " + std::to_string(widths.size()) + " pairs of widths for " + runtime::to_string(call.in[0]));
    if (!call.in[1].shape.empty())
      fail("shape", "pad takes one number to fill with, got " + runtime::to_string(call.in[1]));
    for (auto& [low, high] : widths)
      if (low < 0 || high < 0) fail("shape", "pad: widths cannot be negative; slice the array");
    std::vector<bool> changes(from.size(), false);
    std::size_t lead = from.size() - widths.size();
    for (std::size_t i = 0; i < widths.size(); ++i)
      changes[lead + i] = widths[i].first != 0 || widths[i].second != 0 || (interior && (*interior)[i] != 0);
    return changed_sizes(call, {2}, changes, false);
  };
  row.shape = [](const OpCall& call) { return std::vector<Shape>{padded_shape(call.attrs, call.in[0].shape)}; };
  row.derivative = Transposes{{}, true, pad_transpose};
  row.hlo = [](const hlo::Use& u) -> hlo::Values {
    const Pairs& widths = u.attrs.pairs("widths");
    const std::size_t rank = u.in[0].shape.size(), lead = rank - widths.size();
    Ints low(rank, 0), high(rank, 0), inner(rank, 0);
    for (std::size_t i = 0; i < widths.size(); ++i) {
      low[lead + i] = widths[i].first;
      high[lead + i] = widths[i].second;
      if (u.attrs.has("interior")) inner[lead + i] = u.attrs.ints("interior")[i];
    }
    return {hlo::pad(u.in[0], u.in[1], low, high, inner)};
  };
  row.of_complex = ir::OnParts{};
  row.kernel = pad_kernel;
  row.flops = 0;
  row.explicit_refuses = [](const OpCall& call, const FactorRule&) {
    return size_change_refuses("pad", call.in[0], padded_shape(call.attrs, call.in[0].shape));
  };
  row.batch = pad_batch;
  row.partition = pad_locally;
  row.samples =
      "[4, 6] [] widths=[(2, 2), (0, 0)]; [2, 4] [] widths=[(1, 0)]; [4] [] widths=[(3, 1)]; "
      "[4, 2] [] widths=[(1, 1), (0, 1)] interior=[1, 0]";
  t.add(std::move(row));
}

}  // namespace

void register_slice(OpTable& t) {
  register_cut(t);
  register_pad_with(t);
}

}  // namespace shard::stdlib
