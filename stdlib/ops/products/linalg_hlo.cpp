// Linear algebra in the operations and custom calls that XLA has on every engine: Cholesky, triangular systems, QR by
// reflectors, eigenvectors of symmetric matrices. There is none for LU with pivots: systems and determinants go through
// QR, which needs none.
#include "stdlib/ops/hlo.h"

namespace shard::stdlib {

hlo::Value product_hlo(const hlo::Value& a, const hlo::Value& b) {
  std::string lead;
  for (int d = 0; d + 2 < a.rank(); ++d) lead += (d ? ", " : "") + std::to_string(d);
  Shape shape = a.shape;
  shape.back() = b.shape.back();
  return a.to->op("stablehlo.dot_general", {a, b}, a.dtype, std::move(shape),
                  "dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [" + lead +
                      "], rhs_batching_dimensions = [" + lead + "], lhs_contracting_dimensions = [" +
                      std::to_string(a.rank() - 1) + "], rhs_contracting_dimensions = [" +
                      std::to_string(a.rank() - 2) + "]>, " + hlo::precise());
}

namespace {

hlo::Value mask_of(const hlo::Value& a, std::string_view direction) {  // row `direction` column
  const hlo::Value row = hlo::iota(*a.to, DType::I32, a.shape, a.rank() - 2),
                   column = hlo::iota(*a.to, DType::I32, a.shape, a.rank() - 1);
  return hlo::compare(row, column, direction);
}

hlo::Value turned(const hlo::Value& a) {
  Ints perm;
  for (int d = 0; d < a.rank(); ++d) perm.push_back(d);
  std::swap(perm[perm.size() - 1], perm[perm.size() - 2]);
  return hlo::transpose(a, perm);
}

DType part_type(const hlo::Value& a) { return runtime::is_complex(a.dtype) ? runtime::part_of(a.dtype) : a.dtype; }
hlo::Value code_of(runtime::Code code, std::initializer_list<hlo::Value> in, DType out) {
  return hlo::of_code(code, std::span(in.begin(), in.size()), out);
}
hlo::Value conjugate(const hlo::Value& a) {
  if (!runtime::is_complex(a.dtype)) return a;
  const hlo::Value re = code_of(runtime::Code::Real, {a}, part_type(a)),
                   im = code_of(runtime::Code::Imag, {a}, part_type(a));
  return code_of(runtime::Code::Complex, {re, hlo::unary("negate", im)}, a.dtype);
}
hlo::Value adjoint(const hlo::Value& a) { return conjugate(turned(a)); }
hlo::Value size_of(const hlo::Value& a) { return a.to->op("stablehlo.abs", {a}, part_type(a), a.shape); }

hlo::Value triangular(const hlo::Value& a, const hlo::Value& b, bool lower, bool transposed, bool unit) {
  const auto flag = [](bool x) { return std::string(x ? "true" : "false"); };
  return a.to->op("stablehlo.triangular_solve", {a, b}, b.dtype, b.shape,
                  "left_side = true, lower = " + flag(lower) + ", unit_diagonal = " + flag(unit) +
                      ", transpose_a = #stablehlo<transpose " + (transposed ? "TRANSPOSE" : "NO_TRANSPOSE") + ">");
}

struct Reflectors {
  hlo::Value q, r, taus;
};

Reflectors reflectors(const hlo::Value& a) {
  const std::int64_t rows = a.shape[a.shape.size() - 2], columns = a.shape.back(), k = std::min(rows, columns);
  Shape scales(a.shape.begin(), a.shape.end() - 2);
  scales.push_back(k);
  const hlo::Values like{a, {a.to, {}, a.dtype, scales}};
  const hlo::Values packed = a.to->ops("stablehlo.custom_call", {&a, 1}, like, "call_target_name = \"Qr\"");
  const hlo::Value narrow = hlo::part(packed[0], a.rank() - 1, 0, k);
  const hlo::Value q = a.to->op("stablehlo.custom_call", {narrow, packed[1]}, a.dtype, narrow.shape,
                                "call_target_name = \"ProductOfElementaryHouseholderReflectors\"");
  const hlo::Value top = hlo::part(packed[0], a.rank() - 2, 0, k);
  return {q, hlo::select(mask_of(top, "LE"), top, top.number(0)), packed[1]};
}

// The diagonal of a triangle, and what the reflectors turn round: 1 or -1 a matrix, of complex ones a phase.
hlo::Value diagonal(const hlo::Value& r) {
  return hlo::reduced(hlo::select(mask_of(r, "EQ"), r, r.number(0)), runtime::Reduce::Sum, Ints{r.rank() - 2});
}
hlo::Value orientation(const hlo::Value& taus) {
  const hlo::Value none = hlo::compare(taus, taus.number(0), "EQ"), held = hlo::select(none, taus.number(1), taus);
  const hlo::Value turned_by =
      runtime::is_complex(taus.dtype) ? hlo::unary("negate", held / conjugate(held)) : taus.number(-1);
  const hlo::Value turns = hlo::select(none, taus.number(1), turned_by);
  return hlo::reduced(turns, runtime::Reduce::Prod, Ints{taus.rank() - 1});
}

}  // namespace

hlo::Values lu_solve_hlo(const hlo::Use& u) {
  const Reflectors f = reflectors(u.in[0]);
  return {triangular(f.r, product_hlo(adjoint(f.q), u.in[1]), false, false, false)};
}

hlo::Values triangular_hlo(const hlo::Use& u) {
  return {triangular(u.in[0], u.in[1], u.attrs.flag("lower"), flag_or(u.attrs, "transposed", false),
                     flag_or(u.attrs, "unit", false))};
}

hlo::Values cholesky_hlo(const hlo::Use& u) {
  const hlo::Value made = u.to.op("stablehlo.cholesky", u.in, u.in[0].dtype, u.in[0].shape, "lower = true");
  return {hlo::select(mask_of(made, "GE"), made, made.number(0))};
}

hlo::Values qr_hlo(const hlo::Use& u) {
  const Reflectors f = reflectors(u.in[0]);
  return {f.q, f.r};
}

// Lower triangle, sorted, at most 100 sweeps of Jacobi's rotations.
hlo::Values eigh_hlo(const hlo::Use& u) {
  const hlo::Value& a = u.in[0];
  const Shape values(a.shape.begin(), a.shape.end() - 1);
  const hlo::Values like{a, {&u.to, {}, part_type(a), values}};
  const hlo::Values made =
      u.to.ops("stablehlo.custom_call", u.in, like, "call_target_name = \"Eigh\", backend_config = \"1,1,100,1e-6\"");
  return {made[1], made[0]};
}

hlo::Values determinant_hlo(const hlo::Use& u) {
  const Reflectors f = reflectors(u.in[0]);
  return {hlo::reduced(diagonal(f.r), runtime::Reduce::Prod, Ints{f.r.rank() - 2}) * orientation(f.taus)};
}

// The determinant times the inverse, turned; nan of singular matrices.
hlo::Values cofactors_hlo(const hlo::Use& u) {
  const hlo::Value& a = u.in[0];
  const hlo::Value one = hlo::convert(mask_of(a, "EQ"), a.dtype), number = determinant_hlo(u)[0];
  const hlo::Values given{a, one};
  const hlo::Use system{u.to, u.attrs, given, u.out};
  Ints dims;
  for (int d = 0; d + 2 < a.rank(); ++d) dims.push_back(d);
  return {turned(lu_solve_hlo(system)[0]) * hlo::spread(number, a.shape, dims)};
}

hlo::Values log_det_hlo(const hlo::Use& u) {
  const Reflectors f = reflectors(u.in[0]);
  const hlo::Value d = diagonal(f.r), last = hlo::unary("log", size_of(d));
  const Ints along{d.rank() - 1};
  return {hlo::reduced(hlo::unary("sign", d), runtime::Reduce::Prod, along) * orientation(f.taus),
          hlo::reduced(last, runtime::Reduce::Sum, along)};
}

}  // namespace shard::stdlib
