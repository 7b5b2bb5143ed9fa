// The files that an engine has read, and the top levels that run in them (modules.cpp).
#pragma once
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "interpreter/lang/eval/interpreter.h"
#include "interpreter/lang/values/closure.h"

namespace shard::lang {

struct Modules {
  std::unordered_map<std::string, Value> loaded;  // finished ones, by path or name
  std::vector<std::string> loading;               // open imports, outermost first
  std::vector<std::shared_ptr<ModuleEnv>> all;    // their cells are emptied at the end
  std::unordered_map<const grammar::TestStmt*, std::vector<grammar::Diagnostic>> wrong_tests;  // names in them
  std::vector<std::weak_ptr<Cell>> cyclic;   // cells of blocks that may hold a function that holds them
  std::shared_ptr<ModuleEnv> main, lasting;  // lasting: the scope of what a REPL or a host runs one after the other

  Modules() = default;
  ~Modules();  // functions and the cells that hold them hold each other: cut there
  Modules(const Modules&) = delete;
  std::shared_ptr<ModuleEnv> add(std::string name);
};

// Parses, resolves and runs a text as the top level of `env`. `main`: --set applies.
Value run_module(Interpreter::Impl& m, const std::shared_ptr<ModuleEnv>& env, std::uint32_t source, bool main);
Value import_module(Interpreter::Impl& m, const grammar::ImportStmt& s, grammar::Span span);

}  // namespace shard::lang
