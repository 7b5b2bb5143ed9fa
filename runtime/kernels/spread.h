// Work over several threads: [0, count) in pieces of `grain` (the last may be shorter), each piece by one call. Pieces
// depend on the grain alone, never on the number of threads. Runs at once where there is a single piece. With `stop`
// given it is asked before each piece, and the work ends with its RuntimeError where the run is to end.
#pragma once
#include <cstdint>
#include <type_traits>

#include "runtime/array/stop.h"

namespace shard::runtime {

int threads();  // that work is spread over

// While one lives, its thread does all pieces itself, one after another: it is one of several that share larger work.
class Alone {
 public:
  Alone();
  ~Alone();
  Alone(const Alone&) = delete;
};

void spread_pieces(std::int64_t count, std::int64_t grain, void (*piece)(void*, std::int64_t, std::int64_t),
                   void* context, const Stop* stop);

template <class F>
void spread(std::int64_t count, std::int64_t grain, F&& f, const Stop* stop = nullptr) {
  if (count <= 0) return;
  if (count <= grain) {
    f(std::int64_t{0}, count);
    return;
  }
  spread_pieces(
      count, grain,
      [](void* g, std::int64_t lo, std::int64_t hi) { (*static_cast<std::remove_reference_t<F>*>(g))(lo, hi); },
      const_cast<void*>(static_cast<const void*>(&f)), stop);
}

}  // namespace shard::runtime
