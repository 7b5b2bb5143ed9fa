// The walk over the tree of a file that resolves names; scopes.h holds what is visible where.
#include "interpreter/lang/resolve.h"

#include <algorithm>
#include <set>

#include "interpreter/lang/closure.h"
#include "interpreter/lang/scopes.h"

namespace shard::lang {
namespace {

using namespace grammar;
template <class... F> struct overloaded : F... { using F::operator()...; };
template <class... F> overloaded(F...) -> overloaded<F...>;

class Resolver {
 public:
  Resolver(ModuleEnv& module, const ResolveHost& host, std::vector<Diagnostic>& errors, Unit& unit)
      : module_(module), host_(host), errors_(errors), unit_(unit), scopes_(top_) {
    top_.is_function = false;
    const auto n = static_cast<std::size_t>(unit.tree->ids);
    unit_.slots.resize(n);
    unit_.extra.assign(n, -1);
    unit_.flags.assign(n, 0);
  }

  void run() {
    for (std::size_t i = 0; i < module_.variables.size(); ++i) {   // what earlier entries of the REPL declared
      Variable* v = scopes_.add(module_.variables[i].name, {}, module_.variables[i].is_function);
      v->global = static_cast<int>(i);
      v->captured = module_.variables[i].in_function;
      scopes_.declare(v);
    }
    announce(unit_.tree->body);
    for (Variable* v : scopes_.inner().variables) {
      if (v->global >= 0) continue;
      v->global = module_.replaces ? module_.find(v->name) : -1;
      if (v->global >= 0) continue;
      v->global = static_cast<int>(module_.variables.size());
      module_.variables.push_back({v->name, nullptr, false, v->is_function});
    }
    for (const StmtPtr& s : unit_.tree->body) statement(*s, true);
    finish();
  }

 private:
  struct Use { Variable* variable; FunctionState* user; std::int32_t id; int method = -1; bool outside_loop = false; };
  struct Collector { const void* node; FunctionState* function; int since; };
  struct PendingBlock { std::size_t index; std::size_t first, end; FunctionState* function; std::vector<Variable*> own; };

  Slot& slot(std::int32_t id) { return unit_.slots[static_cast<std::size_t>(id)]; }
  std::int32_t& extra(std::int32_t id) { return unit_.extra[static_cast<std::size_t>(id)]; }
  std::uint8_t& flags(std::int32_t id) { return unit_.flags[static_cast<std::size_t>(id)]; }

  void error(std::string code, Span span, std::string message, std::vector<std::string> notes = {}, std::vector<Fix> fixes = {}) {
    errors_.push_back({std::move(code), span, std::move(message), std::move(notes), std::move(fixes), {}});
  }

  // ---- declarations ------------------------------------------------------------------------------------------------
  void announce_pattern(const Pattern& p) {
    std::visit(overloaded{[&](const NamePattern& n) { scopes_.add(n.name, p.span, false); },
                          [&](const TuplePattern& t) { for (auto& e : t.elements) announce_pattern(*e); },
                          [&](const ListPattern& t) { for (auto& e : t.elements) announce_pattern(*e); },
                          [&](const RecordPattern& r) { for (auto& f : r.fields) announce_pattern(*f.target); }},
               p.node);
  }
  // A block's variables are known from its start, so that its functions can refer to functions declared later.
  void announce(const std::vector<StmtPtr>& body) {
    for (const StmtPtr& s : body) {
      if (auto* l = std::get_if<LetStmt>(&s->node)) announce_pattern(*l->pattern);
      else if (auto* f = std::get_if<FnStmt>(&s->node)) scopes_.add(f->function->name, f->function->name_span, true);
      else if (auto* m = std::get_if<MeshStmt>(&s->node)) scopes_.add(m->name.text, m->name.span, false);
      else if (auto* i = std::get_if<ImportStmt>(&s->node)) scopes_.add(i->name.text, i->name.span, false);
    }
  }
  Variable* declare(const std::string& name, std::int32_t id) {
    Variable* v = scopes_.pending(name);
    if (!v) v = scopes_.add(name, {}, false);
    scopes_.declare(v);
    record(v, id);
    return v;
  }
  void declare_pattern(const Pattern& p, bool announced) {
    std::visit(overloaded{[&](const NamePattern& n) {
                            if (!announced) scopes_.add(n.name, p.span, false);
                            declare(n.name, p.id);
                          },
                          [&](const TuplePattern& t) { for (auto& e : t.elements) declare_pattern(*e, announced); },
                          [&](const ListPattern& t) { for (auto& e : t.elements) declare_pattern(*e, announced); },
                          [&](const RecordPattern& r) { for (auto& f : r.fields) declare_pattern(*f.target, announced); }},
               p.node);
  }
  static void pattern_names(const Pattern& p, std::vector<std::pair<std::string, Span>>& out) {
    std::visit(overloaded{[&](const NamePattern& n) { out.push_back({n.name, p.span}); },
                          [&](const TuplePattern& t) { for (auto& e : t.elements) pattern_names(*e, out); },
                          [&](const ListPattern& t) { for (auto& e : t.elements) pattern_names(*e, out); },
                          [&](const RecordPattern& r) { for (auto& f : r.fields) pattern_names(*f.target, out); }},
               p.node);
  }

