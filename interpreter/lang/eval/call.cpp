// Calls: of functions of the script here, of natives and operation rows in bind_native.cpp and bind_row.cpp.
// An argument that the statement assigns anew (see kMove in resolve.h) is moved out of its variable into the call, so
// that the callee holds the only reference; where the call fails before using it, the variable gets it back.
#include "interpreter/lang/check/check.h"
#include "interpreter/lang/eval/impl.h"
#include "interpreter/lang/eval/operators.h"
#include "interpreter/lang/fixes/assertion.h"
#include "interpreter/lang/fixes/fix.h"
#include "interpreter/lang/index/items.h"
#include "interpreter/lang/names/aliases.h"
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
    const bool no_stack = m_.stack_end && static_cast<char*>(__builtin_frame_address(0)) < m_.stack_end;
    if (++m_.depth > kDepth || no_stack) {
      --m_.depth;
      m_.fail("recursion", span,
              no_stack ? "calls and brackets nest too deeply for this thread's stack" : "calls nest deeper than 1,000",
              {"a function calls itself without end, or too often: use a loop"});
    }
  }
  ~Depth() { --m_.depth; }
  Depth(const Depth&) = delete;

 private:
  Impl& m_;
};

}  // namespace

void add_frame(Error& e, const Function& f, Span call) { e.diagnostic.calls.push_back({frame_name(f), call}); }

// The call in the script that led into the library, as long as no function of the script runs again.
class UserCall {
 public:
  UserCall(Impl& m, const Closure& closure, Span call) : m_(m), before_(m.user_call) {
    const bool library = m.in.sources().has(closure.function->body->span.source) &&
                         m.in.sources().at(closure.function->body->span.source).name().starts_with(kLibrary);
    if (!library)
      m.user_call = {};
    else if (!before_.known())
      m.user_call = call;
  }
  ~UserCall() { m_.user_call = before_; }
  UserCall(const UserCall&) = delete;

 private:
  Impl& m_;
  Span before_;
};

Value Impl::run_body(ActiveFrame& f, const Closure& closure, Span span) {
  FrameScope scope(*this, f);
  const UserCall library(*this, closure, span);
  const Check::Call call(check, closure, span);
  Value out;
  Flow flow;
  try {
    flow = eval_flow(*closure.function->body, out);
  } catch (const FlowSignal& s) { flow = s.flow; }
  if (flow == Flow::Return) out = std::move(returned);
  if (closure.function->result && !closure.bare) return on_result(closure, std::move(out), span);
  return out;
}

// Arguments are evaluated straight into the new frame.
static bool simple_call(const Closure& f, const Call& c) {
  if (!f.information().simple || c.args.size() != f.function->params.size()) return false;
  for (const Arg& a : c.args)
    if (a.name || a.spread) return false;
  return true;
}

