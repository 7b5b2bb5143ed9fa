// Brings a contraction to matrix products. Dimensions fall into four groups: batch (in x, y and the result), rows (x
// and result), columns (y and result), summed (x and y). A leading dimension over which one operand does not change
// (stride 0, as blocks of devices do) is a row or column dimension: a split batch times a replicated weight is then one
// large product. Rows, columns and sums whose strides merge cost nothing; an operand whose do not is packed first, a
// result whose do not is formed apart and copied.
#include "stdlib/ops/products/contract_kernel.h"

#include <memory>
#include <optional>

#include "grammar/stable_sort.h"
#include "interpreter/ir/contract_spec.h"
#include "runtime/kernels/kernels.h"
#include "runtime/kernels/reduce_plan.h"
#include "runtime/kernels/spread.h"
#include "runtime/kernels/unpacked.h"

namespace shard::stdlib {
namespace {

using ir::ContractSpec;
using ir::read_spec;

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

// Where only the outermost columns (or rows) keep an operand from lying as a matrix, as blocks of a weight that devices
// share out do, they are products beside each other: that takes less than packing, if each is wide.
void beside(Groups& g) {
  constexpr std::int64_t kWide = 64;
  const bool x_sums = joined(g.summed, joins_x).size() <= 1, y_sums = joined(g.summed, joins_y).size() <= 1;
  if (!x_sums || !y_sums) return;
  const auto move_out = [&](Dims& dims, auto joins) {
    if (dims.size() < 2 || joined(dims, joins).size() < 2) return;
    const Dims inner(dims.begin() + 1, dims.end());
    if (joined(inner, joins).size() > 1 || joined(inner, joins_out).size() > 1 || count(inner) < kWide) return;
    g.batch.push_back(dims.front());
    stable_sort(g.batch, [](const Dim& a, const Dim& b) { return a.out > b.out; });
    dims = inner;
  };
  if (joined(g.rows, joins_x).size() <= 1) move_out(g.columns, joins_y);
  if (joined(g.columns, joins_y).size() <= 1) move_out(g.rows, joins_x);
}

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
  beside(g);
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

// What is packed goes through little memory: by pieces, of so many bytes or so many rows at least that a product of
// them runs at speed. Of y beside rows that are read where they lie, a piece is what a near cache holds. Where so many
// rows would be longer than this, pieces are parts of the sum.
constexpr std::int64_t kPiece = 192 << 10, kNearPiece = 64 << 10, kRows = 64, kLongRows = 1 << 20;

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
  bool of_sum = false;   // each is a part of the sum; these are added up by groups
  bool swapped = false;  // the result's columns vary slowest: form its transpose
  View x, y, out;        // [batch..., rows, columns] of a product, without data
  View whole_out;
  std::optional<runtime::Unpacked> unpacked;  // x, of a part of the sum or of all, is read where it lies

