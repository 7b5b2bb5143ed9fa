// Names while they are resolved: declarations, uses with their near misses, and targets of assignments.
#include "interpreter/lang/names/resolver.h"

#include <algorithm>

#include "grammar/kept.h"
#include "interpreter/lang/names/aliases.h"

namespace shard::lang {

using namespace grammar;

// A block's variables are known from its start, so that its functions can refer to functions declared later.
void Resolver::announce(const std::vector<StmtPtr>& body) {
  for (const StmtPtr& s : body)
    each_declared(*s, [&](const std::string& name, Span span) { add(name, span, is_one_of<FnStmt>(s->node)); });
}

Variable* Resolver::add(const std::string& name, Span span, bool is_function) {
  if (host_.reserved.count(name)) error("syntax", span, "`" + name + "` is a keyword and cannot be redefined");
  return scopes_.add(name, span, is_function);
}

Variable* Resolver::declare(const std::string& name, std::int32_t id) {
  Variable* v = scopes_.pending(name);
  if (!v) v = scopes_.add(name, {}, false);
  scopes_.declare(v);
  record(v, id);
  note(NameUse::Declared, v->span, v);
  return v;
}

void Resolver::declare_pattern(const Pattern& pattern, bool announced, bool parameter) {
  each_name(pattern, [&](const Pattern& p, const NamePattern& n) {
    if (!announced) add(n.name, p.span, false);
    Variable* v = declare(n.name, p.id);
    if (!parameter) return;
    lint_.parameter(v);
    if (found_.with_uses) found_.uses.back().kind = NameUse::Parameter;
  });
}

void Resolver::record(Variable* v, std::int32_t id, bool outside_loop) {
  uses_.push_back({v, &scopes_.function(), id, -1, outside_loop});
}

void Resolver::note(NameUse::Kind kind, Span span, const Variable* v) {
  if (found_.with_uses && span.known()) found_.uses.push_back({kind, v && v->is_function, span, v ? v->span : Span{}});
}

void Resolver::note_member(const Field& f) {
  const auto* object = std::get_if<NameRef>(&f.object->node);
  const Variable* v = object ? scopes_.find(object->name).variable : nullptr;
  if (v) note(NameUse::Member, f.name.span, v);
}

bool Resolver::reference(const std::string& name, std::int32_t id, Span span) {
  auto found = scopes_.find(name);
  if (!found.variable) {
    if (int b = host_.builtin(name); b >= 0) {
      slot(id) = {Where::Builtin, b};
      note(NameUse::Read, span, nullptr);
      return true;
    }
    found.variable = scopes_.later(name);
  }
  if (found.variable) {
    if (found.variable->declared_at < 0 || being_declared_ == found.variable) cyclic_ = true;
    scopes_.use(found.variable);
    record(found.variable, id, found.outside_loop);
    lint_.read(found.variable, &scopes_.function(), span);
    note(NameUse::Read, span, found.variable);
    return true;
  }
  if (const Variable* v = scopes_.later(name, true)) {
    const bool itself = v->span.known() && v->span.source == span.source && v->span.begin < span.begin;
    error("name", span, "`" + name + "` is used before its declaration",
          {itself ? "this is the value that it is declared with: it has none before" : "it is declared further down"});
  } else {
    unknown(name, span);
  }
  return false;
}

void Resolver::unknown(const std::string& name, Span span) {
  std::vector<std::string> names = scopes_.names(), builtins = host_.builtin_names();
  names.insert(names.end(), builtins.begin(), builtins.end());
  for (std::string_view w : {"bool", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "f16", "bf16", "f32", "f64",
                             "true", "false", "none"})
    names.emplace_back(w);
  std::vector<std::string> notes;
  std::vector<Fix> fixes;
  if (product_with_ && *product_with_ == span) {  // psum(x @X): the comma was forgotten
    notes.push_back("did you mean \", @" + name + "\"?");
    fixes.push_back(
        {"name the axis as an argument of its own", Span{span.source, product_op_.begin, span.end}, ", @" + name});
  } else if (auto here = host_.aliases().name_here(name); !here.empty()) {
    notes.push_back("it is called `" + std::string(here) + "` here");
    fixes.push_back({"write `" + std::string(here) + "`", span, std::string(here), true});
  } else if (in_spec_) {
    notes.push_back("an axis of a mesh is written with `@`: `@" + name + "`");
    fixes.push_back({"name the axis", span, "@" + name});
  } else if (auto say = host_.aliases().way_here(name); !say.empty() && name.size() > 1) {
    notes.emplace_back(say);
  } else if (auto near = near_miss(name, names)) {
    notes.push_back("did you mean `" + *near + "`?");
    fixes.push_back({"`" + *near + "` is near", span, *near});
  }
  std::string message = "unknown name `";
  message.append(name, 0, 60);
  message += name.size() > 60 ? "...`" : "`";
  error("name", span, std::move(message), std::move(notes), std::move(fixes));
}

void Resolver::assign_to(const std::string& name, std::int32_t id, Span span, bool set, bool part) {
  auto found = scopes_.find(name);
  if (!found.variable) found.variable = scopes_.later(name);
  if (!found.variable && host_.reserved.count(name))
    return error("syntax", span, "`" + name + "` is a keyword and cannot be redefined");
  if (!found.variable) {
    std::vector<std::string> notes;
    if (auto near = near_miss(name, scopes_.names())) notes.push_back("did you mean `" + *near + "`?");
    std::vector<Fix> fixes;
    if (set) fixes.push_back({"declare it", Span{span.source, span.begin, span.begin}, "let "});
    if (!set && part_of_several_)
      notes.push_back("declare it where it shall live, before the loop where there is one: `let " + name + " = none`");
    error("name", span,
          host_.builtin(name) >= 0 ? "`" + name + "` is a builtin and cannot be assigned"
                                   : "`" + name + "` is assigned but not declared",
          std::move(notes), std::move(fixes));
    return;
  }
  scopes_.use(found.variable);
  record(found.variable, id, found.outside_loop);
  lint_.assigned(found.variable, &scopes_.function(), span, statement_, part);
  note(NameUse::Assigned, span, found.variable);
  for (const Collector& c : collectors_) {
    if (c.function != &scopes_.function()) continue;
    if (found.variable->owner == c.function && found.variable->declared_at >= c.since) continue;
    auto& list = assigned_[c.node];
    if (std::find_if(list.begin(), list.end(), [&](auto& e) { return e.first == found.variable; }) == list.end())
      list.push_back({found.variable, c.function});
  }
}

void Resolver::targets(const std::vector<Element>& elements) {
  const Kept several(part_of_several_, true);
  for (auto& x : elements) target(*x.value, false);
}

void Resolver::target(const Expr& e, bool set, bool part) {
  std::visit(Overloaded{[&](const NameRef& n) { assign_to(n.name, e.id, e.span, set, part); },
                        [&](const TupleLit& t) { targets(t.elements); }, [&](const ListLit& t) { targets(t.elements); },
                        [&](const Index& x) {
                          target(*x.object, false, true);
                          items(x);
                        },
                        [&](const Field& f) { target(*f.object, false, true); }, [](const auto&) {}},
             e.node);
}

}  // namespace shard::lang
