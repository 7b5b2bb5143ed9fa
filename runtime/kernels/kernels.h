// Kernels by family: plain functions on views. `out` is contiguous and never overlaps an input unless said otherwise.
// Views carry any leading dimensions (devices, mapped axes) as ordinary dimensions: axes are given from the front of
// the view. Everything is deterministic: the result's bits do not depend on the number of threads. What may take long
// takes a Stop, which it asks between pieces of its work.
#pragma once
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "runtime/array/stop.h"
#include "runtime/array/view.h"
#include "runtime/kernels/codes.h"
#include "runtime/kernels/nest.h"

namespace shard::runtime {

// ---- copies.cpp: moving elements (dtype of both is the same; any type, key too)
void copy(const View& in, const View& out);                      // same shapes; `in` and `out` may have any strides
void fill(const View& out, double value, std::int64_t integer);  // integer is used for integer and bool types
void iota(const View& out, int axis);                            // out[..., i, ...] = i, in out's type

// ---- reductions.cpp: over `axes`; out has the kept dimensions, in order. f16, bf16 sum in f32. Sums are pairwise in a
// fixed order; Max and Min spread nan. Key is not reduced.
void reduce(Reduce op, const View& in, std::span<const int> axes, const View& out);

// ---- blocks.cpp: over the first `devices` dimensions, one block a device. The law of sums over devices: the blocks,
// in row-major order of these dimensions (a collective's axes in its order, major first), are joined as neighbours, two
// and two, level after level; a last one without a partner waits for the next level. So of 6 blocks
// ((0 1) (2 3)) (4 5), of 7 ((0 1) (2 3)) ((4 5) 6). Each element goes this way, whatever the shape of a block, its
// strides and the number of threads. f16 and bf16 are joined in f32 and rounded once, at the end.
void reduce_blocks(Reduce op, const View& in, int devices, const View& out);
// The same for any data of these shapes and strides.
using BlockReduction = std::function<void(const void* in, void* out)>;
BlockReduction bind_reduce_blocks(Reduce op, const View& in, int devices, const View& out);

// ---- arg_reduce.cpp
// Index (i32) of the largest or smallest along one axis, the first of equals, nan counts as the extreme (NumPy, JAX).
void arg_reduce(bool largest, const View& in, int axis, const View& out);

// ---- sorting.cpp: along the last dimension, stable; nan is the largest: last, first when descending
void sort(const View& in, const View& out, bool descending = false, const Stop* stop = nullptr);
// Where `out_i32` has shorter lines, the first positions only.
void argsort(const View& in, const View& out_i32, bool descending = false, const Stop* stop = nullptr);
enum class Scan : std::uint8_t { Sum, Prod, Max, Min };
void cumulative(Scan op, const View& in, const View& out, bool reverse);  // along the last dimension
// Where v would be put into the sorted lines a to keep their order, before equals or behind them (i32). a [lead..., n],
// v and out [lead..., any...].
void search(const View& a, const View& v, const View& out_i32, bool behind);

// ---- matmul.cpp: out[b..., m, n] = sum over k of a[b..., m, k] * w[b..., k, n]
// Any strides for a and w (transposed operands cost nothing extra where one stride is 1; others are packed first) and
// for out, but that its columns lie one after the other. f32 and f64 by row blocks in oneTBB; f16 and
// bf16 accumulate in f32; integers wrap. Row blocks are multiples of 8 rows, so bits do not depend on the threads.
void matmul(const View& a, const View& w, const View& out, const Stop* stop = nullptr);
// What is done to a dense result by pieces, each while it is still in a cache: to elements [from, to) in the order of
// memory, the first of all of which is, or would be, at `whole`; `from` is a multiple of `together`. Every element
// once, by any thread.
struct Epilogue {
  std::int64_t together;
  std::function<void(std::int64_t from, std::int64_t to, void* whole)> run;
};
// The same, prepared for sizes and strides: run with pointers only, by any number of threads at once.
class MatrixProduct {
 public:
  struct Impl;
  MatrixProduct(const View& a, const View& w, const View& out);
  ~MatrixProduct();
  MatrixProduct(MatrixProduct&&) noexcept;
  // With an epilogue only where it has pieces for one. Without `out` these are all that there is of the result, each
  // until the next one.
  void run(const void* a, const void* w, void* out, const Stop* stop, const Epilogue* epilogue = nullptr) const;
  // Whether the result comes in pieces that an epilogue can be done to, and that pays: those of few terms do, whose
  // result costs as much to read again as to make.
  bool has_pieces(std::int64_t together) const;

