// Functions of arrays that are no rows, since they take any number of arrays, lists of axes or what goes beside an
// array: meshgrid tensordot cho_factor cho_solve.
#include <algorithm>

#include "stdlib/host/host.h"

namespace shard::stdlib {
namespace {

// The first two dimensions change places for "xy", as in NumPy: the first array lies along columns.
Value meshgrid(Interpreter& in, BoundArgs& a) {
  std::vector<Value> arrays;
  bool by_columns = true, sparse = false;
  for (CallArg& x : a.rest) {
    if (x.name == "indexing" && x.value.is_string() && (x.value.str() == "xy" || x.value.str() == "ij"))
      by_columns = x.value.str() == "xy";
    else if (x.name == "indexing")
      in.fail("value", x.span, "meshgrid: indexing is \"xy\" or \"ij\"");
    else if (x.name == "sparse" && x.value.is<bool>())
      sparse = *x.value.get<bool>();
    else if (!x.name.empty())
      in.fail("call", x.span, "`meshgrid` has no parameter `" + x.name + "`",
              {"meshgrid(xs..., indexing: \"xy\", sparse: false)"});
    else
      arrays.push_back(Value(in.tensor(x.value, x.span)));
  }
  std::vector<std::int64_t> grid;
  for (const Value& x : arrays) {
    const Type& type = x.tensor().type();
    if (type.rank() > 1) in.fail("shape", a.span, "meshgrid takes vectors, this is " + runtime::to_string(type));
    grid.push_back(type.rank() == 0 ? 1 : type.shape[0]);
  }
  const bool turned = by_columns && arrays.size() > 1;
  if (turned) std::swap(grid[0], grid[1]);
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    const std::size_t at = turned && i < 2 ? 1 - i : i;
    std::vector<std::int64_t> line(arrays.size(), 1);
    line[at] = grid[at];
    arrays[i] = call_row(in, "reshape", {arrays[i], list_of(line)}, a.span);
    if (!sparse) arrays[i] = call_row(in, "broadcast_to", {arrays[i], list_of(grid)}, a.span);
  }
  return Value::list(std::move(arrays));
}

// The axes of one array as `tensordot` takes them: an integer, or several; from the front.
std::vector<std::size_t> summed_axes(Interpreter& in, const Value& v, const Type& type, grammar::Span span) {
  const std::vector<Value> given = v.items() ? *v.items() : std::vector<Value>{v};
  std::vector<std::size_t> out;
  for (const Value& x : given) {
    const std::int64_t axis = in.integer(x, span, "an axis of tensordot"), rank = type.rank();
    if (axis < -rank || axis >= rank)
      in.fail("shape", span,
              "tensordot: axis " + std::to_string(axis) + " of " + runtime::to_string(type) + ", which has rank " +
                  std::to_string(rank));
    const auto from_front = static_cast<std::size_t>(axis < 0 ? axis + rank : axis);
    if (std::find(out.begin(), out.end(), from_front) != out.end())
      in.fail("shape", span, "tensordot: axis " + std::to_string(axis) + " is named twice");
    out.push_back(from_front);
  }
  return out;
}

// einsum with a letter a dimension, and the same one for two that are summed together.
Value tensordot(Interpreter& in, BoundArgs& a) {
  const auto x = in.tensor(a[0], a.args[0].span), y = in.tensor(a[1], a.args[1].span);
  const auto x_rank = static_cast<std::size_t>(x.type().rank()), y_rank = static_cast<std::size_t>(y.type().rank());
  std::vector<std::size_t> of_x, of_y;
  if (const auto* pair = a[2].items()) {
    if (pair->size() != 2)
      in.fail("call", a.args[2].span,
              "tensordot: axes is a number, or those of x and those of y: `axes: ([1, 2], [0, 1])`");
    of_x = summed_axes(in, (*pair)[0], x.type(), a.args[2].span);
    of_y = summed_axes(in, (*pair)[1], y.type(), a.args[2].span);
    if (of_x.size() != of_y.size())
      in.fail("call", a.args[2].span,
              "tensordot: as many axes of x as of y, these are " + std::to_string(of_x.size()) + " and " +
                  std::to_string(of_y.size()));
  } else {
    const std::int64_t n = in.integer(a[2], a.args[2].span, "axes");
    if (n < 0 || static_cast<std::size_t>(n) > std::min(x_rank, y_rank))
      in.fail("shape", a.span,
              "tensordot over " + std::to_string(n) + " dimensions of " + runtime::to_string(x.type()) + " and " +
                  runtime::to_string(y.type()));
    for (std::size_t i = 0; i < static_cast<std::size_t>(n); ++i)
      of_x.push_back(x_rank - static_cast<std::size_t>(n) + i), of_y.push_back(i);
  }
  constexpr std::string_view letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
  if (x_rank + y_rank > letters.size()) in.fail("shape", a.span, "tensordot: too many dimensions");
  std::string first(letters.substr(0, x_rank)), second(letters.substr(x_rank, y_rank)), made;
  for (std::size_t i = 0; i < of_x.size(); ++i) second[of_y[i]] = first[of_x[i]];
  for (const char c : first)
    if (second.find(c) == std::string::npos) made += c;
  for (const char c : second)
    if (first.find(c) == std::string::npos) made += c;
  std::vector<CallArg> args{{"", Value::string(first + "," + second + "->" + made), a.span},
                            {"", Value(x), a.args[0].span},
                            {"", Value(y), a.args[1].span}};
  if (a.given(3)) args.push_back({"preferred", a[3], a.args[3].span});
  if (a.given(4)) args.push_back({"out", a[4], a.args[4].span});
  return call_row(in, "einsum", std::move(args), a.span);
}

// ---- systems of equations by a factor that is made once, as jax.scipy.linalg has it. The factor goes with which
// triangle it is.
Value adjoint(Interpreter& in, const Value& x, grammar::Span span) {
  const std::vector<CallArg> turned{
      {"", x, span}, {"axis1", Value(std::int64_t{-1}), span}, {"axis2", Value(std::int64_t{-2}), span}};
  return call_row(in, "conj", {call_row(in, "swapaxes", turned, span)}, span);
}

// Only the triangle that is asked for is read, as SciPy and JAX have it.
Value cho_factor(Interpreter& in, BoundArgs& a) {
  const bool lower = in.truth(a[1], a.args[1].span);
  const Value matrix = lower ? a[0] : adjoint(in, a[0], a.span);
  Value factor = call_row(
      in, "cholesky", std::vector<CallArg>{{"", matrix, a.span}, {"symmetrize_input", Value(false), a.span}}, a.span);
  if (!lower) factor = adjoint(in, factor, a.span);
  return Value::tuple({std::move(factor), Value(lower)});
}

// One system by a triangle: of the factor, or of its conjugate transpose.
Value solved(Interpreter& in, const Value& factor, const Value& right, bool lower, bool turned, grammar::Span span) {
  return call_row(in, "solve_triangular",
                  {{"", factor, span},
                   {"", right, span},
                   {"trans", Value(std::int64_t{turned ? 2 : 0}), span},
                   {"lower", Value(lower), span}},
                  span);
}

Value cho_solve(Interpreter& in, BoundArgs& a) {
  Value factor = a[0];
  bool lower = true;
  if (const auto* pair = a[0].items()) {
    if (pair->size() != 2)
      in.fail("type", a.args[0].span,
              "cho_solve takes what cho_factor gives, (factor, lower), or what cholesky gives; this is " +
                  lang::kind_name(a[0]));
    lower = in.truth((*pair)[1], a.args[0].span);
    factor = Value((*pair)[0]);
  }
  const Value half = solved(in, factor, a[1], lower, !lower, a.span);
  return solved(in, factor, half, lower, lower, a.span);
}

}  // namespace

void register_arrays(Interpreter& in) {
  in.define({"meshgrid", "meshgrid(xs...)",
             "A list of one array for each vector, all of the grid's shape: meshgrid(x, y) has x along columns; "
             "indexing: \"ij\" has the dimensions in the order of the vectors; sparse: true leaves them at size 1.",
             meshgrid});
  in.define({"tensordot", "tensordot(x, y, axes = 2, preferred = none, out = none)",
             "The sum over the last `axes` dimensions of x with the first of y, or over pairs of them: "
             "axes: ([1, 2], [0, 1]).",
             tensordot});
  in.define({"cho_factor", "cho_factor(a, lower = false)",
             "The Cholesky factor of a, the upper triangle or the lower one, and which it is: (factor, lower).",
             cho_factor});
  in.define({"cho_solve", "cho_solve(factor, b)",
             "The x of a x = b, of what cho_factor(a) gives, (factor, lower), or of the lower triangle cholesky(a).",
             cho_solve});
}

}  // namespace shard::stdlib
