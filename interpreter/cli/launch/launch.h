// The parts of `shard launch`: what is to be started (launch.cpp), starting it (launch_start.cpp), and attending to it
// until nobody is left (launch_watch.cpp).
#pragma once
#include <sys/types.h>

#include <algorithm>
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
  int at_least = 0;                // processes, where hosts that do not come are left out; 0: none is
  bool tcp = false;                // else memory and Unix sockets, which the children are given
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
  std::string last;          // of both: the end
  bool asked = false;        // to end, by the launcher
  std::optional<int> status;
};

// Where processes find the launcher, over TCP.
struct Meeting {
  std::string coordinator;  // host:port
  std::string token;
  int board = -1;   // where processes of this machine stand (runtime/channel/progress_board.h)
  int memory = -1;  // through which they send each other messages; not over TCP
};

// Who has come to the job; a member of each is written while the launcher attends to the processes.
struct Arrival {
  explicit Arrival(int count) : came(static_cast<std::size_t>(count)) {}
  std::vector<std::atomic<bool>> came;
  std::atomic<bool> broken = false;  // they do not come together
  bool all() const {
    return std::all_of(came.begin(), came.end(), [](const auto& c) { return c.load(); });
  }
};

std::string numbers(const std::vector<int>& list);  // "1, 3"
std::vector<Child> start_all(const LaunchJob& job, const Meeting& at);
// The command that a process elsewhere is started by, its last word the one that runs there.
std::vector<std::string> remote_command(const LaunchJob& job, int rank, const std::string& there);
std::string program_path(const LaunchJob& job);
std::string working_folder();
struct Ended {
  int status = 0;           // the first bad one
  std::vector<int> absent;  // who did not come to the start
};
// Until all have ended; says who did not come. `stop`: a signal that the launcher got, or 0; `at`: where they find it.
Ended attend(std::vector<Child> children, const LaunchJob& job, const std::string& at, const std::function<int()>& stop,
             const Arrival& arrival);
// Of children that have all ended: says and gives who did not come to the start, how he ended and what he said last
// (launch_absent.cpp).
std::vector<int> tell_absent(std::vector<Child>& children, const LaunchJob& job, const std::string& at,
                             const Arrival& arrival, bool interrupted);

}  // namespace shard::cli
