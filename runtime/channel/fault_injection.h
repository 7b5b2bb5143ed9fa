// Faults on purpose: a channel around a channel at which, at the k-th compiled call that communicates, a process dies
// or stands still, or a link is slow, is cut, or carries a wrong bit. What a script and its processes say then can be
// tested.
#pragma once
#include "runtime/channel/channel.h"

namespace shard::runtime {

struct Fault {
  enum class Kind : unsigned char { Slow, Kill, Stop, Cut, Corrupt };
  Kind kind;
  int process = 0, other = -1;  // other: the second end of a link
  long step = 1;
  std::chrono::microseconds delay{0};                     // Slow: of each message,
  double bytes_per_second = 0;                            // and this is what it carries; 0: all
  std::optional<std::chrono::milliseconds> for_how_long;  // Stop; nothing: for ever
  std::uint64_t seed = 0;                                 // Corrupt: which bit
};

// "slow link 1-2 5ms 100MB/s from step 3", "kill 2 at step 5", "stop 1 at step 4 for 3s", "cut 0-1 at step 2",
// "corrupt 0-1 at step 2 seed 7". Throws RuntimeError("call") saying what is wrong. `count`: of processes.
Fault parse_fault(const std::string& text, int count);

// `step`: which call it is, counted from 1 (Processes::count_calls).
std::unique_ptr<Channel> with_faults(std::unique_ptr<Channel> channel, std::vector<Fault> faults,
                                     std::shared_ptr<const long> step);

}  // namespace shard::runtime
