// The transpose of `windows`: windows laid over each other and added. An element of the result is the sum, in the order
// of the window's elements, of what was taken from it; where the dimension is split, of such sums of single devices.
#include <algorithm>
#include <memory>

#include "interpreter/ir/contract_spec.h"
#include "runtime/kernels/kernels.h"
#include "stdlib/ops/hlo.h"
#include "stdlib/ops/moving/halo.h"
#include "stdlib/ops/moving/moving_steps.h"
#include "stdlib/ops/products/windows.h"

namespace shard::stdlib {
namespace {

std::int64_t floor_div(std::int64_t a, std::int64_t b) { return a / b - (a % b < 0 ? 1 : 0); }
std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return -floor_div(-a, b); }

struct Laid : Overlay {
  std::size_t lead = 0, count;
  Laid(const Attrs& attrs, std::size_t rank)
      : Overlay{attrs.ints("size"), attrs.ints("stride"),
                ints_if(attrs, "dilation").value_or(Ints(attrs.ints("size").size(), 1)), attrs.ints("before")},
        count(size.size()) {
    if (rank < 2 * count + 1)
      fail("shape", "windows of " + std::to_string(count) + " dimensions stand in an array of rank " +
                        std::to_string(2 * count + 1) + " or more");
    lead = rank - 2 * count - 1;
  }
  // Where element k of the window at position 0 lies along dimension i.
  std::int64_t shift(std::size_t i, std::int64_t k) const { return k * dilation[i] - before[i]; }
  // The positions whose element k lies inside: from the first to behind the last.
  std::pair<std::int64_t, std::int64_t> inside(std::size_t i, std::int64_t k, std::int64_t places) const {
    const std::int64_t first = std::max<std::int64_t>(0, ceil_div(-shift(i, k), stride[i])),
                       behind = std::min(places, floor_div(size[i] - 1 - shift(i, k), stride[i]) + 1);
    return {first, std::max(first, behind)};
  }
};

std::vector<Shape> sum_shape(const OpCall& call) {
  const Shape& x = call.in[0].shape;
  Laid l(call.attrs, x.size());
  Shape made(x.begin(), x.begin() + static_cast<std::ptrdiff_t>(l.lead));
  made.insert(made.end(), l.size.begin(), l.size.end());
  made.push_back(x.back());
  return {made};
}

FactorRule sum_factors(const OpCall& call) {
  RuleBuilder r;
  const Shape& x = call.in[0].shape;
  Laid l(call.attrs, x.size());
  const auto dims = r.dims(x);
  ir::ValueFactors out(dims.begin(), dims.begin() + static_cast<std::ptrdiff_t>(l.lead + l.count));
  for (std::size_t i = 0; i < l.count; ++i) {
    r.rule.factors[static_cast<std::size_t>(dims[l.lead + i][0])].kind = FactorKind::Halo;
    r.rule.factors[static_cast<std::size_t>(dims[l.lead + l.count + i][0])].kind = FactorKind::Whole;
  }
  out.push_back(dims.back());
  return r.made({dims}, {out});
}

// Calls f(k) for each element k of a window, in order.
template <class F>
void each_element(const Shape& window, F f) {
  Ints k(window.size(), 0);
  for (std::int64_t left = runtime::numel(window); left > 0; --left) {
    f(k);
    for (std::size_t d = window.size(); d-- > 0 && ++k[d] == window[d];) k[d] = 0;
  }
}

BoundKernel bind_sum(const KernelCall& c) {
  const View &in = c.in[0], &out = c.out[0];
  Laid l(c.attrs, in.shape.size());
  const auto at = [](std::size_t d) { return static_cast<std::ptrdiff_t>(d); };
  const Shape window(in.shape.begin() + at(l.lead + l.count), in.shape.end() - 1);
  std::vector<runtime::Overlap::Part> parts;
  each_element(window, [&](const Ints& k) {
    runtime::Overlap::Part p{{}, {}, {}, 0, 0};
    for (std::size_t i = 0; i < l.count; ++i) {
      const std::size_t d = l.lead + i;
      const auto [first, behind] = l.inside(i, k[i], in.shape[d]);
      p.shape.push_back(behind - first);
      p.in.push_back(in.strides[d]);
      p.out.push_back(out.strides[d] * l.stride[i]);
      p.in_offset += first * in.strides[d] + k[i] * in.strides[d + l.count];
      p.out_offset += (first * l.stride[i] + l.shift(i, k[i])) * out.strides[d];
    }
    p.shape.push_back(out.shape.back());
    p.in.push_back(in.strides.back());
    p.out.push_back(out.strides.back());
    parts.push_back(std::move(p));
  });
  if (runtime::numel(out.shape) == 0) return [](void* const*, void* const*) {};
  auto kernel = std::make_shared<runtime::Overlap>(in, out, static_cast<int>(l.lead), parts);
  return [kernel](void* const* i, void* const* o) { kernel->run(i[0], o[0]); };
}

// Where a device's block of the result has as many elements as its windows step over, it adds up its own windows, and
// the edges are exchanged afterwards, which are less than windows. Else it fetches the windows that reach into its
// block.
Vars sum_locally(Builder& b, const ir::LocalCall& c, std::span<const Var> in) {
  const Shape& from = c.call.in[0].shape;
  Laid l(c.call.attrs, from.size());
  Var g = in[0];
  std::vector<SplitDim> whole;  // of the result, of which each device then keeps its part
  std::vector<std::pair<SplitDim, std::int64_t>>
      edges;  // of the result; how far before its block a device's sums begin
  for (std::size_t i = 0; i < l.count; ++i) {
    const std::size_t d = l.lead + i;
    const auto split = split_dim(c, 0, d);
    if (!split) continue;
    SplitDim result = *split;
    result.size = l.size[i];
    const std::int64_t places = split->block_of(split->size), block = result.block_of(result.size),
                       reach = (places - 1) * l.stride[i] + (from[d + l.count] - 1) * l.dilation[i] + 1;
    if (block == places * l.stride[i] && l.before[i] > -block && l.before[i] < reach) {
      g = ended(b, g, *split, FactorReduce::Sum);  // windows behind the end are none
      edges.emplace_back(std::move(result), l.before[i]);
      l.size[i] = reach;
      l.before[i] = 0;
      continue;
    }
    const std::int64_t over = (from[d + l.count] - 1) * l.dilation[i] + 1,
                       first = ceil_div(l.before[i] - over + 1, l.stride[i]),
                       count = floor_div(block - 1 + l.before[i], l.stride[i]) - first + 1;
    if (block % l.stride[i] || count <= 0 || from[d] == 0) {
      g = gathered(b, g, *split);
      whole.push_back(std::move(result));
      continue;
    }
    g = window_of_zeros(b, g, *split, first, block / l.stride[i], count);  // windows beyond the ends are none
    l.size[i] = block;
    l.before[i] -= first * l.stride[i];
  }
  Var x = windows_sum(b, g, l);
  for (const auto& [of, before] : edges) x = edges_added(b, x, of, before);
  for (const SplitDim& s : whole) x = kept(b, x, s);
  return {x};
}

// The cotangent of the windows: what they take of it; not what lies before them, or room for more of them.
Var sum_transpose(Builder& b, const NodeView& n, int, std::span<const Var> ct, const Type& want) {
  Laid l(n.call.attrs, want.shape.size());
  Ints window(want.shape.begin() + static_cast<std::ptrdiff_t>(l.lead + l.count), want.shape.end() - 1);
  Pairs padding;
  Var taken = ct[0];
  for (std::size_t i = 0; i < l.count; ++i) {
    const std::int64_t first = -l.before[i],
                       end = first + (want.shape[l.lead + i] - 1) * l.stride[i] + (window[i] - 1) * l.dilation[i] + 1,
                       low = std::max<std::int64_t>(first, 0), high = std::max(low, std::min(end, l.size[i]));
    if (low > 0 || l.size[i] - high >= l.stride[i])
      taken = part_of(b, taken, static_cast<std::int64_t>(i) - static_cast<std::int64_t>(l.count) - 1, low, high);
    padding.emplace_back(low - first, std::max<std::int64_t>(0, end - high));
  }
  Attrs attrs{{"window", window}, {"stride", l.stride}, {"padding", padding}, {"dilation", l.dilation}};
  return b.call("windows", {taken}, attrs);
}

// Windows that a product with a kernel makes, one element apart: the same product of the windows of its other operand
// with the kernel turned round, which needs no array of all windows (the cotangent of a convolution is one).
std::optional<Var> as_product(Builder& b, const OpCall& call, const ir::Node& maker, const Vars& in) {
  const std::size_t rank = call.in[0].shape.size();
  const Laid l(call.attrs, rank);
  if (!call.graph->local || maker.op != b.core().contract ||
      std::any_of(l.stride.begin(), l.stride.end(), [](auto n) { return n != 1; }))
    return std::nullopt;
  const ir::ContractSpec spec = ir::read_spec(maker.attrs.text("spec"));
  const std::size_t extra = rank - spec.out.size();  // dimensions in front that have no letter
  if (l.lead < extra) return std::nullopt;
  const std::string places(spec.out.substr(l.lead - extra, l.count)),
      taps(spec.out.substr(l.lead - extra + l.count, l.count));
  const auto has = [](std::string_view of, const std::string& letters) { return of.find(letters) != of.npos; };
  const auto none = [](std::string_view of, const std::string& letters) {
    return of.find_first_of(letters) == of.npos;
  };
  const bool swap = has(spec.y, places);
  const std::string_view x = swap ? spec.y : spec.x, w = swap ? spec.x : spec.y;
  if (!has(x, places) || x.find(places) + l.count + 1 != x.size() || !none(x, taps) || !has(w, taps) ||
      !none(w, places))
    return std::nullopt;
  const Var cut = in[swap ? 1 : 0], kernel = in[swap ? 0 : 1];
  const Shape& shape = call.in[0].shape;
  Attrs how{{"stride", l.stride}, {"dilation", l.dilation}};
  Ints window, turned;
  Pairs padding;
  for (std::size_t i = 0; i < l.count; ++i) {
    window.push_back(shape[l.lead + l.count + i]);
    const std::int64_t reach = (window[i] - 1) * l.dilation[i], low = reach - l.before[i],
                       high = l.size[i] - shape[l.lead + i] + reach - low;
    if (low < 0 || high < 0) return std::nullopt;
    padding.emplace_back(low, high);
    turned.push_back(static_cast<std::int64_t>(w.find(taps[i])) - static_cast<std::int64_t>(w.size()));
  }
  how.set("window", window), how.set("padding", padding);
  const Var all = b.call("windows", {cut}, how), back = b.emit1(*b.core().rev, {kernel}, {{"axes", turned}});
  const std::string shown = std::string(x.substr(0, x.size() - 1)) + taps + x.back(),
                    made = std::string(spec.out.substr(0, l.lead - extra)) + places + spec.out.back();
  const std::string text = swap ? std::string(w) + "," + shown : shown + "," + std::string(w);
  return b.emit(*maker.op, swap ? Vars{back, all} : Vars{all, back}, {{"spec", text + "->" + made}}).at(0);
}

// Of what a product gives a convolution; else a term for each element of a window, spread out by the stride and put
// where it belongs.
hlo::Values sum_hlo(const hlo::Use& u) {
  const hlo::Value& x = u.in[0];
  const std::size_t rank = x.shape.size();
  Laid l(u.attrs, rank);
  if (x.product)
    if (auto made = as_transposed_convolution(*x.product, l.lead, l, u.out[0].shape, u.out[0].dtype)) return {*made};
  const auto at = [](std::size_t d) { return static_cast<std::ptrdiff_t>(d); };
  const hlo::Value zero = u.to.constant(x.dtype, {}, 0);
  std::optional<hlo::Value> sum;
  each_element(Shape(x.shape.begin() + at(l.lead + l.count), x.shape.end() - 1), [&](const Ints& k) {
    Ints start(rank, 0), limit(x.shape.begin(), x.shape.end()), step(rank, 1);
    Shape made(x.shape.begin(), x.shape.begin() + at(l.lead));
    Ints low(rank - l.count, 0), high = low, interior = low;
    for (std::size_t i = 0; i < l.count; ++i) {
      const std::size_t d = l.lead + i;
      start[d + l.count] = k[i], limit[d + l.count] = k[i] + 1;
      std::tie(start[d], limit[d]) = l.inside(i, k[i], x.shape[d]);
      const std::int64_t places = limit[d] - start[d];
      made.push_back(places);
      interior[d] = l.stride[i] - 1;
      low[d] = places == 0 ? 0 : start[d] * l.stride[i] + l.shift(i, k[i]);
      high[d] = l.size[i] - low[d] - (places == 0 ? 0 : (places - 1) * l.stride[i] + 1);
    }
    made.push_back(x.shape.back());
    const hlo::Value part = hlo::reshape(hlo::slice(x, start, limit, step), made);
    const hlo::Value placed = hlo::pad(part, zero, low, high, interior);
    sum = sum ? *sum + placed : placed;
  });
  return {sum ? *sum : u.to.constant(x.dtype, u.out[0].shape, 0)};
}

}  // namespace

