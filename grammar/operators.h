// THE table of operators: how each is written, how tightly it binds, which node it makes. Everything that must agree
// with it (the parser's chains, the printer's parentheses, what ends an expression) reads it. Called by expression.cpp
// and print.cpp.
#pragma once
#include <string_view>
#include <vector>

#include "grammar/ast.h"
#include "grammar/state.h"

namespace shard::grammar {

// Loosest first. `|>` stands below all of these, calls and indices above.
enum class Level { Or = 1, And, Not, Compare, Range, BitOr, BitAnd, Shift, Sum, Product, Sign, Power, Postfix };
enum class Side { Left, Right, None };  // None: `a < b < c` is refused

struct BinaryRow {
  std::string_view token;
  BinaryOp op;
  Level level;
  Side side;
  bool in_sizes;
};  // in_sizes: may stand before the `@` of a type
struct UnaryRow {
  std::string_view token;
  UnaryOp op;
  Level level;
};

const BinaryRow& row(BinaryOp op);
const UnaryRow& row(UnaryOp op);

// The operator that `text` starts with, or null. Longer tokens win, those that are no operators (`|>` `->` `+=`) too.
const BinaryRow* binary_at(std::string_view text);
const UnaryRow* unary_at(std::string_view text);

// An expression without its brackets, as it is written: signs and operands and operators, in the order of the text.
struct Link {
  const UnaryRow* prefix = nullptr;  // one of the three
  const BinaryRow* binary = nullptr;
  Operand operand;
  Span span;  // of the token
};

// The tree of a chain, by precedence; no recursion, so that its length is no matter. Throws Error for `a < b < c` and
// the like.
Operand climb(State& state, std::vector<Link> chain);

}  // namespace shard::grammar
