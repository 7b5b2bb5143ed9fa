#include "interpreter/lang/eval/layouts/annotation_check.h"

#include "interpreter/lang/eval/layouts/shard_expr.h"
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
  const auto* items = v.items();
  if (!items || items->size() != elements.size()) misfit(a.span, v);
  std::vector<Value> out;
  for (std::size_t i = 0; i < elements.size(); ++i) {
    const Within part(path_, "[" + std::to_string(i) + "]");
    out.push_back(check(*elements[i], (*items)[i]));
  }
  return v.is<std::shared_ptr<List>>() ? Value::list(std::move(out)) : Value::tuple(std::move(out));
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
  if (auto* items = annotation.items()) {
    const auto* values = v.items();
    if (!values || values->size() != items->size()) misfit(where, v);
    std::vector<Value> out;
    for (std::size_t i = 0; i < items->size(); ++i) {
      const Within part(path_, "[" + std::to_string(i) + "]");
      out.push_back(stands_for((*items)[i], where, (*values)[i]));
    }
    return v.is<std::shared_ptr<List>>() ? Value::list(std::move(out)) : Value::tuple(std::move(out));
  }
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
      l = resolve_spec(m_, spec, t->type().rank(), span_, nullptr);
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

}  // namespace shard::lang