  // ---- uses --------------------------------------------------------------------------------------------------------
  void record(Variable* v, std::int32_t id, bool outside_loop = false) {
    uses_.push_back({v, &scopes_.function(), id, -1, outside_loop});
  }
  bool reference(const std::string& name, std::int32_t id, Span span) {
    auto found = scopes_.find(name);
    if (!found.variable) {
      if (int b = host_.builtin(name); b >= 0) { slot(id) = {Where::Builtin, b}; return true; }
      found.variable = scopes_.later(name);
    }
    if (found.variable) {
      if (found.variable->declared_at < 0 || being_declared_ == found.variable) cyclic_ = true;
      scopes_.use(found.variable);
      record(found.variable, id, found.outside_loop);
      return true;
    }
    if (Variable* early = scopes_.same_function_later(name)) {
      error("name", span, "`" + name + "` is used before its declaration", {"it is declared further down"});
      (void)early;
    } else {
      unknown(name, span);
    }
    return false;
  }
  void unknown(const std::string& name, Span span) {
    std::vector<std::string> names = scopes_.names(), builtins = host_.builtin_names();
    names.insert(names.end(), builtins.begin(), builtins.end());
    std::vector<std::string> notes;
    std::vector<Fix> fixes;
    if (product_with_ && *product_with_ == span) {       // psum(x @X): the comma was forgotten
      notes.push_back("did you mean \", @" + name + "\"?");
      fixes.push_back({"name the axis as an argument of its own", Span{span.source, product_op_.begin, span.end}, ", @" + name});
    } else if (auto near = near_miss(name, names)) {
      notes.push_back("did you mean `" + *near + "`?");
      fixes.push_back({"`" + *near + "` is near", span, *near});
    }
    error("name", span, "unknown name `" + name + "`", std::move(notes), std::move(fixes));
  }
  void assign_to(const std::string& name, std::int32_t id, Span span, bool set) {
    auto found = scopes_.find(name);
    if (!found.variable) found.variable = scopes_.later(name);
    if (!found.variable) {
      std::vector<std::string> notes;
      if (auto near = near_miss(name, scopes_.names())) notes.push_back("did you mean `" + *near + "`?");
      std::vector<Fix> fixes;
      if (set) fixes.push_back({"declare it", Span{span.source, span.begin, span.begin}, "let "});
      error("name", span,
            host_.builtin(name) >= 0 ? "`" + name + "` is a builtin and cannot be assigned" : "`" + name + "` is assigned but not declared",
            std::move(notes), std::move(fixes));
      return;
    }
    scopes_.use(found.variable);
    record(found.variable, id, found.outside_loop);
    for (const Collector& c : collectors_) {
      if (c.function != &scopes_.function()) continue;
      if (found.variable->owner == c.function && found.variable->declared_at >= c.since) continue;
      auto& list = assigned_[c.node];
      if (std::find_if(list.begin(), list.end(), [&](auto& e) { return e.first == found.variable; }) == list.end())
        list.push_back({found.variable, c.function});
    }
  }
  void target(const Expr& e, bool set) {
    std::visit(overloaded{[&](const NameRef& n) { assign_to(n.name, e.id, e.span, set); },
                          [&](const TupleLit& t) { for (auto& x : t.elements) target(*x.value, set); },
                          [&](const ListLit& t) { for (auto& x : t.elements) target(*x.value, set); },
                          [&](const Index& x) { target(*x.object, false); items(x); },
                          [&](const Field& f) { target(*f.object, false); },
                          [&](const auto&) { error("form", e.span, "this cannot be assigned to", {"assign to a variable, an element or a field"}); }},
               e.node);
  }

