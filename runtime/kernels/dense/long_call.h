// Calls of a library that cannot be stopped, and that a run can leave all the same.
#pragma once
#include <functional>
#include <utility>

#include "runtime/kernels/dense/lapack.h"

namespace shard::runtime::dense {

// Calls `f` on a thread of its own. Where the run is to end before it is done (RuntimeError) it is left to finish there
// by itself: so `f` owns all that it touches.
void call_elsewhere(const Stop& stop, std::function<void()> f);

// Whether some go on. A process that ends waits for them, unless it ends by _exit.
bool calls_left();

// Calls `f`, which calls LAPACK and multiplies so many numbers: here where that is soon over.
template <class F>
void call(double multiplications, const Stop* stop, F f) {
  constexpr double kLong = 3e7;  // a tenth of a second of a slow library
  if (stop && multiplications > kLong) return call_elsewhere(*stop, std::move(f));
  const Turn turn(stop);
  f();
}

}  // namespace shard::runtime::dense
