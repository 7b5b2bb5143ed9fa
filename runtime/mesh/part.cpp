#include "runtime/mesh/part.h"

#include <algorithm>

#include "runtime/kernels/kernels.h"

namespace shard::runtime {
namespace {

std::vector<std::int64_t> processes_along(const Mesh& mesh) {  // how many, by axis
  std::vector<std::int64_t> out;
  for (std::size_t a = 0; a < mesh.axes.size(); ++a) out.push_back(mesh.axes[a].size / mesh.part->here.axes[a].size);
  return out;
}

}  // namespace

std::shared_ptr<const MeshPart> part_of(const Mesh& mesh, const std::shared_ptr<Processes>& processes, int devices) {
  if (!processes || processes->count() < 2 || mesh.devices.empty()) return nullptr;
  const int each = devices / processes->count();
  const auto owner = [&](std::int64_t position) { return mesh.devices[static_cast<std::size_t>(position)] / each; };
  const std::vector<std::int64_t> whole = sizes_of(mesh);
  std::vector<std::int64_t> box(whole.size(), 1);  // of the process that has the first device
  for (std::int64_t p = 0; p < mesh.size(); ++p)
    if (owner(p) == owner(0)) {
      const std::vector<std::int64_t> at = coordinates_of(p, whole);
      for (std::size_t a = 0; a < box.size(); ++a) box[a] = std::max(box[a], at[a] + 1);
    }
  std::vector<std::int64_t> cells;
  std::int64_t count = 1;
  for (std::size_t a = 0; a < box.size(); ++a) {
    if (whole[a] % box[a] != 0) return nullptr;
    cells.push_back(whole[a] / box[a]);
    count *= cells.back();
  }
  if (count < 2) return nullptr;
  auto out = std::make_shared<MeshPart>();
  out->grid.assign(static_cast<std::size_t>(count), -1);
  out->here = mesh;
  out->here.part = nullptr;
  out->here.devices.clear();
  for (std::int64_t p = 0; p < mesh.size(); ++p) {
    const std::vector<std::int64_t> at = coordinates_of(p, whole);
    std::int64_t cell = 0;
    for (std::size_t a = 0; a < box.size(); ++a) cell = cell * cells[a] + at[a] / box[a];
    int& there = out->grid[static_cast<std::size_t>(cell)];
    if (there >= 0 && there != owner(p)) return nullptr;
    there = owner(p);
    if (there == processes->index()) out->here.devices.push_back(mesh.devices[static_cast<std::size_t>(p)]);
  }
  std::vector<int> all = out->grid;
  std::sort(all.begin(), all.end());
  if (std::adjacent_find(all.begin(), all.end()) != all.end()) return nullptr;
  const auto mine = std::find(out->grid.begin(), out->grid.end(), processes->index());
  if (mine == out->grid.end()) return nullptr;
  out->processes = processes;
  out->first = coordinates_of(mine - out->grid.begin(), cells);
  for (std::size_t a = 0; a < box.size(); ++a) {
    out->first[a] *= box[a];
    out->here.axes[a].size = box[a];
    if (cells[a] > 1) out->apart.add(static_cast<AxisId>(a));
  }
  return out;
}

std::vector<int> members_along(const Mesh& mesh, std::span<const AxisId> along) {
  const std::vector<std::int64_t> cells = processes_along(mesh);
  const MeshPart& part = *mesh.part;
  std::vector<std::int64_t> at, sizes;
  for (std::size_t a = 0; a < cells.size(); ++a) at.push_back(part.first[a] / part.here.axes[a].size);
  std::int64_t count = 1;
  for (AxisId a : along) sizes.push_back(cells[a]), count *= cells[a];
  std::vector<int> out;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::vector<std::int64_t> place = coordinates_of(i, sizes);
    for (std::size_t k = 0; k < along.size(); ++k) at[along[k]] = place[k];
    std::int64_t cell = 0;
    for (std::size_t a = 0; a < cells.size(); ++a) cell = cell * cells[a] + at[a];
    out.push_back(part.grid[static_cast<std::size_t>(cell)]);
  }
  return out;
}

std::vector<int> members_along(const Mesh& mesh, AxisSet along) { return members_along(mesh, along.list()); }

GatherBlocks::GatherBlocks(const Mesh& mesh, const std::vector<AxisId>& order, AxisSet along, std::int64_t block_bytes)
    : processes_(mesh.part->processes), members_(members_along(mesh, along)), mine_bytes_(block_bytes) {
  const std::vector<std::int64_t> cells = processes_along(mesh);
  bool leads = true;  // only axes of one block stand before
  direct_ = true;
  for (const AxisId a : order) {
    const bool joins = along.has(a) && cells[a] > 1;
    const std::int64_t here = mesh.part->here.axes[a].size;
    mine_.push_back(here);
    all_.push_back(joins ? here * cells[a] : here);
    mine_bytes_ *= here;
    direct_ = direct_ && (leads || !joins);
    leads = leads && here == 1;
  }
  mine_.push_back(block_bytes), all_.push_back(block_bytes);
  for (const int member : members_) {
    const auto cell = std::find(mesh.part->grid.begin(), mesh.part->grid.end(), member) - mesh.part->grid.begin();
    const std::vector<std::int64_t> place = coordinates_of(cell, cells);
    auto& at = at_.emplace_back(mine_.size(), 0);
    for (std::size_t d = 0; d < order.size(); ++d)
      if (along.has(order[d])) at[d] = place[order[d]] * mine_[d];
  }
}

void GatherBlocks::run(const Meeting& meeting, const void* mine, void* all, char* scratch) const {
  processes_->gather(meeting, members_, mine, static_cast<std::size_t>(mine_bytes_), direct_ ? all : scratch);
  if (direct_) return;
  const Strides strides = row_major(all_);
  for (std::size_t m = 0; m < members_.size(); ++m) {
    const View from = contiguous(DType::U8, mine_, scratch + static_cast<std::int64_t>(m) * mine_bytes_);
    View to{DType::U8, mine_, strides, all};
    std::int64_t offset = 0;
    for (std::size_t d = 0; d < mine_.size(); ++d) offset += at_[m][d] * strides[d];
    to.data = static_cast<char*>(all) + offset;
    copy(from, to);
  }
}

}  // namespace shard::runtime
