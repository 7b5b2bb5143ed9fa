#include "runtime/kernels/dense/matrix.h"

#include <algorithm>
#include <climits>
#include <cmath>
#include <cstring>

#include "runtime/array/shape.h"

namespace shard::runtime::dense {
namespace {

// One element at a time from `in` to `out`, with steps in elements.
template <class T, class U>
void carry(const T* in, Index in_row, Index in_col, U* out, Index out_row, Index out_col, Index rows, Index cols) {
  for (Index c = 0; c < cols; ++c)
    for (Index r = 0; r < rows; ++r) out[r * out_row + c * out_col] = static_cast<U>(in[r * in_row + c * in_col]);
}

struct Steps {
  Index from, row, col;
};
Steps steps(const View& v, Index i) {
  return {i * v.strides[0], v.rank() > 1 ? v.strides[1] : 0, v.rank() > 2 ? v.strides[2] : 0};
}

template <class F>
void with_element(DType t, F f) {
  switch (t) {
    case DType::F32: return f(float{});
    case DType::F64: return f(double{});
    case DType::C64: return f(std::complex<float>{});
    default: return f(Complex{});
  }
}

template <class T>
bool all_finite(const T* x, std::size_t n) {
  return std::all_of(x, x + n, [](T a) { return std::isfinite(a); });
}

}  // namespace

void Matrix::reset(DType t, Index rows, Index cols) {
  if (rows > INT_MAX || cols > INT_MAX)
    throw RuntimeError("kernel", "decompositions are of matrices of less than 2^31 rows and columns");
  type_ = t;
  rows_ = rows;
  cols_ = cols;
  memory_.resize((static_cast<std::size_t>(rows * cols) * size_of(t) + sizeof(Line) - 1) / sizeof(Line));
}

void Matrix::load(const View& v, Index i) {
  reset(v.dtype, v.shape[1], v.shape[2]);
  with_element(type_, [&](auto x) {
    using T = decltype(x);
    const Steps s = steps(v, i);
    carry(v.as<T>() + s.from, s.row, s.col, as<T>(), 1, rows_, rows_, cols_);
  });
}

void Matrix::store(const View& v, Index i) const {
  const Steps s = steps(v, i);
  const Index rows = v.rank() > 1 ? v.shape[1] : 1, cols = v.rank() > 2 ? v.shape[2] : 1;
  if (type_ == DType::F64 && v.dtype == DType::F32)
    return carry(static_cast<const double*>(place(0, 0)), 1, rows_, v.as<float>() + s.from, s.row, s.col, rows, cols);
  with_element(type_, [&](auto x) {
    using T = decltype(x);
    carry(static_cast<const T*>(place(0, 0)), 1, rows_, v.as<T>() + s.from, s.row, s.col, rows, cols);
  });
}

const void* Matrix::place(Index row, Index col) const {
  return reinterpret_cast<const unsigned char*>(memory_.data()) +
         static_cast<std::size_t>(row + col * rows_) * size_of(type_);
}

Complex Matrix::at(Index row, Index col) const {
  const void* p = place(row, col);
  switch (type_) {
    case DType::F32: return *static_cast<const float*>(p);
    case DType::F64: return *static_cast<const double*>(p);
    case DType::C64: return Complex(*static_cast<const std::complex<float>*>(p));
    default: return *static_cast<const Complex*>(p);
  }
}

void Matrix::set(Index row, Index col, Complex x) {
  void* p = const_cast<void*>(place(row, col));
  switch (type_) {
    case DType::F32: *static_cast<float*>(p) = static_cast<float>(x.real()); return;
    case DType::F64: *static_cast<double*>(p) = x.real(); return;
    case DType::C64: *static_cast<std::complex<float>*>(p) = std::complex<float>(x); return;
    default: *static_cast<Complex*>(p) = x;
  }
}

bool Matrix::finite() const {
  const std::size_t n = static_cast<std::size_t>(size()) * (is_complex(type_) ? 2 : 1);
  if (type_ == DType::F32 || type_ == DType::C64) return all_finite(static_cast<const float*>(place(0, 0)), n);
  return all_finite(static_cast<const double*>(place(0, 0)), n);
}

void Matrix::fill(double x) {
  for (Index c = 0; c < cols_; ++c)
    for (Index r = 0; r < rows_; ++r) set(r, c, {x, x});
}

void Matrix::fill_from(const Matrix& m) {
  const std::size_t bytes = static_cast<std::size_t>(std::min(size(), m.size())) * size_of(type_);
  if (bytes > 0) std::memcpy(data(), m.memory_.data(), bytes);
}

void Matrix::clear_below() {
  for (Index c = 0; c < std::min(rows_, cols_); ++c)
    std::memset(const_cast<void*>(place(c + 1, c)), 0, static_cast<std::size_t>(rows_ - c - 1) * size_of(type_));
}
void Matrix::clear_above() {
  for (Index c = 0; c < cols_; ++c)
    std::memset(const_cast<void*>(place(0, c)), 0, static_cast<std::size_t>(std::min(c, rows_)) * size_of(type_));
}

}  // namespace shard::runtime::dense
