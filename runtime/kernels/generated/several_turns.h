// Machine code of several turns of a loop, whose body is one program of few elements: what a turn gives the next one
// stays in registers.
#pragma once
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "runtime/kernels/element_program.h"
#include "runtime/kernels/generated/encoder.h"

namespace shard::runtime::generated {

class SeveralTurns {
 public:
  // Of one turn, of so many elements.
  SeveralTurns(Formula formula, std::vector<Operand> operands, std::vector<Stored> stored, Turn turn,
               std::int64_t elements)
      : formula_(std::move(formula)),
        operands_(std::move(operands)),
        stored_(std::move(stored)),
        turn_(turn),
        elements_(elements) {}
  // By operand: what it is from turn to turn.
  struct Way {
    bool moves = false;  // it lies elsewhere in each turn
    int from = -1;       // the operand that the turn before has written
    auto operator<=>(const Way&) const = default;
  };
  // Made when it is asked for; null: it would not pay.
  const ElementTurns::Several* find(const std::vector<Way>& ways) const;

 private:
  struct Made {
    MachineCode code;
    ElementTurns::Several turns;
  };
  Made make(const std::vector<Way>& ways) const;
  Formula formula_;
  std::vector<Operand> operands_;
  std::vector<Stored> stored_;
  Turn turn_;
  std::int64_t elements_;
  mutable std::mutex mutex_;
  mutable std::map<std::vector<Way>, Made> made_;
};

}  // namespace shard::runtime::generated
