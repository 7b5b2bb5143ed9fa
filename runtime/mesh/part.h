// Which of a mesh's devices are in this process. Several processes run one script; each owns as many devices, in
// order, and stores and computes the blocks of its own. Of a mesh that is a box, the same size in every process: each
// axis is cut into processes x local. A mesh that its processes do not share so has no part: then every process does
// all of it, for itself, and the numbers are the same.
#pragma once
#include <span>

#include "runtime/channel/processes.h"
#include "runtime/mesh/mesh.h"

namespace shard::runtime {

struct MeshPart {
  std::shared_ptr<Processes> processes;
  Mesh here;                        // the axes, as long as they are in this process; its devices
  std::vector<std::int64_t> first;  // by axis: where they begin
  AxisSet apart;                    // axes that lie in several processes
  std::vector<int> grid;            // the processes by the places of their boxes, row-major over the axes
};

// Null where all of it is here: one process, or boxes that do not fit. `devices`: of all processes.
std::shared_ptr<const MeshPart> part_of(const Mesh& mesh, const std::shared_ptr<Processes>& processes, int devices);

// The processes that differ from this one in their place along `along` only, row-major by it.
std::vector<int> members_along(const Mesh& mesh, AxisSet along);
// The same, row-major by these axes in their order.
std::vector<int> members_along(const Mesh& mesh, std::span<const AxisId> along);

// Blocks of all processes along some axes, brought together. In memory `mine` is [sizes of `order` here..., block] and
// `all` the same with the whole sizes of the axes `along`; both dense.
class GatherBlocks {
 public:
  GatherBlocks(const Mesh& mesh, const std::vector<AxisId>& order, AxisSet along, std::int64_t block_bytes);
  std::int64_t scratch_bytes() const { return direct_ ? 0 : mine_bytes_ * static_cast<std::int64_t>(members_.size()); }
  std::int64_t all_bytes() const { return mine_bytes_ * static_cast<std::int64_t>(members_.size()); }
  void run(const Meeting& meeting, const void* mine, void* all, char* scratch) const;

 private:
  std::shared_ptr<Processes> processes_;
  std::vector<int> members_;
  std::vector<std::int64_t> mine_, all_;       // sizes, the block's bytes last
  std::vector<std::vector<std::int64_t>> at_;  // by member: where its blocks begin, by dimension
  std::int64_t mine_bytes_ = 0;
  bool direct_ = false;  // what members bring lies in `all` as it comes
};

}  // namespace shard::runtime
