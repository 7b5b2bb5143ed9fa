// What a compiled call costs on a chip: the works of its program, played and held.
#pragma once
#include "interpreter/exec/executable.h"
#include "interpreter/foresight/clock.h"

namespace shard::foresight {

struct Cause {  // what the instructions of a line hold
  grammar::Span where;
  std::int64_t bytes = 0;
};

struct Memory {  // of one device, bytes
  std::int64_t arguments = 0, results = 0, peak = 0;
  grammar::Span where;                   // the line at whose instruction the most is held
  std::vector<Cause> causes = {};        // then, without arguments; the largest first
  std::vector<std::int64_t> curve = {};  // after each instruction of the outermost graph, at its most, with arguments
};

struct Estimate {
  Tally time;
  Memory memory;
  bool fits = true;
};

// Arguments whose memory a result may take: those that a result is like, as a training step's state is.
std::vector<bool> handed_over(std::span<const exec::ArrayInfo> arguments, const transform::Program& program);

// `donated`: by argument, whether its memory becomes a result's.
Estimate estimate(const Chip& chip, const exec::Executable& plan, std::span<const exec::ArrayInfo> arguments,
                  const std::vector<bool>& donated);

Memory memory_of(const transform::Program& program, const Works& works, std::span<const exec::ArrayInfo> arguments,
                 const std::vector<bool>& donated);

}  // namespace shard::foresight