Var windows_sum(Builder& b, Var windows, const Overlay& how) {
  Attrs attrs{{"size", how.size}, {"stride", how.stride}, {"before", how.before}};
  if (std::any_of(how.dilation.begin(), how.dilation.end(), [](auto n) { return n != 1; }))
    attrs.set("dilation", how.dilation);
  return b.call("windows_sum", {windows}, attrs);
}

void register_windows_sum(OpTable& t) {
  OpDef row = internal_row("windows_sum(x, size: ints, stride: ints, before: ints, dilation: ints? = none)",
                           "Windows laid over each other and added: the transpose of `windows`.");
  row.factors = sum_factors;
  row.shape = sum_shape;
  row.derivative = Transposes{{}, false, sum_transpose};
  row.hlo = sum_hlo;
  row.of_complex = ir::OnParts{};
  row.kernel = ir::KernelFn(bind_sum);
  row.explicit_refuses = [](const OpCall& call, const FactorRule&) {
    Laid l(call.attrs, call.in[0].shape.size());
    Type positions = call.in[0];  // without the windows' own dimensions
    const auto first = static_cast<std::ptrdiff_t>(l.lead + l.count),
               behind = first + static_cast<std::ptrdiff_t>(l.count);
    positions.shape.erase(positions.shape.begin() + first, positions.shape.begin() + behind);
    if (laid_out(positions))
      positions.sharding.dims.erase(positions.sharding.dims.begin() + first, positions.sharding.dims.begin() + behind);
    return size_change_refuses("a sum of windows", positions, sum_shape(call)[0]);
  };
  row.partition = sum_locally;
  row.with_maker = as_product;
  row.samples =
      "[2, 4, 3, 4] size=[6] stride=[1] before=[0]; [2, 4, 2, 2] size=[8] stride=[2] before=[1]; "
      "[3, 4, 2, 3, 2] size=[7, 4] stride=[2, 1] before=[0, 1]; [8, 2, 3] size=[16] stride=[2] before=[0]; "
      "[2, 8, 3, 2] size=[8] stride=[1] before=[2] dilation=[2]; [4, 2, 1] size=[14] stride=[4] before=[0]";
  t.add(std::move(row));
}

}  // namespace shard::stdlib
