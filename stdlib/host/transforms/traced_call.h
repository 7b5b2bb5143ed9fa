// A script's function traced on tensors: what every transform starts from. The leaves of some arguments become
// parameters of a graph; everything else that the function uses is captured.
#pragma once
#include <functional>

#include "interpreter/lang/eval/interpreter.h"

namespace shard::stdlib {

// A value that becomes results of a graph, behind those that `results` holds; the tree that is left.
lang::TreeStructure take_results(lang::Interpreter& in, lang::Value value, lang::Take which,
                                 std::vector<trace::Tensor>& results, grammar::Span span);

struct TracedCall {
  trace::Traced traced;
  lang::TreeStructure result;
};

// Traces `call` on parameters of these types; it gives the value of the function, of which `which` become results.
TracedCall trace_call(lang::Interpreter& in, std::span<const runtime::Type> params, lang::Take which,
                      grammar::Span span, const std::function<lang::Value(std::span<const trace::Tensor>)>& call,
                      bool types_only = false);

// The open trace will be differentiated, once more than the one around it.
void will_be_differentiated(lang::Interpreter& in);

// All leaves of a tree as tensors (host numbers as weak scalars); an error naming `what` for leaves that are neither.
std::vector<trace::Tensor> tensor_leaves(lang::Interpreter& in, const lang::Value& tree, grammar::Span span,
                                         std::string_view what);
lang::Value with_tensors(const lang::Value& tree, std::span<const trace::Tensor> leaves);

}  // namespace shard::stdlib
