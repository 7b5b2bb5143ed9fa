// Machine code of loops of small things: turns of a loop, and of loops and branches inside it, as straight code over a
// table of addresses. What has no code of its own is called. A caller says what is to be done (`LoopPart`), by places
// in the table, and fills the table before a run.
#pragma once
#include <cstdint>
#include <memory>
#include <variant>
#include <vector>

#include "runtime/kernels/element_program.h"
#include "runtime/kernels/moves.h"

namespace shard::runtime {

struct LoopCode {
  // What a run needs besides the table. `call` does what has no code; `due` is asked after kTurns turns of inner loops.
  // Both are true where the run is to end. The code is no frame that exceptions pass: they keep them.
  struct Context {
    static constexpr std::int64_t kTurns = 64;
    std::int64_t turns = 0;       // of the outermost loop: at most, then those that are left
    std::int64_t ahead = kTurns;  // turns of inner loops until `due` is asked
    bool (*call)(Context&, const void* what, void** at) noexcept = nullptr;
    bool (*due)(Context&) noexcept = nullptr;
  };
  using Run = bool (*)(void** table, Context* context);  // true: it was ended
  virtual ~LoopCode() = default;
  Run run = nullptr;
};

// Places are indices of the table.
struct LoopPart {
  struct Copy {
    std::size_t to, from, bytes;  // nothing where both are the same
  };
  struct Set {
    std::size_t to, from;  // addresses
  };
  struct Advance {
    std::size_t place;
    std::int64_t bytes;
  };
  struct Elements {
    ElementTurns::Code code;
    std::size_t first;  // of its operands, which lie side by side
    std::int64_t elements;
  };
  struct Moved {
    const Moves* moves;
    std::size_t first, operands;  // the result behind them
  };
  struct Called {
    const void* what;
    std::size_t first;
  };
  struct Loop;
  struct Choice;
  using Act = std::variant<Copy, Set, Elements, Moved, Called, std::unique_ptr<Loop>, std::unique_ptr<Choice>>;
  using Acts = std::vector<Act>;
  struct Half {  // of two turns of a loop, which read and write other places
    Acts acts;
    std::vector<Advance> advances;
    Acts condition;           // of the next turn
    std::size_t verdict = 0;  // where that writes whether there is one
  };
  // Turns go from one half to the other. Of so many turns, or as long as the condition holds.
  struct Loop {
    Acts begin;
    Half halves[2];
    bool conditional = false;
    std::int64_t turns = 0;
    std::size_t counter = 0;      // in the table
    std::vector<Copy> after_odd;  // where the last turn was one of the first half
  };
  struct Choice {
    std::size_t verdict;
    Acts branches[2];  // where it is true, where not
  };
};

// Of the outermost loop, whose turns the context counts; it begins with the first half, and with a turn. Null where
// there is no code generator.
std::unique_ptr<const LoopCode> make_loop_code(const LoopPart::Loop& loop);

}  // namespace shard::runtime
