// Calls of values: of functions of the script here, of natives and operation rows in bind_native.cpp and bind_row.cpp.
// How a call is written is call_expr.cpp.
#include "grammar/kept.h"
#include "interpreter/lang/eval/bind.h"
#include "interpreter/lang/eval/code.h"
#include "interpreter/lang/eval/impl.h"
#include "interpreter/lang/eval/layouts/annotations.h"
#include "interpreter/lang/eval/operators.h"
#include "interpreter/lang/report/report.h"
#include "interpreter/lang/values/wrapped.h"

namespace shard::lang {

using namespace grammar;
using Impl = Interpreter::Impl;
using ClosureRef = std::shared_ptr<const Closure>;
using NativeRef = std::shared_ptr<const Native>;

namespace {

std::string frame_name(const Function& f) { return f.name.empty() ? "fn" : f.name; }

// Of a dtype that is called: `f32(x)`.
class CastParameters final : public Parameters {
 public:
  explicit CastParameters(runtime::DType to) : to_(runtime::name(to)) {}
  std::size_t size() const override { return 1; }
  std::string_view name(std::size_t) const override { return "x"; }
  bool required(std::size_t) const override { return true; }
  std::string callee() const override { return "`" + to_ + "`"; }
  std::string signature() const override { return to_ + "(x)"; }

