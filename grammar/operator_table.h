// THE table of operators and of the other signs: how each is written, how tightly it binds, which node it makes,
// whether a statement goes on after it. Everything that must agree with it (the scanner, the parser's chains, the
// printer's parentheses, what ends an expression or a line) reads it.
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

// The sign (or `and`, `not`, `as`, ...) that `text` starts with, the longest of the language; empty where none stands.
std::string_view sign_at(std::string_view text);
// Whether a statement goes on in the next line behind it.
bool goes_on_after(std::string_view sign);

// The operator that `text` starts with, or null.
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
