// Limits of a run: when they begin, and the sentence of the one that was reached.
#include "runtime/array/stop.h"

#include <algorithm>
#include <cstdio>
#include <string>

#include "runtime/array/shape.h"

namespace shard::runtime {

const Stop*& Stop::here() {
  thread_local const Stop* of_thread = nullptr;
  return of_thread;
}

void Stop::begin(double seconds, std::int64_t steps) {
  constexpr double kLongest = 1e9;  // thirty years: the clock counts nanoseconds
  steps_ = 0;
  most_steps_ = steps > 0 ? steps : INT64_MAX;
  ahead_ = until_look_ = std::min(kSteps, most_steps_);
  seconds_ = seconds;
  timed_ = seconds > 0;
  if (timed_)
    end_ = Clock::now() +
           std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(std::min(seconds, kLongest)));
}

bool Stop::look() {
  steps_ += until_look_ - ahead_;
  ahead_ = until_look_ = std::clamp<std::int64_t>(most_steps_ - steps_, 1, kSteps);
  return wanted();
}

bool Stop::waited() const noexcept {
  constexpr std::chrono::seconds kPatience{5};
  const Clock::time_point now = Clock::now();
  Clock::rep since = 0;
  if (since_.compare_exchange_strong(since, now.time_since_epoch().count())) return false;
  return now - Clock::time_point(Clock::duration(since)) > kPatience;
}

void Stop::raise() const {
  const std::string lost = patience_ == 0 ? ""
                                          : ", while a call was overwriting its arguments: "
                                            "a variable that the statement assigns is none now";
  if (requested_.load(std::memory_order_relaxed)) throw RuntimeError("interrupt", "interrupted" + lost);
  if (steps_ <= most_steps_ && !(timed_ && late()))
    throw RuntimeError("interrupt", "interrupted" + lost);  // taken back
  if (steps_ > most_steps_)
    throw RuntimeError("steps", "the run took more than the " + std::to_string(most_steps_) +
                                    " steps (statements, calls and turns of loops) that it may take" + lost);
  char text[32];
  std::snprintf(text, sizeof text, "%g", seconds_);
  throw RuntimeError("seconds", "the run took longer than the " + std::string(text) + " s that it may take" + lost);
}

}  // namespace shard::runtime
