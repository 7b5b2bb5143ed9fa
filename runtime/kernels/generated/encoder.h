// From a formula to machine code (AVX2 or AVX-512): a loop over vectors of lanes that reads operands from memory,
// computes in registers and writes results to memory.
#pragma once
#include <cstdint>
#include <span>

#include "runtime/kernels/generated/executable_memory.h"
#include "runtime/kernels/generated/unrolled.h"

namespace shard::runtime::generated {

// `at` has an address for each operand. All elements of a vector are read before any is written, so results may lie
// where operands of the same elements do.
struct MachineCode {
  using Function = void (*)(unsigned char* const* at, std::int64_t n);  // n: a multiple of `lanes`, > 0
  ExecutableMemory memory;
  Function run = nullptr;  // null: no code could be made
  std::int64_t lanes = 0;
  bool rows = false;  // n: of any number of rows; `at` is left anyhow
};

bool can_encode();  // the processor has what the code needs, and SHARD_ISA allows it
// `elements`: of a run, at most. `by_row`: of a row, and the code does all rows of a run if turns fill them.
MachineCode encode(const Formula& formula, std::span<const Operand> operands, std::span<const Stored> stored, Turn turn,
                   std::int64_t elements, bool by_row = false);

}  // namespace shard::runtime::generated
