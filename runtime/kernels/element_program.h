// Elementwise programs: straight-line code over registers, run tile by tile (blocks that fit the cache) with vector
// instructions. One program is a fused chain: inputs are loaded (and broadcast) once, outputs stored once.
// A program may have rows: the last elements of each view, `row` of them, belong together. Then some registers hold one
// element a row: what a reduction of a row leaves, and what is repeated along one.
// Codes (codes.h) are the vocabulary of the `kernel` column of elementwise operation rows; a pass fuses codes, it knows
// no operation.
#pragma once
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "runtime/array/stop.h"
#include "runtime/array/view.h"
#include "runtime/kernels/codes.h"
#include "runtime/kernels/leaves.h"

namespace shard::runtime {

struct Instr {
  Code code;                           // of elements, or of rows: operands and result are of one kind
  DType type;                          // of the operands (for Select: of the two values)
  std::uint16_t dst, a, b = 0, c = 0;  // registers
  std::optional<Reduce> reduce = {};   // in place of the code: each row of `a` to one element
  bool repeat = false;                 // in place of the code: each element of `a` along its row
};

// A program of no more elements, as in loops of small things, is done at once: it has code that turns of a loop call.
inline constexpr std::int64_t kFewElements = 256;

struct ElementProgram {
  std::vector<DType> registers;       // type of each register
  std::vector<std::uint16_t> inputs;  // register that input i is loaded into
  struct Constant {
    std::uint16_t reg;
    double value;
    std::int64_t integer;
  };  // integer for integer and bool registers
  std::vector<Constant> constants;
  std::vector<Instr> code;
  std::vector<std::uint16_t> outputs;  // register that output i is stored from
  std::int64_t row = 0;                // elements of a row; 0: there are no rows
  std::vector<bool> of_row = {};       // by register; where it is shorter: false
  // Inputs [first, first + count) have one register: they are pieces of what it holds, one behind the other along this
  // dimension of their views.
  struct Join {
    std::uint16_t first, count, dim;
  };
  std::vector<Join> joins = {};
  // Outputs that are reduced over all of what `leaves` says, of types that are held as they are: the view is of the
  // elements, and the leaves (of this layout) are written. One for each output; where it is shorter: none.
  std::vector<std::optional<Reduce>> reduced = {};
  Leaves leaves = {};
  bool is_of_row(std::uint16_t r) const { return r < of_row.size() && of_row[r]; }
};

// The machine code of a program of few elements, in turns of a loop: even and odd ones have addresses of their own,
// some of which move on by so many bytes after each turn of their kind. Where what a turn writes is what the next one
// reads, there may be code of several turns at once, which keeps it in registers.
class ElementTurns {
 public:
  using Code = void (*)(unsigned char* const* at, std::int64_t n);
  using Moving = std::pair<std::size_t, std::int64_t>;  // which, bytes
  struct Several {
    Code code = nullptr;
    std::int64_t turns = 0;                                           // an even number
    std::vector<std::pair<std::size_t, std::int64_t>> operands = {};  // which of a turn, and the turn
  };
  ElementTurns(Code code, std::int64_t elements, std::array<std::vector<unsigned char*>, 2> at,
               std::vector<Moving> moving, const Several* several)
      : code_(code), elements_(elements), at_(std::move(at)), moving_(std::move(moving)), several_(several) {}
  void run(std::int64_t turn) {
    std::vector<unsigned char*>& now = at_[static_cast<std::size_t>(turn & 1)];
    code_(now.data(), elements_);
    for (const auto& [i, bytes] : moving_) now[i] += bytes;
    several_at_.clear();
  }
  void run(std::int64_t turn, std::int64_t many);

 private:
  void begin_several();
  Code code_;
  std::int64_t elements_;
  std::array<std::vector<unsigned char*>, 2> at_;
  std::vector<Moving> moving_;
  const Several* several_;  // null: there is none
  std::vector<unsigned char*> several_at_;
  std::vector<Moving> several_moving_;
};

// Prepared for fixed shapes and strides; run with pointers only. Inputs broadcast by strides of 0; all views have the
// same shape (that of the outputs, which are dense or of lines), those of one element a row what is left without the
// row, and pieces less of one dimension. Safe to run from several threads at once. Large runs spread over oneTBB; every
// element is computed the same way wherever it falls, so the split does not change bits.
class ElementKernel {
 public:
  ElementKernel(ElementProgram program, std::span<const View> inputs, std::span<const View> outputs);
  ~ElementKernel();
  ElementKernel(ElementKernel&&) noexcept;
  // Outputs may alias inputs of the same shape and type.
  void run(void* const* inputs, void* const* outputs, const Stop* stop = nullptr) const;
  // Elements [from, to) alone, in the calling thread; `from` a multiple of together(), and `to` too, or the end. 0: not
  // by parts.
  void run_part(void* const* inputs, void* const* outputs, std::int64_t from, std::int64_t to) const;
  std::int64_t together() const;
  bool reads_in_order(std::size_t input) const;  // of each element the input's element that lies where it does
  // Of operands (inputs, then outputs) in even and in odd turns, and those that move; nothing where the program is not
  // of few elements, or has no machine code yet.
  std::optional<ElementTurns> turns(std::array<void* const*, 2> operands,
                                    std::span<const ElementTurns::Moving> moving) const;
  // Machine code of a program of few elements, made now where there is none yet, and which operand (inputs, then
  // outputs) each of its addresses is; nothing where that cannot be.
  struct FewCode {
    ElementTurns::Code code;
    std::int64_t elements;
    std::vector<std::size_t> operands;
  };
  std::optional<FewCode> few_code() const;
  // Makes machine code of the program (generated/element_code.h), if that can be, as runs do once they have had enough
  // to do: the same bits, sooner. Whether there is any.
  bool generate() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace shard::runtime
