// Spreading work by oneTBB. ThreadSanitizer does not see inside that library: it is told what happens before what.
#include "runtime/kernels/spread.h"

#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>

#include <algorithm>

#if defined(__SANITIZE_THREAD__)
#include <sanitizer/tsan_interface.h>
#endif

namespace shard::runtime {
namespace {

void happens_before([[maybe_unused]] void* what) {
#if defined(__SANITIZE_THREAD__)
  __tsan_release(what);
#endif
}
void happens_after([[maybe_unused]] void* what) {
#if defined(__SANITIZE_THREAD__)
  __tsan_acquire(what);
#endif
}

}  // namespace

void spread_pieces(std::int64_t count, std::int64_t grain, void (*piece)(void*, std::int64_t, std::int64_t),
                   void* context, const Stop* stop) {
  grain = std::max<std::int64_t>(grain, 1);
  const std::int64_t pieces = (count + grain - 1) / grain;
  std::atomic<bool> ended{false};
  char begun = 0, done = 0;
  happens_before(&begun);
  tbb::parallel_for(
      tbb::blocked_range<std::int64_t>(0, pieces, 1),
      [=, &ended, &begun, &done](const tbb::blocked_range<std::int64_t>& r) {
        happens_after(&begun);
        for (std::int64_t i = r.begin(); i != r.end(); ++i) {
          if (stop && stop->due()) {
            ended.store(true, std::memory_order_relaxed);
            break;
          }
          piece(context, i * grain, std::min(count, (i + 1) * grain));
        }
        happens_before(&done);
      },
      tbb::simple_partitioner());
  happens_after(&done);
  if (ended.load(std::memory_order_relaxed)) stop->raise();
}

}  // namespace shard::runtime
