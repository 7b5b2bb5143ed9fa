// The pool: freed memory is kept by size class and handed out again, because fresh pages cost ten times what reused
// ones do. Large blocks are aligned to huge pages. What is in use and what is kept are together no more than the most
// that was ever in use at once, and a little: what was freed longest ago goes back to the system first.
#include "runtime/array/buffer.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <map>
#include <mutex>
#include <vector>

#include "runtime/array/shape.h"

namespace shard::runtime {
namespace {

constexpr std::size_t kAlign = 64;
constexpr std::size_t kHuge = std::size_t{2} << 20;
constexpr std::size_t kHugeFrom = std::size_t{4} << 20;
constexpr std::int64_t kAlwaysKeep = std::int64_t{32}
                                     << 20;  // small programs keep their few buffers whatever their peak
constexpr std::int64_t kSlack = 64;          // of the most that was in use a 64th more is kept
constexpr std::int64_t kEveryMachineHas = std::int64_t{64} << 20;  // below it nobody asks the system what there is

// Four classes a power of two, so at most a quarter is wasted; above 4 MB whole huge pages.
std::size_t capacity_for(std::size_t bytes) {
  if (bytes <= kAlign) return kAlign;
  const std::size_t step =
      bytes >= kHugeFrom ? std::max(kHuge, std::bit_floor(bytes) / 8) : std::max(kAlign, std::bit_floor(bytes - 1) / 4);
  return (bytes + step - 1) / step * step;
}

// Large blocks are the system's own, so that freeing one gives it back.
// Huge pages end where the `bytes` do, as a page is resident as a whole.
void* system_allocate(std::size_t bytes, std::size_t capacity) {
  if (capacity < kHugeFrom) return std::aligned_alloc(kAlign, capacity);
  void* all = mmap(nullptr, capacity + kHuge, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (all == MAP_FAILED) return nullptr;
  const auto address = reinterpret_cast<std::uintptr_t>(all);
  const std::size_t before = (kHuge - address % kHuge) % kHuge;
  char* p = static_cast<char*>(all) + before;
  if (before > 0) munmap(all, before);
  if (before < kHuge) munmap(p + capacity, kHuge - before);
  if (const std::size_t whole = bytes / kHuge * kHuge; whole > 0) madvise(p, whole, MADV_HUGEPAGE);
  return p;
}
void system_free(void* p, std::size_t capacity) noexcept {
  if (capacity < kHugeFrom)
    std::free(p);
  else
    munmap(p, capacity);
}

// What the machine, or the control group this process runs in, can give at all.
std::int64_t system_memory() {
  std::int64_t limit = kMaxBytes;
  const long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
  if (pages > 0 && page > 0) limit = std::min<std::int64_t>(limit, std::int64_t{pages} * page);
  std::int64_t group = 0;
  if (std::ifstream in("/sys/fs/cgroup/memory.max"); in >> group && group > 0) limit = std::min(limit, group);
  return limit;
}

}  // namespace

class PoolBooks {
 public:
  PoolBooks() = default;
  ~PoolBooks() { trim(); }
  void set_limit(std::int64_t bytes) {
    const std::scoped_lock lock(mutex_);
    limit_ = bytes;
    limited_ = true;
  }
  PoolBooks(const PoolBooks&) = delete;
  PoolBooks& operator=(const PoolBooks&) = delete;

  // `capacity`: of what is handed out; where `any`, the least that is kept and large enough.
  void* take(std::size_t bytes, std::size_t& capacity, bool any) {
    {
      const std::scoped_lock lock(mutex_);
      const std::int64_t after = live_ + static_cast<std::int64_t>(bytes);
      if (after > kEveryMachineHas && system_ == 0) system_ = system_memory();
      if (after > limit_ || (system_ > 0 && after > system_)) return nullptr;
      auto it = any ? free_.lower_bound(capacity) : free_.find(capacity);
      while (any && it != free_.end() && it->second.empty()) ++it;
      if (it != free_.end() && !it->second.empty()) {
        void* const p = it->second.back().data;
        it->second.pop_back();
        capacity = it->first;
        cached_ -= static_cast<std::int64_t>(capacity);
        count(bytes, capacity);
        return p;
      }
      // What is kept for later counts where the host has set a limit.
      if (limited_ && live_ + cached_ + static_cast<std::int64_t>(capacity) > limit_) make_room(0);
      make_room(std::max({kAlwaysKeep, most_ + most_ / kSlack, held_}) - held_ - static_cast<std::int64_t>(capacity));
    }
    void* p = system_allocate(bytes, capacity);
    if (!p) {
      trim();
      p = system_allocate(bytes, capacity);
    }
    if (!p) return nullptr;
    const std::scoped_lock lock(mutex_);
    count(bytes, capacity);
    return p;
  }

