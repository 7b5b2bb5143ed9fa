// Memory that several processes of one machine see: one makes it and hands the descriptor on, each maps it.
#pragma once
#include <cstddef>
#include <optional>
#include <utility>

namespace shard::runtime {

class SharedMemory {
 public:
  // A descriptor of so many bytes, which begin as zeros and remain that many; -1: the system has none.
  static int make(const char* name, std::size_t bytes);
  // Nothing where the descriptor is none of that size.
  static std::optional<SharedMemory> of(int fd, std::size_t bytes);
  SharedMemory(SharedMemory&& other) noexcept : data_(std::exchange(other.data_, nullptr)), bytes_(other.bytes_) {}
  SharedMemory& operator=(SharedMemory&&) = delete;
  ~SharedMemory();
  char* data() const { return static_cast<char*>(data_); }

 private:
  SharedMemory(void* data, std::size_t bytes) : data_(data), bytes_(bytes) {}
  void* data_;
  std::size_t bytes_;
};

}  // namespace shard::runtime
