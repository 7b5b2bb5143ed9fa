#include "interpreter/ir/infer.h"

#include "interpreter/ir/explicit_law.h"
#include "interpreter/ir/linear.h"

namespace shard::ir {
using runtime::Kind;
using runtime::RuntimeError;

std::vector<Type> infer(const OpCall& call) {
  if (call.op.infer) return call.op.infer(call);
  FactorRule rule = factors_of(call);
  if (rule.operands.size() != call.in.size())
    throw RuntimeError("arity", std::string(call.op.name) + " takes " + std::to_string(rule.operands.size()) +
                                    " arrays, got " + std::to_string(call.in.size()));
  std::vector<runtime::Shape> shapes;
  if (call.op.shape)
    shapes = call.op.shape(call);
  else
    for (std::size_t r = 0; r < rule.results.size(); ++r) shapes.push_back(result_shape(rule, static_cast<int>(r)));
  std::vector<Kind> kinds = result_kinds(call, shapes.size());
  std::vector<Type> out;
  runtime::AxisSet varying;
  for (const Type& t : call.in) varying |= t.varying;
  for (std::size_t r = 0; r < shapes.size(); ++r) {
    if (shapes[r].size() > static_cast<std::size_t>(runtime::kMaxRank))
      throw RuntimeError("shape", "the result has " + std::to_string(shapes[r].size()) + " dimensions, at most " +
                                      std::to_string(runtime::kMaxRank) + " are possible");
    runtime::checked_bytes(shapes[r], runtime::size_of(kinds[r].dtype));
    Type t = Type::of(kinds[r].dtype, shapes[r], kinds[r].weak);
    t.varying = varying;
    out.push_back(std::move(t));
  }
  apply_explicit_law(call, rule, out);
  return out;
}

}  // namespace shard::ir
