// The public Value: made of what a host has, and read by it. Nothing here needs an engine.
#include <stdexcept>

#include "interpreter/embed/inner.h"
#include "interpreter/lang/eval/run_stack.h"
#include "interpreter/lang/values/value_text.h"

namespace shard {

using embed::unwrap;
using embed::wrap;

static_assert(static_cast<int>(Type::key) == static_cast<int>(runtime::DType::Key) &&
                  static_cast<int>(Type::i4) == static_cast<int>(runtime::DType::I4),
              "the public element types are the runtime's");

namespace {

runtime::DType inner(Type t) { return static_cast<runtime::DType>(t); }

// Arrays made by a program before any engine sees them live in a pool of their own; buffers keep its books alive.
runtime::Pool host_pool() { return runtime::Pool(); }

std::vector<lang::Value> unwrapped(const std::vector<Value>& items, std::shared_ptr<const embed::Machine>& owner) {
  std::vector<lang::Value> out;
  out.reserve(items.size());
  for (const Value& v : items) {
    const auto& other = v.impl()->owner;
    if (owner && other && owner != other) throw std::invalid_argument("one value cannot hold functions of two engines");
    if (other) owner = other;
    out.push_back(unwrap(v));
  }
  return out;
}

Value sequence(const std::vector<Value>& items, lang::Value (*made)(std::vector<lang::Value>)) {
  std::shared_ptr<const embed::Machine> owner;
  lang::Value inside = made(unwrapped(items, owner));
  return wrap(std::move(inside), owner);
}

const runtime::ArrayRef& array_in(const Value& v) {
  static const runtime::ArrayRef none;
  const lang::Value& inside = unwrap(v);
  return inside.is_tensor() && !inside.tensor().traced() ? inside.tensor().array() : none;
}

bool is_traced(const Value& v) { return unwrap(v).is_tensor() && unwrap(v).tensor().traced(); }

[[noreturn]] void refuse_traced(const Value& v) {
  throw std::invalid_argument("this " + lang::kind_name(unwrap(v)) +
                              " has no values: the function around it is being traced (jit, grad, vmap), once, with "
                              "types in place of arrays. Call the host outside of it, with what it returns");
}

const runtime::ArrayRef& array_of(const Value& v) {
  if (is_traced(v)) refuse_traced(v);
  const runtime::ArrayRef& a = array_in(v);
  if (!a) throw std::invalid_argument("this value is no array: it is " + lang::kind_name(unwrap(v)));
  return a;
}

const runtime::Type& array_type(const Value& v) { return is_traced(v) ? unwrap(v).tensor().type() : array_of(v)->type; }

const runtime::ArrayRef& on_host(const Value& v) {
  const runtime::ArrayRef& a = array_of(v);
  if (!v.impl()->host) {
    runtime::Pool pool = host_pool();
    v.impl()->host = runtime::to_host(pool, a);
  }
  return v.impl()->host;
}

std::size_t bytes_of(Type type, const std::vector<std::int64_t>& shape) {
  if (type > Type::i4) throw std::invalid_argument("there is no such type of elements");
  try {
    return static_cast<std::size_t>(runtime::checked_bytes(shape, shard::size_of(type)));
  } catch (const runtime::RuntimeError& e) { throw std::invalid_argument(e.what()); }
}

}  // namespace

std::size_t size_of(Type t) { return runtime::size_of(inner(t)); }
std::string_view name(Type t) { return runtime::name(inner(t)); }

Value::Value() : impl_(std::make_shared<Impl>()) {}
Value::Value(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}
Value Value::number(double x) { return wrap(x); }
Value Value::integer(std::int64_t x) { return wrap(x); }
Value Value::boolean(bool x) { return wrap(x); }
Value Value::text(std::string s) { return wrap(lang::Value::string(std::move(s))); }

Value Value::list(std::vector<Value> items) { return sequence(items, lang::Value::list); }
Value Value::tuple(std::vector<Value> items) { return sequence(items, lang::Value::tuple); }

Value Value::record(std::vector<std::pair<std::string, Value>> fields) {
  std::vector<Value> values;
  for (const auto& f : fields) values.push_back(f.second);
  std::shared_ptr<const embed::Machine> owner;
  std::vector<lang::Value> inside = unwrapped(values, owner);
  std::vector<std::pair<std::string, lang::Value>> out;
  for (std::size_t i = 0; i < fields.size(); ++i) out.emplace_back(std::move(fields[i].first), std::move(inside[i]));
  return wrap(lang::Value::record(std::move(out)), owner);
}

Value Value::array(Type type, std::vector<std::int64_t> shape, std::span<const std::byte> bytes) {
  const std::size_t need = bytes_of(type, shape);
  if (need != bytes.size())
    throw std::invalid_argument("an array of type " + std::string(shard::name(type)) + runtime::to_string(shape) +
                                " has " + std::to_string(need) + " bytes, " + std::to_string(bytes.size()) +
                                " were given");
  runtime::Pool pool = host_pool();
  return wrap(trace::Tensor(runtime::from_host(pool, inner(type), std::move(shape), bytes.data())));
}

Value Value::adopt(Type type, std::vector<std::int64_t> shape, void* elements, std::function<void(void*)> give_back) {
  const std::size_t bytes = bytes_of(type, shape);
  if (!give_back) throw std::invalid_argument("adopted elements need a function that takes them back");
  if (!elements && bytes > 0) throw std::invalid_argument("the elements are at no address");
  const std::size_t item = type == Type::key ? sizeof(std::uint32_t) : shard::size_of(type);
  if (reinterpret_cast<std::uintptr_t>(elements) % item != 0)
    throw std::invalid_argument("the elements of type " + std::string(shard::name(type)) +
                                " do not begin at a multiple of " + std::to_string(item) + " bytes");
  auto array = std::make_shared<runtime::DeviceArray>();
  array->type = runtime::Type::of(inner(type), std::move(shape));
  array->layout = array->type.sharding;
  Value out = wrap(trace::Tensor(runtime::ArrayRef(array)));
  array->buffer = runtime::adopt(elements, bytes, std::move(give_back));
  return out;
}

void Value::check_element(Type type, Numbers numbers, std::size_t size) {
  const auto want = [&]() -> std::pair<Numbers, std::size_t> {
    switch (type) {
      case Type::boolean: return {Numbers::truth, sizeof(bool)};
      case Type::i8:
      case Type::i16:
      case Type::i32:
      case Type::i64: return {Numbers::integer, size_of(type)};
      case Type::f32:
      case Type::f64: return {Numbers::real, size_of(type)};
      default: return {Numbers::natural, size_of(type)};  // f16, bf16 and keys: their bits
    }
  }();
  if (want == std::pair(numbers, size)) return;
  const auto named = [](Numbers of, std::size_t n) -> std::string {
    const std::string bits = std::to_string(8 * n);
    switch (of) {
      case Numbers::truth: return "bool";
      case Numbers::real: return n == sizeof(float) ? "float" : n == sizeof(double) ? "double" : "long double";
      case Numbers::integer: return "std::int" + bits + "_t";
      case Numbers::natural: return "std::uint" + bits + "_t";
    }
    return "";
  };
  throw std::invalid_argument("elements of type " + std::string(shard::name(type)) + " are " +
                              named(want.first, want.second) + " in C++, not " + named(numbers, size));
}

Kind Value::kind() const {
  const lang::Value& v = impl_->value;
  if (v.is_none()) return Kind::none;
  if (v.is<bool>()) return Kind::boolean;
  if (v.is<std::int64_t>()) return Kind::integer;
  if (v.is<double>()) return Kind::number;
  if (v.is_string()) return Kind::text;
  if (v.is<std::shared_ptr<lang::List>>()) return Kind::list;
  if (v.items()) return Kind::tuple;
  if (v.fields()) return Kind::record;
  if (array_in(*this)) return Kind::array;
  return v.callable() ? Kind::function : Kind::other;
}

std::optional<double> Value::as_number() const {
  if (auto* i = impl_->value.get<std::int64_t>()) return static_cast<double>(*i);
  if (auto* d = impl_->value.get<double>()) return *d;
  if (auto* b = impl_->value.get<bool>()) return *b ? 1.0 : 0.0;
  if (is_traced(*this)) refuse_traced(*this);
  if (const auto& a = array_in(*this); a && runtime::numel(a->type.shape) == 1 && runtime::is_number(a->type.dtype))
    return runtime::element_double(*on_host(*this), 0);
  return std::nullopt;
}

std::optional<std::int64_t> Value::as_integer() const {
  if (auto* i = impl_->value.get<std::int64_t>()) return *i;
  if (is_traced(*this)) refuse_traced(*this);
  const auto& a = array_in(*this);
  if (!a || runtime::numel(a->type.shape) != 1 || !runtime::is_integer(a->type.dtype)) return std::nullopt;
  const std::int64_t n = runtime::element_int(*on_host(*this), 0);
  if (a->type.dtype == runtime::DType::U64 && n < 0) return std::nullopt;  // beyond what fits
  return n;
}

std::optional<std::string> Value::as_text() const {
  if (impl_->value.is_string()) return impl_->value.str();
  return std::nullopt;
}

std::vector<Value> Value::items() const {
  std::vector<Value> out;
  if (auto* items = impl_->value.items())
    for (const lang::Value& v : *items) out.push_back(wrap(v, impl_->owner));
  return out;
}

std::optional<Value> Value::field(std::string_view field_name) const {
  if (auto* r = impl_->value.fields())
    if (auto* v = r->find(field_name)) return wrap(*v, impl_->owner);
  return std::nullopt;
}

std::vector<std::pair<std::string, Value>> Value::fields() const {
  std::vector<std::pair<std::string, Value>> out;
  if (auto* r = impl_->value.fields())
    for (const auto& [field_name, v] : r->fields) out.emplace_back(field_name, wrap(v, impl_->owner));
  return out;
}

shard::Type Value::type() const { return static_cast<shard::Type>(array_type(*this).dtype); }
std::vector<std::int64_t> Value::shape() const { return array_type(*this).shape; }

std::string Value::layout() const {
  const auto& a = array_in(*this);
  return a && a->type.mesh ? runtime::to_string(*a->type.mesh, a->layout) : "P()";
}

std::span<const std::byte> Value::raw() const {
  const auto& host = on_host(*this);
  std::size_t n = static_cast<std::size_t>(runtime::numel(host->type.shape)) * runtime::size_of(host->type.dtype);
  return {static_cast<const std::byte*>(host->buffer->data()), n};
}

std::string Value::show() const {
  std::string out;
  lang::RunStack().run([&] {  // lists nest deeply, threads may be small
    runtime::Pool pool = host_pool();
    out = lang::show(impl_->value, pool);
  });
  return out;
}

}  // namespace shard
