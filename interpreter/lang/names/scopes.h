// Scopes while names are resolved: which variables are visible where, who refers to them, and where each finally lives.
// Only the resolver uses this. A function sees what was declared before it, and functions declared later in the blocks
// around it (so that top-level functions may call each other); other later variables only where no other meaning of the
// name exists.
#pragma once
#include <deque>
#include <string>
#include <vector>

#include "grammar/source.h"
#include "interpreter/lang/names/resolve.h"

namespace shard::lang {

struct FunctionState;

struct Variable {
  std::string name;
  FunctionState* owner = nullptr;  // null: of the module
  int global = -1;                 // index in the module
  bool is_function = false;        // declared by `fn`
  bool captured = false;           // an inner function refers to it
  int declared_at = -1;            // order of declaration; -1: not yet
  int index = -1;                  // in its frame, in the end
  grammar::Span span;
};

struct FunctionState {
  FunctionState* parent = nullptr;
  Variable* self = nullptr;          // of `fn name`: what it declares
  std::vector<Variable*> variables;  // of its frame, in order
  std::vector<Variable*> captures;
  int loops = 0;            // open loops
  bool is_function = true;  // false: the top level
};

struct Scope {
  FunctionState* function;
  bool loop = false;  // the body of a loop
  bool module = false;
  int id = 0;                        // of this scope alone
  std::vector<Variable*> variables;  // in order; those not reached yet have declared_at < 0
};

class Scopes {
 public:
  explicit Scopes(FunctionState& top) {
    enter(top, false);
    scopes_.back().module = true;
  }
  void enter(FunctionState& f, bool loop) { scopes_.push_back({&f, loop, false, entered_++, {}}); }
  void leave() { scopes_.pop_back(); }
  Scope& inner() { return scopes_.back(); }
  FunctionState& function() { return *scopes_.back().function; }

  Variable* add(std::string name, grammar::Span span, bool is_function);  // in the innermost scope, not declared yet
  void declare(Variable* v) { v->declared_at = clock_++; }
  int now() const { return clock_; }
  Variable* pending(std::string_view name);  // the first of that name in the innermost scope that is not declared yet

  struct Found {
    Variable* variable = nullptr;
    bool outside_loop = false;
  };
  Found find(std::string_view name) const;  // declared, or a function declared later
  // Declared later around the function at hand, which sees it; `anywhere`: also in this very function, so used too
  // early.
  Variable* later(std::string_view name, bool anywhere = false) const;
  std::vector<Variable*> all(std::string_view name) const;  // every variable of that name, nearest first
  std::vector<std::string> names() const;
  std::deque<Variable>& variables() { return variables_; }

  void use(Variable* v);  // from the current function: captures where needed
  static Slot slot(const Variable& v, const FunctionState& user);

 private:
  std::deque<Scope> scopes_;
  std::deque<Variable> variables_;
  int clock_ = 0, entered_ = 0;
};

}  // namespace shard::lang
