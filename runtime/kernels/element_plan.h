// What an elementwise program becomes when it is prepared for fixed shapes: steps over slots of a scratch that is
// reused by registers never alive together, and for each input and output how it reaches memory. Made once, run often
// (element_program.cpp).
#pragma once
#include <array>
#include <memory>
#include <span>
#include <vector>

#include "runtime/kernels/element_program.h"
#include "runtime/kernels/nest.h"
#include "runtime/kernels/vector/loop_table.h"

namespace shard::runtime {

// Narrow floats are held as f32 in registers, rounded after every step.
inline std::size_t held_bytes(DType t) { return is_narrow(t) ? 4 : size_of(t); }

struct ElementPlan {
  enum class Way : std::uint8_t { Direct, Scalar, Gather };  // dense; one element for all; anything else
  struct Input {
    Way way = Way::Gather;
    bool fits = false;  // Gather with dense lines: a tile inside one line is used in place
    bool kept = false;  // also an output: copied first where outputs alias inputs
    std::uint8_t item;  // bytes
    std::uint16_t reg;
    Nest<1> nest;
    Loop load = nullptr;  // of narrow floats: to f32
    bool turned = false;  // Gather whose neighbours lie in the dimension before the last: kPanel lines at a time
  };
  struct Constant {
    std::uint16_t reg;
    std::uint8_t item;
    alignas(16) std::array<unsigned char, 16> value;
  };
  struct Step {
    Loop run, round;  // `round` for what is held wider than it is, else null
    std::uint16_t a, b, c, dst;
    int cost;  // of an element, in additions
  };
  struct Output {
    std::uint16_t reg;
    std::uint8_t item;      // bytes
    bool in_place = false;  // computed straight into memory
    bool early = false;     // written while inputs are still to be read: not in place where it may alias one
    Loop store = nullptr;   // of narrow floats: from f32
  };
  static constexpr std::int64_t kTile = 512;  // elements at most; tiles of a dozen f32 registers fit the first cache
  static constexpr std::int64_t kLeastTile = 16;
  static constexpr std::size_t kScratch = 128 * 1024;                 // bytes of slots that the stack is asked for
  static constexpr std::size_t kOne = 4 * 1024;                       // for a single element
  static constexpr std::int64_t kPanel = 16, kPanelLine = 16 * 1024;  // lines; their length at most, in bytes

  std::int64_t count = 1, tile = kTile;
  std::int64_t cost = 1;  // of an element, of all steps
  std::vector<Input> inputs;
  std::vector<Constant> constants;
  std::vector<Step> steps;
  std::vector<Output> outputs;
  std::vector<std::size_t> slot;  // of each register: bytes before it, for each element of the tile
  std::size_t slot_bytes = 0;

  ElementPlan(const ElementProgram& program, std::span<const View> in, std::span<const View> out);

 private:
  void place_registers(std::span<const DType> types);
};

}  // namespace shard::runtime
