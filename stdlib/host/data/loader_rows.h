// The rows that a loader gives: of arrays in memory, of arrays that stay in files, of several files one after the
// other, or runs of tokens; and their order. They are read side by side as bytes, by any thread: nobody changes them.
#pragma once
#include <array>
#include <string>
#include <vector>

#include "stdlib/host/host.h"

namespace shard::stdlib {

// Of each leaf the rows of a batch that are wanted, from the first to behind the last; empty: all of all leaves.
using WantedRows = std::vector<std::vector<std::pair<std::int64_t, std::int64_t>>>;

class RowTable {
 public:
  struct RowType {
    DType dtype;
    Shape shape;  // of one row
    std::size_t bytes() const;
  };
  // Arrays of one number of rows, one for each leaf of a tree: the rows of the next file, or all there are. Whole
  // blocks on the host, or elsewhere in parts. What does not fit to what was added before throws RuntimeError("shape").
  void add(std::vector<ArrayRef> arrays, const std::string& name);
  // From now on a row is a run of `length` elements, one begins every `stride`; before anything is added.
  void set_windows(std::int64_t length, std::int64_t stride) { window_ = length, stride_ = stride; }

  std::int64_t count() const { return count_; }
  bool far() const { return far_; }  // some lie in files
  const std::vector<RowType>& types() const { return types_; }
  // These rows of each leaf, one behind the other; zeros for what `batch` has more, and for rows that nobody wants.
  std::vector<std::string> gather(const std::vector<std::int64_t>& which, std::int64_t batch,
                                  const WantedRows& wanted) const;

 private:
  struct Part {
    std::int64_t first, count;
    std::vector<ArrayRef> arrays;
  };
  const Part& part_of(std::int64_t row) const;
  void copy_rows(const runtime::DeviceArray& from, std::int64_t row, std::int64_t n, const RowType& type,
                 char* to) const;
  std::vector<Part> parts_;
  std::vector<RowType> types_;
  std::int64_t count_ = 0, window_ = 0, stride_ = 1;
  bool far_ = false;
};

// A permutation of any length that is computed and not kept: where row i of an epoch comes from is a function of a key
// and i alone, so that an order over 10^9 examples takes no memory and begins anywhere at once.
class KeyedOrder {
 public:
  // `length` > 0; the words of a key.
  KeyedOrder(std::uint64_t length, std::uint32_t k0, std::uint32_t k1);
  std::uint64_t operator[](std::uint64_t i) const;  // of 0 .. length - 1, each once

 private:
  static constexpr int kRounds = 8;
  std::uint64_t length_;
  int half_ = 1;  // bits of each half
  std::array<std::uint64_t, kRounds> keys_;
};

}  // namespace shard::stdlib