  void give(void* p, std::size_t bytes, std::size_t capacity) noexcept {
    {
      const std::scoped_lock lock(mutex_);
      live_ -= static_cast<std::int64_t>(bytes);
      held_ -= static_cast<std::int64_t>(capacity);
      try {
        free_[capacity].push_back({p, ++now_});
        cached_ += static_cast<std::int64_t>(capacity);
        return;
      } catch (const std::bad_alloc&) {}  // no room for the books: give it back instead
    }
    system_free(p, capacity);
  }

  void trim() noexcept {
    const std::scoped_lock lock(mutex_);
    make_room(0);
    free_.clear();
  }

  PoolStats stats() const {
    const std::scoped_lock lock(mutex_);
    return {live_, peak_, cached_};
  }
  void reset_peak() {
    const std::scoped_lock lock(mutex_);
    peak_ = live_;
  }
  std::string limit_text() {  // "100 that may be used"
    const std::scoped_lock lock(mutex_);
    if (system_ == 0) system_ = system_memory();
    return (limit_ < system_ ? std::to_string(limit_) + " that may be used"
                             : std::to_string(system_) + " that this machine has");
  }

 private:
  struct Cached {
    void* data;
    std::uint64_t since;
  };
  void count(std::size_t bytes, std::size_t capacity) {
    live_ += static_cast<std::int64_t>(bytes);
    held_ += static_cast<std::int64_t>(capacity);
    peak_ = std::max(peak_, live_);
    most_ = std::max(most_, held_);
  }
  // No more than this is kept; what was freed first is given back first.
  void make_room(std::int64_t kept) noexcept {
    while (cached_ > std::max<std::int64_t>(kept, 0)) {
      auto oldest = free_.end();
      for (auto it = free_.begin(); it != free_.end(); ++it)
        if (!it->second.empty() && (oldest == free_.end() || it->second[0].since < oldest->second[0].since))
          oldest = it;
      if (oldest == free_.end()) return;
      system_free(oldest->second[0].data, oldest->first);
      oldest->second.erase(oldest->second.begin());
      cached_ -= static_cast<std::int64_t>(oldest->first);
    }
  }
  mutable std::mutex mutex_;
  std::map<std::size_t, std::vector<Cached>> free_;  // by size, the first freed first
  std::uint64_t now_ = 0;                            // counts what is freed
  std::int64_t live_ = 0, peak_ = 0;                 // bytes that were asked for
  std::int64_t held_ = 0, most_ = 0, cached_ = 0;    // of what was handed out for them, and of what is kept
  std::int64_t limit_ = kMaxBytes, system_ = 0;      // system_: asked for when it first matters
  bool limited_ = false;                             // by the host
};

Buffer::Buffer(std::shared_ptr<PoolBooks> books, void* data, std::size_t bytes, std::size_t capacity)
    : books_(std::move(books)), data_(data), bytes_(bytes), capacity_(capacity) {}
Buffer::~Buffer() {
  try {
    if (books_)
      books_->give(data_, bytes_, capacity_);
    else if (give_back_)
      give_back_(data_);
  } catch (...) {}  // of the host; there is nobody to tell
}

BufferRef adopt(void* data, std::size_t bytes, std::function<void(void*)> give_back) {
  BufferRef out(new Buffer(nullptr, data, bytes, bytes));
  out->give_back_ = std::move(give_back);  // last: nothing fails any more
  return out;
}

Pool::Pool() : books_(std::make_shared<PoolBooks>()) {}

BufferRef Pool::allocate(std::size_t bytes) { return hand_out(bytes, false); }
BufferRef Pool::scratch(std::size_t bytes) { return hand_out(bytes, true); }

BufferRef Pool::hand_out(std::size_t bytes, bool any) {
  void* p = nullptr;
  std::size_t capacity = 0;
  if (bytes <= static_cast<std::size_t>(kMaxBytes)) {
    capacity = capacity_for(bytes);
    p = books_->take(bytes, capacity, any);
  }
  if (!p)
    throw RuntimeError("memory", "no memory for " + std::to_string(bytes) +
                                     " bytes: " + std::to_string(books_->stats().live) + " bytes are in use of the " +
                                     books_->limit_text());
  try {
    return BufferRef(new Buffer(books_, p, bytes, capacity));
  } catch (...) {
    books_->give(p, bytes, capacity);
    throw;
  }
}

PoolStats Pool::stats() const { return books_->stats(); }
void Pool::set_limit(std::int64_t bytes) { books_->set_limit(bytes); }
void Pool::reset_peak() { books_->reset_peak(); }
void Pool::trim() { books_->trim(); }

}  // namespace shard::runtime
