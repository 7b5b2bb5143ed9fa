// Modifiers of functions, and functions of another mode: `auto(@X) fn` hands explicit code to the partitioner,
// `explicit(@X) fn` types a part of automatic code. The function runs under the same mesh with these axes of the other
// kind; a `shard` on each border carries values over: its layout stays, and only what the type shows of it changes
// (JAX's auto_axes and explicit_axes).
#include <algorithm>

#include "grammar/walk.h"
#include "interpreter/lang/eval/layouts/annotations.h"
#include "interpreter/lang/eval/layouts/spec.h"
#include "interpreter/lang/eval/surroundings.h"
#include "interpreter/lang/staging/jit.h"
#include "interpreter/lang/staging/modes.h"

namespace shard::lang {
namespace {

using grammar::ModifierKind;
using runtime::AxisKind;
using runtime::MeshRef;
using trace::Tensor;

struct Mode {
  AxisKind kind;
  std::vector<std::string> axes;
  bool all_axes;
  std::vector<Value> in = {};  // specs of the parameters, none where there is no annotation
  Value out = {};
  grammar::FunctionPtr written = nullptr;  // null where it is no function of the script
};

class ModeFunction final : public Wrapped {
 public:
  ModeFunction(Value f, Mode r)
      : Wrapped(Kind::Mode, r.kind == AxisKind::Auto ? "auto" : "explicit", std::move(f)), mode_(std::move(r)) {}
  Value call(Interpreter& in, std::vector<CallArg>& args, grammar::Span span) const override;

