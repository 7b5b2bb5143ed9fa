// Warnings that names alone show: variables that nothing reads, assignments that are lost, a `let` that hides what the
// loop was to assign, builtins hidden from calls above, statements that never run, collectives over axes of size 1.
// The resolver tells what it meets on its walk; the warnings come at its end. No false alarms: what may be meant is
// left alone (warnings.cpp says for each what that is).
#pragma once
#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "grammar/ast.h"
#include "grammar/diagnostic.h"
#include "interpreter/lang/names/resolve.h"
#include "interpreter/lang/names/scopes.h"

namespace shard::lang {

class Lint {
 public:
  // ---- told by the resolver, in the order of its walk
  void parameter(const Variable* v) { facts_[v].parameter = true; }
  // `outside`: what each name hides outside of the loop around, null where nothing.
  void let(const grammar::LetStmt& s, grammar::Span span, const std::vector<Variable*>& declared,
           const std::vector<Variable*>& outside);
  void ends_in_let(const grammar::Function& f, grammar::Span let) { last_lets_.emplace(let.begin, f.name); }
  void function(const Variable* v, grammar::Span name) { functions_.emplace_back(v, name); }
  void read(const Variable* v, const FunctionState* by, grammar::Span span) { facts_[v].reads.push_back({by, span}); }
  void assigned(const Variable* v, const FunctionState* by, grammar::Span target, grammar::Span statement, bool part);
  void assignment(const grammar::AssignStmt& s);
  void block(const std::vector<grammar::StmtPtr>& body);
  std::vector<grammar::Span> loops;  // that are open in the function that is walked
  // Calls by name, and variables with the name of a builtin function; `scope`: the innermost one (Scope::id).
  void calls(const Variable* v, grammar::Span span) { facts_[v].called = span; }
  void calls_builtin(const std::string& name, int scope) { builtin_calls_.insert({scope, name}); }
  void hides_builtin(const Variable* v, int scope) { hidden_.push_back({v, scope}); }
  void mesh(const grammar::MeshStmt& s);
  void collective(const std::string& name, const grammar::Call& call, grammar::Span span);

  std::vector<grammar::Diagnostic> finish();

 private:
  struct Assignment {
    const FunctionState* by;
    grammar::Span target, statement;
    bool part;              // an element or a field
    grammar::Span in_loop;  // the outermost loop of its function around it
  };
  struct Read {
    const FunctionState* by;
    grammar::Span span;
  };
  struct Facts {
    bool parameter = false, starts_with_literal = false, no_function = false;
    grammar::Span called;
    std::vector<Read> reads;
    std::vector<Assignment> assignments;
  };
  struct Let {
    std::vector<Variable*> declared, outside;
    grammar::Span span, pattern, loop;  // loop: the innermost one around
  };
  struct Called {
    std::string name;
    grammar::Span span;
    std::vector<std::string> axes;
  };
  struct Hidden {
    const Variable* variable;
    int scope;
  };

  void warn(const char* code, grammar::Span span, std::string message, std::vector<std::string> notes = {},
            std::vector<grammar::Fix> fixes = {});
  void swapped(const grammar::LetStmt& s);
  void updates(const std::string& first, const grammar::Expr& value, grammar::Span targets);
  void finish_let(const Let& l);
  void finish_parameter(const Variable& v);

  std::unordered_map<const Variable*, Facts> facts_;
  std::vector<const Variable*> assigned_parameters_;
  std::vector<Let> lets_;
  std::map<std::uint32_t, std::string> last_lets_;  // of a function's body, by where they begin: the function's name
  std::vector<std::pair<const Variable*, grammar::Span>> functions_;
  std::set<std::pair<int, std::string>> builtin_calls_;
  std::vector<Hidden> hidden_;
  std::map<std::string, bool> axis_of_one_;
  std::vector<Called> collectives_;
  std::vector<grammar::Diagnostic> found_;
};

}  // namespace shard::lang
