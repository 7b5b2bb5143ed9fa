// What instructions take: plans that are run with a Timing (Hooks) tell it when each of them begins and ends.
#pragma once
#include <chrono>
#include <map>
#include <vector>

#include "interpreter/exec/executable.h"

namespace shard::exec {

struct Timed {  // an instruction as it ran; seconds since the call began
  const ir::Node* node = nullptr;
  double start = 0, seconds = 0;
};

struct TimedCalls {  // of one executable
  std::int64_t count = 0;
  double total = 0, least = 0;      // seconds: of all calls, of the fastest one
  std::vector<Timed> fastest = {};  // that one's instructions, loops turn by turn; at most kTimed
  std::vector<double> quiet = {};   // of each of them the least that it took in any call that ran as many
  double between = 0;               // the least that a call took besides its instructions
  double seconds() const;           // a call that nothing else of the machine disturbs: the sum of these
};
constexpr std::size_t kTimed = 200'000;

class Timing {
 public:
  using Clock = std::chrono::steady_clock;
  void begins(const Executable& call);
  void ends();  // without it (an error) the call does not count
  void ran(const ir::Node* node, Clock::time_point start);
  const std::map<const Executable*, TimedCalls>& calls() const { return calls_; }

 private:
  const Executable* call_ = nullptr;
  Clock::time_point began_;
  std::vector<Timed> now_;
  std::map<const Executable*, TimedCalls> calls_;
};

}  // namespace shard::exec
