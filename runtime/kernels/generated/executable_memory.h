// Memory that holds code; once it is sealed it is read and executed, not written.
#pragma once
#include <cstddef>
#include <utility>

namespace shard::runtime::generated {

class ExecutableMemory {
 public:
  ExecutableMemory() = default;
  explicit ExecutableMemory(std::size_t bytes);  // to be written; none where the system has none
  ExecutableMemory(ExecutableMemory&& other) noexcept { *this = std::move(other); }
  ExecutableMemory& operator=(ExecutableMemory&& other) noexcept;
  ~ExecutableMemory();
  unsigned char* data() const { return data_; }
  std::size_t size() const { return size_; }
  bool seal();  // false where the system refuses

 private:
  unsigned char* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace shard::runtime::generated
