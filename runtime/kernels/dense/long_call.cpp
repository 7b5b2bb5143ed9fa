#include "runtime/kernels/dense/long_call.h"

#include <atomic>
#include <chrono>
#include <future>
#include <thread>

namespace shard::runtime::dense {
namespace {

std::atomic<int> running{0};
struct Running {
  Running() { ++running; }
  ~Running() { --running; }
};

// At the end of a process OpenBLAS gives back the memory of calls that still run, which would crash: they are waited
// for.
struct End {
  ~End() {
    while (calls_left()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
};

}  // namespace

bool calls_left() { return running > 0; }

void call_elsewhere(const Stop& stop, std::function<void()> f) {
  static const End end;
  stop.ask();
  std::packaged_task<void()> task([f = std::move(f)] {
    const Running counted;
    const Turn turn(nullptr);
    f();
  });
  std::future<void> done = task.get_future();
  std::thread(std::move(task)).detach();
  while (done.wait_for(std::chrono::milliseconds(20)) != std::future_status::ready) stop.ask();
  done.get();
}

}  // namespace shard::runtime::dense
