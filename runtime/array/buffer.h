// Memory of arrays: 64-byte aligned, reference counted, from a pool that keeps freed buffers by size class for the next
// use. A pool belongs to an engine; buffers keep the pool's books alive, so an array may outlive its engine.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

#include "runtime/array/stop.h"

namespace shard::runtime {

class PoolBooks;

struct PoolStats {
  std::int64_t live = 0, peak = 0, cached = 0;
};  // bytes handed out now, the most ever, kept for reuse

class Buffer {
 public:
  void* data() const { return data_; }
  std::size_t bytes() const { return bytes_; }
  bool adopted() const { return give_back_ != nullptr; }
  ~Buffer();
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

 private:
  friend class Pool;
  friend std::shared_ptr<Buffer> adopt(void* data, std::size_t bytes, std::function<void(void*)> give_back);
  Buffer(std::shared_ptr<PoolBooks> books, void* data, std::size_t bytes, std::size_t capacity);
  std::shared_ptr<PoolBooks> books_;
  void* data_;
  std::size_t bytes_, capacity_;
  std::function<void(void*)> give_back_;  // of memory that is not the pool's
};
using BufferRef = std::shared_ptr<Buffer>;

// Memory of the host as a buffer: read, never written, given back once. Where this throws it is still the host's.
BufferRef adopt(void* data, std::size_t bytes, std::function<void(void*)> give_back);
// Whether a value may be written where it lies: nobody else holds the buffer, and it is no memory of the host.
inline bool writable(const BufferRef& b) { return b.use_count() == 1 && !b->adopted(); }

class Pool {
 public:
  Pool();
  // Uninitialised; throws RuntimeError("memory") naming the bytes where there is none, or the limit is reached.
  BufferRef allocate(std::size_t bytes);
  BufferRef scratch(std::size_t bytes);  // the same for one that soon dies: whatever is kept and large enough
  void set_limit(std::int64_t bytes);    // that may be handed out at once, if it is less than what the machine has
  PoolStats stats() const;
  void reset_peak();
  void trim();                    // gives cached buffers back to the system
  Stop& stop() { return stop_; }  // of the runs that compute in this pool

 private:
  BufferRef hand_out(std::size_t bytes, bool any);
  std::shared_ptr<PoolBooks> books_;
  Stop stop_;
};

}  // namespace shard::runtime
