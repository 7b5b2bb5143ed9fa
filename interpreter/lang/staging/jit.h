// jit: a function of the script compiled once a key and then run as one plan.
// The key: structure, types and layouts of the arguments; the current mesh and rules; host values that are not numbers;
// the guards on host numbers whose value the trace needed; and what the body read from variables outside, which is
// treated as an argument.
#pragma once
#include <memory>
#include <optional>

#include "interpreter/lang/eval/interpreter.h"

namespace shard::lang {

// `in` and `out`: specs (trees, prefixes) for arguments and results, or none.
Value make_jit(Value function, Value in_specs, Value out_specs, grammar::Span span);

// A call that was compiled, as people know it.
struct CompiledCall {
  std::string name;                    // of the function
  grammar::Span where;                 // where it is written; of no source for functions of the host
  std::vector<std::string> arguments;  // their types with layouts: "f32[64@data,16]"
  runtime::MeshRef mesh;               // null: no mesh
  std::shared_ptr<const exec::Executable> plan;
  std::vector<exec::ArrayInfo> given;  // what the plan takes
  ir::GraphRef graph;                  // the plan's, as it was recorded: on no devices yet
  const ir::Graph* recorded;           // only to know the trace by (trace::Frame::done)
  std::vector<bool> becomes;           // of each: the caller hands it over, and a result takes its place
  std::vector<std::string> names;      // of each, as a path: "p.layers.0.w"
  std::vector<std::string> results;    // of what it gives: "result.1.w"
};

// What a call of `f` with these arguments compiles to (f need not be a jit function); shares the trace with jit.
// Types may stand for arrays (Placeholders). Nothing runs.
std::shared_ptr<const exec::Executable> compiled(Interpreter& in, const Value& f, const std::vector<CallArg>& args,
                                                 grammar::Span span);
CompiledCall compiled_call(Interpreter& in, const Value& f, const std::vector<CallArg>& args, grammar::Span span);

// ---- types in place of arrays: what comm, memory_stats, explain and eval_shape are told of a call that nobody will
// make. A type becomes an array without elements that is laid out as the type says, over automatic axes too.

// Throws grammar::Error at `span` for a layout that no array can have.
trace::Tensor placeholder(Interpreter& in, const runtime::Type& type, grammar::Span span);
// The type of what would come out, with its layout.
Value type_of(const exec::ArrayInfo& info);

// Arguments of such a call, and as long as this lives what compiles them: the target `abstract` where there are types
// among them.
class Placeholders {
 public:
  Placeholders(Interpreter& in, const std::vector<CallArg>& args);
  const std::vector<CallArg>& args() const { return args_; }

 private:
  std::vector<CallArg> args_;
  std::optional<trace::TargetScope> scope_;
};

}  // namespace shard::lang
