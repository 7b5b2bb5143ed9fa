// Machines that need not be here: a plug-in compiles for them, and says how much memory the program needs.
#pragma once
#include "runtime/pjrt/client.h"

namespace shard::runtime::pjrt {

struct TargetMachine {
  std::string platform;  // "cuda", "tpu", "cpu": whose plug-in compiles for it
  std::string package;   // that brings it
  std::string name;      // as the plug-in takes it
  Attributes options;    // the plug-in's, of texts
  int devices = 0;
};
// "h100x8" (a kind of GPU and how many), "v5e:2x4" (a slice of TPUs), "cpu:8"; RuntimeError("value") for other words.
TargetMachine machine_named(const std::string& word);
// The plug-in for it: the one at this path, else the first found that is for its platform.
std::shared_ptr<const Plugin> plugin_for(const TargetMachine& machine, const std::string& path);

// Compiles a module of `replicas` replicas, and runs nothing. Plug-ins without descriptions of machines (those for the
// CPU) make as many devices as are asked for.
MemoryStats compile_for(const std::shared_ptr<const Plugin>& plugin, const TargetMachine& machine,
                        const std::string& text, std::size_t replicas);

}  // namespace shard::runtime::pjrt
