// Matrix products. The work is cut into blocks of rows (multiples of 8) and of columns; a block is one call of the
// vector kernels, or of plain loops where the product is tiny. Which kernel depends on sizes alone, and bits on no cut.
#include "runtime/kernels/kernels.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <numeric>

#include "runtime/kernels/nest.h"
#include "runtime/kernels/reduce_plan.h"
#include "runtime/kernels/spread.h"
#include "runtime/kernels/transpose.h"
#include "runtime/kernels/types.h"
#include "runtime/kernels/vector/loop_table.h"

namespace shard::runtime {
struct MatrixOperand {  // of any strides
  const unsigned char* data;
  std::int64_t row, col;
};
struct PreparedProduct {
  DType type;
  Nest<3> batch;  // steps from one matrix to the next
  std::int64_t m, n, k;
  MatrixOperand a, w;
  unsigned char* out;
  std::int64_t out_row;  // columns lie one after the other
  const Stop* stop;
  Loop round = nullptr;   // of halves, which are computed as f32: to memory
  std::int64_t item = 0;  // bytes of an element of the result
  const Epilogue* epilogue = nullptr;
  std::int64_t batches() const { return batch.count(batch.rank); }
};

namespace {

using Operand = MatrixOperand;
using Product = PreparedProduct;
constexpr int kA = 0, kW = 1, kC = 2;
using Memory = std::unique_ptr<unsigned char[]>;

Memory scratch(std::int64_t elements, std::size_t item) {
  std::int64_t bytes = 0;
  if (__builtin_mul_overflow(elements, static_cast<std::int64_t>(item), &bytes) || bytes > kMaxBytes)
    throw RuntimeError("memory", "a matrix product would need " + std::to_string(elements) + " elements of scratch");
  return Memory(new unsigned char[static_cast<std::size_t>(bytes)]);
}

// The operand as a dense array, of its own type or, of halves that are to be widened, of f32.
Memory pack(Product& p, int which, std::int64_t rows, std::int64_t cols, bool widen) {
  Operand& x = which == kA ? p.a : p.w;
  View source{p.type, {}, {}, const_cast<unsigned char*>(x.data)};
  auto& steps = p.batch.stride[which];
  for (int d = 0; d < p.batch.rank; ++d) {
    source.shape.push_back(steps[d] == 0 ? 1 : p.batch.size[d]);
    source.strides.push_back(steps[d]);
  }
  const bool by_columns = x.row == 1 && x.col != 1;  // keep the order that memory has
  source.shape.insert(source.shape.end(), {by_columns ? cols : rows, by_columns ? rows : cols});
  source.strides.insert(source.strides.end(), {by_columns ? x.col : x.row, by_columns ? x.row : x.col});
  const std::int64_t count = numel(source.shape);
  const bool as_it_lies = widen && is_contiguous(source);
  Memory dense = as_it_lies ? Memory() : scratch(count, size_of(p.type));
  const View to = contiguous(p.type, source.shape, dense.get());
  if (!as_it_lies) copy(source, to);
  if (widen) {
    Memory wide = scratch(count, sizeof(float));
    const Loop load = vector_table().narrow(p.type).load;
    const auto item = static_cast<std::int64_t>(size_of(p.type));
    const unsigned char* from = as_it_lies ? x.data : dense.get();
    spread(count, 1 << 16, [&](std::int64_t lo, std::int64_t hi) {
      load(from + lo * item, nullptr, nullptr, reinterpret_cast<float*>(wide.get()) + lo, hi - lo);
    });
    dense = std::move(wide);
  }
  for (int d = 0; d < p.batch.rank; ++d)
    if (steps[d] != 0) steps[d] = to.strides[static_cast<std::size_t>(d)];
  x = {dense.get(), by_columns ? 1 : cols, by_columns ? rows : 1};
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
      T sum{0};
      for (std::int64_t p = 0; p < g.k; ++p) sum += a[i * g.a_row + p * g.a_col] * w[p * g.w_row + j * g.w_col];
      c[i * g.c_row + j] = sum;
    }
}

// Integers and truth values.
template <class T>
void plain(const Product& p) {
  using C = Compute<T>;
  spread(p.batches() * p.m, std::max<std::int64_t>(1, 16384 / std::max<std::int64_t>(1, p.n * p.k)),
         [&](std::int64_t lo, std::int64_t hi) {
           for (std::int64_t r = lo; r < hi; ++r) {
             const Position<3> at(p.batch, p.batch.rank, r / p.m);
             T* c = reinterpret_cast<T*>(p.out) + at.offset[kC] + r % p.m * p.out_row;
             const T* a = reinterpret_cast<const T*>(p.a.data) + at.offset[kA] + r % p.m * p.a.row;
             const T* w = reinterpret_cast<const T*>(p.w.data) + at.offset[kW];
             std::fill_n(c, p.n, T{});
             for (std::int64_t i = 0; i < p.k; ++i) {
               const C x = to_compute(a[i * p.a.col]);
               const T* row = w + i * p.w.row;
               for (std::int64_t j = 0; j < p.n; ++j)
                 c[j] = from_compute<T>(add_wrapped(to_compute(c[j]), mul_wrapped(x, to_compute(row[j * p.w.col]))));
             }
           }
         });
}

// 32-bit integers, by a few rows.
void words(const Product& p) {
  constexpr std::int64_t kItem = 4, kRows = 8;
  const std::int64_t blocks = (p.m + kRows - 1) / kRows;
  spread(
      p.batches() * blocks, std::max<std::int64_t>(1, (1 << 16) / std::max<std::int64_t>(1, kRows * p.n * p.k)),
      [&](std::int64_t lo, std::int64_t hi) {
        Position<3> at(p.batch, p.batch.rank, lo / blocks);
        for (std::int64_t unit = lo; unit < hi; ++unit) {
          const std::int64_t i = unit % blocks * kRows;
          if (i == 0 && unit > lo) at.next();
          vector_table().gemm_u32({std::min(kRows, p.m - i), p.n, p.k, p.a.data + (at.offset[kA] + i * p.a.row) * kItem,
                                   p.a.row, p.a.col, p.w.data + at.offset[kW] * kItem, p.w.row, 1,
                                   p.out + (at.offset[kC] + i * p.out_row) * kItem, p.out_row});
        }
      },
      p.stop);
}

std::int64_t up(std::int64_t x, std::int64_t to) { return (x + to - 1) / to * to; }

// Multiplications of f32 and what is shorter: some 60 ms with AVX-512, 0.2 s without; with sanitizers 0.5 s. Of f64
// half as many.
#if defined(__SANITIZE_ADDRESS__)
constexpr std::int64_t kLong = std::int64_t{1} << 29;
#else
constexpr std::int64_t kLong = std::int64_t{1} << 32;
#endif
std::int64_t long_for(std::int64_t item) { return item == 8 ? kLong / 2 : kLong; }

// A long block by parts, between which the run may be stopped. The same bits: rows are cut at multiples of 64, columns,
// where 64 rows take long already, at multiples of 48, which leave whole tiles of every kernel.
template <class Kernel>
void in_parts(const Gemm& whole, std::int64_t item, std::int64_t sum, Kernel kernel, const Stop& stop) {
  const std::int64_t most = long_for(item), rows = std::max<std::int64_t>(64, most / (whole.n * whole.k) / 64 * 64),
                     columns = rows > 64 ? whole.n : std::max<std::int64_t>(96, most / 4 / (rows * whole.k) / 48 * 48);
  for (std::int64_t i = 0; i < whole.m; i += rows)
    for (std::int64_t j = 0; j < whole.n; j += columns) {
      stop.ask();
      Gemm g = whole;
      g.m = std::min(rows, whole.m - i);
      g.n = std::min(columns, whole.n - j);
      g.a = static_cast<const unsigned char*>(g.a) + i * g.a_row * item;
      g.w = static_cast<const unsigned char*>(g.w) + j * g.w_col * item;
      g.c = static_cast<unsigned char*>(g.c) + (i * g.c_row + j) * sum;
      kernel(g);
    }
}

// A transposed operand whose terms of a sum lie so far apart that caches, which map addresses a power of two apart onto
// few of their lines, do not hold them.
bool far_apart(const Product& p, std::int64_t item) {
  return p.a.row == 1 && p.a.col * item % 1024 == 0 && p.k >= 128 && p.n >= 64 && p.w.col == 1;
}
// Or many such terms beside a wide `w`, or so many that caches keep none: slower as they lie than packed.
bool shall_pack(const Product& p, std::int64_t item) {
  return far_apart(p, item) ||
         (p.a.row == 1 && p.a.col != 1 && p.m > 64 && p.n >= 64 && (p.w.row * item > 1024 || p.k >= 1024));
}
// Not by rows: what a device makes of its rows has the bits that one device makes of all.
bool is_small(const Product& p, std::int64_t item) {
  return p.n * p.k * item <= vector_table().small && !(vector_table().packed_alike && shall_pack(p, item));
}
// As kernels read it. Eigen wants the other stride to be at least the length of a line, or the views would overlap
// (broadcasts do).
bool usable(const Operand& x, std::int64_t rows, std::int64_t cols) {
  return (x.col == 1 && x.row >= cols) || (x.row == 1 && x.col >= rows);
}

void turn(Gemm& g, bool wide, unsigned char* to) {
  const std::int64_t step = g.k + 16;
  if (wide)
    transpose(static_cast<const double*>(g.a), g.a_col, reinterpret_cast<double*>(to), step, g.m, g.k);
  else
    transpose(static_cast<const float*>(g.a), g.a_col, reinterpret_cast<float*>(to), step, g.m, g.k);
  g.a = to, g.a_row = step, g.a_col = 1;
}

struct Cut {
  std::int64_t rows, cols;  // of a block
};
// Each block packs its columns of w, and its rows of a that do not lie side by side: few blocks, which are neither flat
// nor narrow, pack least, but every thread has one. Cuts at 8 rows and at 48 columns leave whole tiles of every kernel,
// so that bits do not depend on them.
Cut cut(const Product& p) {
  if (p.m * p.n * p.k <= std::int64_t{1} << 18) return {p.m, p.n};
  const auto parts = [](std::int64_t whole, std::int64_t part) { return (whole + part - 1) / part; };
  const std::int64_t wanted = parts(threads(), p.batches());  // blocks, of each batch
  Cut block{p.m, p.n};
  if (p.m < 128) {
    const std::int64_t across = parts(p.n, std::clamp(up(p.n / 16, 48), std::int64_t{192}, std::int64_t{6144}));
    if (across > 1) block.cols = std::max<std::int64_t>(96, up(parts(p.n, up(across, wanted)), 48));
  } else {
    if (p.n >= 480) block.cols = up((p.n + 1) / 2, 48);
    const std::int64_t beside = p.batches() * (p.n >= 480 ? 2 : 1);
    block.rows =
        std::clamp(up(p.m / parts(2 * threads(), beside), 8), std::int64_t{p.n < 240 ? 64 : 128}, std::int64_t{1024});
  }
  block.cols = std::min(block.cols, p.n);
  const std::int64_t down = parts(p.m, block.rows), lacking = parts(wanted, down * parts(p.n, block.cols));
  if (lacking > 1) block.rows = up(parts(p.m, down * lacking), 8);
  block.rows = std::min(block.rows, p.m);
  return block;
}

// For an epilogue: a piece of the result is whole rows, one block or several beside each other. By small kernels, which
// pack nothing, as many as half of a second cache holds.
Cut cut_for(const Product& p, std::int64_t together, bool small) {
  constexpr std::int64_t kNear = 128 << 10;
  const std::int64_t step = std::lcm(together / std::gcd(together, p.n), std::int64_t{8});
  Cut block = small ? Cut{std::max<std::int64_t>(kNear / (p.n * p.item), 1), p.n} : cut(p);
  block.rows = std::min(p.m, up(block.rows, step));
  return block;
}

// Of f32, f64, or bf16 where there is a kernel; each operand has a stride of 1.
void blocks(const Product& p) {
  const bool wide = p.type == DType::F64, narrow = p.type == DType::BF16;
  const auto kernel = narrow ? vector_table().gemm_bf16 : wide ? vector_table().gemm_f64 : vector_table().gemm_f32;
  const auto kernel_small = wide ? vector_table().gemm_small_f64 : vector_table().gemm_small_f32;
  const std::int64_t item = wide ? 8 : narrow ? 2 : 4, sum = wide ? 8 : 4;
  const bool small = !narrow && is_small(p, item), least = !narrow && p.m * p.n * p.k <= 512;
  const auto [rows, cols] = p.epilogue ? cut_for(p, p.epilogue->together, small) : cut(p);
  // A few columns that are left go with those before them: by themselves other code would suit them.
  constexpr std::int64_t kNarrow = 48;
  const std::int64_t down = (p.m + rows - 1) / rows, whole = p.n / cols,
                     across = whole + (whole == 0 || p.n % cols >= kNarrow ? 1 : 0), each = down * across,
                     piece = p.epilogue ? across : 1;  // blocks that one thread does
  const std::int64_t grain =
      std::max<std::int64_t>(1, (std::int64_t{1} << 17) / std::max<std::int64_t>(1, rows * cols * p.k));
  const bool turned = small && far_apart(p, item);
  const auto compute = [&](const Gemm& g) {
    if (small && kernel_small(g)) return;
    if (least) return wide ? tiny<double>(g) : tiny<float>(g);
    if (!p.stop || g.m * g.n * g.k <= long_for(item)) return kernel(g);
    in_parts(g, item, sum, kernel, *p.stop);
  };
  spread(
      p.batches() * each / piece, grain,
      [&](std::int64_t from, std::int64_t to) {
        const std::int64_t lo = from * piece, hi = to * piece;
        Position<3> at(p.batch, p.batch.rank, lo / each);
        const Memory lines = turned ? scratch(rows * (p.k + 16), static_cast<std::size_t>(item)) : Memory();
        const Memory held = p.epilogue && !p.out ? scratch(rows * p.n, static_cast<std::size_t>(p.item)) : Memory();
        const Memory sums = p.round ? scratch(rows * (cols + kNarrow), static_cast<std::size_t>(sum)) : Memory();
        for (std::int64_t unit = lo; unit < hi; ++unit) {
          const std::int64_t block = unit % each, i = block / across * rows, j = block % across * cols;
          if (block == 0 && unit > lo) at.next();
          Gemm g{std::min(rows, p.m - i),
                 block % across + 1 == across ? p.n - j : cols,
                 p.k,
                 p.a.data + (at.offset[kA] + i * p.a.row) * item,
                 p.a.row,
                 p.a.col,
                 p.w.data + (at.offset[kW] + j * p.w.col) * item,
                 p.w.row,
                 p.w.col,
                 nullptr,
                 p.out_row};
          unsigned char* const out =
              (held ? held.get() : p.out + (at.offset[kC] + i * p.out_row) * p.item) + j * p.item;
          g.c = p.round ? sums.get() : out;
          if (p.round) g.c_row = g.n;
          if (turned) turn(g, wide, lines.get());
          compute(g);
          for (std::int64_t r = 0; p.round && r < g.m; ++r)
            p.round(reinterpret_cast<const float*>(sums.get()) + r * g.n, nullptr, nullptr,
                    out + r * p.out_row * p.item, g.n);
          if (p.epilogue && (unit + 1) % piece == 0) {
            const std::int64_t first = at.offset[kC] + i * p.n;
            const auto base = reinterpret_cast<std::uintptr_t>(out) - static_cast<std::uintptr_t>((first + j) * p.item);
            p.epilogue->run(first, first + g.m * p.n, reinterpret_cast<void*>(base));
          }
        }
      },
      p.stop);
}

// Long sums of few columns where `a` is transposed, which is what a layer's gradient asks for: its blocks would be too
// few for the threads. Not by rows, as above.
bool has_long_sums(const Product& p) { return p.batch.rank == 0 && p.a.row == 1 && p.n <= 128 && p.k >= 8192; }

// Each sum by parts of its terms, which are a batch of products, and those added in order to the first one.
void long_sums(const Product& p, std::int64_t item) {
  constexpr std::int64_t kTerms = 4096, kParts = 64, kMost = std::int64_t{1} << 22;  // elements of all parts
  const std::int64_t terms = std::max(kTerms, up((p.k + kParts - 1) / kParts, 8)), whole = p.k / terms,
                     rest = p.k % terms, parts = whole + (rest > 0 ? 1 : 0), sum = p.type == DType::F64 ? 8 : 4;
  const std::int64_t most = std::clamp(kMost / (p.n * parts) / 64 * 64, std::int64_t{64}, up(p.m, 64));
  const Memory memory = scratch(parts * std::min(most, p.m) * p.n, static_cast<std::size_t>(sum));
  const ReducePlan sums = reduce_plan(Reduce::Sum, sum == 8 ? DType::F64 : DType::F32);
  for (std::int64_t i = 0; i < p.m; i += most) {
    Product some = p;
    some.m = std::min(most, p.m - i), some.k = terms;
    some.a.data += i * item;
    some.out = memory.get(), some.out_row = p.n, some.round = nullptr, some.item = sum;
    const std::int64_t count = some.m * p.n;
    Product last = some;
    some.batch.add(whole, {terms * p.a.col, terms * p.w.row, count});
    blocks(some);
    if (rest > 0) {
      last.k = rest;
      last.a.data += whole * terms * p.a.col * item;
      last.w.data += whole * terms * p.w.row * item;
      last.out += whole * count * sum;
      blocks(last);
    }
    sums.join_rows(memory.get() + count * sum, count, parts - 1, memory.get(), count);
    for (std::int64_t r = 0; r < some.m; ++r) {
      unsigned char* const to = p.out + (i + r) * p.out_row * p.item;
      const unsigned char* const from = memory.get() + r * p.n * sum;
      if (p.round)
        p.round(reinterpret_cast<const float*>(from), nullptr, nullptr, to, p.n);
      else
        std::memcpy(to, from, static_cast<std::size_t>(p.n * sum));
    }
  }
}

// Each operand has a stride of 1.
void in_order(const Product& p) {
  if (has_long_sums(p)) return long_sums(p, static_cast<std::int64_t>(size_of(p.type)));
  blocks(p);
}

// A `w` whose terms lie side by side: by small kernels as rows, once for all blocks. They turn one of few elements
// themselves, and of more columns packing costs no more; of few rows neither, where it gives the same bits.
bool shall_turn(const Product& p) {
  return p.w.row == 1 && p.w.col != 1 && p.batch.rank == 0 && p.m >= (vector_table().packed_alike ? 256 : 2) &&
         p.n >= 16 && p.n <= 128 && p.n * p.k > kTurnedSmall && is_small(p, static_cast<std::int64_t>(size_of(p.type)));
}
Memory turned(Product& p) {
  Memory dense = scratch(p.n * p.k, size_of(p.type));
  copy({p.type, {p.k, p.n}, {p.w.row, p.w.col}, const_cast<unsigned char*>(p.w.data)},
       contiguous(p.type, {p.k, p.n}, dense.get()));
  p.w = {dense.get(), p.n, 1};
  return dense;
}

void floats(Product p) {
  Memory a, w;
  if (!usable(p.a, p.m, p.k)) a = pack(p, kA, p.m, p.k, false);
  if (!usable(p.w, p.k, p.n)) w = pack(p, kW, p.k, p.n, false);
  if (shall_turn(p)) w = turned(p);
  in_order(p);
}

// Each block of the result is rounded while it is in the cache. Where the machine has no instruction for them, or packs
// longer than it multiplies, operands become f32.
void halves(Product p) {
  constexpr std::int64_t kWorthPacking = 4096;
  p.round = vector_table().narrow(p.type).store;
  if (p.type == DType::BF16 && vector_table().gemm_bf16 && p.n * p.k > kWorthPacking) return floats(p);
  const Memory a = pack(p, kA, p.m, p.k, true), w = pack(p, kW, p.k, p.n, true);
  p.type = DType::F32;
  in_order(p);
}

Product prepared(const View& a, const View& w, const View& out) {
  const std::size_t batch = out.shape.size() - 2;
  const auto size = [&](const View& v, std::size_t d) { return v.shape[batch + d]; };
  const auto stride = [&](const View& v, std::size_t d) { return v.strides[batch + d]; };
  Product p;
  p.type = out.dtype;
  p.item = static_cast<std::int64_t>(size_of(p.type));
  p.m = size(out, 0), p.n = size(out, 1), p.k = size(a, 1);
  p.a = {nullptr, stride(a, 0), stride(a, 1)};
  p.w = {nullptr, stride(w, 0), stride(w, 1)};
  p.out_row = stride(out, 0);
  if (numel(out.shape) == 0) p.m = 0;
  if (p.m == 0 || p.k == 0) return p;
  if (p.n > 1 && stride(out, 1) != 1) throw RuntimeError("kernel", "a matrix product into columns that lie apart");
  const auto step = [](const View& v, std::size_t d) { return v.shape[d] == 1 ? 0 : v.strides[d]; };
  for (std::size_t d = 0; d < batch; ++d) p.batch.add(out.shape[d], {step(a, d), step(w, d), out.strides[d]});
  if (!is_float(p.type)) return p;
  // Strides that help where a size of 1 leaves them open.
  if (p.m == 1) p.a.row = p.a.col == 1 ? p.k : 1;
  if (p.k == 1) p.a.col = p.a.row == 1 ? p.m : 1;
  if (p.k == 1) p.w.row = p.w.col == 1 ? p.n : 1;
  if (p.n == 1) p.w.col = p.w.row == 1 ? p.k : 1;
  if (p.m == 1) p.out_row = p.n;
  return p;
}

// `whole`: the result, of all batches.
void multiply(Product p, const View& whole, const void* a, const void* w, void* out, const Stop* stop,
              const Epilogue* epilogue) {
  if (p.m == 0) return;
  p.a.data = static_cast<const unsigned char*>(a);
  p.w.data = static_cast<const unsigned char*>(w);
  p.out = static_cast<unsigned char*>(out);
  p.stop = stop;
  p.epilogue = epilogue;
  if (p.k == 0) return fill({whole.dtype, whole.shape, whole.strides, out}, 0, 0);
  if (p.type == DType::F32 || p.type == DType::F64) return floats(p);
  if (is_float(p.type)) return halves(p);
  if ((p.type == DType::I32 || p.type == DType::U32) && p.w.col == 1) return words(p);
  visit(p.type, [&](auto t) {
    using T = decltype(t);
    if constexpr (std::is_integral_v<T> || std::is_same_v<T, Bool8>)
      plain<T>(p);
    else
      throw RuntimeError("kernel", "no matrix product of " + std::string(name(p.type)));
  });
}

}  // namespace

