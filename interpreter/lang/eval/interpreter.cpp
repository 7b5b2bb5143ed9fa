// The public face of the evaluator: builtins, running text, calling values, globals.
#include "interpreter/lang/eval/interpreter.h"

#include <pthread.h>

#include <iostream>

#include "grammar/parse.h"
#include "interpreter/lang/eval/impl.h"

namespace shard::lang {

using grammar::Span;
using Impl = Interpreter::Impl;

namespace {

constexpr std::size_t kStackReserve = std::size_t{1} << 20;  // for operations, compilation and the report of the error

// Where the stack of this thread ends for calls of the script; null where the system does not say.
char* stack_end() {
  pthread_attr_t attributes;
  if (pthread_getattr_np(pthread_self(), &attributes) != 0) return nullptr;
  void* base = nullptr;
  std::size_t size = 0;
  const int status = pthread_attr_getstack(&attributes, &base, &size);
  pthread_attr_destroy(&attributes);
  return status == 0 && size > 2 * kStackReserve ? static_cast<char*>(base) + kStackReserve : nullptr;
}

class FromHost {  // the host enters the evaluator, perhaps on another thread than before
 public:
  explicit FromHost(Impl& m) : m_(m) {
    if (!m.frames.active) m.calls.stack_end = stack_end();
  }
  ~FromHost() {
    if (!m_.frames.active) m_.calls.depth = 0;
  }
  FromHost(const FromHost&) = delete;

 private:
  Impl& m_;
};

}  // namespace

Impl::Impl(Interpreter& interpreter)
    : in(interpreter),
      ctx(interpreter.context()),
      builtins(interpreter.context().table()),
      surroundings(interpreter.context()) {}

Interpreter::Interpreter(trace::Context& context, Options options)
    : context_(context), options_(std::move(options)), impl_(std::make_unique<Impl>(*this)) {}
Interpreter::~Interpreter() = default;

std::optional<Value> Interpreter::builtin(const std::string& name) {
  const int index = impl_->builtins.find(name);
  return index < 0 ? std::nullopt : std::optional<Value>(impl_->builtins[index]);
}

void Interpreter::define(Native native) {
  std::string name = native.name;
  if (native.reserved) impl_->builtins.reserve(name);
  impl_->builtins.define(std::move(name),
                         Value(std::shared_ptr<const Native>(std::make_shared<Native>(std::move(native)))));
}

void Interpreter::define(std::string name, Value constant) {
  impl_->builtins.define(std::move(name), std::move(constant));
}

void Interpreter::write(std::string_view text) {
  if (options_.output)
    options_.output(text);
  else
    std::cout << text;
}

// The variables that the host has set, in a module of their own; every script that is run later begins with them.
static std::shared_ptr<ModuleEnv> host_module(Impl& impl) {
  constexpr const char* kName = "(host)";
  for (const auto& m : impl.modules.all)
    if (m->name == kName) return m;
  return impl.modules.add(kName);
}

Value Interpreter::run(std::string name, std::string text) {
  FromHost entered(*impl_);
  const auto env = impl_->modules.add(name);
  const auto host = host_module(*impl_);
  env->variables = host->variables;
  env->cells = host->cells;
  impl_->modules.main = env;
  return run_module(*impl_, env, sources_.add(std::move(name), std::move(text)), true);
}

Value Interpreter::enter(std::string text) {
  FromHost entered(*impl_);
  Modules& modules = impl_->modules;
  if (!modules.repl) {
    modules.repl = modules.add("repl");
    modules.repl->replaces = true;
  }
  modules.main = modules.repl;
  return run_module(*impl_, modules.repl, sources_.add("repl", std::move(text)), false);
}

Value Interpreter::call(const Value& f, std::vector<CallArg> args, Span span) {
  FromHost entered(*impl_);
  Value out = impl_->call(f, args, span);
  if (span.known()) context_.set_span(span);  // what the host does next is of its own call again
  return out;
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
  const auto host = host_module(*impl_);
  if (host->find(name) < 0) host->add({name, true, false}, impl_->cells.make());
  const CellRef shared = host->cells[static_cast<std::size_t>(host->find(name))];
  if (!impl_->modules.main) impl_->modules.main = host;
  ModuleEnv& last = *impl_->modules.main;  // of the last script, which may have a variable of that name
  if (last.find(name) < 0) last.add({name, true, false}, shared);
  CellRef& cell = last.cells[static_cast<std::size_t>(last.find(name))];
  if (!cell) cell = shared;
  for (const CellRef& c : {shared, cell}) {
    c->value = v;
    c->set = true;
  }
}

}  // namespace shard::lang
