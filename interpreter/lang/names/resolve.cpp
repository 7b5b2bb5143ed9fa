// Resolves the names of a file: how the walk begins, and where every variable lives in the end.
#include "interpreter/lang/names/resolver.h"

#include <algorithm>

#include "grammar/stable_sort.h"

namespace shard::lang {

using namespace grammar;

Resolver::Resolver(ModuleNames& module, const ResolveHost& host, NamesFound& found, Unit& unit)
    : module_(module), host_(host), found_(found), errors_(found.errors), unit_(unit), scopes_(top_) {
  top_.is_function = false;
  const auto n = static_cast<std::size_t>(unit.tree->ids);
  unit_.slots.resize(n);
  unit_.extra.assign(n, -1);
  unit_.flags.assign(n, 0);
}

void Resolver::error(std::string code, Span span, std::string message, std::vector<std::string> notes,
                     std::vector<Fix> fixes) {
  error_places_.emplace_back(errors_.size(), &scopes_.function());
  errors_.push_back({std::move(code), span, std::move(message), std::move(notes), std::move(fixes), {}});
}

// As a run would: the first calls by name that this text has, innermost first.
void Resolver::tell_calls() {
  for (const auto& [index, place] : error_places_) {
    auto& calls = errors_[index].calls;
    for (const FunctionState* f = place; f && calls.size() < 8;) {
      if (!f->self) {
        f = f->parent;
        continue;
      }
      const auto site = called_.find(f->self);
      if (site == called_.end()) break;
      if (std::any_of(calls.begin(), calls.end(), [&](const Frame& c) { return c.call == site->second.span; })) break;
      calls.push_back({f->self->name, site->second.span});
      f = site->second.inside;
    }
  }
}

void Resolver::run() {
  for (std::size_t i = 0; i < module_.variables.size(); ++i) {  // what earlier entries of the REPL declared
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
    module_.variables.push_back({v->name, false, v->is_function});
  }
  for (const StmtPtr& s : unit_.tree->body) {  // the last one's value is the file's
    const auto* e = std::get_if<ExprStmt>(&s->node);
    statement(*s,
              module_.uses_all || s == unit_.tree->body.back() || !e || !std::holds_alternative<Call>(e->value->node));
  }
  finish();
}

void Resolver::finish() {
  tell_calls();
  if (errors_.empty()) found_.warnings = lint_.finish();
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
    if (u.method >= 0)
      unit_.methods[static_cast<std::size_t>(u.method)].push_back(s);
    else
      slot(u.id) = s;
  }
  for (auto [m, b] : builtin_methods_) unit_.methods[static_cast<std::size_t>(m)].push_back({Where::Builtin, b});
  for (auto& [node, list] : assigned_)
    for (auto& [v, f] : list) unit_.assigned[node].push_back({Scopes::slot(*v, *f), v->name});
  for (auto& [id, v] : moved_) {
    bool shared = v->captured;
    if (v->global >= 0) shared = module_.variables[static_cast<std::size_t>(v->global)].in_function;
    if (!shared) flags(id) |= kMove;
  }
  for (const DeferredBlock& p : blocks_) {
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

std::shared_ptr<const Unit> resolve_names(std::shared_ptr<const Module> tree, ModuleNames& module,
                                          const ResolveHost& host, NamesFound& found) {
  auto unit = std::make_shared<Unit>();
  unit->tree = std::move(tree);
  Resolver(module, host, found, *unit).run();
  for (auto* list : {&found.errors, &found.warnings})
    stable_sort(*list, [](const Diagnostic& a, const Diagnostic& b) { return a.span.begin < b.span.begin; });
  return unit;
}

}  // namespace shard::lang
