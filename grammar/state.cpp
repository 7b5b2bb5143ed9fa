// Making nodes: ids, and the height of the tree above each, which bounds every later walk whatever the text.
#include "grammar/state.h"

#include <algorithm>

#include "grammar/overloaded.h"

namespace shard::grammar {
namespace {

// How high the highest child stands.
class Height {
 public:
  explicit Height(const std::vector<int>& heights) : heights_(heights) {}
  int of(const Node& node) {
    std::visit(Overloaded{
                   [&](const StringLit& s) {
                     for (auto& p : s.pieces) see(p.value);
                   },
                   [&](const SpecLit& s) {
                     for (auto& a : s.args) see(a.value);
                   },
                   [&](const TypeLit& t) {
                     for (auto& d : t.dims) see(d.size);
                   },
                   [&](const TupleLit& t) {
                     for (auto& e : t.elements) see(e.value);
                   },
                   [&](const ListLit& t) {
                     for (auto& e : t.elements) see(e.value);
                   },
                   [&](const RecordLit& r) {
                     for (auto& e : r.entries) see(e.key, e.value);
                   },
                   [&](const Block& b) {
                     for (auto& s : b.body) see(*s);
                   },
                   [&](const IfExpr& x) { see(x.condition, x.then, x.otherwise); },
                   [&](const UseExpr& x) { see(x.mesh, x.body); },
                   [&](const FunctionLit& x) { see(x.function->id); },
                   [&](const Unary& x) { see(x.operand); },
                   [&](const Binary& x) { see(x.left, x.right); },
                   [&](const Call& x) {
                     see(x.callee);
                     for (auto& a : x.args) see(a.value);
                   },
                   [&](const Index& x) {
                     see(x.object);
                     for (auto& i : x.items) see(i.value, i.start, i.stop, i.step);
                   },
                   [&](const Field& x) { see(x.object); },
                   [&](const Pipe& x) { see(x.value, x.target); },
                   [&](const Shard& x) { see(x.value, x.spec, x.mesh); },
                   [](const auto&) {},
               },
               node);
    return highest_;
  }
  int of(const Function& f) {
    for (auto& p : f.params) {
      see(p.annot);
      see(p.default_value);
    }
    for (auto& m : f.modifiers)
      for (auto& a : m.axes) see(a);
    see(f.result);
    see(f.body);
    return highest_;
  }

 private:
  void see(std::int32_t id) { highest_ = std::max(highest_, heights_[static_cast<std::size_t>(id)] + 1); }
  void see(const ExprPtr& e) {
    if (e) see(e->id);
  }
  template <class... More>
  void see(const ExprPtr& e, const More&... more) {
    see(e);
    (see(more), ...);
  }
  void see(const AnnotPtr& a) {
    if (!a) return;
    std::visit(Overloaded{[&](const TypeAnnot& x) { see(x.type); }, [&](const SpecAnnot& x) { see(x.spec); },
                          [&](const TupleAnnot& x) {
                            for (auto& e : x.elements) see(e);
                          },
                          [&](const ListAnnot& x) {
                            for (auto& e : x.elements) see(e);
                          },
                          [&](const RecordAnnot& x) {
                            for (auto& f : x.fields) see(f.annot);
                          }},
               a->node);
  }
  void see(const Stmt& s) {
    std::visit(
        Overloaded{[&](const LetStmt& x) { see(x.value); }, [&](const FnStmt& x) { see(x.function->id); },
                   [&](const MeshStmt& x) {
                     for (auto& a : x.axes) see(a.size);
                     see(x.devices);
                   },
                   [&](const UseStmt& x) { see(x.mesh); }, [&](const RulesStmt& x) { see(x.rules); },
                   [&](const TestStmt& x) { see(x.body); }, [&](const ForStmt& x) { see(x.sequence, x.body); },
                   [&](const WhileStmt& x) { see(x.condition, x.body); }, [&](const ReturnStmt& x) { see(x.value); },
                   [&](const AssignStmt& x) { see(x.target, x.value); }, [&](const ExprStmt& x) { see(x.value); },
                   [](const auto&) {}},
        s.node);
  }
  const std::vector<int>& heights_;
  int highest_ = 0;
};

}  // namespace

Span State::span(const char* first, const char* last) {
  if (last != trimmed_from_) {
    trimmed_from_ = last;
    while (last > begin && (last[-1] == ' ' || last[-1] == '\t' || last[-1] == '\r')) --last;
    trimmed_to_ = last;
  }
  return at(first, std::max(first, trimmed_to_));
}

ExprPtr State::make(Span where, Node node) {
  const int height = Height(heights).of(node);
  if (height > height_limit) {
    fail(where,
         "this expression is built of more than " + std::to_string(height_limit) + " steps, one within the other",
         {"give parts of it names with `let`, or use a loop, or `sum` of a list"});
  }
  auto e = std::make_shared<Expr>();
  e->span = where;
  e->id = next_id();
  e->node = std::move(node);
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