 private:
  Mode mode_;
};

// Whether an annotation says layouts alone, no type.
bool only_specs(const grammar::Annot& a) {
  bool all = true;
  grammar::each_leaf(a,
                     [&](const grammar::Annot& leaf) { all &= std::holds_alternative<grammar::SpecAnnot>(leaf.node); });
  return all;
}

// `-> P()` behind the parameters.
std::vector<grammar::Fix> result_fix(Interpreter& in, const Mode& r) {
  if (!r.written) return {};
  const grammar::Span header = r.written->header;
  const std::size_t end = in.sources().text(header).rfind(')');
  if (end == std::string_view::npos) return {};
  const auto at = header.begin + static_cast<std::uint32_t>(end) + 1;
  return {{"say the result's layout", grammar::Span{header.source, at, at}, " -> P()"}};
}

MeshRef inner_mesh(Interpreter& in, const Mode& r, const runtime::Mesh& outer, grammar::Span span) {
  runtime::Mesh mesh = outer;
  if (r.all_axes) {
    if (std::all_of(mesh.axes.begin(), mesh.axes.end(), [](const auto& a) { return a.kind == AxisKind::Manual; }))
      in.fail("mode", span,
              "every axis of the mesh is manual here: per-device code cannot become automatic or explicit");
    for (auto& axis : mesh.axes)
      if (axis.kind != AxisKind::Manual) axis.kind = r.kind;
  }
  for (const std::string& name : r.axes) {
    auto id = mesh.find(name);
    if (!id) in.fail("spec", span, "@" + name + " is no axis of the mesh " + runtime::to_string(outer));
    if (mesh.axes[*id].kind == AxisKind::Manual)
      in.fail("mode", span, "@" + name + " is manual here: per-device code cannot become automatic or explicit");
    mesh.axes[*id].kind = r.kind;
  }
  return std::make_shared<const runtime::Mesh>(std::move(mesh));
}

// Every array of a tree with the layout that its type says, typed by `mesh`.
Value carried(Interpreter& in, const Value& tree, const MeshRef& mesh, const MeshRef& from) {
  auto& ctx = in.context();
  return map_leaves(tree, [&](const Value& leaf) -> Value {
    if (!leaf.is_tensor() || leaf.tensor().known()) return leaf;
    const Tensor& t = leaf.tensor();
    const runtime::Type type = t.traced() ? t.type() : ctx.type_of(t);
    if (type.sharding.used_axes().empty() && ctx.foreign(type).empty()) return leaf;
    return ctx.apply1(*ctx.table().core().shard, {t}, ir::crossing({mesh, type.sharding}, from));
  });
}

Value ModeFunction::call(Interpreter& in, std::vector<CallArg>& args, grammar::Span span) const {
  const Mode& r = mode_;
  auto& ctx = in.context();
  MeshRef outer = ctx.mesh();
  if (!outer)
    in.fail("mesh", span, "a region of another mode needs a mesh, and none is declared",
            {"declare one: mesh m = (@X: 8)"});
  MeshRef inner = inner_mesh(in, r, *outer, span);
  bool explicit_inside = r.kind == AxisKind::Explicit;
  if (!explicit_inside && r.out.is_none())
    throw grammar::Error(grammar::Diagnostic{"form",
                                             span,
                                             "`auto fn` declares the layout of its result, and this one does not",
                                             {"write `auto fn f(x) -> P(@" + outer->axes[0].name + ")`"},
                                             result_fix(in, r),
                                             {}});
  Value result;
  {
    Surroundings::Restore surroundings(in.surroundings());
    ctx.set_mesh(inner);
    for (std::size_t i = 0; i < args.size(); ++i) {
      bool specified = explicit_inside && i < r.in.size() && !r.in[i].is_none();
      args[i].value = specified ? shard_tree(in, args[i].value, r.in[i], inner, span, outer)
                                : carried(in, args[i].value, inner, outer);
    }
    result = in.hand_on(function, args, span);
    if (explicit_inside) result = carried(in, result, outer, inner);
  }
  return explicit_inside ? result : shard_tree(in, result, r.out, outer, span, inner);
}

// Code in which these axes are auto (or explicit): `f` is called inside, its arguments cross over.
Value make_mode_function(Value f, AxisKind kind, std::vector<std::string> axes, bool all_axes) {
  Mode mode{kind, std::move(axes), all_axes};
  if (auto* closure = f.get<std::shared_ptr<const Closure>>()) {
    const grammar::Function& written = *(*closure)->function;
    FunctionSpecs specs = annotation_specs(**closure);
    mode.in = std::move(specs.params);
    mode.out = std::move(specs.result);
    mode.written = (*closure)->function;
    if (kind == AxisKind::Auto && written.result && only_specs(*written.result)) {
      // What comes out is laid out so on the way out; inside there is nothing to check.
      auto inside = std::make_shared<Closure>(**closure);
      inside->result_checked = false;
      f = Value(std::shared_ptr<const Closure>(std::move(inside)));
    }
  }
  return Value(std::shared_ptr<const Wrapped>(std::make_shared<ModeFunction>(std::move(f), std::move(mode))));
}

// The innermost (last written) is applied first.
Value with_modifiers(Interpreter& in, std::shared_ptr<Closure> closure) {
  const grammar::FunctionPtr f = closure->function;
  for (const auto& m : f->modifiers) closure->bare = closure->bare || m.kind == ModifierKind::Manual;
  Value out{std::shared_ptr<const Closure>(closure)};
  for (std::size_t i = f->modifiers.size(); i-- > 0;) {
    const grammar::Modifier& m = f->modifiers[i];
    std::vector<std::string> axes;
    for (const auto& a : m.axes)
      if (auto* axis = std::get_if<grammar::AxisLit>(&a->node))
        for (const auto& w : axis->names) axes.push_back(w.text);
    switch (m.kind) {
      case ModifierKind::Jit:
        out = make_jit(std::move(out), {}, {}, f->name_span.known() ? f->name_span : f->span);
        break;
      case ModifierKind::Manual:
        if (!out.is<std::shared_ptr<const Closure>>())
          in.fail("form", m.span, "`manual` stands next to `fn`, the other words before it", {"write `jit manual fn`"});
        out = make_manual(closure, std::move(axes), m.all_axes, m.span);
        break;
      case ModifierKind::Auto:
      case ModifierKind::Explicit:
        const AxisKind kind = m.kind == ModifierKind::Auto ? AxisKind::Auto : AxisKind::Explicit;
        out = make_mode_function(std::move(out), kind, std::move(axes), m.all_axes);
        break;
    }
  }
  return out;
}

}  // namespace

void install_modes(Interpreter& in) { in.set_modifiers(with_modifiers); }

}  // namespace shard::lang
