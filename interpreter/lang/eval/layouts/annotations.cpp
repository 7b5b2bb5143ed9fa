// Annotations of parameters and results, as the evaluator and those who wrap functions meet them.
#include "interpreter/lang/eval/layouts/annotations.h"

#include "interpreter/lang/eval/impl.h"
#include "interpreter/lang/eval/layouts/annotation_check.h"
#include "interpreter/lang/report/written.h"

namespace shard::lang {

using namespace grammar;
using Impl = Interpreter::Impl;

namespace {

// The expressions of annotations that are evaluated where the fn is, in order.
void spec_expressions(const Annot& a, std::vector<const Expr*>& out) {
  if (auto* s = std::get_if<SpecAnnot>(&a.node))
    out.push_back(s->spec.get());
  else if (auto* t = std::get_if<TupleAnnot>(&a.node)) {
    for (auto& e : t->elements) spec_expressions(*e, out);
  } else if (auto* l = std::get_if<ListAnnot>(&a.node)) {
    for (auto& e : l->elements) spec_expressions(*e, out);
  } else if (auto* r = std::get_if<RecordAnnot>(&a.node)) {
    for (auto& e : r->fields) spec_expressions(*e.annot, out);
  }
}

// The names that a function's type annotations bind.
void size_names(const Annot& a, std::vector<std::int32_t>& out) {
  if (auto* t = std::get_if<TypeAnnot>(&a.node)) {
    for (const TypeDim& d : std::get<TypeLit>(t->type->node).dims)
      if (d.size && std::holds_alternative<NameRef>(d.size->node)) out.push_back(d.size->id);
  } else if (auto* u = std::get_if<TupleAnnot>(&a.node)) {
    for (auto& e : u->elements) size_names(*e, out);
  } else if (auto* l = std::get_if<ListAnnot>(&a.node)) {
    for (auto& e : l->elements) size_names(*e, out);
  } else if (auto* r = std::get_if<RecordAnnot>(&a.node)) {
    for (auto& e : r->fields) size_names(*e.annot, out);
  }
}

std::size_t first_value(const Function& f, std::size_t parameter) {
  std::vector<const Expr*> before;
  for (std::size_t i = 0; i < parameter; ++i)
    if (f.params[i].annot) spec_expressions(*f.params[i].annot, before);
  return before.size();
}

// The specs of an annotation, a tree like the annotation's; those that are values stand in `values`, in order of
// writing.
Value specs_of(const Annot& a, const std::vector<Value>& values, std::size_t& at) {
  if (std::get_if<SpecAnnot>(&a.node)) return values.at(at++);
  auto all = [&](const std::vector<AnnotPtr>& parts) {
    std::vector<Value> out;
    for (const auto& p : parts) out.push_back(specs_of(*p, values, at));
    return out;
  };
  if (auto* t = std::get_if<TupleAnnot>(&a.node)) return Value::tuple(all(t->elements));
  if (auto* l = std::get_if<ListAnnot>(&a.node)) return Value::list(all(l->elements));
  if (auto* r = std::get_if<RecordAnnot>(&a.node)) {
    std::vector<std::pair<std::string, Value>> out;
    for (const auto& f : r->fields) out.emplace_back(f.name.text, specs_of(*f.annot, values, at));
    return Value::record(std::move(out));
  }
  const auto& literal = std::get<TypeLit>(std::get<TypeAnnot>(a.node).type->node);
  auto spec = std::make_shared<Spec>();
  for (const auto& d : literal.dims) {
    SpecEntry entry;
    for (const auto& w : d.axes) entry.axes.push_back(w.text);
    spec->dims.push_back(std::move(entry));
  }
  return Value(std::shared_ptr<const Spec>(std::move(spec)));
}

}  // namespace

Value with_sizes(Impl& m, const Value& function, const std::vector<Value>& args, Span span) {
  auto* f = function.get<std::shared_ptr<const Closure>>();
  if (!f || !(*f)->bare) return function;
  const Function& fn = *(*f)->function;
  std::vector<std::int32_t> names;
  for (const Param& p : fn.params)
    if (p.annot) size_names(*p.annot, names);
  bool types = !names.empty();
  for (const Param& p : fn.params) types = types || (p.annot && std::holds_alternative<TypeAnnot>(p.annot->node));
  if (!types) return function;
  auto call = std::make_shared<Closure>(**f);
  FrameMemory memory(m.frames, *call);
  FrameScope scope(m.frames, memory.frame);
  for (std::size_t i = 0; i < fn.params.size() && i < args.size(); ++i) {
    if (!fn.params[i].annot) continue;
    auto* name = std::get_if<NamePattern>(&fn.params[i].pattern->node);
    std::string what = name ? "`" + name->name + "`" : "argument " + std::to_string(i + 1);
    if (!fn.name.empty()) what += " of `" + fn.name + "`";
    AnnotationCheck(m, *call, first_value(fn, i), std::move(what), span, {}, true).check(*fn.params[i].annot, args[i]);
  }
  for (std::int32_t id : names) {
    if (!(m.flags(id) & kBindsSize)) continue;
    const Slot s = m.slot(id);
    const Value* v = s.where == Where::Local       ? &memory.frame.locals[s.index]
                     : memory.frame.cells[s.index] ? &memory.frame.cells[s.index]->value
                                                   : nullptr;
    if (auto* n = v ? v->get<std::int64_t>() : nullptr) call->sizes.emplace_back(s, *n);
  }
  return Value(std::shared_ptr<const Closure>(std::move(call)));
}

std::vector<Value> annotation_values(Impl& m, const Function& f) {
  std::vector<const Expr*> expressions;
  for (const Param& p : f.params)
    if (p.annot) spec_expressions(*p.annot, expressions);
  if (f.result) spec_expressions(*f.result, expressions);
  std::vector<Value> out;
  for (const Expr* e : expressions) out.push_back(m.eval(*e));
  return out;
}

Value on_entry(Impl& m, const Closure& f, std::size_t parameter, Value v, Span span) {
  const Param& p = f.function->params[parameter];
  auto* name = std::get_if<NamePattern>(&p.pattern->node);
  std::string what = name ? "`" + name->name + "`" : "argument " + std::to_string(parameter + 1);
  if (!f.function->name.empty()) what += " of `" + f.function->name + "`";
  return AnnotationCheck(m, f, first_value(*f.function, parameter), std::move(what), span, span)
      .check(*p.annot, std::move(v));
}

Value on_result(Impl& m, const Closure& f, Value v, Span span) {
  std::string what = "the result" + (f.function->name.empty() ? std::string() : " of `" + f.function->name + "`");
  const Expr* last = given_by(*f.function->body);
  const std::size_t first = first_value(*f.function, f.function->params.size());
  return AnnotationCheck(m, f, first, std::move(what), span, last ? last->span : Span{})
      .check(*f.function->result, std::move(v));
}

FunctionSpecs annotation_specs(const Closure& f) {
  FunctionSpecs out;
  std::size_t at = 0;
  for (const Param& p : f.function->params)
    out.params.push_back(p.annot ? specs_of(*p.annot, f.annotations, at) : Value());
  if (f.function->result) out.result = specs_of(*f.function->result, f.annotations, at);
  return out;
}

}  // namespace shard::lang
