// Fixes where branches, or a loop's body and what came in, differ in layout: the text that brings every part that
// differs to the type that is wanted, in literals, variables, and fields and elements of variables.
#pragma once
#include <string>
#include <vector>

#include "interpreter/lang/fixes/conversion.h"

namespace shard::lang {

// One result of a region that must agree in type: a leaf of a tree. `variable` "": of the block's own value.
struct Differing {
  runtime::Type want, have;
  std::string variable;
  const Value* tree;
  std::size_t leaf;
};
// Brings them to their types at the end of the block; nothing where the text does not show how. Those that differ in
// more than the layout are left out.
std::vector<grammar::Fix> block_fixes(Interpreter& in, const grammar::Expr& block, const std::vector<Differing>& all);
// The same by what stands before the loop at `loop`, where the values that come in are to be changed.
std::vector<grammar::Fix> entry_fixes(const grammar::Span& loop, const std::vector<Differing>& all);

}  // namespace shard::lang
