// Spreading work by oneTBB.
#include "runtime/kernels/spread.h"

#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>

#include <algorithm>

namespace shard::runtime {

void spread_pieces(std::int64_t count, std::int64_t grain, void (*piece)(void*, std::int64_t, std::int64_t),
                   void* context) {
  grain = std::max<std::int64_t>(grain, 1);
  const std::int64_t pieces = (count + grain - 1) / grain;
  tbb::parallel_for(
      tbb::blocked_range<std::int64_t>(0, pieces, 1),
      [=](const tbb::blocked_range<std::int64_t>& r) {
        for (std::int64_t i = r.begin(); i != r.end(); ++i) piece(context, i * grain, std::min(count, (i + 1) * grain));
      },
      tbb::simple_partitioner());
}

}  // namespace shard::runtime