Value Impl::eval_call(const Expr& e, const Call& c) {
  Value scratch;
  const Value* callee = nullptr;
  std::vector<CallArg> args;
  struct Moved {
    std::size_t arg;
    Slot slot;
  };
  std::vector<Moved> moved;
  auto take = [&](const Expr& x, bool movable) -> Value {
    if (movable && std::holds_alternative<NameRef>(x.node) && (flags(x.id) & kMove)) {
      const Slot s = slot(x.id);
      CellRef cell = cell_of(s);
      if (check && Check::is_nothing(cell ? cell->value : frame->locals[s.index])) Check::unknown(x.span);
      if (!cell || (cell->set && cell->serial >= trace_floor)) {
        moved.push_back({args.size(), s});
        return std::exchange(cell ? cell->value : frame->locals[s.index], Value());
      }
    }
    return eval(x);
  };
  if (auto* f = std::get_if<Field>(&c.callee->node)) {
    const Value* object = peek(*f->object);
    Value evaluated;
    if (!object) evaluated = eval(*f->object), object = &evaluated;
    if (const Record* r = object->fields())
      if (const Value* v = r->find(f->name.text)) {
        if (check && Check::is_nothing(*v)) Check::unknown(c.callee->span);
        scratch = *v, callee = &scratch;
      }
    if (!callee) {
      callee = method(*c.callee, f->name.text, scratch);
      if (callee && (flags(e.id) & kUnused)) refuse_thrown_away(*this, e, c, *callee, object);
      if (!callee) {
        if (find_field(*object, f->name.text))
          fail("type", c.callee->span, "the field `" + f->name.text + "` of " + kind_name(*object) + " is no function",
               c.args.empty() ? std::vector<std::string>{"read it without a call: `." + f->name.text + "`"}
                              : std::vector<std::string>{});
        std::vector<std::string> notes, names = builtin_names();
        std::vector<std::string> fields;
        if (object->fields())
          for (auto& x : object->fields()->fields) fields.push_back(x.first);
        if (auto member = member_here(f->name.text, fields); !member.empty())
          notes.push_back("it is called `" + std::string(member) + "` here");
        else if (auto near_field = near_miss(f->name.text, fields))
          notes.push_back("did you mean `" + *near_field + "`?");
        else if (auto here = name_here(f->name.text); !here.empty())
          notes.push_back("it is called `" + std::string(here) + "` here");
        else if (auto say = way_here(f->name.text); !say.empty())
          notes.emplace_back(say);
        else if (auto near = near_miss(f->name.text, names))
          notes.push_back("did you mean `" + *near + "`?");
        if (object->fields()) notes.push_back("its fields: " + listed_fields(fields));
        fail("name", f->name.span,
             (object->fields() ? "the record" : kind_name(*object)) + " has no field `" + f->name.text +
                 "`, and there is no function of that name",
             std::move(notes));
      }
      Value receiver = object == &evaluated ? std::move(evaluated) : take(*f->object, !callee->is<ClosureRef>());
      args.push_back({"", std::move(receiver), f->object->span});
    }
  } else {
    callee = peek(*c.callee);
    if (!callee) scratch = eval(*c.callee), callee = &scratch;
    if (auto* direct = callee->get<ClosureRef>(); direct && simple_call(**direct, c)) {
      const ClosureRef keep = *direct;
      const Closure& closure = *keep;
      FrameMemory memory(*this, closure.information());
      memory.frame.captured = closure.captured.data();
      memory.frame.unit = closure.unit.get();
      memory.frame.module = closure.module.get();
      memory.frame.closure = &closure;
      const auto& params = closure.function->params;
      for (std::size_t i = 0; i < params.size(); ++i) {
        const Slot s = closure.unit->slots[static_cast<std::size_t>(params[i].pattern->id)];
        if (s.where == Where::Local) {
          memory.frame.locals[s.index] = eval(*c.args[i].value);
        } else {
          Value v = eval(*c.args[i].value);
          CellRef& cell = memory.frame.cells[s.index];
          cell = new_cell();
          cell->value = std::move(v);
          cell->set = true;
        }
      }
      poll(e.span);
      Depth depth_guard(*this, e.span);
      try {
        return run_body(memory.frame, closure, e.span);
      } catch (Error& err) {
        add_frame(err, *closure.function, e.span);
        throw;
      }
    }
  }
  const Value function = *callee;  // the variable may change while arguments are evaluated
  if (auto* n = std::get_if<NameRef>(&c.callee->node);
      n && !function.callable() && builtin(n->name) >= 0 && !(check && Check::is_nothing(function)))
    fail("type", e.span, kind_name(function) + " is no function and cannot be called",
         {"the variable `" + n->name + "` hides the builtin function of that name: call the variable otherwise"});
  args.reserve(args.size() + c.args.size());
  const bool movable = !function.is<ClosureRef>(), native_call = function.is<NativeRef>();
  if ((flags(e.id) & kUnused) && args.empty()) refuse_thrown_away(*this, e, c, function, nullptr);
  Sides sides;  // of a comparison that comes first, for assertions
  for (const Arg& a : c.args) {
    if (!a.spread) {
      Value v = native_call && args.empty() && !check && !std::holds_alternative<NameRef>(a.value->node)
                    ? sides.eval(*this, *a.value)
                    : take(*a.value, movable);
      args.push_back({a.name ? a.name->text : std::string(), std::move(v), a.value->span});
      continue;
    }
    Value v = eval(*a.value);
    if (auto* items = v.items()) {
      for (const Value& x : *items) args.push_back({"", x, a.value->span});
    } else if (auto* r = v.fields()) {
      for (const auto& [name, x] : r->fields) args.push_back({name, x, a.value->span});
    } else {
      fail("type", a.value->span, "`...` in a call spreads a list, a tuple or a record, and this is " + kind_name(v));
    }
  }
  // A native may have taken its arguments apart when it fails: what fixes need is kept, where something is laid out by
  // its type. A compiled function gets its arguments alone, so that it may reuse their memory; its errors are of its
  // body.
  std::vector<CallArg> kept;
  if (auto* native = function.get<NativeRef>(); native && !(*native)->compiled) {
    auto typed = [](const CallArg& a) {
      return a.value.is_tensor() && a.value.tensor().valid() && !a.value.tensor().type().sharding.used_axes().empty();
    };
    if (std::any_of(args.begin(), args.end(), typed)) kept = args;
  }
  auto mended = [&](Error& error) {
    if (!function.is<const ir::OpDef*>() && kept.empty()) return;
    if (std::any_of(c.args.begin(), c.args.end(), [](const Arg& a) { return a.spread; })) return;
    std::vector<const Expr*> written;
    if (args.size() > c.args.size()) written.push_back(std::get<Field>(c.callee->node).object.get());
    for (const Arg& a : c.args) written.push_back(a.value.get());
    mend_call(*this, error, e, function, kept.empty() ? args : kept, written);
  };
  auto put_back = [&] {
    for (const Moved& m : moved) {
      if (args[m.arg].value.is_none()) continue;
      CellRef cell = cell_of(m.slot);
      (cell ? cell->value : frame->locals[m.slot.index]) = std::move(args[m.arg].value);
    }
  };
  try {
    return call(function, args, e.span);
  } catch (Error& error) {
    sides.tell(*this, error);
    mended(error);
    put_back();
    throw;
  } catch (...) {
    put_back();
    throw;
  }
}

