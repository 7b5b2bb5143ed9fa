#include "interpreter/ir/infer.h"

#include "interpreter/ir/explicit_law.h"

namespace shard::ir {
namespace {

using runtime::Kind;
using runtime::RuntimeError;

std::vector<Kind> result_kinds(const OpCall& call, std::size_t results) {
  if (call.op.dtype.result) return call.op.dtype.result(call);
  if (call.in.empty())
    throw std::logic_error("row `" + std::string(call.op.name) + "` has no operands and no dtype column");
  return std::vector<Kind>(results, call.in[0].kind());
}

}  // namespace

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
    runtime::bytes_of(shapes[r], runtime::size_of(kinds[r].dtype));
    Type t = Type::of(kinds[r].dtype, shapes[r], kinds[r].weak);
    t.varying = varying;
    out.push_back(std::move(t));
  }
  apply_explicit_law(call, rule, out);
  return out;
}

}  // namespace shard::ir
