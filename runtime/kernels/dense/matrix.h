// A matrix of f32, f64, c64 or c128 with memory of its own, column by column, as LAPACK wants it.
#pragma once
#include <complex>
#include <cstdint>
#include <memory>
#include <vector>

#include "runtime/array/view.h"

namespace shard::runtime::dense {

using Index = std::int64_t;
using Complex = std::complex<double>;

class Matrix {
 public:
  void reset(DType t, Index rows, Index cols);  // elements are whatever was there
  void load(const View& v, Index i);            // matrix `i` of a batch, whatever its strides
  // The upper left part that v has room for; a vector has one column. Nothing where v has no data.
  void store(const View& v, Index i);
  DType type() const { return type_; }
  int rows() const { return static_cast<int>(rows_); }
  int cols() const { return static_cast<int>(cols_); }
  int step() const { return rows_ == 0 ? 1 : rows(); }  // from column to column
  Index size() const { return rows_ * cols_; }
  void* data() { return memory_.data(); }
  template <class T>
  T* as() {
    return reinterpret_cast<T*>(memory_.data());
  }
  void* element(Index row, Index col) { return const_cast<void*>(place(row, col)); }
  void* column(Index c) { return element(0, c); }
  View view() { return {type_, {rows_, cols_}, {1, rows_}, data()}; }
  View turned() { return {type_, {cols_, rows_}, {rows_, 1}, data()}; }
  Complex at(Index row, Index col) const;
  void set(Index row, Index col, Complex x);
  bool finite() const;
  void fill(double x);              // both parts of complex numbers
  void fill_identity();             // zeros, and ones on the diagonal
  void fill_from(const Matrix& m);  // as many columns of it as both have
  void clear_below();               // the diagonal

 private:
  struct alignas(64) Line {
    unsigned char bytes[64];
  };
  struct Raw : std::allocator<Line> {  // leaves elements as they are, where a vector would write zeros
    template <class>
    struct rebind {
      using other = Raw;
    };
    void construct(Line*) {}
    void construct(Line* to, const Line& from) { *to = from; }
  };
  const void* place(Index row, Index col) const;
  DType type_ = DType::F64;
  Index rows_ = 0, cols_ = 0;
  std::vector<Line, Raw> memory_;  // bits depend on numbers alone, not on where a matrix lies
};

}  // namespace shard::runtime::dense
