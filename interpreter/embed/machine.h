// One engine put together: the rows, the memory, the context that runs operations, the interpreter with the standard
// library in it. The order of members is the order of life. Used by the embedding (engine.cpp) and by the `shard`
// program.
#pragma once
#include <functional>
#include <memory>

#include "interpreter/lang/eval/interpreter.h"
#include "interpreter/xla/xla_target.h"

namespace shard::embed {

inline constexpr int kMostDevices = 1 << 24;

// What runs what a script computes: a target of the list (exec/target.h), or `xla`, behind a colon the path of a
// plug-in of PJRT. Empty: what the options ask for.
struct Runs {
  std::string engine;
  bool all_devices = false;                                          // of a plug-in, however many the options say
  std::function<void(const std::string& where)> entering = nullptr;  // before a plug-in runs: "train.shard:12"
  // By what the processes of a plug-in find each other; null: engine xla is for one process.
  std::function<std::shared_ptr<runtime::KeyValues>(runtime::Processes&, bool one_machine)> values = nullptr;
};

// The exception that is being handled, as what a program tells of it.
std::vector<grammar::Diagnostic> caught(lang::Interpreter& in);

class Machine {
 public:
  explicit Machine(lang::Options options, const Runs& runs = {});
  Machine(const Machine&) = delete;
  lang::Interpreter& interpreter() { return *interpreter_; }
  // The script has ended well. Processes of a plug-in leave together: some keep what others still need.
  void leave();
  runtime::Pool& pool() { return pool_; }
  const ir::OpTable& table() const { return table_; }

 private:
  void choose(const lang::Options& options, const std::string& engine);
  runtime::Pool pool_;
  ir::OpTable table_;
  std::unique_ptr<xla::Engine> xla_;
  std::unique_ptr<trace::Context> context_;
  std::unique_ptr<lang::Interpreter> interpreter_;
};

}  // namespace shard::embed
