// A client and blocks on its devices.
#include "runtime/pjrt/client.h"

#include <array>
#include <numeric>

namespace shard::runtime::pjrt {
namespace {

using E = abi::ElementType;
constexpr std::array<E, kDTypes> kElements = {E::Pred, E::S8,   E::S16,    E::S32,    E::S64, E::U8,  E::U16,
                                              E::U32,  E::U64,  E::F16,    E::BF16,   E::F32, E::F64, E::U32,
                                              E::C64,  E::C128, E::F8E4M3, E::F8E5M2, E::S4};

DType dtype_of(abi::ElementType e) {
  for (std::size_t i = 0; i < kElements.size(); ++i)
    if (kElements[i] == e) return static_cast<DType>(i);
  throw RuntimeError("engine", "a plug-in speaks of element type " + std::to_string(static_cast<int>(e)) +
                                   ", which Shard does not have");
}

// Row-major, whatever the device prefers.
struct RowMajor {
  explicit RowMajor(std::size_t rank) : order(rank) {
    std::iota(order.rbegin(), order.rend(), 0);
    layout.head.size = sizeof layout;
    layout.tiled.head.size = sizeof layout.tiled;
    layout.tiled.minor_to_major = order.data();
    layout.tiled.rank = rank;
  }
  std::vector<std::int64_t> order;
  abi::Layout layout{};
};

}  // namespace

BlockType block_type(DType dtype, const Shape& shape) {
  BlockType out{kElements[static_cast<std::size_t>(dtype)], {shape.begin(), shape.end()}};
  if (dtype == DType::Key) out.dims.push_back(2);
  return out;
}

std::string to_string(const BlockType& t) {
  std::string out(name(dtype_of(t.element)));
  out += '[';
  for (std::size_t i = 0; i < t.dims.size(); ++i) out += (i > 0 ? "," : "") + std::to_string(t.dims[i]);
  return out + ']';
}

std::size_t bytes_of(const BlockType& t) {
  std::size_t n = size_of(dtype_of(t.element));
  for (const std::int64_t d : t.dims) n *= static_cast<std::size_t>(d);
  return n;
}

// ---- clients

std::shared_ptr<Client> Client::create(std::shared_ptr<const Plugin> plugin, int devices) {
  constexpr std::string_view kCount = "cpu_device_count";
  abi::NamedValue count{};
  count.head.size = sizeof count;
  count.name = kCount.data();
  count.name_size = kCount.size();
  count.kind = abi::NamedValue::Int64;
  count.number = devices;
  count.value_size = 1;
  abi::ClientCreate create{};
  create.options = &count;
  create.count = 1;
  try {
    plugin->call(abi::kClientCreate, create, "looking for its devices");
  } catch (const RuntimeError&) {  // only those for the CPU have this option: the others say that they do not know it
    create = {};
    plugin->call(abi::kClientCreate, create, "looking for its devices");
  }
  std::shared_ptr<Client> out(new Client(std::move(plugin), create.client));
  const Plugin& p = *out->plugin_;
  out->platform_ = p.text(abi::kClientPlatformName, create.client);
  for (void* device : p.objects(abi::kClientAddressableDevices, create.client)) {
    abi::Object description{{}, device, nullptr};
    p.call(abi::kDeviceDescription, description, "asked for a device");
    out->devices_.push_back(static_cast<abi::Device*>(device));
    out->infos_.push_back(
        {p.number(abi::kDescriptionId, description.result), p.text(abi::kDescriptionKind, description.result)});
  }
  return out;
}

Client::~Client() { plugin_->drop(abi::kClientDestroy, client_); }

std::string Client::platform_version() const { return plugin_->text(abi::kClientPlatformVersion, client_); }

// ---- blocks

Buffer Buffer::from_host(ClientRef client, std::size_t device, BlockType type, const void* elements) {
  abi::BufferFromHost from{};
  from.client = client->client_;
  from.data = elements;
  from.type = type.element;
  from.dims = type.dims.data();
  from.rank = type.dims.size();
  from.semantics = 1;  // the elements stay until the event
  from.device = client->devices_.at(device);
  const Plugin& plugin = client->plugin();
  plugin.call(abi::kClientBufferFromHost, from, "copying to a device");
  Buffer out(std::move(client), device, std::move(type), from.buffer);
  plugin.await(from.done, "copying to a device");
  return out;
}

Buffer::~Buffer() {
  if (buffer_) client_->plugin().drop(abi::kBufferDestroy, buffer_);
}

void Buffer::to_host(void* elements, std::size_t bytes) const {
  if (bytes != bytes_of(type_))
    throw RuntimeError("engine",
                       "a block is " + to_string(type_) + ", and " + std::to_string(bytes) + " bytes were asked for");
  if (bytes == 0) return;
  RowMajor rows(type_.dims.size());
  abi::BufferToHost to{};
  to.buffer = buffer_;
  to.layout = &rows.layout;
  to.to = elements;
  to.size = bytes;
  client_->plugin().call(abi::kBufferToHost, to, "copying from a device");
  client_->plugin().await(to.done, "copying from a device");
}

}  // namespace shard::runtime::pjrt
