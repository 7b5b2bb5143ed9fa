// Manual mode: a function that is the program of one device. One node of a global graph (the core row per_device), so
// that everything around it, derivatives and the partitioner included, sees an ordinary operation.

#include "interpreter/ir/region_edges.h"
#include "interpreter/lang/eval/layouts/annotations.h"
#include "interpreter/lang/eval/surroundings.h"
#include "interpreter/lang/staging/jit.h"
#include "interpreter/lang/staging/manual_call.h"
#include "interpreter/lang/staging/modes.h"

namespace shard::lang {

using runtime::AxisId;
using runtime::AxisKind;
using runtime::AxisSet;
using runtime::Type;
using trace::Tensor;

Value ManualFunction::call(Interpreter& in, std::vector<CallArg>& args, grammar::Span span) const {
  return ManualCall(in, *this, span)(args);
}

ManualCall::ManualCall(Interpreter& in, const ManualFunction& body, grammar::Span span)
    : in_(in), ctx_(in.context()), body_(body), span_(span) {
  if (auto* closure = body.function.get<std::shared_ptr<const Closure>>()) function_ = (*closure)->function.get();
  outer_ = body.specs.mesh ? body.specs.mesh : ctx_.mesh();
  if (!outer_)
    in_.fail("mesh", span, "per-device code needs a mesh, and none is declared", {"declare one: mesh m = (@X: 8)"});
  take_axes();
}

Value ManualCall::operator()(std::vector<CallArg> given_args) {
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
  const Value function = with_sizes(in_, body_.function, leading, span_);
  TreeStructure result;
  std::vector<ir::Layout> out_layouts;
  trace::Traced traced = in_.trace(types, [&](std::span<const Tensor> given) {
    Surroundings::Restore surroundings(in_.surroundings());
    ctx_.set_mesh(inner_);
    std::vector<CallArg> local;
    std::size_t at = 0;
    const auto operand = [&](const Value& leaf) { return is_operand(leaf) ? Value(given[at++]) : leaf; };
    for (const auto& [a, i] : args) local.push_back({a.name, map_leaves(a.value, operand), a.span});
    try {
      result = TreeStructure(in_.call(function, std::move(local), span_));
    } catch (grammar::Error& e) {
      tell_blocks(e.diagnostic, args);
      throw;
    }
    return results(result, out_layouts);
  });
  return emit(traced, result, out_layouts);
}

// Shapes that do not fit inside are those of blocks: which they are of which arrays.
void ManualCall::tell_blocks(grammar::Diagnostic& d, const std::vector<Given>& args) const {
  if (d.code != "shape" || !function_) return;
  std::size_t at = 0;
  for (const auto& [a, i] : args) {
    const std::size_t first = at;
    for (const Value& leaf : leaves(a.value)) at += is_operand(leaf);
    const auto* name =
        i < function_->params.size() ? std::get_if<grammar::NamePattern>(&function_->params[i].pattern->node) : nullptr;
    if (!name || at != first + 1 || first >= inputs_.size() || !a.value.is_tensor()) continue;
    const Type whole = inputs_[first].tensor.type(), block = local_type(inputs_[first]);
    if (whole.shape == block.shape) continue;
    const auto plain = [](const Type& t) { return runtime::to_string(Type::of(t.dtype, t.shape)); };
    d.notes.push_back("`" + name->name + "` is one device's block, " + plain(block) + " of " + plain(whole) +
                      ": gather it first where all of it is needed");
  }
}

void ManualCall::take_axes() {
  AxisSet taken;
  if (body_.specs.all_axes) {
    for (AxisId a = 0; a < outer_->axes.size(); ++a)
      if (outer_->axes[a].kind != AxisKind::Manual) taken.add(a);
  } else {
    for (const std::string& name : body_.specs.axes) {
      auto id = outer_->find(name);
      if (!id) in_.fail("spec", span_, "@" + name + " is no axis of the mesh " + runtime::to_string(*outer_));
      if (outer_->axes[*id].kind == AxisKind::Manual)
        in_.fail("mode", span_, "@" + name + " is manual already in the code around");
      taken.add(*id);
    }
  }
  if (taken.empty())
    in_.fail(
        "mode", span_,
        "per-device code takes at least one axis, and all of " + runtime::to_string(*outer_) + " are manual already");
  taken_ = taken;
  runtime::Mesh inner = *outer_;
  for (AxisId a : taken.list()) inner.axes[a].kind = AxisKind::Manual;
  inner_ = std::make_shared<const runtime::Mesh>(std::move(inner));
}

Value ManualCall::emit(const trace::Traced& traced, const TreeStructure& result,
                       const std::vector<ir::Layout>& out_layouts) {
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
  auto values = in_.at(
      span_, [&] { return ctx_.apply(*ctx_.table().core().per_device, operands, std::move(attrs), {traced.graph}); });
  return result.filled(values);
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
  FunctionSpecs written = annotation_specs(*closure);
  specs.in = std::move(written.params);
  specs.out = std::move(written.result);
  return manual_function(Value(closure), "manual", std::move(specs), span);
}

}  // namespace shard::lang