 private:
  std::string to_;
};

[[noreturn]] void refuse_deeper(Impl& m, Span span) {
  m.fail("recursion", span,
         m.calls.stack.low() ? "calls and brackets nest too deeply for this thread's stack"
                             : "calls nest deeper than " + in_thousands(m.in.options().recursion),
         {m.ctx.tracing() ? "a traced condition traces both of its branches, so that a recursion in one has no end: "
                            "use a loop, or keep the condition's number on the host"
                          : "a function calls itself without end, or too often: use a loop"});
}

// How deep one more call is.
[[gnu::always_inline]] inline int deeper(Impl& m, Span span) {
  if (m.calls.depth >= m.in.options().recursion || m.calls.stack.low()) refuse_deeper(m, span);
  return m.calls.depth + 1;
}

// The call in the script that led into the library, as long as no function of the script runs again.
Span user_call(const Impl& m, Span call) { return m.calls.user.known() ? m.calls.user : call; }

// Of the library's layers the function that made them, behind that of the layer they are used by; of its other
// functions those that the script called. What the script does itself has lines of its own.
const std::string* part_of(const Impl& m, const Closure& closure) {
  const FunctionInfo& info = closure.information();
  const std::string* outer = m.calls.part;
  if (!m.calls.user.known() || !outer) return info.part;
  if (!info.inner || !info.part) return outer;
  const std::string_view last = std::string_view(*outer).substr(outer->rfind('.') + 1);
  return last == *info.part ? outer : ir::part_named(std::string(last) + "." + *info.part);
}

[[gnu::always_inline]] inline void run_body(Impl& m, ActiveFrame& f, const Closure& closure, Span span, Value& out) {
  const Kept scope(m.frames.active, &f);
  const bool recorded = closure.module->of_library && m.ctx.tracing();
  const Kept part(m.calls.part, recorded ? part_of(m, closure) : nullptr);
  const Kept user(m.calls.user, closure.module->of_library ? user_call(m, span) : Span{});
  const CheckedCall call(m.checker, closure, span);
  Flow flow;
  try {
    const Expr& body = *closure.function->body;
    const Code* code = code_for(m, closure.information().code, *closure.function);
    if (code) {
      flow = run_code(m, *code, &out);
    } else {
      Value walked;  // a body may give nothing, and `out` be what a variable was
      flow = m.eval_flow(body, walked);
      out = std::move(walked);
    }
  } catch (const FlowSignal& s) { flow = s.flow; }
  if (flow == Flow::Return) out = std::move(m.returned);
  if (closure.function->result && closure.result_checked && !closure.bare)
    out = on_result(m, closure, std::move(out), span);
}

}  // namespace

void add_frame(Error& e, const Function& f, Span call) { e.diagnostic.calls.push_back({frame_name(f), call}); }

void set_parameter(Impl& m, ActiveFrame& f, Slot s, Value v) {
  if (s.where == Where::Local) {
    f.locals[s.index] = std::move(v);
    return;
  }
  CellRef& cell = f.cells[s.index];
  cell = m.cells.make();
  cell->value = std::move(v);
  cell->set = true;
}

void run_bound(Impl& m, ActiveFrame& f, const Closure& closure, Span span, Value& out) {
  m.poll(span);
  const Kept depth(m.calls.depth, deeper(m, span));
  try {
    run_body(m, f, closure, span, out);
  } catch (Error& e) {
    add_frame(e, *closure.function, span);
    throw;
  }
}

Value Impl::call(const Value& f, std::vector<CallArg>& args, Span span) {
  if (auto* c = f.get<ClosureRef>()) return call_closure(*c, args, span);
  if (auto* n = f.get<NativeRef>()) return call_native(*n, args, span);
  if (auto* w = f.get<std::shared_ptr<const Wrapped>>())
    return at(span, [&, keep = *w] { return keep->call(in, args, span); });
  if (auto* op = f.get<const ir::OpDef*>()) return call_row(**op, args, span);
  if (auto* t = f.get<runtime::DType>()) {
    bind_arguments(CastParameters(*t), args, span);
    args.push_back({"", *t, span});
    return call_row(ctx.table().at(kCastRow), args, span);
  }
  std::vector<std::string> notes;
  if (const Record* r = f.fields()) {
    std::vector<std::string> functions;
    for (const auto& field_of : r->fields)
      if (field_of.second.callable()) functions.push_back("." + field_of.first);
    if (!functions.empty()) notes.push_back("its functions: " + joined(functions));
  }
  fail("type", span, kind_name(f) + " is no function and cannot be called", std::move(notes));
}

Value Impl::call_closure(const ClosureRef& f, std::vector<CallArg>& args, Span span) {
  const Function& fn = *f->function;
  const Bound bound = bind_arguments(ClosureParameters(fn), args, span);
  FrameMemory memory(frames, *f);
  poll(span);
  const Kept depth(calls.depth, deeper(*this, span));
  try {
    {
      const Kept scope(frames.active, &memory.frame);
      for (const auto& [slot_of, size] : f->sizes) declare(slot_of, Value(size), true);
      for (std::size_t i = 0; i < fn.params.size(); ++i) {
        const Param& p = fn.params[i];
        CallArg* given = bound.argument[i] < 0 ? nullptr : &args[static_cast<std::size_t>(bound.argument[i])];
        Value v = given ? std::move(given->value) : eval(*p.default_value);
        if (p.annot && !f->bare)
          v = on_entry(*this, *f, i, std::move(v), given && given->span.known() ? given->span : span);
        bind(*p.pattern, std::move(v), true);
      }
    }
    Value out;
    run_body(*this, memory.frame, *f, span, out);
    return out;
  } catch (Error& e) {
    // What an argument's annotation suggests is for the argument: not where the call itself is all that is written of
    // it.
    std::erase_if(e.diagnostic.fixes, [&](const Fix& x) { return x.span == span; });
    add_frame(e, fn, span);
    throw;
  }
}

Value eval_function(Impl& m, const FunctionPtr& f) {
  auto closure = std::make_shared<Closure>();
  closure->function = f;
  closure->unit = m.frame().unit->shared_from_this();
  closure->module = m.frame().module->shared_from_this();
  closure->info = m.extra(f->id);
  const FunctionInfo& info = closure->information();
  closure->captured.reserve(info.captures.size());
  for (const Slot& s : info.captures)
    closure->captured.push_back(s.where == Where::Cell ? m.frame().cells[s.index] : m.frame().captured[s.index]);
  closure->annotations = annotation_values(m, *f);
  if (f->modifiers.empty()) return Value(ClosureRef(std::move(closure)));
  return m.with_modifiers(m.in, std::move(closure));
}

}  // namespace shard::lang
