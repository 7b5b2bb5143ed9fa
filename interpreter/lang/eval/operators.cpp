#include "interpreter/lang/eval/operators.h"

#include <array>
#include <stdexcept>

#include "grammar/operator_table.h"

namespace shard::lang {
namespace {

using grammar::AssignOp;
using grammar::BinaryOp;
using grammar::UnaryOp;

// In the order of BinaryOp.
constexpr std::array<std::string_view, 21> kBinary = {
    "logical_or", "logical_and", "eq",  "ne",  "lt",  "le",  "gt",           "ge",  "",       "bit_or", "bit_and",
    "shift_left", "shift_right", "add", "sub", "mul", "div", "floor_divide", "mod", "matmul", "pow"};
// In the order of UnaryOp.
constexpr std::array<std::string_view, 4> kUnary = {"neg", "", "bit_not", "logical_not"};
static_assert(static_cast<std::size_t>(BinaryOp::Pow) + 1 == kBinary.size());
static_assert(static_cast<std::size_t>(UnaryOp::Not) + 1 == kUnary.size());

}  // namespace

std::string_view row_of(BinaryOp op) { return kBinary[static_cast<std::size_t>(op)]; }
std::string_view row_of(UnaryOp op) { return kUnary[static_cast<std::size_t>(op)]; }
std::string_view sign_of(BinaryOp op) { return grammar::row(op).token; }
std::string_view sign_of(UnaryOp op) { return grammar::row(op).token; }

BinaryOp operator_of(AssignOp op) {
  switch (op) {
    case AssignOp::Add: return BinaryOp::Add;
    case AssignOp::Sub: return BinaryOp::Sub;
    case AssignOp::Mul: return BinaryOp::Mul;
    case AssignOp::Div: return BinaryOp::Div;
    case AssignOp::Set: break;
  }
  throw std::logic_error("`=` is no operator");
}

std::string_view scatter_of(AssignOp op) {
  switch (op) {
    case AssignOp::Set: return "set";
    case AssignOp::Add:
    case AssignOp::Sub: return "add";  // x[i] -= v adds -v
    case AssignOp::Mul: return "mul";
    case AssignOp::Div: break;
  }
  return "";
}

}  // namespace shard::lang
