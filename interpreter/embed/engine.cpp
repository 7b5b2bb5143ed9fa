// The public Engine over the machine: what goes wrong inside becomes shard::Error, with diagnostics as values.
#include <cerrno>
#include <cstdio>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <system_error>

#include "interpreter/embed/inner.h"
#include "interpreter/embed/join_processes.h"
#include "interpreter/lang/eval/run_stack.h"
#include "interpreter/lang/report/report.h"
#include "interpreter/lang/warnings/warnings.h"
#include "stdlib/stdlib.h"

namespace shard {

using embed::wrap;

namespace {

Location location(const grammar::SourceMap& sources, const grammar::Span& span) {
  if (!sources.has(span.source)) return {};
  const grammar::Source& source = sources.at(span.source);
  const auto a = source.position(span.begin), b = source.position(span.end);
  return {source.name(), a.line, a.column, b.line, b.column};
}

Diagnostic converted(const grammar::Diagnostic& found, const grammar::SourceMap& sources) {
  const grammar::Diagnostic d = lang::for_user(found, sources);
  std::string json = lang::report_json({d}, sources);  // a list of one
  json = json.substr(json.find('{'), json.rfind('}') + 1 - json.find('{'));
  Diagnostic out{d.code, d.message, location(sources, d.span), d.notes, {}, {}, lang::report(d, sources),
                 json,   d.warning};
  for (const grammar::Fix& f : d.fixes) out.fixes.push_back({f.advice, location(sources, f.span), f.replacement});
  for (const grammar::Frame& f : d.calls) out.calls.push_back({f.function, location(sources, f.call)});
  return out;
}

Diagnostic plain(const char* code, std::string message) {  // of no script
  return converted({code, {}, std::move(message), {}, {}, {}}, grammar::SourceMap());
}

// A function of the host that the engine calls: what it throws is an error of the script that led there.
template <class R, class... A>
std::function<R(A...)> guarded_callback(const char* what, std::function<R(A...)> f) {
  return [what, f = std::move(f)](A... a) -> R {
    try {
      return f(a...);
    } catch (const std::exception& e) {
      throw runtime::RuntimeError("host", std::string(what) + ": " + e.what());
    } catch (...) { throw runtime::RuntimeError("host", std::string(what) + ": an exception that says nothing"); }
  };
}

std::shared_ptr<runtime::Processes> joined(const Processes& given, int devices) {
  if (!(given.timeout > 0)) embed::cannot_join("a process is waited for some time", "`timeout` is in seconds");
  embed::Group group;
  group.devices = devices;
  group.timeout = std::chrono::milliseconds(static_cast<std::int64_t>(std::min(given.timeout, 1e9) * 1000));
  if (given.count != 0) group.linked = {given.index, given.count, given.links};
  return embed::join(group).processes;
}

bool bound_to_engine(const lang::Value& v) {
  for (const lang::Value& leaf : lang::leaves(v))
    if (leaf.callable() || leaf.is<std::shared_ptr<lang::Loader>>()) return true;
  return false;
}

}  // namespace

struct __attribute__((visibility("hidden"))) Engine::Impl {
  Options options;
  std::map<std::string, std::string> modules;  // of the host, by name
  std::set<std::string> defined;               // functions of the host
  std::shared_ptr<embed::Machine> machine;

  lang::Interpreter& in() { return machine->interpreter(); }

  template <class F>
  auto guarded(F f) -> decltype(f()) {
    try {
      return f();
    } catch (const Error&) { throw; } catch (const std::exception&) {
      std::vector<Diagnostic> out;
      for (const grammar::Diagnostic& d : embed::caught(in())) out.push_back(converted(d, in().sources()));
      throw_all(std::move(out));
    }
  }

  [[noreturn]] void throw_all(std::vector<Diagnostic> all) {
    if (options.errors)
      for (const Diagnostic& d : all) options.errors(d);
    throw Error(std::move(all));
  }

  // A value that goes into a script. Functions know their engine, and no other one can call them.
  const lang::Value& taken(const Value& v) {
    const auto& owner = v.impl()->owner;
    if (owner && owner != machine && bound_to_engine(embed::unwrap(v)))
      throw grammar::Error("type", {}, "a function of one engine is given to another one");
    return embed::unwrap(v);
  }

