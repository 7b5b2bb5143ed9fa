// Machines that need not be here: a plug-in compiles for them, and says how much memory the program needs.
#pragma once
#include "runtime/pjrt/client.h"

namespace shard::runtime::pjrt {

// What XLA must know of a GPU that is not here: a chip of `stdlib/chips.shard`, whose fields these are.
struct Gpu {
  std::string name, described;
  double capability, units, lanes, shared, clock, bandwidth, memory, last_cache;
  int per_host = 8;
};

struct TargetMachine {
  std::string platform;  // "cuda", "tpu", "cpu": whose plug-in compiles for it
  std::string package;   // that brings it
  std::string name;      // as the plug-in takes it
  Attributes options;    // the plug-in's, of texts
  int devices = 0;
  int per_host = 0;  // 0: not known to lie on several
};
// "h100x8" (a GPU and how many; "a100" is the first whose name begins so), "v5e:2x4" (a slice of TPUs), "cpu:8";
// RuntimeError("value") for other words.
TargetMachine machine_named(const std::string& word, std::span<const Gpu> gpus);
// The plug-in for it: the one at this path, else the first found that is for its platform.
std::shared_ptr<const Plugin> plugin_for(const TargetMachine& machine, const std::string& path);

// Compiles a module of `replicas` replicas, and runs nothing. Plug-ins without descriptions of machines (those for the
// CPU) make as many devices as are asked for.
MemoryStats compile_for(const std::shared_ptr<const Plugin>& plugin, const TargetMachine& machine,
                        const std::string& text, std::size_t replicas);

}  // namespace shard::runtime::pjrt
