// Products in groups of rows of different sizes: ragged_dot, as jax.lax has it. Row i of x, in group g, is multiplied
// by matrix g; rows behind the last group give zeros. Its derivative by the matrices is ragged_outer, whose derivatives
// are ragged_dots again. Rows and matrices are needed whole, the columns of the matrices may be split.
#include <cstring>

#include "runtime/kernels/kernels.h"
#include "stdlib/ops/complex.h"
#include "stdlib/ops/elementwise.h"
#include "stdlib/ops/hlo.h"
#include "stdlib/ops/ops.h"

namespace shard::stdlib {
namespace {

// ragged_rows(x [lead..., m, k], w [lead..., g, k, n], sizes [lead..., g]) -> [lead..., m, n]
// ragged_outer(x [lead..., m, k], y [lead..., m, n], sizes [lead..., g]) -> [lead..., g, k, n]
FactorRule ragged_factors(const OpCall& call) {
  const bool outer = call.op.name == "ragged_outer";
  const Type &x = call.in[0], &w = call.in[1], &sizes = call.in[2];
  const auto bad = [&] {
    fail("shape", std::string(call.op.name) + " of " + runtime::to_string(x) + " and " + runtime::to_string(w) +
                      " in groups of " + runtime::to_string(sizes) + ": the shapes do not fit");
  };
  if (x.rank() < 2 || sizes.rank() != x.rank() - 1 || w.rank() != x.rank() + (outer ? 0 : 1)) bad();
  const std::size_t lead = x.shape.size() - 2;
  const Shape batch(x.shape.begin(), x.shape.end() - 2);
  if (!std::equal(batch.begin(), batch.end(), w.shape.begin()) ||
      !std::equal(batch.begin(), batch.end(), sizes.shape.begin()))
    bad();
  const std::int64_t m = x.shape[lead], k = x.shape[lead + 1], g = sizes.shape[lead], n = w.shape.back();
  if (outer ? w.shape[lead] != m : w.shape[lead] != g || w.shape[lead + 1] != k) bad();
  RuleBuilder r;
  const ir::ValueFactors before = r.dims(batch);
  const int rows = r.factor(m, FactorKind::Whole), groups = r.factor(g, FactorKind::Whole),
            summed = r.factor(k, FactorKind::Whole), columns = r.factor(n);
  const auto value = [&](std::initializer_list<int> dims) {
    ir::ValueFactors made = before;
    for (int f : dims) made.push_back({f});
    return made;
  };
  return r.made(
      {value({rows, summed}), outer ? value({rows, columns}) : value({groups, summed, columns}), value({groups})},
      {outer ? value({groups, summed, columns}) : value({rows, columns})});
}

// The core of one batch entry: its last `rank` dimensions.
View core_of(const View& v, int rank) {
  return {v.dtype, {v.shape.end() - rank, v.shape.end()}, {v.strides.end() - rank, v.strides.end()}, nullptr};
}
View rows_of(View v, std::int64_t from, std::int64_t count) {
  v = shifted(v, from * v.strides[0]);
  v.shape[0] = count;
  return v;
}
View matrix_of(const View& v, std::int64_t i) {
  View made = shifted(v, i * v.strides[0]);
  made.shape.erase(made.shape.begin());
  made.strides.erase(made.strides.begin());
  return made;
}
View turned(View v) {
  std::swap(v.shape[0], v.shape[1]);
  std::swap(v.strides[0], v.strides[1]);
  return v;
}

ir::KernelFn ragged_kernel(bool outer) {
  return [outer](const KernelCall& c) -> BoundKernel {
    View x = core_of(c.in[0], 2), w = core_of(c.in[1], outer ? 2 : 3), out = core_of(c.out[0], outer ? 3 : 2);
    const View sizes = c.in[2];
    const Shape lead(c.in[0].shape.begin(), c.in[0].shape.end() - 2);
    std::vector<runtime::Strides> strides;
    for (const View* v : {&c.in[0], &c.in[1], &c.in[2], &c.out[0]})
      strides.emplace_back(v->strides.begin(), v->strides.begin() + static_cast<std::ptrdiff_t>(lead.size()));
    const auto bytes = static_cast<std::size_t>(runtime::numel(out.shape)) * runtime::size_of(out.dtype);
    return [=](void* const* in, void* const* o) mutable {
      for_each_block(lead, strides, [&](const std::vector<std::int64_t>& offset) {
        const View xs = at(x, in[0], offset[0]), ws = at(w, in[1], offset[1]), os = at(out, o[0], offset[3]);
        const auto* counts = static_cast<const std::int32_t*>(in[2]) + offset[2];
        std::memset(os.data, 0, bytes);
        std::int64_t from = 0;
        for (std::int64_t g = 0; g < sizes.shape.back(); ++g) {
          const std::int64_t asked = std::max<std::int64_t>(0, counts[g * sizes.strides.back()]),
                             count = std::min(asked, x.shape[0] - from);
          if (count > 0 && outer)
            runtime::matmul(turned(rows_of(xs, from, count)), rows_of(ws, from, count), matrix_of(os, g));
          else if (count > 0)
            runtime::matmul(rows_of(xs, from, count), matrix_of(ws, g), rows_of(os, from, count));
          from += count;
        }
      });
    };
  };
}

// Where the last dimension of x, over which is summed, is split on explicit axes: x with all of it.
Var summed_whole(Builder& b, Var x) {
  const Type t = b.type(x);
  if (!laid_out(t) || !is_split(t, t.rank() - 1)) return x;
  Layout whole{t.mesh, t.sharding};
  whole.sharding.dims.back().axes.clear();
  return b.emit1(*b.core().shard, {x}, {{"layout", std::move(whole)}});
}

Var swapped(Builder& b, Var x) { return b.call("permute", {x}, {{"perm", Ints{-1, -2}}}); }

OpDef ragged_row(std::string_view signature, std::string_view doc, bool outer) {
  OpDef row = internal_row(signature, doc, ragged_factors);
  row.dtype.result = [](const OpCall& call) {
    if (call.in[2].dtype != DType::I32 || call.in[0].dtype != call.in[1].dtype)
      fail("type", std::string(call.op.name) + " takes two arrays of one type and i32 sizes, got " +
                       runtime::to_string(call.in[0]) + ", " + runtime::to_string(call.in[1]) + " and " +
                       runtime::to_string(call.in[2]));
    return std::vector<Kind>{{call.in[0].dtype, false}};
  };
  row.of_complex = complex::bilinear(row.name);
  row.hlo = [outer](const hlo::Use& u) { return ragged_hlo(u, outer); };
  row.kernel = ragged_kernel(outer);
  row.flops = 2;
  row.explicit_refuses = [](const OpCall& call, const FactorRule& rule) -> std::optional<std::string> {
    for (std::size_t i = 0; i < call.in.size(); ++i)
      for (std::size_t d = 0; d < call.in[i].shape.size(); ++d)
        if (is_split(call.in[i], static_cast<int>(d)) &&
            rule.factors[static_cast<std::size_t>(rule.operands[i][d][0])].kind == FactorKind::Whole)
          return "products in groups of " + runtime::to_string(call.in[i]) + ", which is split over " +
                 axes_text(call.in[i], static_cast<int>(d)) + ": `shard` it so that this dimension is whole first";
    return std::nullopt;
  };
  return row;
}

Vars ragged_dot(Builder& b, std::span<const Var> in, const Attrs&) {
  const Kind kind = promoted(b, in.subspan(0, 2));
  if (!runtime::is_integer(b.type(in[2]).dtype))
    fail("type", "ragged_dot: sizes of groups are integers, got " + runtime::to_string(b.type(in[2])));
  return {b.call("ragged_rows",
                 {promote_to(b, in[0], kind), promote_to(b, in[1], kind), ir::convert(b, in[2], DType::I32)})};
}

}  // namespace

void register_ragged(OpTable& t) {
  OpDef rows = ragged_row("ragged_rows(x, w, sizes)", "Rows in groups, each group times a matrix.", false);
  rows.derivative = Transposes{
      {0, 1}, false, [](Builder& b, const NodeView& n, int operand, std::span<const Var> ct, const Type&) -> Var {
        if (operand == 0)
          return b.emit1(n.call.op, {summed_whole(b, ct[0]), swapped(b, summed_whole(b, n.in[1])), n.in[2]});
        return b.call("ragged_outer", {n.in[0], ct[0], n.in[2]});
      }};
  rows.samples = "[6, 4] [2, 4, 2] i32[2] 0..4; [2, 4, 2] [2, 3, 2, 4] i32[2, 3] 0..3";
  t.add(std::move(rows));
  OpDef outer = ragged_row("ragged_outer(x, y, sizes)", "The product xᵀ y of each group of rows.", true);
  outer.derivative = Transposes{
      {0, 1}, false, [](Builder& b, const NodeView& n, int operand, std::span<const Var> ct, const Type&) -> Var {
        if (operand == 0)
          return b.call("ragged_rows", {summed_whole(b, n.in[1]), swapped(b, summed_whole(b, ct[0])), n.in[2]});
        return b.call("ragged_rows", {n.in[0], ct[0], n.in[2]});
      }};
  outer.samples = "[6, 4] [6, 2] i32[2] 0..4";
  t.add(std::move(outer));
  add_composite(t, "ragged_dot(x, w, sizes)",
                "The rows of x in groups of these sizes, one after another, each group times its own matrix of w.",
                "[6, 4] [2, 4, 2] i32[2] 0..4", ragged_dot);
}

}  // namespace shard::stdlib
