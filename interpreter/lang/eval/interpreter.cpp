// The public face of the evaluator: builtins, running text, calling values, globals.
#include "interpreter/lang/eval/interpreter.h"

#include <iostream>

#include "grammar/kept.h"
#include "interpreter/lang/eval/impl.h"

namespace shard::lang {

using grammar::Kept;
using grammar::Span;
using Impl = Interpreter::Impl;

namespace {

// The host enters the evaluator, perhaps on another thread than before, perhaps from a function that a script called.
template <class F>
Value entered(Impl& m, F body) {
  Calls& calls = m.calls;
  runtime::Stop& stop = m.ctx.pool().stop();
  if (calls.entries == 0) {
    stop.begin(m.in.options().seconds, m.in.options().steps);
    calls.depth = 0;
  }
  const auto heard = [&](const std::string& code) {  // by the host, not by a function of the host in between
    if (calls.entries == 0 && code == "interrupt") stop.forget();
  };
  Value out;
  try {
    const Kept count(calls.entries, calls.entries + 1);
    const Kept here(runtime::Stop::here(), &stop);
    calls.stack.run([&] { out = body(); });
  } catch (const grammar::Error& e) {
    heard(e.diagnostic.code);
    throw;
  } catch (const runtime::RuntimeError& e) {
    heard(e.code);
    throw;
  }
  return out;
}

// At the end of a script: axes that no text of it speaks of.
void warn_of_axes(Impl& m) {
  const AxisNames& axes = m.watch.axes;
  if (axes.listed) return;
  for (const grammar::Word& w : axes.declared)
    if (!axes.named.contains(w.text))
      m.in.warn("unused-axis", w.span, "no array is split over @" + w.text + ": the devices along it all do the same",
                {"name it in a spec, such as `shard x as P(@" + w.text + ")`, or leave it out of the mesh"});
}

// The scope that stays: of the REPL's entries, and of the scripts that a host runs one after the other.
ModuleEnv& lasting_scope(Modules& modules) {
  if (!modules.lasting) {
    modules.lasting = modules.add("");
    modules.lasting->replaces = true;
  }
  modules.main = modules.lasting;
  return *modules.lasting;
}

}  // namespace

Impl::Impl(Interpreter& interpreter)
    : in(interpreter),
      ctx(interpreter.context()),
      builtins(interpreter.context().table()),
      surroundings(interpreter.context()),
      warnings(interpreter.options().warning, interpreter.options().allow, interpreter.options().deny_warnings) {}

Interpreter::Interpreter(trace::Context& context, Options options)
    : context_(context), options_(std::move(options)), impl_(std::make_unique<Impl>(*this)) {
  if (!options_.screen) options_.screen = std::make_shared<Screen>();
}
Interpreter::~Interpreter() = default;

std::optional<Value> Interpreter::builtin(const std::string& name) {
  const int index = impl_->builtins.find(name);
  return index < 0 ? std::nullopt : std::optional<Value>(impl_->builtins[index]);
}

void Interpreter::define(Native native) {
  std::string name = native.name;
  if (native.reserved) impl_->builtins.reserve(name);
  if (native.sees_variables) impl_->builtins.see_variables(name);
  impl_->builtins.define(std::move(name),
                         Value(std::shared_ptr<const Native>(std::make_shared<Native>(std::move(native)))));
}

void Interpreter::define(std::string name, Value constant) {
  impl_->builtins.define(std::move(name), std::move(constant));
}

void Interpreter::write(std::string_view text) {
  ++impl_->watch.effects;
  if (options_.output)
    options_.output(text);
  else
    std::cout << text;
}

void Interpreter::warn(std::string_view code, Span span, std::string message, std::vector<std::string> notes,
                       std::vector<grammar::Fix> fixes) {
  if (impl_->calls.user.known()) span = impl_->calls.user, fixes.clear();
  std::vector<grammar::Diagnostic> found(1);
  found[0] = {std::string(code), span, std::move(message), std::move(notes), std::move(fixes), {}, true};
  if (auto denied = impl_->warnings.add(std::move(found), sources_); !denied.empty())
    throw grammar::Error(std::move(denied[0]));
}

Value Interpreter::run(std::string name, std::string text) {
  return entered(*impl_, [&] {
    impl_->modules.main = impl_->modules.add(name);
    Value out = run_module(*impl_, impl_->modules.main, sources_.add(name, std::move(text)), true);
    impl_->poll({});  // who asked while the last statement ran is heard
    for (const auto& last : std::exchange(last_, {})) last();
    warn_of_axes(*impl_);
    return out;
  });
}

Value Interpreter::run_lasting(std::string name, std::string text, int line) {
  return entered(*impl_, [&] {
    lasting_scope(impl_->modules).name = name;
    Value out = run_module(*impl_, impl_->modules.lasting, sources_.add(name, std::move(text), line), false);
    impl_->poll({});
    return out;
  });
}

Value Interpreter::enter(std::string text, int line) {
  lasting_scope(impl_->modules).uses_all = true;
  return run_lasting("repl", std::move(text), line);
}

Value Interpreter::continue_with(std::string name, std::string text) {
  return run_lasting(std::move(name), std::move(text), 1);
}

Value Interpreter::call(const Value& f, std::vector<CallArg> args, Span span) {
  return entered(*impl_, [&] { return hand_on(f, args, span); });
}

Value Interpreter::call(const Value& f, std::vector<Value> args, Span span) {
  std::vector<CallArg> named;
  named.reserve(args.size());
  for (Value& v : args) named.push_back({"", std::move(v), span});
  args.clear();
  return call(f, std::move(named), span);
}

std::optional<Value> Interpreter::global(const std::string& name) {
  const auto& main = impl_->modules.main;
  const int i = main ? main->find(name) : -1;
  if (i < 0) return std::nullopt;
  const CellRef& c = main->cells[static_cast<std::size_t>(i)];
  return c && c->set ? std::optional<Value>(c->value) : std::nullopt;
}

void Interpreter::set_global(const std::string& name, Value v) {
  ModuleEnv& scope = lasting_scope(impl_->modules);
  if (scope.find(name) < 0) scope.add({name, true, false}, nullptr);
  CellRef& cell = scope.cells[static_cast<std::size_t>(scope.find(name))];
  if (!cell) cell = impl_->cells.make();
  cell->value = std::move(v);
  cell->set = true;
}

Interpreter::OwnScope::OwnScope(Interpreter& in, const std::vector<std::pair<std::string, Value>>& variables)
    : in_(in), main_(in.impl_->modules.main), lasting_(std::exchange(in.impl_->modules.lasting, nullptr)) {
  for (const auto& [name, value] : variables) in.set_global(name, value);
}
Interpreter::OwnScope::~OwnScope() {
  in_.impl_->modules.main = main_;
  in_.impl_->modules.lasting = lasting_;
}

Value Interpreter::load_module(const std::string& name, Span span) {
  grammar::ImportStmt import;
  import.module = name;
  return import_module(*impl_, import, span);
}

void Interpreter::forget_module(const std::string& name) { impl_->modules.loaded.erase(name); }

trace::Traced Interpreter::trace(std::span<const runtime::Type> params, const TraceBody& body, bool types_only,
                                 std::span<const std::optional<trace::HostNumber>> known, ReadObserver* observer) {
  Cells& cells = impl_->cells;
  const auto inside = [&](std::span<const trace::Tensor> given) {
    const bool told = observer && observer != cells.observer;
    const Kept what(cells.observer, told ? observer : cells.observer);
    const Kept of_older(cells.observer_floor, told ? cells.next_serial : cells.observer_floor);
    const Kept outside(cells.trace_floor, cells.next_serial);
    return body(given);
  };
  return context_.trace(params, inside, known, types_only);
}

// ---- what the rooms above ask

Builtins& Interpreter::builtins() { return impl_->builtins; }
Surroundings& Interpreter::surroundings() { return impl_->surroundings; }
Checker* Interpreter::checker() { return impl_->checker; }
Fixer* Interpreter::fixer() { return impl_->fixer.get(); }
void Interpreter::set_fixer(std::unique_ptr<Fixer> fixer) { impl_->fixer = std::move(fixer); }
void Interpreter::set_modifiers(WithModifiers with_modifiers) { impl_->with_modifiers = with_modifiers; }
bool Interpreter::wanted(const grammar::Diagnostic& warning) { return impl_->warnings.wanted(warning, sources_); }

Value Interpreter::hand_on(const Value& f, std::vector<CallArg>& args, Span span) {
  Value out = impl_->call(f, args, span);
  if (span.known()) context_.set_span(recorded_at(span));  // what is recorded next is of the call itself again
  return out;
}

Value Interpreter::eval(const grammar::Expr& e) { return impl_->eval(e); }
const Value* Interpreter::peek(const grammar::Expr& e) { return impl_->peek(e); }
Value Interpreter::binary(grammar::BinaryOp op, const Value& l, const Value& r, Span span) {
  return impl_->binary(op, l, r, span);
}

ir::Origin Interpreter::recorded_at(Span span) const {
  if (!context_.tracing()) return span;
  return {impl_->calls.user.known() ? impl_->calls.user : span, impl_->calls.part};
}

}  // namespace shard::lang
