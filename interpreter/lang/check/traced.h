// Variables of functions that are compiled, whose layouts are known when the whole function is: until then their values
// are kept. For an editor, which shows `h: f32[64@data,4@model]` inside of a jit function too.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "interpreter/lang/eval/interpreter.h"

namespace shard::lang {

bool is_traced(const Value& v);  // an array of an open trace is in it

class TracedValues {
 public:
  void add(std::size_t let, Value value) { values_.push_back({let, std::move(value)}); }
  // Tells the type with its layout of each value of the trace that was compiled.
  using Told = std::function<void(std::size_t let, std::string text)>;
  void lay_out(Interpreter::Impl& m, const CompiledCall& call, const Told& told);
  void rest(const std::function<void(std::size_t let, const Value& value)>& told);  // all others

 private:
  struct TracedLet {
    std::size_t let;
    Value value;
  };
  std::vector<TracedLet> values_;
};

}  // namespace shard::lang
