// Calls of values: of functions of the script here, of natives and operation rows in bind_native.cpp and bind_row.cpp.
// How a call is written is call_expr.cpp.
#include "interpreter/lang/eval/forms.h"
#include "interpreter/lang/eval/impl.h"
#include "interpreter/lang/eval/operators.h"
#include "interpreter/lang/layouts/annotations.h"
#include "interpreter/lang/names/aliases.h"
#include "interpreter/lang/report/lists.h"
#include "interpreter/lang/report/report.h"
#include "interpreter/lang/staging/modes.h"

namespace shard::lang {

using namespace grammar;
using Impl = Interpreter::Impl;
using ClosureRef = std::shared_ptr<const Closure>;
using NativeRef = std::shared_ptr<const Native>;

namespace {

constexpr int kDepth = 1000;  // calls of functions of the script that may be open

std::string name_of(const Function& f) { return f.name.empty() ? "this function" : "`" + f.name + "`"; }
std::string frame_name(const Function& f) { return f.name.empty() ? "fn" : f.name; }

const std::string* parameter_name(const Param& p) {
  auto* n = std::get_if<NamePattern>(&p.pattern->node);
  return n ? &n->name : nullptr;
}

std::vector<std::string> parameter_names(const Function& f) {
  std::vector<std::string> out;
  for (const Param& p : f.params) {
    const std::string* n = parameter_name(p);
    out.push_back(n ? *n : "(...)");
  }
  return out;
}

// "takes 2 arguments (a, b)"
std::string takes(const Function& f) {
  std::size_t least = 0;
  for (const Param& p : f.params) least += p.default_value == nullptr;
  const std::size_t most = f.params.size();
  std::string n = least == most ? std::to_string(most) : std::to_string(least) + " to " + std::to_string(most);
  return name_of(f) + " takes " + n + (most == 1 && least == 1 ? " argument" : " arguments") +
         (most ? " (" + joined(parameter_names(f)) + ")" : "");
}

class Depth {
 public:
  Depth(Impl& m, Span span) : m_(m) {
    const bool no_stack = m_.calls.stack_end && static_cast<char*>(__builtin_frame_address(0)) < m_.calls.stack_end;
    if (++m_.calls.depth > kDepth || no_stack) {
      --m_.calls.depth;
      m_.fail("recursion", span,
              no_stack ? "calls and brackets nest too deeply for this thread's stack" : "calls nest deeper than 1,000",
              {"a function calls itself without end, or too often: use a loop"});
    }
  }
  ~Depth() { --m_.calls.depth; }
  Depth(const Depth&) = delete;

 private:
  Impl& m_;
};

void add_frame(Error& e, const Function& f, Span call) { e.diagnostic.calls.push_back({frame_name(f), call}); }

// The call in the script that led into the library, as long as no function of the script runs again.
class UserCall {
 public:
  UserCall(Impl& m, const Closure& closure, Span call) : m_(m), before_(m.calls.user) {
    const bool library = m.in.sources().has(closure.function->body->span.source) &&
                         m.in.sources().at(closure.function->body->span.source).name().starts_with(kLibrary);
    if (!library)
      m.calls.user = {};
    else if (!before_.known())
      m.calls.user = call;
  }
  ~UserCall() { m_.calls.user = before_; }
  UserCall(const UserCall&) = delete;

 private:
  Impl& m_;
  Span before_;
};

Value run_body(Impl& m, ActiveFrame& f, const Closure& closure, Span span) {
  FrameScope scope(m.frames, f);
  const UserCall library(m, closure, span);
  const CheckedCall call(m.checker, closure, span);
  Value out;
  Flow flow;
  try {
    flow = m.eval_flow(*closure.function->body, out);
  } catch (const FlowSignal& s) { flow = s.flow; }
  if (flow == Flow::Return) out = std::move(m.returned);
  if (closure.function->result && !closure.bare) return on_result(m, closure, std::move(out), span);
  return out;
}

}  // namespace

Value run_bound(Impl& m, ActiveFrame& f, const Closure& closure, Span span) {
  m.poll(span);
  Depth depth_guard(m, span);
  try {
    return run_body(m, f, closure, span);
  } catch (Error& e) {
    add_frame(e, *closure.function, span);
    throw;
  }
}

Value Impl::call(const Value& f, std::vector<CallArg>& args, Span span) {
  if (auto* c = f.get<ClosureRef>()) return call_closure(*c, args, span);
  if (auto* n = f.get<NativeRef>()) return call_native(*n, args, span);
  if (auto* op = f.get<const ir::OpDef*>()) return call_row(**op, args, span);
  if (auto* t = f.get<runtime::DType>()) {
    if (args.size() != 1 || !args[0].name.empty())
      fail("call", span,
           "`" + std::string(runtime::name(*t)) + "` takes 1 argument, the array to cast, and " +
               std::to_string(args.size()) + " were given");
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
  const std::size_t n = fn.params.size();
  std::vector<CallArg*> given(n, nullptr);
  std::size_t positional = 0;
  for (CallArg& a : args) positional += a.name.empty();
  if (positional > n)
    fail("call", span,
         takes(fn) + ", and " + std::to_string(positional) + (positional == 1 ? " was" : " were") + " given");
  std::size_t next = 0;
  for (CallArg& a : args) {
    if (a.name.empty()) {
      given[next++] = &a;
      continue;
    }
    std::size_t i = 0;
    while (i < n && !(parameter_name(fn.params[i]) && *parameter_name(fn.params[i]) == a.name)) ++i;
    if (i == n) {
      std::vector<std::string> notes{takes(fn)};
      if (auto near = parameter_near(a.name, parameter_names(fn))) notes.push_back("did you mean `" + *near + ":`?");
      fail("call", a.span, name_of(fn) + " has no parameter `" + a.name + "`", std::move(notes));
    }
    if (given[i]) fail("call", a.span, "the argument `" + a.name + "` of " + name_of(fn) + " is given twice");
    given[i] = &a;
  }
  for (std::size_t i = 0; i < n; ++i)
    if (!given[i] && !fn.params[i].default_value)
      fail("call", span,
           takes(fn) + ", and " + std::to_string(args.size()) + (args.size() == 1 ? " was" : " were") + " given",
           {"missing: " + parameter_names(fn)[i]});
  FrameMemory memory(frames, *f);
  poll(span);
  Depth depth_guard(*this, span);
  try {
    {
      FrameScope scope(frames, memory.frame);
      for (const auto& [slot_of, size] : f->sizes) declare(slot_of, Value(size), true);
      for (std::size_t i = 0; i < n; ++i) {
        const Param& p = fn.params[i];
        Value v = given[i] ? std::move(given[i]->value) : eval(*p.default_value);
        if (p.annot && !f->bare)
          v = on_entry(*this, *f, i, std::move(v), given[i] && given[i]->span.known() ? given[i]->span : span);
        bind(*p.pattern, std::move(v), true);
      }
    }
    return run_body(*this, memory.frame, *f, span);
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
  return with_modifiers(m.in, std::move(closure));
}

}  // namespace shard::lang
