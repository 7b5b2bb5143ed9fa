// A collective on its way to steps. Over the blocks of one process it is a reduction over dimensions of memory, or
// other strides (lower_collectives.cpp); what devices of other processes take part in is brought here first
// (process_collectives.cpp). Used by these, group_collectives.cpp and joined_sums.cpp only.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "interpreter/exec/lowering.h"
#include "runtime/mesh/part.h"

namespace shard::exec {

// Copies of one block each, from place to place in two storages.
struct BlockMoves {
  View from, to;
  std::vector<std::pair<std::int64_t, std::int64_t>> at;  // where one begins in both, in bytes
  std::vector<std::int64_t> blank = {};                   // where zeros come
  void run(void* in, void* out);
};

class CollectiveSteps {
 public:
  CollectiveSteps(Lowering& lowering, const ir::Node& node);
  void emit() const;

  const ir::Node& node() const { return n_; }
  // The axes that it is over, major first (without those of size 1), and those of them that lie in several processes.
  const std::vector<AxisId>& list() const { return list_; }
  AxisSet apart() const { return apart_; }
  // How terms of this type are combined; truth values have no sum but `or`.
  runtime::Reduce combining(DType dtype) const;

  // Whether the devices here are neighbours in the order of terms: axes with one device here, then at most one that is
  // cut, then axes that are whole here; all sizes powers of two, so that the tree of the terms here is a subtree.
  bool neighbours() const;
  struct Terms {
    StridedView place;
    std::vector<AxisId> over;  // between processes, which have different ones
    std::int64_t same;         // so many processes have each
  };
  Terms own_terms(const StridedView& given) const;  // what the devices here have of a sum, where they are neighbours
  void between(const std::vector<AxisId>& over, const StridedView& terms, const StridedView& out) const;

 private:
  // lower_collectives.cpp
  StridedView held_apart() const;
  StridedView communicated() const;
  StridedView moved(StridedView p) const;
  StridedView reduce_devices(const StridedView& p, runtime::Reduce op) const;
  StridedView assemble(const StridedView& from, const std::vector<std::vector<Dim>>& dims) const;
  StridedView permute_devices(const StridedView& p) const;
  StridedView index_of_device() const;
  std::size_t dimension(const char* attribute, std::size_t rank) const;  // that an attribute names
  StridedView grouped(StridedView p) const;                              // group_collectives.cpp
  // process_collectives.cpp
  StridedView combined(StridedView p) const;
  std::optional<StridedView> combined_parts(const StridedView& given) const;
  std::string told(const StridedView& p, const std::vector<AxisId>& along) const;
  Mesh widened() const;
  StridedView brought(StridedView p, AxisSet along, const Mesh& wide) const;
  StridedView exchanged(const StridedView& p, const Mesh& wide, std::optional<std::size_t> split) const;
  StridedView own_of(StridedView got, const StridedView& before) const;
  // How many processes lie along the axis.
  std::int64_t processes(AxisId a) const { return whole().size_of(a) / here().size_of(a); }

  const Mesh& here() const { return *l_.mesh(); }
  const Mesh& whole() const { return *l_.around().mesh_ref; }

  Lowering& l_;
  const ir::Node& n_;
  const ir::Collective& c_;
  std::vector<AxisId> list_;
  AxisSet apart_;
};

}  // namespace shard::exec
