#include "stdlib/ops/products/matrices.h"

#include <algorithm>

#include "interpreter/ir/complex_parts.h"
#include "runtime/kernels/kernels.h"
#include "stdlib/ops/moving/moving_steps.h"

namespace shard::stdlib {

Expr product(const Expr& x, const Expr& y) { return call("matmul", {x, y}); }

Expr turned(const Expr& x) { return {x.builder(), x.builder().call("permute", {x}, {{"perm", Ints{-1, -2}}})}; }

Expr adjoint(const Expr& x) { return call("conj", {turned(x)}); }
Expr real_of(const Expr& x) { return {x.builder(), ir::real_part(x.builder(), x)}; }
Expr imaginary_of(const Expr& x) {
  Builder& b = x.builder();
  const Var im = ir::imag_part(b, x);
  return {b, ir::complex_of(b, ir::zeros(b, b.type(im)), im)};
}

Expr mask(Builder& b, std::int64_t rows, std::int64_t columns, std::string_view comparison) {
  return call(comparison, {positions_along(b, rows, 2, -2), positions_along(b, columns, 2, -1)});
}

Expr identity(Builder& b, std::int64_t n, DType dtype) { return cast_to(mask(b, n, n, "eq"), dtype); }
Expr identity_like(const Expr& square) {
  return identity(square.builder(), square.type().shape.back(), square.type().dtype);
}

Expr zeros_as(const Expr& x) { return call("fill_like", {x}, {{"value", 0.0}, {"dtype", x.type().dtype}}); }

Expr diagonal(const Expr& square) {
  Builder& b = square.builder();
  return {b, ir::reduce_sum(b, square * identity_like(square), {-1})};
}

Expr as_row(const Expr& v) {
  Shape shape = v.type().shape;
  shape.insert(shape.end() - 1, 1);
  return {v.builder(), expand(v.builder(), v, shape)};
}
Expr as_column(const Expr& v) {
  Shape shape = v.type().shape;
  shape.push_back(1);
  return {v.builder(), expand(v.builder(), v, shape)};
}

Expr triangular(const Expr& a, const Expr& b, bool lower, bool transposed) {
  return {a.builder(), a.builder().call("triangular_solve", {a, b}, {{"lower", lower}, {"transposed", transposed}})};
}

Expr as_real(Builder& b, Var complex) {
  const Var re = ir::real_part(b, complex), im = ir::imag_part(b, complex);
  return {b, join_parts(b, {join_parts(b, {re, ir::neg(b, im)}, -1), join_parts(b, {im, re}, -1)}, -2)};
}

Vars as_complex(const Expr& real) {
  Builder& b = real.builder();
  const Shape& shape = real.type().shape;
  const std::int64_t rows = shape[shape.size() - 2] / 2;
  const Var half = part_of(b, real, -1, 0, shape.back() / 2);
  return {ir::complex_of(b, part_of(b, half, -2, 0, rows), part_of(b, half, -2, rows, 2 * rows))};
}

ir::OfComplex through_real(std::string_view row) {
  return [row](Builder& b, std::span<const Var> in, const Attrs& attrs) {
    return as_complex({b, b.call(row, {as_real(b, in[0])}, attrs)});
  };
}

// ---- rules and kernels

MatrixRule::MatrixRule(const OpCall& call, std::size_t core) {
  const Shape& shape = call.in[0].shape;
  if (shape.size() < core)
    fail("shape", std::string(call.op.name) + " takes matrices, got " + runtime::to_string(call.in[0]));
  Shape lead(shape.begin(), shape.end() - static_cast<std::ptrdiff_t>(core));
  batch = r.dims(lead);
}

ir::ValueFactors MatrixRule::value(const Shape& core) {
  ir::ValueFactors made = batch;
  for (auto n : core) made.push_back({r.factor(n, FactorKind::Whole)});
  return made;
}

Shape core_of(const Type& t) { return {t.shape.end() - 2, t.shape.end()}; }

void need_square(const OpCall& call) {
  const Shape& s = call.in[0].shape;
  if (s.size() < 2 || s[s.size() - 1] != s[s.size() - 2])
    fail("shape", std::string(call.op.name) + " takes square matrices, got " + runtime::to_string(call.in[0]));
}

FactorRule square_factors(const OpCall& call) {
  need_square(call);
  MatrixRule m(call);
  const auto x = m.value(core_of(call.in[0]));
  return m.r.made({x}, {x});
}

std::optional<std::string> split_matrix(const OpCall& call, const Type& t, int dims) {
  for (int d = t.rank() - 2; d < t.rank() - 2 + dims; ++d)
    if (d >= 0 && is_split(t, d))
      return std::string(call.op.name) + " of " + runtime::to_string(t) + ": a matrix must be whole, dimension " +
             std::to_string(d) + " is split over " + axes_text(t, d) + "; `shard` it first";
  return std::nullopt;
}

std::optional<std::string> matrix_refuses(const OpCall& call, const FactorRule&) {
  for (auto& t : call.in)
    if (auto why = split_matrix(call, t, 2)) return why;
  return std::nullopt;
}

namespace {
ir::KindFn float_kinds(std::size_t results, Ints real) {
  return [results, real](const OpCall& call) {
    const DType own = call.in[0].dtype, part = runtime::is_complex(own) ? runtime::part_of(own) : own;
    for (auto& t : call.in)
      if ((part != DType::F32 && part != DType::F64) || t.dtype != own)
        fail("type",
             std::string(call.op.name) + " takes matrices of one type, f32 or f64, got " + runtime::to_string(t));
    std::vector<Kind> made(results, Kind{own, false});
    for (std::int64_t i : real) made[static_cast<std::size_t>(i)].dtype = part;
    return made;
  };
}

// All leading dimensions merged.
MergedView batch_of(const View& v, int core = 2) {
  std::vector<int> groups(static_cast<std::size_t>(core) + 1, 1);
  groups[0] = v.rank() - core;
  return {v, groups};
}

}  // namespace

ir::KernelFn matrix_kernel(Decompose f, std::vector<int> core) {
  return [f, core](const KernelCall& c) -> BoundKernel {
    std::vector<MergedView> in, out;
    for (auto& v : c.in) in.push_back(batch_of(v));
    std::vector<char> wanted;
    for (std::size_t i = 0; i < c.out.size(); ++i) {
      out.push_back(batch_of(c.out[i], i < core.size() ? core[i] : 2));
      wanted.push_back(c.reads(i) && runtime::numel(c.out[i].shape) > 0);
    }
    const bool nothing = std::none_of(wanted.begin(), wanted.end(), [](char w) { return w; });
    runtime::Pool& pool = c.pool;
    Attrs attrs = c.attrs;
    return [=, &pool](void* const* i, void* const* o) mutable {
      if (nothing) return;
      std::vector<runtime::BufferRef> held(in.size());
      std::vector<View> ins, outs;
      for (std::size_t k = 0; k < in.size(); ++k) ins.push_back(at(in[k].view, in[k].data(pool, i[k], held[k])));
      for (std::size_t k = 0; k < out.size(); ++k) outs.push_back(at(out[k].view, wanted[k] ? o[k] : nullptr));
      f(ins, outs, attrs, &pool.stop());
    };
  };
}

OpDef matrix_row(std::string_view signature, std::string_view doc, std::size_t results, Ints real) {
  OpDef row = internal_row(signature, doc);
  row.dtype.result = float_kinds(results, std::move(real));
  row.skips_unread = true;
  row.explicit_refuses = matrix_refuses;
  row.flops = 10;
  return row;
}

Expr taken_whole(Builder& b, const Expr& x) {
  const Type& t = x.type();
  if (t.sharding.reduced.empty() || !t.mesh ||
      !t.mesh->of_kind(runtime::AxisKind::Explicit).contains(t.sharding.reduced))
    return x;
  Layout layout{t.mesh, t.sharding};
  layout.sharding.reduced = {};
  return {b, b.emit1(*b.core().shard, {x}, {{"layout", std::move(layout)}})};
}

Expr matrices(Builder& b, Var x, std::string_view op, DType& back) {
  const Type& t = b.type(x);
  if (t.shape.size() < 2) fail("shape", std::string(op) + " takes matrices, got " + runtime::to_string(t));
  back = runtime::to_inexact(t.dtype);
  const bool kept = back == DType::F64 || runtime::is_complex(back);
  return taken_whole(b, {b, ir::convert(b, x, kept ? back : DType::F32)});
}

Vars back_to(Builder& b, Vars made, DType dtype) {
  for (auto& v : made)  // what is real of complex matrices stays so
    v = ir::convert(b, v, runtime::is_complex(dtype) && !ir::is_complex(b, v) ? runtime::part_of(dtype) : dtype);
  return made;
}

}  // namespace shard::stdlib