struct MatrixProduct::Impl {
  PreparedProduct product;
  View whole;
  bool (*at_once)(const Gemm&) = nullptr;  // what computes all of a little product, as it lies; where sizes suit it

  Impl(const View& a, const View& w, const View& out) : product(prepared(a, w, out)), whole(out) {
    constexpr std::int64_t kLittle = 1 << 15;  // multiplications
    const Product& p = product;
    const bool wide = p.type == DType::F64;
    const std::int64_t item = wide ? 8 : 4;
    if ((wide || p.type == DType::F32) && p.m > 0 && p.k > 0 && p.batch.rank == 0 && p.m * p.n * p.k <= kLittle &&
        usable(p.a, p.m, p.k) && usable(p.w, p.k, p.n) && is_small(p, item) && !far_apart(p, item) && !has_long_sums(p))
      at_once = wide ? vector_table().gemm_small_f64 : vector_table().gemm_small_f32;
  }
};

MatrixProduct::MatrixProduct(const View& a, const View& w, const View& out) : impl_(new Impl(a, w, out)) {}
MatrixProduct::~MatrixProduct() = default;
MatrixProduct::MatrixProduct(MatrixProduct&&) noexcept = default;

bool MatrixProduct::has_pieces(std::int64_t together) const {
  constexpr std::int64_t kLarge = 1 << 20, kFewTerms = 384, kRows = 1024;  // bytes of the result; rows of a thread
  const Product& p = impl_->product;
  if (!is_float(p.type) || p.m == 0 || p.k == 0 || !is_contiguous(impl_->whole)) return false;
  if (p.batches() * p.m * p.n * p.item < kLarge || (p.batches() > 1 && p.m * p.n % together != 0)) return false;
  const bool small = is_small(p, p.type == DType::F64 ? 8 : 4);
  return (small || (p.k <= kFewTerms && p.m >= kRows * threads())) &&
         cut_for(p, together, small).rows * 2 * threads() <= p.batches() * p.m;
}

void MatrixProduct::run(const void* a, const void* w, void* out, const Stop* stop, const Epilogue* epilogue) const {
  const Product& p = impl_->product;
  if (impl_->at_once && impl_->at_once({p.m, p.n, p.k, a, p.a.row, p.a.col, w, p.w.row, p.w.col, out, p.out_row}))
    return;
  multiply(p, impl_->whole, a, w, out, stop, epilogue);
}

void matmul(const View& a, const View& w, const View& out, const Stop* stop) {
  MatrixProduct(a, w, out).run(a.data, w.data, out.data, stop);
}

const char* matmul_isa() { return vector_table().isa; }

}  // namespace shard::runtime
