// One engine put together: the rows, the memory, the context that runs operations, the interpreter with the standard
// library in it. The order of members is the order of life. Used by the embedding (engine.cpp) and by the `shard`
// program.
#pragma once
#include <memory>

#include "interpreter/lang/eval/interpreter.h"

namespace shard::embed {

class Machine {
 public:
  explicit Machine(lang::Options options);
  Machine(const Machine&) = delete;
  lang::Interpreter& interpreter() { return *interpreter_; }
  runtime::Pool& pool() { return pool_; }
  const ir::OpTable& table() const { return table_; }

 private:
  runtime::Pool pool_;
  ir::OpTable table_;
  std::unique_ptr<trace::Context> context_;
  std::unique_ptr<lang::Interpreter> interpreter_;
};

}  // namespace shard::embed
