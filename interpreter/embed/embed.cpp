// shard.h over the machine: values are wrapped, errors become shard::Error with diagnostics as values.
#include "interpreter/shard.h"

#include <atomic>
#include <fstream>
#include <sstream>
#include <stdexcept>

#include "interpreter/embed/machine.h"
#include "interpreter/lang/report/report.h"
#include "interpreter/lang/values/format.h"

namespace shard {

static_assert(static_cast<int>(Type::key) == static_cast<int>(runtime::DType::Key),
              "the public element types are the runtime's");

namespace {

runtime::DType inner(Type t) { return static_cast<runtime::DType>(t); }

// Arrays made by a program before any engine sees them live in a pool of their own; buffers keep its books alive.
runtime::Pool host_pool() { return runtime::Pool(); }

}  // namespace

std::size_t size_of(Type t) { return runtime::size_of(inner(t)); }
std::string_view name(Type t) { return runtime::name(inner(t)); }

struct __attribute__((visibility("hidden"))) Value::Impl {
  lang::Value value;
  mutable runtime::ArrayRef host;  // the whole array in row-major order, made when bytes() first asks
};

namespace {

Value wrap(lang::Value v) { return Value(std::make_shared<Value::Impl>(Value::Impl{std::move(v), nullptr})); }
const lang::Value& unwrap(const Value& v) { return v.impl()->value; }

const runtime::ArrayRef& array_in(const Value& v) {
  static const runtime::ArrayRef none;
  const lang::Value& inside = unwrap(v);
  return inside.is_tensor() && !inside.tensor().traced() ? inside.tensor().array() : none;
}

const runtime::ArrayRef& on_host(const Value& v) {
  const runtime::ArrayRef& a = array_in(v);
  if (!a) throw std::logic_error("this value is no array");
  if (!v.impl()->host) {
    runtime::Pool pool = host_pool();
    v.impl()->host = runtime::to_host(pool, a);
  }
  return v.impl()->host;
}

}  // namespace

Value::Value() : impl_(std::make_shared<Impl>()) {}
Value::Value(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}
Value Value::number(double x) { return wrap(x); }
Value Value::integer(std::int64_t x) { return wrap(x); }
Value Value::boolean(bool x) { return wrap(x); }
Value Value::text(std::string s) { return wrap(lang::Value::string(std::move(s))); }

Value Value::list(std::vector<Value> items) {
  std::vector<lang::Value> out;
  for (const Value& v : items) out.push_back(unwrap(v));
  return wrap(lang::Value::list(std::move(out)));
}

Value Value::tuple(std::vector<Value> items) {
  std::vector<lang::Value> out;
  for (const Value& v : items) out.push_back(unwrap(v));
  return wrap(lang::Value::tuple(std::move(out)));
}

Value Value::record(std::vector<std::pair<std::string, Value>> fields) {
  std::vector<std::pair<std::string, lang::Value>> out;
  for (auto& [field_name, v] : fields) out.emplace_back(std::move(field_name), unwrap(v));
  return wrap(lang::Value::record(std::move(out)));
}

Value Value::array(Type type, std::vector<std::int64_t> shape, std::span<const std::byte> bytes) {
  std::int64_t need = 0;
  try {
    need = runtime::checked_bytes(shape, shard::size_of(type));
  } catch (const runtime::RuntimeError& e) { throw std::invalid_argument(e.what()); }
  if (static_cast<std::size_t>(need) != bytes.size())
    throw std::invalid_argument("an array of type " + std::string(shard::name(type)) + runtime::to_string(shape) +
                                " has " + std::to_string(need) + " bytes, " + std::to_string(bytes.size()) +
                                " were given");
  runtime::Pool pool = host_pool();
  return wrap(trace::Tensor(runtime::from_host(pool, inner(type), std::move(shape), bytes.data())));
}

bool Value::is_none() const { return impl_->value.is_none(); }
bool Value::is_array() const { return array_in(*this) != nullptr; }

std::optional<double> Value::as_number() const {
  if (auto* i = impl_->value.get<std::int64_t>()) return static_cast<double>(*i);
  if (auto* d = impl_->value.get<double>()) return *d;
  if (auto* b = impl_->value.get<bool>()) return *b ? 1.0 : 0.0;
  if (const auto& a = array_in(*this); a && runtime::numel(a->type.shape) == 1 && runtime::is_number(a->type.dtype))
    return runtime::element_double(*on_host(*this), 0);
  return std::nullopt;
}

std::optional<std::string> Value::as_text() const {
  if (impl_->value.is_string()) return impl_->value.str();
  return std::nullopt;
}

std::vector<Value> Value::items() const {
  std::vector<Value> out;
  if (auto* items = impl_->value.items())
    for (const lang::Value& v : *items) out.push_back(wrap(v));
  return out;
}

std::optional<Value> Value::field(std::string_view field_name) const {
  if (auto* r = impl_->value.fields())
    if (auto* v = r->find(field_name)) return wrap(*v);
  return std::nullopt;
}

shard::Type Value::type() const {
  const auto& a = array_in(*this);
  if (!a) throw std::logic_error("this value is no array");
  return static_cast<shard::Type>(a->type.dtype);
}

std::vector<std::int64_t> Value::shape() const {
  const auto& a = array_in(*this);
  if (!a) throw std::logic_error("this value is no array");
  return a->type.shape;
}

std::string Value::layout() const {
  const auto& a = array_in(*this);
  return a && a->type.mesh ? runtime::to_string(*a->type.mesh, a->layout) : "P()";
}

std::span<const std::byte> Value::bytes() const {
  const auto& host = on_host(*this);
  std::size_t n = static_cast<std::size_t>(runtime::numel(host->type.shape)) * runtime::size_of(host->type.dtype);
  return {static_cast<const std::byte*>(host->buffer->data()), n};
}

std::string Value::show() const {
  runtime::Pool pool = host_pool();
  return lang::show(impl_->value, pool);
}

struct __attribute__((visibility("hidden"))) Engine::Impl {
  Options options;
  std::unique_ptr<embed::Machine> machine;
  std::atomic<bool> stop{false};  // asked for by interrupt()