  // ---- statements --------------------------------------------------------------------------------------------------
  void statement(const Stmt& s, bool used) {
    std::visit(overloaded{[&](const LetStmt& x) { let(x); },
                          [&](const FnStmt& x) {
                            annotations(*x.function);
                            Variable* v = declare(x.function->name, x.function->id);
                            function(*x.function, v);
                          },
                          [&](const MeshStmt& x) {
                            for (auto& a : x.axes) if (a.size) expr(*a.size);
                            if (x.devices) expr(*x.devices);
                            declare(x.name.text, x.id);
                          },
                          [&](const UseStmt& x) { expr(*x.mesh); },
                          [&](const RulesStmt& x) { expr(*x.rules); },
                          [&](const TestStmt& x) { expr(*x.body, false); },
                          [&](const ImportStmt& x) { declare(x.name.text, x.id); },
                          [&](const ForStmt& x) {
                            expr(*x.sequence);
                            collectors_.push_back({&x, &scopes_.function(), scopes_.now()});
                            loop([&] { declare_pattern(*x.pattern, false); expr(*x.body, false); });
                            collectors_.pop_back();
                          },
                          [&](const WhileStmt& x) {
                            collectors_.push_back({&x, &scopes_.function(), scopes_.now()});
                            loop([&] { expr(*x.condition); expr(*x.body, false); });
                            collectors_.pop_back();
                          },
                          [&](const BreakStmt&) { if (!scopes_.function().loops) error("form", s.span, "`break` outside a loop"); },
                          [&](const ContinueStmt&) { if (!scopes_.function().loops) error("form", s.span, "`continue` outside a loop"); },
                          [&](const ReturnStmt& x) {
                            if (!scopes_.function().is_function) error("form", s.span, "`return` outside a function");
                            if (x.value) expr(*x.value);
                          },
                          [&](const AssignStmt& x) { assign(x); },
                          [&](const ExprStmt& x) { expr(*x.value, used); }},
               s.node);
  }
  template <class F> void loop(F body) {
    scopes_.enter(scopes_.function(), true);
    ++scopes_.function().loops;
    body();
    --scopes_.function().loops;
    scopes_.leave();
  }
  void let(const LetStmt& x) {
    const std::size_t first = uses_.size();
    expr(*x.value);
    if (scopes_.function().loops) {
      std::vector<std::pair<std::string, Span>> names;
      pattern_names(*x.pattern, names);
      for (const auto& [name, span] : names)
        for (std::size_t i = first; i < uses_.size(); ++i) {
          const Use& u = uses_[i];
          if (u.variable->name != name || !u.outside_loop || u.method >= 0) continue;
          error("loop", x.pattern->span, "`let " + name + "` in a loop makes a new `" + name + "` in each turn, from the one outside",
                {"drop the `let` to assign the variable outside the loop"},
                {{"drop the `let`", Span{x.pattern->span.source, let_begin(x), x.pattern->span.begin}, ""}});
          break;
        }
    }
    declare_pattern(*x.pattern, true);
  }
  std::uint32_t let_begin(const LetStmt& x) const {       // `let` stands before the pattern
    return x.pattern->span.begin >= 4 ? x.pattern->span.begin - 4 : 0;
  }
  void assign(const AssignStmt& x) {
    const std::size_t first = uses_.size();
    if (x.op == AssignOp::Set) collect_moves(*x.value);
    expr(*x.value);
    const std::size_t end = uses_.size();
    target(*x.target, x.op == AssignOp::Set);
    if (x.op != AssignOp::Set) { moves_.clear(); return; }
    std::set<Variable*> targets;
    auto add_target = [&](const Expr& e) {
      if (!std::holds_alternative<NameRef>(e.node)) return;
      for (std::size_t i = end; i < uses_.size(); ++i)
        if (uses_[i].id == e.id) targets.insert(uses_[i].variable);
    };
    if (auto* t = std::get_if<TupleLit>(&x.target->node)) { for (auto& e : t->elements) add_target(*e.value); }
    else if (auto* l = std::get_if<ListLit>(&x.target->node)) { for (auto& e : l->elements) add_target(*e.value); }
    else add_target(*x.target);
    for (Variable* v : targets) {
      std::int32_t id = -1;
      int count = 0;
      for (std::size_t i = first; i < end; ++i)
        if (uses_[i].variable == v) { ++count; id = uses_[i].id; }
      if (count == 1 && id >= 0 && std::find(moves_.begin(), moves_.end(), id) != moves_.end()) moved_.push_back({id, v});
    }
    moves_.clear();
  }
  // Arguments that are evaluated exactly once where the value is: only through calls and operators, not into blocks.
  void collect_moves(const Expr& e) {
    std::visit(overloaded{[&](const Call& c) {
                            for (auto& a : c.args) {
                              if (std::holds_alternative<NameRef>(a.value->node) && !a.spread) moves_.push_back(a.value->id);
                              else collect_moves(*a.value);
                            }
                            if (auto* f = std::get_if<Field>(&c.callee->node)) {
                              if (std::holds_alternative<NameRef>(f->object->node)) moves_.push_back(f->object->id);
                              else collect_moves(*f->object);
                            }
                          },
                          [&](const Pipe& p) {
                            if (std::holds_alternative<NameRef>(p.value->node)) moves_.push_back(p.value->id);
                            else collect_moves(*p.value);
                            collect_moves(*p.target);
                          },
                          [&](const TupleLit& t) { for (auto& x : t.elements) collect_moves(*x.value); },
                          [&](const Unary& u) { collect_moves(*u.operand); },
                          [&](const Index& i) { collect_moves(*i.object); },
                          [&](const Field& f) { collect_moves(*f.object); },
                          [&](const auto&) {}},
               e.node);
  }

