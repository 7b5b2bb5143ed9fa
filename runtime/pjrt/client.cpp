// A client and blocks on its devices.
#include "runtime/pjrt/client.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <list>
#include <numeric>

#include "runtime/pjrt/callbacks.h"

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

namespace {

// Options of a client, whose texts live as long as it is being made.
class Options {
 public:
  void number(std::string_view name, std::int64_t n) { of(name, abi::NamedValue::Int64).number = n; }
  void numbers(std::string_view name, std::vector<std::int64_t> list) {
    lists_.push_back(std::move(list));
    abi::NamedValue& out = of(name, abi::NamedValue::Int64List);
    out.numbers = lists_.back().data();
    out.value_size = lists_.back().size();
  }
  // How the memory of a GPU is taken, by the variables of JAX. Without them a process takes three quarters at once.
  void memory() {
    if (const char* v = std::getenv("XLA_PYTHON_CLIENT_PREALLOCATE"); v && *v)
      of("preallocate", abi::NamedValue::Bool).truth = std::string_view(v) != "false" && std::string_view(v) != "0";
    if (const char* v = std::getenv("XLA_PYTHON_CLIENT_MEM_FRACTION"); v && *v)
      of("memory_fraction", abi::NamedValue::Float).real = std::strtof(v, nullptr);
    if (const char* v = std::getenv("XLA_PYTHON_CLIENT_ALLOCATOR"); v && *v) {
      abi::NamedValue& out = of("allocator", abi::NamedValue::String);
      out.text = v;
      out.value_size = std::string_view(v).size();
    }
  }
  bool empty() const { return values_.empty(); }
  std::span<const abi::NamedValue> all() const { return values_; }

 private:
  abi::NamedValue& of(std::string_view name, abi::NamedValue::Kind kind) {
    abi::NamedValue& out = values_.emplace_back();
    out = {};
    out.head.size = sizeof out;
    out.name = name.data();
    out.name_size = name.size();
    out.kind = kind;
    out.value_size = 1;
    return out;
  }
  std::vector<abi::NamedValue> values_;
  std::list<std::vector<std::int64_t>> lists_;
};

// What a plug-in may want to be told, and no other knows: a plug-in refuses a name that it does not know. Those for the
// CPU make devices; those for GPUs take them among what is there, neighbours one stretch each; others, and those of
// TPUs, know by themselves.
std::vector<Options> ways_to_ask(int devices, const Nodes& nodes) {
  std::vector<Options> out(1);
  out[0].number("cpu_device_count", devices);
  if (nodes.count > 1 && nodes.neighbours > 1) {
    std::vector<std::int64_t> own(static_cast<std::size_t>(nodes.each));
    std::iota(own.begin(), own.end(), nodes.neighbour * nodes.each);
    out.emplace_back().numbers("visible_devices", std::move(own));
    out.back().memory();
  }
  if (Options one; one.memory(), !one.empty()) out.push_back(std::move(one));
  out.emplace_back();
  for (std::size_t i = 0; nodes.count > 1 && i < out.size(); ++i) {
    out[i].number("node_id", nodes.index);
    out[i].number("num_nodes", nodes.count);
  }
  if (nodes.count > 1) out.emplace_back();
  return out;
}

}  // namespace

std::shared_ptr<Client> Client::create(std::shared_ptr<const Plugin> plugin, int devices, Nodes nodes) {
  std::shared_ptr<Client> out(new Client(std::move(plugin), std::move(nodes)));
  out->open(devices);
  out->platform_ = out->plugin_->text(abi::kClientPlatformName, out->client_);
  out->look_at_devices();
  return out;
}

void Client::open(int devices) {
  const std::vector<Options> ways = ways_to_ask(devices, nodes_);
  for (std::size_t i = 0; i < ways.size(); ++i) try {
      abi::ClientCreate create{};
      create.options = ways[i].all().data();
      create.count = ways[i].all().size();
      if (nodes_.count > 1) set_callbacks(create, *nodes_.values);
      plugin_->call(abi::kClientCreate, create, "looking for its devices");
      client_ = create.client;
      return;
    } catch (const RuntimeError& e) {
      if (i + 1 == ways.size()) throw;
      if (std::string_view(e.what()).find("option") == std::string_view::npos) refused_ = e.what();
    }
}

void Client::look_at_devices() {
  const auto info = [&](void* device) {
    abi::Object description{{}, device, nullptr};
    plugin_->call(abi::kDeviceDescription, description, "asked for a device");
    return DeviceInfo{plugin_->number(abi::kDescriptionId, description.result),
                      plugin_->number(abi::kDescriptionProcess, description.result),
                      plugin_->text(abi::kDescriptionKind, description.result)};
  };
  for (void* device : plugin_->objects(abi::kClientDevices, client_)) infos_.push_back(info(device));
  std::stable_sort(infos_.begin(), infos_.end(),
                   [](const DeviceInfo& a, const DeviceInfo& b) { return a.process < b.process; });
  std::vector<std::pair<std::size_t, abi::Device*>> own;
  for (void* device : plugin_->objects(abi::kClientAddressableDevices, client_)) {
    const int id = info(device).id;
    const auto at = std::find_if(infos_.begin(), infos_.end(), [&](const DeviceInfo& i) { return i.id == id; });
    own.emplace_back(at - infos_.begin(), static_cast<abi::Device*>(device));
  }
  std::sort(own.begin(), own.end());
  for (const auto& [place, device] : own) devices_.push_back(device);
  first_ = own.empty() ? 0 : own.front().first;
}

Client::~Client() { plugin_->drop(abi::kClientDestroy, client_); }

int Client::process() const { return plugin_->number(abi::kClientProcess, client_); }

std::optional<DeviceBytes> Client::fullest() const {
  std::optional<DeviceBytes> out;
  for (abi::Device* device : devices_) try {
      abi::DeviceMemory m{};
      m.device = device;
      plugin_->call(abi::kDeviceMemory, m, "asked for its memory");
      if (!out || m.in_use > out->in_use) out = {m.in_use, m.peak_known ? m.peak : 0, m.limit_known ? m.limit : 0};
    } catch (const RuntimeError&) { return std::nullopt; }  // those for the CPU do not count
  return out;
}

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
  from.device = client->devices_.at(device - client->first_);
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
