// Manual mode: a function that is the program of one device. Its arguments are cut as their specs say, its body is traced on local types
// with the taken axes made manual, and its results are put together again. One node of a global graph (the core row per_device), so
// that everything around it, derivatives and the partitioner included, sees an ordinary operation.
#include <algorithm>

#include "interpreter/ir/explicit_law.h"
#include "interpreter/lang/jit.h"
#include "interpreter/lang/manual.h"
#include "interpreter/lang/remedy.h"
#include "interpreter/lang/spec.h"

namespace shard::lang {

using runtime::AxisId;
using runtime::AxisKind;
using runtime::AxisSet;
using runtime::MeshRef;
using runtime::Type;
using trace::Tensor;
using Impl = Interpreter::Impl;

namespace {

struct Body {
  ManualSpecs specs;
  Value function;
  std::string name;

  Value run(Interpreter& in, std::vector<CallArg> args, grammar::Span span) const;
};

// One argument leaf or result leaf with its layout.
struct Placed { Tensor tensor; ir::Layout layout; };

class Call {
 public:
  Call(Interpreter& in, const Body& body, grammar::Span span) : in_(in), impl_(in.impl()), ctx_(in.context()), body_(body), span_(span) {
    outer_ = body.specs.mesh ? body.specs.mesh : ctx_.mesh();
    if (!outer_) impl_.fail("mesh", span, "per-device code needs a mesh, and there is none", {"declare one: mesh m = (@X: 8)"});
    take_axes();
  }

  Value operator()(std::vector<CallArg> args) {
    std::vector<Value> trees;
    for (CallArg& a : args) {
      if (!a.name.empty()) impl_.fail("call", a.span, "per-device code takes positional arguments, `" + a.name + ":` was given");
      trees.push_back(std::move(a.value));
      written_.push_back(a.span == span_ || trees.back().items() || trees.back().fields() ? grammar::Span{} : a.span);
    }
    if (body_.specs.in.size() != trees.size() && !body_.specs.in_unknown)
      impl_.fail("call", span_, body_.name + " takes " + std::to_string(body_.specs.in.size()) + " arguments, the call has " + std::to_string(trees.size()));
    for (std::size_t i = 0; i < trees.size(); ++i) place(trees[i], i < body_.specs.in.size() ? body_.specs.in[i] : Value(), i);
    std::vector<Type> types;
    for (const Placed& p : inputs_) types.push_back(local_type(p));
    const Value function = impl_.with_sizes(body_.function, trees, span_);
    Value result_tree;
    std::vector<ir::Layout> out_layouts;
    std::vector<int> index;
    trace::Traced traced = in_.trace(types, [&](std::span<const Tensor> given) {
      Surroundings surroundings(impl_);
      ctx_.set_mesh(inner_);
      std::vector<Value> values;
      std::size_t at = 0;
      for (const Value& tree : trees) values.push_back(with_given(tree, given, at));
      result_tree = in_.call(function, std::move(values), span_);
      return results(result_tree, out_layouts, index);
    });
    return emit(traced, result_tree, out_layouts, index);
  }

 private:
  void take_axes() {
    AxisSet taken;
    if (body_.specs.all_axes) {
      for (AxisId a = 0; a < outer_->axes.size(); ++a)
        if (outer_->axes[a].kind != AxisKind::Manual) taken.add(a);
    } else {
      for (const std::string& name : body_.specs.axes) {
        auto id = outer_->find(name);
        if (!id) impl_.fail("spec", span_, "@" + name + " is no axis of the mesh " + runtime::to_string(*outer_));
        if (outer_->axes[*id].kind == AxisKind::Manual) impl_.fail("mode", span_, "@" + name + " is manual already in the code around");
        taken.add(*id);
      }
    }
    if (taken.empty()) impl_.fail("mode", span_, "per-device code takes at least one axis, and all of " + runtime::to_string(*outer_) + " are manual already");
    taken_ = taken;
    runtime::Mesh inner = *outer_;
    for (AxisId a : taken.list()) inner.axes[a].kind = AxisKind::Manual;
    inner_ = std::make_shared<const runtime::Mesh>(std::move(inner));
  }