  // ---- expressions -------------------------------------------------------------------------------------------------
  void items(const Index& x) {
    for (auto& i : x.items)
      for (const ExprPtr* e : {&i.value, &i.start, &i.stop, &i.step})
        if (*e) expr(**e);
  }
  void arguments(const std::vector<Arg>& args) { for (auto& a : args) expr(*a.value); }

  void expr(const Expr& e, bool used = true) {
    std::visit(overloaded{[&](const NameRef& n) { reference(n.name, e.id, e.span); },
                          [&](const StringLit& x) { for (auto& p : x.pieces) if (p.value) expr(*p.value); },
                          [&](const SpecLit& x) { arguments(x.args); },
                          [&](const TypeLit& x) { for (auto& d : x.dims) if (d.size) expr(*d.size); },
                          [&](const TupleLit& x) { for (auto& i : x.elements) expr(*i.value); },
                          [&](const ListLit& x) { for (auto& i : x.elements) expr(*i.value); },
                          [&](const RecordLit& x) { for (auto& i : x.entries) expr(*i.value); },
                          [&](const Block& x) { block(e, x, used); },
                          [&](const IfExpr& x) {
                            if (!used) flags(e.id) |= kUnused;
                            expr(*x.condition);
                            collectors_.push_back({&x, &scopes_.function(), scopes_.now()});
                            expr(*x.then, used);
                            if (x.otherwise) expr(*x.otherwise, used);
                            collectors_.pop_back();
                          },
                          [&](const UseExpr& x) { expr(*x.mesh); expr(*x.body, used); },
                          [&](const FunctionLit& x) { annotations(*x.function); function(*x.function, nullptr); },
                          [&](const Unary& x) { expr(*x.operand); },
                          [&](const Binary& x) {
                            expr(*x.left);
                            auto* before = product_with_;
                            if (x.op == BinaryOp::MatMul && std::holds_alternative<NameRef>(x.right->node)) {
                              product_with_ = &x.right->span;
                              product_op_ = x.op_span;
                            }
                            expr(*x.right);
                            product_with_ = before;
                          },
                          [&](const Call& x) { call(x); },
                          [&](const Index& x) { expr(*x.object); items(x); },
                          [&](const Field& x) { expr(*x.object); },
                          [&](const Pipe& x) { expr(*x.value); expr(*x.target); },
                          [&](const grammar::Shard& x) { expr(*x.value); expr(*x.spec); if (x.mesh) expr(*x.mesh); },
                          [&](const auto&) {}},
               e.node);
  }
  void call(const Call& x) {
    if (auto* f = std::get_if<Field>(&x.callee->node)) {      // x.f(): the nearest f that is a function, found when it runs
      expr(*f->object);
      const int m = static_cast<int>(unit_.methods.size());
      unit_.methods.emplace_back();
      extra(x.callee->id) = m;
      for (Variable* v : scopes_.all(f->name.text)) {
        scopes_.use(v);
        uses_.push_back({v, &scopes_.function(), -1, m, false});
      }
      if (int b = host_.builtin(f->name.text); b >= 0) builtin_methods_.push_back({m, b});
    } else {
      expr(*x.callee);
    }
    arguments(x.args);
  }
  static bool acts(const Expr& e) {
    return std::holds_alternative<Call>(e.node) || std::holds_alternative<Pipe>(e.node) || std::holds_alternative<IfExpr>(e.node) ||
           std::holds_alternative<Block>(e.node) || std::holds_alternative<UseExpr>(e.node);
  }
  void block(const Expr& e, const Block& b, bool used) {
    FunctionState& f = scopes_.function();
    scopes_.enter(f, false);
    announce(b.body);
    const std::size_t index = unit_.blocks.size();
    unit_.blocks.emplace_back();
    extra(e.id) = static_cast<std::int32_t>(index);
    PendingBlock pending{index, f.variables.size() - scopes_.inner().variables.size(), 0, &f, scopes_.inner().variables};
    const bool cyclic = cyclic_;
    cyclic_ = false;
    for (std::size_t i = 0; i < b.body.size(); ++i) {
      const Stmt& s = *b.body[i];
      const bool last = i + 1 == b.body.size();
      if (std::holds_alternative<MeshStmt>(s.node) || std::holds_alternative<UseStmt>(s.node) || std::holds_alternative<RulesStmt>(s.node))
        unit_.blocks[index].surroundings = true;
      if (auto* x = std::get_if<ExprStmt>(&s.node); x && !(last && used) && !acts(*x->value))
        error("unused", x->value->span, "nothing uses the value of this expression", {"assign it, print it, or delete it"});
      statement(s, last && used);
    }
    unit_.blocks[index].cyclic = cyclic_;
    cyclic_ = cyclic || cyclic_;
    pending.end = f.variables.size();
    blocks_.push_back(std::move(pending));
    scopes_.leave();
  }

