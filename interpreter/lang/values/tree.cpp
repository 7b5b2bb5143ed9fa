#include "interpreter/lang/values/tree.h"

#include <map>
#include <set>
#include <stdexcept>
#include <string_view>

#include "grammar/characters.h"

namespace shard::lang {
namespace {

bool is_leaf(const Value& v) { return !v.items() && !v.fields() && !v.is_none(); }

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
    return v.with_items(std::move(out));
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

std::string described(const Value& v, int depth) {
  if (depth > kMaxNesting) too_deep();
  if (is_leaf(v) || v.is_none()) return v.is_none() ? "none" : "*";
  return bracketed(v, [&](const Value& x) { return described(x, depth + 1); });
}

// Whether both are containers of one kind, or none, with as many children of the same names, and f holds of each pair.
template <class F>
bool children_agree(const Value& a, const Value& b, const F& f) {
  if (a.variant().index() != b.variant().index()) return false;
  if (auto* x = a.items()) {
    auto& y = *b.items();
    if (x->size() != y.size()) return false;
    for (std::size_t i = 0; i < y.size(); ++i)
      if (!f((*x)[i], y[i])) return false;
  } else if (auto* r = a.fields()) {
    auto& y = b.fields()->fields;
    if (r->fields.size() != y.size()) return false;
    for (std::size_t i = 0; i < y.size(); ++i)
      if (r->fields[i].first != y[i].first || !f(r->fields[i].second, y[i].second)) return false;
  }
  return true;
}

bool same_at(const Value& a, const Value& b, int depth) {
  if (depth > kMaxNesting) too_deep();
  if (is_leaf(a) || is_leaf(b)) return is_leaf(a) && is_leaf(b);
  return children_agree(a, b, [&](const Value& x, const Value& y) { return same_at(x, y, depth + 1); });
}

// A leaf's path: fields and indices joined by dots, and the same with what could be taken for the end of a field
// escaped.
struct LeafPath {
  std::string plain, escaped;
};

std::string escaped_field(std::string_view field) {
  std::string out;
  for (const char c : field) out += c == '.' ? "%2E" : c == '/' ? "%2F" : c == '%' ? "%25" : std::string(1, c);
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
  if (!is_leaf(prefix))
    return children_agree(prefix, tree, [&](const Value& x, const Value& y) { return parts(x, y, out, depth + 1); });
  out.push_back(tree);
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

std::string structure(const Value& tree) { return described(tree, 0); }

std::string bracketed(const Value& container, const std::string& inside) {
  if (container.fields()) return "{" + inside + "}";
  if (container.is<std::shared_ptr<List>>()) return "[" + inside + "]";
  return "(" + inside + (container.items()->size() == 1 ? ",)" : ")");  // `(1)` would be a number
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

// ---- where two trees come apart

namespace {

constexpr std::size_t kNamesShown = 8;

std::string brief(const Value* v) {
  if (!v) return "missing";
  const auto* r = v->fields();
  if (!r) return kind_name(*v);
  std::string s = "{";
  for (std::size_t i = 0; i < r->fields.size() && i < kNamesShown; ++i) s += (i ? ", " : "") + r->fields[i].first;
  return s + (r->fields.size() > kNamesShown ? ", ...}" : "}");
}

class Search {
 public:
  explicit Search(bool prefix) : prefix_(prefix) {}
  std::string path;
  const Value *a = nullptr, *b = nullptr;
  bool reordered = false;  // records with the same fields in another order

  // Whether x and y differ; then where, in the fields above.
  bool differs(const Value* x, const Value* y, const std::string& at, int depth = 0) {
    if (depth > kMaxNesting) too_deep();
    if (x && y && is_leaf(*x) && (prefix_ || is_leaf(*y))) return false;
    if (!x || !y || x->variant().index() != y->variant().index()) return found(x, y, at);
    if (const auto* xs = x->items()) {
      const auto& ys = *y->items();
      if (xs->size() != ys.size()) return found(x, y, at);
      for (std::size_t i = 0; i < ys.size(); ++i)
        if (differs(&(*xs)[i], &ys[i], below(at, std::to_string(i)), depth + 1)) return true;
    } else if (const auto* r = x->fields()) {
      return fields_differ(*r, *y->fields(), x, y, at, depth);
    }
    return false;
  }

 private:
  bool fields_differ(const Record& r, const Record& s, const Value* x, const Value* y, const std::string& at,
                     int depth) {
    for (const auto& f : s.fields)
      if (!r.find(f.first)) return found(nullptr, &f.second, below(at, f.first));
    for (const auto& f : r.fields)
      if (differs(&f.second, s.find(f.first), below(at, f.first), depth + 1)) return true;
    for (std::size_t i = 0; i < r.fields.size(); ++i)
      if (r.fields[i].first != s.fields[i].first) return reordered = found(x, y, at);
    return false;
  }

  bool found(const Value* x, const Value* y, const std::string& at) {
    a = x, b = y, path = at;
    return true;
  }

  bool prefix_;
};

}  // namespace

std::vector<std::string> tree_difference(const Value& a, const Value& b, const std::string& in_a,
                                         const std::string& in_b, bool prefix) {
  Search search(prefix);
  if (!search.differs(&a, &b, "")) return {};
  if (search.reordered)
    return {"the fields of " + (search.path.empty() ? "the records" : "`" + search.path + "`") +
            " stand in another order: " + brief(search.a) + " in " + in_a + " and " + brief(search.b) + " in " + in_b};
  if (search.path.empty()) return {};
  return {"`" + search.path + "` is " + brief(search.a) + " in " + in_a + " and " + brief(search.b) + " in " + in_b};
}

// ---- what is no list, gone through

std::vector<std::string> code_points(std::string_view s) {
  std::vector<std::string> out;
  for (std::size_t i = 0; i < s.size();) {
    const std::size_t n = grammar::character_bytes(s, i);
    out.emplace_back(s.substr(i, n));
    i += n;
  }
  return out;
}

Value entry_of(const SpecEntry& entry) {
  if (entry.axes.empty()) return {};
  return Value(std::shared_ptr<const Axis>(std::make_shared<Axis>(Axis{entry.axes})));
}

std::optional<std::vector<Value>> parts_of(const Value& v) {
  std::vector<Value> out;
  if (const Record* r = v.fields()) {
    for (const auto& [name, field] : r->fields) out.push_back(Value::tuple({Value::string(name), field}));
  } else if (v.is_string()) {
    for (std::string& c : code_points(v.str())) out.push_back(Value::string(std::move(c)));
  } else if (auto* s = v.get<std::shared_ptr<const Spec>>()) {
    for (const SpecEntry& entry : (*s)->dims) out.push_back(entry_of(entry));
  } else {
    return std::nullopt;
  }
  return out;
}

}  // namespace shard::lang
