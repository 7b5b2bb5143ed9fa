// The vector kernels. Every .cpp in this folder is compiled three times (SSE2, AVX2, AVX-512), each time into a
// namespace of its own named by SHARD_ISA, and gives one table of functions; `vector_table()` is the one for the
// machine that runs. These files use only raw pointers and functions of internal linkage: an inline function that two
// of them shared could be linked in the version that the machine does not have. Products and sums are fused only where
// a formula says so (`fused` in functions.h), so that elementwise functions agree bit for bit between the three.
#pragma once
#include <cstdint>

#include "runtime/array/dtype.h"
#include "runtime/kernels/element_program.h"
#include "runtime/kernels/kernels.h"

namespace shard::runtime {

// out[i] = f(a[i], b[i], c[i]); unused operands are null. `out` may be any of the operands. floats narrower than
// f32 are held as f32.
using Loop = void (*)(const void* a, const void* b, const void* c, void* out, std::int64_t n);

// One product C = A W of f32, f64 or bf16. Strides in elements; of each operand's two strides one is 1; C is row-major.
struct Gemm {
  std::int64_t m, n, k;
  const void* a;
  std::int64_t a_row, a_col;
  const void* w;
  std::int64_t w_row, w_col;
  void* c;
  std::int64_t c_row;
  // Of the small kernels alone: terms of a row of `a` in as many parts of one length, from these offsets on.
  const std::int64_t* parts = nullptr;
  std::int64_t part_count = 1;
};

// A pass of several Fourier transforms side by side, of real and imaginary parts: `radix` elements that lie `rest`
// apart become their sums beside each other, turned by w[p * radix + t]; `roots`: the turns of the sums themselves.
template <class T>
struct FourierPass {
  std::int64_t radix, rest, stride;  // stride: elements side by side that are treated alike
  std::int64_t apart;                // from such elements of x to the next ones
  const T *xr, *xi, *wr, *wi, *root_re, *root_im;
  T *yr, *yi;
  // Of a radix of 4 and a stride of 1 or 4 without gaps, where vectors are of several p: as wr and wi, for t of 1 to 3
  // one after the other, and for each element of the stride.
  const T *line_re = nullptr, *line_im = nullptr;
};

// Of z = x[even] + i x[odd] of real lines, transformed, to their transforms: `count` lines side by side, of twice
// `half` elements; the turns of k of these.
template <class T>
struct FourierHalves {
  std::int64_t half, count;
  const T *zr, *zi;
  const T *turn_re, *turn_im;
  T *re, *im;
};

// Groups of n elements of four bytes, from each to the next `line` elements: the places of those of a group are from
// `low` to `high`. So many vectors, of all lanes, are a round of some groups.
struct GroupVector {
  std::int64_t low;        // of the places that it reads, behind the first group's
  std::int32_t lanes[16];  // where they are from there
};
struct ShortGroups {
  std::int64_t n, line, low, high, round;
  const GroupVector* vectors;
  std::int64_t most;  // of the vectors' `low`
  bool near;          // each has what it reads within as many places as lanes
};

// Lines of n elements, each of so many of a first and of a second array: a vector has of each at most as many as it has
// lanes, from these places on; the lanes of the second are behind those of the first.
struct JoinedVector {
  std::int64_t first, second;
  std::int32_t lanes[16];
};
struct Joined {
  std::int64_t n, first, second, round;
  std::int64_t first_end, second_end;  // what may be read
  const JoinedVector* vectors;
};

// Of floats narrower than f32: memory to f32 and back, and rounding in f32; of i4, which is held as i8, rounding alone.
struct Narrow {
  Loop load = nullptr, store = nullptr, round = nullptr;
};

// Of a contiguous run of at most kReduceRun elements, one value.
using ReduceRun = void (*)(const void* data, std::int64_t n, void* result);

// The same of several lines of n elements, `apart` elements from one to the next.
using ReduceLines = void (*)(const void* data, std::int64_t apart, std::int64_t n, std::int64_t lines, void* out);

// acc[j] += data[r * apart + j] of n columns, for one row after the other.
using AddRows = void (*)(const void* data, std::int64_t apart, std::int64_t rows, void* acc, std::int64_t n);

// Of lines of n >= kPlaces elements side by side, `apart` elements from one to the next, each the position of its
// largest or smallest element: the first of equals, and a nan before all.
using Places = void (*)(const void* data, std::int64_t apart, std::int64_t n, std::int64_t lines, std::int32_t* out);

struct VectorTable {
  const char* isa;
  Loop (*loop)(Code code, DType type);    // null where the code does not exist for the type
  Loop (*convert)(DType from, DType to);  // narrow floats as f32: what rounds them is next
  Narrow (*narrow)(DType);
  // In the accumulating type (f32 for halves, else the type itself); null where the operation does not exist for it.
  ReduceRun (*run)(Reduce op, DType type);
  ReduceLines (*lines)(Reduce op, DType type, std::int64_t n);  // null where calling `run` for each is as fast
  AddRows (*add_rows)(DType type);                              // null where adding a row at a time is as fast
  Places (*places)(bool largest, DType type);  // null where it is no faster than comparing elements one by one
  // out[i] = x[i * step] of n elements of four bytes; a step of 2 to 4, or of -1, goes by vectors.
  void (*every)(const std::uint32_t* x, std::int64_t step, std::uint32_t* out, std::int64_t n);
  std::int64_t group_lanes;  // 0: there are no groups
  void (*short_groups)(const ShortGroups& g, const std::uint32_t* x, std::uint32_t* out, std::int64_t groups);
  void (*joined_lines)(const Joined& j, const std::uint32_t* first, const std::uint32_t* second, std::uint32_t* out,
                       std::int64_t lines);
  // Lines of n elements become columns, where both sides are in a near cache.
  void (*turned)(const std::uint32_t* x, std::int64_t line, std::uint32_t* out, std::int64_t out_line,
                 std::int64_t lines, std::int64_t n);
  void (*threefry)(std::uint32_t k0, std::uint32_t k1, std::uint64_t counter, std::int64_t n, std::uint32_t* o0,
                   std::uint32_t* o1);
  void (*gemm_f32)(const Gemm&);
  void (*gemm_f64)(const Gemm&);
  void (*gemm_bf16)(const Gemm&);  // C in f32; null where the machine has no instruction for it
  void (*gemm_u32)(const Gemm&);   // of columns of W that lie one after the other
  // Of a `w` of few bytes; an element's bits hang on its row of `a` and its column of `w` alone. False: nothing was
  // done, as the operands lie in another way.
  bool (*gemm_small_f32)(const Gemm&);
  bool (*gemm_small_f64)(const Gemm&);
  std::int64_t small;  // bytes of `w` up to which that is faster than packing
  bool packed_alike;   // the others give an element the same bits
  void (*fourier_f32)(const FourierPass<float>&);
  void (*fourier_f64)(const FourierPass<double>&);
  void (*fourier_halves_f32)(const FourierHalves<float>&);
  void (*fourier_halves_f64)(const FourierHalves<double>&);
};

inline constexpr std::int64_t kReduceRun = 1024, kPlaces = 4;
inline constexpr std::int64_t kTurnedSmall = 8192;  // elements of a `w` that the small kernels turn by themselves

const VectorTable& vector_table();  // the best that this machine runs; SHARD_ISA=sse2 or avx2 asks for less
namespace sse2 {
const VectorTable& table();
}
namespace avx2 {
const VectorTable& table();
}
namespace avx512 {
const VectorTable& table();
}

}  // namespace shard::runtime
