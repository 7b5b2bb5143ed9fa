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
struct ModuleEnv : ModuleNames, std::enable_shared_from_this<ModuleEnv> {
  std::string name;            // the path or the module's name
  bool of_library = false;     // a module of the standard library
  std::vector<CellRef> cells;  // of its variables; null before they are declared
  void add(Variable v, CellRef cell) {
    variables.push_back(std::move(v));
    cells.push_back(std::move(cell));
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
  bool bare = false;           // annotations are applied by a wrapper (manual fn), not on entry
  bool result_checked = true;  // false: a wrapper (auto fn) lays the result out
  std::vector<std::pair<Slot, std::int64_t>>
      sizes;  // of a bare function: what the names of its type annotations are in this call
  const FunctionInfo& information() const { return unit->functions[static_cast<std::size_t>(info)]; }
};

}  // namespace shard::lang
