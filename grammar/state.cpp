// Making nodes: ids, and the height of the tree above each, which bounds every later walk whatever the text.
#include "grammar/state.h"

#include <algorithm>

#include "grammar/walk.h"

namespace shard::grammar {
namespace {

// How high the highest child stands.
class Height {
 public:
  explicit Height(const std::vector<int>& heights) : heights_(heights) {}
  int of(const Expr& e) {
    each_child(e, [this](const auto& x) { see(x); });
    return highest_;
  }
  int of(const Function& f) {
    for (auto& p : f.params) {
      see(p.annot);
      if (p.default_value) see(*p.default_value);
    }
    for (auto& m : f.modifiers)
      for (auto& a : m.axes) see(*a);
    see(f.result);
    see(*f.body);
    return highest_;
  }

 private:
  template <class Made>
  void see(const Made& x) {  // an expression or a function
    highest_ = std::max(highest_, heights_[static_cast<std::size_t>(x.id)] + 1);
  }
  void see(const AnnotPtr& a) {
    if (a) each_leaf(*a, [this](const Annot& leaf) { see(written_in(leaf)); });
  }
  void see(const Stmt& s) {
    each_child(s, [this](const auto& x) { see(x); });
  }
  const std::vector<int>& heights_;
  int highest_ = 0;
};

}  // namespace

Span State::span(const char* first, const char* last) {
  if (last != trimmed_from_) {
    trimmed_from_ = last;
    while (last > begin && is_blank(last[-1])) --last;
    trimmed_to_ = last;
  }
  return at(first, std::max(first, trimmed_to_));
}

ExprPtr State::make(Span where, Node node) {
  auto e = std::make_shared<Expr>();
  e->span = where;
  e->node = std::move(node);
  const int height = Height(heights).of(*e);
  if (height > height_limit) {
    fail(where,
         "this expression is built of more than " + std::to_string(height_limit) + " steps, one within the other",
         {"give parts of it names with `let`, or use a loop, or `sum` of a list"});
  }
  e->id = next_id();
  heights.back() = height;
  return e;
}

FunctionPtr State::make(Span where, Function function) {
  function.span = where;
  const int height = Height(heights).of(function);
  function.id = next_id();
  heights.back() = height;
  return std::make_shared<const Function>(std::move(function));
}

PatternPtr State::make(Span where, decltype(Pattern::node) node) {
  auto p = std::make_shared<Pattern>();
  p->span = where;
  p->id = next_id();
  p->node = std::move(node);
  return p;
}

void State::fail(Span span, std::string message, std::vector<std::string> notes, std::vector<Fix> fixes) const {
  throw Error(Diagnostic{"syntax", span, std::move(message), std::move(notes), std::move(fixes), {}});
}

}  // namespace shard::grammar
