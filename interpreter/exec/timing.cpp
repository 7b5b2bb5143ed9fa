#include "interpreter/exec/timing.h"

namespace shard::exec {
namespace {

thread_local Timing* timing_here = nullptr;

double since(Timing::Clock::time_point a, Timing::Clock::time_point b) {
  return std::chrono::duration<double>(b - a).count();
}

}  // namespace

Timing::Timing() : outer_(timing_here) { timing_here = this; }
Timing::~Timing() { timing_here = outer_; }
Timing* Timing::here() { return timing_here; }

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
  all.total += seconds;
  if (all.count++ && seconds >= all.least) return;
  all.least = seconds;
  all.fastest.swap(now_);
}

}  // namespace shard::exec
