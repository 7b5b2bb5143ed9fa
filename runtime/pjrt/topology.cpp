#include "runtime/pjrt/topology.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <numeric>

namespace shard::runtime::pjrt {
namespace {

// The text form of the protobuf GpuTargetConfigProto.
std::string described(const Gpu& g) {
  std::string out = "gpu_device_info {\n";
  const auto line = [&](const char* name, double value) {
    out += "  " + std::string(name) + ": " + std::to_string(std::llround(value)) + "\n";
  };
  line("threads_per_block_limit", 1024);
  line("threads_per_warp", 32);
  line("shared_memory_per_block", 49152);
  line("shared_memory_per_core", g.shared);
  line("shared_memory_per_block_optin", g.shared - 1024);  // the rest is the system's
  line("threads_per_core_limit", 2048);
  line("core_count", g.units);
  line("fpus_per_core", g.lanes);
  line("block_dim_limit_x", 2147483647);
  line("block_dim_limit_y", 65535);
  line("block_dim_limit_z", 65535);
  line("memory_bandwidth", g.bandwidth);
  line("l2_cache_size", g.last_cache);
  line("device_memory_size", g.memory);
  line("registers_per_core_limit", 65536);
  line("registers_per_block_limit", 65536);
  out += "  clock_rate_ghz: " + std::to_string(g.clock / 1e9) +
         "\n  cuda_compute_capability { major: " + std::to_string(std::llround(10 * g.capability) / 10) +
         " minor: " + std::to_string(std::llround(10 * g.capability) % 10) + " }\n}\n";
  return out + "platform_name: \"CUDA\"\ndnn_version_info { major: 9 minor: 8 }\nruntime_version { major: 13 }\n" +
         "device_description_str: \"" + g.described + "\"\n";
}

int count_in(std::string_view text) {  // 0 where it is none
  int n = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
  return error == std::errc() && end == text.data() + text.size() ? std::max(n, 0) : 0;
}

abi::NamedValue option(const std::string& name, const std::string& value) {
  abi::NamedValue out{};
  out.head.size = sizeof out;
  out.name = name.data();
  out.name_size = name.size();
  out.kind = abi::NamedValue::String;
  out.text = value.data();
  out.value_size = value.size();
  return out;
}

// The devices of a machine as the plug-in describes it.
class Topology {
 public:
  Topology(const Plugin& plugin, const TargetMachine& machine) : plugin_(plugin) {
    std::vector<abi::NamedValue> options;
    for (const auto& [name, value] : machine.options) options.push_back(option(name, value));
    abi::TopologyCreate create{};
    create.name = machine.name.data();
    create.name_size = machine.name.size();
    create.options = options.data();
    create.count = options.size();
    plugin.call(abi::kTopologyCreate, create, "describing the machine");
    topology_ = create.topology;
  }
  ~Topology() { plugin_.drop(abi::kTopologyDestroy, topology_); }
  Topology(const Topology&) = delete;

  std::vector<int> ids() const {
    std::vector<int> out;
    for (void* device : plugin_.objects(abi::kTopologyDescriptions, topology_))
      out.push_back(plugin_.number(abi::kDescriptionId, device));
    return out;
  }
  std::optional<MemoryStats> compile(const std::string& text, std::span<const int> ids) const {
    const std::string options = compile_options(ids);
    const abi::Program program = program_of(text);
    abi::Compile compile{};
    compile.topology = topology_;
    compile.program = &program;
    compile.options = options.data();
    compile.options_size = options.size();
    plugin_.call(abi::kCompile, compile, "compiling");
    const std::shared_ptr<abi::Executable> made(compile.executable,
                                                [&](auto* e) { plugin_.drop(abi::kExecutableDestroy, e); });
    return memory_of(plugin_, made.get());
  }

