// Manual mode: a function that is the program of one device. Its arguments are cut as their specs say, its body is
// traced on local types with the taken axes made manual, and its results are put together again. One node of a global
// graph (the core row per_device), so that everything around it, derivatives and the partitioner included, sees an
// ordinary operation.
#include <algorithm>

#include "interpreter/ir/explicit_law.h"
#include "interpreter/ir/region_edges.h"
#include "interpreter/ir/varying.h"
#include "interpreter/lang/eval/bind.h"
#include "interpreter/lang/eval/impl.h"
#include "interpreter/lang/layouts/annotations.h"
#include "interpreter/lang/layouts/spec.h"
#include "interpreter/lang/report/written.h"
#include "interpreter/lang/staging/jit.h"
#include "interpreter/lang/staging/manual.h"
#include "interpreter/lang/values/wrapped.h"

namespace shard::lang {

using runtime::AxisId;
using runtime::AxisKind;
using runtime::AxisSet;
using runtime::MeshRef;
using runtime::Type;
using trace::Tensor;
using Impl = Interpreter::Impl;

namespace {

class ManualFunction final : public Wrapped {
 public:
  ManualFunction(Value f, std::string how, ManualSpecs s)
      : Wrapped(Kind::Manual, std::move(how), std::move(f)), specs(std::move(s)) {
    const Closure* closure = written_function(function);
    const std::string written = closure ? closure->function->name : "";
    name = word != "manual" ? word + "(...)" : written.empty() ? "a manual function" : written;
  }
  Value call(Interpreter& in, std::vector<CallArg>& args, grammar::Span span) const override;

  const ManualSpecs specs;
  std::string name;  // for messages
};

// One argument leaf or result leaf with its layout.
struct Placed {
  Tensor tensor;
  ir::Layout layout;
};

class ManualCall {
 public:
  ManualCall(Interpreter& in, const ManualFunction& body, grammar::Span span)
      : in_(in), impl_(in.impl()), ctx_(in.context()), body_(body), span_(span) {
    if (auto* closure = body.function.get<std::shared_ptr<const Closure>>()) function_ = (*closure)->function.get();
    outer_ = body.specs.mesh ? body.specs.mesh : ctx_.mesh();
    if (!outer_)
      impl_.fail("mesh", span, "per-device code needs a mesh, and there is none", {"declare one: mesh m = (@X: 8)"});
    take_axes();
  }

  Value operator()(std::vector<CallArg> given_args) {
    const std::vector<Given> args = in_order(std::move(given_args));
    for (const auto& [a, i] : args) {
      leaf_argument_ = !a.value.items() && !a.value.fields();
      place(a.value, spec_of(i), i, a.span.known() ? a.span : span_);
    }
    std::vector<Type> types;
    for (const Placed& p : inputs_) types.push_back(local_type(p));
    std::vector<Value> leading;  // without a gap before them
    for (const auto& [a, i] : args)
      if (a.name.empty()) leading.push_back(a.value);
    const Value function = with_sizes(impl_, body_.function, leading, span_);
    HollowTree result;
    std::vector<ir::Layout> out_layouts;
    trace::Traced traced = in_.trace(types, [&](std::span<const Tensor> given) {
      Surroundings::Kept surroundings(impl_.surroundings);
      ctx_.set_mesh(inner_);
      std::vector<CallArg> local;
      std::size_t at = 0;
      const auto operand = [&](const Value& leaf) { return is_operand(leaf) ? Value(given[at++]) : leaf; };
      for (const auto& [a, i] : args) local.push_back({a.name, map_leaves(a.value, operand), a.span});
      result = HollowTree(in_.call(function, std::move(local), span_));
      return results(result, out_layouts);
    });
    return emit(traced, result, out_layouts);
  }

 private:
  // ---- arguments

  struct Given {
    CallArg arg;  // named behind a parameter that is left out (it has a default)
    std::size_t parameter;
  };

  // In the order of the parameters.
  std::vector<Given> in_order(std::vector<CallArg> args) {
    std::size_t positional = 0;
    for (const CallArg& a : args) positional += a.name.empty();
    std::vector<Given> out;
    if (!function_) {
      for (CallArg& a : args) {
        if (!a.name.empty())
          impl_.fail("call", a.span, "per-device code takes positional arguments, `" + a.name + ":` was given");
        out.push_back({std::move(a), out.size()});
      }
      check_specs(positional, positional);
      return out;
    }
    const ClosureParameters parameters(*function_);
    const Bound bound = bind_arguments(parameters, args, span_);
    check_specs(positional, parameters.size());
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      if (bound.argument[i] < 0) continue;
      const bool gap = out.size() < i;
      out.push_back({std::move(args[static_cast<std::size_t>(bound.argument[i])]), i});
      out.back().arg.name = gap ? std::string(parameters.name(i)) : "";
    }
    return out;
  }

