// The elements of an array in row-major order, piece by piece, wherever its blocks lie: what writes files reads an
// array so, and no second copy of a large one is made.
#pragma once
#include <string_view>

#include "runtime/mesh/device_array.h"

namespace shard::runtime {

class Pieces {
 public:
  static constexpr std::size_t kBytes = std::size_t{4} << 20;
  Pieces(Pool& pool, ArrayRef array, std::size_t bytes = kBytes);  // unreduced sums are added up first, whole
  // The next piece: whole elements, about as many bytes as asked for. Valid until the next call; empty behind the last.
  std::string_view next();

 private:
  ArrayRef array_;
  View view_;  // elements in row-major order are those of the array
  std::size_t item_, split_ = 0;
  std::int64_t rows_ = 1, inner_ = 1;  // a piece is so many rows of dimension split_, each of so many elements
  std::vector<std::int64_t> at_;       // where the next piece begins
  std::int64_t left_;                  // elements
  BufferRef scratch_;                  // none where the elements lie in order already
  bool far_ = false;                   // they are read from elsewhere, piece by piece
};

}  // namespace shard::runtime