 private:
  const Plugin& plugin_;
  abi::Topology* topology_;
};

// Of a machine without descriptions: its plug-in makes the devices.
std::optional<MemoryStats> compile_here(const std::shared_ptr<const Plugin>& plugin, const TargetMachine& machine,
                                        const std::string& text, std::size_t replicas) {
  std::vector<std::size_t> devices(replicas);
  std::iota(devices.begin(), devices.end(), std::size_t{0});
  const ClientRef client = Client::create(plugin, machine.devices);
  if (client->platform() != machine.platform || client->own() < replicas)
    throw RuntimeError("engine", "the plug-in has " + std::to_string(client->own()) + " devices (" +
                                     client->platform() + "), and compiling for " + std::to_string(replicas) +
                                     " of a " + machine.platform + " needs one that makes them: `pip install " +
                                     machine.package + "`");
  return Executable::compile(client, text, std::move(devices), std::nullopt)->memory();
}

std::optional<MemoryStats> compile_there(const Plugin& plugin, const TargetMachine& machine, const std::string& text,
                                         std::size_t replicas) {
  const Topology topology(plugin, machine);
  std::vector<int> ids = topology.ids();
  if (replicas > ids.size())
    throw RuntimeError("engine", "the machine has " + std::to_string(ids.size()) + " devices, and the mesh has " +
                                     std::to_string(replicas));
  ids.resize(replicas);
  return topology.compile(text, ids);
}

}  // namespace

TargetMachine machine_named(const std::string& word, std::span<const Gpu> gpus) {
  const std::size_t colon = word.find(':');
  const std::string kind = word.substr(0, colon), rest = colon == std::string::npos ? "" : word.substr(colon + 1);
  if (kind == "cpu" && count_in(rest) > 0) return {"cpu", "xla-cpu-pjrt", "", {}, count_in(rest)};
  if (kind.size() > 1 && kind[0] == 'v' && count_in(kind.substr(1, 1)) > 0 && !rest.empty()) {
    int devices = 1;
    for (std::size_t from = 0, to = 0; from <= rest.size(); from = to + 1) {
      to = std::min(rest.find('x', from), rest.size());
      devices *= count_in(rest.substr(from, to - from));
    }
    if (devices > 0) return {"tpu", "libtpu", word, {}, devices};
  }
  const std::size_t by = std::min(word.rfind('x'), word.size());
  for (const Gpu& g : gpus) {
    const bool named = g.name == word.substr(0, by) || g.name.starts_with(word.substr(0, by) + "-");
    const int devices = named && by < word.size() ? count_in(word.substr(by + 1)) : 0;
    if (devices == 0) continue;
    const int each = std::min(devices, g.per_host);
    if (devices % each != 0)
      throw RuntimeError("value", "a host has " + std::to_string(each) + " " + g.name + ": write a multiple, such as " +
                                      g.name + "x" + std::to_string((devices / each + 1) * each));
    return {"cuda",
            "jax-cuda13-pjrt",
            word,
            {{"topology", "1x" + std::to_string(devices / each) + "x" + std::to_string(each)},
             {"target_config", described(g)}},
            devices,
            each};
  }
  std::string known;
  for (const Gpu& g : gpus) known += g.name + "x8, ";
  throw RuntimeError("value", "there is no machine '" + word + "': write " + known + "v5e:2x4 (TPUs) or cpu:8");
}

std::shared_ptr<const Plugin> plugin_for(const TargetMachine& machine, const std::string& path) {
  if (machine.platform == "tpu") setenv("TPU_SKIP_MDS_QUERY", "1", 0);  // else it looks for a cloud, for minutes
  if (!path.empty()) return Plugin::load(choose_plugin(path));
  for (const Found& f : find_plugins())
    if (f.path.find(machine.platform) != std::string::npos) return Plugin::load(f.path);
  throw RuntimeError("engine", "no plug-in that compiles for " + machine.platform +
                                   " is found: not in SHARD_PJRT_PLUGIN, nor among the packages of VIRTUAL_ENV and of "
                                   "python3; `pip install " +
                                   machine.package + "` installs one, and `--engine xla:PATH` names one");
}

MemoryStats compile_for(const std::shared_ptr<const Plugin>& plugin, const TargetMachine& machine,
                        const std::string& text, std::size_t replicas) {
  const auto memory = machine.name.empty() ? compile_here(plugin, machine, text, replicas)
                                           : compile_there(*plugin, machine, text, replicas);
  if (!memory) throw RuntimeError("engine", "this plug-in does not say how much memory a program needs");
  return *memory;
}

}  // namespace shard::runtime::pjrt
