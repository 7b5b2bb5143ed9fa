#include "interpreter/lang/values/tree.h"

#include <map>
#include <set>
#include <stdexcept>
#include <string_view>

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

// A leaf's path: fields and indices joined by dots, and the same with what could be taken for the end of a field
// escaped.
struct LeafPath {
  std::string plain, escaped;
};

std::string escaped_field(std::string_view field) {
  std::string out;
  for (const char c : field)
    if (c == '.')
      out += "%2E";
    else if (c == '/')
      out += "%2F";
    else if (c == '%')
      out += "%25";
    else
      out += c;
  return out;
}

void paths(const Value& v, const LeafPath& at, std::vector<LeafPath>& out, int depth) {
  if (depth > kMaxNesting) too_deep();
  const auto below = [&](const std::string& field) {
    if (depth == 0) return LeafPath{field, escaped_field(field)};
    return LeafPath{at.plain + "." + field, at.escaped + "." + escaped_field(field)};
  };
  if (auto* items = v.items()) {
    for (std::size_t i = 0; i < items->size(); ++i) paths((*items)[i], below(std::to_string(i)), out, depth + 1);
  } else if (auto* r = v.fields()) {
    for (const auto& [name, x] : r->fields) paths(x, below(name), out, depth + 1);
  } else if (!v.is_none()) {
    out.push_back(at);
  }
}

bool parts(const Value& prefix, const Value& tree, std::vector<Value>& out, int depth) {
  if (depth > kMaxNesting) too_deep();
  if (!prefix.items() && !prefix.fields() && !prefix.is_none()) {
    out.push_back(tree);
    return true;
  }
  if (prefix.variant().index() != tree.variant().index()) return false;
  if (auto* x = prefix.items()) {
    auto& y = *tree.items();
    if (x->size() != y.size()) return false;
    for (std::size_t i = 0; i < y.size(); ++i)
      if (!parts((*x)[i], y[i], out, depth + 1)) return false;
  } else if (auto* r = prefix.fields()) {
    auto& y = tree.fields()->fields;
    if (r->fields.size() != y.size()) return false;
    for (std::size_t i = 0; i < y.size(); ++i)
      if (r->fields[i].first != y[i].first || !parts(r->fields[i].second, y[i].second, out, depth + 1)) return false;
  }
  return true;
}

}  // namespace

std::vector<std::string> leaf_paths(const Value& tree) {
  std::vector<LeafPath> all;
  paths(tree, {}, all, 0);
  std::map<std::string_view, int> count;
  for (const LeafPath& p : all) ++count[p.plain];
  std::vector<std::string> out;
  if (count.size() == all.size()) {
    for (LeafPath& p : all) out.push_back(std::move(p.plain));
    return out;
  }
  std::set<std::string, std::less<>> taken;
  for (const auto& [path, times] : count)
    if (times == 1) taken.emplace(path);
  for (const LeafPath& p : all) {
    std::string path = p.plain;
    if (count[p.plain] > 1) {
      path = p.escaped;
      for (int n = 2; !taken.insert(path).second; ++n) path = p.escaped + "#" + std::to_string(n);
    }
    out.push_back(std::move(path));
  }
  return out;
}

std::string below(const std::string& root, const std::string& path) {
  return path.empty() ? root : root.empty() ? path : root + "." + path;
}

std::optional<std::vector<Value>> parts_under(const Value& prefix, const Value& tree) {
  std::vector<Value> out;
  if (!parts(prefix, tree, out, 0)) return std::nullopt;
  return out;
}

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

bool same_structure(const Value& a, const Value& b) { return same_at(a, b, 0); }

std::string structure(const Value& tree) {
  std::string out;
  describe(tree, out, 0);
  return out;
}

Value TreeStructure::filled(std::span<const trace::Tensor> given) const {
  std::vector<Value> now = leaves_;
  for (std::size_t i = 0; i < now.size(); ++i)
    if (place_[i] >= 0) now[i] = given[static_cast<std::size_t>(place_[i])];
  return with_leaves(tree_, std::move(now));
}

void TreeStructure::forget() {
  for (std::size_t i = 0; i < leaves_.size(); ++i)
    if (place_[i] >= 0) leaves_[i] = Value(std::int64_t{0});
  tree_ = with_leaves(tree_, leaves_);
}

TreeStructure take_leaves(Value tree, Take which, std::vector<trace::Tensor>& taken,
                          const std::function<trace::Tensor(const Value&)>& as_tensor) {
  TreeStructure out(std::move(tree));
  for (std::size_t i = 0; i < out.size(); ++i) {
    const Value& leaf = out.leaf(i);
    const bool number = leaf.is_host_number() || leaf.is<bool>();
    if (!leaf.is_tensor() && !(number && which == Take::ArraysAndNumbers)) continue;
    out.take(i, taken.size());
    taken.push_back(as_tensor(leaf));
  }
  return out;
}

}  // namespace shard::lang
