// Types in place of arrays: what comm, memory_stats, explain and eval_shape are told of a call that nobody will make.
// A type becomes an array without elements that is laid out as the type says, over automatic axes too.
#pragma once
#include <optional>

#include "interpreter/exec/executable.h"
#include "interpreter/lang/eval/interpreter.h"

namespace shard::lang {

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
