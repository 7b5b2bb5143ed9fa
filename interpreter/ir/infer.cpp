#include "interpreter/ir/infer.h"

#include "interpreter/ir/explicit_law.h"

namespace shard::ir {
namespace {

using runtime::Kind;
using runtime::RuntimeError;

// What the code of an elementwise row does not take is refused here, where a row does not say it in its own words.
void check_taken(const OpCall& call, runtime::Code code) {
  const std::size_t first = runtime::facts(code).operands == 3 ? 1 : 0;
  for (const Type& t : call.in.subspan(first))
    if (!runtime::takes(code, t.dtype))
      throw RuntimeError("type", std::string(call.op.name) + " is for " +
                                     runtime::to_string(runtime::facts(code).takes) + ", got " + runtime::to_string(t));
}

}  // namespace

std::vector<Kind> result_kinds(const OpCall& call, std::size_t results) {
  if (call.op.dtype.result) return call.op.dtype.result(call);
  if (const auto* code = std::get_if<runtime::Code>(&call.op.kernel)) {
    check_taken(call, *code);
    if (runtime::facts(*code).gives == runtime::Gives::Truth) return {{runtime::DType::Bool, false}};
  }
  if (call.in.empty())
    throw std::logic_error("row `" + std::string(call.op.name) + "` has no operands and no dtype column");
  return std::vector<Kind>(results, call.in[0].kind());
}

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
