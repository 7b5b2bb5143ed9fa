// Where the stack of a thread ends, and changing to another stack and back by ucontext. Sanitizers are told of it.
#include "interpreter/lang/eval/run_stack.h"

#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <exception>
#include <optional>
#include <utility>

#if defined(__linux__)
#include <sys/auxv.h>
#endif

#include "grammar/kept.h"
#include "runtime/array/shape.h"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/common_interface_defs.h>
#endif
#if defined(__SANITIZE_THREAD__)
#include <sanitizer/tsan_interface.h>
#endif

namespace shard::lang {
namespace {

constexpr std::size_t kStackReserve = std::size_t{1} << 20;
constexpr std::size_t kStackEnough = std::size_t{4} << 20;  // left of a thread's stack: nothing else is needed
constexpr std::size_t kOwnStack = std::size_t{16} << 20;    // pages that are not touched cost nothing
constexpr std::size_t kStackGuard = std::size_t{1} << 16;
#if defined(__SANITIZE_THREAD__)
// It survives 65,536 open calls and not one more; a call takes at least 48 bytes.
constexpr std::ptrdiff_t kStackUsed = std::ptrdiff_t{3} << 20;
#else
constexpr std::ptrdiff_t kStackUsed = PTRDIFF_MAX;  // as much as there is
#endif

// One change to another stack and back. What the body throws is carried over by hand: unwinding ends with a stack.
struct StackChange {
  void (*body)(void*);
  void* context;
  std::exception_ptr error = nullptr;
  ucontext_t here, there;
#if defined(__SANITIZE_ADDRESS__)
  void* fake = nullptr;
  const void* old_bottom = nullptr;
  std::size_t old_size = 0;
#endif
#if defined(__SANITIZE_THREAD__)
  void *old_fiber = nullptr, *fiber = nullptr;
#endif
};

// ThreadSanitizer keeps a list of open calls a stack: this one begins on the new stack and ends on the old one, so it
// is not to be counted on either.
#if defined(__SANITIZE_THREAD__)
__attribute__((no_sanitize_thread))
#endif
void begin_on_own_stack(unsigned high, unsigned low) {
  auto& c = *reinterpret_cast<StackChange*>(std::uintptr_t{high} << 32 | std::uintptr_t{low});
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_finish_switch_fiber(nullptr, &c.old_bottom, &c.old_size);
#endif
  try {
    c.body(c.context);
  } catch (...) { c.error = std::current_exception(); }
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_start_switch_fiber(nullptr, c.old_bottom, c.old_size);
#endif
#if defined(__SANITIZE_THREAD__)
  __tsan_switch_to_fiber(c.old_fiber, 0);
#endif
}  // and on at uc_link

// The stack of the main thread, {lower, upper} end, which pthread_getattr_np finds in the text of /proc/self/maps: up
// to 40 microseconds and 200,000 instructions. Linux puts the program's path at the upper end, and the limit says how
// far the stack may grow. Nothing on another thread, or where the limit is too high to be kept free.
std::optional<std::pair<char*, char*>> main_stack() {
#if defined(__linux__)
  constexpr rlim_t kSurelyFree = rlim_t{64} << 20;  // Linux keeps 128 MiB at least
  const auto* path = reinterpret_cast<const char*>(getauxval(AT_EXECFN));
  rlimit limit{};
  if (gettid() != getpid() || !path || getrlimit(RLIMIT_STACK, &limit) != 0 || limit.rlim_cur > kSurelyFree)
    return std::nullopt;
  const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  const std::uintptr_t end = (reinterpret_cast<std::uintptr_t>(path) + std::strlen(path) + page) / page * page;
  const auto here = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
  if (here >= end - limit.rlim_cur && here < end)
    return std::pair{reinterpret_cast<char*>(end - limit.rlim_cur), reinterpret_cast<char*>(end)};
#endif
  return std::nullopt;
}

}  // namespace

struct RunStack::Own {
  Own() {
    void* p = mmap(nullptr, kOwnStack, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK,
                   -1, 0);
    if (p == MAP_FAILED) throw runtime::RuntimeError("memory", "there is no memory for the stack of a script");
    mprotect(p, kStackGuard, PROT_NONE);
    begin = static_cast<char*>(p);
  }
  ~Own() { munmap(begin, kOwnStack); }
  Own(const Own&) = delete;
  Region region() const { return {begin + kStackGuard, begin + kOwnStack}; }
  char* begin;
};

RunStack::RunStack() = default;
RunStack::~RunStack() = default;

// A fact about the thread, not of an engine.
const RunStack::Region& RunStack::of_thread() {
  thread_local const Region region = [] {
    if (const auto main = main_stack()) return Region{main->first, main->second};
    pthread_attr_t attributes;
    if (pthread_getattr_np(pthread_self(), &attributes) != 0) return Region();
    void* base = nullptr;
    std::size_t size = 0;
    const int status = pthread_attr_getstack(&attributes, &base, &size);
    pthread_attr_destroy(&attributes);
    if (status != 0) return Region();
    return Region{static_cast<char*>(base), static_cast<char*>(base) + size};
  }();
  return region;
}

void RunStack::run_within(Region region, void (*body)(void*), void* context) {
  char* const here = static_cast<char*>(__builtin_frame_address(0));
  const std::ptrdiff_t left = here - region.begin;
  const grammar::Kept now(now_, region);
  const grammar::Kept end(end_, here - std::min(left - static_cast<std::ptrdiff_t>(kStackReserve), kStackUsed));
  body(context);
}

void RunStack::run(void (*body)(void*), void* context) {
  const char* here = static_cast<char*>(__builtin_frame_address(0));
  if (now_.holds(here)) return body(context);  // a function of the host calls the engine again
  const Region& thread = of_thread();          // which a fiber of the host is not on
  if (thread.holds(here) && here - thread.begin >= static_cast<std::ptrdiff_t>(kStackEnough))
    return run_within(thread, body, context);
  std::unique_ptr<Own> own = std::move(spare_);
  if (!own) own = std::make_unique<Own>();
  const Region region = own->region();
  auto inside = [&] { run_within(region, body, context); };
  StackChange c{[](void* f) { (*static_cast<decltype(inside)*>(f))(); }, &inside};
  getcontext(&c.there);
  c.there.uc_stack.ss_sp = region.begin;
  c.there.uc_stack.ss_size = static_cast<std::size_t>(region.end - region.begin);
  c.there.uc_link = &c.here;
  const auto address = reinterpret_cast<std::uintptr_t>(&c);
  makecontext(&c.there, reinterpret_cast<void (*)()>(begin_on_own_stack), 2, static_cast<unsigned>(address >> 32),
              static_cast<unsigned>(address));
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_start_switch_fiber(&c.fake, region.begin, c.there.uc_stack.ss_size);
#endif
#if defined(__SANITIZE_THREAD__)
  c.old_fiber = __tsan_get_current_fiber();
  c.fiber = __tsan_create_fiber(0);
  __tsan_switch_to_fiber(c.fiber, 0);
#endif
  swapcontext(&c.here, &c.there);
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_finish_switch_fiber(c.fake, nullptr, nullptr);
#endif
#if defined(__SANITIZE_THREAD__)
  __tsan_destroy_fiber(c.fiber);
#endif
  spare_ = std::move(own);
  if (c.error) std::rethrow_exception(c.error);
}

}  // namespace shard::lang
