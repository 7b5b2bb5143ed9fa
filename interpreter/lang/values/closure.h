// Functions of a script, the cells of variables that functions share, and modules. The evaluator makes them; jit and
// the other transforms look into them. A variable that no function refers to has no cell: it lives in its frame.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "interpreter/lang/names/resolve.h"
#include "interpreter/lang/values/value.h"

namespace shard::lang {

struct Cell {
  Value value;
  std::uint64_t serial = 0;  // grows with every cell made: older cells have smaller ones
  bool set = false;          // false until the declaration ran
};
using CellRef = std::shared_ptr<Cell>;

// The top level of a file, or of the REPL: its variables are cells that stay.
struct ModuleEnv : std::enable_shared_from_this<ModuleEnv> {
  struct Variable {
    std::string name;
    CellRef cell;
    bool in_function = false;
    bool is_function = false;
  };
  std::string name;                            // the path or the module's name
  std::vector<Variable> variables;             // in order of declaration; a name may be declared again
  std::shared_ptr<const Unit> unit;            // the last tree that ran here
  bool replaces = false;                       // the REPL: a second declaration of a name takes the place of the first
  int find(std::string_view variable) const {  // the last of that name; -1 where there is none
    for (std::size_t i = variables.size(); i-- > 0;)
      if (variables[i].name == variable) return static_cast<int>(i);
    return -1;
  }
};

struct Closure {
  grammar::FunctionPtr function;
  std::shared_ptr<const Unit> unit;  // tables for the function's tree
  std::shared_ptr<ModuleEnv> module;
  std::int32_t info = -1;         // index into unit->functions
  std::vector<CellRef> captured;  // variables of surrounding functions and blocks, as unit->functions[info] lists them
  // Values of the annotations that are specs or variables, parameters first, in order of writing; evaluated where the
  // fn is.
  std::vector<Value> annotations;
  bool bare = false;  // annotations are applied by a wrapper (manual fn), not on entry
  std::vector<std::pair<Slot, std::int64_t>>
      sizes;  // of a bare function: what the names of its type annotations are in this call
  const FunctionInfo& information() const { return unit->functions[static_cast<std::size_t>(info)]; }
};

}  // namespace shard::lang
