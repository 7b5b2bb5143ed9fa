#include "interpreter/lang/eval/layouts/spec.h"

#include <algorithm>

#include "grammar/characters.h"
#include "grammar/walk.h"
#include "interpreter/lang/eval/surroundings.h"
#include "interpreter/lang/report/report.h"
#include "interpreter/lang/values/value_text.h"

namespace shard::lang {

using grammar::Span;
using runtime::AxisId;
using runtime::AxisSet;

std::string sizes_text(const runtime::Mesh& mesh) {
  const auto text = [](const auto& a) { return "@" + a.name + ": " + std::to_string(a.size); };
  return mesh.axes.empty() ? "no axis" : grammar::separated(mesh.axes, ", ", text);
}

std::vector<std::string> texts_of(const std::vector<grammar::Word>& words) {
  std::vector<std::string> out;
  for (const grammar::Word& w : words) out.push_back(w.text);
  return out;
}

runtime::UnreducedKind kind_of(const grammar::TypeGroup& group) {
  using enum runtime::UnreducedKind;
  return group.tag == "U_max" ? Max : group.tag == "U_min" ? Min : Sum;
}

namespace {

// The axis names of a rule's value: an axis, a list of them, or none.
std::vector<std::string> rule_axes(Interpreter& in, const Value& v, const std::string& name, Span span) {
  if (v.is_none()) return {};
  if (auto* a = v.get<std::shared_ptr<const Axis>>()) return (*a)->names;
  if (const auto* items = v.items()) {
    std::vector<std::string> out;
    for (const Value& x : *items)
      for (std::string& n : rule_axes(in, x, name, span)) out.push_back(std::move(n));
    return out;
  }
  in.fail("spec", span, "the rule for `" + name + "` must be an axis such as @data, or `_`, and is " + kind_name(v));
}

std::string rules_text(const Value& rules) {
  const Record* r = rules.fields();
  if (!r || r->fields.empty()) return "there are no rules";
  return "the rules know @" + grammar::separated(r->names(), ", @");
}

using grammar::Expr;

// The axis of this name in an expression that gives a spec, or a tree of specs.
std::optional<Span> axis_in(const Expr& e, const std::string& axis) {
  if (auto* a = std::get_if<grammar::AxisLit>(&e.node)) {
    for (const grammar::Word& w : a->names)
      if (w.text == axis) return a->grouped ? w.span : e.span;
    return std::nullopt;
  }
  std::optional<Span> found;
  if (grammar::is_one_of<grammar::SpecLit, grammar::RecordLit, grammar::TupleLit, grammar::ListLit>(e.node))
    grammar::each_child(e, [&](const Expr& x) {
      if (!found) found = axis_in(x, axis);
    });
  return found;
}

}  // namespace

Span entry_place(const SpecError& error, const Expr& spec) {
  if (auto found = error.axis.empty() ? std::nullopt : axis_in(spec, error.axis)) return *found;
  const auto* literal = std::get_if<grammar::SpecLit>(&spec.node);
  if (literal && error.dimension >= 0 && static_cast<std::size_t>(error.dimension) < literal->args.size())
    return literal->args[static_cast<std::size_t>(error.dimension)].value->span;
  return spec.span;
}

std::vector<AxisId> axes_named(Interpreter& in, const std::vector<std::string>& names, const runtime::Mesh& mesh,
                               Span span, const std::string& what) {
  std::vector<AxisId> out;
  for (const std::string& name : names) {
    if (auto id = mesh.find(name)) {
      out.push_back(*id);
      continue;
    }
    const Record* rules = in.surroundings().rules().fields();
    const Value* rule = rules ? rules->find(name) : nullptr;
    if (!rule) {
      std::vector<std::string> candidates, notes;
      for (const auto& a : mesh.axes) candidates.push_back(a.name);
      if (rules)
        for (const auto& f : rules->fields) candidates.push_back(f.first);
      notes.push_back("the mesh has " + sizes_text(mesh) + "; " + rules_text(in.surroundings().rules()));
      if (auto near = grammar::near_miss(name, candidates)) notes.push_back("did you mean `@" + *near + "`?");
      throw SpecError(span,
                      "`@" + name + "`" + (what.empty() ? "" : " in " + what) +
                          " is neither an axis of the mesh nor a name in the rules",
                      std::move(notes), name);
    }
    for (const std::string& axis : rule_axes(in, *rule, name, span)) {
      auto id = mesh.find(axis);
      if (!id)
        throw SpecError(span, "the rules lay `@" + name + "` on `@" + axis + "`, which is no axis of the mesh",
                        {"the mesh has " + sizes_text(mesh)}, name);
      out.push_back(*id);
    }
  }
  return out;
}

ir::Ints axis_ids(Interpreter& in, const Value& axes, Span span) {
  const runtime::MeshRef mesh = in.context().mesh();
  std::vector<std::string> names;
  auto collect = [&](const Value& v) {
    auto* a = v.get<std::shared_ptr<const Axis>>();
    if (!a) in.fail("type", span, "this is an axis such as @X, and " + kind_name(v) + " was given");
    names.insert(names.end(), (*a)->names.begin(), (*a)->names.end());
  };
  if (const auto* items = axes.items()) {
    for (const Value& v : *items) collect(v);
  } else {
    collect(axes);
  }
  if (!mesh)
    in.fail("mesh", span,
            "`@" + (names.empty() ? std::string("?") : names[0]) + "` names an axis, and there is no mesh",
            {"declare one: mesh m = (@X: 8)"});
  ir::Ints out;
  for (AxisId a : axes_named(in, names, *mesh, span, "")) out.push_back(a);
  return out;
}

ir::Layout Interpreter::resolve(const Spec& spec, int rank, Span span, const runtime::MeshRef& given) {
  Interpreter& in = *this;
  const runtime::MeshRef mesh = given ? given : context_.mesh();
  const std::string text = lang::show(spec);
  if (static_cast<int>(spec.dims.size()) > rank) {
    std::size_t entries = spec.dims.size();
    while (entries > 0 && spec.dims[entries - 1] == SpecEntry{}) --entries;
    if (static_cast<int>(entries) > rank)
      throw SpecError(span,
                      text + " has " + std::to_string(entries) + (entries == 1 ? " entry" : " entries") +
                          " for an array of rank " + std::to_string(rank),
                      {rank == 0 ? "a number is laid out as P()" : "leave out the last entries"}, "", rank);
  }
  ir::Layout out;
  out.mesh = mesh;
  out.sharding = runtime::Sharding::replicated(static_cast<std::size_t>(rank));
  bool names = !spec.unreduced.empty() || !spec.reduced.empty(), open = false;
  for (const SpecEntry& e : spec.dims) names = names || !e.axes.empty(), open = open || e.open;
  if (!mesh) {
    if (names || open)
      in.fail("mesh", span, text + " needs a mesh, and none was declared", {"declare one: mesh m = (@X: 8)"});
    return out;
  }
  AxisSet used;
  auto once = [&](AxisId a) {
    if (used.has(a))
      throw SpecError(span, "`@" + mesh->axes[a].name + "` appears twice in " + text,
                      {"an axis can split one dimension only"}, mesh->axes[a].name);
    used.add(a);
  };
  for (std::size_t d = 0; d < spec.dims.size() && d < static_cast<std::size_t>(rank); ++d) {
    const SpecEntry& e = spec.dims[d];
    if (e.open && mesh->of_kind(runtime::AxisKind::Auto).empty())
      in.fail("spec", span,
              "`?` leaves a dimension to the compiler, which needs an auto axis, and the mesh " +
                  runtime::to_string(*mesh) + " has none");
    out.sharding.dims[d].open = e.open;
    for (AxisId a : axes_named(in, e.axes, *mesh, span, text)) {
      once(a);
      out.sharding.dims[d].axes.push_back(a);
    }
  }
  auto add = [&](const std::vector<std::string>& axes, const char* what, AxisSet& to) {
    for (AxisId a : axes_named(in, axes, *mesh, span, text)) {
      once(a);
      if (mesh->axes[a].kind == runtime::AxisKind::Auto)
        in.fail("spec", span,
                "`" + std::string(what) + ": @" + mesh->axes[a].name + "` in " + text +
                    " needs an explicit axis, and @" + mesh->axes[a].name + " is auto",
                {"declare the mesh `explicit`"});
      to.add(a);
    }
  };
  add(spec.unreduced, "unreduced", out.sharding.unreduced);
  add(spec.reduced, "reduced", out.sharding.reduced);
  if (!spec.kind.empty() && spec.unreduced.empty())
    in.fail("spec", span,
            "`kind: \"" + spec.kind + "\"` in " + text + " says how a value is unreduced, and no axis is `unreduced`");
  if (spec.kind == "max")
    out.sharding.unreduced_kind = runtime::UnreducedKind::Max;
  else if (spec.kind == "min")
    out.sharding.unreduced_kind = runtime::UnreducedKind::Min;
  else if (!spec.kind.empty() && spec.kind != "sum")
    in.fail("spec", span, "`kind` is \"sum\", \"max\" or \"min\", and not \"" + spec.kind + "\"");
  return out;
}

void check_divides(const ir::Layout& layout, const runtime::Shape& shape, Span span, bool traced) {
  if (!layout.mesh) return;
  for (std::size_t d = 0; d < layout.sharding.dims.size() && d < shape.size(); ++d) {
    const auto& dim = layout.sharding.dims[d];
    const std::int64_t parts = runtime::parts(*layout.mesh, dim);
    if (parts <= 1 || shape[d] % parts == 0) continue;
    const bool automatic = std::all_of(dim.axes.begin(), dim.axes.end(),
                                       [&](AxisId a) { return layout.mesh->axes[a].kind == runtime::AxisKind::Auto; });
    if (traced && automatic) continue;
    std::string axes;
    for (AxisId a : dim.axes) axes += (axes.empty() ? "@" : ", @") + layout.mesh->axes[a].name;
    throw SpecError(span,
                    "dimension " + std::to_string(d) + " has size " + std::to_string(shape[d]) + ", which " + axes +
                        " of size " + std::to_string(parts) + " does not divide",
                    {"array of shape " + runtime::to_string(shape) + ", layout " +
                         runtime::to_string(*layout.mesh, layout.sharding),
                     "pad the dimension to a multiple of " + std::to_string(parts) + ", or lay it out on another axis"},
                    "", static_cast<int>(d));
  }
}

runtime::Sharding explicit_part(const ir::Layout& layout) {
  runtime::Sharding out = layout.sharding;
  if (!layout.mesh) return out;
  for (auto& d : out.dims) {
    std::erase_if(d.axes, [&](AxisId a) { return layout.mesh->axes[a].kind == runtime::AxisKind::Auto; });
    d.open = false;
  }
  return out;
}

}  // namespace shard::lang
