#include "interpreter/xla/in_flight.h"

#include <thread>

#include "grammar/diagnostic.h"

namespace shard::xla {

void InFlight::add(runtime::pjrt::Run run, Notes held) { runs_.push_back({std::move(run), place(), std::move(held)}); }

void InFlight::wait_for_room() {
  constexpr std::size_t kAhead = 2;
  while (runs_.size() >= kAhead) wait_for_first();
}

void InFlight::wait_for_all() {
  while (!runs_.empty()) wait_for_first();
}

void InFlight::wait_for_first() {
  One one = std::move(runs_.front());
  runs_.pop_front();
  try {
    one.run.wait([&] {
      stop_.ask();
      look();
    });
  } catch (const runtime::RuntimeError& e) {
    runs_.clear();  // they have its results
    if (e.code == "memory") throw grammar::Error("memory", one.span, e.what(), one.held());
    if (e.code != "engine") throw;
    // The plug-in may be the first to know that another process has gone, and does not know which.
    for (int i = 0; i < 20 && processes_; ++i) {
      look();
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    if (!one.span.known()) throw;
    throw grammar::Error("engine", one.span, e.what());
  }
}

void InFlight::look() const {
  if (processes_) processes_->look();
}

}  // namespace shard::xla
