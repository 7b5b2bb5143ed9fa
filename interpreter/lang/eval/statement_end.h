// How a statement ends, and what a condition says.
#pragma once
#include <cstdint>

namespace shard::lang {

enum class Flow : std::uint8_t { Next, Break, Continue, Return };
struct FlowSignal {  // thrown only where break, continue or return stand inside an operand
  Flow flow;
};

// Traced: only the compiled program knows. Unknown: while checking, only a run knows.
enum class Truth : std::uint8_t { False, True, Traced, Unknown };

}  // namespace shard::lang
