// Annotations of parameters and results. A spec lays the value out: on auto axes it is a constraint, on explicit axes
// it is checked and nothing moves. A type checks dtype, shape and, on explicit axes, layout; names of sizes bind on
// first use in a call.
#include "interpreter/lang/layouts/annotations.h"

#include "interpreter/ir/explicit_law.h"
#include "interpreter/lang/eval/impl.h"
#include "interpreter/lang/layouts/shard_expr.h"
#include "interpreter/lang/layouts/spec.h"
#include "interpreter/lang/report/written.h"
#include "interpreter/lang/values/format.h"

namespace shard::lang {

using namespace grammar;
using runtime::AxisKind;
using trace::Tensor;
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

class AnnotationCheck {
 public:
  // `next`: the first of the function's annotation values that belongs to this annotation.
  // `written`: the expression that gives the value, where a fix can lay it out.
  AnnotationCheck(Impl& m, const Closure& f, std::size_t next, std::string what, Span span, Span written = {},
                  bool types_only = false)
      : m_(m), f_(f), next_(next), what_(std::move(what)), span_(span), written_(written), types_only_(types_only) {}

  Value check(const Annot& a, Value v) {
    if (path_.empty()) whole_ = v;
    if (auto* t = std::get_if<TypeAnnot>(&a.node)) return type(std::get<TypeLit>(t->type->node), a.span, std::move(v));
    if (std::holds_alternative<SpecAnnot>(a.node)) return stands_for(f_.annotations.at(next_++), a.span, std::move(v));
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

 private:
  // While a part of the value is looked at, how it is reached.
  struct Within {
    std::string& path;
    std::size_t before;
    Within(std::string& p, const std::string& step) : path(p), before(p.size()) { path += step; }
    ~Within() { path.resize(before); }
    Within(const Within&) = delete;
  };

  std::string what() const { return path_.empty() ? what_ : "`" + path_.substr(path_[0] == '.') + "` of " + what_; }

  [[noreturn]] void misfit(Span annotation, const Value& v) {
    m_.fail("type", span_,
            what_ + " does not have the structure of its annotation " + std::string(m_.in.sources().text(annotation)),
            {"it is " + (v.items() || v.fields() ? structure(v) : kind_name(v))});
  }

  // A wrong layout; the fix is a `shard`.
  [[noreturn]] void misplaced(std::string why, std::vector<std::string> notes, const std::string& spec) {
    Error e("type", span_, std::move(why), std::move(notes));
    if (m_.fixer) m_.fixer->leaf(e, written_, whole_, path_, spec);
    throw e;
  }

  // What a variable, or P(...), stands for: a spec, a type, none, or a tree of them.
  Value stands_for(const Value& annotation, Span where, Value v) {
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
        m_.fail(
            "type", span_,
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
    m_.fail("type", where, "an annotation is a type, a spec or a tree of them, and this is " + kind_name(annotation));
  }

  Value layout(const Spec& spec, Value v) {
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
      have.pending = have.unreduced.empty() ? want.pending : have.pending;
      for (auto& d : have.dims) d.open = false;
      if (!(have == want))
        misplaced(what() + " must be laid out as " + lang::show(spec) + ", and it is " +
                      runtime::to_string(m_.ctx.type_of(*t)),
                  {"on explicit axes an annotation is checked and nothing moves",
                   "lay it out first: shard x as " + lang::show(spec)},
                  lang::show(spec));
      if (mesh->of_kind(AxisKind::Auto).empty()) return v;
    }
    return shard_tree(m_.in, v, as_spec, nullptr, span_);
  }

  // ---- types
  std::int64_t* bound(std::int32_t id) {  // the size that a name has in this call; null where it has none yet
    const Slot s = m_.slot(id);
    Value* v = nullptr;
    if (s.where == Where::Local)
      v = &m_.frame().locals[s.index];
    else if (s.where == Where::Cell && m_.frame().cells[s.index] && m_.frame().cells[s.index]->set)
      v = &m_.frame().cells[s.index]->value;
    return v ? v->get<std::int64_t>() : nullptr;
  }

  Value type(const TypeLit& t, Span where, Value v) {
    const std::string wanted(m_.in.sources().text(where));
    runtime::Type have;
    const auto dtype = t.dtype == "key" ? runtime::DType::Key : *runtime::dtype_named(t.dtype);
    if (auto* x = v.get<Tensor>()) {
      have = m_.ctx.type_of(*x);
    } else if (v.is_host_number() ||
               v.is<bool>()) {  // host numbers are weakly typed: they count as what they would become
      const bool fits = v.is<bool>()     ? dtype == runtime::DType::Bool
                        : v.is<double>() ? runtime::is_float(dtype)
                                         : runtime::is_float(dtype) || runtime::is_integer(dtype);
      have = runtime::Type::of(fits             ? dtype
                               : v.is<bool>()   ? runtime::DType::Bool
                               : v.is<double>() ? runtime::DType::F32
                                                : runtime::DType::I32,
                               {});
    } else {
      m_.fail("type", span_, what_ + " must be " + wanted + ", and it is " + kind_name(v));
    }
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
      size(d, at, have.shape[at], refuse);
    }
    if (v.is_tensor() && !types_only_) layout_of_type(t, where, have, open, rank);
    return v;
  }
  template <class F>
  void size(const TypeDim& d, std::size_t at, std::int64_t n, F& refuse) {
    if (!d.size || std::holds_alternative<HoleLit>(d.size->node)) return;
    std::int64_t want = 0;
    std::string name = std::string(m_.in.sources().text(d.size->span));
    if (std::holds_alternative<NameRef>(d.size->node) && (m_.flags(d.size->id) & kBindsSize)) {
      std::int64_t* known = bound(d.size->id);
      if (!known) {
        m_.declare(m_.slot(d.size->id), Value(n), true);
        return;
      }
      want = *known;
    } else {
      want = m_.in.integer(m_.eval(*d.size), d.size->span, "a size");
    }
    if (want != n)
      refuse("dimension " + std::to_string(at) + " has size " + std::to_string(n) + ", and " + name + " is " +
             std::to_string(want));
  }
  static std::string spec_of(const TypeLit& t, std::size_t open, std::size_t rank) {  // the layout that a type says
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

  // Which axes it is pending and reduced over. A reduced value is as good as a whole one where the annotation does not
  // say.
  void groups_of_type(const TypeLit& t, Span where, const runtime::Type& have, const runtime::Mesh& mesh,
                      const std::string& spec) {
    runtime::AxisSet unreduced, reduced;
    runtime::Pending pending = have.sharding.pending;
    for (const TypeGroup& g : t.groups) {
      std::vector<std::string> names;
      for (const Word& w : g.axes) names.push_back(w.text);
      runtime::AxisSet set;
      for (auto a : axes_named(m_, names, mesh, where, ""))
        if (mesh.axes[a].kind == AxisKind::Explicit) set.add(a);
      if (g.tag == "R") reduced = set;
      if (g.tag[0] != 'U' || set.empty()) continue;
      unreduced = set;
      pending = g.tag == "U_max"   ? runtime::Pending::Max
                : g.tag == "U_min" ? runtime::Pending::Min
                                   : runtime::Pending::Sum;
    }
    const runtime::AxisSet shown = mesh.of_kind(AxisKind::Explicit);
    const bool same = (have.sharding.unreduced & shown) == unreduced &&
                      (unreduced.empty() || have.sharding.pending == pending) &&
                      (reduced.empty() || (have.sharding.reduced & shown) == reduced);
    if (same) return;
    const std::string over = unreduced.empty() ? "it must not be a pending sum"
                                               : "it must be pending over " + ir::axes_text(mesh, unreduced.list());
    const bool only_reduced = (have.sharding.unreduced & shown) == unreduced;
    misplaced(
        what() + " must be " + std::string(m_.in.sources().text(where)) + ", and it is " + runtime::to_string(have),
        {(only_reduced ? "it must be reduced over " + ir::axes_text(mesh, reduced.list()) : over) +
         "; `shard` it first"},
        spec);
  }

  void layout_of_type(const TypeLit& t, Span where, const runtime::Type& have, std::size_t open, std::size_t rank) {
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
            {"dimension " + std::to_string(at) + " must lie " +
             (want.empty() ? "whole on every device" : "on " + text) + "; `shard` it first"},
            spec_of(t, open, rank));
      }
    }
    groups_of_type(t, where, have, *mesh, spec_of(t, open, rank));
  }

  Impl& m_;
  const Closure& f_;
  std::size_t next_;
  std::string what_;
  Span span_, written_;
  Value whole_;  // what is checked, and how the part at hand is reached in it
  std::string path_;
  bool types_only_;  // sizes and element types; layouts are somebody else's
};

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

}  // namespace shard::lang
