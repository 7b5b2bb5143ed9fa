// A formula as data: what machine code is made of. A list of nodes, each an operation on earlier ones; equal nodes are
// one. Every node has one value for each lane of a vector; conditions are masks, all bits of a lane set or none.
#pragma once
#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "runtime/kernels/codes.h"

namespace shard::runtime::generated {

enum class Op : std::uint8_t {
  Constant,  // `value`: its bits
  Load,      // `value`: the operand in memory
  Kept,      // `a`, in a register or a slot of its own
  Add,
  Sub,
  Mul,
  Div,
  Upper,    // of a * b, as numbers without signs of 4 bytes, the upper half, shifted down by `value`; b is a Constant
  Fused,    // a * b + c of f32, rounded once
  Scale,    // a * 2^b, of whole b; AVX-512 alone
  Larger,   // a > b ? a : b, whatever order nan and zeros have
  Smaller,  // a < b ? a : b
  Root,
  Floor,
  Ceil,
  Round,
  And,
  Or,
  Xor,
  Merge,  // the bits of a where those of c are set, else those of b; AVX-512 alone
  Left,   // shifts by `value`
  Right,  // the sign moves in
  Down,   // zeros move in
  Less,   // a < b; of this and the next three the result is a mask, `value` the Kind of what they compare
  AtMost,
  Equal,
  Differs,
  Pick,      // `a`, a mask, chooses between b and c
  Fill,      // `a`; `value` where a lane has no element
  Lane,      // `a` of lane `value`, in all lanes
  Swap,      // `a` of the lane `value` (8, 4, 2, 1) before or behind, of two times as many
  Half,      // f32 rounded to f16
  Brain,     // f32 rounded to bf16, which is the upper half of the result; AVX-512 alone
  Whole,     // i32 as a float; a float as i32, to zero or (f64, `value` 1) down
  Wider,     // f32 as f64, a mask of 4 bytes as one of 8
  Narrower,  // the other way round; the low half of 8 bytes
  Rare  // `a`; but by kLibrary[value] (rare.h) where `c`, the magnitude of b, is above its limit: its function of b
};
bool has_avx512();  // the processor, and SHARD_ISA asks for no less
// What a lane holds; a mask is an integer.
enum class Kind : std::uint8_t { I32, F32, I64, F64 };
constexpr std::size_t bytes_of(Kind k) { return k < Kind::I64 ? 4 : 8; }
constexpr bool is_float(Kind k) { return k == Kind::F32 || k == Kind::F64; }

using NodeId = std::int32_t;
struct Node {
  Op op;
  Kind kind;
  NodeId a = -1, b = -1, c = -1;
  std::uint64_t value = 0;
  bool mask = false;
  int vector = 0;  // of a Load where a turn of the code does several
  auto operator<=>(const Node&) const = default;
};

class Formula {
 public:
  std::vector<Node> nodes;
  const Node& at(NodeId id) const { return nodes[static_cast<std::size_t>(id)]; }
  NodeId add(const Node& n);
  // The node as it is stored: a truth value as a mask of 4 bytes, what is loaded in a register of its own.
  NodeId stored(NodeId id, bool truth);
  // A node with the same upper half of 4 bytes, of which alone bf16 is stored.
  NodeId stored_upper(NodeId id);

 private:
  std::map<Node, NodeId> known_;
};

// What an operand in memory holds, if a lane can hold it: bools are bytes there and masks in lanes.
std::optional<Kind> kind_of(DType type);

// The code's function (vector/functions.h) of these nodes, written down; nothing where it is not made of operations
// that there are. `type`: of the operands; `to`: of the result.
std::optional<NodeId> record(Formula& formula, Code code, DType type, DType to, std::span<const NodeId> operands);

// What rounds the node to a type that is held wider than it is.
std::optional<NodeId> record_rounding(Formula& formula, DType to, NodeId x);

}  // namespace shard::runtime::generated
