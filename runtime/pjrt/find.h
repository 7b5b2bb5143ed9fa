// Where plug-ins of PJRT are looked for: the environment variable SHARD_PJRT_PLUGIN, then the Python packages of
// VIRTUAL_ENV and of `python3`, into which `pip install` puts them.
#pragma once
#include <string>
#include <vector>

namespace shard::runtime::pjrt {

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
