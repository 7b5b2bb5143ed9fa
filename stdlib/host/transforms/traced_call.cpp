// A function of the script traced on tensors, and the leaves of its arguments.
#include "stdlib/host/transforms/transforms.h"

namespace shard::stdlib {

lang::TreeStructure take_results(Interpreter& in, Value value, lang::Take which, std::vector<Tensor>& results,
                                 grammar::Span span) {
  return lang::take_leaves(std::move(value), which, results, [&](const Value& leaf) { return in.tensor(leaf, span); });
}

TracedCall trace_call(Interpreter& in, std::span<const Type> params, lang::Take which, grammar::Span span,
                      const std::function<Value(std::span<const Tensor>)>& call, bool types_only) {
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

std::vector<Tensor> with_captured(std::vector<Tensor> arguments, const trace::Traced& traced) {
  arguments.insert(arguments.end(), traced.captured.begin(), traced.captured.end());
  return arguments;
}

void will_be_differentiated(Interpreter& in) { ++in.context().frame()->derivatives; }

std::vector<Tensor> tensor_leaves(Interpreter& in, const Value& tree, grammar::Span span, std::string_view what) {
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

CallArrays::CallArrays(std::vector<CallArg> args) : call(std::move(args)) {
  std::vector<Value> values;
  for (const CallArg& a : call) values.push_back(a.value);
  tree = lang::TreeStructure(Value::tuple(std::move(values)));
  for (bool wants_float : {true, false})
    for (std::size_t i = 0; i < tree.size(); ++i) {
      const Value& leaf = tree.leaf(i);
      if (!leaf.is_tensor() || runtime::is_inexact(leaf.tensor().type().dtype) != wants_float) continue;
      tree.take(i, tensors.size());
      where.push_back(i);
      tensors.push_back(leaf.tensor());
      floats += wants_float;
    }
}

std::vector<CallArg> CallArrays::with(std::span<const Tensor> given) const {
  const Value rebuilt = tree.filled(given);
  std::vector<CallArg> out = call;
  for (std::size_t i = 0; i < out.size(); ++i) out[i].value = (*rebuilt.items())[i];
  return out;
}

Tensor moved_axis(Interpreter& in, const Tensor& x, std::int64_t from, std::int64_t to) {
  if (from == to) return x;
  const std::int64_t rank = x.type().rank();
  ir::Ints perm;
  for (std::int64_t d = 0; d < rank; ++d)
    if (d != from) perm.push_back(d - rank);
  perm.insert(perm.begin() + to, from - rank);
  return in.context().apply1(*in.context().table().core().transpose, {x}, {{"perm", std::move(perm)}});
}

}  // namespace shard::stdlib