  lang::Interpreter& in() { return machine->interpreter(); }

  template <class F>
  auto guarded(F f) -> decltype(f()) {
    stop = false;
    try {
      return f();
    } catch (const lang::Errors& e) { raise(e.all); } catch (const grammar::Error& e) {
      raise({e.diagnostic});
    } catch (const runtime::RuntimeError& e) {
      raise({{e.code, in().context().span(), e.what(), {}, {}, {}}});
    } catch (const std::bad_alloc&) {
      raise({{"memory", in().context().span(), "there is not enough memory for this", {}, {}, {}}});
    }
  }

  [[noreturn]] void raise(const std::vector<grammar::Diagnostic>& found) {
    std::vector<Diagnostic> out;
    for (const grammar::Diagnostic& d : found) out.push_back(convert(d));
    if (options.errors)
      for (const Diagnostic& d : out) options.errors(d);
    throw Error(std::move(out));
  }

  Diagnostic convert(const grammar::Diagnostic& found) {
    const grammar::Diagnostic d = lang::for_user(found, in().sources());
    Diagnostic out{d.code, d.message, {}, d.notes, lang::report(d, in().sources())};
    if (in().sources().has(d.span.source)) {
      const auto& source = in().sources().at(d.span.source);
      auto a = source.position(d.span.begin), b = source.position(d.span.end);
      out.where = {source.name(), a.line, a.column, b.line, b.column};
    }
    return out;
  }
};

Engine::Engine(Options options) : impl_(std::make_unique<Impl>()) {
  impl_->options = std::move(options);
  lang::Options inside;
  inside.devices = impl_->options.devices;
  inside.exact = impl_->options.exact;
  inside.output = impl_->options.output;
  inside.may_read = impl_->options.may_read ? impl_->options.may_read : [](const std::string&) { return false; };
  inside.may_write = impl_->options.may_write ? impl_->options.may_write : [](const std::string&) { return false; };
  impl_->machine = std::make_unique<embed::Machine>(std::move(inside));
  impl_->in().context().hooks().interrupted = [impl = impl_.get()] { return impl->stop.load(); };
}
Engine::~Engine() = default;
Engine::Engine(Engine&&) noexcept = default;
Engine& Engine::operator=(Engine&&) noexcept = default;

Value Engine::run(std::string_view text, std::string_view file) {
  return impl_->guarded([&] { return wrap(impl_->in().run(std::string(file), std::string(text))); });
}

Value Engine::run_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    Diagnostic d{"io", "cannot read " + path, {path, 0, 0, 0, 0}, {}, "cannot read " + path};
    if (impl_->options.errors) impl_->options.errors(d);
    throw Error({d});
  }
  std::ostringstream text;
  text << file.rdbuf();
  return run(text.str(), path);
}

Value Engine::call(std::string_view function, std::vector<Value> arguments) {
  return impl_->guarded([&] {
    auto f = impl_->in().global(std::string(function));
    if (!f) f = impl_->in().builtin(std::string(function));
    if (!f) throw grammar::Error("name", {}, "there is no function `" + std::string(function) + "`");
    std::vector<lang::Value> args;
    for (const Value& v : arguments) args.push_back(unwrap(v));
    arguments.clear();  // where the caller handed them over, the call may reuse their memory
    return wrap(impl_->in().call(*f, std::move(args)));
  });
}

Value Engine::get(std::string_view global) const {
  return impl_->guarded([&] {
    auto v = impl_->in().global(std::string(global));
    if (!v) throw grammar::Error("name", {}, "there is no global `" + std::string(global) + "`");
    return wrap(*v);
  });
}

void Engine::set(std::string_view global, Value value) { impl_->in().set_global(std::string(global), unwrap(value)); }

void Engine::define(std::string function_name, std::string signature,
                    std::function<Value(std::vector<Value>)> function) {
  auto call = [function = std::move(function), function_name](lang::Interpreter& in,
                                                              lang::BoundArgs& args) -> lang::Value {
    std::vector<Value> values;
    for (auto& a : args.args) values.push_back(wrap(a.value));
    for (auto& a : args.rest) values.push_back(wrap(a.value));
    try {
      return unwrap(function(std::move(values)));
    } catch (const grammar::Error&) { throw; } catch (const std::exception& e) {
      in.fail("host", args.span, function_name + ": " + e.what());
    } catch (...) { in.fail("host", args.span, function_name + ": an exception that says nothing"); }
  };
  impl_->in().define(
      lang::Native{function_name, std::move(signature), "A function of the embedding program.", std::move(call)});
}

void Engine::interrupt() { impl_->stop = true; }

}  // namespace shard
