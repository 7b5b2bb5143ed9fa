#include "interpreter/lang/values/value.h"

#include "interpreter/lang/values/closure.h"
#include "interpreter/lang/values/native.h"
#include "interpreter/lang/values/wrapped.h"

namespace shard::lang {
namespace {

// Types as users compare them: weakness is hidden, and a mesh counts only where one of its axes appears.
std::string type_text(runtime::Type t) {
  t.weak = false;
  return runtime::to_string(t);
}

bool equal_specs(const Spec& a, const Spec& b) {
  auto trimmed = [](const Spec& s) {
    Spec t = s;
    while (!t.dims.empty() && t.dims.back() == SpecEntry{}) t.dims.pop_back();
    return t;
  };
  return trimmed(a) == trimmed(b);
}

bool equal_arrays(const trace::Tensor& a, const trace::Tensor& b) {
  if (a.traced() || b.traced()) return a.traced() && b.traced() && a.frame() == b.frame() && a.var() == b.var();
  if (a.array() == b.array()) return true;
  const runtime::Type &x = a.type(), &y = b.type();
  if (x.dtype != y.dtype || x.shape != y.shape) return false;
  runtime::Pool pool;
  runtime::ArrayRef l = runtime::parts_of(runtime::to_host(pool, a.array())),
                    r = runtime::parts_of(runtime::to_host(pool, b.array()));
  const std::int64_t n = runtime::numel(l->type.shape);
  for (std::int64_t i = 0; i < n; ++i) {
    bool same = runtime::is_float(l->type.dtype) ? runtime::element_double(*l, i) == runtime::element_double(*r, i)
                                                 : runtime::element_int(*l, i) == runtime::element_int(*r, i);
    if (!same) return false;
  }
  return true;
}

}  // namespace

void Value::make(const Value& o) { std::construct_at(&v_, o.v_); }
void Value::make(Value&& o) noexcept { std::construct_at(&v_, std::move(o.v_)); }
void Value::assign(const Value& o) { v_ = o.v_; }
void Value::assign(Value&& o) noexcept { v_ = std::move(o.v_); }
void Value::drop() noexcept { std::destroy_at(&v_); }

namespace {

bool holds_more(const Value& v) { return v.items() || v.fields(); }

// Takes the children out of containers that nobody else holds, one level after the other.
void release(std::vector<Value>& work) {
  while (!work.empty()) {
    Value v = std::move(work.back());
    work.pop_back();
    auto take = [&](std::vector<Value>& items) {
      for (Value& x : items)
        if (holds_more(x)) work.push_back(std::move(x));
    };
    if (auto* l = v.get<std::shared_ptr<List>>(); l && l->use_count() == 1)
      take((*l)->items);
    else if (auto* t = v.get<std::shared_ptr<Tuple>>(); t && t->use_count() == 1)
      take((*t)->items);
    else if (auto* r = v.get<std::shared_ptr<Record>>(); r && r->use_count() == 1)
      for (auto& f : (*r)->fields)
        if (holds_more(f.second)) work.push_back(std::move(f.second));
  }
}

void release_items(std::vector<Value>& items) {
  std::vector<Value> work;
  for (Value& x : items)
    if (holds_more(x)) work.push_back(std::move(x));
  release(work);
}

}  // namespace

List::~List() { release_items(items); }
Tuple::~Tuple() { release_items(items); }
Record::~Record() {
  std::vector<Value> work;
  for (auto& f : fields)
    if (holds_more(f.second)) work.push_back(std::move(f.second));
  release(work);
}

void too_deep() {
  throw runtime::RuntimeError("value",
                              "a value nests deeper than " + std::to_string(kMaxNesting) + " lists, tuples or records");
}

const Value* Record::find(std::string_view name) const {
  for (const auto& [field, value] : fields)
    if (field == name) return &value;
  return nullptr;
}

std::vector<std::string> Record::names() const {
  std::vector<std::string> out;
  for (const auto& f : fields) out.push_back(f.first);
  return out;
}

Value Value::list(std::vector<Value> items) { return Value(std::make_shared<List>(List{std::move(items)})); }
Value Value::tuple(std::vector<Value> items) { return Value(std::make_shared<Tuple>(Tuple{std::move(items)})); }
Value Value::record(std::vector<std::pair<std::string, Value>> fields) {
  return Value(std::make_shared<Record>(Record{std::move(fields)}));
}

const std::vector<Value>* Value::items() const {
  if (auto* l = get<std::shared_ptr<List>>()) return &(*l)->items;
  if (auto* t = get<std::shared_ptr<Tuple>>()) return &(*t)->items;
  return nullptr;
}

const Record* Value::fields() const {
  auto* r = get<std::shared_ptr<Record>>();
  return r ? r->get() : nullptr;
}

Value Value::with_items(std::vector<Value> items) const {
  return is<std::shared_ptr<List>>() ? list(std::move(items)) : tuple(std::move(items));
}

std::vector<Value>& own_items(Value& v) {
  if (auto* l = v.get<std::shared_ptr<List>>()) {
    if (l->use_count() != 1) *l = std::make_shared<List>(**l);
    return (*l)->items;
  }
  auto* t = v.get<std::shared_ptr<Tuple>>();
  if (t->use_count() != 1) *t = std::make_shared<Tuple>(**t);
  return (*t)->items;
}

Record& own_fields(Value& v) {
  auto* r = v.get<std::shared_ptr<Record>>();
  if (r->use_count() != 1) *r = std::make_shared<Record>(**r);
  return **r;
}

bool Value::callable() const {
  return is<std::shared_ptr<const Closure>>() || is<std::shared_ptr<const Native>>() ||
         is<std::shared_ptr<const Wrapped>>() || is<const ir::OpDef*>() || is<runtime::DType>();
}

std::string kind_name(const Value& v) {
  static constexpr const char* kKinds[] = {
      // in the order of Value::Variant
      "none",     "bool",     "int",  "float", "string", "array", "list", "tuple", "record", "function", "function",
      "function", "function", "axis", "spec",  "mesh",   "dtype", "type", "range", "device", "string",   "loader"};
  static_assert(std::size(kKinds) == std::variant_size_v<Value::Variant>);
  const char* kind = kKinds[v.variant().index()];
  if (auto* t = v.get<trace::Tensor>()) return t->valid() ? type_text(t->type()) : kind;
  if (auto* items = v.items()) return kind + (" of " + std::to_string(items->size()));
  if (auto* t = v.get<std::shared_ptr<const runtime::Type>>()) return "the type " + type_text(**t) + " (no elements)";
  if (auto* l = v.get<std::shared_ptr<Loader>>()) return (*l)->traced() ? TracedRange::kind : kind;
  return kind;
}

namespace {

bool equal_at(const Value& a, const Value& b, int depth) {
  if (depth > kMaxNesting) too_deep();
  if (a.is_host_number() && b.is_host_number()) {
    auto *i = a.get<std::int64_t>(), *j = b.get<std::int64_t>();
    if (i && j) return *i == *j;
    // An int and a float are equal where the float is that integer exactly (Python's rule: no rounding of large
    // integers).
    auto exact = [](std::int64_t n, double d) {
      return d >= -9223372036854775808.0 && d < 9223372036854775808.0 &&
             static_cast<double>(static_cast<std::int64_t>(d)) == d && static_cast<std::int64_t>(d) == n;
    };
    if (i) return exact(*i, *b.get<double>());
    if (j) return exact(*j, *a.get<double>());
    return *a.get<double>() == *b.get<double>();
  }
  if (a.variant().index() != b.variant().index()) return false;
  if (auto* x = a.get<std::shared_ptr<const std::string>>()) return **x == b.str();
  if (auto* x = a.get<trace::Tensor>()) return equal_arrays(*x, b.tensor());
  if (auto* x = a.items()) {
    auto& y = *b.items();
    if (x->size() != y.size()) return false;
    for (std::size_t i = 0; i < y.size(); ++i)
      if (!equal_at((*x)[i], y[i], depth + 1)) return false;
    return true;
  }
  if (auto* x = a.fields()) {  // records are equal whatever the order of their fields
    auto* y = b.fields();
    if (x->fields.size() != y->fields.size()) return false;
    for (const auto& [name, value] : x->fields) {
      const Value* other = y->find(name);
      if (!other || !equal_at(value, *other, depth + 1)) return false;
    }
    return true;
  }
  if (auto* x = a.get<std::shared_ptr<const Axis>>()) return **x == **b.get<std::shared_ptr<const Axis>>();
  if (auto* x = a.get<std::shared_ptr<const Spec>>()) return equal_specs(**x, **b.get<std::shared_ptr<const Spec>>());
  if (auto* x = a.get<std::shared_ptr<const runtime::Type>>())
    return type_text(**x) == type_text(**b.get<std::shared_ptr<const runtime::Type>>());
  if (auto* x = a.get<std::shared_ptr<const MeshValue>>()) {
    auto* y = b.get<std::shared_ptr<const MeshValue>>();
    return (*x)->mesh == (*y)->mesh || ((*x)->mesh && (*y)->mesh && *(*x)->mesh == *(*y)->mesh);
  }
  return std::visit(
      [&](const auto& x) {
        if constexpr (requires { x == x; })
          return x == *b.get<std::remove_cvref_t<decltype(x)>>();
        else
          return false;  // compared above
      },
      a.variant());
}

}  // namespace

bool equal(const Value& a, const Value& b) { return equal_at(a, b, 0); }

}  // namespace shard::lang
