// What `range` gives where an end is only known when the program runs. A `for` over it is one loop of the program;
// nothing else can walk it.
#pragma once
#include "interpreter/lang/values/native.h"

namespace shard::lang {

bool only_a_run_knows(const Value& v);  // a traced integer that stands for no host number

struct TracedRange final : Loader {
  Value begin, end;
  std::int64_t step;
  TracedRange(Value from, Value to, std::int64_t by) : begin(std::move(from)), end(std::move(to)), step(by) {}
  std::optional<Value> next(Interpreter&) override;  // an error: only a loop of the program goes through it
  void restart() override {}
  std::string describe() const override { return kind; }
  const TracedRange* traced() const override { return this; }
  static constexpr const char* kind = "range that only a run knows";
};

}  // namespace shard::lang
