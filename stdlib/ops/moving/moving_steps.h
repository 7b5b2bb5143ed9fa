// Small steps that composites share: a part of one dimension, an axis moved, positions along an axis, and `out:` that
// lays a result out as another array is. Axes are counted from the end.
#pragma once
#include "stdlib/ops/elementwise.h"

namespace shard::stdlib {

Expr part_of(Builder& b, Var x, std::int64_t axis, std::int64_t from, std::int64_t to, std::int64_t step = 1);
// One element of the axis, without the dimension.
Expr element_of(Builder& b, Var x, std::int64_t axis, std::int64_t at);
// These scalars; one array is all of its elements.
Vars scalars_of(Builder& b, std::span<const Var> given);
Var join_parts(Builder& b, const Vars& xs, std::int64_t axis);
Var move_axis(Builder& b, Var x, std::int64_t from, std::int64_t to);
// 0, 1, ..., n - 1 along an axis of an array of this rank, whose other sizes are 1.
Expr positions_along(Builder& b, std::int64_t n, std::size_t rank, std::int64_t axis, DType dtype = DType::I32);
// On explicit axes `out:` as `like` is laid out; `like` has the shape of the result.
Attrs out_as(const Builder& b, Attrs attrs, Var like);
// The elements of a vector at these positions (clamped), laid out as the positions are.
Expr elements_at(Builder& b, Var vector, Var index);
Attrs rows_along(std::int64_t axis, std::string bounds = "clamp", std::int64_t batch = 0);  // of take
Attrs written_along(std::int64_t axis, std::string op, std::int64_t batch = 0);             // of scatter_rows
// x where c is true, else y, of their promoted type.
Expr chosen(const Expr& c, const Expr& x, const Expr& y);
// All dimensions as one.
Var flat(Builder& b, Var x);
Expr as_inexact(Builder& b, Var x);                                        // integers and truth values as floats
Expr summed_in(const Expr& x);                                             // f16 and bf16 are averaged in f32
std::pair<Expr, Expr> inexact_pair(Builder& b, std::span<const Var> two);  // of the float type that both promote to

// ---- `out:` where more than one operation stands behind it
// What makes arrays, with an `out:` that leaves a sum unreduced: the result is placed, and what is made on the way
// counts as it is.
ir::Compose placed_last(ir::Compose inner);

// What makes arrays in several steps: made first, and laid out as `out:` says.
ir::Compose laid_out_last(ir::Compose inner);

// `out:` of one element under vmap, for all of them: in front stands what the operands' mapped dimension is split over.
Attrs with_mapped_out(const Builder& b, const Attrs& attrs, std::span<const Mapped> in);

// ---- random numbers
DType float_asked(const Attrs& attrs, std::string_view op, DType otherwise = DType::F32);  // `dtype`; throws for others
Shape under_keys(const Builder& b, Var key, const Shape& shape);                           // for each of the keys
std::pair<Var, Var> two_keys(Builder& b, Var key);                                         // split off

}  // namespace shard::stdlib
