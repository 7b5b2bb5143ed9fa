// Runs that have begun, and waiting for them.
#include <atomic>
#include <condition_variable>
#include <mutex>

#include "runtime/pjrt/client.h"

namespace shard::runtime::pjrt {
namespace {

std::atomic<bool> left_alone = false;

}  // namespace

// The end of a run on all devices. The plug-in calls back, also where nobody waits any more.
class Run::Ending {
 public:
  static std::shared_ptr<Ending> of(const Plugin& plugin, std::span<abi::Event* const> events) {
    auto out = std::make_shared<Ending>();
    out->left_ = events.size();
    for (abi::Event* event : events) {
      abi::WhenReady when{};
      when.event = event;
      when.argument = new Held{out, plugin};
      when.over = [](abi::Error* error, void* argument) {
        const std::unique_ptr<Held> held(static_cast<Held*>(argument));
        held->ending->one_ends(held->plugin, error);
      };
      plugin.call(abi::kEventWhenReady, when, "waiting");
    }
    return out;
  }
  // What went wrong on a device; throws what `waiting` throws.
  std::optional<RuntimeError> wait(const std::function<void()>& waiting) {
    constexpr auto kPause = std::chrono::milliseconds(50);
    std::unique_lock lock(mutex_);
    while (!changed_.wait_for(lock, kPause, [&] { return left_ == 0; })) {
      lock.unlock();
      waiting();
      lock.lock();
    }
    return failed_;
  }
  bool over() {
    const std::scoped_lock lock(mutex_);
    return left_ == 0;
  }

 private:
  struct Held {
    std::shared_ptr<Ending> ending;
    const Plugin& plugin;  // none is ever unloaded
  };
  void one_ends(const Plugin& plugin, abi::Error* error) {
    std::optional<RuntimeError> failed;
    try {
      plugin.check(error, "running");
    } catch (const RuntimeError& e) { failed = e; }
    const std::scoped_lock lock(mutex_);
    if (failed && !failed_) failed_ = std::move(failed);
    --left_;
    changed_.notify_all();
  }
  std::mutex mutex_;
  std::condition_variable changed_;
  std::size_t left_ = 0;
  std::optional<RuntimeError> failed_;
};

Run::Run(ClientRef client, std::vector<std::vector<Buffer>> made, std::vector<abi::Event*> done)
    : results(std::move(made)), client_(std::move(client)), done_(std::move(done)) {
  if (client_->plugin().has(abi::kEventWhenReady)) ending_ = Ending::of(client_->plugin(), done_);
}

Run::~Run() {
  if (!client_) return;
  if (ending_ && !ending_->over()) {
    new ClientRef(client_);  // to end it would be to wait
    left_alone = true;
    return;
  }
  try {
    wait();
  } catch (const RuntimeError&) {  // nobody asked how it went
  }
}

void Run::wait(const std::function<void()>& waiting) {
  std::optional<RuntimeError> failed;
  if (ending_ && waiting) failed = ending_->wait(waiting);
  for (abi::Event* event : std::exchange(done_, {})) try {
      client_->plugin().await(event, "running");
    } catch (const RuntimeError& e) {
      if (!failed) failed = e;
    }
  if (failed) throw *failed;
}

bool runs_left() { return left_alone; }

}  // namespace shard::runtime::pjrt
