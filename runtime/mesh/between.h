// Equal terms of several processes, combined: what collectives that add do over the processes' part of a mesh. Large
// ones go in pieces, each combined by one process and then handed round, so that each sends and receives twice what it
// brings and adds its share, whatever the number of processes. The order is that of reduce_blocks over the terms.
#pragma once
#include "runtime/kernels/kernels.h"
#include "runtime/mesh/part.h"

namespace shard::runtime {

class ReduceBetween {
 public:
  // `over`: axes that lie in several processes, with one term a process, the major ones first. `elements`: of a term.
  // Halves are not added here: their sums are taken in f32, and rounded once (reduce_blocks).
  ReduceBetween(const Mesh& mesh, std::span<const AxisId> over, Reduce op, DType dtype, std::int64_t elements);
  std::int64_t count() const { return static_cast<std::int64_t>(members_.size()); }
  std::int64_t scratch_bytes() const;
  // Every process gets all of it. `out` may be `mine`.
  void run(const Meeting& meeting, const void* mine, void* out, char* scratch) const;
  // Process i gets the combination of everybody's part i: `mine` is [count, elements], `out` [elements].
  void run_parts(const Meeting& meeting, const void* mine, void* out, char* scratch) const;

 private:
  struct Range {  // bytes
    std::size_t at, size;
  };
  Range slice(std::int64_t round, std::size_t member) const;
  // What this process combines: its own term at `own`, the others' in the scratch.
  void combine(const char* own, std::size_t bytes, void* out, char* scratch) const;

  std::shared_ptr<Processes> processes_;
  std::vector<int> members_, sorted_;  // in the order of terms; ascending
  std::size_t place_ = 0;              // of this process among them
  Reduce op_;
  DType dtype_;
  std::int64_t elements_, slice_;  // of a term; of what one process combines in one round
};

}  // namespace shard::runtime
