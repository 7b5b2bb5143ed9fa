#include "stdlib/host/transforms/traced_call.h"

namespace shard::stdlib {

using lang::Value;
using trace::Tensor;

std::vector<Tensor> ResultTree::take(lang::Interpreter& in, const Value& result, bool numbers_too, grammar::Span span) {
  std::vector<Tensor> tensors;
  tree = result;
  index.clear();
  for (const Value& leaf : lang::leaves(result)) {
    bool number = leaf.is_host_number() || leaf.is<bool>();
    if (!leaf.is_tensor() && !(numbers_too && number)) {
      index.push_back(-1);
      continue;
    }
    index.push_back(static_cast<int>(tensors.size()));
    tensors.push_back(in.tensor(leaf, span));
  }
  return tensors;
}

Value ResultTree::rebuild(std::span<const Tensor> results) const {
  std::vector<Value> out = lang::leaves(tree);
  for (std::size_t i = 0; i < out.size(); ++i)
    if (index[i] >= 0) out[i] = results[static_cast<std::size_t>(index[i])];
  return lang::with_leaves(tree, std::move(out));
}

TracedCall trace_call(lang::Interpreter& in, std::span<const runtime::Type> params, bool numbers_too,
                      grammar::Span span, const std::function<Value(std::span<const Tensor>)>& call, bool types_only) {
  TracedCall out;
  out.traced = in.trace(
      params,
      [&](std::span<const Tensor> arguments) { return out.result.take(in, call(arguments), numbers_too, span); },
      types_only);
  return out;
}

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

std::vector<runtime::Type> types_of(std::span<const Tensor> tensors) {
  std::vector<runtime::Type> out;
  for (const Tensor& t : tensors) out.push_back(t.type());
  return out;
}

Value with_tensors(const Value& tree, std::span<const Tensor> leaves) {
  std::vector<Value> values(leaves.begin(), leaves.end());
  return lang::with_leaves(tree, std::move(values));
}

}  // namespace shard::stdlib
