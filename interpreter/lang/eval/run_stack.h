// The stack that the evaluator runs on: that of the thread where it is known and large enough, else one of the engine's
// own, so that a script needs no more of a small thread (or of a fiber of the host) than a few kilobytes, and endless
// recursion is an error on every thread. The host's functions are called on the same thread either way.
#pragma once
#include <cstddef>
#include <memory>
#include <type_traits>

namespace shard::lang {

class RunStack {
 public:
  RunStack();
  ~RunStack();
  RunStack(const RunStack&) = delete;

  template <class F>
  void run(F&& body) {
    run([](void* f) { (*static_cast<std::remove_reference_t<F>*>(f))(); }, &body);
  }
  // Too little is left for another call of the script: the rest is for operations, compilation and the error's report.
  bool low() const { return static_cast<char*>(__builtin_frame_address(0)) < end_; }

 private:
  struct Own;  // memory for a stack
  struct Region {
    char *begin = nullptr, *end = nullptr;
    bool holds(const char* p) const { return begin <= p && p < end; }
  };
  static const Region& of_thread();
  void run(void (*body)(void*), void* context);
  void run_within(Region region, void (*body)(void*), void* context);
  Region now_;           // that the evaluator runs on; empty outside of run()
  char* end_ = nullptr;  // below it the stack is low
  std::unique_ptr<Own> spare_;
};

}  // namespace shard::lang