 private:
  std::unique_ptr<Impl> impl_;
};
const char* matmul_isa();  // "avx512" or "avx2" or "sse2": what run time chose

// ---- gather.cpp. Rows of `x` viewed as [batch, n, inner] taken by `index` (i32 or i64) [batch, m] -> out [batch, m,
// inner]. Nan: floats nan, integers the type's minimum (unsigned: maximum), bool true. Folded: -1 - i stands for i,
// then as Clamp.
enum class Bounds : std::uint8_t { Clamp, Nan, Drop, Folded };
void take(const View& x, const View& index, const View& out, Bounds bounds);
// out starts as a copy of x [batch, n, inner]; for each j in order: out[b, index[b,j]] op= v[b, j]. Out of range is
// dropped.
enum class Scatter : std::uint8_t { Set, Add, Mul, Min, Max };
void scatter(Scatter op, const View& x, const View& index, const View& v, const View& out);

// ---- overlap.cpp: out = 0, then out[p] += in[p] for parts p in order, of each entry of the first `lead` dimensions
// that both share. out is contiguous.
class Overlap {
 public:
  struct Part {  // strides and offsets in elements, of one entry
    Shape shape;
    Strides in, out;
    std::int64_t in_offset, out_offset;
  };
  Overlap(const View& in, const View& out, int lead, std::span<const Part> parts);
  void run(const void* in, void* out) const;

 private:
  struct Piece {
    std::int64_t in_offset, out_offset;
    Nest<2> nest;
  };
  DType type_;
  Nest<2> entries_;
  std::int64_t each_, work_ = 0;  // elements of an entry; that are added
  std::vector<Piece> pieces_;
};

// ---- pools.cpp. Windows of the spatial dimensions of x [lead..., n..., channels], one for each element of an array
// [lead..., places..., channels]; what lies outside of x is left out.
struct Windows {
  std::vector<std::int64_t> size, stride, before;  // by spatial dimension; before: elements in front of x
};
// Sum or Max; of no elements 0, or -inf or the least number.
void window_reduce(Reduce how, const View& x, const View& out, const Windows& w);
void window_pick(const View& x, const View& u, const View& out, const Windows& w);  // of u where x is largest; else 0
// out, of x's shape: 0, and at each place that is largest in a window what ct has for that window, added up.
void window_put(const View& x, const View& ct, const View& out, const Windows& w);

// ---- random_bits.cpp: Threefry-2x32, partitionable counters (JAX's): element with flat index i of the *whole* array
// uses counter i. key: [batch] of dtype Key. out: [batch, count]; element j of the block has flat index offset[j]: a
// dense block of a whole array of shape `whole` that starts at `start` and has shape `block` (numel(block) == count).
// out u8, u16, u32 or u64.
void random_bits(const View& key, const Shape& whole, std::span<const std::int64_t> start, const Shape& block,
                 const View& out, const Stop* stop = nullptr);
void key_from_seed(std::int64_t seed, std::uint32_t words[2]);
void split_keys(const View& key, std::int64_t start,
                const View& out);  // key [batch], out [batch, n]: keys of counters start .. start+n
void fold_in(const View& key, const View& data_u32, const View& out);  // all [count]

}  // namespace shard::runtime
