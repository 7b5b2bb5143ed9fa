// Transforms of functions as scripts call them: grad, vjp, jvp, vmap, scan, remat, jit, ... They trace the function
// into a graph, change the graph (interpreter/transform) and run it: recorded into the surrounding trace, or compiled
// and executed.
#pragma once
#include <functional>
#include <span>
#include <vector>

#include "interpreter/lang/staging/jit.h"
#include "stdlib/host/host.h"

namespace shard::stdlib {

// An error of the transform `who` where its first argument is no function.
void need_function(Interpreter& in, BoundArgs& a, const char* who);  // derivatives.cpp
// An error of `who` where its arguments are no call f(x, y) that could be run here.
void need_call(Interpreter& in, BoundArgs& a, const std::string& who);  // compilation.cpp
// What a call compiles to for devices of their own, whatever runs here: one process that holds all of them
// (`simulated`) sums where a chip would scatter (transform/early_sums). (estimate.cpp)
lang::CompiledCall call_apart(Interpreter& in, const Value& f, const BoundArgs& a, bool simulated = false);

// One collective as scripts see it; `seconds` on a chip. (compilation.cpp)
Value comm_record(Interpreter& in, const exec::CommRecord& r, std::optional<double> seconds);

// ---- a script's function traced on tensors: what every transform starts from. The leaves of some arguments become
// parameters of a graph; everything else that the function uses is captured. (traced_call.cpp)

// A value that becomes results of a graph, behind those that `results` holds; the tree that is left.
lang::TreeStructure take_results(Interpreter& in, Value value, lang::Take which, std::vector<Tensor>& results,
                                 grammar::Span span);

struct TracedCall {
  trace::Traced traced;
  lang::TreeStructure result;
};

// Traces `call` on parameters of these types; it gives the value of the function, of which `which` become results.
TracedCall trace_call(Interpreter& in, std::span<const Type> params, lang::Take which, grammar::Span span,
                      const std::function<Value(std::span<const Tensor>)>& call, bool types_only = false);

// What its graph takes: these arguments, and what it captured.
std::vector<Tensor> with_captured(std::vector<Tensor> arguments, const trace::Traced& traced);

// The open trace will be differentiated, once more than the one around it.
void will_be_differentiated(Interpreter& in);

// All leaves of a tree as tensors (host numbers as weak scalars); an error naming `what` for leaves that are neither.
std::vector<Tensor> tensor_leaves(Interpreter& in, const Value& tree, grammar::Span span, std::string_view what);
Value with_tensors(const Value& tree, std::span<const Tensor> leaves);
// x with dimension `from` moved to `to` (positions from the front).
Tensor moved_axis(Interpreter& in, const Tensor& x, std::int64_t from, std::int64_t to);

// The arguments of one call: their leaves, and which of them are arrays, floats first.
struct CallArrays {
  std::vector<CallArg> call;
  lang::TreeStructure tree;        // of the arguments' values
  std::vector<std::size_t> where;  // leaves that are arrays: those of floating point first
  std::size_t floats = 0;
  std::vector<Tensor> tensors;  // by `where`
  explicit CallArrays(std::vector<CallArg> args);
  std::vector<CallArg> with(std::span<const Tensor> given) const;
};

}  // namespace shard::stdlib
