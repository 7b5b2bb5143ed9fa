// Memory of arrays: 64-byte aligned, reference counted, from a pool that keeps freed buffers by size class for the next
// use. A pool belongs to an engine; buffers keep the pool's books alive, so an array may outlive its engine.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace shard::runtime {

class PoolBooks;

struct PoolStats {
  std::int64_t live = 0, peak = 0, cached = 0;
};  // bytes handed out now, the most ever, kept for reuse

class Buffer {
 public:
  void* data() const { return data_; }
  std::size_t bytes() const { return bytes_; }
  ~Buffer();
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

 private:
  friend class Pool;
  Buffer(std::shared_ptr<PoolBooks> books, void* data, std::size_t bytes, std::size_t capacity);
  std::shared_ptr<PoolBooks> books_;
  void* data_;
  std::size_t bytes_, capacity_;
};
using BufferRef = std::shared_ptr<Buffer>;  // unique (use_count 1) means: may be written in place

class Pool {
 public:
  Pool();
  BufferRef allocate(
      std::size_t bytes);  // uninitialised; throws RuntimeError("memory") naming the bytes when there is none
  PoolStats stats() const;
  void reset_peak();
  void trim();  // gives cached buffers back to the system

 private:
  std::shared_ptr<PoolBooks> books_;
};

}  // namespace shard::runtime
