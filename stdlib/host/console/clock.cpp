// clock, time: how long things take, in seconds of the wall.
#include <algorithm>
#include <chrono>

#include "interpreter/trace/context.h"
#include "stdlib/host/host.h"

namespace shard::stdlib {
namespace {

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

// The first call compiles where f is to be compiled, so it stands apart. Then as many as fit into a fifth of a second.
Value time_of(Interpreter& in, BoundArgs& a) {
  constexpr double kEnough = 0.2;
  constexpr std::int64_t kMost = 1000;
  if (!a[0].callable())
    in.fail("type", a.span, "time takes a function and its arguments, and this is " + lang::kind_name(a[0]),
            {"write the call apart: time(f, x), or time(fn() = ...)"});
  if (in.context().tracing())
    in.fail("trace", a.span, "time runs a function, and here one is being traced",
            {"ask outside of that function: time(f, x)"});
  const auto once = [&] {
    std::vector<CallArg> args = a.rest;
    const double begin = now();
    in.call(a[0], std::move(args), a.span);
    return now() - begin;
  };
  const double first = once();
  double best = first, total = 0;
  std::int64_t calls = 0;
  while (calls == 0 || (total < kEnough && calls < kMost)) {
    const double took = once();
    best = calls == 0 ? took : std::min(best, took);
    total += took;
    ++calls;
  }
  return Value::record({{"best", Value(best)},
                        {"mean", Value(total / static_cast<double>(calls))},
                        {"first", Value(first)},
                        {"calls", Value(calls)}});
}

}  // namespace

void register_clock(Interpreter& in) {
  in.define({"clock",
             "clock()",
             "Seconds since some moment: the difference of two is the time between them.",
             [](Interpreter&, BoundArgs&) { return Value(now()); },
             {{"perf_counter", "seconds are read by `clock()`: the difference of two is the time between them"}}});
  in.define({"time", "time(f, xs...)",
             "Seconds that a call f(xs...) takes, as {best, mean, first, calls}: the first call, which may compile, by "
             "itself, then the best and the mean of as many as fit into 0.2 s.",
             time_of});
}

}  // namespace shard::stdlib
