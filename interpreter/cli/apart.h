// A script in a process of its own (`--engine-process`), so that a plug-in that ends its process ends that one: this
// one tells which, and where the script was.
#pragma once
#include <functional>
#include <string>

namespace shard::cli {

// Called in the new process before the plug-in is entered: "train.shard:12".
using Entering = std::function<void(const std::string& where)>;
// The exit status of `body`, which runs in a new process; 1, and told, where a fault ended that.
int run_apart(const std::function<int(const Entering&)>& body);

}  // namespace shard::cli
