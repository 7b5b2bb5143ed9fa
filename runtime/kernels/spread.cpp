// Spreading work by oneTBB. ThreadSanitizer cannot see inside that library: for it, by plain threads.
#include "runtime/kernels/spread.h"

#include <algorithm>

#if defined(__SANITIZE_THREAD__)
#include <exception>
#include <mutex>
#include <thread>
#include <vector>
#else
#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>
#endif

namespace shard::runtime {
namespace {

#if defined(__SANITIZE_THREAD__)
template <class F>
void each_piece(std::int64_t pieces, F f) {
  std::atomic<std::int64_t> next{0};
  std::exception_ptr error;
  std::mutex mutex;
  const auto work = [&] {
    try {
      for (std::int64_t i = next++; i < pieces; i = next++) f(i);
    } catch (...) {
      const std::scoped_lock lock(mutex);
      error = std::current_exception();
    }
  };
  std::vector<std::thread> threads;
  for (std::int64_t t = 1; t < std::min<std::int64_t>(pieces, 4); ++t) threads.emplace_back(work);
  work();
  for (std::thread& t : threads) t.join();
  if (error) std::rethrow_exception(error);
}
#else
template <class F>
void each_piece(std::int64_t pieces, F f) {
  tbb::parallel_for(
      tbb::blocked_range<std::int64_t>(0, pieces, 1),
      [=](const tbb::blocked_range<std::int64_t>& r) {
        for (std::int64_t i = r.begin(); i != r.end(); ++i) f(i);
      },
      tbb::simple_partitioner());
}
#endif

thread_local int alone = 0;

}  // namespace

Alone::Alone() { ++alone; }
Alone::~Alone() { --alone; }

#if defined(__SANITIZE_THREAD__)
int threads() { return 4; }
#else
int threads() { return tbb::this_task_arena::max_concurrency(); }
#endif

void spread_pieces(std::int64_t count, std::int64_t grain, void (*piece)(void*, std::int64_t, std::int64_t),
                   void* context, const Stop* stop) {
  grain = std::max<std::int64_t>(grain, 1);
  if (alone > 0) {
    for (std::int64_t from = 0; from < count; from += grain) {
      if (stop) stop->ask();
      piece(context, from, std::min(count, from + grain));
    }
    return;
  }
  std::atomic<bool> ended{false};
  each_piece((count + grain - 1) / grain, [=, &ended](std::int64_t i) {
    if (ended.load(std::memory_order_relaxed)) return;
    if (stop && stop->due())
      ended.store(true, std::memory_order_relaxed);
    else
      piece(context, i * grain, std::min(count, (i + 1) * grain));
  });
  if (ended.load(std::memory_order_relaxed)) stop->raise();
}

}  // namespace shard::runtime
