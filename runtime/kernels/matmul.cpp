// Matrix products. The work is cut into blocks of rows (multiples of 8) and, where rows are few, of columns; a block is
// one call of the vector kernels, or of plain loops where the product is tiny. Cuts depend on sizes alone. Equal
// matrices of a batch that lie one after the other are one larger product.
#include "runtime/kernels/kernels.h"

#include <algorithm>
#include <cstring>
#include <memory>

#include "runtime/kernels/spread.h"
#include "runtime/kernels/types.h"
#include "runtime/kernels/vector/table.h"

namespace shard::runtime {
namespace {

struct Operand {  // [group, batch, rows, columns] of any strides
  const unsigned char* data;
  std::int64_t group, batch, row, col;
};
struct Product {
  DType type;
  std::int64_t groups, batches, m, n, k;
  Operand a, w;
  unsigned char* out;  // contiguous [batches, m, n]
};
using Memory = std::unique_ptr<unsigned char[]>;

Memory scratch(std::int64_t elements, std::size_t item) {
  std::int64_t bytes = 0;
  if (__builtin_mul_overflow(elements, static_cast<std::int64_t>(item), &bytes) || bytes > kMaxBytes)
    throw RuntimeError("memory", "a matrix product would need " + std::to_string(elements) + " elements of scratch");
  return Memory(new unsigned char[static_cast<std::size_t>(bytes)]);
}

// The operand as a dense array of f32 or its own type: halves are widened, and neither stride being 1 is mended.
Memory pack(Operand& x, DType type, std::int64_t groups, std::int64_t batches, std::int64_t rows, std::int64_t cols) {
  const bool half = type == DType::F16 || type == DType::BF16;
  if (x.group == 0) groups = 1;
  if (x.batch == 0) batches = 1;
  const Shape shape{groups, batches, rows, cols};
  const std::int64_t count = numel(shape);
  const bool by_columns = x.row == 1 && x.col != 1;  // keep the order that memory has
  Memory dense = scratch(count, size_of(type));
  const View source{type, by_columns ? Shape{groups, batches, cols, rows} : shape,
                    by_columns ? Strides{x.group, x.batch, x.col, x.row} : Strides{x.group, x.batch, x.row, x.col},
                    const_cast<unsigned char*>(x.data)};
  copy(source, contiguous(type, source.shape, dense.get()));
  if (half) {
    Memory wide = scratch(count, sizeof(float));
    const Loop load = type == DType::F16 ? vector_table().load_f16 : vector_table().load_bf16;
    spread(count, 1 << 16, [&](std::int64_t lo, std::int64_t hi) {
      load(dense.get() + lo * 2, nullptr, nullptr, reinterpret_cast<float*>(wide.get()) + lo, hi - lo);
    });
    dense = std::move(wide);
  }
  x = {dense.get(), x.group == 0 ? 0 : batches * rows * cols, x.batch == 0 ? 0 : rows * cols, by_columns ? 1 : cols,
       by_columns ? rows : 1};
  return dense;
}

// Rows of `c` for tiny products: the sum over k in order for each element.
template <class T>
void tiny(const Gemm& g) {
  const T* a = static_cast<const T*>(g.a);
  const T* w = static_cast<const T*>(g.w);
  T* c = static_cast<T*>(g.c);
  for (std::int64_t i = 0; i < g.m; ++i)
    for (std::int64_t j = 0; j < g.n; ++j) {
      T sum = g.add ? c[i * g.c_row + j] : T{0};
      for (std::int64_t p = 0; p < g.k; ++p) sum += a[i * g.a_row + p * g.a_col] * w[p * g.w_row + j * g.w_col];
      c[i * g.c_row + j] = sum;
    }
}

// Integers and truth values.
template <class T>
void plain(const Product& p) {
  using C = Compute<T>;
  const std::int64_t rows = p.batches * p.m;
  spread(rows, std::max<std::int64_t>(1, 16384 / std::max<std::int64_t>(1, p.n * p.k * p.groups)),
         [&](std::int64_t lo, std::int64_t hi) {
           for (std::int64_t r = lo; r < hi; ++r) {
             T* c = reinterpret_cast<T*>(p.out) + r * p.n;
             const T* a = reinterpret_cast<const T*>(p.a.data) + r / p.m * p.a.batch + r % p.m * p.a.row;
             const T* w = reinterpret_cast<const T*>(p.w.data) + r / p.m * p.w.batch;
             std::fill_n(c, p.n, T{});
             for (std::int64_t g = 0; g < p.groups; ++g)
               for (std::int64_t i = 0; i < p.k; ++i) {
                 const C x = to_compute(a[g * p.a.group + i * p.a.col]);
                 const T* row = w + g * p.w.group + i * p.w.row;
                 for (std::int64_t j = 0; j < p.n; ++j)
                   c[j] = from_compute<T>(add_wrapped(to_compute(c[j]), mul_wrapped(x, to_compute(row[j * p.w.col]))));
               }
           }
         });
}

std::int64_t up(std::int64_t x, std::int64_t to) { return (x + to - 1) / to * to; }

// Of f32 or f64; each operand has a stride of 1.
void blocks(const Product& p) {
  const bool wide = p.type == DType::F64;
  const auto kernel = wide ? vector_table().gemm_f64 : vector_table().gemm_f32;
  const std::int64_t item = wide ? 8 : 4;
  const bool small = p.m * p.n * p.k <= 512;
  std::int64_t rows = p.m, cols = p.n;
  if (p.m * p.n * p.k > std::int64_t{1} << 18) {
    // Each block packs its rows of a and its columns of w: blocks that are neither flat nor narrow pack least. Cuts at 48
    // columns leave whole tiles of every kernel.
    if (p.m < 128) {
      rows = p.m;
      cols = std::clamp(up(p.n / 16, 48), std::int64_t{192}, std::int64_t{6144});
    } else {
      rows = std::clamp(up(p.m / (p.n < 240 ? 8 : 4), 8), std::int64_t{p.n < 240 ? 64 : 128}, std::int64_t{512});
      if (p.n >= 480) cols = up((p.n + 1) / 2, 48);
    }
    rows = std::min(rows, p.m);
    cols = std::min(cols, p.n);
  }
  const std::int64_t down = (p.m + rows - 1) / rows, across = (p.n + cols - 1) / cols, each = down * across;
  const std::int64_t grain =
      std::max<std::int64_t>(1, (std::int64_t{1} << 17) / std::max<std::int64_t>(1, rows * cols * p.k * p.groups));
  spread(p.batches * each, grain, [&](std::int64_t lo, std::int64_t hi) {
    for (std::int64_t unit = lo; unit < hi; ++unit) {
      const std::int64_t b = unit / each, i = unit % each / across * rows, j = unit % across * cols;
      Gemm g{std::min(rows, p.m - i),
             std::min(cols, p.n - j),
             p.k,
             nullptr,
             p.a.row,
             p.a.col,
             nullptr,
             p.w.row,
             p.w.col,
             p.out + ((b * p.m + i) * p.n + j) * item,
             p.n,
             false};
      for (std::int64_t t = 0; t < p.groups; ++t) {
        g.a = p.a.data + (t * p.a.group + b * p.a.batch + i * p.a.row) * item;
        g.w = p.w.data + (t * p.w.group + b * p.w.batch + j * p.w.col) * item;
        g.add = t > 0;
        if (small)
          wide ? tiny<double>(g) : tiny<float>(g);
        else
          kernel(g);
      }
    }
  });
}

// Fewer and larger products where memory allows it, and strides that help where a size of 1 leaves them open.
void merge(Product& p) {
  if (p.groups > 1 && (p.k == 1 || (p.a.group == p.k * p.a.col && p.w.group == p.k * p.w.row))) {
    if (p.k == 1) {
      p.a.col = p.a.group;
      p.w.row = p.w.group;
    }
    p.k *= p.groups;  // terms that lie one after the other: a longer sum
    p.groups = 1;
  }
  if (p.groups == 1 && p.batches > 1 && p.w.batch == 0 && (p.m == 1 || p.a.batch == p.m * p.a.row)) {
    if (p.m == 1) p.a.row = p.a.batch;
    p.m *= p.batches;  // left matrices that lie one after the other: a taller one
    p.batches = 1;
  }
  if (p.m == 1) p.a.row = p.a.col == 1 ? p.k : 1;
  if (p.k == 1) p.a.col = p.a.row == 1 ? p.m : 1;
  if (p.k == 1) p.w.row = p.w.col == 1 ? p.n : 1;
  if (p.n == 1) p.w.col = p.w.row == 1 ? p.k : 1;
}

void multiply(Product p) {
  const std::int64_t count = p.batches * p.m * p.n;
  if (count == 0) return;
  const std::size_t item = size_of(p.type);
  if (p.k == 0 || p.groups == 0) {
    std::memset(p.out, 0, static_cast<std::size_t>(count) * item);
    return;
  }
  if (!is_float(p.type)) {
    visit(p.type, [&](auto t) {
      using T = decltype(t);
      if constexpr (std::is_integral_v<T> || std::is_same_v<T, Bool8>)
        plain<T>(p);
      else
        throw RuntimeError("kernel", "no matrix product of " + std::string(name(p.type)));
    });
    return;
  }
  merge(p);
  const bool half = p.type != DType::F32 && p.type != DType::F64;
  Memory a, w, wide;
  const auto usable = [](const Operand& x) { return (x.row == 1 || x.col == 1) && x.row > 0 && x.col > 0; };
  // Eigen wants the other stride to be at least the length of a line, or the views would overlap (broadcasts do).
  if (half || !usable(p.a) || (p.a.col == 1 ? p.a.row < p.k : p.a.col < p.m))
    a = pack(p.a, p.type, p.groups, p.batches, p.m, p.k);
  if (half || !usable(p.w) || (p.w.col == 1 ? p.w.row < p.n : p.w.col < p.k))
    w = pack(p.w, p.type, p.groups, p.batches, p.k, p.n);
  if (!half) return blocks(p);
  const DType type = p.type;
  unsigned char* const out = p.out;
  wide = scratch(count, sizeof(float));
  p.type = DType::F32;
  p.out = wide.get();
  blocks(p);
  const Loop store = type == DType::F16 ? vector_table().store_f16 : vector_table().store_bf16;
  spread(count, 1 << 16, [&](std::int64_t lo, std::int64_t hi) {
    store(reinterpret_cast<float*>(wide.get()) + lo, nullptr, nullptr, out + lo * 2, hi - lo);
  });
}

}  // namespace

void matmul(const View& a, const View& w, const View& out) {
  const auto stride = [](const View& v, std::size_t d) { return v.shape[d] == 1 ? 0 : v.strides[d]; };
  multiply({out.dtype,
            1,
            out.shape[0],
            out.shape[1],
            out.shape[2],
            a.shape[2],
            {a.as<const unsigned char>(), 0, stride(a, 0), a.strides[1], a.strides[2]},
            {w.as<const unsigned char>(), 0, stride(w, 0), w.strides[1], w.strides[2]},
            out.as<unsigned char>()});
}

void matmul_sum(const View& a, const View& w, const View& out) {
  const auto stride = [](const View& v, std::size_t d) { return v.shape[d] == 1 ? 0 : v.strides[d]; };
  multiply({out.dtype,
            std::max(a.shape[0], w.shape[0]),
            out.shape[0],
            out.shape[1],
            out.shape[2],
            a.shape[3],
            {a.as<const unsigned char>(), stride(a, 0), stride(a, 1), a.strides[2], a.strides[3]},
            {w.as<const unsigned char>(), stride(w, 0), stride(w, 1), w.strides[2], w.strides[3]},
            out.as<unsigned char>()});
}

const char* matmul_isa() { return vector_table().isa; }

}  // namespace shard::runtime
