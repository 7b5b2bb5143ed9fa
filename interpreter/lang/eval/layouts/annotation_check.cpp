#include "interpreter/lang/eval/layouts/annotation_check.h"

#include "grammar/characters.h"
#include "interpreter/ir/explicit_law.h"
#include "interpreter/lang/eval/layouts/spec.h"
#include "interpreter/lang/report/written.h"
#include "interpreter/lang/values/value_text.h"

namespace shard::lang {

using namespace grammar;
using runtime::AxisKind;
using trace::Tensor;

Value AnnotationCheck::check(const Annot& a, Value v) {
  if (path_.empty()) whole_ = v;
  if (auto* t = std::get_if<TypeAnnot>(&a.node)) return type(std::get<TypeLit>(t->type->node), a.span, std::move(v));
  if (auto* s = std::get_if<SpecAnnot>(&a.node)) {
    try {
      return stands_for(f_.annotations.at(next_++), a.span, std::move(v));
    } catch (SpecError& e) {  // an axis that the mesh has not is the annotation's fault, a size is the argument's
      const bool literal = std::holds_alternative<SpecLit>(s->spec->node);
      if (literal && e.diagnostic.span == span_ && (!e.axis.empty() || written_ != span_))
        e.diagnostic.span = entry_place(e, *s->spec);
      throw;
    }
  }
  if (auto* r = std::get_if<RecordAnnot>(&a.node)) {
    const Record* fields = v.fields();
    if (!fields) misfit(a.span, v);
    Record out = *fields;
    for (const FieldAnnot& f : r->fields) {
      Value* found = nullptr;
      for (auto& x : out.fields)
        if (x.first == f.name.text) found = &x.second;
      if (!found)
        m_.fail("field", span_, what_ + " has no field `" + f.name.text + "`, which its annotation names",
                {structure(v)});
      const Within part(path_, "." + f.name.text);
      *found = check(*f.annot, std::move(*found));
    }
    return Value::record(std::move(out.fields));
  }
  auto* t = std::get_if<TupleAnnot>(&a.node);
  const auto& elements = t ? t->elements : std::get<ListAnnot>(a.node).elements;
  return each_item(v, elements.size(), a.span, [&](std::size_t i, const Value& x) { return check(*elements[i], x); });
}

template <class F>
Value AnnotationCheck::each_item(const Value& v, std::size_t n, Span annotation, const F& checked) {
  const auto* items = v.items();
  if (!items || items->size() != n) misfit(annotation, v);
  std::vector<Value> out;
  for (std::size_t i = 0; i < n; ++i) {
    const Within part(path_, "[" + std::to_string(i) + "]");
    out.push_back(checked(i, (*items)[i]));
  }
  return v.with_items(std::move(out));
}

void AnnotationCheck::misfit(Span annotation, const Value& v) {
  m_.fail("type", span_,
          what_ + " does not have the structure of its annotation " + std::string(m_.in.sources().text(annotation)),
          {"it is " + (v.items() || v.fields() ? structure(v) : kind_name(v))});
}

void AnnotationCheck::misplaced(std::string why, std::vector<std::string> notes, const std::string& spec) {
  Error e("type", span_, std::move(why), std::move(notes));
  if (m_.fixer) m_.fixer->leaf(e, written_, whole_, path_, spec);
  throw e;
}

Value AnnotationCheck::stands_for(const Value& annotation, Span where, Value v) {
  if (annotation.is_none() || types_only_) return v;
  if (auto* s = annotation.get<std::shared_ptr<const Spec>>()) return layout(**s, std::move(v));
  if (auto* t = annotation.get<std::shared_ptr<const runtime::Type>>()) {
    if (kind_name(v) != kind_name(Value(*t)) &&
        (!v.is_tensor() || !equal(Value(std::make_shared<const runtime::Type>(v.tensor().type())), Value(*t))))
      m_.fail("type", span_, what_ + " must be " + runtime::to_string(**t) + ", and it is " + kind_name(v));
    return v;
  }
  if (auto* d = annotation.get<runtime::DType>()) {
    if (!v.is_tensor() || v.tensor().type().dtype != *d)
      m_.fail("type", span_,
              what_ + " must have elements of type " + std::string(runtime::name(*d)) + ", and it is " + kind_name(v));
    return v;
  }
  if (auto* items = annotation.items())
    return each_item(v, items->size(), where,
                     [&](std::size_t i, const Value& x) { return stands_for((*items)[i], where, x); });
  if (auto* r = annotation.fields()) {
    if (!v.fields()) misfit(where, v);
    Record out = *v.fields();
    for (auto& [name, value] : out.fields)
      if (const Value* a = r->find(name)) {
        const Within part(path_, "." + name);
        value = stands_for(*a, where, std::move(value));
      }
    for (const auto& [name, a] : r->fields)
      if (!out.find(name)) misfit(where, v);
    return Value::record(std::move(out.fields));
  }
  Diagnostic d{"type", where, "an annotation is a type, a spec or a tree of them, and this is " + kind_name(annotation),
               {},     {},    {}};
  const std::string_view word = m_.in.sources().text(where);
  for (const auto& [host, type] : {std::pair("float", "f32[]"), {"int", "i32[]"}, {"array", "f32[...]"}})
    if (word == host) d.fixes.push_back({"the type of such a value", where, type, true});
  throw Error(std::move(d));
}

Value AnnotationCheck::layout(const Spec& spec, Value v) {
  if (v.items() || v.fields()) {
    std::vector<Value> out;
    for (Value& leaf : leaves(v)) {
      const Within part(path_, leaf_at(v, nullptr, out.size()).path);
      out.push_back(layout(spec, std::move(leaf)));
    }
    return with_leaves(v, std::move(out));
  }
  auto* t = v.get<Tensor>();
  if (!t || t->known()) return v;
  const Value as_spec{std::make_shared<const Spec>(spec)};
  const runtime::MeshRef mesh = m_.ctx.mesh();
  if (mesh && !mesh->of_kind(AxisKind::Explicit).empty()) {
    ir::Layout l;
    try {
      l = m_.in.resolve(spec, t->type().rank(), span_);
    } catch (Error& e) {
      e.diagnostic.notes.push_back(what_ + " is " + kind_name(v));
      throw;
    }
    check_divides(l, t->type().shape, span_);
    const runtime::Sharding want = explicit_part(l);
    runtime::Sharding have = m_.ctx.type_of(*t).sharding;
    have.unreduced_kind = have.unreduced.empty() ? want.unreduced_kind : have.unreduced_kind;
    for (auto& d : have.dims) d.open = false;
    if (!(have == want))
      misplaced(
          what() + " must be laid out as " + lang::show(spec) + ", and it is " + runtime::to_string(m_.ctx.type_of(*t)),
          {"on explicit axes an annotation is checked and nothing moves",
           "lay it out first: shard x as " + lang::show(spec)},
          lang::show(spec));
    if (mesh->of_kind(AxisKind::Auto).empty()) return v;
  }
  return shard_tree(m_.in, v, as_spec, nullptr, span_);
}

// ---- types: dtype, shape, sizes with names, and the layout on explicit axes

namespace {

// "@X", "@(X, Y)"
std::string axes_of(const std::vector<Word>& words) {
  const std::string axes = separated(texts_of(words));
  return words.size() == 1 ? "@" + axes : "@(" + axes + ")";
}

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
    out += (out.empty() ? "" : ", ") + axes_of(t.dims[i].axes);
  }
  for (const TypeGroup& g : t.groups) {
    if (g.tag == "V") continue;
    out += std::string(out.empty() ? "" : ", ") + (g.tag == "R" ? "reduced: " : "unreduced: ") + axes_of(g.axes);
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
    const Value* v = m_.place_of(m_.slot(d.size->id));  // in this call
    const auto* known = v ? v->get<std::int64_t>() : nullptr;
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

void AnnotationCheck::groups_of_type(const TypeLit& t, Span where, const runtime::Type& have, const runtime::Mesh& mesh,
                                     const std::string& spec) {
  runtime::AxisSet unreduced, reduced;
  runtime::UnreducedKind kind = have.sharding.unreduced_kind;
  for (const TypeGroup& g : t.groups) {
    runtime::AxisSet set;
    for (auto a : axes_named(m_.in, texts_of(g.axes), mesh, where, ""))
      if (mesh.axes[a].kind == AxisKind::Explicit) set.add(a);
    if (g.tag == "R") reduced = set;
    if (g.tag[0] != 'U' || set.empty()) continue;
    unreduced = set;
    kind = kind_of(g);
  }
  const runtime::AxisSet shown = mesh.of_kind(AxisKind::Explicit);
  const bool same = (have.sharding.unreduced & shown) == unreduced &&
                    (unreduced.empty() || have.sharding.unreduced_kind == kind) &&
                    (reduced.empty() || (have.sharding.reduced & shown) == reduced);
  if (same) return;
  const std::string over = unreduced.empty()
                               ? "it must not be an unreduced sum"
                               : "it must be unreduced over " + runtime::axes_text(mesh, unreduced.list());
  const bool only_reduced = (have.sharding.unreduced & shown) == unreduced;
  misplaced(what() + " must be " + std::string(m_.in.sources().text(where)) + ", and it is " + runtime::to_string(have),
            {(only_reduced ? "it must be reduced over " + runtime::axes_text(mesh, reduced.list()) : over) +
             "; `shard` it first"},
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
    std::vector<runtime::AxisId> want;
    for (auto a : axes_named(m_.in, texts_of(d.axes), *mesh, d.span, ""))
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
