// The parts of `shard launch`: what is to be started (launch.cpp), starting it (launch_start.cpp), and attending to it
// until nobody is left (launch_watch.cpp).
#pragma once
#include <sys/types.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "runtime/channel/tcp/rendezvous.h"

namespace shard::cli {

struct LaunchJob {
  std::string program = "/proc/self/exe";  // that the children run
  std::vector<std::string> words;          // of the children
  int count = 0;
  bool reads = false;              // process 0 reads entries from a person
  bool prefix = false;             // lines of every process, behind its number
  std::string log_dir;             // a file a process of all that it says, one of its last meetings; empty: none
  int restarts = 0;                // how often a job that failed is started again
  bool tcp = false;                // else Unix sockets, which the children are given
  std::vector<std::string> hosts;  // by process; empty: this machine
  std::string ssh = "ssh", address = "127.0.0.1";  // what others reach the launcher by
  runtime::Ports port, range;                      // of the launcher; of all
  std::chrono::milliseconds start_timeout{60'000};
};

struct Child {
  pid_t pid = 0;
  int out = -1, err = -1;    // pipes; -1 once they have ended. `out`: where lines get a prefix
  std::FILE* log = nullptr;  // all that it says, as it comes
  int in = -1;               // of one on another host: its end means that it has to leave
  std::string line, said;    // of out: begun; of err: all
  std::optional<int> status;
};

// Where processes find the launcher, over TCP.
struct Meeting {
  std::string coordinator;  // host:port
  std::string token;
  int board = -1;  // where processes of this machine stand (runtime/channel/board.h)
};

std::string numbers(const std::vector<int>& list);  // "1, 3"
std::string shell_quoted(const std::string& text);
std::vector<Child> start_all(const LaunchJob& job, const Meeting& at);
// Until all have ended; gives the first bad status. `stop`: a signal that the launcher got, or 0; `broken`: they do not
// come together.
int attend(std::vector<Child> children, bool prefix, const std::function<int()>& stop, const std::atomic<bool>& broken);

}  // namespace shard::cli