  Value call(const lang::Value& f, std::vector<Value> arguments) {
    std::vector<lang::Value> args;
    args.reserve(arguments.size());
    for (const Value& v : arguments) args.push_back(taken(v));
    arguments.clear();  // where the caller handed them over, the call may reuse their memory
    return wrap(in().call(f, std::move(args)), machine);
  }
};

Engine::Engine(Options options) : impl_(std::make_unique<Impl>()) {
  impl_->options = std::move(options);
  const Options& given = impl_->options;
  lang::Options inside;
  inside.devices = given.devices;
  inside.exact = given.exact;
  inside.debug_nans = given.debug_nans;
  inside.memory = given.memory;
  inside.steps = given.steps;
  inside.seconds = given.seconds;
  inside.recursion = given.recursion;
  inside.allow = given.allow;
  inside.deny_warnings = given.deny_warnings;
  if (given.warnings)
    inside.warning = [impl = impl_.get()](const grammar::Diagnostic& d, const grammar::SourceMap& sources) {
      guarded_callback("warnings", impl->options.warnings)(converted(d, sources));
    };
  inside.output =
      guarded_callback("output", std::function<void(std::string_view)>([impl = impl_.get()](std::string_view text) {
                         if (impl->options.output)
                           impl->options.output(text);
                         else if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size())
                           throw std::system_error(errno, std::generic_category());
                       }));
  const std::function<bool(const std::string&)> never = [](const std::string&) { return false; };
  inside.may_read = given.may_read ? guarded_callback("may_read", given.may_read) : never;
  inside.may_write = given.may_write ? guarded_callback("may_write", given.may_write) : never;
  inside.host_module = [impl = impl_.get()](const std::string& module) -> std::optional<std::string> {
    const auto it = impl->modules.find(module);
    return it == impl->modules.end() ? std::nullopt : std::optional(it->second);
  };
  const auto refuse = [](const std::string& what) { throw Error({plain("options", what)}); };
  for (const std::string& code : given.allow)
    if (!lang::find_warning(code)) refuse("there is no warning " + code);
  if (given.devices < 1 || given.devices > embed::kMostDevices)
    refuse("an engine has 1 to " + lang::in_thousands(embed::kMostDevices) + " devices");
  if (given.memory < 0 || given.steps < 0 || !(given.seconds >= 0) || given.recursion < 1)
    refuse("limits are not negative, and at least one call may be open");
  try {
    if (given.processes) inside.processes = joined(*given.processes, given.devices);
  } catch (const grammar::Error& e) { throw Error({converted(e.diagnostic, grammar::SourceMap())}); }
  try {
    lang::RunStack().run(
        [&] { impl_->machine = std::make_shared<embed::Machine>(std::move(inside), embed::Runs{given.engine}); });
  } catch (const runtime::RuntimeError& e) { throw Error({plain(e.code.c_str(), e.what())}); }
}
Engine::~Engine() = default;
Engine::Engine(Engine&&) noexcept = default;
Engine& Engine::operator=(Engine&&) noexcept = default;

Value Engine::run(std::string_view text, std::string_view file) {
  return impl_->guarded(
      [&] { return wrap(impl_->in().continue_with(std::string(file), std::string(text)), impl_->machine); });
}

Value Engine::run_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) impl_->throw_all({plain("io", "cannot read " + path)});
  std::ostringstream text;
  text << file.rdbuf();
  return run(text.str(), path);
}

void Engine::module(std::string module_name, std::string text, Replace replace) {
  if (replace == Replace::no && stdlib::embedded_module(module_name))
    impl_->throw_all({plain(
        "name", "the library has a module `" + module_name + "`: shard::Replace::yes puts another one in its place")});
  impl_->in().forget_module(module_name);
  impl_->modules[std::move(module_name)] = std::move(text);
}

Value Engine::call(std::string_view function, std::vector<Value> arguments) {
  return impl_->guarded([&] {
    auto f = impl_->in().global(std::string(function));
    if (!f) f = impl_->in().builtin(std::string(function));
    if (!f) throw grammar::Error("name", {}, "there is no function `" + std::string(function) + "`");
    return impl_->call(*f, std::move(arguments));
  });
}

Value Engine::call(const Value& function, std::vector<Value> arguments) {
  return impl_->guarded([&] { return impl_->call(impl_->taken(function), std::move(arguments)); });
}

Value Engine::get(std::string_view global) const {
  return impl_->guarded([&] {
    auto v = impl_->in().global(std::string(global));
    if (!v) throw grammar::Error("name", {}, "there is no global `" + std::string(global) + "`");
    return wrap(*v, impl_->machine);
  });
}

void Engine::set(std::string_view global, Value value) {
  impl_->guarded([&] { impl_->in().set_global(std::string(global), impl_->taken(value)); });
}

void Engine::define(std::string function_name, std::string signature, std::function<Value(std::vector<Value>)> function,
                    Replace replace) {
  const auto refuse = [&](const char* code, const std::string& why) { impl_->throw_all({plain(code, why)}); };
  auto call = [impl = impl_.get(), function = std::move(function), function_name](
                  lang::Interpreter& in, lang::BoundArgs& args) -> lang::Value {
    std::vector<Value> values;
    for (auto& a : args.args) values.push_back(wrap(a.value, impl->machine));
    for (auto& a : args.rest) values.push_back(wrap(a.value, impl->machine));
    const auto ask = [&] { in.context().pool().stop().ask(); };  // where it called the engine, which was to stop
    try {
      lang::Value out = impl->taken(function(std::move(values)));
      ask();
      return out;
    } catch (const grammar::Error&) { throw; } catch (const runtime::RuntimeError&) {
      throw;
    } catch (const std::exception& e) {
      ask();
      in.fail("host", args.span, function_name + ": " + e.what());
    } catch (...) { in.fail("host", args.span, function_name + ": an exception that says nothing"); }
  };
  lang::Native native{function_name, std::move(signature), "A function of the embedding program.", std::move(call)};
  native.acts = true;  // what the host does with it, nobody knows
  try {
    lang::check_signature(native);
  } catch (const std::invalid_argument& e) { refuse("signature", e.what()); }
  if (native.signature.starts_with('(')) native.signature = function_name + native.signature;
  if (replace == Replace::no && !impl_->defined.contains(function_name) && impl_->in().builtin(function_name))
    refuse("name", "`" + function_name + "` is a builtin: shard::Replace::yes puts another function in its place");
  impl_->defined.insert(std::move(function_name));
  impl_->in().define(std::move(native));
}

void Engine::set_output(std::function<void(std::string_view)> output) { impl_->options.output = std::move(output); }

void Engine::interrupt(bool stop) noexcept {
  runtime::Stop& asked = impl_->machine->pool().stop();
  stop ? asked.request() : asked.forget();
}

}  // namespace shard
