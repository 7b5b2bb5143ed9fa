#include "interpreter/lang/staging/pattern.h"

#include "interpreter/lang/values/tree.h"

namespace shard::lang {
namespace {

bool is_array(const Value& v) { return v.is_tensor() && v.tensor().valid() && !v.tensor().traced(); }

void push_number(const Value& v, Gathered& out) {
  out.arrays.emplace_back();
  if (auto* i = v.get<std::int64_t>())
    out.numbers.emplace_back(*i);
  else
    out.numbers.emplace_back(*v.get<double>());
}

bool same_info(const exec::ArrayInfo& info, const runtime::DeviceArray& a) {
  if (!(info.layout == a.layout) || !(info.distinct == a.distinct) || !(info.type == a.type)) return false;
  if (info.mesh == a.type.mesh) return true;
  exec::ArrayInfo other = exec::array_info(a);
  return info == other;
}

}  // namespace

Pattern Pattern::of(const Value& v) {
  Pattern p;
  if (is_array(v)) {
    p.kind_ = Kind::Array;
    p.info_ = exec::array_info(*v.tensor().array());
  } else if (v.is<std::int64_t>()) {
    p.kind_ = Kind::Integer;
  } else if (v.is<double>()) {
    p.kind_ = Kind::Real;
  } else if (auto* items = v.items()) {
    p.kind_ = v.is<std::shared_ptr<List>>() ? Kind::List : Kind::Tuple;
    for (const Value& x : *items) p.children_.push_back(of(x));
  } else if (auto* record = v.fields()) {
    p.kind_ = Kind::Record;
    for (const auto& [name, x] : record->fields) {
      p.names_.push_back(name);
      p.children_.push_back(of(x));
    }
  } else {
    p.constant_ = v;
  }
  return p;
}

bool Pattern::match(const Value& v, Gathered& out) const {
  switch (kind_) {
    case Kind::Array: {
      if (!is_array(v)) return false;
      const runtime::ArrayRef& a = v.tensor().array();
      if (!same_info(info_, *a)) return false;
      out.arrays.push_back(a);
      out.numbers.emplace_back();
      return true;
    }
    case Kind::Integer:
      if (!v.is<std::int64_t>()) return false;
      push_number(v, out);
      return true;
    case Kind::Real:
      if (!v.is<double>()) return false;
      push_number(v, out);
      return true;
    case Kind::List:
    case Kind::Tuple: {
      if (kind_ == Kind::List ? !v.is<std::shared_ptr<List>>() : !v.is<std::shared_ptr<Tuple>>()) return false;
      const auto& items = *v.items();
      if (items.size() != children_.size()) return false;
      for (std::size_t i = 0; i < items.size(); ++i)
        if (!children_[i].match(items[i], out)) return false;
      return true;
    }
    case Kind::Record: {
      const Record* r = v.fields();
      if (!r || r->fields.size() != children_.size()) return false;
      for (std::size_t i = 0; i < children_.size(); ++i)
        if (r->fields[i].first != names_[i] || !children_[i].match(r->fields[i].second, out)) return false;
      return true;
    }
    case Kind::Static: return !v.is_tensor() && !v.is_host_number() && !v.items() && !v.fields() && equal(constant_, v);
  }
  return false;
}

std::size_t Pattern::hash(const Value& v) {
  if (is_array(v)) return ir::mix(runtime::hash(v.tensor().type()), v.tensor().array()->distinct.bits());
  std::size_t h = v.variant().index();
  if (auto* items = v.items()) {
    for (const Value& x : *items) h = ir::mix(h, hash(x));
  } else if (auto* record = v.fields()) {
    for (const auto& [name, x] : record->fields) h = ir::mix(ir::mix(h, std::hash<std::string>()(name)), hash(x));
  } else if (v.is_string()) {
    h = ir::mix(h, std::hash<std::string>()(v.str()));
  } else if (auto* b = v.get<bool>()) {
    h = ir::mix(h, *b);
  }
  return h;
}

void Pattern::gather(const Value& v, Gathered& out) {
  for (const Value& leaf : leaves(v)) {
    if (is_array(leaf)) {
      out.arrays.push_back(leaf.tensor().array());
      out.numbers.emplace_back();
    } else if (leaf.is_host_number()) {
      push_number(leaf, out);
    }
  }
}

Value Pattern::filled(const std::vector<Value>& gathered, std::size_t& at) const {
  std::vector<Value> items;
  switch (kind_) {
    case Kind::Array:
    case Kind::Integer:
    case Kind::Real: return gathered.at(at++);
    case Kind::Static: return constant_;
    case Kind::List:
    case Kind::Tuple:
    case Kind::Record:
      for (const Pattern& child : children_) items.push_back(child.filled(gathered, at));
  }
  if (kind_ == Kind::List) return Value::list(std::move(items));
  if (kind_ == Kind::Tuple) return Value::tuple(std::move(items));
  std::vector<std::pair<std::string, Value>> fields;
  for (std::size_t i = 0; i < items.size(); ++i) fields.emplace_back(names_[i], std::move(items[i]));
  return Value::record(std::move(fields));
}

Value Pattern::replace(const Value& v, const std::vector<Value>& gathered, std::size_t& at) {
  return map_leaves(v,
                    [&](const Value& leaf) { return is_array(leaf) || leaf.is_host_number() ? gathered[at++] : leaf; });
}

}  // namespace shard::lang
