// Arrays that lie on the devices of a plug-in: each device of the mesh holds its block, also where blocks are equal.
#pragma once
#include "runtime/mesh/device_array.h"
#include "runtime/pjrt/client.h"

namespace shard::xla {

namespace pjrt = runtime::pjrt;

// What is on each device of a mesh, by position; one block where nothing was ever laid out. They come to this process
// when somebody looks, and then stay here too, so that reading element for element costs one transfer.
class Blocks final : public runtime::RemoteBlocks {
 public:
  Blocks(pjrt::ClientRef client, std::vector<pjrt::Buffer> blocks)
      : client_(std::move(client)), blocks_(std::move(blocks)) {}
  runtime::BufferRef fetch(runtime::Pool& pool, const runtime::DeviceArray& array) const override;
  const void* owner() const override { return client_.get(); }
  const pjrt::Buffer& at(std::size_t position) const { return blocks_.at(position); }
  bool lie_on(const std::vector<std::size_t>& devices) const;

 private:
  pjrt::ClientRef client_;
  std::vector<pjrt::Buffer> blocks_;
  mutable runtime::BufferRef here_;
};
using BlocksRef = std::shared_ptr<const Blocks>;

// Copies the blocks of an array that lies in this process to devices, which are those of the mesh by position.
BlocksRef to_devices(const pjrt::ClientRef& client, const runtime::Mesh* mesh, const std::vector<std::size_t>& devices,
                     const runtime::DeviceArray& array, const pjrt::BlockType& type);

}  // namespace shard::xla
