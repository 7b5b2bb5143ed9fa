// Annotations of parameters and results: values are laid out or checked as they come in and go out (annotations.cpp).
#pragma once
#include "grammar/ast.h"
#include "interpreter/lang/eval/interpreter.h"
#include "interpreter/lang/values/closure.h"

namespace shard::lang {

// The annotations that are specs or variables, parameters first, in order of writing; evaluated where the fn is.
std::vector<Value> annotation_values(Interpreter::Impl& m, const grammar::Function& f);
Value on_entry(Interpreter::Impl& m, const Closure& f, std::size_t parameter, Value v, grammar::Span span);
Value on_result(Interpreter::Impl& m, const Closure& f, Value v, grammar::Span span);
// A bare function for one call: its parameters' types are checked on these (whole) arguments, but for layouts, and the
// sizes bound.
Value with_sizes(Interpreter& in, const Value& function, const std::vector<Value>& args, grammar::Span span);

// The specs that the annotations of a function say, trees like the annotations; none where there is no annotation.
struct FunctionSpecs {
  std::vector<Value> params;
  Value result;
};
FunctionSpecs annotation_specs(const Closure& f);

}  // namespace shard::lang
