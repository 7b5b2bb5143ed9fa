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

class Entry {  // the host enters the evaluator, perhaps on another thread than before
 public:
  explicit Entry(Impl& m) : m_(m) {
    if (!m.frame) m.stack_end = stack_end();
  }
  ~Entry() {
    if (!m_.frame) m_.depth = 0;
  }
  Entry(const Entry&) = delete;

 private:
  Impl& m_;
};

}  // namespace

Impl::Impl(Interpreter& interpreter) : in(interpreter), ctx(interpreter.context()) {}

Impl::~Impl() {  // functions and the cells that hold them hold each other: cut here
  for (auto& m : modules)
    for (auto& v : m->variables)
      if (v.cell) v.cell->value = Value();
  for (auto& w : cyclic)
    if (auto c = w.lock()) c->value = Value();
}

int Impl::builtin(const std::string& name) {
  if (auto it = builtin_index.find(name); it != builtin_index.end()) return it->second;
  const ir::OpDef* op = ctx.table().find(name);
  if (!op || op->internal) return -1;
  builtins.emplace_back(op);
  const int index = static_cast<int>(builtins.size()) - 1;
  builtin_index.emplace(name, index);
  return index;
}

std::optional<Value> Interpreter::builtin(const std::string& name) {
  const int index = impl_->builtin(name);
  return index < 0 ? std::nullopt : std::optional<Value>(impl_->builtins[static_cast<std::size_t>(index)]);
}

std::vector<std::string> Impl::builtin_names() {
  std::vector<std::string> out;
  for (const auto& [name, index] : builtin_index) out.push_back(name);
  for (const auto& row : ctx.table().rows())
    if (!row.internal) out.emplace_back(row.name);
  return out;
}

Interpreter::Interpreter(trace::Context& context, Options options)
    : context_(context), options_(std::move(options)), impl_(std::make_unique<Impl>(*this)) {}
Interpreter::~Interpreter() = default;

void Interpreter::define(Native native) {
  std::string name = native.name;
  Value v{std::shared_ptr<const Native>(std::make_shared<Native>(std::move(native)))};
  if (auto it = impl_->builtin_index.find(name); it != impl_->builtin_index.end()) {
    impl_->builtins[static_cast<std::size_t>(it->second)] = std::move(v);
    return;
  }
  impl_->builtins.push_back(std::move(v));
  impl_->builtin_index.emplace(std::move(name), static_cast<int>(impl_->builtins.size()) - 1);
}

void Interpreter::define(std::string name, Value constant, std::string doc) {
  impl_->constant_docs[name] = std::move(doc);
  impl_->builtins.push_back(std::move(constant));
  impl_->builtin_index[std::move(name)] = static_cast<int>(impl_->builtins.size()) - 1;
}

void Interpreter::write(std::string_view text) {
  if (options_.output)
    options_.output(text);
  else
    std::cout << text;
}

void Interpreter::interrupt() { impl_->interrupted.store(true, std::memory_order_relaxed); }

// The variables that the host has set, in a module of their own; every script that is run later begins with them.
static ModuleEnv& host_module(Interpreter::Impl& impl) {
  constexpr const char* kName = "(host)";
  for (const auto& m : impl.modules)
    if (m->name == kName) return *m;
  auto m = std::make_shared<ModuleEnv>();
  m->name = kName;
  impl.modules.push_back(m);
  return *m;
}

Value Interpreter::run(std::string name, std::string text) {
  Entry entry(*impl_);
  auto env = std::make_shared<ModuleEnv>();
  env->name = name;
  for (const auto& v : host_module(*impl_).variables) env->variables.push_back(v);
  impl_->modules.push_back(env);
  impl_->main_module = env;
  return impl_->run_module(env, sources_.add(std::move(name), std::move(text)), true);
}

Value Interpreter::enter(std::string text) {
  Entry entry(*impl_);
  if (!impl_->repl_module) {
    impl_->repl_module = std::make_shared<ModuleEnv>();
    impl_->repl_module->name = "repl";
    impl_->repl_module->replaces = true;
    impl_->modules.push_back(impl_->repl_module);
  }
  impl_->main_module = impl_->repl_module;
  return impl_->run_module(impl_->repl_module, sources_.add("repl", std::move(text)), false);
}

Value Interpreter::call(const Value& f, std::vector<CallArg> args, Span span) {
  Entry entry(*impl_);
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
  if (!impl_->main_module) return std::nullopt;
  const int i = impl_->main_module->find(name);
  if (i < 0) return std::nullopt;
  const CellRef& c = impl_->main_module->variables[static_cast<std::size_t>(i)].cell;
  return c && c->set ? std::optional<Value>(c->value) : std::nullopt;
}

void Interpreter::set_global(const std::string& name, Value v) {
  ModuleEnv& host = host_module(*impl_);
  if (host.find(name) < 0) host.variables.push_back({name, impl_->new_cell(), true, false});
  const CellRef shared = host.variables[static_cast<std::size_t>(host.find(name))].cell;
  if (!impl_->main_module) {
    for (const auto& m : impl_->modules)
      if (m.get() == &host) impl_->main_module = m;
  }
  ModuleEnv& last = *impl_->main_module;  // of the last script, which may have a variable of that name
  if (last.find(name) < 0) last.variables.push_back({name, shared, true, false});
  CellRef& cell = last.variables[static_cast<std::size_t>(last.find(name))].cell;
  if (!cell) cell = shared;
  for (const CellRef& c : {shared, cell}) {
    c->value = v;
    c->set = true;
  }
}

}  // namespace shard::lang
