// Reshapes, permutations, broadcasts: operations that move elements and compute nothing. The internal rows (reshape,
// permute, broadcast) have whole shapes and axes from the end; users call reshape, transpose, broadcast_to, squeeze,
// expand_dims.
#include <algorithm>
#include <numeric>

#include "stdlib/ops/elementwise.h"
#include "stdlib/ops/hlo.h"
#include "stdlib/ops/ops.h"

namespace shard::stdlib {
namespace {

using runtime::Strided;

// ---- reshape

// JAX's rule for layouts: what remains when dimensions of size 1 are left out is one dimension split, or one run
// merged. The axes of a split dimension go to the new ones from the left; within a merge a whole dimension may not
// stand before a split one.
std::optional<std::string> reshape_refuses(const OpCall& call, const FactorRule&) {
  if (call.attrs.has("out")) return std::nullopt;
  const Type& t = call.in[0];
  if (t.sharding.split_axes().empty()) return std::nullopt;
  const Shape &from = t.shape, &to = call.attrs.ints("shape");
  auto refuse = [&](const std::string& why) {
    return "the layout of " + runtime::to_string(t) + " reshaped to " + runtime::to_string(to) +
           " is not clear: " + why + "; say it with `out: P(...)`, or `shard` the array first";
  };
  std::size_t i = 0, j = 0;
  int changes = 0;
  auto skip = [](const Shape& s, std::size_t& at) {
    while (at < s.size() && s[at] == 1) ++at;
  };
  for (skip(from, i), skip(to, j); i < from.size() && j < to.size(); skip(from, i), skip(to, j)) {
    if (from[i] == to[j]) {
      ++i, ++j;
      continue;
    }
    if (++changes > 1) return refuse("more than one dimension is split or merged");
    std::size_t i0 = i, j0 = j;
    std::int64_t a = from[i++], b = to[j++];
    while (a != b) {
      if (a < b && i < from.size())
        a *= from[i++];
      else if (j < to.size())
        b *= to[j++];
      else
        return refuse("its dimensions do not line up");
    }
    if (i - i0 > 1 && j - j0 > 1) return refuse("dimensions are merged and split at once");
    if (i - i0 == 1) {  // one dimension split
      if (!is_split(t, static_cast<int>(i0))) continue;
      auto axes = t.sharding.dims[i0].axes;
      std::size_t next = 0;
      for (std::size_t k = j0; k < j && next < axes.size(); ++k)
        for (std::int64_t left = to[k]; left > 1 && next < axes.size(); ++next) {
          std::int64_t n = t.mesh->size_of(axes[next]);
          if (left % n)
            return refuse("@" + t.mesh->axes[axes[next]].name + " of size " + std::to_string(n) + " does not divide " +
                          std::to_string(left));
          left /= n;
        }
    } else {
      bool whole = false;
      for (std::size_t k = i0; k < i; ++k) {
        if (from[k] == 1) continue;
        if (is_split(t, static_cast<int>(k)) && whole)
          return refuse("a whole dimension is merged with a split one after it");
        whole |= !is_split(t, static_cast<int>(k));
      }
    }
  }
  return std::nullopt;
}

// What is repeated, merged and repeated again, as `repeat` along two axes does, is merged at last alone: else each
// merge is a copy.
std::optional<Var> merged_at_last(Builder& b, const OpCall& call, const ir::Node& maker, const Vars& in) {
  const auto repeats = [&](const ir::Node& n) { return n.op == b.core().broadcast_to; };
  if (!repeats(maker) || !call.in[0].sharding.used_axes().empty()) return {};
  Var y = in[0];
  const ir::Node* from = b.maker(y);
  while (from && from->op == b.core().reshape) y = from->inputs[0], from = b.maker(y);
  if (!from || !repeats(*from) || y == in[0] || !b.type(y).sharding.used_axes().empty()) return {};
  const Shape one = b.type(in[0]).shape, &all = call.in[0].shape, &to = call.attrs.ints("shape");
  if (runtime::reshaped(runtime::broadcast(Strided{one, runtime::row_major(one)}, all), to))
    return {};  // it is no copy
  const std::vector<Shape> parts = runtime::merged_of(b.type(y).shape, one);
  if (parts.empty()) return {};
  const std::size_t lead = all.size() - one.size();
  Shape before, repeated(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(lead));
  for (std::size_t d = 0; d < one.size(); ++d) {
    const Shape part = parts[d].empty() ? Shape{1} : parts[d];
    before.insert(before.end(), part.begin(), part.end());
    if (one[d] == all[lead + d])
      repeated.insert(repeated.end(), part.begin(), part.end());
    else
      repeated.push_back(all[lead + d]);
  }
  return ir::reshape(b, ir::broadcast_to(b, ir::reshape(b, y, before), repeated), to);
}

void register_reshape(OpTable& t) {
  OpDef row = internal_row("reshape(x, shape: ints, out: spec? = none)",
                           "The same elements in row-major order in another shape.");
  row.factors = [](const OpCall& call) { return ir::reshape_rule(call.in[0].shape, call.attrs.ints("shape")); };
  row.shape = [](const OpCall& call) { return std::vector<Shape>{call.attrs.ints("shape")}; };
  row.derivative =
      Transposes{{}, false, [](Builder& b, const NodeView& n, int, std::span<const Var> ct, const Type& want) -> Var {
                   Attrs attrs{{"shape", want.shape}};
                   if (auto out = wanted_layout(b, want, ct)) attrs.set("out", *out);
                   return b.emit1(n.call.op, {ct[0]}, attrs);
                 }};
  row.hlo = [](const hlo::Use& u) -> hlo::Values { return {reshaped_hlo(u.in[0], u.out[0].shape)}; };
  row.kernel = ir::ViewOf{[](const Strided& x, const Attrs&, const Shape& to) { return runtime::reshaped(x, to); }};
  row.explicit_refuses = reshape_refuses;
  row.with_maker = merged_at_last;
  row.flops = 0;
  row.samples =
      "[4, 6] shape=[24]; [24] shape=[4, 6]; [4, 6] shape=[8, 3]; [2, 4, 6] shape=[2, 24]; "
      "[4, 6] shape=[4, 1, 6]; [1, 4, 1] shape=[4]; [8] shape=[2, 2, 2]; i32[4, 6] shape=[6, 4]; "
      "[] shape=[1, 1]; [1] shape=[]";
  t.add(std::move(row));
  add_composite(t, "reshape(x, shape: ints, out: spec? = none)",
                "The same elements in another shape; one size may be -1.", "[4, 6] shape=[-1, 8]; [24] shape=[2, 3, 4]",
                [](Builder& b, std::span<const Var> in, const Attrs& attrs) -> Vars {
                  Shape shape = attrs.ints("shape"), from = b.type(in[0]).shape;
                  std::int64_t known = 1, total = runtime::numel(from);
                  auto open = shape.end();
                  for (auto it = shape.begin(); it != shape.end(); ++it) {
                    if (*it == -1 && open == shape.end())
                      open = it;
                    else if (*it < 0)
                      fail("shape", "reshape: a size cannot be " + std::to_string(*it) + (*it == -1 ? " twice" : ""));
                    else if (__builtin_mul_overflow(known, *it, &known))
                      fail("shape", "reshape: the shape is too large");
                  }
                  if (open != shape.end()) {
                    if (known == 0 || total % known)
                      fail("shape", "reshape: " + std::to_string(total) + " elements of " +
                                        runtime::to_string(b.type(in[0])) + " are no multiple of " +
                                        std::to_string(known) + ", so -1 stands for no size");
                    *open = total / known;
                  }
                  if (!attrs.has("out")) return {expand(b, in[0], shape)};
                  return {b.call("reshape", {in[0]}, with_out({{"shape", shape}}, attrs))};
                })
      .aliases = {
      "view",
      {"flatten", "`x.reshape([-1])` makes a vector, `x.reshape([x.shape[0], -1])` keeps the first dimension"},
      {"ravel", "a vector of all elements is `x.reshape([-1])`"}};
}

// ---- permute

void register_permute(OpTable& t) {
  OpDef row = internal_row("permute(x, perm: ints)",
                           "The last dimensions in another order: perm says, from the end, where each comes from.");
  row.factors = [](const OpCall& call) {
    RuleBuilder r;
    auto dims = r.dims(call.in[0].shape);
    auto out = dims;
    const Ints& perm = call.attrs.ints("perm");
    auto rank = static_cast<std::int64_t>(dims.size()), count = static_cast<std::int64_t>(perm.size());
    for (std::int64_t i = 0; i < count; ++i)
      out[static_cast<std::size_t>(rank - count + i)] =
          dims.at(static_cast<std::size_t>(rank + perm[static_cast<std::size_t>(i)]));
    return r.made({dims}, {out});
  };
  row.derivative = linear([](Builder& b, const NodeView& n, Var ct, const Type&) {
    const Ints& perm = n.call.attrs.ints("perm");
    auto count = static_cast<std::int64_t>(perm.size());
    Ints back(perm.size());
    for (std::int64_t i = 0; i < count; ++i)
      back[static_cast<std::size_t>(count + perm[static_cast<std::size_t>(i)])] = i - count;
    return b.emit1(n.call.op, {ct}, {{"perm", back}});
  });
  row.hlo = [](const hlo::Use& u) -> hlo::Values {
    const Ints& given = u.attrs.ints("perm");
    Ints perm(u.in[0].shape.size() - given.size());
    std::iota(perm.begin(), perm.end(), 0);
    for (auto d : given) perm.push_back(from_front(d, u.in[0].rank()));
    return {hlo::transpose(u.in[0], perm)};
  };
  row.kernel = ir::ViewOf{[](const Strided& x, const Attrs& attrs, const Shape&) -> std::optional<Strided> {
    const Ints& perm = attrs.ints("perm");
    const std::size_t rank = x.shape.size(), lead = rank - perm.size();
    std::vector<int> from(rank);
    for (std::size_t d = 0; d < rank; ++d)
      from[d] = static_cast<int>(d < lead ? static_cast<std::int64_t>(d)
                                          : from_front(perm[d - lead], static_cast<std::int64_t>(rank)));
    return runtime::permuted(x, from);
  }};
  row.flops = 0;
  row.samples =
      "[4, 6] perm=[-1, -2]; [2, 4, 6] perm=[-2, -1, -3]; [2, 4, 6] perm=[-1, -2]; "
      "i32[4, 4] perm=[-1, -2]";
  t.add(std::move(row));
  add_composite(t, "transpose(x, perm: ints? = none)", "The dimensions in another order; reversed where none is given.",
                "[4, 6]; [2, 4, 6] perm=[2, 0, 1]; [4]",
                [](Builder& b, std::span<const Var> in, const Attrs& attrs) -> Vars {
                  auto rank = static_cast<std::int64_t>(b.type(in[0]).shape.size());
                  auto given = ints_if(attrs, "perm");
                  std::vector<std::int64_t> perm;
                  if (!given)
                    for (std::int64_t d = rank; d-- > 0;) perm.push_back(d);
                  else
                    for (auto a : *given) perm.push_back(from_front(from_end(a, rank, "transpose"), rank));
                  Ints sorted = perm;
                  std::sort(sorted.begin(), sorted.end());
                  bool all = static_cast<std::int64_t>(sorted.size()) == rank &&
                             std::adjacent_find(sorted.begin(), sorted.end()) == sorted.end();
                  if (!all)
                    fail("shape", "transpose: the order names each of the " + std::to_string(rank) + " dimensions of " +
                                      runtime::to_string(b.type(in[0])) + " once");
                  return {ir::transpose(b, in[0], perm)};
                })
      .aliases = {"permute"};
}

// ---- broadcast

void register_broadcast(OpTable& t) {
  OpDef row = internal_row("broadcast(x, shape: ints, out: spec? = none)",
                           "Repeated along new and size-1 dimensions up to a shape.");
  row.factors = [](const OpCall& call) {
    const Shape &from = call.in[0].shape, &to = call.attrs.ints("shape");
    std::size_t extra = to.size() - std::min(to.size(), from.size());
    bool fits = to.size() >= from.size();
    for (std::size_t d = 0; fits && d < from.size(); ++d) fits = from[d] == 1 || from[d] == to[extra + d];
    if (!fits)
      fail("shape", runtime::to_string(call.in[0]) + " does not fit the shape " + runtime::to_string(to) +
                        ": from the last dimension on, sizes are equal or 1");
    RuleBuilder r;
    auto out = r.dims(to);
    ir::ValueFactors in;
    for (std::size_t d = 0; d < from.size(); ++d)
      in.push_back(from[d] == to[extra + d] ? out[extra + d] : ir::DimFactors{});
    return r.made({in}, {out});
  };
  row.derivative =
      linear([](Builder& b, const NodeView&, Var ct, const Type& want) { return ir::unbroadcast(b, ct, want); });
  row.hlo = [](const hlo::Use& u) -> hlo::Values { return {hlo::broadcast(u.in[0], u.out[0].shape)}; };
  row.kernel = ir::ViewOf{[](const Strided& x, const Attrs&, const Shape& to) -> std::optional<Strided> {
    return runtime::broadcast(x, to);
  }};
  row.flops = 0;
  row.samples =
      "[6] shape=[4, 6]; [] shape=[4]; [4, 1] shape=[4, 6]; [1, 6] shape=[2, 4, 6]; "
      "i32[2, 1, 2] shape=[2, 4, 2]";
  t.add(std::move(row));
  add_composite(t, "broadcast_to(x, shape: ints, out: spec? = none)",
                "Repeated along new and size-1 dimensions up to a shape.", "[6] shape=[4, 6]; [2, 1] shape=[2, 4]",
                [](Builder& b, std::span<const Var> in, const Attrs& attrs) -> Vars {
                  Shape shape = shape_of(attrs.ints("shape"), "broadcast_to");
                  if (!attrs.has("out")) return {ir::broadcast_to(b, in[0], shape)};
                  return {b.call("broadcast", {in[0]}, with_out({{"shape", shape}}, attrs))};
                })
      .aliases = {{"expand", "sizes of 1 grow by `broadcast_to(x, [3, 4])`"}};
}

void register_size_one(OpTable& t) {
  add_composite(t, "squeeze(x, axis: ints? = none)", "Without dimensions of size 1.", "[1, 4, 1]; [4, 1, 6] axis=[1]",
                [](Builder& b, std::span<const Var> in, const Attrs& attrs) -> Vars {
                  const Type& type = b.type(in[0]);
                  auto rank = static_cast<std::int64_t>(type.shape.size());
                  Ints axes;
                  if (auto given = ints_if(attrs, "axis"))
                    axes = axes_from_end(given, rank, "squeeze");
                  else
                    for (std::int64_t d = 0; d < rank; ++d)
                      if (type.shape[static_cast<std::size_t>(d)] == 1) axes.push_back(d - rank);
                  for (auto a : axes)
                    if (auto n = type.shape[static_cast<std::size_t>(from_front(a, rank))]; n != 1)
                      fail("shape", "squeeze: dimension " + std::to_string(a + rank) + " of " +
                                        runtime::to_string(type) + " has size " + std::to_string(n) + ", not 1");
                  return {expand(b, in[0], erase_axes(type.shape, axes))};
                });
  add_composite(t, "expand_dims(x, axis: ints)", "With new dimensions of size 1 at these places of the result.",
                "[4, 6] axis=[1]; [4] axis=[0, -1]",
                [](Builder& b, std::span<const Var> in, const Attrs& attrs) -> Vars {
                  Shape shape = b.type(in[0]).shape;
                  Ints given = *ints_if(attrs, "axis");
                  auto rank = static_cast<std::int64_t>(shape.size() + given.size());
                  for (auto a : axes_from_end(given, rank, "expand_dims"))
                    shape.insert(shape.begin() + from_front(a, rank), 1);
                  return {expand(b, in[0], shape)};
                })
      .aliases = {"unsqueeze"};
}

}  // namespace

void register_reshaping(OpTable& t) {
  register_reshape(t);
  register_permute(t);
  register_broadcast(t);
  register_size_one(t);
}

}  // namespace shard::stdlib