  // The leaves of an argument: tensors become operands, laid out as their spec says; host values stay.
  void place(const Value& v, const Value& spec, std::size_t position) {
    if (auto* items = v.items()) {
      auto* specs = spec.items();
      if (specs && specs->size() != items->size()) misfit(v, spec, "argument", position);
      for (std::size_t i = 0; i < items->size(); ++i) place((*items)[i], specs ? (*specs)[i] : spec, position);
      return;
    }
    if (auto* record = v.fields()) {
      auto* specs = spec.fields();
      for (const auto& [field, x] : record->fields) {
        const Value* s = specs ? specs->find(field) : &spec;
        if (!s) misfit(v, spec, "argument", position);
        place(x, *s, position);
      }
      return;
    }
    if (!v.is_tensor() || v.tensor().known()) return;
    const Tensor& t = v.tensor();
    ir::Layout layout = layout_for(spec, t.type().rank(), "argument", position, &t);
    impl_.at(span_, [&] { ir::check_layout(t.type().shape, layout); });
    check_explicit(t, layout, position);
    inputs_.push_back({t, std::move(layout)});
  }

  [[noreturn]] void misfit(const Value& v, const Value& spec, const char* what, std::size_t position) {
    impl_.fail("spec", span_, std::string("the spec of ") + what + " " + std::to_string(position) + " of " + body_.name + " does not fit it",
               {"the value is " + structure(v), "the spec is " + in_.repr(spec)});
  }

  ir::Layout layout_for(const Value& spec, int rank, const char* what, std::size_t position, const Tensor* t) {
    if (auto* s = spec.get<std::shared_ptr<const Spec>>()) {
      ir::Layout layout = resolve_spec(impl_, **s, rank, span_, outer_);
      for (AxisId a : layout.sharding.used_axes().list())
        if (!taken_.has(a))
          impl_.fail("spec", span_, std::string("the spec of ") + what + " " + std::to_string(position) + " of " + body_.name + " names @" + outer_->axes[a].name +
                                        ", which this function does not make manual: it takes " + ir::axes_text(*outer_, taken_.list()));
      return layout;
    }
    if (!spec.is_none()) impl_.fail("spec", span_, std::string("the spec of ") + what + " " + std::to_string(position) + " is " + kind_name(spec));
    ir::Layout layout{outer_, runtime::Sharding::replicated(static_cast<std::size_t>(rank))};
    bool typed = false;
    for (AxisId a : taken_.list()) typed |= outer_->axes[a].kind == AxisKind::Explicit;
    if (!typed || !t)
      impl_.fail("spec", span_, std::string(what) + " " + std::to_string(position) + " of " + body_.name + " is an array and has no spec",
                 {"annotate it: `x: P(@" + outer_->axes[taken_.list()[0]].name + ")` cuts it, `x: P()` gives every device the whole of it"});
    for (std::size_t d = 0; d < layout.sharding.dims.size(); ++d)
      for (AxisId a : t->type().sharding.dims[d].axes)
        if (taken_.has(a)) layout.sharding.dims[d].axes.push_back(a);
    return layout;
  }

  // On explicit axes a spec says what the argument's layout is; nothing moves.
  void check_explicit(const Tensor& t, const ir::Layout& layout, std::size_t position) {
    const Type& type = t.type();
    for (std::size_t d = 0; d < type.sharding.dims.size(); ++d) {
      std::vector<AxisId> have, want;
      for (AxisId a : type.sharding.dims[d].axes)
        if (taken_.has(a)) have.push_back(a);
      for (AxisId a : layout.sharding.dims[d].axes)
        if (outer_->axes[a].kind == AxisKind::Explicit) want.push_back(a);
      bool laid_out = type.mesh != nullptr;
      if (have != want && laid_out)
        misplaced(type, runtime::to_string(*outer_, layout.sharding), position);
    }
  }

  // A result that still varies along axes which its spec leaves out: the fix sums what the function gives.
  void sum_result(grammar::Error& e, AxisSet varying, const ir::Layout& spec) {
    auto* closure = body_.function.get<std::shared_ptr<const Closure>>();
    const grammar::Expr* last = closure ? result_expression(*(*closure)->function) : nullptr;
    const AxisSet extra = varying - spec.sharding.split_axes() - spec.sharding.unreduced;
    if (!last || extra.empty()) return;
    e.diagnostic.fixes.push_back({"sum over the devices", last->span, "psum(" + std::string(in_.sources().text(last->span)) + ", " + ir::axes_text(*outer_, extra.list()) + ")"});
  }

