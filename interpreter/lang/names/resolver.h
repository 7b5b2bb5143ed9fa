// The walk that resolves the names of one tree (resolve.h says what for); its form is checked already
// (grammar/form.cpp). Its parts: resolve.cpp begins and ends it, resolve_uses.cpp declares, refers and assigns,
// resolve_statements.cpp and resolve_expressions.cpp go through the tree.
#pragma once
#include <deque>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "grammar/walk.h"
#include "interpreter/lang/names/lint.h"
#include "interpreter/lang/names/resolve.h"
#include "interpreter/lang/names/scopes.h"

namespace shard::lang {

class Resolver {
 public:
  Resolver(ModuleNames& module, const ResolveHost& host, NamesFound& found, Unit& unit);
  void run();

 private:
  struct Use {
    Variable* variable;
    FunctionState* user;
    std::int32_t id;
    int method = -1;
    bool outside_loop = false;
  };
  struct Collector {
    const void* node;
    FunctionState* function;
    int since;
  };
  struct DeferredBlock {
    std::size_t index;
    std::size_t first, end;
    FunctionState* function;
    std::vector<Variable*> own;
  };
  using Names = std::vector<std::pair<std::string, grammar::Span>>;

  Slot& slot(std::int32_t id) { return unit_.slots[static_cast<std::size_t>(id)]; }
  std::int32_t& extra(std::int32_t id) { return unit_.extra[static_cast<std::size_t>(id)]; }
  std::uint8_t& flags(std::int32_t id) { return unit_.flags[static_cast<std::size_t>(id)]; }
  void error(std::string code, grammar::Span span, std::string message, std::vector<std::string> notes = {},
             std::vector<grammar::Fix> fixes = {});
  void finish();      // where everything lives
  void tell_calls();  // errors inside of functions get the calls that lead there

  // Declarations, uses, assignments.
  void announce(const std::vector<grammar::StmtPtr>& body);
  Variable* add(const std::string& name, grammar::Span span, bool is_function);  // refuses reserved names
  Variable* declare(const std::string& name, std::int32_t id);
  void declare_pattern(const grammar::Pattern& p, bool announced, bool parameter = false);
  void record(Variable* v, std::int32_t id, bool outside_loop = false);
  void note(NameUse::Kind kind, grammar::Span span, const Variable* v);  // for who wants all uses
  void note_member(const grammar::Field& f);
  bool reference(const std::string& name, std::int32_t id, grammar::Span span);
  void unknown(const std::string& name, grammar::Span span);
  void assign_to(const std::string& name, std::int32_t id, grammar::Span span, bool set, bool part);
  void target(const grammar::Expr& e, bool set, bool part = false);
  void targets(const std::vector<grammar::Element>& elements);

  // Statements.
  void statement(const grammar::Stmt& s, bool used);
  template <class F>
  void loop(grammar::Span span, F body);
  void let(const grammar::LetStmt& x, grammar::Span span);
  bool made_mesh(const grammar::Expr& value, grammar::Span span, const std::string& name);
  std::vector<Variable*> hidden_outside(const Names& names);
  void assign(const grammar::AssignStmt& x);
  void collect_moves(const grammar::Expr& e);

  // Expressions and functions.
  void expr(const grammar::Expr& e, bool used = true);
  void entries(const grammar::SpecLit& spec);
  void items(const grammar::Index& x);
  void call(const grammar::Call& x, grammar::Span span);
  void see_variables(const grammar::Expr& callee);
  void block(const grammar::Expr& e, const grammar::Block& b, bool used);
  void annotations(const grammar::Function& f);
  void spec_annotation(const grammar::Annot& a);
  void type_annotation(const grammar::Annot& a);
  void axis_names(const grammar::TypeLit& type);
  void size_name(const grammar::Expr& size);
  void function(const grammar::Function& f, Variable* self);

  ModuleNames& module_;
  const ResolveHost& host_;
  NamesFound& found_;
  std::vector<grammar::Diagnostic>& errors_;
  Lint lint_;
  grammar::Span statement_;  // that is walked
  Unit& unit_;
  FunctionState top_;
  std::deque<FunctionState> states_;
  Scopes scopes_;
  std::vector<Use> uses_;
  std::vector<std::pair<int, int>> builtin_methods_;
  std::vector<Collector> collectors_;
  std::unordered_map<const void*, std::vector<std::pair<Variable*, FunctionState*>>> assigned_;
  bool part_of_several_ = false;     // the target is one of several, `(a, b) = ...`
  std::vector<std::int32_t> moves_;  // arguments of the statement that could be moved
  void note_places(const grammar::Call& call, const Variable* v, std::int32_t part, std::size_t first, std::size_t end);
  std::vector<std::pair<std::int32_t, Variable*>> moved_;
  std::vector<DeferredBlock> blocks_;
  const grammar::Function* outermost_ = nullptr;  // of those that are being resolved
  std::vector<std::pair<std::size_t, FunctionState*>> functions_;
  struct CallSite {
    grammar::Span span;
    const FunctionState* inside;
  };
  std::unordered_map<const Variable*, CallSite> called_;                    // the first call of a function by its name
  std::vector<std::pair<std::size_t, const FunctionState*>> error_places_;  // by index among the errors
  std::vector<Variable*> sizes_;        // names that annotations of the function at hand bind
  Variable* being_declared_ = nullptr;  // the `fn` whose body is walked
  bool cyclic_ = false;
  bool in_spec_ = false;  // an entry of a spec is walked
  const grammar::Span* product_with_ = nullptr;
  grammar::Span product_op_;
};

}  // namespace shard::lang
