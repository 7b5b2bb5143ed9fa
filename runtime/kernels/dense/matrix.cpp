#include "runtime/kernels/dense/matrix.h"

#include <algorithm>
#include <bit>
#include <climits>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#include "runtime/array/shape.h"
#include "runtime/kernels/kernels.h"
#include "runtime/kernels/types.h"

namespace shard::runtime::dense {
namespace {

// Elements that lie so many apart from row to row and from column to column.
struct Place {
  unsigned char* at;
  Index row, col;
};

// Matrix `i` of a batch; a vector or a number has one column.
Place place_of(const View& v, Index i) {
  return {v.as<unsigned char>() + i * v.strides[0] * static_cast<Index>(size_of(v.dtype)),
          v.rank() > 1 ? v.strides[1] : 0, v.rank() > 2 ? v.strides[2] : 0};
}

template <class T>
void copy_few(const Place& from, const Place& to, Index rows, Index cols) {
  const T* x = reinterpret_cast<const T*>(from.at);
  T* y = reinterpret_cast<T*>(to.at);
  if (from.row == 1 && to.row == 1 && from.col == rows && to.col == rows) return void(std::copy_n(x, rows * cols, y));
  for (Index c = 0; c < cols; ++c)
    for (Index r = 0; r < rows; ++r) y[r * to.row + c * to.col] = x[r * from.row + c * from.col];
}

void copy_matrix(DType t, const Place& from, const Place& to, Index rows, Index cols) {
  constexpr Index kFew = 256;  // a copy of more is worth being planned
  if (rows * cols > kFew)
    return copy({t, {rows, cols}, {from.row, from.col}, from.at}, {t, {rows, cols}, {to.row, to.col}, to.at});
  by_width(size_of(t), [&](auto x) { copy_few<decltype(x)>(from, to, rows, cols); });
}

// Whether no number is an infinity or nan, whose exponents have all bits: one more carries into the sign. In whole
// numbers, of which a compiler makes vectors.
template <class T>
bool all_finite(const T* x, std::size_t n) {
  using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
  constexpr Bits kInfinity = std::bit_cast<Bits>(std::numeric_limits<T>::infinity()),
                 kSign = Bits{1} << (8 * sizeof(Bits) - 1);
  constexpr std::size_t kLook = 4096;  // a loop without an end inside is one of vectors
  for (std::size_t from = 0; from < n; from += kLook) {
    Bits carried = 0;
    for (std::size_t k = from; k < std::min(n, from + kLook); ++k)
      carried |= (std::bit_cast<Bits>(x[k]) & kInfinity) + (kSign - kInfinity);
    if (carried & kSign) return false;
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
  copy_matrix(type_, place_of(v, i), {as<unsigned char>(), 1, rows_}, rows_, cols_);
}

void Matrix::store(const View& v, Index i) {
  if (!v.data) return;
  copy_matrix(type_, {as<unsigned char>(), 1, rows_}, place_of(v, i), v.rank() > 1 ? v.shape[1] : 1,
              v.rank() > 2 ? v.shape[2] : 1);
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

void Matrix::fill_identity() {
  if (size() > 0) std::memset(data(), 0, static_cast<std::size_t>(size()) * size_of(type_));
  for (Index k = 0; k < std::min(rows_, cols_); ++k) set(k, k, 1);
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
