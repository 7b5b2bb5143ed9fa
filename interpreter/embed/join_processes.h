// How a process finds the others that run the same script: as its launcher says in the environment, or by sockets that
// its host connected. Used by the embedding and by the `shard` program, which alone knows TCP.
#pragma once
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/channel/fault_injection.h"
#include "runtime/channel/processes.h"

namespace shard::embed {

struct Linked {
  int rank = 0, size = 1;
  std::vector<int> sockets;  // connected, the one to process i at i; the engine takes them
};
struct Group {
  int devices = 8;                            // of all
  std::chrono::milliseconds timeout{10'000};  // how long another process is waited for
  std::vector<std::string> faults;
  std::optional<Linked> linked;  // else as the environment says
  std::function<std::unique_ptr<runtime::Channel>(int devices)> by_tcp;
};
struct Joined {
  std::shared_ptr<runtime::Processes> processes;  // null: this process is alone
  bool by_mpi = false;
};
Joined join(const Group& group);  // throws grammar::Error("process")

// ---- for whoever joins
inline constexpr const char* kLaunch = "processes are started by `shard launch -n 4 file.shard`";
[[noreturn]] void cannot_join(std::string why, std::string fix);
void share_out(int devices, int size);        // an error where they cannot be
std::string_view variable(const char* name);  // of the environment; empty: not set
int next_number(std::string_view& text);      // and what is behind it; -1 where there is none

}  // namespace shard::embed