  bool is_direct() const {  // one product of operands as they lie, into the result as it lies
    return !pack_x && !pack_y && !pack_out && pieces.empty() && !unpacked;
  }
  std::int64_t all_pieces() const { return count(pieces); }
  // Of pieces that are parts of the sum, as many as their sums take little memory: each is one thread's.
  std::int64_t groups() const {
    constexpr std::int64_t kBytes = 4 << 20, kMost = 16;
    const std::int64_t each = runtime::bytes_of(pack_out->to.shape, runtime::size_of(dtype));
    std::int64_t n = 1;
    while (n < kMost && 2 * n <= all_pieces() && 2 * n * each <= kBytes) n *= 2;
    return n;
  }
};

bool is_line(const Dims& d) { return d.empty() || d.back().out == 1; }  // the result's elements lie one after the other

// A y of few bytes is read once for each piece of x, by kernels that want its columns one after the other. A larger one
// is packed by the product each time: pieces are then larger, too.
constexpr std::int64_t kSmall = 1 << 20;

// The product as those of the inner rows, as far as they lie alike in x and the result.
std::optional<runtime::Unpacked> unpacked(const Groups& g, DType dtype) {
  const auto left = [](const Dim& a, const Dim& b) { return joins_x(a, b) && joins_out(a, b); };
  const auto right = [](const Dim& a, const Dim& b) { return joins_y(a, b) && joins_out(a, b); };
  const Dims rows = joined(g.rows, left), columns = joined(g.columns, right), terms = joined(g.summed, joins_x);
  if (rows.empty() || columns.size() != 1 || columns[0].y != 1 || columns[0].out != 1 ||
      joined(g.summed, joins_y).size() != 1)
    return {};
  const Dim &row = rows.back(), &term = terms.back();
  runtime::Unpacked p{dtype, row.size, columns[0].size, term.size, row.x, term.x, g.summed.back().y, row.out, {0}, {}};
  for (std::size_t i = terms.size() - 1; i-- > 0;) {
    std::vector<std::int64_t> parts;
    for (std::int64_t at = 0; at < terms[i].size; ++at)
      for (const std::int64_t inner : p.parts) parts.push_back(at * terms[i].x + inner);
    p.parts = std::move(parts);
  }
  for (const Dim& d : g.batch) p.around.push_back({d.size, d.x, d.y, d.out});
  for (std::size_t i = 0; i + 1 < rows.size(); ++i) p.around.push_back({rows[i].size, rows[i].x, 0, rows[i].out});
  if (!runtime::unpacked_pays(p)) return {};
  return p;
}

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
  const bool small = size(g.columns) * item <= kSmall && count(g.columns) > 1 && is_line(g.columns);
  if (small && joined(g.columns, joins_y).back().y != 1)
    p.pack_y = pack({&g.batch, &g.summed, &g.columns}, p.dtype, &Dim::y);
  else if (!x_lies && !y_lies)
    p.pack_y = pack({&g.batch, &g.columns, &g.summed}, p.dtype, &Dim::y);
  if ((p.unpacked = unpacked(g, p.dtype))) return;
  const std::int64_t length = count(g.summed), rows = length * kRows * item;
  const bool turns = !g.rows.empty() && g.rows.back().x == 1;  // packing would
  p.of_sum = (turns ? 4 * rows : rows) > kLongRows && (p.dtype == DType::F32 || p.dtype == DType::F64);
  if (p.of_sum) {
    p.pack_out = pack({&g.batch, &g.rows, &g.columns}, p.dtype, &Dim::out);
    const Dims whole = g.summed;
    p.pieces = taken_out({&g.summed}, kNearPiece / (item * count(g.columns)), kRows);
    if ((p.unpacked = unpacked(g, p.dtype))) return;
    g.summed = whole;
    p.pieces = taken_out({&g.summed}, kPiece / (item * count(g.batch) * count(g.rows)), kRows);
  } else {
    p.pieces = taken_out({&g.batch, &g.rows}, kPiece / std::max<std::int64_t>(item * length, 1),
                         size(g.columns) * item > kSmall ? 2 * kRows : kRows);
  }
  p.pack_x = pack({&g.batch, &g.rows, &g.summed}, p.dtype, &Dim::x);
}