  // Specs by position are as many as the arguments. What has a default and no spec is a number of the host.
  void check_specs(std::size_t positional, std::size_t most) {
    const ManualSpecs& specs = body_.specs;
    const std::size_t n = specs.in.size();
    if (specs.in_unknown || specs.one_for_all || (positional <= n && n <= most)) return;
    impl_.fail("call", span_,
               body_.name + " has specs for " + std::to_string(n) + (n == 1 ? " argument" : " arguments") + ", and " +
                   std::to_string(positional) + (positional == 1 ? " was" : " were") + " given");
  }

  std::string parameter_name(std::size_t i) const {
    return function_ && i < function_->params.size() ? std::string(ClosureParameters(*function_).name(i)) : "";
  }
  const Value& spec_of(std::size_t position) const {
    static const Value none;
    const std::size_t i = body_.specs.one_for_all ? 0 : position;
    return i < body_.specs.in.size() ? body_.specs.in[i] : none;
  }
  // "argument 0 (`x`) of f"
  std::string subject(const char* what, std::size_t position) const {
    const std::string name = std::string(what) == "argument" ? parameter_name(position) : "";
    return std::string(what) + " " + std::to_string(position) + (name.empty() ? "" : " (`" + name + "`)") + " of " +
           body_.name;
  }
  // Errors of `f` say which argument or result they are about.
  template <class F>
  auto about(const std::string& who, const Type& type, grammar::Span span, F f) -> decltype(f()) {
    try {
      return impl_.at(span, f);
    } catch (grammar::Error& e) {
      e.diagnostic.notes.insert(e.diagnostic.notes.begin(), who + " is " + runtime::to_string(type));
      throw;
    }
  }

  void take_axes() {
    AxisSet taken;
    if (body_.specs.all_axes) {
      for (AxisId a = 0; a < outer_->axes.size(); ++a)
        if (outer_->axes[a].kind != AxisKind::Manual) taken.add(a);
    } else {
      for (const std::string& name : body_.specs.axes) {
        auto id = outer_->find(name);
        if (!id) impl_.fail("spec", span_, "@" + name + " is no axis of the mesh " + runtime::to_string(*outer_));
        if (outer_->axes[*id].kind == AxisKind::Manual)
          impl_.fail("mode", span_, "@" + name + " is manual already in the code around");
        taken.add(*id);
      }
    }
    if (taken.empty())
      impl_.fail(
          "mode", span_,
          "per-device code takes at least one axis, and all of " + runtime::to_string(*outer_) + " are manual already");
    taken_ = taken;
    runtime::Mesh inner = *outer_;
    for (AxisId a : taken.list()) inner.axes[a].kind = AxisKind::Manual;
    inner_ = std::make_shared<const runtime::Mesh>(std::move(inner));
  }

  // The leaves of an argument: tensors become operands, laid out as their spec says; host values stay.
  void place(const Value& v, const Value& spec, std::size_t position, grammar::Span span) {
    if (auto* items = v.items()) {
      auto* specs = spec.items();
      if (specs && specs->size() != items->size()) misfit(v, spec, "argument", position, span);
      for (std::size_t i = 0; i < items->size(); ++i) place((*items)[i], specs ? (*specs)[i] : spec, position, span);
      return;
    }
    if (auto* record = v.fields()) {
      auto* specs = spec.fields();
      for (const auto& [field, x] : record->fields) {
        const Value* s = specs ? specs->find(field) : &spec;
        if (!s) misfit(v, spec, "argument", position, span);
        place(x, *s, position, span);
      }
      return;
    }
    if (!is_operand(v)) return;
    const Tensor& t = v.tensor();
    ir::Layout layout = layout_for(spec, t.type(), "argument", position, &t, span);
    about(subject("argument", position), t.type(), span, [&] { ir::check_layout(t.type().shape, layout); });
    check_explicit(t, layout, position, span);
    inputs_.push_back({t, std::move(layout)});
  }

  [[noreturn]] void misfit(const Value& v, const Value& spec, const char* what, std::size_t position,
                           grammar::Span span) {
    impl_.fail("spec", span, "the spec of " + subject(what, position) + " does not fit it",
               {"the value is " + structure(v), "the spec is " + in_.repr(spec)});
  }

