// How the processes of a job find each other over TCP. The launcher waits at an address; each process proves that it
// belongs to the job, says its number and where it can be reached, and gets the list of all; then every two connect.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "runtime/channel/tcp/connection.h"

namespace shard::runtime {

// The launcher's side.
class Coordinator {
 public:
  // Throws RuntimeError("process") where the port cannot be had.
  Coordinator(const std::string& address, Ports ports, int count, std::string token);
  int port() const { return door_.port(); }
  struct Watch {
    std::function<void(const std::vector<int>& missing)> waiting;  // told every 10 s
    std::function<void(const std::string& address)> stranger;      // who could not prove that he belongs here
    std::function<bool()> stop;                                    // no longer wanted
    std::function<void(int rank)> came;
  };
  // Returns once all have come and know each other's addresses: the connection to each, which stays open
  // (progress_reports.h). Throws RuntimeError("process") with those who have not come by the deadline.
  std::vector<int> bring_together(Deadline deadline, const Watch& watch);

 private:
  Door door_;
  int count_;
};

// A process's side. Throws RuntimeError("process").
struct Joining {
  int rank = 0, size = 1;
  std::string host;  // the coordinator's
  int port = 0;
  std::string token;
  Ports ports;  // where it may wait itself
  Deadline deadline;
};
struct Sockets {
  std::vector<int> links;  // to all the others, [rank] of itself -1
  int launcher = -1;
};
Sockets sockets_by_tcp(const Joining& job);

}  // namespace shard::runtime
