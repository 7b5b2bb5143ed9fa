// What ends a run before its time: somebody asked for it, or its time or its steps are used up. One a Pool, so that
// whoever has the pool of an engine can ask: the evaluator at every statement, plans between operations, long kernels
// between pieces of work, passes between nodes. Requests come from other threads and from signal handlers; all else is
// of the thread that runs, but for due(), which the threads of a kernel ask too.
#pragma once
#include <atomic>
#include <chrono>
#include <cstdint>

namespace shard::runtime {

class Stop {
 public:
  // A request stays until forget(): a run that is over without having heard it leaves it to the next one.
  void request() noexcept { requested_.store(true, std::memory_order_relaxed); }
  void forget() noexcept { requested_.store(false, std::memory_order_relaxed); }

  void begin(double seconds, std::int64_t steps);  // of the run that begins; 0: no limit
  static constexpr std::int64_t kSteps = 64;       // between looks at the clock
  // Counts so many, kSteps at most; true where the run is to end, whatever patience there is.
  bool step(std::int64_t many = 1) {
    if ((ahead_ -= many) <= 0) return look();
    return requested_.load(std::memory_order_relaxed);
  }
  bool due() const noexcept { return wanted() && (patience_ == 0 || waited()); }
  [[noreturn]] void raise() const;  // RuntimeError: "interrupt", "steps" or "seconds"
  void ask() const {
    if (due()) raise();
  }
  // Of the run that this thread is in, for those who have no pool: passes over graphs, between nodes. Null: none.
  static const Stop*& here();
  static void ask_here() {
    if (const Stop* stop = here()) stop->ask();
  }
  // While one lives, the end waits for that of the call, at most a few seconds: the call overwrites its arguments, and
  // a script that is stopped shall keep its state.
  class Patience {
   public:
    explicit Patience(Stop& stop) : stop_(stop) { ++stop_.patience_; }
    ~Patience() {
      if (--stop_.patience_ == 0) stop_.since_ = 0;
    }
    Patience(const Patience&) = delete;

   private:
    Stop& stop_;
  };

 private:
  using Clock = std::chrono::steady_clock;
  bool late() const noexcept { return Clock::now() > end_; }
  bool waited() const noexcept;
  std::atomic<bool> requested_{false};
  mutable std::atomic<Clock::rep> since_{0};  // when the end was first wanted while there was patience
  int patience_ = 0;
  bool timed_ = false;
  bool look();
  bool wanted() const noexcept {
    return requested_.load(std::memory_order_relaxed) || steps_ > most_steps_ || (timed_ && late());
  }
  std::int64_t steps_ = 0, most_steps_ = INT64_MAX;
  std::int64_t ahead_ = kSteps, until_look_ = kSteps;  // until_look_ - ahead_ are not in steps_ yet
  double seconds_ = 0;
  Clock::time_point end_;
};

}  // namespace shard::runtime