  // ---- functions ---------------------------------------------------------------------------------------------------
  // Annotations that are specs or variables belong to the surrounding scope: they are evaluated where the fn is.
  void annotations(const Function& f) {
    for (auto& m : f.modifiers)
      for (auto& a : m.axes) expr(*a);
    for (auto& p : f.params) if (p.annot) spec_annotation(*p.annot);
    if (f.result) spec_annotation(*f.result);
  }
  void spec_annotation(const Annot& a) {
    std::visit(overloaded{[&](const TypeAnnot&) {}, [&](const SpecAnnot& x) { expr(*x.spec); },
                          [&](const TupleAnnot& x) { for (auto& e : x.elements) spec_annotation(*e); },
                          [&](const ListAnnot& x) { for (auto& e : x.elements) spec_annotation(*e); },
                          [&](const RecordAnnot& x) { for (auto& e : x.fields) spec_annotation(*e.annot); }},
               a.node);
  }
  void type_annotation(const Annot& a) {
    std::visit(overloaded{[&](const TypeAnnot& x) {
                            auto* type = std::get_if<TypeLit>(&x.type->node);
                            if (!type) { expr(*x.type); return; }
                            for (auto& d : type->dims)
                              if (d.size) size_name(*d.size);
                          },
                          [&](const SpecAnnot&) {},
                          [&](const TupleAnnot& x) { for (auto& e : x.elements) type_annotation(*e); },
                          [&](const ListAnnot& x) { for (auto& e : x.elements) type_annotation(*e); },
                          [&](const RecordAnnot& x) { for (auto& e : x.fields) type_annotation(*e.annot); }},
               a.node);
  }
  void size_name(const Expr& size) {
    auto* n = std::get_if<NameRef>(&size.node);
    if (!n) { expr(size); return; }
    Variable* v = nullptr;
    for (Variable* w : scopes_.inner().variables)
      if (w->name == n->name) v = w;
    const bool bound = v && std::find(sizes_.begin(), sizes_.end(), v) == sizes_.end();   // an earlier parameter: compared with
    if (!v) {
      v = scopes_.add(n->name, size.span, false);
      scopes_.declare(v);
      sizes_.push_back(v);
    }
    if (!bound) flags(size.id) |= kBindsSize;
    record(v, size.id);
  }
  void function(const Function& f, Variable* self) {
    const std::size_t index = unit_.functions.size();
    unit_.functions.emplace_back();
    extra(f.id) = static_cast<std::int32_t>(index);
    states_.emplace_back();
    FunctionState& state = states_.back();
    state.parent = &scopes_.function();
    scopes_.enter(state, false);
    Variable* outer_self = being_declared_;
    if (self) being_declared_ = self;
    auto outer_sizes = std::move(sizes_);
    sizes_.clear();
    bool simple = !f.result;
    for (auto& p : f.params) {
      if (p.default_value) expr(*p.default_value);
      if (p.annot) type_annotation(*p.annot);
      std::vector<std::pair<std::string, Span>> names;
      pattern_names(*p.pattern, names);
      for (const auto& [name, span] : names)
        for (Variable* v : scopes_.inner().variables)
          if (v->name == name) error("name", span, "two parameters are called `" + name + "`");
      declare_pattern(*p.pattern, false);
      simple = simple && std::holds_alternative<NamePattern>(p.pattern->node) && !p.annot && !p.default_value;
    }
    scopes_.enter(state, false);
    expr(*f.body);
    scopes_.leave();
    if (f.result) type_annotation(*f.result);
    scopes_.leave();
    being_declared_ = outer_self;
    sizes_ = std::move(outer_sizes);
    unit_.functions[index].simple = simple;
    functions_.push_back({index, &state});
  }

