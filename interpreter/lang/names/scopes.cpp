#include "interpreter/lang/names/scopes.h"

#include <algorithm>

namespace shard::lang {

Variable* Scopes::add(std::string name, grammar::Span span, bool is_function) {
  Scope& s = scopes_.back();
  variables_.push_back({});
  Variable& v = variables_.back();
  v.name = std::move(name);
  v.owner = s.module ? nullptr : s.function;
  v.is_function = is_function;
  v.span = span;
  if (v.owner) v.owner->variables.push_back(&v);
  s.variables.push_back(&v);
  return &v;
}

Variable* Scopes::pending(std::string_view name) {
  for (Variable* v : scopes_.back().variables)
    if (v->declared_at < 0 && v->name == name) return v;
  return nullptr;
}

Scopes::Found Scopes::find(std::string_view name) const {
  const FunctionState* here = scopes_.back().function;
  std::size_t innermost_loop = 0;
  for (std::size_t i = scopes_.size(); i-- > 0;)
    if (scopes_[i].loop && scopes_[i].function == here) {
      innermost_loop = i;
      break;
    }
  for (std::size_t i = scopes_.size(); i-- > 0;) {
    const Scope& s = scopes_[i];
    Found found{nullptr, i < innermost_loop};
    for (std::size_t k = s.variables.size(); k-- > 0;)
      if (s.variables[k]->declared_at >= 0 && s.variables[k]->name == name) {
        found.variable = s.variables[k];
        return found;
      }
    if (s.function == here) continue;
    for (Variable* v : s.variables)
      if (v->declared_at < 0 && v->is_function && v->name == name) {
        found.variable = v;
        return found;
      }
  }
  return {};
}

Variable* Scopes::later(std::string_view name, bool anywhere) const {
  for (std::size_t i = scopes_.size(); i-- > 0;)
    for (Variable* v : scopes_[i].variables)
      if (v->name == name && (anywhere || scopes_[i].function != scopes_.back().function)) return v;
  return nullptr;
}

std::vector<Variable*> Scopes::all(std::string_view name) const {
  std::vector<Variable*> out;
  const FunctionState* here = scopes_.back().function;
  for (std::size_t i = scopes_.size(); i-- > 0;) {
    const Scope& s = scopes_[i];
    for (std::size_t k = s.variables.size(); k-- > 0;) {
      Variable* v = s.variables[k];
      if (v->name == name && (v->declared_at >= 0 || (s.function != here && v->is_function))) out.push_back(v);
    }
  }
  return out;
}

std::vector<std::string> Scopes::names() const {
  std::vector<std::string> out;
  for (const Scope& s : scopes_)
    for (const Variable* v : s.variables)
      if (v->declared_at >= 0 || s.function != scopes_.back().function) out.push_back(v->name);
  return out;
}

void Scopes::use(Variable* v) {
  FunctionState* f = scopes_.back().function;
  if (!v->owner) {
    if (f->is_function) v->captured = true;
    return;
  }
  for (; f != v->owner; f = f->parent) {
    v->captured = true;
    if (std::find(f->captures.begin(), f->captures.end(), v) == f->captures.end()) f->captures.push_back(v);
  }
}

Slot Scopes::slot(const Variable& v, const FunctionState& user) {
  if (!v.owner) return {Where::Global, v.global};
  if (v.owner == &user) return {v.captured ? Where::Cell : Where::Local, v.index};
  auto it = std::find(user.captures.begin(), user.captures.end(), &v);
  return {Where::Captured, static_cast<std::int32_t>(it - user.captures.begin())};
}

}  // namespace shard::lang
