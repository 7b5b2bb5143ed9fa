// What a compiled call costs on a chip: the instructions of its program, played, and what a device holds of it.
#pragma once
#include <array>

#include "interpreter/cost_model/clock.h"
#include "interpreter/exec/executable.h"

namespace shard::cost_model {

// Why bytes lie on a device. Arguments: what is learned, what its training keeps beside it (which reaches nothing but
// itself), and the rest. What the call makes: gradients of what is learned, what the forward part leaves for the
// backward one, what collectives give, and all else.
enum class MemoryCause : std::uint8_t {
  Parameters,
  Optimizer,
  Arguments,
  Results,
  Gradients,
  Residual,
  Communication,
  Temporaries
};
constexpr std::size_t kWhys = 8;
std::string_view words_of(MemoryCause why);

struct Cause {  // what the instructions of a line hold
  grammar::Span where;
  MemoryCause why = MemoryCause::Temporaries;
  std::int64_t bytes = 0;
};

struct Memory {  // of one device, bytes
  std::int64_t arguments = 0, results = 0, peak = 0;
  std::int64_t host = 0;     // beside the peak, in the host's memory: the most that remat offloads at once
  std::int64_t scratch = 0;  // beside the peak, where this machine does it: the most that a kernel takes for itself
  std::array<std::int64_t, kWhys> whys = {};                         // at the peak
  grammar::Span where;                                               // the line at whose instruction the most is held
  std::vector<Cause> causes = {};                                    // then, of what the call makes; the largest first
  std::vector<std::pair<const ir::Node*, std::int64_t>> curve = {};  // after each instruction, all of it
  std::int64_t of(MemoryCause w) const { return whys[static_cast<std::size_t>(w)]; }
};

// What the forward part of a call makes and its backward part reads: one value, or several of a line that are alike.
struct Residual {
  std::string name;  // that checkpoint_name gave it; empty: none
  ir::Type type;     // on one device
  grammar::Span where;
  bool host = false;  // offloaded: in the host's memory
  std::int64_t count = 1;
  std::int64_t bytes() const;  // of all of them
};
// The largest first. Where nothing but new state is given, only what is offloaded is known to be kept.
std::vector<Residual> residuals_of(const exec::Executable& plan, std::span<const exec::ArrayInfo> arguments,
                                   const std::vector<bool>& donated);

struct Estimate {
  Profile time;
  Memory memory;
  bool fits = true;
};

// ---- what the lines of a script cost (lines.cpp)

// Seconds of all that one record of a program's communication stands for, hidden or not.
double collective_seconds(const Chip& chip, const transform::Program& program, const transform::CommRecord& record);
std::string axes_of(const transform::CommRecord& record);   // "@data, @model"
std::string words_of(const transform::CommRecord& record);  // "psum @data"

struct Line {
  grammar::Span at;  // the first of its spans
  int number = 0;
  LineCost cost;
};
std::vector<Line> lines_of(const Profile& time, const grammar::SourceMap& sources);  // in order

struct CommGroup {  // the collectives of a line that are of one kind, over the same axes
  std::vector<const transform::CommRecord*> records;
  double seconds = 0;  // of all
};
// `inserted`: those alone that the partitioner put there.
std::vector<CommGroup> groups_of(const Chip& chip, const exec::Executable& plan, const grammar::SourceMap& sources,
                                 bool inserted = false);
// Of the group of a line that takes longest the longest; null: the line has none.
const transform::CommRecord* longest_at(const Chip& chip, const exec::Executable& plan, grammar::Span line,
                                        const grammar::SourceMap& sources);
// "lacks 3.2 GiB", "waits 4 %: line 32, psum @data"; empty where it fits and nothing waits for more than a hundredth.
std::string shortcoming(const exec::Executable& plan, const Estimate& e, const Chip& chip,
                        const grammar::SourceMap& sources);

// ----

// Arguments whose memory a result may take: those that a result is like, as a training step's state is.
std::vector<bool> handed_over(std::span<const exec::ArrayInfo> arguments, const transform::Program& program);

// `donated`: by argument, whether its memory becomes a result's.
Estimate estimate(const Chip& chip, const transform::Program& program, const Instructions& instructions,
                  const Memory& memory);
Estimate estimate(const Chip& chip, const exec::Executable& plan, std::span<const exec::ArrayInfo> arguments,
                  const std::vector<bool>& donated);

Memory memory_of(const exec::Executable& plan, std::span<const exec::ArrayInfo> arguments,
                 const std::vector<bool>& donated);

}  // namespace shard::cost_model
