#include "interpreter/xla/plugin_arrays.h"

#include <algorithm>

namespace shard::xla {
namespace {

// Which of an array's distinct blocks the device at `position` has.
std::size_t block_at(const runtime::Mesh* mesh, const runtime::DeviceArray& array, std::size_t position) {
  if (!mesh || !array.type.mesh) return 0;
  std::size_t block = 0, stride = 1, rest = position;
  for (std::size_t axis = mesh->axes.size(); axis-- > 0;) {
    const auto size = static_cast<std::size_t>(mesh->axes[axis].size);
    if (array.distinct.has(static_cast<runtime::AxisId>(axis))) {
      block += rest % size * stride;
      stride *= size;
    }
    rest /= size;
  }
  return block;
}

}  // namespace

bool Blocks::lie_on(const std::vector<std::size_t>& devices) const {
  return std::equal(blocks_.begin(), blocks_.end(), devices.begin(), devices.end(),
                    [](const pjrt::Buffer& b, std::size_t device) { return b.device() == device; });
}

runtime::BufferRef Blocks::fetch(runtime::Pool& pool, const runtime::DeviceArray& array) const {
  if (here_) return here_;
  const std::size_t bytes = pjrt::bytes_of(blocks_[0].type());
  const std::int64_t all = runtime::checked_bytes(array.physical(), runtime::size_of(array.type.dtype));
  runtime::BufferRef out = pool.allocate(static_cast<std::size_t>(all));
  std::size_t next = 0;  // distinct blocks are met in their order
  for (std::size_t p = 0; p < blocks_.size() && next * bytes < static_cast<std::size_t>(all); ++p)
    if (block_at(array.type.mesh.get(), array, p) == next)
      blocks_[p].to_host(static_cast<char*>(out->data()) + bytes * next++, bytes);
  return here_ = std::move(out);
}

BlocksRef to_devices(const pjrt::ClientRef& client, const runtime::Mesh* mesh, const std::vector<std::size_t>& devices,
                     const runtime::DeviceArray& array, const pjrt::BlockType& type) {
  const std::size_t bytes = pjrt::bytes_of(type);
  std::vector<pjrt::Buffer> blocks;
  blocks.reserve(devices.size());
  for (std::size_t p = 0; p < devices.size(); ++p)
    blocks.push_back(pjrt::Buffer::from_host(
        client, devices[p], type, static_cast<const char*>(array.buffer->data()) + bytes * block_at(mesh, array, p)));
  return std::make_shared<const Blocks>(client, std::move(blocks));
}

}  // namespace shard::xla