Plan plan_for(const KernelCall& c, int terms) {
  Groups g = grouped(c, read_spec(c.attrs.text("spec")), static_cast<std::size_t>(terms));
  Plan p;
  p.dtype = c.out[0].dtype;
  p.whole_out = c.out[0];
  if (runtime::numel(p.whole_out.shape) != 0 && count(g.summed) != 0) cut(p, g);
  const bool fits = p.unpacked || (joined(g.rows, joins_out).size() <= 1 && joined(g.columns, joins_out).size() <= 1);
  if (!p.of_sum && (!fits || !(is_line(g.columns) || is_line(g.rows))))
    p.pack_out = pack({&g.batch, &g.rows, &g.columns}, p.dtype, &Dim::out);
  p.swapped = !is_line(g.columns);
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

// A contraction as it runs.
class Product : public ir::PiecesKernel {
 public:
  Product(const KernelCall& call, int terms)
      : p_(plan_for(call, terms)),
        direct_(p_.is_direct()),
        product_(p_.x, p_.y, p_.out),
        sums_(runtime::reduce_plan(runtime::Reduce::Sum, p_.dtype == DType::F64 ? DType::F64 : DType::F32)),
        pool_(call.pool),
        item_(runtime::size_of(p_.dtype)) {}
  bool nothing() const { return runtime::numel(p_.whole_out.shape) == 0; }

  bool has_pieces(std::int64_t together) const override { return direct_ && product_.has_pieces(together); }

  void run(void* const* in, void* to, const runtime::Epilogue* epilogue) const override {
    void *x = in[p_.turned ? 1 : 0], *y = in[p_.turned ? 0 : 1];
    if (direct_) {
      if (p_.swapped) std::swap(x, y);
      return product_.run(x, y, to, &pool_.stop(), epilogue);
    }
    const Held held_y = packed(p_.pack_y, y);
    if (p_.of_sum) return add_pieces(x, y, to);
    spread_alone(p_.all_pieces(), [&](std::int64_t i) {
      const Dim d = place(i);
      piece(there(x, d.x), there(y, d.y), there(to, d.out));
    });
  }

 private:
  using Held = runtime::BufferRef;
  void* there(void* data, std::int64_t elements) const {
    return static_cast<unsigned char*>(data) + elements * static_cast<std::int64_t>(item_);
  }
  // f(i) of each, by one thread where there are enough for all.
  template <class F>
  void spread_alone(std::int64_t count, F f) const {
    runtime::spread(
        count, 1,
        [&](std::int64_t first, std::int64_t end) {
          std::optional<runtime::Alone> alone;
          if (count > 1 && count >= runtime::threads()) alone.emplace();
          for (std::int64_t i = first; i < end; ++i) f(i);
        },
        &pool_.stop());
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
    if (p_.unpacked) return runtime::multiply_unpacked(*p_.unpacked, x, y, to, &pool_.stop());
    if (p_.swapped) std::swap(x, y);
    product_.run(x, y, to, &pool_.stop());
  }
  void piece(void* x, void* y, void* to) const {
    const Held held = packed(p_.pack_x, x), held_out = p_.pack_out ? scratch(p_.pack_out->to) : Held();
    multiply(x, y, held_out ? held_out->data() : to);
    if (held_out) move(p_.pack_out->to, held_out->data(), p_.pack_out->from, to);
  }
  void add_pieces(void* x, void* y, void* to) const {
    const std::int64_t groups = p_.groups(), n = runtime::numel(p_.pack_out->to.shape);
    const auto part = [&](void* memory, std::int64_t group) { return there(memory, group * n); };
    const Held sums = pool_.scratch(runtime::checked_bytes({groups, n}, item_)),
               terms = pool_.scratch(runtime::checked_bytes({groups, n}, item_));
    spread_alone(groups, [&](std::int64_t group) {
      const std::int64_t pieces = p_.all_pieces(), first = pieces * group / groups, end = pieces * (group + 1) / groups;
      void *const sum = part(sums->data(), group), *const term = part(terms->data(), group);
      for (std::int64_t i = first; i < end; ++i) {
        const Dim d = place(i);
        void* operand = there(x, d.x);
        const Held held = packed(p_.pack_x, operand);
        multiply(operand, there(y, d.y), i == first ? sum : term);
        if (i > first) add_rows(sum, term, 1, n);
      }
    });
    add_rows(sums->data(), part(sums->data(), 1), groups - 1, n);
    move(p_.pack_out->to, sums->data(), p_.pack_out->from, to);
  }
  // To the first of these rows of n elements, one after the other.
  void add_rows(void* to, const void* rows, std::int64_t count, std::int64_t n) const {
    const auto item = static_cast<std::int64_t>(item_);
    runtime::spread(n, 1 << 14, [&](std::int64_t lo, std::int64_t hi) {
      sums_.join_rows(static_cast<const unsigned char*>(rows) + lo * item, n, count,
                      static_cast<unsigned char*>(to) + lo * item, hi - lo);
    });
  }

  Plan p_;
  bool direct_;
  runtime::MatrixProduct product_;
  runtime::ReducePlan sums_;  // of parts
  runtime::Pool& pool_;
  std::size_t item_;
};

}  // namespace

ir::Copied contract_copies(const KernelCall& call, int terms) {
  const Plan p = plan_for(call, terms);
  const auto bytes = [&](const std::optional<Packing>& packing) {
    return packing ? runtime::bytes_of(packing->to.shape, runtime::size_of(p.dtype)) : 0;
  };
  const std::int64_t x = bytes(p.pack_x), y = bytes(p.pack_y), out = bytes(p.pack_out), pieces = p.all_pieces();
  return {x * pieces + y + out * pieces, x + y + out * (p.of_sum ? 2 * p.groups() : 1)};
}

BoundKernel bind_contract_sum(const KernelCall& call, int terms) {
  auto product = std::make_shared<const Product>(call, terms);
  if (product->nothing()) return [](void* const*, void* const*) {};
  return ir::RunPieces{std::move(product)};
}

}  // namespace shard::stdlib
