// The functions of LAPACK and BLAS that decompositions call: LAPACKE's and CBLAS's, of matrices column by column. The
// library is loaded at the first decomposition (array/late_library.h): a program without them needs none. Declared
// here, so that building needs no headers either.
#pragma once
#include "runtime/array/dtype.h"
#include "runtime/array/stop.h"

namespace shard::runtime::dense {

// Of one element type, which the pointers are to; names are those of real numbers where complex ones have another
// (ungqr, heevd). What a function gives is 0, below 0 where memory is short, above 0 where there is no answer. `space`
// is to work in: it gets the number of elements that are wanted where `size` is -1.
struct Lapack {
  static constexpr int kColumns = 102;  // matrices lie column by column
  int (*potrf)(int order, char triangle, int n, void* a, int step);
  int (*getrf)(int order, int rows, int cols, void* a, int step, int* pivots);
  int (*getrs)(int order, char way, int n, int count, const void* a, int step, const int* pivots, void* b, int step_b);
  int (*geqrf)(int order, int rows, int cols, void* a, int step, void* tau, void* space, int size);
  int (*orgqr)(int order, int rows, int cols, int count, void* a, int step, const void* tau, void* space, int size);
  int (*geqrt)(int order, int rows, int cols, int block, void* a, int step, void* t, int step_t, void* space);
  int (*larfb)(int order, char side, char way, char direction, char stored, int rows, int cols, int count,
               const void* v, int step_v, const void* t, int step_t, void* to, int step_to, void* space,
               int step_space);
  int (*syevd)(int order, char vectors, char triangle, int n, void* a, int step, void* values);
  int (*gesdd)(int order, char vectors, int rows, int cols, void* a, int step, void* values, void* u, int step_u,
               void* vt, int step_vt);
  // Of one type alone, as numbers are passed by value: x = t^-1 x; c64 and c128: out = scale a b + add out.
  enum : int { kPlain = 111, kTransposed, kUpper = 121, kLower, kGeneral = 131, kUnit, kLeft = 141 };
  template <class T>
  using Triangular = void (*)(int order, int side, int triangle, int way, int diagonal, int rows, int cols, T scale,
                              const T* t, int step, T* x, int step_x);
  Triangular<float> strsm;
  Triangular<double> dtrsm;
  void (*gemm)(int order, int way_a, int way_b, int rows, int cols, int inner, const void* scale, const void* a,
               int step_a, const void* b, int step_b, const void* add, void* out, int step_out);
};

const Lapack& lapack(DType t);  // f32, f64, c64 or c128; RuntimeError "kernel" where the library cannot be loaded

// While one lives, this thread may call the library: at once, or, where the library is not safe for several threads
// (OpenBLAS built without threads gives wrong numbers then), after whoever calls it now; `stop` ends the wait.
class Turn {
 public:
  explicit Turn(const Stop* stop);
  ~Turn();
  Turn(const Turn&) = delete;
};

}  // namespace shard::runtime::dense
