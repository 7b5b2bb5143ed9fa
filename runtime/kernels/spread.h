// Work over several threads: [0, count) in pieces of `grain` (the last may be shorter), each piece by one call. Pieces
// depend on the grain alone, never on the number of threads. Runs at once where there is a single piece.
#pragma once
#include <cstdint>
#include <type_traits>

namespace shard::runtime {

void spread_pieces(std::int64_t count, std::int64_t grain, void (*piece)(void*, std::int64_t, std::int64_t),
                   void* context);

template <class F>
void spread(std::int64_t count, std::int64_t grain, F&& f) {
  if (count <= 0) return;
  if (count <= grain) {
    f(std::int64_t{0}, count);
    return;
  }
  spread_pieces(
      count, grain,
      [](void* g, std::int64_t lo, std::int64_t hi) { (*static_cast<std::remove_reference_t<F>*>(g))(lo, hi); },
      const_cast<void*>(static_cast<const void*>(&f)));
}

}  // namespace shard::runtime