  ir::Layout layout_for(const Value& spec, const Type& type, const char* what, std::size_t position, const Tensor* t,
                        grammar::Span span) {
    const int rank = type.rank();
    const std::string who = subject(what, position);
    if (auto* s = spec.get<std::shared_ptr<const Spec>>()) {
      ir::Layout layout = about(who, type, span, [&] { return resolve_spec(impl_, **s, rank, span, outer_); });
      for (AxisId a : layout.sharding.used_axes().list())
        if (!taken_.has(a))
          impl_.fail("spec", span,
                     "the spec of " + who + " names @" + outer_->axes[a].name +
                         ", which this function does not make manual: it takes " +
                         ir::axes_text(*outer_, taken_.list()));
      return layout;
    }
    if (!spec.is_none()) impl_.fail("spec", span, "the spec of " + who + " is " + kind_name(spec));
    ir::Layout layout{outer_, runtime::Sharding::replicated(static_cast<std::size_t>(rank))};
    bool typed = false;
    for (AxisId a : taken_.list()) typed |= outer_->axes[a].kind == AxisKind::Explicit;
    if (!typed || !t)
      impl_.fail("spec", span, who + " is an array and has no spec",
                 {"annotate it: `x: P(@" + outer_->axes[taken_.list()[0]].name +
                  ")` cuts it, `x: P()` gives every device the whole of it"});
    for (std::size_t d = 0; d < layout.sharding.dims.size(); ++d)
      for (AxisId a : t->type().sharding.dims[d].axes)
        if (taken_.has(a)) layout.sharding.dims[d].axes.push_back(a);
    return layout;
  }

  // On explicit axes a spec says what the argument's layout is; nothing moves.
  void check_explicit(const Tensor& t, const ir::Layout& layout, std::size_t position, grammar::Span span) {
    const Type& type = t.type();
    for (std::size_t d = 0; d < type.sharding.dims.size(); ++d) {
      std::vector<AxisId> have, want;
      for (AxisId a : type.sharding.dims[d].axes)
        if (taken_.has(a)) have.push_back(a);
      for (AxisId a : layout.sharding.dims[d].axes)
        if (outer_->axes[a].kind == AxisKind::Explicit) want.push_back(a);
      bool laid_out = type.mesh != nullptr;
      if (have != want && laid_out) misplaced(type, runtime::to_string(*outer_, layout.sharding), position, span);
    }
  }

