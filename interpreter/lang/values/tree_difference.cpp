#include "interpreter/lang/values/tree_difference.h"

#include "interpreter/lang/values/tree.h"

namespace shard::lang {
namespace {

constexpr std::size_t kNamesShown = 8;

bool is_leaf(const Value& v) { return !v.items() && !v.fields() && !v.is_none(); }

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

}  // namespace shard::lang