  [[noreturn]] void misplaced(const Type& type, const std::string& spec, std::size_t position) {
    grammar::Error e("layout", span_, "argument " + std::to_string(position) + " of " + body_.name + " is " + runtime::to_string(type) + ", its spec is " + spec,
                     {"`shard` it first: `shard x as " + spec + "`"});
    if (position < written_.size() && written_[position].known()) e.diagnostic.fixes.push_back(shard_fix(impl_, "lay it out first", written_[position], spec));
    throw e;
  }

  Type local_type(const Placed& p) const {
    Type t = p.tensor.type();
    AxisSet varying = t.varying;
    for (std::size_t d = 0; d < t.shape.size(); ++d) {
      const auto& axes = p.layout.sharding.dims[d].axes;
      for (AxisId a : axes) {
        t.shape[d] /= outer_->size_of(a);
        varying.add(a);
      }
      auto& typed = t.sharding.dims[d].axes;
      typed.erase(std::remove_if(typed.begin(), typed.end(), [&](AxisId a) { return taken_.has(a); }), typed.end());
    }
    t.varying = varying;
    bool shows = !t.varying.empty() || !t.sharding.used_axes().empty();
    t.mesh = shows ? inner_ : nullptr;
    return t;
  }

  Value with_given(const Value& v, std::span<const Tensor> given, std::size_t& at) {
    if (v.items() || v.fields()) {
      std::vector<Value> all = leaves(v);
      for (Value& leaf : all) leaf = with_given(leaf, given, at);
      return with_leaves(v, std::move(all));
    }
    return v.is_tensor() && !v.tensor().known() ? Value(given[at++]) : v;
  }

  // The leaves of the result with their layouts; a value that does not vary along an axis its spec names is the same block everywhere.
  std::vector<Tensor> results(const Value& tree, std::vector<ir::Layout>& layouts, std::vector<int>& index) {
    std::vector<Tensor> out;
    collect(tree, body_.specs.out, layouts, index, out);
    return out;
  }

  void collect(const Value& v, const Value& spec, std::vector<ir::Layout>& layouts, std::vector<int>& index, std::vector<Tensor>& out) {
    if (auto* items = v.items()) {
      auto* specs = spec.items();
      if (specs && specs->size() != items->size()) misfit(v, spec, "result", 0);
      for (std::size_t i = 0; i < items->size(); ++i) collect((*items)[i], specs ? (*specs)[i] : spec, layouts, index, out);
      return;
    }
    if (auto* record = v.fields()) {
      auto* specs = spec.fields();
      for (const auto& [field, x] : record->fields) {
        const Value* s = specs ? specs->find(field) : &spec;
        if (!s) misfit(v, spec, "result", 0);
        collect(x, *s, layouts, index, out);
      }
      return;
    }
    if (v.is_none()) return;   // an empty tree
    bool array = v.is_tensor() || v.is_host_number() || v.is<bool>();
    index.push_back(array ? static_cast<int>(out.size()) : -1);
    if (!array) return;
    Tensor t = in_.tensor(v, span_);
    std::size_t position = out.size();
    if (spec.is_none())
      impl_.fail("spec", span_, "the result of " + body_.name + " has no spec", {"say how the pieces are put together: `-> P(@X)`, or `-> P()` where all are the same"});
    ir::Layout layout = layout_for(spec, t.type().rank(), "result", position, nullptr);
    ir::Ints missing;
    for (AxisId a : layout.sharding.split_axes().list())
      if (!t.type().varying.has(a)) missing.push_back(a);
    if (!missing.empty())
      t = ctx_.apply1(*ctx_.table().core().pcast, {t}, {{"axes", missing}, {"to", std::string("varying")}, {"mesh", ir::Layout{inner_, {}}}});
    layouts.push_back(std::move(layout));
    out.push_back(std::move(t));
  }