  [[noreturn]] void misplaced(const Type& type, const std::string& spec, std::size_t position, grammar::Span span) {
    grammar::Error e("layout", span,
                     subject("argument", position) + " is " + runtime::to_string(type) + ", its spec is " + spec,
                     {"`shard` it first: `shard x as " + spec + "`"});
    if (impl_.fixer && leaf_argument_ && !(span == span_)) impl_.fixer->leaf(e, span, Value(), "", spec);
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

  // Numbers of the host stay numbers inside.
  static bool is_operand(const Value& leaf) { return leaf.is_tensor() && !leaf.tensor().known(); }

  // ---- results

  // Where a result is written, as far as the text shows it: its expression and its spec.
  struct Written {
    const grammar::Expr* value = nullptr;
    const grammar::Annot* spec = nullptr;
    grammar::Span around = {};  // of the expression that gives the tree it is a part of
    grammar::Span span(grammar::Span otherwise) const {
      return value ? value->span : around.known() ? around : otherwise;
    }
  };

  // The leaves of the result with their layouts; a value that does not vary along an axis its spec names is the same
  // block everywhere.
  std::vector<Tensor> results(HollowTree& tree, std::vector<ir::Layout>& layouts) {
    std::vector<Tensor> out;
    std::size_t leaf = 0;
    Written written;
    if (function_) written = {given_by(*function_->body), function_->result.get()};
    try {
      collect(tree.tree(), body_.specs.out, written, [&](const Value& v, const Value& spec, const Written& at) {
        const std::size_t i = leaf++;
        if (!v.is_tensor() && !v.is_host_number() && !v.is<bool>()) return;
        tree.take(i, out.size());
        out.push_back(laid_out(v, spec, at, out.size(), layouts));
      });
    } catch (grammar::Error& e) {
      if (function_) e.diagnostic.calls.push_back({body_.name, span_});
      throw;
    }
    return out;
  }

  using EachLeaf = std::function<void(const Value& leaf, const Value& spec, const Written& written)>;

  void collect(const Value& v, const Value& spec, const Written& written, const EachLeaf& each) {
    const grammar::Span span = written.span(span_);
    if (auto* items = v.items()) {
      auto* specs = spec.items();
      if (specs && specs->size() != items->size()) misfit(v, spec, "result", 0, span);
      for (std::size_t i = 0; i < items->size(); ++i)
        collect((*items)[i], specs ? (*specs)[i] : spec,
                {element(written.value, i, items->size()), element(written.spec, i), span}, each);
    } else if (auto* record = v.fields()) {
      auto* specs = spec.fields();
      for (const auto& [field, x] : record->fields) {
        const Value* s = specs ? specs->find(field) : &spec;
        if (!s) misfit(v, spec, "result", 0, span);
        collect(x, *s, {element(written.value, field), element(written.spec, field), span}, each);
      }
    } else if (!v.is_none()) {  // which is an empty tree
      each(v, spec, written);
    }
  }

  Tensor laid_out(const Value& v, const Value& spec, const Written& written, std::size_t position,
                  std::vector<ir::Layout>& layouts) {
    const grammar::Span span = written.span(span_);
    Tensor t = in_.tensor(v, span);
    if (spec.is_none())
      impl_.fail("spec", span, "the result of " + body_.name + " has no spec",
                 {"say how the pieces are put together: `-> P(@X)`, or `-> P()` where all are the same"});
    ir::Layout layout = layout_for(spec, t.type(), "result", position, nullptr, span);
    if (body_.specs.check) check_varying(t.type(), layout, written, position);
    if (const AxisSet missing = layout.sharding.split_axes() - t.type().varying; !missing.empty())
      t = ctx_.apply1(*ctx_.table().core().pcast, {t}, ir::to_varying(missing, inner_));
    layouts.push_back(std::move(layout));
    return t;
  }

  // A result whose spec leaves out an axis is promised to be the same along it.
  void check_varying(const Type& type, const ir::Layout& layout, const Written& written, std::size_t position) {
    const AxisSet undeclared = ir::undeclared_axes(type, layout, taken_);
    if (undeclared.empty()) return;
    const std::string value = written.value ? text_at(in_.sources(), written.value->span) : "x";
    const std::string sum = "psum(" + value + ", " + ir::axes_text(*inner_, undeclared.list()) + ")";
    const bool short_enough = sum.size() < 60 && sum.find('\n') == std::string::npos;
    grammar::Diagnostic d;
    d.code = "varying";
    d.span = written.span(span_);
    d.message =
        ir::undeclared_message(subject("result", position), type, layout, undeclared, short_enough ? value : "x");
    if (written.value) d.fixes.push_back({"sum it over the devices", written.value->span, sum});
    runtime::Sharding named = layout.sharding;
    const auto whole =
        std::find_if(named.dims.begin(), named.dims.end(), [](const auto& dim) { return dim.axes.empty(); });
    if (written.spec && whole != named.dims.end()) {
      whole->axes = undeclared.list();
      d.fixes.push_back({"or put the pieces together", written.spec->span, runtime::to_string(*inner_, named)});
    }
    throw grammar::Error(std::move(d));
  }

  Value emit(const trace::Traced& traced, const HollowTree& result, const std::vector<ir::Layout>& out_layouts) {
    ir::Attrs attrs;
    ir::Ints axes;
    for (AxisId a : taken_.list()) axes.push_back(a);
    attrs.set("axes", axes);
    attrs.set("check", body_.specs.check);
    std::vector<Tensor> operands;
    for (const Placed& p : inputs_) {
      attrs.set(ir::operand_spec(operands.size()), p.layout);
      operands.push_back(p.tensor);
    }
    for (const Tensor& t : traced.captured) {  // from outside: whole on every device
      attrs.set(ir::operand_spec(operands.size()),
                ir::Layout{outer_, runtime::Sharding::replicated(static_cast<std::size_t>(t.type().rank()))});
      operands.push_back(t);
    }
    for (std::size_t i = 0; i < out_layouts.size(); ++i) attrs.set(ir::result_spec(i), out_layouts[i]);
    auto values = impl_.at(
        span_, [&] { return ctx_.apply(*ctx_.table().core().per_device, operands, std::move(attrs), {traced.graph}); });
    return result.filled(values);
  }

  Interpreter& in_;
  Impl& impl_;
  trace::Context& ctx_;
  const ManualFunction& body_;
  const grammar::Function* function_ = nullptr;  // where the body is a function of the script
  grammar::Span span_;
  MeshRef outer_, inner_;
  AxisSet taken_;
  std::vector<Placed> inputs_;
  bool leaf_argument_ = false;  // the argument that is being placed is no tree
};

Value ManualFunction::call(Interpreter& in, std::vector<CallArg>& args, grammar::Span span) const {
  return ManualCall(in, *this, span)(args);
}

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

Value manual_function(Value function, std::string word, ManualSpecs specs, grammar::Span span) {
  auto manual = std::make_shared<ManualFunction>(std::move(function), std::move(word), std::move(specs));
  return make_jit(Value(std::shared_ptr<const Wrapped>(std::move(manual))), Value(), Value(), span);
}

Value make_manual(std::shared_ptr<const Closure> closure, std::vector<std::string> axes, bool all_axes,
                  grammar::Span span) {
  ManualSpecs specs;
  specs.axes = std::move(axes);
  specs.all_axes = all_axes;
  std::size_t at = 0;
  const grammar::Function& f = *closure->function;
  for (const auto& p : f.params)
    specs.in.push_back(p.annot ? annotation_specs(*p.annot, closure->annotations, at) : Value());
  if (f.result) specs.out = annotation_specs(*f.result, closure->annotations, at);
  return manual_function(Value(closure), "manual", std::move(specs), span);
}

}  // namespace shard::lang
