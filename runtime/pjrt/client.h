// The devices of a plug-in, what is compiled for them, and blocks of arrays that lie on them.
#pragma once
#include <functional>
#include <optional>
#include <span>

#include "runtime/array/dtype.h"
#include "runtime/channel/key_values.h"
#include "runtime/pjrt/plugin.h"

namespace shard::runtime::pjrt {

struct BlockType {  // as StableHLO has it: a key is two u32 in a dimension more
  abi::ElementType element = abi::ElementType::F32;
  std::vector<std::int64_t> dims;
  bool operator==(const BlockType&) const = default;
};
BlockType block_type(DType dtype, const Shape& shape);
std::string to_string(const BlockType& t);  // "f32[2,3]"
std::size_t bytes_of(const BlockType& t);

struct DeviceInfo {
  int id = 0;        // not always its place among the devices
  int process = 0;   // that can reach it
  std::string kind;  // "cpu", "NVIDIA H100 80GB HBM3", "TPU v5 lite"
};

struct MemoryStats {  // of a device, in bytes
  std::int64_t code = 0, arguments = 0, results = 0, aliased = 0, temporaries = 0;
  std::int64_t peak = 0;  // 0: the plug-in does not say
};

struct DeviceBytes {                             // that a device holds now
  std::int64_t in_use = 0, peak = 0, limit = 0;  // 0: the plug-in does not say
};

std::optional<MemoryStats> memory_of(const Plugin& plugin, abi::Executable* executable);  // nothing: it is too old

abi::Program program_of(const std::string& text);  // StableHLO
// `r` replicas of one program that needs no partitioning, on devices of these ids. The encoded protobuf
// CompileOptionsProto, of which the plug-in wants the build options.
std::string compile_options(std::span<const int> ids);

// The processes whose devices are those of one client.
struct Nodes {
  int index = 0, count = 1;
  int neighbour = 0, neighbours = 1;  // among those on this machine
  int each = 1;                       // how many of a machine's devices each of them takes
  std::shared_ptr<KeyValues> values;  // by which they find each other; needed of several
};

class Client : public std::enable_shared_from_this<Client> {
 public:
  // `devices`: how many of them a plug-in for the CPU shall have in this process; others have what is there.
  static std::shared_ptr<Client> create(std::shared_ptr<const Plugin> plugin, int devices, Nodes nodes = {});
  ~Client();
  Client(const Client&) = delete;
  const Plugin& plugin() const { return *plugin_; }
  const std::string& platform() const { return platform_; }  // "cpu", "cuda", "tpu"
  std::string platform_version() const;
  int process() const;                                               // as the plug-in numbers those of its devices
  const std::vector<DeviceInfo>& devices() const { return infos_; }  // of all processes, those of one in a row
  // Of the device of this process that holds most; nothing where the plug-in does not say.
  std::optional<DeviceBytes> fullest() const;
  // What was wrong, but for options, where it was asked for the devices of several processes; mostly empty.
  const std::string& refused() const { return refused_; }
  // Of this process: where they begin among all, and how many there are.
  std::size_t first() const { return first_; }
  std::size_t own() const { return devices_.size(); }

 private:
  friend class Buffer;
  friend class Executable;
  Client(std::shared_ptr<const Plugin> plugin, Nodes nodes) : plugin_(std::move(plugin)), nodes_(std::move(nodes)) {}
  void open(int devices);
  void look_at_devices();
  std::shared_ptr<const Plugin> plugin_;
  Nodes nodes_;  // what the plug-in calls back lives as long as the client
  abi::Client* client_ = nullptr;
  std::string platform_, refused_;
  std::vector<DeviceInfo> infos_;
  std::size_t first_ = 0;
  std::vector<abi::Device*> devices_;  // of this process
};
using ClientRef = std::shared_ptr<Client>;

class Buffer {  // a block on one device
 public:
  // Copies row-major elements to the device of this place among the client's, one of this process.
  static Buffer from_host(ClientRef client, std::size_t device, BlockType type, const void* elements);
  Buffer(Buffer&& o) noexcept : client_(std::move(o.client_)), buffer_(std::exchange(o.buffer_, nullptr)) {
    type_ = std::move(o.type_);
    device_ = o.device_;
  }
  Buffer& operator=(Buffer&&) = delete;
  ~Buffer();
  const BlockType& type() const { return type_; }
  std::size_t device() const { return device_; }
  void to_host(void* elements, std::size_t bytes) const;  // row-major; waits for what computes it

 private:
  friend class Executable;
  Buffer(ClientRef client, std::size_t device, BlockType type, abi::Buffer* buffer)
      : client_(std::move(client)), type_(std::move(type)), device_(device), buffer_(buffer) {}
  ClientRef client_;
  BlockType type_;
  std::size_t device_;
  abi::Buffer* buffer_;
};

// A run that has begun. Its results may be given to other runs, which then begin later. One that is not over where this
// ends is left to itself.
class Run {
 public:
  Run(Run&& o) noexcept = default;
  Run& operator=(Run&&) = delete;
  ~Run();
  // Until all devices of this process are done; throws what went wrong on one. `waiting` is called many times a second
  // meanwhile; what it throws goes through.
  void wait(const std::function<void()>& waiting = nullptr);
  std::vector<std::vector<Buffer>> results;  // [device][result]

 private:
  friend class Executable;
  class Ending;
  Run(ClientRef client, std::vector<std::vector<Buffer>> made, std::vector<abi::Event*> done);
  ClientRef client_;
  std::vector<abi::Event*> done_;
  std::shared_ptr<Ending> ending_;  // null: the plug-in is too old to tell of it
};
bool runs_left();  // some have been left to themselves: their devices may never be done, so nobody waits for them

class Executable {
 public:
  // StableHLO text (or an artifact) for one replica on each of these devices, which are places among the client's.
  // `parameters`: what each run will be given: a plug-in takes bits of another type without a word, so they are
  // compared here; nothing: who runs it looks at them.
  static std::shared_ptr<const Executable> compile(ClientRef client, const std::string& text,
                                                   std::vector<std::size_t> devices,
                                                   std::optional<std::vector<BlockType>> parameters);
  ~Executable();
  Executable(const Executable&) = delete;
  const std::vector<BlockType>& results() const { return results_; }
  const std::vector<std::size_t>& devices() const { return devices_; }  // of this process
  std::optional<MemoryStats> memory() const { return memory_of(client_->plugin(), inner_); }
  // arguments[device][parameter] of the devices of this process. Those of `kept` are not given away though the module
  // says that they may be.
  Run begin(const std::vector<std::vector<const Buffer*>>& arguments, std::span<const std::int64_t> kept = {}) const;
  // The same, to its end; gives [device][result].
  std::vector<std::vector<Buffer>> run(const std::vector<std::vector<const Buffer*>>& arguments,
                                       std::span<const std::int64_t> kept = {}) const;

 private:
  Executable(ClientRef client, abi::LoadedExecutable* loaded) : client_(std::move(client)), loaded_(loaded) {}
  void look_at_results();
  void check_arguments(const std::vector<std::vector<const Buffer*>>& arguments) const;
  ClientRef client_;
  abi::LoadedExecutable* loaded_;
  abi::Executable* inner_ = nullptr;
  std::vector<std::size_t> devices_;  // those of this process
  std::optional<std::vector<BlockType>> parameters_;
  std::vector<BlockType> results_;
};

}  // namespace shard::runtime::pjrt
