// A plug-in of PJRT: a shared library that compiles StableHLO for some kind of device and runs it there. It is found
// and loaded while the program runs; Shard is built without it, and without its header. What goes wrong inside is a
// RuntimeError of the code "engine" with the plug-in's own words.
#pragma once
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "runtime/array/shape.h"
#include "runtime/pjrt/abi.h"

namespace shard::runtime::pjrt {

using Attributes = std::vector<std::pair<std::string, std::string>>;

class Plugin {
 public:
  // Throws where it cannot be loaded, is no plug-in, or does not start. Once loaded it stays: none can be unloaded.
  static std::shared_ptr<const Plugin> load(const std::string& path);
  const std::string& path() const { return path_; }
  int major() const { return api_.major; }
  int minor() const { return api_.minor; }
  Attributes attributes() const;  // what it says of itself: `xla_version`, `stablehlo_current_version`, ...

  bool has(abi::Call call) const;  // an older plug-in lacks the newer calls
  // Zeroed but for what is given; the size is filled in here. Throws what the call complains of; `doing` says of what
  // ("compiling").
  template <class Arguments>
  void call(abi::Call which, Arguments& arguments, const char* doing) const {
    arguments.head.size = sizeof arguments;
    check(invoke(which, &arguments), doing);
  }
  // Of destructors: nothing is done where it fails.
  void drop(abi::Call which, const void* object) const noexcept;
  std::string text(abi::Call which, const void* object) const;
  int number(abi::Call which, const void* object) const;
  std::vector<void*> objects(abi::Call which, const void* object) const;
  void await(abi::Event* event, const char* doing) const;  // and destroys it; null is done
  void check(abi::Error* error, const char* doing) const;  // throws what an error says, and destroys it; null is none

 private:
  Plugin(std::string path, const abi::Api& api) : path_(std::move(path)), api_(api) {}
  abi::Error* invoke(abi::Call which, void* arguments) const;

  std::string path_;
  const abi::Api& api_;
};

// ---- where plug-ins are looked for (find.cpp): the environment variable SHARD_PJRT_PLUGIN, then the Python packages
// of VIRTUAL_ENV and of `python3`, into which `pip install` puts them

struct Found {
  std::string path;
  std::string by;  // "SHARD_PJRT_PLUGIN", "VIRTUAL_ENV", "python3"
};

// Each once; of one place those for accelerators first.
std::vector<Found> find_plugins();
// The one at `path`, or where that is empty the first that is found. Throws RuntimeError("engine") that says where was
// looked.
std::string choose_plugin(const std::string& path);

}  // namespace shard::runtime::pjrt
