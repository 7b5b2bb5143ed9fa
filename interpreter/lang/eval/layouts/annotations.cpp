// Annotations of parameters and results, as the evaluator and those who wrap functions meet them.
#include "interpreter/lang/eval/layouts/annotations.h"

#include "grammar/kept.h"
#include "grammar/walk.h"
#include "interpreter/lang/eval/impl.h"
#include "interpreter/lang/eval/layouts/annotation_check.h"
#include "interpreter/lang/eval/layouts/spec.h"
#include "interpreter/lang/report/written.h"

namespace shard::lang {

using namespace grammar;
using Impl = Interpreter::Impl;

namespace {

// The expressions of annotations that are evaluated where the fn is, in order.
void spec_expressions(const Annot& a, std::vector<const Expr*>& out) {
  each_leaf(a, [&](const Annot& leaf) {
    if (auto* s = std::get_if<SpecAnnot>(&leaf.node)) out.push_back(s->spec.get());
  });
}

// The names that a function's type annotations bind.
void size_names(const Annot& a, std::vector<std::int32_t>& out) {
  each_leaf(a, [&](const Annot& leaf) {
    if (auto* t = std::get_if<TypeAnnot>(&leaf.node))
      for (const TypeDim& d : std::get<TypeLit>(t->type->node).dims)
        if (d.size && std::holds_alternative<NameRef>(d.size->node)) out.push_back(d.size->id);
  });
}

std::string of_function(const Function& f) { return f.name.empty() ? "" : " of `" + f.name + "`"; }

std::string parameter_of(const Function& f, std::size_t i) {  // "`x` of `f`"
  auto* name = std::get_if<NamePattern>(&f.params[i].pattern->node);
  return (name ? "`" + name->name + "`" : "argument " + std::to_string(i + 1)) + of_function(f);
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
  for (const auto& d : literal.dims) spec->dims.push_back({texts_of(d.axes), false});
  return Value(std::shared_ptr<const Spec>(std::move(spec)));
}

}  // namespace

Value with_sizes(Interpreter& in, const Value& function, const std::vector<Value>& args, Span span) {
  Impl& m = in.impl();
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
  const Kept scope(m.frames.active, &memory.frame);
  for (std::size_t i = 0; i < fn.params.size() && i < args.size(); ++i) {
    if (!fn.params[i].annot) continue;
    AnnotationCheck(m, *call, first_value(fn, i), parameter_of(fn, i), span, {}, true)
        .check(*fn.params[i].annot, args[i]);
  }
  for (std::int32_t id : names) {
    if (!(m.flags(id) & kBindsSize)) continue;
    const Value* v = m.place_of(m.slot(id));
    if (auto* n = v ? v->get<std::int64_t>() : nullptr) call->sizes.emplace_back(m.slot(id), *n);
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
  return AnnotationCheck(m, f, first_value(*f.function, parameter), parameter_of(*f.function, parameter), span, span)
      .check(*p.annot, std::move(v));
}

Value on_result(Impl& m, const Closure& f, Value v, Span span) {
  std::string what = "the result" + of_function(*f.function);
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
