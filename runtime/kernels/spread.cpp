// Spreading work by oneTBB.
#include "runtime/kernels/spread.h"

#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>

#include <algorithm>

namespace shard::runtime {

void spread_pieces(std::int64_t count, std::int64_t grain, void (*piece)(void*, std::int64_t, std::int64_t),
                   void* context, const Stop* stop) {
  grain = std::max<std::int64_t>(grain, 1);
  const std::int64_t pieces = (count + grain - 1) / grain;
  std::atomic<bool> ended{false};
  tbb::parallel_for(
      tbb::blocked_range<std::int64_t>(0, pieces, 1),
      [=, &ended](const tbb::blocked_range<std::int64_t>& r) {
        for (std::int64_t i = r.begin(); i != r.end(); ++i) {
          if (stop && stop->due()) {
            ended.store(true, std::memory_order_relaxed);
            return;
          }
          piece(context, i * grain, std::min(count, (i + 1) * grain));
        }
      },
      tbb::simple_partitioner());
  if (ended.load(std::memory_order_relaxed)) stop->raise();
}

}  // namespace shard::runtime
