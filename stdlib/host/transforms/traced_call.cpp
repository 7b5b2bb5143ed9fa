#include "stdlib/host/transforms/traced_call.h"

namespace shard::stdlib {

using lang::Value;
using trace::Tensor;

lang::TreeStructure take_results(lang::Interpreter& in, Value value, lang::Take which, std::vector<Tensor>& results,
                                 grammar::Span span) {
  return lang::take_leaves(std::move(value), which, results, [&](const Value& leaf) { return in.tensor(leaf, span); });
}

TracedCall trace_call(lang::Interpreter& in, std::span<const runtime::Type> params, lang::Take which,
                      grammar::Span span, const std::function<Value(std::span<const Tensor>)>& call, bool types_only) {
  TracedCall out;
  out.traced = in.trace(
      params,
      [&](std::span<const Tensor> arguments) {
        std::vector<Tensor> results;
        out.result = take_results(in, call(arguments), which, results, span);
        return results;
      },
      types_only);
  return out;
}

void will_be_differentiated(lang::Interpreter& in) { ++in.context().frame()->derivatives; }

std::vector<Tensor> tensor_leaves(lang::Interpreter& in, const Value& tree, grammar::Span span, std::string_view what) {
  std::vector<Tensor> out;
  for (const Value& leaf : lang::leaves(tree)) {
    if (!leaf.is_tensor() && !leaf.is_host_number() && !leaf.is<bool>())
      in.fail("type", span,
              std::string(what) + " takes arrays and numbers, and trees of them; this holds " + lang::kind_name(leaf));
    out.push_back(in.tensor(leaf, span));
  }
  return out;
}

Value with_tensors(const Value& tree, std::span<const Tensor> leaves) {
  std::vector<Value> values(leaves.begin(), leaves.end());
  return lang::with_leaves(tree, std::move(values));
}

}  // namespace shard::stdlib
