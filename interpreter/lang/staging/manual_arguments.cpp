// The arguments of per-device code: in the order of the parameters, and cut as their specs say.
#include <algorithm>

#include "interpreter/ir/explicit_law.h"
#include "interpreter/lang/eval/bind.h"
#include "interpreter/lang/eval/hooks.h"
#include "interpreter/lang/staging/manual_call.h"

namespace shard::lang {

using runtime::AxisId;
using runtime::AxisKind;
using runtime::AxisSet;
using runtime::Type;
using trace::Tensor;

// In the order of the parameters.
std::vector<ManualCall::Given> ManualCall::in_order(std::vector<CallArg> args) {
  std::size_t positional = 0;
  for (const CallArg& a : args) positional += a.name.empty();
  std::vector<Given> out;
  if (!function_) {
    for (CallArg& a : args) {
      if (!a.name.empty())
        in_.fail("call", a.span, "per-device code takes positional arguments, `" + a.name + ":` was given");
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
void ManualCall::check_specs(std::size_t positional, std::size_t most) {
  const ManualSpecs& specs = body_.specs;
  const std::size_t n = specs.in.size();
  if (specs.in_unknown || specs.one_for_all || (positional <= n && n <= most)) return;
  in_.fail("call", span_,
           body_.name + " has specs for " + std::to_string(n) + (n == 1 ? " argument" : " arguments") + ", and " +
               std::to_string(positional) + (positional == 1 ? " was" : " were") + " given");
}

const Value& ManualCall::spec_of(std::size_t position) const {
  static const Value none;
  const std::size_t i = body_.specs.one_for_all ? 0 : position;
  return i < body_.specs.in.size() ? body_.specs.in[i] : none;
}

std::string ManualCall::subject(const char* what, std::size_t position) const {
  const bool named = std::string(what) == "argument" && function_ && position < function_->params.size();
  const std::string name(named ? ClosureParameters(*function_).name(position) : std::string_view());
  return std::string(what) + " " + std::to_string(position) + (name.empty() ? "" : " (`" + name + "`)") + " of " +
         body_.name;
}

// The leaves of an argument: tensors become operands, laid out as their spec says; host values stay.
void ManualCall::place(const Value& argument, const Value& specs, std::size_t position, grammar::Span span) {
  const Written written{nullptr, nullptr, span};
  collect(argument, specs, "argument", position, written, [&](const Value& v, const Value& spec, const Written&) {
    if (!is_operand(v)) return;
    const Tensor& t = v.tensor();
    ir::Layout layout = layout_for(spec, t.type(), "argument", position, &t, span);
    about(subject("argument", position), t.type(), span, [&] { ir::check_layout(t.type().shape, layout); });
    check_explicit(t, layout, position, span);
    inputs_.push_back({t, std::move(layout)});
  });
}

void ManualCall::misfit(const Value& v, const Value& spec, const char* what, std::size_t position, grammar::Span span) {
  in_.fail("spec", span, "the spec of " + subject(what, position) + " does not fit it",
           {"the value is " + structure(v), "the spec is " + in_.repr(spec)});
}

ir::Layout ManualCall::layout_for(const Value& spec, const Type& type, const char* what, std::size_t position,
                                  const Tensor* t, grammar::Span span) {
  const int rank = type.rank();
  const std::string who = subject(what, position);
  if (auto* s = spec.get<std::shared_ptr<const Spec>>()) {
    ir::Layout layout = about(who, type, span, [&] { return in_.resolve(**s, rank, span, outer_); });
    for (AxisId a : layout.sharding.used_axes().list())
      if (!taken_.has(a))
        in_.fail("spec", span,
                 "the spec of " + who + " names @" + outer_->axes[a].name +
                     ", which this function does not make manual: it takes " +
                     runtime::axes_text(*outer_, taken_.list()));
    return layout;
  }
  if (spec.items() || spec.fields())
    in_.fail("spec", span, "the spec of " + who + " does not fit it",
             {"the value is one array, " + runtime::to_string(type), "the spec is " + in_.repr(spec)});
  if (!spec.is_none()) in_.fail("spec", span, "the spec of " + who + " is " + kind_name(spec));
  ir::Layout layout{outer_, runtime::Sharding::replicated(static_cast<std::size_t>(rank))};
  bool typed = false;
  for (AxisId a : taken_.list()) typed |= outer_->axes[a].kind == AxisKind::Explicit;
  if (!typed || !t)
    in_.fail("spec", span, who + " is an array and has no spec",
             {"annotate it: `x: P(@" + outer_->axes[taken_.list()[0]].name +
              ")` cuts it, `x: P()` gives every device the whole of it"});
  for (std::size_t d = 0; d < layout.sharding.dims.size(); ++d)
    for (AxisId a : t->type().sharding.dims[d].axes)
      if (taken_.has(a)) layout.sharding.dims[d].axes.push_back(a);
  return layout;
}

// On explicit axes a spec says what the argument's layout is; nothing moves.
void ManualCall::check_explicit(const Tensor& t, const ir::Layout& layout, std::size_t position, grammar::Span span) {
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

void ManualCall::misplaced(const Type& type, const std::string& spec, std::size_t position, grammar::Span span) {
  grammar::Error e("layout", span,
                   subject("argument", position) + " is " + runtime::to_string(type) + ", its spec is " + spec,
                   {"`shard` it first: `shard x as " + spec + "`"});
  if (in_.fixer() && leaf_argument_ && !(span == span_)) in_.fixer()->leaf(e, span, Value(), "", spec);
  throw e;
}

Type ManualCall::local_type(const Placed& p) const {
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

}  // namespace shard::lang