const Value* Impl::method(const Expr& callee, const std::string& name, Value& scratch) {
  const std::int32_t index = extra(callee.id);
  if (index < 0) {
    if (int b = builtin(name); b >= 0) return &builtins[static_cast<std::size_t>(b)];
    return nullptr;
  }
  for (const Slot& s : frame->unit->methods[static_cast<std::size_t>(index)]) {
    if (s.where == Where::Builtin) return &builtins[static_cast<std::size_t>(s.index)];
    if (s.where == Where::Local) {
      if (frame->locals[s.index].callable()) return &frame->locals[s.index];
      continue;
    }
    CellRef c = cell_of(s);
    if (!c || !c->set || !c->value.callable()) continue;
    scratch = read(s, callee);
    return &scratch;
  }
  return nullptr;
}

Value Impl::eval_pipe(const Expr& e, const Pipe& p) {
  std::vector<CallArg> args;
  args.push_back({"", eval(*p.value), p.value->span});
  std::vector<const Expr*> written{p.value.get()};
  auto* c = std::get_if<Call>(&p.target->node);
  auto run = [&](const Value& f) {
    try {
      return call(f, args, e.span);
    } catch (Error& error) {
      if (f.is<const ir::OpDef*>()) mend_call(*this, error, e, f, args, written);
      throw;
    }
  };
  if (!c) return run(eval(*p.target));
  Value f = eval(*c->callee);
  for (const Arg& a : c->args) {
    written.push_back(a.spread ? nullptr : a.value.get());
    Value v = eval(*a.value);
    if (!a.spread) {
      args.push_back({a.name ? a.name->text : std::string(), std::move(v), a.value->span});
    } else if (auto* items = v.items()) {
      for (const Value& x : *items) args.push_back({"", x, a.value->span});
    } else {
      fail("type", a.value->span, "`...` in a call spreads a list or a tuple, and this is " + kind_name(v));
    }
  }
  return run(f);
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
  FrameMemory memory(*this, f->information());
  ActiveFrame& frame_of = memory.frame;
  frame_of.captured = f->captured.data();
  frame_of.unit = f->unit.get();
  frame_of.module = f->module.get();
  frame_of.closure = f.get();
  poll(span);
  Depth depth_guard(*this, span);
  try {
    {
      FrameScope scope(*this, frame_of);
      for (const auto& [slot_of, size] : f->sizes) declare(slot_of, Value(size), true);
      for (std::size_t i = 0; i < n; ++i) {
        const Param& p = fn.params[i];
        Value v = given[i] ? std::move(given[i]->value) : eval(*p.default_value);
        if (p.annot && !f->bare)
          v = on_entry(*f, i, std::move(v), given[i] && given[i]->span.known() ? given[i]->span : span);
        bind(*p.pattern, std::move(v), true);
      }
    }
    return run_body(frame_of, *f, span);
  } catch (Error& e) {
    // What an argument's annotation suggests is for the argument: not where the call itself is all that is written of
    // it.
    std::erase_if(e.diagnostic.fixes, [&](const Fix& x) { return x.span == span; });
    add_frame(e, fn, span);
    throw;
  }
}

Value Impl::eval_function(const FunctionPtr& f) {
  auto closure = std::make_shared<Closure>();
  closure->function = f;
  closure->unit = frame->unit->shared_from_this();
  closure->module = frame->module->shared_from_this();
  closure->info = extra(f->id);
  const FunctionInfo& info = closure->information();
  closure->captured.reserve(info.captures.size());
  for (const Slot& s : info.captures)
    closure->captured.push_back(s.where == Where::Cell ? frame->cells[s.index] : frame->captured[s.index]);
  closure->annotations = annotation_values(*f);
  if (f->modifiers.empty()) return Value(ClosureRef(std::move(closure)));
  return with_modifiers(in, std::move(closure));
}

}  // namespace shard::lang