  Value emit(const trace::Traced& traced, const Value& tree, const std::vector<ir::Layout>& out_layouts, const std::vector<int>& index) {
    ir::Attrs attrs;
    ir::Ints axes;
    for (AxisId a : taken_.list()) axes.push_back(a);
    attrs.set("axes", axes);
    attrs.set("check", body_.specs.check);
    std::vector<Tensor> operands;
    for (const Placed& p : inputs_) {
      attrs.set("in" + std::to_string(operands.size()), p.layout);
      operands.push_back(p.tensor);
    }
    for (const Tensor& t : traced.captured) {   // from outside: whole on every device
      attrs.set("in" + std::to_string(operands.size()), ir::Layout{outer_, runtime::Sharding::replicated(static_cast<std::size_t>(t.type().rank()))});
      operands.push_back(t);
    }
    for (std::size_t i = 0; i < out_layouts.size(); ++i) attrs.set("out" + std::to_string(i), out_layouts[i]);
    std::vector<Tensor> values;
    try {
      values = impl_.at(span_, [&] { return ctx_.apply(*ctx_.table().core().per_device, operands, std::move(attrs), {traced.graph}); });
    } catch (grammar::Error& e) {
      if (e.diagnostic.code == "varying" && out_layouts.size() == 1) sum_result(e, traced.graph->type(traced.graph->results[0]).varying & taken_, out_layouts[0]);
      throw;
    }
    std::vector<Value> out = leaves(tree);
    for (std::size_t i = 0; i < out.size(); ++i)
      if (index[i] >= 0) out[i] = values[static_cast<std::size_t>(index[i])];
    return with_leaves(tree, std::move(out));
  }

  Interpreter& in_;
  Impl& impl_;
  trace::Context& ctx_;
  const Body& body_;
  grammar::Span span_;
  MeshRef outer_, inner_;
  AxisSet taken_;
  std::vector<Placed> inputs_;
  std::vector<grammar::Span> written_;           // where the arguments stand; unknown for trees
};

Value Body::run(Interpreter& in, std::vector<CallArg> args, grammar::Span span) const { return Call(in, *this, span)(std::move(args)); }

}  // namespace

Value annotation_specs(const grammar::Annot& a, const std::vector<Value>& values, std::size_t& at) {
  if (std::get_if<grammar::SpecAnnot>(&a.node)) return values.at(at++);
  auto all = [&](const std::vector<grammar::AnnotPtr>& parts) {
    std::vector<Value> out;
    for (const auto& p : parts) out.push_back(annotation_specs(*p, values, at));
    return out;
  };
  if (auto* t = std::get_if<grammar::TupleAnnot>(&a.node)) return Value::tuple(all(t->elements));
  if (auto* l = std::get_if<grammar::ListAnnot>(&a.node)) return Value::list(all(l->elements));
  if (auto* r = std::get_if<grammar::RecordAnnot>(&a.node)) {
    std::vector<std::pair<std::string, Value>> out;
    for (const auto& f : r->fields) out.emplace_back(f.name.text, annotation_specs(*f.annot, values, at));
    return Value::record(std::move(out));
  }
  const auto& literal = std::get<grammar::TypeLit>(std::get<grammar::TypeAnnot>(a.node).type->node);
  auto spec = std::make_shared<Spec>();
  for (const auto& d : literal.dims) {
    SpecEntry entry;
    for (const auto& w : d.axes) entry.axes.push_back(w.text);
    spec->dims.push_back(std::move(entry));
  }
  return Value(std::shared_ptr<const Spec>(std::move(spec)));
}

Value manual_function(Interpreter& in, Value function, std::string name, ManualSpecs specs, grammar::Span span) {
  auto body = std::make_shared<const Body>(Body{std::move(specs), std::move(function), std::move(name)});
  auto native = std::make_shared<Native>();
  native->name = body->name;
  native->signature = body->name + "(xs...)";
  native->doc = "A function that each device runs on its own blocks.";
  native->call = [body](Interpreter& i, BoundArgs& a) { return body->run(i, std::move(a.rest), a.span); };
  // Traced as a jit function is: once a key.
  return make_jit(in, Value(std::shared_ptr<const Native>(native)), Value(), Value(), span);
}

Value make_manual(Interpreter& in, std::shared_ptr<const Closure> closure, std::vector<std::string> axes, bool all_axes, grammar::Span span) {
  ManualSpecs specs;
  specs.axes = std::move(axes);
  specs.all_axes = all_axes;
  std::size_t at = 0;
  const grammar::Function& f = *closure->function;
  for (const auto& p : f.params) specs.in.push_back(p.annot ? annotation_specs(*p.annot, closure->annotations, at) : Value());
  if (f.result) specs.out = annotation_specs(*f.result, closure->annotations, at);
  std::string name = f.name.empty() ? "a manual function" : f.name;
  return manual_function(in, Value(closure), std::move(name), std::move(specs), span);
}

}  // namespace shard::lang
