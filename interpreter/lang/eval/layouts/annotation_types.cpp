// Annotations that are types: dtype, shape, sizes with names, and the layout on explicit axes.
#include "interpreter/ir/explicit_law.h"
#include "interpreter/lang/eval/layouts/annotation_check.h"
#include "interpreter/lang/eval/layouts/spec.h"

namespace shard::lang {

using namespace grammar;
using runtime::AxisKind;
using trace::Tensor;

namespace {

// The layout that a type says.
std::string spec_of(const TypeLit& t, std::size_t open, std::size_t rank) {
  std::string out;
  std::size_t blanks = 0;
  for (std::size_t i = 0; i < t.dims.size(); ++i) {
    if (i == open)
      blanks += rank - (t.dims.size() - 1);
    else if (t.dims[i].axes.empty())
      ++blanks;
    if (i == open || t.dims[i].axes.empty()) continue;
    for (; blanks > 0; --blanks) out += out.empty() ? "_" : ", _";
    std::string axes;
    for (const Word& w : t.dims[i].axes) axes += (axes.empty() ? "" : ", ") + w.text;
    out += (out.empty() ? "@" : ", @") + (t.dims[i].axes.size() == 1 ? axes : "(" + axes + ")");
  }
  for (const TypeGroup& g : t.groups) {
    if (g.tag == "V") continue;
    std::string axes;
    for (const Word& w : g.axes) axes += (axes.empty() ? "" : ", ") + w.text;
    out += std::string(out.empty() ? "" : ", ") + (g.tag == "R" ? "reduced: @" : "unreduced: @") +
           (g.axes.size() == 1 ? axes : "(" + axes + ")");
    if (g.tag.size() > 2) out += ", kind: \"" + g.tag.substr(2) + "\"";
  }
  return "P(" + out + ")";
}

}  // namespace

Value AnnotationCheck::type(const TypeLit& t, Span where, Value v) {
  const std::string wanted(m_.in.sources().text(where));
  const auto dtype = t.dtype == "key" ? runtime::DType::Key : *runtime::dtype_named(t.dtype);
  const runtime::Type have = type_of(v, dtype, wanted);
  auto refuse = [&](std::string why) {
    m_.fail("type", span_, what() + " must be " + wanted + ", and it is " + kind_name(v), {std::move(why)});
  };
  if (have.dtype != dtype)
    refuse("the element types differ: " + t.dtype + " and " + std::string(runtime::name(have.dtype)));
  std::size_t fixed = 0, open = t.dims.size();
  for (std::size_t i = 0; i < t.dims.size(); ++i) {
    if (t.dims[i].ellipsis)
      open = i;
    else
      ++fixed;
  }
  const std::size_t rank = have.shape.size();
  if (open == t.dims.size() ? rank != fixed : rank < fixed)
    refuse("the annotation has " + std::to_string(fixed) + (open == t.dims.size() ? "" : " or more") +
           " dimensions and the array " + std::to_string(rank));
  for (std::size_t i = 0; i < t.dims.size(); ++i) {
    const TypeDim& d = t.dims[i];
    if (d.ellipsis) continue;
    const std::size_t at = i < open ? i : rank - (t.dims.size() - i);
    if (std::string why = size(d, at, have.shape[at]); !why.empty()) refuse(std::move(why));
  }
  if (v.is_tensor() && !types_only_) layout_of_type(t, where, have, open, rank);
  return v;
}
// Host numbers are weakly typed: they count as what they would become.
runtime::Type AnnotationCheck::type_of(const Value& v, runtime::DType wanted, const std::string& written) const {
  using runtime::DType;
  if (auto* x = v.get<Tensor>()) return m_.ctx.type_of(*x);
  if (v.is<bool>()) return runtime::Type::of(DType::Bool, {});
  if (v.is<double>()) return runtime::Type::of(runtime::is_float(wanted) ? wanted : DType::F32, {});
  const bool fits = runtime::is_float(wanted) || runtime::is_integer(wanted);
  if (v.is<std::int64_t>()) return runtime::Type::of(fits ? wanted : DType::I32, {});
  m_.fail("type", span_, what_ + " must be " + written + ", and it is " + kind_name(v));
}

std::string AnnotationCheck::size(const TypeDim& d, std::size_t at, std::int64_t n) {
  if (!d.size || std::holds_alternative<HoleLit>(d.size->node)) return {};
  std::int64_t want = 0;
  std::string name = std::string(m_.in.sources().text(d.size->span));
  if (std::holds_alternative<NameRef>(d.size->node) && (m_.flags(d.size->id) & kBindsSize)) {
    std::int64_t* known = bound(d.size->id);
    if (!known) {
      m_.declare(m_.slot(d.size->id), Value(n), true);
      return {};
    }
    want = *known;
  } else {
    want = m_.in.integer(m_.eval(*d.size), d.size->span, "a size");
  }
  if (want == n) return {};
  return "dimension " + std::to_string(at) + " has size " + std::to_string(n) + ", and " + name + " is " +
         std::to_string(want);
}

std::int64_t* AnnotationCheck::bound(std::int32_t id) {
  const Slot s = m_.slot(id);
  Value* v = nullptr;
  if (s.where == Where::Local)
    v = &m_.frame().locals[s.index];
  else if (s.where == Where::Cell && m_.frame().cells[s.index] && m_.frame().cells[s.index]->set)
    v = &m_.frame().cells[s.index]->value;
  return v ? v->get<std::int64_t>() : nullptr;
}

void AnnotationCheck::groups_of_type(const TypeLit& t, Span where, const runtime::Type& have, const runtime::Mesh& mesh,
                                     const std::string& spec) {
  runtime::AxisSet unreduced, reduced;
  runtime::UnreducedKind kind = have.sharding.unreduced_kind;
  for (const TypeGroup& g : t.groups) {
    std::vector<std::string> names;
    for (const Word& w : g.axes) names.push_back(w.text);
    runtime::AxisSet set;
    for (auto a : axes_named(m_, names, mesh, where, ""))
      if (mesh.axes[a].kind == AxisKind::Explicit) set.add(a);
    if (g.tag == "R") reduced = set;
    if (g.tag[0] != 'U' || set.empty()) continue;
    unreduced = set;
    kind = g.tag == "U_max"   ? runtime::UnreducedKind::Max
           : g.tag == "U_min" ? runtime::UnreducedKind::Min
                              : runtime::UnreducedKind::Sum;
  }
  const runtime::AxisSet shown = mesh.of_kind(AxisKind::Explicit);
  const bool same = (have.sharding.unreduced & shown) == unreduced &&
                    (unreduced.empty() || have.sharding.unreduced_kind == kind) &&
                    (reduced.empty() || (have.sharding.reduced & shown) == reduced);
  if (same) return;
  const std::string over = unreduced.empty() ? "it must not be an unreduced sum"
                                             : "it must be unreduced over " + ir::axes_text(mesh, unreduced.list());
  const bool only_reduced = (have.sharding.unreduced & shown) == unreduced;
  misplaced(
      what() + " must be " + std::string(m_.in.sources().text(where)) + ", and it is " + runtime::to_string(have),
      {(only_reduced ? "it must be reduced over " + ir::axes_text(mesh, reduced.list()) : over) + "; `shard` it first"},
      spec);
}

void AnnotationCheck::layout_of_type(const TypeLit& t, Span where, const runtime::Type& have, std::size_t open,
                                     std::size_t rank) {
  const runtime::MeshRef mesh = m_.ctx.mesh();
  bool named = false;
  for (const TypeDim& d : t.dims) named = named || !d.axes.empty();
  named = named || !t.groups.empty();
  if (!mesh) {
    if (named)
      m_.fail("mesh", span_, "the annotation of " + what_ + " names axes, and there is no mesh",
              {"declare one: mesh m = (@X: 8)"});
    return;
  }
  for (std::size_t i = 0; i < t.dims.size(); ++i) {
    const TypeDim& d = t.dims[i];
    if (d.ellipsis) continue;
    const std::size_t at = i < open ? i : rank - (t.dims.size() - i);
    std::vector<std::string> names;
    for (const Word& w : d.axes) names.push_back(w.text);
    std::vector<runtime::AxisId> want;
    for (auto a : axes_named(m_, names, *mesh, d.span, ""))
      if (mesh->axes[a].kind == AxisKind::Explicit) want.push_back(a);
    std::vector<runtime::AxisId> got;
    if (have.mesh)
      for (auto a : have.sharding.dims[at].axes)
        if (a < have.mesh->axes.size() && have.mesh->axes[a].kind == AxisKind::Explicit) got.push_back(a);
    if (want != got) {
      std::string text;
      for (auto a : want) text += (text.empty() ? "@" : ", @") + mesh->axes[a].name;
      misplaced(
          what() + " must be " + std::string(m_.in.sources().text(where)) + ", and it is " + runtime::to_string(have),
          {"dimension " + std::to_string(at) + " must lie " + (want.empty() ? "whole on every device" : "on " + text) +
           "; `shard` it first"},
          spec_of(t, open, rank));
    }
  }
  groups_of_type(t, where, have, *mesh, spec_of(t, open, rank));
}

}  // namespace shard::lang
