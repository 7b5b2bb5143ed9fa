// Windows as StableHLO, written out: positions are counted, and the elements there gathered. Products in groups of rows
// are contractions.
#include "stdlib/ops/hlo.h"

namespace shard::stdlib {
namespace {

std::string dot_dims(std::string_view name, std::span<const std::int64_t> dims) {
  std::string out;
  for (auto d : dims) out += (out.empty() ? "" : ", ") + std::to_string(d);
  return std::string(name) + " = [" + out + "]";
}

// Batches in front, the last dimensions summed as said; in full precision.
hlo::Value dot(const hlo::Value& x, const hlo::Value& y, std::size_t batch, const Ints& x_summed, const Ints& y_summed,
               Shape shape) {
  Ints lead;
  for (std::size_t d = 0; d < batch; ++d) lead.push_back(static_cast<std::int64_t>(d));
  return x.to->op("stablehlo.dot_general", {x, y}, x.dtype, std::move(shape),
                  "dot_dimension_numbers = #stablehlo.dot<" + dot_dims("lhs_batching_dimensions", lead) + ", " +
                      dot_dims("rhs_batching_dimensions", lead) + ", " +
                      dot_dims("lhs_contracting_dimensions", x_summed) + ", " +
                      dot_dims("rhs_contracting_dimensions", y_summed) + ">, " + hlo::precise());
}

}  // namespace

hlo::Value windows_along(const hlo::Value& x, int dim, std::int64_t places, std::int64_t size, std::int64_t stride,
                         std::int64_t dilation) {
  const auto d = static_cast<std::size_t>(dim);
  Shape made = x.shape;
  made[d] = places;
  made.insert(made.begin() + dim + 1, size);
  if (runtime::numel(made) == 0) return x.to->constant(x.dtype, made, 0);
  std::int64_t before = 1, behind = 1;
  for (std::size_t k = 0; k < x.shape.size(); ++k) (k < d ? before : behind) *= k == d ? 1 : x.shape[k];
  const Shape grid{places, size};
  const hlo::Value first = hlo::iota(*x.to, DType::I32, grid, 0), inside = hlo::iota(*x.to, DType::I32, grid, 1);
  const hlo::Value at = first * static_cast<double>(stride) + inside * static_cast<double>(dilation);
  return hlo::reshape(rows_at(hlo::reshape(x, {1, before, x.shape[d], behind}), hlo::reshape(at, {1, places * size})),
                      made);
}

// Dimension by dimension: [lead..., places and windows in turn..., behind...], then all places before all windows.
hlo::Value windows_written(const hlo::Value& windows) {
  const hlo::Cut& c = *windows.cut;
  const std::size_t rank = c.from.shape.size();
  Ints low(rank, 0), high(rank, 0), perm;
  const Ints inner(rank, 0);
  for (std::size_t i = 0; i < c.count; ++i) std::tie(low[c.lead + i], high[c.lead + i]) = c.padding[i];
  hlo::Value x = low == inner && high == inner
                     ? c.from
                     : hlo::pad(c.from, c.from.to->constant(windows.dtype, {}, 0), low, high, inner);
  for (std::size_t i = 0; i < c.count; ++i)
    x = windows_along(x, static_cast<int>(c.lead + 2 * i), windows.shape[c.lead + i],
                      windows.shape[c.lead + c.count + i], c.stride[i], c.dilation[i]);
  const auto dims = [&](std::size_t from, std::size_t to, std::size_t step) {
    for (std::size_t d = from; d < to; d += step) perm.push_back(static_cast<std::int64_t>(d));
  };
  dims(0, c.lead, 1);
  for (std::size_t k : {0, 1}) dims(c.lead + k, c.lead + 2 * c.count, 2);
  dims(c.lead + 2 * c.count, x.shape.size(), 1);
  return hlo::transpose(x, perm);
}

// x in as many copies as there are groups, each with the rows of its group and zeros elsewhere: [lead..., m, g, k].
hlo::Values ragged_hlo(const hlo::Use& u, bool outer) {
  const hlo::Value &x = u.in[0], &w = u.in[1];
  const std::size_t lead = x.shape.size() - 2;
  const std::int64_t m = x.shape[lead], k = x.shape[lead + 1], g = u.in[2].shape.back();
  Shape grid(x.shape.begin(), x.shape.end() - 1);
  grid.push_back(g);
  Ints groups;
  for (std::size_t d = 0; d < lead; ++d) groups.push_back(static_cast<std::int64_t>(d));
  Ints rows = groups;
  groups.push_back(static_cast<std::int64_t>(lead) + 1);
  rows.push_back(static_cast<std::int64_t>(lead));
  const hlo::Value counts = hlo::binary("maximum", u.in[2], u.in[2].number(0));
  const std::vector<Type> one{Type::of(DType::I32, counts.shape)};
  const hlo::Value ends = running_hlo({u.to, {}, {&counts, 1}, one}, runtime::Scan::Sum)[0];
  const hlo::Value row = hlo::iota(u.to, DType::I32, grid, static_cast<int>(lead));
  const hlo::Value mine = hlo::both(hlo::compare(row, hlo::spread(ends - counts, grid, groups), "GE"),
                                    hlo::compare(row, hlo::spread(ends, grid, groups), "LT"));
  Shape apart = grid;
  apart.push_back(k);
  Ints over = rows;
  over.push_back(static_cast<std::int64_t>(lead) + 2);
  const hlo::Value copies = hlo::spread(x, apart, over);
  Ints all = groups;
  all.insert(all.end() - 1, static_cast<std::int64_t>(lead));
  const hlo::Value kept = hlo::select(hlo::spread(mine, apart, all), copies, copies.number(0));
  const auto first = static_cast<std::int64_t>(lead);
  if (outer) return {dot(kept, w, lead, {first}, {first}, u.out[0].shape)};
  static_cast<void>(m);
  return {dot(kept, w, lead, {first + 1, first + 2}, {first, first + 1}, u.out[0].shape)};
}

}  // namespace shard::stdlib
