// `shard E as SPEC on MESH`, and the literals that layouts are written with.
#include <algorithm>

#include "grammar/overloaded.h"
#include "interpreter/lang/eval/impl.h"
#include "interpreter/lang/eval/layouts/spec.h"
#include "interpreter/lang/values/value_text.h"

namespace shard::lang {

using namespace grammar;
using trace::Tensor;
using Impl = Interpreter::Impl;

namespace {

// One array to its layout. In a trace the row is recorded (a constraint on auto axes, a reshard on explicit ones); at
// top level it places data, also across meshes, by way of the host.
Tensor place(Impl& m, const Tensor& t, const ir::Layout& layout, const runtime::MeshRef& from, Span span, bool within) {
  if (!layout.mesh) return t;  // P() and no mesh: there is nothing to lay out
  check_divides(layout, t.type().shape, span, within);
  if (!t.traced()) {
    const runtime::DeviceArray& a = *t.array();
    bool open = false;
    for (const auto& d : layout.sharding.dims) open = open || d.open;
    if (!open && a.type.mesh && *a.type.mesh == *layout.mesh && a.layout == layout.sharding) return t;
    if (m.ctx.tracing() && a.type.mesh && !runtime::same_devices(*a.type.mesh, *layout.mesh))
      m.fail("mesh", span, "a value can move to another mesh outside of traced code only",
             {"it is on " + runtime::to_string(*a.type.mesh), "the layout is on " + runtime::to_string(*layout.mesh)});
  }
  m.ctx.set_span(m.in.recorded_at(span));
  return m.ctx.apply1(*m.ctx.table().core().shard, {t},
                      from ? ir::crossing(layout, from) : ir::Attrs{{"layout", layout}});
}

class Layer {
 public:
  Layer(Impl& m, runtime::MeshRef mesh, Span span, runtime::MeshRef from, bool within)
      : m_(m), mesh_(std::move(mesh)), span_(span), from_(std::move(from)), within_(within) {}

  Value lay(const Value& v, const Value& specs) {
    if (auto* s = specs.get<std::shared_ptr<const Spec>>()) return everywhere(v, **s);
    if (specs.is_none()) return v;
    if (auto* items = specs.items()) {
      const auto* values = v.items();
      if (!values || values->size() != items->size()) misfit(v, specs);
      std::vector<Value> out;
      for (std::size_t i = 0; i < items->size(); ++i) out.push_back(lay((*values)[i], (*items)[i]));
      return v.with_items(std::move(out));
    }
    if (auto* r = specs.fields()) {
      const Record* fields = v.fields();
      if (!fields || fields->fields.size() != r->fields.size()) misfit(v, specs);
      std::vector<std::pair<std::string, Value>> out;
      for (const auto& [name, value] : fields->fields) {
        const Value* spec = r->find(name);
        if (!spec) misfit(v, specs);
        out.emplace_back(name, lay(value, *spec));
      }
      return Value::record(std::move(out));
    }
    m_.fail("spec", span_, "a layout is a spec such as P(@X), or a tree of specs, and this is " + kind_name(specs),
            specs.is<std::shared_ptr<const Axis>>()
                ? std::vector<std::string>{"the first dimension is split by `P(" + m_.in.repr(specs) + ")`"}
                : std::vector<std::string>{});
  }

