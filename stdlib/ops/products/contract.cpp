// `contract`, the one bilinear operation with a sum: every product of matrices, einsum and their derivatives come down
// to it. Its rule is its attribute: the letters of `spec` are the factors.
#include <algorithm>
#include <numeric>

#include "grammar/stable_sort.h"
#include "interpreter/ir/contract_spec.h"
#include "runtime/kernels/kernels.h"
#include "runtime/kernels/spread.h"
#include "stdlib/ops/complex.h"
#include "stdlib/ops/hlo.h"
#include "stdlib/ops/moving/moving_steps.h"
#include "stdlib/ops/ops.h"

namespace shard::stdlib {

namespace {

using ir::ContractSpec;
using ir::read_spec;

// ---- the kernel
// Brings a contraction to matrix products. Dimensions fall into four groups: batch (in x, y and the result), rows (x
// and result), columns (y and result), summed (x and y). A leading dimension over which one operand does not change
// (stride 0, as blocks of devices do) is a row or column dimension: a split batch times a replicated weight is then one
// large product. Rows, columns and sums whose strides merge cost nothing; an operand whose do not is packed first, a
// result whose do not is formed apart and copied.

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

// An array as it lies, its dimensions in the order of these groups, and dense in scratch memory: its strides are then
// those. An operand is copied there; the result is formed there and copied from it.
struct Packing {
  View from, to;
};

Packing pack(std::initializer_list<Dims*> groups, DType dtype, std::int64_t Dim::*stride) {
  Packing p{{dtype, {}, {}, nullptr}, {}};
  for (Dims* group : groups)
    for (auto& d : *group) p.from.shape.push_back(d.size), p.from.strides.push_back(d.*stride);
  p.to = runtime::contiguous(dtype, p.from.shape);
  std::size_t i = 0;
  for (Dims* group : groups)
    for (auto& d : *group) d.*stride = p.to.strides[i++];
  return p;
}

// What is packed goes through little memory: by pieces, of so many bytes or so many rows at least that a product of them
// runs at speed.
constexpr std::int64_t kPiece = 192 << 10, kRows = 64, kLongRows = 1 << 20;

// Dimensions cut so that the inner ones have about `wanted` points, no fewer than `least` where there are so many; the
// outer ones are taken away and given back: what is left is done once for each of their points.
Dims taken_out(std::initializer_list<Dims*> groups, std::int64_t wanted, std::int64_t least) {
  Dims out;
  std::int64_t inside = 1;
  bool full = false;
  for (auto group = std::rbegin(groups); group != std::rend(groups); ++group)
    for (std::size_t i = (*group)->size(); i-- > 0;) {
      Dim& d = (**group)[i];
      std::int64_t kept = full ? 1 : d.size;
      while (kept > 1 && inside * kept > std::max(wanted, least)) {
        std::int64_t next = kept - 1;
        while (d.size % next != 0) --next;
        if (inside * next < least) break;
        kept = next;
      }
      inside *= kept;
      if (kept == d.size) continue;
      full = true;
      out.insert(out.begin(), {d.size / kept, d.x * kept, d.y * kept, d.out * kept});
      d.size = kept;
    }
  for (Dims* group : groups) std::erase_if(*group, [](const Dim& d) { return d.size == 1; });
  return out;
}

struct Plan {
  DType dtype;
  bool turned = false;  // x is the second operand: the one of which more is packed
  std::optional<Packing> pack_x, pack_y, pack_out;
  Dims pieces;           // of which all that follows is one, but for y, which is packed once
  bool of_sum = false;   // each is a part of the sum
  bool swapped = false;  // the result's columns vary slowest: form its transpose
  View x, y, out;        // [batch..., rows, columns] of a product, without data
  View whole_out;
};

// Which operand is packed, and in which pieces.
void cut(Plan& p, Groups& g) {
  const auto item = static_cast<std::int64_t>(runtime::size_of(p.dtype));
  const auto size = [&](const Dims& kept) { return count(g.batch) * count(kept) * count(g.summed); };
  const bool x_lies = joined(g.rows, joins_x).size() <= 1 && joined(g.summed, joins_x).size() <= 1,
             y_lies = joined(g.columns, joins_y).size() <= 1 && joined(g.summed, joins_y).size() <= 1;
  p.turned = !y_lies && (x_lies || size(g.columns) > size(g.rows));
  if (p.turned) {
    for (Dims* dims : {&g.batch, &g.rows, &g.columns, &g.summed})
      for (Dim& d : *dims) std::swap(d.x, d.y);
    std::swap(g.rows, g.columns);
  }
  if (x_lies && y_lies) return;
  if (!x_lies && !y_lies) p.pack_y = pack({&g.batch, &g.columns, &g.summed}, p.dtype, &Dim::y);
  const std::int64_t length = count(g.summed);
  p.of_sum = length * kRows * item > kLongRows && (p.dtype == DType::F32 || p.dtype == DType::F64);
  if (p.of_sum)
    p.pieces = taken_out({&g.summed}, kPiece / std::max<std::int64_t>(item * size({}) / length * count(g.rows), 1), kRows);
  else
    p.pieces = taken_out({&g.batch, &g.rows}, kPiece / std::max<std::int64_t>(item * length, 1), kRows);
  p.pack_x = pack({&g.batch, &g.rows, &g.summed}, p.dtype, &Dim::x);
}

Plan plan_for(const KernelCall& c, int terms) {
  Groups g = grouped(c, read_spec(c.attrs.text("spec")), static_cast<std::size_t>(terms));
  Plan p;
  p.dtype = c.out[0].dtype;
  p.whole_out = c.out[0];
  if (runtime::numel(p.whole_out.shape) != 0 && count(g.summed) != 0) cut(p, g);
  auto line = [](const Dims& d) { return d.empty() || d.back().out == 1; };  // its elements lie one after the other
  bool fits = joined(g.rows, joins_out).size() <= 1 && joined(g.columns, joins_out).size() <= 1;
  if (p.of_sum || !fits || !(line(g.columns) || line(g.rows)))
    p.pack_out = pack({&g.batch, &g.rows, &g.columns}, p.dtype, &Dim::out);
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

ir::Copied contract_copies(const KernelCall& call, int terms) {
  const Plan p = plan_for(call, terms);
  const auto bytes = [&](const std::optional<Packing>& packing) {
    return packing ? runtime::bytes_of(packing->to.shape, runtime::size_of(p.dtype)) : 0;
  };
  const std::int64_t x = bytes(p.pack_x), y = bytes(p.pack_y), out = bytes(p.pack_out), pieces = count(p.pieces);
  return {x * pieces + y + out * pieces, x + y + out * (p.of_sum ? 2 : 1)};
}

// to += from, of the same size.
template <class T>
void add_up(T* to, const T* from, std::int64_t n) {
  runtime::spread(n, 1 << 16, [&](std::int64_t lo, std::int64_t hi) {
    for (std::int64_t i = lo; i < hi; ++i) to[i] += from[i];
  });
}

// A contraction as it runs.
class Product {
 public:
  Product(const KernelCall& call, int terms)
      : p_(plan_for(call, terms)), product_(p_.x, p_.y, p_.out), pool_(call.pool), item_(runtime::size_of(p_.dtype)) {}
  bool nothing() const { return runtime::numel(p_.whole_out.shape) == 0; }

  void run(void* const* in, void* to) const {
    void *x = in[p_.turned ? 1 : 0], *y = in[p_.turned ? 0 : 1];
    const Held held_y = packed(p_.pack_y, y);
    const std::int64_t pieces = count(p_.pieces);
    if (p_.of_sum) return add_pieces(x, y, to, pieces);
    if (pieces == 1) return piece(x, y, to);
    runtime::spread(
        pieces, 1,
        [&](std::int64_t first, std::int64_t end) {
          std::optional<runtime::Alone> alone;
          if (pieces >= runtime::threads()) alone.emplace();
          for (std::int64_t i = first; i < end; ++i) {
            const Dim d = place(i);
            piece(there(x, d.x), there(y, d.y), there(to, d.out));
          }
        },
        &pool_.stop());
  }

 private:
  using Held = runtime::BufferRef;
  void* there(void* data, std::int64_t elements) const {
    return static_cast<unsigned char*>(data) + elements * static_cast<std::int64_t>(item_);
  }
  Dim place(std::int64_t piece) const {
    Dim at{0};
    for (std::size_t i = p_.pieces.size(); i-- > 0; piece /= p_.pieces[i].size) {
      const Dim& d = p_.pieces[i];
      const std::int64_t n = piece % d.size;
      at.x += n * d.x, at.y += n * d.y, at.out += n * d.out;
    }
    return at;
  }
  Held scratch(const View& like) const { return pool_.scratch(runtime::checked_bytes(like.shape, item_)); }
  static void move(View from, void* data, View to, void* there) { runtime::copy(at(from, data), at(to, there)); }
  Held packed(const std::optional<Packing>& packing, void*& data) const {
    if (!packing) return {};
    Held held = scratch(packing->to);
    move(packing->from, data, packing->to, held->data());
    data = held->data();
    return held;
  }
  void multiply(void* x, void* y, void* to) const {
    if (p_.swapped) std::swap(x, y);
    product_.run(x, y, to, &pool_.stop());
  }
  void piece(void* x, void* y, void* to) const {
    const Held held = packed(p_.pack_x, x), held_out = p_.pack_out ? scratch(p_.pack_out->to) : Held();
    multiply(x, y, held_out ? held_out->data() : to);
    if (held_out) move(p_.pack_out->to, held_out->data(), p_.pack_out->from, to);
  }
  void add_pieces(void* x, void* y, void* to, std::int64_t pieces) const {
    const Held sum = scratch(p_.pack_out->to), term = pieces > 1 ? scratch(p_.pack_out->to) : Held();
    const std::int64_t n = runtime::numel(p_.pack_out->to.shape);
    for (std::int64_t i = 0; i < pieces; ++i) {
      const Dim d = place(i);
      void* part = there(x, d.x);
      const Held held = packed(p_.pack_x, part);
      multiply(part, there(y, d.y), (i == 0 ? sum : term)->data());
      if (i == 0) continue;
      if (p_.dtype == DType::F64)
        add_up(static_cast<double*>(sum->data()), static_cast<const double*>(term->data()), n);
      else
        add_up(static_cast<float*>(sum->data()), static_cast<const float*>(term->data()), n);
    }
    move(p_.pack_out->to, sum->data(), p_.pack_out->from, to);
  }

  Plan p_;
  runtime::MatrixProduct product_;
  runtime::Pool& pool_;
  std::size_t item_;
};

// Also summed over the first `terms` leading dimensions, which the result does not have (the `kernel_sum` column).
BoundKernel bind_contract_sum(const KernelCall& call, int terms) {
  auto product = std::make_shared<const Product>(call, terms);
  if (product->nothing()) return [](void* const*, void* const*) {};
  return [product](void* const* in, void* const* out) { product->run(in, out[0]); };
}

}  // namespace

// ---- StableHLO

// Precision is said: where it is not, TPUs compute products of f32 in bf16 and GPUs in TF32.
hlo::Value dot_general(const hlo::Value& x, const hlo::Value& y, const Products& dims, DType dtype, Shape shape) {
  const auto list = [](const char* name, const Ints& numbers) {
    std::string out;
    for (auto n : numbers) out += (out.empty() ? "" : ", ") + std::to_string(n);
    return std::string(name) + " = [" + out + "]";
  };
  return x.to->op("stablehlo.dot_general", {x, y}, dtype, std::move(shape),
                  "dot_dimension_numbers = #stablehlo.dot<" + list("lhs_batching_dimensions", dims.x_batch) + ", " +
                      list("rhs_batching_dimensions", dims.y_batch) + ", " +
                      list("lhs_contracting_dimensions", dims.x_summed) + ", " +
                      list("rhs_contracting_dimensions", dims.y_summed) + ">, " + hlo::precise());
}

namespace {

// `contract` as StableHLO: a convolution where it sums over windows or their places, else a dot_general, whose result
// has the dimensions of both batches, of x, of y, and a transpose to the order of `spec`.

using Side = Lettered;

Side side_of(const hlo::Value& x, std::string_view named) {
  std::string letters;
  for (std::size_t d = 0; d + named.size() < x.shape.size(); ++d) letters += static_cast<char>('0' + d);
  return {x, letters.append(named)};
}

// Without what only this side has and the result has not.
void sum_own(Side& side, const Side& other, std::string_view out) {
  Ints dims;
  std::string kept;
  for (std::size_t d = 0; d < side.letters.size(); ++d) {
    const char letter = side.letters[d];
    if (other.has(letter) || out.find(letter) != std::string_view::npos)
      kept += letter;
    else
      dims.push_back(static_cast<std::int64_t>(d));
  }
  side.value = hlo::reduced(side.value, runtime::Reduce::Sum, dims);
  side.letters = kept;
}

hlo::Values contract_hlo(const hlo::Use& u) {
  const ContractSpec spec = read_spec(u.attrs.text("spec"));
  Side x = side_of(u.in[0], spec.x), y = side_of(u.in[1], spec.y);
  std::string out;
  for (std::size_t d = 0; d + spec.x.size() < u.in[0].shape.size(); ++d) out += static_cast<char>('0' + d);
  out.append(spec.out);
  for (const bool swap : {false, true}) {
    const Side &windows = swap ? y : x, &other = swap ? x : y;
    if (windows.value.cut)
      if (const auto made = as_convolution(windows, other, out, u.out[0].dtype)) return {*made};
  }
  sum_own(x, y, out);
  sum_own(y, x, out);
  std::string batch, summed, made;
  for (char letter : x.letters)
    if (y.has(letter)) (out.find(letter) == std::string::npos ? summed : batch) += letter;
  made = batch;
  for (const Side* side : {&x, &y})
    for (char letter : side->letters)
      if (batch.find(letter) == std::string::npos && summed.find(letter) == std::string::npos) made += letter;
  Shape shape;
  for (char letter : made) {
    const Side& from = x.has(letter) ? x : y;
    shape.push_back(from.size(letter));
  }
  const auto places = [](const Side& side, const std::string& letters) {
    Ints dims;
    for (char letter : letters) dims.push_back(side.place(letter));
    return dims;
  };
  const DType dtype = u.out[0].dtype;
  const Products dims{places(x, batch), places(y, batch), places(x, summed), places(y, summed)};
  const hlo::Value product =
      dot_general(x.value, y.value, dims, runtime::is_narrow(dtype) ? DType::F32 : dtype, std::move(shape));
  Ints perm;
  for (char letter : out) perm.push_back(static_cast<std::int64_t>(made.find(letter)));
  const hlo::Value placed = made == out ? product : hlo::transpose(product, perm);
  hlo::Value result = hlo::convert(placed, dtype);
  result.product = std::make_shared<const hlo::Product>(hlo::Product{x, y, out});
  return {result};
}

// ---- the row

FactorRule contract_factors(const OpCall& call) {
  auto spec = read_spec(call.attrs.text("spec"));
  const Shape &x = call.in[0].shape, &y = call.in[1].shape;
  if (x.size() < spec.x.size() || y.size() < spec.y.size())
    fail("shape", "the product `" + call.attrs.text("spec") + "` needs arrays of rank " +
                      std::to_string(spec.x.size()) + " and " + std::to_string(spec.y.size()) + ", got " +
                      runtime::to_string(call.in[0]) + " and " + runtime::to_string(call.in[1]));
  FactorRule rule;
  rule.operands.resize(2);
  rule.results.resize(1);
  std::size_t lead = x.size() - spec.x.size();
  if (y.size() - spec.y.size() != lead ||
      !std::equal(x.begin(), x.begin() + static_cast<std::ptrdiff_t>(lead), y.begin()))
    fail("shape", "the leading dimensions of a product differ: " + runtime::to_string(call.in[0]) + " and " +
                      runtime::to_string(call.in[1]));
  auto add = [&](std::string name, std::int64_t size, FactorKind kind) {
    rule.factors.push_back({std::move(name), size, kind, FactorReduce::Sum});
    return static_cast<int>(rule.factors.size()) - 1;
  };
  for (std::size_t d = 0; d < lead; ++d) {
    int f = add("lead" + std::to_string(d), x[d], FactorKind::Pass);
    rule.operands[0].push_back({f}), rule.operands[1].push_back({f}), rule.results[0].push_back({f});
  }
  std::vector<std::pair<char, int>> known;
  auto factor = [&](char label, std::int64_t size) {
    for (auto& [l, f] : known)
      if (l == label) {
        if (rule.factors[static_cast<std::size_t>(f)].size != size)
          fail("shape", "a dimension that both arrays share has sizes " +
                            std::to_string(rule.factors[static_cast<std::size_t>(f)].size) + " and " +
                            std::to_string(size) + ": " + runtime::to_string(call.in[0]) + " and " +
                            runtime::to_string(call.in[1]));
        return f;
      }
    bool kept = spec.out.find(label) != std::string_view::npos;
    known.emplace_back(label, add(std::string(1, label), size, kept ? FactorKind::Pass : FactorKind::Reduced));
    return known.back().second;
  };
  for (std::size_t i = 0; i < spec.x.size(); ++i) rule.operands[0].push_back({factor(spec.x[i], x[lead + i])});
  for (std::size_t i = 0; i < spec.y.size(); ++i) rule.operands[1].push_back({factor(spec.y[i], y[lead + i])});
  for (char label : spec.out)
    for (auto& [l, f] : known)
      if (l == label) rule.results[0].push_back({f});
  return rule;
}

// Both sides of the sum split: the result could be whole, split or unreduced, so it has to be said. Batch dimensions
// must agree.
std::optional<std::string> contract_refuses(const OpCall& call, const FactorRule& rule) {
  if (call.attrs.has("out")) return std::nullopt;
  const Type &x = call.in[0], &y = call.in[1];
  std::string both = runtime::to_string(x) + " and " + runtime::to_string(y);
  for (std::size_t i = 0; i < rule.operands[0].size(); ++i)
    for (std::size_t j = 0; j < rule.operands[1].size(); ++j) {
      if (rule.operands[0][i] != rule.operands[1][j]) continue;
      int dx = static_cast<int>(i), dy = static_cast<int>(j);
      bool summed = rule.factors[static_cast<std::size_t>(rule.operands[0][i][0])].kind == FactorKind::Reduced;
      if (summed && is_split(x, dx) && is_split(y, dy))
        return "the product of " + both + " sums over a dimension that is split on both sides (" + axes_text(x, dx) +
               " and " + axes_text(y, dy) +
               "), so its layout is ambiguous: say it with `out: P(...)`, or `shard` an operand first";
      const bool one_whole = call.attrs.has("lenient") && (!is_split(x, dx) || !is_split(y, dy));
      if (!summed && !one_whole && laid_out(x) && laid_out(y) && axes_text(x, dx) != axes_text(y, dy))
        return "the product of " + both +
               " has a batch dimension that is laid out in two ways: `shard` one operand first, or say the result's "
               "layout with `out: P(...)`";
    }
  return std::nullopt;
}

std::string spec_text(std::string_view x, std::string_view y, std::string_view out) {
  return std::string(x) + "," + std::string(y) + "->" + std::string(out);
}

Var contract_transpose(Builder& b, const NodeView& n, int operand, std::span<const Var> ct, const Type& want) {
  auto spec = read_spec(n.call.attrs.text("spec"));
  Attrs attrs;
  Vars in;
  if (operand == 0) {
    attrs.set("spec", spec_text(spec.out, spec.y, spec.x));
    in = {ct[0], n.in[1]};
  } else {
    attrs.set("spec", spec_text(spec.x, spec.out, spec.y));
    in = {n.in[0], ct[0]};
  }
  return emit_wanted(b, n.call.op, in, std::move(attrs), want, in);
}

std::vector<Mapped> contract_batch(Builder& b, const OpCall& call, std::span<const Mapped> in, std::int64_t) {
  auto spec = read_spec(call.attrs.text("spec"));
  const char fresh = ir::fresh_letter(std::string(spec.x) + std::string(spec.y));
  std::string x(spec.x), y(spec.y), out = fresh + std::string(spec.out);
  if (in[0].mapped) x = fresh + x;
  if (in[1].mapped) y = fresh + y;
  Attrs attrs = with_mapped_out(b, call.attrs, in);
  attrs.set("spec", spec_text(x, y, out));
  return {{b.emit(call.op, {in[0].var, in[1].var}, attrs).at(0), true}};
}

}  // namespace

void register_contract(OpTable& t) {
  OpDef row = internal_row("contract(x, y, spec: str, out: spec? = none)",
                           "The sum of products that `spec` writes with one letter a dimension: \"bmk,bkn->bmn\".",
                           contract_factors);
  row.dtype.operands = Operands::Promote;
  row.derivative = Transposes{{}, false, contract_transpose};
  row.hlo = contract_hlo;
  row.kernel = [](const KernelCall& call) { return bind_contract_sum(call, 0); };
  row.of_complex = complex::bilinear("contract");
  row.kernel_sum = bind_contract_sum;
  row.copies = contract_copies;
  row.any_order = true;
  row.flops = 2;
  row.explicit_refuses = contract_refuses;
  row.batch = contract_batch;
  row.samples =
      "[4, 6] [6, 8] spec='mk,kn->mn'; [2, 4, 6] [2, 6, 4] spec='bmk,bkn->bmn'; "
      "[2, 4, 6] [6, 8] spec='bmk,kn->bmn'; [4, 2, 6] [8, 2, 6] spec='mbk,nbk->mbn'; "
      "[4, 6] [6, 8] spec='mk,kn->nm'; [2, 4, 2, 6] [2, 8, 2, 6] spec='bqhd,bkhd->bhqk'; "
      "[2, 3, 4] [4, 2, 6] spec='ija,ain->jn'; [6] [6] spec='k,k->'; [4] [6] spec='m,n->mn'; "
      "i32[4, 6] i32[6, 2] spec='mk,kn->mn'; bf16[4, 6] -1..1 bf16[6, 4] -1..1 spec='mk,kn->mn'";
  t.add(std::move(row));
}

}  // namespace shard::stdlib