  // ---- at the end: where everything lives ---------------------------------------------------------------------------
  void finish() {
    auto number = [](FunctionState& f, FunctionInfo& info) {
      for (Variable* v : f.variables) v->index = v->captured ? info.cells++ : info.locals++;
    };
    number(top_, unit_.top);
    for (auto& [index, state] : functions_) number(*state, unit_.functions[index]);
    for (auto& [index, state] : functions_)
      for (Variable* v : state->captures) unit_.functions[index].captures.push_back(Scopes::slot(*v, *state->parent));
    for (Variable& v : scopes_.variables())
      if (v.global >= 0 && v.captured) module_.variables[static_cast<std::size_t>(v.global)].in_function = true;
    for (const Use& u : uses_) {
      Slot s = Scopes::slot(*u.variable, *u.user);
      if (u.method >= 0) unit_.methods[static_cast<std::size_t>(u.method)].push_back(s);
      else slot(u.id) = s;
    }
    for (auto [m, b] : builtin_methods_) unit_.methods[static_cast<std::size_t>(m)].push_back({Where::Builtin, b});
    for (auto& [node, list] : assigned_)
      for (auto& [v, f] : list) unit_.assigned[node].push_back({Scopes::slot(*v, *f), v->name});
    for (auto& [id, v] : moved_) {
      bool shared = v->captured;
      if (v->global >= 0) shared = module_.variables[static_cast<std::size_t>(v->global)].in_function;
      if (!shared) flags(id) |= kMove;
    }
    for (const PendingBlock& p : blocks_) {
      BlockInfo& info = unit_.blocks[p.index];
      bool any = false;
      for (std::size_t i = p.first; i < p.end; ++i) {
        const Variable& v = *p.function->variables[i];
        if (v.captured) continue;
        if (!any) info.first_local = v.index;
        info.end_local = v.index + 1;
        any = true;
      }
      for (Variable* v : p.own)
        if (v->captured) info.cells.push_back(v->index);
    }
  }

  ModuleEnv& module_;
  const ResolveHost& host_;
  std::vector<Diagnostic>& errors_;
  Unit& unit_;
  FunctionState top_;
  std::deque<FunctionState> states_;
  Scopes scopes_;
  std::vector<Use> uses_;
  std::vector<std::pair<int, int>> builtin_methods_;
  std::vector<Collector> collectors_;
  std::unordered_map<const void*, std::vector<std::pair<Variable*, FunctionState*>>> assigned_;
  std::vector<std::int32_t> moves_;                               // arguments of the statement that could be moved
  std::vector<std::pair<std::int32_t, Variable*>> moved_;
  std::vector<PendingBlock> blocks_;
  std::vector<std::pair<std::size_t, FunctionState*>> functions_;
  std::vector<Variable*> sizes_;                                  // names that type annotations of the current function bind
  Variable* being_declared_ = nullptr;                            // the `fn` whose body is walked
  bool cyclic_ = false;
  const Span* product_with_ = nullptr;
  Span product_op_;
};

}  // namespace

std::shared_ptr<const Unit> resolve_names(std::shared_ptr<const Module> tree, ModuleEnv& module, const ResolveHost& host,
                                          std::vector<Diagnostic>& errors) {
  auto unit = std::make_shared<Unit>();
  unit->tree = std::move(tree);
  const std::size_t before = module.variables.size(), errors_before = errors.size();
  Resolver(module, host, errors, *unit).run();
  if (errors.size() > errors_before) module.variables.resize(before);
  std::sort(errors.begin() + static_cast<std::ptrdiff_t>(errors_before), errors.end(),
            [](const Diagnostic& a, const Diagnostic& b) { return a.span.begin < b.span.begin; });
  return unit;
}

}  // namespace shard::lang
