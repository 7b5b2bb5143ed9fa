// Names are resolved before anything runs: a pass over a file's tree says for each name where its variable lives, and
// finds unknown names, assignments without a declaration and other errors of form. The evaluator then only indexes. See
// resolve.cpp.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "grammar/ast.h"
#include "grammar/diagnostic.h"
#include "interpreter/ir/origin.h"

namespace shard::lang {

class Aliases;

// The variables of a file's top level, or of the REPL's, in order of declaration; a name may be declared again. Their
// values are ModuleEnv's (values/closure.h).
struct ModuleNames {
  struct Variable {
    std::string name;
    bool in_function = false;  // a function refers to it
    bool is_function = false;  // declared by `fn`
  };
  std::vector<Variable> variables;
  bool replaces = false;                       // a scope that stays: a second declaration of a name replaces the first
  bool uses_all = false;                       // the REPL: a call that is a statement is not thrown away, but shown
  int find(std::string_view variable) const {  // the last of that name; -1 where there is none
    for (std::size_t i = variables.size(); i-- > 0;)
      if (variables[i].name == variable) return static_cast<int>(i);
    return -1;
  }
};

enum class Where : std::uint8_t {
  Unknown,
  Local,     // index into the frame's values: a variable that no inner function refers to
  Cell,      // index into the frame's cells
  Captured,  // index into the running closure's cells
  Global,    // index into the module's variables
  Builtin,   // index into the interpreter's builtins
};
struct Slot {
  Where where = Where::Unknown;
  std::int32_t index = -1;
  bool operator==(const Slot&) const = default;
};

struct Code;  // eval/code.h; made there of what has it, when it is first run

struct BlockInfo {
  std::int32_t first_local = 0, end_local = 0;     // locals that end with the block: they are let go when it is left
  std::vector<std::int32_t> cells;                 // made anew when it is entered
  bool surroundings = false;                       // declares a mesh, `use` or `rules`: restored when it is left
  bool cyclic = false;                             // functions declared here may refer to themselves
  mutable std::shared_ptr<const Code> code, loop;  // of the block, and of the `while` whose body it is
  bool plain() const { return cells.empty() && !surroundings; }  // entering it makes nothing
};

struct FunctionInfo {
  std::int32_t locals = 0, cells = 0;  // sizes of its frame
  std::vector<Slot> captures;          // where the surrounding frame has what it captures: Cell or Captured
  bool simple = false;                 // plain names as parameters; no defaults and no annotations
  bool inner = false;                  // it stands in another function
  const std::string* part = nullptr;   // the name of the outermost function around it, itself if none is (ir/origin.h)
  mutable std::shared_ptr<const Code> code = nullptr;  // of the body
};

inline constexpr std::int32_t kWholeResult = -1;  // in place of a part's number

enum NameFlag : std::uint8_t {
  kUnused = 1,     // nothing uses the value of this `if` or call
  kMove = 2,       // this argument's variable is assigned anew by the statement: its value may be moved out
  kBindsSize = 4,  // a name in a type annotation of a parameter: binds on first use
};

// Which axes of meshes a text declares, and which it speaks of elsewhere.
struct AxisNames {
  std::vector<grammar::Word> declared;  // by `mesh` statements; those of the size 1 are not asked for
  std::set<std::string> named;
  bool listed = false;  // `m.axes`: any may be meant
};

// What the pass found out about one tree; tables by id of the tree (Expr::id, Pattern::id, ...).
struct Unit : std::enable_shared_from_this<Unit> {
  std::shared_ptr<const grammar::Module> tree;
  std::vector<Slot> slots;          // of name references, name patterns, fn / mesh / import statements
  std::vector<std::int32_t> extra;  // blocks: into `blocks`; functions: into `functions`; x.f(): into `methods`
  std::vector<std::uint8_t> flags;  // NameFlag
  std::vector<BlockInfo> blocks;
  std::vector<FunctionInfo> functions;
  std::vector<std::vector<Slot>> methods;  // candidates for f in x.f(), nearest first
  struct Assigned {
    Slot slot;
    std::string name;
  };
  std::unordered_map<const void*, std::vector<Assigned>>
      assigned;  // by IfExpr, WhileStmt, ForStmt: outer variables that they assign
  // By arguments of a call whose variable the statement assigns anew: which part of the call's result it gets.
  std::unordered_map<std::int32_t, std::int32_t> becomes;
  // By the callee of a call that sees variables: their names, and where `methods` has their slots.
  struct Seen {
    std::size_t slots;
    std::vector<std::string> names;
  };
  std::unordered_map<std::int32_t, Seen> seen;
  FunctionInfo top;  // frame of the top level's inner blocks
  AxisNames axes;
};

struct ResolveHost {                                        // what the pass asks the interpreter
  std::function<int(const std::string&)> builtin;           // index, or -1
  std::function<std::vector<std::string>()> builtin_names;  // for suggestions
  std::function<bool(int builtin)> is_function;             // whether a builtin is one
  std::function<bool(int builtin)> communicates;            // whether it is a collective
  std::function<const Aliases&()> aliases;                  // what others call them: for suggestions
  const std::set<std::string>& reserved;                    // names that cannot be declared: collectives
  const std::set<std::string>& see_variables;               // builtins whose calls see all variables: `breakpoint`
};

// A name where it stands, for those who look at texts: editors.
struct NameUse {
  enum Kind : std::uint8_t {
    Declared,
    Parameter,  // declared as one
    Read,
    Assigned,
    Argument,  // a named argument: `declared` is the function's
    Member,    // a field of a variable: `declared` is the variable's
  };
  Kind kind;
  bool function;  // declared by `fn`
  grammar::Span span;
  grammar::Span declared;  // of no source: a builtin
};

struct NamesFound {
  std::vector<grammar::Diagnostic> errors;    // where there is one only a check goes on with the unit
  std::vector<grammar::Diagnostic> warnings;  // none where there are errors
  bool with_uses = false;                     // whether they are wanted
  std::vector<NameUse> uses;
  std::vector<const grammar::Function*> functions;  // of the tree, in the order of their beginnings
};

// Resolves `tree` in `module`, whose variables grow by what the tree's top level declares.
std::shared_ptr<const Unit> resolve_names(std::shared_ptr<const grammar::Module> tree, ModuleNames& module,
                                          const ResolveHost& host, NamesFound& found);

}  // namespace shard::lang
