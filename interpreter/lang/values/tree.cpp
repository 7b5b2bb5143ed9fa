// Trees: lists, tuples and records hold leaves; none is an empty tree. Used by every transform and by `shard`.
#include <stdexcept>

#include "interpreter/lang/eval/interpreter.h"

namespace shard::lang {
namespace {

void collect(const Value& v, std::vector<Value>& out, int depth) {
  if (depth > kMaxNesting) too_deep();
  if (auto* items = v.items()) {
    for (const Value& x : *items) collect(x, out, depth + 1);
  } else if (auto* r = v.fields()) {
    for (const auto& f : r->fields) collect(f.second, out, depth + 1);
  } else if (!v.is_none()) {
    out.push_back(v);
  }
}

Value rebuild(const Value& v, std::vector<Value>& from, std::size_t& next) {
  if (auto* items = v.items()) {
    std::vector<Value> out;
    out.reserve(items->size());
    for (const Value& x : *items) out.push_back(rebuild(x, from, next));
    return v.is<std::shared_ptr<List>>() ? Value::list(std::move(out)) : Value::tuple(std::move(out));
  }
  if (auto* r = v.fields()) {
    std::vector<std::pair<std::string, Value>> out;
    out.reserve(r->fields.size());
    for (const auto& [name, x] : r->fields) out.emplace_back(name, rebuild(x, from, next));
    return Value::record(std::move(out));
  }
  if (v.is_none()) return v;
  if (next >= from.size()) throw std::logic_error("with_leaves: fewer leaves than the tree has");
  return std::move(from[next++]);
}

void describe(const Value& v, std::string& out, int depth) {
  if (depth > kMaxNesting) too_deep();
  if (auto* items = v.items()) {
    const bool list = v.is<std::shared_ptr<List>>();
    out += list ? '[' : '(';
    for (std::size_t i = 0; i < items->size(); ++i) {
      if (i) out += ", ";
      describe((*items)[i], out, depth + 1);
    }
    if (!list && items->size() == 1) out += ',';
    out += list ? ']' : ')';
  } else if (auto* r = v.fields()) {
    out += '{';
    for (std::size_t i = 0; i < r->fields.size(); ++i) {
      if (i) out += ", ";
      out += r->fields[i].first + ": ";
      describe(r->fields[i].second, out, depth + 1);
    }
    out += '}';
  } else {
    out += v.is_none() ? "none" : "*";
  }
}

}  // namespace

std::vector<Value> leaves(const Value& tree) {
  std::vector<Value> out;
  collect(tree, out, 0);
  return out;
}

Value with_leaves(const Value& tree, std::vector<Value> leaves) {
  std::size_t next = 0;
  Value out = rebuild(tree, leaves, next);
  if (next != leaves.size()) throw std::logic_error("with_leaves: more leaves than the tree has");
  return out;
}

namespace {

bool same_at(const Value& a, const Value& b, int depth) {
  if (depth > kMaxNesting) too_deep();
  const bool leaf_a = !a.items() && !a.fields() && !a.is_none(), leaf_b = !b.items() && !b.fields() && !b.is_none();
  if (leaf_a || leaf_b) return leaf_a && leaf_b;
  if (a.variant().index() != b.variant().index()) return false;
  if (auto* x = a.items()) {
    auto& y = *b.items();
    if (x->size() != y.size()) return false;
    for (std::size_t i = 0; i < y.size(); ++i)
      if (!same_at((*x)[i], y[i], depth + 1)) return false;
    return true;
  }
  if (auto* x = a.fields()) {
    auto& y = b.fields()->fields;
    if (x->fields.size() != y.size()) return false;
    for (std::size_t i = 0; i < y.size(); ++i)
      if (x->fields[i].first != y[i].first || !same_at(x->fields[i].second, y[i].second, depth + 1)) return false;
  }
  return true;
}

}  // namespace

bool same_structure(const Value& a, const Value& b) { return same_at(a, b, 0); }

std::string structure(const Value& tree) {
  std::string out;
  describe(tree, out, 0);
  return out;
}

}  // namespace shard::lang
