// The machine code of an elementwise program: its steps, in parts between the reductions of rows and the codes whose
// functions are not formulas. A part keeps values in registers of the processor, and writes those that others read; of
// rows of 64 elements or a few times as many it adds up what it computes.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "runtime/kernels/element_plan.h"
#include "runtime/kernels/element_program.h"
#include "runtime/kernels/generated/several_turns.h"

namespace shard::runtime::generated {

struct ElementCode {
  static constexpr std::size_t kMostNodes = 1500, kMostOperands = 128;  // of a part
  struct Place {  // an operand of a part: where the elements of a register are
    std::uint16_t reg;
    std::uint8_t item;    // bytes
    bool of_row = false;  // of a value of a row, for all its elements
    bool spread = false;  // one element for all
    bool stored = false;
    std::uint16_t array = 0;  // where the code is `whole` or `in_lines`: the output, if it is stored, else the input
  };
  struct Part {
    std::size_t first, last;  // steps
    MachineCode code = {};    // none: the one step is to be done by its loop
    std::vector<Place> places = {};
    bool of_row = false;  // the results have one element a row
    bool by_row = false;  // an operand is another one in each row
    bool padded = false;  // operands have room for a vector more than what is in them
    // Elements [at, at + n) of what `base` gives an address for, by register.
    void run(void* const* base, std::int64_t n, std::int64_t row) const;

   private:
    void some(unsigned char** at, std::int64_t n) const;
  };
  std::vector<Part> parts;
  // One part, and all operands lie as the elements do: no tiles are needed. Of a program of few elements all code is.
  bool whole = false;
  bool few = false;       // of few elements: `run_few` does all
  bool in_lines = false;  // the same of operands that lie in the plan's lines
  // By register: operands have it in memory as arrays do, in two bytes; no loop reads or makes it.
  std::vector<bool> narrow;
  bool loops = false;  // a step is done by its loop, or a result is a constant: these are to be in their registers
  std::unique_ptr<const SeveralTurns> several;  // where it is one of few elements
  void run_lines(const ElementPlan& plan, void* const* inputs, void* const* outputs, std::int64_t from,
                 std::int64_t to) const;
  void run_few(void* const* inputs, void* const* outputs, std::int64_t count) const;
  ElementTurns turns(std::size_t inputs, std::int64_t count, std::array<void* const*, 2> operands,
                     std::span<const ElementTurns::Moving> moving) const;
};

// Null: there is nothing to gain.
std::unique_ptr<const ElementCode> make_element_code(const ElementPlan& plan);

}  // namespace shard::runtime::generated
