// A formula's operands in memory, and the formula of several vectors at once.
#pragma once
#include <cstddef>
#include <span>
#include <vector>

#include "runtime/kernels/generated/formula.h"

namespace shard::runtime::generated {

// How memory has what lanes hold: as they do; truth values as bytes 0 and 1; i32 that fits into it as i8, as u8; f32
// that is rounded to it as bf16, as f16.
enum class Form : std::uint8_t { Held, Truth, I8, U8, Brain, Half };
constexpr bool is_byte(Form f) { return f == Form::Truth || f == Form::I8 || f == Form::U8; }
constexpr std::size_t bytes_of(Kind k, Form f) { return f == Form::Held ? bytes_of(k) : is_byte(f) ? 1 : 2; }

struct Operand {
  Kind kind;
  Form form = Form::Held;
  bool spread = false;     // one element for all lanes of all vectors
  std::int64_t apart = 0;  // bytes from a row to the next one, where the code does rows
  int bytes() const { return static_cast<int>(bytes_of(kind, form)); }
};
struct Stored {
  NodeId node;
  std::size_t operand;  // not `spread`
  int vector = 0;       // of a turn
  bool sum = false;     // the operand is one element: the sum of all
  bool first = false;   // it is one: that of the first lane
};

// What a turn of the code does. Ragged: vectors of AVX-512, of which only what is left of the elements is touched.
enum class Turn : std::uint8_t { Element, Vector, Vectors, Ragged };

struct Unrolled {
  Formula formula;
  std::vector<Stored> stored;
};
// One vector waits for its results while another computes.
Unrolled side_by_side(const Formula& given, std::span<const Operand> operands, std::span<const Stored> stored,
                      int vectors);
// The most values that have to be held at one time, those apart that are the same in all turns.
int held_at_most(const Unrolled& formula, std::span<const Operand> operands);

}  // namespace shard::runtime::generated
