#include "interpreter/exec/timing.h"

#include <algorithm>
#include <numeric>

namespace shard::exec {
namespace {

double since(Timing::Clock::time_point a, Timing::Clock::time_point b) {
  return std::chrono::duration<double>(b - a).count();
}

// What it takes to look at the clock, twice for each instruction: once within its time, once beside it.
double look() {
  static const double seconds = [] {
    double least = 1e30;
    for (int i = 0; i < 1000; ++i) {
      const Timing::Clock::time_point a = Timing::Clock::now();
      least = std::min(least, since(a, Timing::Clock::now()));
    }
    return least;
  }();
  return seconds;
}

}  // namespace

double TimedCalls::seconds() const { return std::accumulate(quiet.begin(), quiet.end(), between); }

void Timing::begins(const Executable& call) {
  call_ = &call;
  now_.clear();
  began_ = Clock::now();
}

void Timing::ran(const ir::Node* node, Clock::time_point start) {
  if (call_ && now_.size() < kTimed) now_.push_back({node, since(began_, start), since(start, Clock::now())});
}

void Timing::ends() {
  if (!call_) return;
  const double seconds = since(began_, Clock::now());
  TimedCalls& all = calls_[call_];
  call_ = nullptr;
  double instructions = 0;
  for (Timed& t : now_) {
    instructions += t.seconds + look();
    t.seconds = std::max(0.0, t.seconds - look());
  }
  const double between = std::max(0.0, seconds - instructions);
  all.total += seconds;
  all.between = all.count ? std::min(all.between, between) : between;
  if (all.quiet.size() != now_.size()) all.quiet.assign(now_.size(), 1e30);
  for (std::size_t i = 0; i < now_.size(); ++i) all.quiet[i] = std::min(all.quiet[i], now_[i].seconds);
  if (all.count++ && seconds >= all.least) return;
  all.least = seconds;
  all.fastest.swap(now_);
}

}  // namespace shard::exec
