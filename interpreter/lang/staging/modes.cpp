#include "interpreter/lang/staging/modes.h"

#include "interpreter/lang/eval/impl.h"
#include "interpreter/lang/staging/jit.h"

namespace shard::lang {

using grammar::ModifierKind;

namespace {

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
        out = make_mode_function(std::move(out), runtime::AxisKind::Auto, std::move(axes), m.all_axes);
        break;
      case ModifierKind::Explicit:
        out = make_mode_function(std::move(out), runtime::AxisKind::Explicit, std::move(axes), m.all_axes);
        break;
    }
  }
  return out;
}

}  // namespace

void install_modes(Interpreter& in) { in.impl().with_modifiers = with_modifiers; }

Value call_wrapped(Interpreter& in, const Wrapped& w, std::vector<CallArg>& args, grammar::Span span) {
  Value out = in.impl().call(w.function, args, span);
  if (span.known()) in.context().set_span(span);
  return out;
}

}  // namespace shard::lang
