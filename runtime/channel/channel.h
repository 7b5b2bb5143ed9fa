// Messages between the processes of one job. A Channel carries bytes and knows nothing of arrays: every transport is
// one, and what processes do together (processes.h) is written once above it. Errors are values: who calls decides what
// they mean.
#pragma once
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace shard::runtime {

struct ChannelError {
  enum class Kind : unsigned char {
    Ended,   // the other side has gone
    Late,    // it did not come in time
    Broken,  // the system says what is wrong
  };
  Kind kind;
  int peer;  // whose link it was
  std::string why;
};

// Who waits looks again and again at first: to be woken takes longer than most messages are under way.
inline constexpr std::chrono::microseconds kPolling(50);

using Deadline = std::chrono::steady_clock::time_point;
// Asked when the deadline is over and this one has not come: until when to wait on, or nothing.
using Waiting = std::function<std::optional<Deadline>(int peer)>;

struct Outgoing {
  int to;
  const void* data;
  std::size_t bytes;
};
struct Incoming {
  int from;
  void* data;
  std::size_t bytes;
};

class Channel {
 public:
  virtual ~Channel() = default;
  virtual int index() const = 0;  // of this process among
  virtual int count() const = 0;
  // All of it at once, in both directions: two processes that send each other more than the system holds do not wait
  // for each other. Returns when everything has gone and come, or with what went wrong first; then the channel is
  // closed, since nobody knows what part of a message is still under way. Messages between two processes come in the
  // order in which they went; none goes to itself.
  virtual std::optional<ChannelError> exchange(std::span<const Outgoing> out, std::span<const Incoming> in,
                                               Deadline deadline, const Waiting& late = nullptr) = 0;
  // How large a message is at most that goes although the other side does not receive it yet.
  virtual std::size_t holds() const { return 0; }
  virtual bool cut(int) { return false; }  // the link to that process breaks; false: this transport cannot do that
  // One that has gone, as far as is known without waiting; none: this transport does not say.
  virtual std::optional<int> gone() { return std::nullopt; }
  virtual void close() = 0;  // the others learn that this process has gone

  std::optional<ChannelError> send(const Outgoing& message, Deadline deadline) {
    return exchange({&message, 1}, {}, deadline);
  }
  std::optional<ChannelError> receive(const Incoming& message, Deadline deadline) {
    return exchange({}, {&message, 1}, deadline);
  }
};

// Over connected sockets, of Unix or TCP, one for each other process; it owns them. `sockets[index]` is not looked at.
std::unique_ptr<Channel> socket_channel(int index, const std::vector<int>& sockets);
// Of one machine, through memory that all of them see; over the sockets they wake each other. `memory` is a descriptor
// of what one of them, or who started them, has made for `count`; null where it is not.
std::unique_ptr<Channel> memory_channel(int index, const std::vector<int>& sockets, int memory);
int make_channel_memory(int count);  // -1: the system has none
// Joins the job of MPI that this process was started in, by the module (mpi_module.h) that lies at the first of
// `places` where there is one. Null, and why: there is none, it does not fit, or MPI does not start.
std::unique_ptr<Channel> mpi_channel(const std::vector<std::string>& places, std::string& why);

}  // namespace shard::runtime