 private:
  [[noreturn]] void misfit(const Value& v, const Value& specs) {
    auto text = [](const Value& x) {
      if (auto* type = x.get<std::shared_ptr<const runtime::Type>>()) return runtime::to_string(**type);
      return x.items() || x.fields() ? structure(x) : kind_name(x);
    };
    m_.fail("spec", span_, "the specs do not fit the value: they must be a prefix of its tree",
            {"the specs are " + text(specs), "the value is " + text(v)});
  }
  Value everywhere(const Value& v, const Spec& spec) {
    if (v.items() || v.fields()) return map_leaves(v, [&](const Value& leaf) { return everywhere(leaf, spec); });
    if (auto* type = v.get<std::shared_ptr<const runtime::Type>>()) return laid_out(**type, spec);
    auto* t = v.get<Tensor>();
    if (!t || t->known()) return v;  // host values are everywhere anyway
    const runtime::MeshRef& around = mesh_ ? mesh_ : m_.ctx.mesh();
    for (const SpecEntry& entry : spec.dims)
      for (const std::string& name : entry.axes)
        if (const auto axis = around ? around->find(name) : std::nullopt) refuse_manual(*around, *axis, *t);
    ir::Layout layout;
    try {
      layout = m_.in.resolve(spec, t->type().rank(), span_, mesh_);
      for (runtime::AxisId a : layout.sharding.used_axes().list()) refuse_manual(*layout.mesh, a, *t);
    } catch (Error& e) {
      e.diagnostic.notes.push_back("the array is " + kind_name(v));
      throw;
    }
    return m_.at(span_, [&] { return Value(place(m_, *t, layout, from_, span_, within_)); });
  }

  // A type in place of an array: what `?` leaves open, nothing splits.
  Value laid_out(const runtime::Type& type, const Spec& spec) {
    ir::Layout layout = m_.in.resolve(spec, type.rank(), span_, mesh_);
    for (auto& d : layout.sharding.dims) d.open = false;
    if (layout.mesh) check_divides(layout, type.shape, span_);
    auto out = std::make_shared<runtime::Type>(type);
    out->sharding = std::move(layout.sharding);
    out->mesh = std::move(layout.mesh);
    return Value(std::shared_ptr<const runtime::Type>(std::move(out)));
  }

  // Inside per-device code its axes are taken: a value is one device's block, and only collectives move along them.
  void refuse_manual(const runtime::Mesh& mesh, runtime::AxisId axis, const Tensor& t) {
    if (mesh.axes[axis].kind != runtime::AxisKind::Manual) return;
    const std::string name = "@" + mesh.axes[axis].name;
    m_.fail("mode", span_,
            name + " is manual here: " + runtime::to_string(t.type()) +
                " is the block of one device, and `shard` lays out along axes that are not manual",
            {"along " + name + " blocks move by collectives: `all_gather`, `psum_scatter`, `all_to_all`, `ppermute`"});
  }

