// The pool: freed memory is kept by size class and handed out again, because fresh pages cost ten times what reused
// ones do. Large blocks are aligned to huge pages. What is kept never exceeds the most that was ever in use at once.
#include "runtime/array/buffer.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
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
constexpr std::int64_t kEveryMachineHas = std::int64_t{64} << 20;  // below it nobody asks the system what there is

// Four classes a power of two, so at most a quarter is wasted; above 4 MB whole huge pages.
std::size_t capacity_for(std::size_t bytes) {
  if (bytes <= kAlign) return kAlign;
  const std::size_t step =
      bytes >= kHugeFrom ? std::max(kHuge, std::bit_floor(bytes) / 8) : std::max(kAlign, std::bit_floor(bytes - 1) / 4);
  return (bytes + step - 1) / step * step;
}

void* system_allocate(std::size_t capacity) {
  const bool huge = capacity >= kHugeFrom;
  void* p = std::aligned_alloc(huge ? kHuge : kAlign, huge ? (capacity + kHuge - 1) / kHuge * kHuge : capacity);
  if (p && huge) madvise(p, capacity, MADV_HUGEPAGE);
  return p;
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

  void* take(std::size_t bytes, std::size_t capacity) {
    void* p = nullptr;
    bool full = false;
    {
      const std::scoped_lock lock(mutex_);
      const std::int64_t after = live_ + static_cast<std::int64_t>(bytes);
      if (after > kEveryMachineHas && system_ == 0) system_ = system_memory();
      if (after > limit_ || (system_ > 0 && after > system_)) return nullptr;
      full = limited_ && live_ + cached_ + static_cast<std::int64_t>(capacity) > limit_;
      const auto it = free_.find(capacity);
      if (it != free_.end() && !it->second.empty()) {
        p = it->second.back();
        it->second.pop_back();
        cached_ -= static_cast<std::int64_t>(capacity);
        count(bytes);
        return p;
      }
    }
    if (full) trim();  // what is kept for later counts where the host has set a limit
    p = system_allocate(capacity);
    if (!p) {
      trim();
      p = system_allocate(capacity);
    }
    if (!p) return nullptr;
    const std::scoped_lock lock(mutex_);
    count(bytes);
    return p;
  }

  void give(void* p, std::size_t bytes, std::size_t capacity) noexcept {
    {
      const std::scoped_lock lock(mutex_);
      live_ -= static_cast<std::int64_t>(bytes);
      const std::int64_t after = cached_ + static_cast<std::int64_t>(capacity);
      if (after <= std::max(most_, kAlwaysKeep)) {
        try {
          free_[capacity].push_back(p);
          cached_ = after;
          return;
        } catch (const std::bad_alloc&) {}  // no room for the books: give it back instead
      }
    }
    std::free(p);
  }

  void trim() noexcept {
    const std::scoped_lock lock(mutex_);
    for (auto& [capacity, list] : free_)
      for (void* p : list) std::free(p);
    free_.clear();
    cached_ = 0;
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
  void count(std::size_t bytes) {
    live_ += static_cast<std::int64_t>(bytes);
    peak_ = std::max(peak_, live_);
    most_ = std::max(most_, live_);
  }
  mutable std::mutex mutex_;
  std::map<std::size_t, std::vector<void*>> free_;
  std::int64_t live_ = 0, peak_ = 0, most_ = 0, cached_ = 0;
  std::int64_t limit_ = kMaxBytes, system_ = 0;  // system_: asked for when it first matters
  bool limited_ = false;                         // by the host
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

BufferRef Pool::allocate(std::size_t bytes) {
  void* p = nullptr;
  std::size_t capacity = 0;
  if (bytes <= static_cast<std::size_t>(kMaxBytes)) {
    capacity = capacity_for(bytes);
    p = books_->take(bytes, capacity);
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
