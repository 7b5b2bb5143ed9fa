// From a formula to machine code (AVX2): a loop over vectors of lanes that reads operands from memory, computes in
// registers and writes results to memory.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "runtime/kernels/generated/formula.h"

namespace shard::runtime::generated {

struct Operand {
  Kind kind;
  bool truth = false;   // bytes 0 and 1, masks in lanes
  bool spread = false;  // one element for all lanes of all vectors
};
struct Stored {
  NodeId node;
  std::size_t operand;  // not `spread`
  int vector = 0;       // of a turn
};

// Memory that holds code; read and executed, not written.
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

// `at` has an address for each operand. All elements of a vector are read before any is written, so results may lie
// where operands of the same elements do.
struct MachineCode {
  using Function = void (*)(unsigned char* const* at, std::int64_t n);  // n: a multiple of `lanes`, > 0
  ExecutableMemory memory;
  Function run = nullptr;  // null: no code could be made
  std::int64_t lanes = 0;
};

// What a turn of the code does.
enum class Turn : std::uint8_t { Element, Vector, Vectors };

bool can_encode();  // the processor has what the code needs, and SHARD_ISA allows it
MachineCode encode(const Formula& formula, std::span<const Operand> operands, std::span<const Stored> stored,
                   Turn turn);

}  // namespace shard::runtime::generated
