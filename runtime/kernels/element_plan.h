// What an elementwise program becomes when it is prepared for fixed shapes: steps over slots of a scratch that is
// reused by registers never alive together, and for each input and output how it reaches memory. Made once, run often
// (element_program.cpp).
#pragma once
#include <array>
#include <memory>
#include <span>
#include <vector>

#include "runtime/kernels/element_lines.h"
#include "runtime/kernels/element_program.h"
#include "runtime/kernels/groups.h"
#include "runtime/kernels/nest.h"
#include "runtime/kernels/reduce_plan.h"
#include "runtime/kernels/vector/loop_table.h"

namespace shard::runtime {

// Narrow floats are held as f32 in registers, rounded after every step.
inline std::size_t held_bytes(DType t) { return is_narrow(t) ? 4 : size_of(t); }

struct ElementPlan {
  // Dense; one element for all; the same for each row; anything else.
  enum class Way : std::uint8_t { Direct, Scalar, Row, Gather };
  struct Input {
    Way way = Way::Gather;
    bool fits = false;  // Gather with dense lines: a tile inside one line is used in place
    bool kept = false;  // also an output: copied first where outputs alias inputs
    std::uint8_t item;  // bytes
    std::uint16_t reg;
    Nest<1> nest;
    Loop load = nullptr;                             // of narrow floats: to f32
    std::shared_ptr<const Groups> groups = nullptr;  // Gather of these
    bool turned = false;  // Gather whose neighbours lie in the dimension before the last: kPanel lines at a time
    // A piece of what the register of the last piece holds: of each `period` elements of that the `length` from `begin`
    // on. 0: it is none. `pieces`: of the last one, how many there are.
    std::int64_t begin = 0, length = 0, period = 0;
    int pieces = 0;
    // Gather: each `cycle` elements are the same in every stretch of `cycles`; once brought they stay (0: there is
    // none).
    std::int64_t cycle = 0, cycles = 0;
    std::size_t memo = 0;                                                // of these inputs, which
    bool once() const { return way == Way::Scalar || way == Way::Row; }  // is filled once for many tiles
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
    // In place of `run`: a reduction of rows, else elements of so many bytes are repeated along them.
    std::shared_ptr<const ReducePlan> rows = nullptr;
    std::size_t item = 0;
    std::array<std::uint8_t, 4> wide = {};  // bytes that a, b, c and dst hold an element in
    Code code = Code::Identity;             // what `run` does, to operands of this type
    DType type = DType::F32;
  };
  struct Output {
    std::uint16_t reg;
    std::uint8_t item;      // bytes
    bool in_place = false;  // computed straight into memory, where that holds it as a register does
    bool early = false;     // written while inputs are still to be read: not in place where it may alias one
    Loop store = nullptr;   // of narrow floats: from f32
    OutputLines lines = {};
    std::shared_ptr<const ReducePlan> reduce = nullptr;  // leaves are made of it
    std::size_t lanes = 0;                               // for which these are at so many bytes of the scratch
  };
  static constexpr std::int64_t kTile = 1024;        // elements, or those of a longer row
  static constexpr std::int64_t kTileOfRows = 4096;  // where short rows are done together
  static constexpr std::int64_t kNearTile = 128;     // at least, where the first cache is too small for more
  static constexpr std::int64_t kPart = 256;  // elements of a long row that steps without reductions take at a time
  static constexpr std::int64_t kLeastTile = 16;
  static constexpr std::size_t kScratch = 128 * 1024;  // bytes of slots that the stack is asked for
  static constexpr std::size_t kFewBytes = 16 * 1024;  // of their slots
  static constexpr std::size_t kFewRegisters = 128;
  static constexpr std::size_t kCycles = 8;                           // inputs at most
  static constexpr std::int64_t kPanel = 16, kPanelLine = 16 * 1024;  // lines; their length at most, in bytes

  std::int64_t count = 1, tile = kTile;
  std::int64_t together = 1;  // elements, or a multiple, that one thread has to do all of: whole rows, whole leaves
  std::int64_t least = 1;     // that are worth a thread
  std::int64_t row = 1;       // elements of a row; a tile is of whole rows
  // There are at most kFewElements, and nothing is to be brought together: then `filled`
  // has each constant for all of them.
  bool few = false;
  std::vector<unsigned char> filled;
  std::int64_t cost = 1;  // of an element, of all steps
  std::vector<Input> inputs;
  std::vector<Constant> constants;
  std::vector<Step> steps;
  std::vector<Output> outputs;
  std::vector<DType> types;       // of each register
  std::vector<std::size_t> slot;  // of each register: bytes before it, for each element of the tile, or for each row
  std::vector<bool> of_row;       // of each register: it has one element a row
  std::size_t slot_bytes = 0, row_bytes = 0;
  // Bytes in a slot for each of its element's, where all elements are one tile; vectors begin with them.
  std::size_t few_room() const { return static_cast<std::size_t>((count + 15) / 16 * 16); }
  // Elements of a register in n elements of a tile; bytes of all slots, and where a register's is.
  std::int64_t held(std::size_t r, std::int64_t n) const { return row > 1 && of_row[r] ? n / row : n; }
  std::vector<std::size_t> offset;  // of each register: bytes in the scratch of a tile
  std::size_t scratch_bytes = 0;
  Leaves leaves;
  std::optional<ElementLines> lines;  // machine code may read and write them where they lie

  ElementPlan(const ElementProgram& program, std::span<const View> in, std::span<const View> out);

 private:
  void place_registers();
  void size_tile();
  void find_lines(const ElementProgram& p, std::span<const View> in, std::span<const View> out);
};

}  // namespace shard::runtime