  Impl& m_;
  runtime::MeshRef mesh_;
  Span span_;
  runtime::MeshRef from_;
  bool within_;
};

}  // namespace

Value shard_tree(Interpreter& in, const Value& tree, const Value& specs, const runtime::MeshRef& mesh, Span span,
                 const runtime::MeshRef& from, bool within) {
  return Layer(in.impl(), mesh, span, from, within).lay(tree, specs);
}

namespace {

// ---- expressions that make an array out of host numbers and keys alone: `normal(k, [n, m]) / sqrt(n)`

// A row, or a function of the library that does nothing but give its value.
bool pure(const Value& f) {
  if (f.is<const ir::OpDef*>()) return true;
  const auto* native = f.get<std::shared_ptr<const Native>>();
  return native && !(*native)->acts;
}

// What a maker takes: literals, names and elements of what is no array or one of a single element, and what is made of
// them.
bool small(Impl& m, const Expr& e) {
  if (const auto* list = std::get_if<ListLit>(&e.node))
    return std::all_of(list->elements.begin(), list->elements.end(),
                       [&](const Element& x) { return small(m, *x.value); });
  if (const auto* call = std::get_if<Call>(&e.node)) {
    const auto* name = std::get_if<NameRef>(&call->callee->node);
    return name && pure(m.eval(*call->callee)) &&
           std::all_of(call->args.begin(), call->args.end(), [&](const Arg& a) { return small(m, *a.value); });
  }
  if (const auto* part = std::get_if<Index>(&e.node)) {
    const bool plain = std::holds_alternative<NameRef>(part->object->node) &&
                       std::all_of(part->items.begin(), part->items.end(),
                                   [&](const Item& i) { return !i.slice && i.value && small(m, *i.value); });
    if (!plain) return false;
  }
  if (std::holds_alternative<NameRef>(e.node) || std::holds_alternative<Index>(e.node)) {
    const Value v = m.eval(e);
    const auto* t = v.get<trace::Tensor>();
    return t ? runtime::numel(t->type().shape) == 1 : !v.items() && !v.fields() && !v.callable();
  }
  return is_one_of<IntLit, FloatLit, BoolLit, DTypeLit>(e.node);
}

bool calls(const Expr& e) {
  if (const auto* two = std::get_if<Binary>(&e.node)) return calls(*two->left) || calls(*two->right);
  if (const auto* one = std::get_if<Unary>(&e.node)) return calls(*one->operand);
  return std::holds_alternative<Call>(e.node);
}

// Elementwise operators of makers: the order of their numbers hangs on no layout.
bool made(Impl& m, const Expr& e) {
  if (const auto* two = std::get_if<Binary>(&e.node)) {
    const bool arithmetic =
        two->op == BinaryOp::Add || two->op == BinaryOp::Sub || two->op == BinaryOp::Mul || two->op == BinaryOp::Div;
    return arithmetic && made(m, *two->left) && made(m, *two->right);
  }
  if (const auto* one = std::get_if<Unary>(&e.node)) return made(m, *one->operand);
  return small(m, e);
}

// Where such an array is laid out as it is made, several processes make it in one program with its layout, each its own
// blocks, and none has it whole.
bool makes_array(Impl& m, const Expr& e) { return calls(e) && made(m, e); }

// `within`: in traced code of the user's.
Value lay_out(Impl& m, const Expr& e, const grammar::Shard& s, bool within) {
  Value v = m.eval(*s.value), spec = m.eval(*s.spec);
  runtime::MeshRef mesh;
  if (s.mesh) {
    Value on = m.eval(*s.mesh);
    auto* given = on.get<std::shared_ptr<const MeshValue>>();
    if (!given) m.fail("type", s.mesh->span, "`on` takes a mesh, and this is " + kind_name(on));
    mesh = (*given)->mesh;
  }
  auto* splits = spec.get<std::shared_ptr<const Spec>>();
  auto* array = v.get<Tensor>();
  if (splits && *splits && !(*splits)->dims.empty() && !v.items() && !v.fields() && !v.is_none() &&
      (!array || array->known()) && !v.is<std::shared_ptr<const runtime::Type>>())
    m.fail("spec", e.span, lang::show(**splits) + " splits dimensions, and " + kind_name(v) + " has none",
           {"`P()` fits every value"});
  const auto lay = [&] {
    try {
      return shard_tree(m.in, v, spec, mesh, e.span, nullptr, within);
    } catch (SpecError& error) {
      if (error.diagnostic.span == e.span) error.diagnostic.span = entry_place(error, *s.spec);
      throw;
    }
  };
  return m.fixing(lay, [&](Error& error) { m.fixer->shard(error, e, v, spec, mesh); });
}

}  // namespace

// An array that is made here and now is made as it is to lie, by each process its own blocks. Where that does not work,
// it is told as if nothing were joined.
Value eval_shard(Impl& m, const Expr& e, const grammar::Shard& s) {
  const bool within = m.ctx.tracing();
  if (m.ctx.processes() && !within && makes_array(m, *s.value)) try {
      const std::vector<Tensor> made = m.ctx.together([&]() -> std::vector<Tensor> {
        const Value v = lay_out(m, e, s, within);
        const auto* array = v.get<Tensor>();
        return array ? std::vector<Tensor>{*array} : std::vector<Tensor>();
      });
      if (!made.empty()) return Value(made[0]);
    } catch (const grammar::Error& error) {
      if (error.diagnostic.code == "process" || error.diagnostic.code == "interrupt") throw;
    }
  return lay_out(m, e, s, within);
}

Value eval_spec(Impl& m, const SpecLit& s) {
  auto out = std::make_shared<Spec>();
  auto names = [&](const Value& v, Span span, auto& self) -> std::vector<std::string> {
    if (auto* a = v.get<std::shared_ptr<const Axis>>()) return (*a)->names;
    if (v.is_none()) return {};
    if (auto* items = v.items()) {
      std::vector<std::string> all;
      for (const Value& x : *items)
        for (std::string& n : self(x, span, self)) all.push_back(std::move(n));
      return all;
    }
    if (v.is_string())
      m.fail("spec", span, "an entry of a spec is an axis such as @" + v.str() + ", and this is a string");
    m.fail("spec", span, "an entry of a spec is an axis such as @X, `_` or `?`, and this is " + kind_name(v));
  };
  for (const Arg& a : s.args) {
    if (a.name) {
      Value v = m.eval(*a.value);
      if (a.name->text == "unreduced") {
        out->unreduced = names(v, a.value->span, names);
      } else if (a.name->text == "reduced") {
        out->reduced = names(v, a.value->span, names);
      } else if (a.name->text == "kind") {
        if (!v.is_string())
          m.fail("spec", a.value->span, "`kind` is \"sum\", \"max\" or \"min\", and this is " + kind_name(v));
        out->kind = v.str() == "sum" ? "" : v.str();
      } else {
        m.fail("spec", a.name->span, "a spec has no argument `" + a.name->text + "`",
               {"it takes unreduced:, reduced: and kind:"});
      }
      continue;
    }
    if (std::holds_alternative<HoleLit>(a.value->node)) {
      out->dims.emplace_back();
    } else if (std::holds_alternative<OpenLit>(a.value->node)) {
      out->dims.push_back({{}, true});
    } else if (a.spread) {
      Value v = m.eval(*a.value);
      if (auto* spec = v.get<std::shared_ptr<const Spec>>()) {
        out->dims.insert(out->dims.end(), (*spec)->dims.begin(), (*spec)->dims.end());
      } else if (auto* items = v.items()) {
        for (const Value& x : *items) out->dims.push_back({names(x, a.value->span, names), false});
      } else {
        m.fail("spec", a.value->span, "`...` in a spec spreads a list of axes, and this is " + kind_name(v));
      }
    } else {
      out->dims.push_back({names(m.eval(*a.value), a.value->span, names), false});
    }
  }
  return Value(std::shared_ptr<const Spec>(std::move(out)));
}

Value eval_type(Impl& m, const Expr& e, const TypeLit& t) {
  auto out = std::make_shared<runtime::Type>();
  out->dtype = t.dtype == "key" ? runtime::DType::Key : *runtime::dtype_named(t.dtype);
  out->weak = t.weak;
  const runtime::MeshRef mesh = m.ctx.mesh();
  auto axes = [&](const std::vector<Word>& words, Span span) {
    const std::vector<std::string> names = texts_of(words);
    if (!mesh)
      m.fail("mesh", span, "`@" + names[0] + "` names an axis, and there is no mesh",
             {"declare one: mesh m = (@" + names[0] + ": 8)"});
    out->mesh = mesh;
    return axes_named(m.in, names, *mesh, span, "");
  };
  for (const TypeDim& d : t.dims) {
    if (d.ellipsis || !d.size || std::holds_alternative<HoleLit>(d.size->node))
      m.fail("type", d.span, "a type that is a value has every size",
             {"`_` and `...` stand in annotations of parameters"});
    const std::int64_t n = m.in.integer(m.eval(*d.size), d.size->span, "a size");
    if (n < 0) m.fail("shape", d.size->span, "a size is not negative, and this is " + std::to_string(n));
    out->shape.push_back(n);
    out->sharding.dims.emplace_back();
    if (!d.axes.empty()) out->sharding.dims.back().axes = axes(d.axes, d.span);
  }
  for (const TypeGroup& g : t.groups) {
    runtime::AxisSet set;
    for (auto a : axes(g.axes, e.span)) set.add(a);
    if (g.tag == "V")
      out->varying = set;
    else if (g.tag == "R")
      out->sharding.reduced = set;
    else {
      out->sharding.unreduced = set;
      out->sharding.unreduced_kind = kind_of(g);
    }
  }
  m.at(e.span, [&] { return runtime::numel(out->shape); });
  return Value(std::shared_ptr<const runtime::Type>(std::move(out)));
}

}  // namespace shard::lang
