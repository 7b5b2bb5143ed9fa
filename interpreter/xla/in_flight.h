// Runs that have begun on the devices and may not be over: the script goes on meanwhile, and the next call is prepared.
// Who looks at results waits first.
#pragma once
#include <deque>
#include <functional>
#include <string>
#include <vector>

#include "grammar/source.h"
#include "runtime/array/stop.h"
#include "runtime/channel/processes.h"
#include "runtime/pjrt/client.h"

namespace shard::xla {

class InFlight {
 public:
  // `stop` is asked while somebody waits. What goes wrong in a run is an error of code "engine", or "memory", at the
  // place where the script stood when it began; where another process is the reason, one of code "process".
  explicit InFlight(const runtime::Stop& stop) : stop_(stop) {}
  void set_place(std::function<grammar::Span()> place) { place_ = std::move(place); }
  void set_processes(std::shared_ptr<runtime::Processes> processes) { processes_ = std::move(processes); }

  // `held`: notes of an error of code "memory".
  using Notes = std::function<std::vector<std::string>()>;
  void add(runtime::pjrt::Run run, Notes held);
  grammar::Span place() const { return place_ ? place_() : grammar::Span(); }
  void wait_for_room();  // before one more begins: each holds its arguments
  void wait_for_all();

 private:
  struct One {
    runtime::pjrt::Run run;
    grammar::Span span;
    Notes held;
  };
  void wait_for_first();
  void look() const;
  const runtime::Stop& stop_;
  std::function<grammar::Span()> place_;
  std::shared_ptr<runtime::Processes> processes_;  // null: one
  std::deque<One> runs_;                           // in the order in which they began
};

}  // namespace shard::xla
