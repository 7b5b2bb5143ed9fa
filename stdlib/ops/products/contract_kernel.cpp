// Brings a contraction to matrix products. Dimensions fall into four groups: batch (in x, y and the result), rows (x
// and result), columns (y and result), summed (x and y). A leading dimension over which one operand does not change
// (stride 0, as blocks of devices do) is a row or column dimension: a split batch times a replicated weight is then one
// large product. Rows, columns and sums whose strides merge cost nothing; an operand whose do not is packed first, a
// result whose do not is formed apart and copied.
#include "stdlib/ops/products/contract_kernel.h"

#include "grammar/stable_sort.h"
#include "runtime/kernels/kernels.h"

namespace shard::stdlib {
namespace {

struct Dim {
  std::int64_t size, x = 0, y = 0, out = 0;
};  // strides in the three arrays
using Dims = std::vector<Dim>;
struct Groups {
  Dims batch, rows, columns, summed;
};

std::int64_t count(const Dims& dims) {
  std::int64_t n = 1;
  for (auto& d : dims) n *= d.size;
  return n;
}

// Adjacent dimensions joined where `fits` says that their strides allow it.
template <class Fits>
Dims joined(const Dims& dims, Fits fits) {
  Dims made;
  for (auto& d : dims) {
    if (!made.empty() && fits(made.back(), d)) {
      std::int64_t size = made.back().size * d.size;
      made.back() = d;
      made.back().size = size;
    } else {
      made.push_back(d);
    }
  }
  return made;
}
bool joins_x(const Dim& a, const Dim& b) { return a.x == b.x * b.size; }
bool joins_y(const Dim& a, const Dim& b) { return a.y == b.y * b.size; }
bool joins_out(const Dim& a, const Dim& b) { return a.out == b.out * b.size; }

// The first `terms` leading dimensions are summed too: the devices of a sum that follows the contraction.
Groups grouped(const KernelCall& c, const ContractSpec& spec, std::size_t terms) {
  const View &x = c.in[0], &y = c.in[1], &out = c.out[0];
  Groups g;
  auto place = [&](Dim d, bool in_x, bool in_y, bool in_out) {
    if (d.size == 1) return;
    if (in_out && in_x && in_y) {
      if (d.y == 0 && d.x != 0)
        in_y = false;
      else if (d.x == 0 && d.y != 0)
        in_x = false;
    }
    (!in_out ? g.summed : in_x && in_y ? g.batch : in_x ? g.rows : g.columns).push_back(d);
  };
  std::size_t lead = x.shape.size() - spec.x.size();
  for (std::size_t d = 0; d < terms; ++d) place({x.shape[d], x.strides[d], y.strides[d], 0}, true, true, false);
  for (std::size_t d = terms; d < lead; ++d)
    place({x.shape[d], x.strides[d], y.strides[d], out.strides[d - terms]}, true, true, true);
  auto find = [&](std::string_view labels, char l) { return labels.find(l); };
  for (std::size_t i = 0; i < spec.out.size(); ++i) {
    auto a = find(spec.x, spec.out[i]), b = find(spec.y, spec.out[i]);
    bool in_x = a != std::string_view::npos, in_y = b != std::string_view::npos;
    std::size_t o = lead - terms + i;
    place({out.shape[o], in_x ? x.strides[lead + a] : 0, in_y ? y.strides[lead + b] : 0, out.strides[o]}, in_x, in_y,
          true);
  }
  for (std::size_t i = 0; i < spec.x.size(); ++i) {
    if (find(spec.out, spec.x[i]) != std::string_view::npos) continue;
    place({x.shape[lead + i], x.strides[lead + i], y.strides[lead + find(spec.y, spec.x[i])], 0}, true, true, false);
  }
  for (Dims* dims : {&g.batch, &g.rows, &g.columns})
    stable_sort(*dims, [](const Dim& a, const Dim& b) { return a.out > b.out; });
  auto by_x = [](const Dim& a, const Dim& b) { return a.x > b.x; };
  auto by_y = [](const Dim& a, const Dim& b) { return a.y > b.y; };
  stable_sort(g.summed, by_x);
  if (joined(g.summed, joins_y).size() > 1) {  // an order that suits y may spare packing both
    Dims other = g.summed;
    stable_sort(other, by_y);
    if (joined(other, joins_x).size() <= 1 || joined(g.summed, joins_x).size() > 1) g.summed = other;
  }
  return g;
}

// How to copy an operand into the order batch, outer (rows or columns), summed, and the strides it then has.
struct Packing {
  View from, to;
};

template <class Get>
Packing pack(Groups& g, Dims Groups::*outer, DType dtype, Get stride) {
  Packing p{{dtype, {}, {}, nullptr}, {}};
  std::vector<std::pair<std::int64_t, std::int64_t*>> dims;
  for (Dims* group : {&g.batch, &(g.*outer), &g.summed})
    for (auto& d : *group) dims.emplace_back(d.size, &stride(d));
  for (auto& [size, s] : dims) {
    p.from.shape.push_back(size);
    p.from.strides.push_back(*s);
  }
  p.to = runtime::contiguous(dtype, p.from.shape);
  for (std::size_t i = 0; i < dims.size(); ++i) *dims[i].second = p.to.strides[i];
  return p;
}

// As pack, for the result: formed as batch, rows, columns in scratch memory, then copied from there.
Packing unpack(Groups& g, DType dtype) {
  Packing p{{dtype, {}, {}, nullptr}, {}};
  Dims* groups[] = {&g.batch, &g.rows, &g.columns};
  for (Dims* group : groups)
    for (auto& d : *group) p.from.shape.push_back(d.size), p.from.strides.push_back(d.out);
  p.to = runtime::contiguous(dtype, p.from.shape);
  std::size_t i = 0;
  for (Dims* group : groups)
    for (auto& d : *group) d.out = p.to.strides[i++];
  return p;
}

struct Plan {
  DType dtype;
  std::optional<Packing> pack_x, pack_y, pack_out;
  bool swapped = false;  // the result's columns vary slowest: form its transpose
  View x, y, out;        // [batch..., rows, columns] of a product, without data
  View whole_out;
};

Plan plan_for(const KernelCall& c, int terms) {
  Groups g = grouped(c, read_spec(c.attrs.text("spec")), static_cast<std::size_t>(terms));
  Plan p;
  p.dtype = c.out[0].dtype;
  p.whole_out = c.out[0];
  if (joined(g.rows, joins_x).size() > 1 || joined(g.summed, joins_x).size() > 1)
    p.pack_x = pack(g, &Groups::rows, p.dtype, [](Dim& d) -> std::int64_t& { return d.x; });
  if (joined(g.columns, joins_y).size() > 1 || joined(g.summed, joins_y).size() > 1)
    p.pack_y = pack(g, &Groups::columns, p.dtype, [](Dim& d) -> std::int64_t& { return d.y; });
  auto line = [](const Dims& d) { return d.empty() || d.back().out == 1; };  // its elements lie one after the other
  bool fits = joined(g.rows, joins_out).size() <= 1 && joined(g.columns, joins_out).size() <= 1;
  if (!fits || !(line(g.columns) || line(g.rows))) p.pack_out = unpack(g, p.dtype);
  p.swapped = !line(g.columns);
  std::int64_t m = count(g.rows), n = count(g.columns), k = count(g.summed);
  auto last = [](const Dims& dims) { return dims.empty() ? Dim{1, 1, 1, 1} : dims.back(); };
  Dim r = last(g.rows), col = last(g.columns), sum = last(g.summed);
  p.x = p.y = p.out = {p.dtype, {}, {}, nullptr};
  auto dim = [](View& v, std::int64_t size, std::int64_t stride) {
    v.shape.push_back(size), v.strides.push_back(stride);
  };
  for (auto& d : g.batch) dim(p.x, d.size, d.x), dim(p.y, d.size, d.y), dim(p.out, d.size, d.out);
  if (p.swapped) {
    dim(p.y, n, col.y), dim(p.y, k, sum.y);
    dim(p.x, k, sum.x), dim(p.x, m, r.x);
    dim(p.out, n, col.out), dim(p.out, m, r.out);
    std::swap(p.x, p.y);
  } else {
    dim(p.x, m, r.x), dim(p.x, k, sum.x);
    dim(p.y, k, sum.y), dim(p.y, n, col.y);
    dim(p.out, m, r.out), dim(p.out, n, col.out);
  }
  return p;
}

}  // namespace

ContractSpec read_spec(std::string_view text) {
  auto comma = text.find(','), arrow = text.find("->");
  return {text.substr(0, comma), text.substr(comma + 1, arrow - comma - 1), text.substr(arrow + 2)};
}

std::int64_t contract_copies(const KernelCall& call, int terms) {
  const Plan p = plan_for(call, terms);
  std::int64_t bytes = 0;
  for (const auto& packing : {p.pack_x, p.pack_y, p.pack_out})
    if (packing) bytes += runtime::bytes_of(packing->to.shape, runtime::size_of(p.dtype));
  return bytes;
}

BoundKernel bind_contract(const KernelCall& call) { return bind_contract_sum(call, 0); }

BoundKernel bind_contract_sum(const KernelCall& call, int terms) {
  auto p = std::make_shared<Plan>(plan_for(call, terms));
  auto product = std::make_shared<runtime::MatrixProduct>(p->x, p->y, p->out);
  runtime::Pool& pool = call.pool;
  if (runtime::numel(p->whole_out.shape) == 0) return [](void* const*, void* const*) {};
  return [p, product, &pool](void* const* in, void* const* out) {
    auto scratch = [&](const View& like) {
      return pool.scratch(runtime::checked_bytes(like.shape, runtime::size_of(like.dtype)));
    };
    void *x = in[0], *y = in[1], *to = out[0];
    runtime::BufferRef held_x, held_y, held_out;
    if (p->pack_x) {
      held_x = scratch(p->pack_x->to);
      runtime::copy(at(p->pack_x->from, x), at(p->pack_x->to, held_x->data()));
      x = held_x->data();
    }
    if (p->pack_y) {
      held_y = scratch(p->pack_y->to);
      runtime::copy(at(p->pack_y->from, y), at(p->pack_y->to, held_y->data()));
      y = held_y->data();
    }
    if (p->pack_out) {
      held_out = scratch(p->pack_out->to);
      to = held_out->data();
    }
    if (p->swapped) std::swap(x, y);
    product->run(x, y, to, &pool.stop());
    if (p->pack_out) runtime::copy(at(p->pack_out->to, to), at(p->pack_out->from, out[0]));
  };
}

}  // namespace shard::stdlib
