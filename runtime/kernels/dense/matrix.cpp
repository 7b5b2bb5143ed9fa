#include "runtime/kernels/dense/matrix.h"

#include <algorithm>
#include <climits>
#include <cmath>
#include <cstring>

#include "runtime/array/shape.h"
#include "runtime/kernels/kernels.h"

namespace shard::runtime::dense {
namespace {

// Matrix `i` of a batch; a vector or a number has one column.
View matrix_of(const View& v, Index i) {
  const auto item = static_cast<Index>(size_of(v.dtype));
  View out{v.dtype, {1, 1}, {0, 0}, v.as<unsigned char>() + i * v.strides[0] * item};
  for (int d = 1; d < v.rank(); ++d) {
    out.shape[static_cast<std::size_t>(d - 1)] = v.shape[static_cast<std::size_t>(d)];
    out.strides[static_cast<std::size_t>(d - 1)] = v.strides[static_cast<std::size_t>(d)];
  }
  return out;
}

template <class T>
bool all_finite(const T* x, std::size_t n) {
  constexpr std::size_t kLook = 4096;  // a loop without an end inside is one of vectors
  for (std::size_t from = 0; from < n; from += kLook) {
    T sum = 0;  // of zeros, or nan
    for (std::size_t k = from; k < std::min(n, from + kLook); ++k) sum += x[k] - x[k];
    if (!(sum == 0)) return false;
  }
  return true;
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
  copy(matrix_of(v, i), view());
}

void Matrix::store(const View& v, Index i) const {
  const View to = matrix_of(v, i);
  View part{type_, to.shape, {1, rows_}, const_cast<void*>(place(0, 0))};
  if (type_ == v.dtype) return copy(part, to);
  for (Index c = 0; c < to.shape[1]; ++c)
    for (Index r = 0; r < to.shape[0]; ++r)
      to.as<float>()[r * to.strides[0] + c * to.strides[1]] = static_cast<float>(part.as<double>()[r + c * rows_]);
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

}  // namespace shard::runtime::dense
