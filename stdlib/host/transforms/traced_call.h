// A script's function traced on tensors: what every transform starts from. The leaves of some arguments become
// parameters of a graph; everything else that the function uses is captured.
#pragma once
#include <functional>

#include "interpreter/lang/eval/interpreter.h"

namespace shard::stdlib {

// The leaves of a result: tensors become results of the graph (index into them), all else stays as it is.
struct ResultTree {
  lang::Value tree;
  std::vector<int> index;  // by leaf; -1: the leaf of `tree` itself
  std::vector<trace::Tensor> take(lang::Interpreter& in, const lang::Value& result, bool numbers_too,
                                  grammar::Span span);
  lang::Value rebuild(std::span<const trace::Tensor> results) const;
};

struct TracedCall {
  trace::Traced traced;
  ResultTree result;
};

// Traces `call` on parameters of these types; it gives the value of the function. `numbers_too`: host numbers in the
// result become constant tensors.
TracedCall trace_call(lang::Interpreter& in, std::span<const runtime::Type> params, bool numbers_too,
                      grammar::Span span, const std::function<lang::Value(std::span<const trace::Tensor>)>& call,
                      bool types_only = false);

// All leaves of a tree as tensors (host numbers as weak scalars); an error naming `what` for leaves that are neither.
std::vector<trace::Tensor> tensor_leaves(lang::Interpreter& in, const lang::Value& tree, grammar::Span span,
                                         std::string_view what);
std::vector<runtime::Type> types_of(std::span<const trace::Tensor> tensors);
lang::Value with_tensors(const lang::Value& tree, std::span<const trace::Tensor> leaves);

}  // namespace shard::stdlib
