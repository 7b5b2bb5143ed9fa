// Canonical text of a tree. Blocks stand on lines of their own, indented by two; parentheses stand where the operator
// table asks for them and nowhere else. The height of a tree is bounded (state.h), so the walk recurses.
#include <algorithm>
#include <charconv>

#include "grammar/characters.h"
#include "grammar/operator_table.h"
#include "grammar/overloaded.h"
#include "grammar/parse.h"

namespace shard::grammar {
namespace {

// How tightly an expression must hold together to stand without parentheses: a Level, or one of these below all levels.
constexpr int loosest = -2;     // a lambda, which reaches as far as it can
constexpr int pipe_level = -1;  // `|>` and `shard`

int level_of(const Expr& e) {
  return std::visit(Overloaded{[](const FunctionLit&) { return loosest; }, [](const Shard&) { return pipe_level; },
                               [](const Pipe&) { return pipe_level; },
                               [](const Unary& x) { return static_cast<int>(row(x.op).level); },
                               [](const Binary& x) { return static_cast<int>(row(x.op).level); },
                               [](const auto&) { return static_cast<int>(Level::Postfix); }},
                    e.node);
}

// The expression that an operand begins with.
const Expr& leftmost(const Expr& e) {
  const Expr* x = &e;
  for (;;) {
    const ExprPtr* next = std::visit(
        Overloaded{[](const Call& c) { return &c.callee; }, [](const Index& i) { return &i.object; },
                   [](const Field& f) { return &f.object; }, [](const Binary& b) { return &b.left; },
                   [](const Pipe& p) { return &p.value; }, [](const auto&) -> const ExprPtr* { return nullptr; }},
        x->node);
    if (!next) return *x;
    x = next->get();
  }
}

bool has_matmul(const Expr& e) {
  for (const auto* b = std::get_if<Binary>(&e.node); b; b = std::get_if<Binary>(&b->left->node)) {
    if (b->op == BinaryOp::MatMul || has_matmul(*b->right)) return true;
  }
  return false;
}

std::string float_text(double v) {
  char buffer[32];
  const std::string text(buffer, std::to_chars(buffer, buffer + sizeof buffer, v).ptr);
  return text.find_first_of(".e") == std::string::npos ? text + ".0" : text;
}

struct Tight {  // an operand: only what is called, indexed or alone stands bare
  const ExprPtr& of;
};

class Printer {
 public:
  std::string out;

  void statements(const std::vector<StmtPtr>& body) {
    for (std::size_t i = 0; i < body.size(); ++i) {
      if (i && inline_) put(";");
      line();
      statement(*body[i]);
    }
  }

  template <class... Parts>
  void put(const Parts&... parts) {
    (add(parts), ...);
  }

 private:
  template <class Items>
  void list(std::string_view open, const Items& items, std::string_view close) {
    put(open);
    separated(items, ", ");
    put(close);
  }
  template <class Items>
  void separated(const Items& items, std::string_view comma) {
    for (const auto& i : items) {
      if (&i != &items.front()) put(comma);
      put(i);
    }
  }

  // ---- parts --------------------------------------------------------------------------------------------------------
  void add(std::string_view text) { out += text; }
  void add(const Word& w) { out += w.text; }
  void add(const ExprPtr& e) { expr(*e, loosest); }
  void add(const Expr& e) { expr(e, loosest); }
  void add(const Tight& e) { expr(*e.of, static_cast<int>(Level::Postfix)); }
  void add(const Element& x) { put(x.spread ? "..." : "", x.value); }
  void add(const Arg& a) {
    if (a.name) put(*a.name, ": ");
    put(a.spread ? "..." : "", a.value);
  }
  void add(const Entry& x) {
    if (x.key) {
      put("[", x.key, "]: ");
    } else if (!x.name) {
      put("...");
    } else if (is_word(x.name->text)) {
      put(*x.name, ": ");
    } else {
      put("\"", escaped(x.name->text), "\": ");
    }
    put(x.value);
  }
  void add(const Item& x) {
    if (x.ellipsis) put("...");
    if (x.value) put(x.value);
    if (!x.slice) return;
    if (x.start) put(x.start);
    put(":");
    if (x.stop) put(x.stop);
    if (x.step) put(":", x.step);
  }
  void add(const Param& p) {
    put(p.pattern);
    if (p.annot) put(": ", p.annot);
    if (p.default_value) put(" = ", p.default_value);
  }
  void add(const MeshAxis& a) {
    put("@", a.name, ": ", a.size);
    if (a.kind == AxisKind::Explicit) put(" explicit");
  }
  // Sizes and groups of types stand without blanks, as typeof prints.
  void add(const TypeDim& d) {
    if (d.ellipsis) put("...");
    if (d.size) size(*d.size);
    if (!d.axes.empty() || d.grouped) axes(d.axes, d.grouped);
  }
  void add(const TypeGroup& g) {
    const bool one = g.axes.size() == 1;
    put(g.tag, ":");
    list(one ? "" : "(", g.axes, one ? "" : ")");
  }
  void add(const FieldAnnot& f) { put(f.name, ": ", f.annot); }
  void add(const AnnotPtr& a) {
    std::visit(Overloaded{[&](const TypeAnnot& x) { put(x.type); }, [&](const SpecAnnot& x) { put(Tight{x.spec}); },
                          [&](const TupleAnnot& x) { list("(", x.elements, x.elements.size() == 1 ? ",)" : ")"); },
                          [&](const ListAnnot& x) { list("[", x.elements, "]"); },
                          [&](const RecordAnnot& x) { list("{", x.fields, "}"); }},
               a->node);
  }
  void add(const FieldPattern& f) {
    if (f.rest) return put("...", f.target);
    put(f.name);
    const auto* n = std::get_if<NamePattern>(&f.target->node);
    if (!n || n->name != f.name.text) put(": ", f.target);
  }
  void add(const PatternPtr& p) {
    const auto parts = [&](const char* open, const auto& x, const char* close) {
      put(open);
      for (std::size_t i = 0; i < x.elements.size(); ++i) put(i ? ", " : "", i == x.rest ? "..." : "", x.elements[i]);
      put(close);
    };
    std::visit(
        Overloaded{[&](const NamePattern& x) { put(x.name); }, [&](const TuplePattern& x) { parts("(", x, ")"); },
                   [&](const ListPattern& x) { parts("[", x, "]"); },
                   [&](const RecordPattern& x) { list("{", x.fields, "}"); }},
        p->node);
  }

  // ---- expressions --------------------------------------------------------------------------------------------------
  void expr(const Expr& e, int at_least) {
    const bool brackets = level_of(e) < at_least;
    if (brackets) put("(");
    node(e);
    if (brackets) put(")");
  }

  void node(const Expr& e) {
    std::visit(Overloaded{
                   [&](const IntLit& x) { put(std::to_string(x.value)); },
                   [&](const FloatLit& x) { put(float_text(x.value)); },
                   [&](const BoolLit& x) { put(x.value ? "true" : "false"); },
                   [&](const NoneLit&) { put("none"); },
                   [&](const StringLit& x) { string(x); },
                   [&](const NameRef& x) { put(x.name); },
                   [&](const DTypeLit& x) { put(x.name); },
                   [&](const AxisLit& x) { axes(x.names, x.grouped); },
                   [&](const HoleLit&) { put("_"); },
                   [&](const OpenLit&) { put("?"); },
                   [&](const SpecLit& x) { list("P(", x.args, ")"); },
                   [&](const TypeLit& x) { type(x); },
                   [&](const TupleLit& x) {
                     list("(", x.elements, x.elements.size() == 1 && !x.elements[0].spread ? ",)" : ")");
                   },
                   [&](const ListLit& x) { list("[", x.elements, "]"); },
                   [&](const RecordLit& x) { list("{", x.entries, "}"); },
                   [&](const Block& x) { block(x); },
                   [&](const IfExpr& x) {
                     put("if ", x.condition, " ", x.then);
                     if (x.otherwise) put(" else ", x.otherwise);
                   },
                   [&](const UseExpr& x) { put("use ", Tight{x.mesh}, " ", x.body); },
                   [&](const FunctionLit& x) { function(*x.function); },
                   [&](const Unary& x) { unary(x); },
                   [&](const Binary& x) { binary(x); },
                   [&](const Call& x) {
                     put(Tight{x.callee});
                     list("(", x.args, ")");
                   },
                   [&](const Index& x) {
                     const bool dtype = std::holds_alternative<DTypeLit>(x.object->node);
                     if (dtype)
                       put("(", x.object, ")");  // `f32[8]` would be read as a type
                     else
                       put(Tight{x.object});
                     list("[", x.items, "]");
                   },
                   [&](const Field& x) { put(Tight{x.object}, ".", x.name); },
                   [&](const Pipe& x) {
                     expr(*x.value, pipe_level);
                     put(" |> ", Tight{x.target});
                   },
                   [&](const Shard& x) { sharding(x); },
               },
               e.node);
  }

  void unary(const Unary& x) {
    const UnaryRow& r = row(x.op);
    put(r.token);
    if (x.op == UnaryOp::BitNot && std::holds_alternative<TypeLit>(x.operand->node)) return put("(", x.operand, ")");
    if (r.level == Level::Not) put(" ");
    expr(*x.operand, static_cast<int>(r.level));
  }

  // A chain of left operands is as high as the tree may be; it is written without recursion.
  void binary(const Binary& top) {
    std::vector<const Binary*> chain{&top};
    auto first_level = [](const Binary& b) {
      const BinaryRow& r = row(b.op);
      return static_cast<int>(r.level) + (r.side == Side::Left ? 0 : 1);
    };
    while (auto* left = std::get_if<Binary>(&chain.back()->left->node)) {
      if (static_cast<int>(row(left->op).level) < first_level(*chain.back())) break;
      chain.push_back(left);
    }
    expr(*chain.back()->left, first_level(*chain.back()));
    for (auto b = chain.rbegin(); b != chain.rend(); ++b) {
      const BinaryRow& r = row((*b)->op);
      const std::string_view blank = r.level == Level::Range || r.level == Level::Power ? "" : " ";
      put(blank, r.token, blank);
      // `2 ** -x` needs no parentheses: a sign may stand after `**`.
      expr(*(*b)->right, r.level == Level::Power ? static_cast<int>(Level::Sign) : static_cast<int>(r.level) + 1);
    }
  }

  void sharding(const Shard& x) {
    put("shard ", x.value, " as ");
    if (!std::holds_alternative<SpecLit>(x.spec->node) && std::holds_alternative<SpecLit>(leftmost(*x.spec).node))
      put("(", Tight{x.spec}, ")");  // after `P(...)` only `on` and `|>` may follow
    else
      put(Tight{x.spec});
    if (x.mesh) put(" on ", Tight{x.mesh});
  }

  void string(const StringLit& x) {
    put("\"");
    for (const StringPiece& p : x.pieces) {
      if (!p.value) {
        put(escaped(p.text));
        continue;
      }
      put("{");
      const std::size_t at = out.size();
      ++inline_;
      put(p.value);
      --inline_;
      if (out[at] == '{') out.insert(at, " ");  // `{{` would be a brace
      if (!p.format.empty()) put(":", p.format);
      put("}");
    }
    put("\"");
  }

  void axes(const std::vector<Word>& names, bool grouped) { list(grouped ? "@(" : "@", names, grouped ? ")" : ""); }

  void type(const TypeLit& t) {
    put(t.weak ? "~" : "", t.dtype, "[");
    separated(t.dims, ",");
    put("]");
    if (t.groups.empty()) return;
    put("{");
    separated(t.groups, ",");
    put("}");
  }

  void size(const Expr& e) {  // only what may stand before the `@` of a type stands bare
    const auto* b = std::get_if<Binary>(&e.node);
    const bool bare =
        level_of(e) >= static_cast<int>(Level::Sum) && !(b && row(b->op).level <= Level::Product && has_matmul(e));
    expr(e, static_cast<int>(bare ? Level::Sum : Level::Postfix));
  }

  // ---- functions and statements -------------------------------------------------------------------------------------
  void block(const Block& b) {
    put("{");
    if (!b.body.empty()) {
      indent_ += 2;
      statements(b.body);
      indent_ -= 2;
      line();
    }
    put("}");
  }

  void function(const Function& f) {
    constexpr std::string_view kinds[] = {"jit", "manual", "auto", "explicit"};
    for (const Modifier& m : f.modifiers) {
      put(kinds[static_cast<std::size_t>(m.kind)]);
      if (!m.all_axes) list("(", m.axes, ")");
      put(" ");
    }
    put(f.name.empty() ? "fn" : "fn ", f.name);
    list("(", f.params, ")");
    if (f.result) put(" -> ", f.result);
    put(std::holds_alternative<Block>(f.body->node) ? " " : " = ", f.body);
  }

  void statement(const Stmt& s) {
    std::visit(Overloaded{
                   [&](const LetStmt& x) { put("let ", x.pattern, " = ", x.value); },
                   [&](const FnStmt& x) {
                     doc(x.function->doc);
                     function(*x.function);
                   },
                   [&](const MeshStmt& x) {
                     put("mesh ", x.name, " = ");
                     list("(", x.axes, ")");
                     if (x.devices) put(" on ", Tight{x.devices});
                   },
                   [&](const UseStmt& x) { put("use ", Tight{x.mesh}); },
                   [&](const RulesStmt& x) { put("rules ", Tight{x.rules}); },
                   [&](const TestStmt& x) { put(x.skip ? "test.skip \"" : "test \"", escaped(x.name), "\" ", x.body); },
                   [&](const ImportStmt& x) {
                     const std::string_view quote = x.file ? "\"" : "";
                     put("import ", quote, x.file ? escaped(x.module) : x.module, quote);
                     if (x.file || x.name.text != x.module) put(" as ", x.name);
                   },
                   [&](const ForStmt& x) { put("for ", x.pattern, " in ", x.sequence, " ", x.body); },
                   [&](const WhileStmt& x) { put("while ", x.condition, " ", x.body); },
                   [&](const BreakStmt&) { put("break"); },
                   [&](const ContinueStmt&) { put("continue"); },
                   [&](const ReturnStmt& x) {
                     put("return");
                     if (x.value) put(" ", x.value);
                   },
                   [&](const AssignStmt& x) {
                     constexpr std::string_view ops[] = {" = ", " += ", " -= ", " *= ", " /= "};
                     put(x.target, ops[static_cast<std::size_t>(x.op)], x.value);
                   },
                   [&](const ExprStmt& x) {
                     // `use m { ... }` opens a statement of its own, after which nothing may follow.
                     const Expr& first = leftmost(*x.value);
                     const bool brackets = &first != x.value.get() && std::holds_alternative<UseExpr>(first.node);
                     put(brackets ? "(" : "", x.value, brackets ? ")" : "");
                   },
               },
               s.node);
  }

  void doc(const std::string& text) {
    for (std::size_t at = 0; !text.empty() && at <= text.size();) {
      const std::size_t end = std::min(text.find('\n', at), text.size());
      put(end > at ? "## " : "##", text.substr(at, end - at));
      line();
      at = end + 1;
    }
  }

  void line() {
    if (inline_) return put(" ");
    if (!out.empty()) put("\n");
    out.append(static_cast<std::size_t>(indent_), ' ');
  }

  int indent_ = 0;
  int inline_ = 0;  // within strings, which stand on one line
};

}  // namespace

std::string print(const Module& module) {
  Printer p;
  p.statements(module.body);
  if (!p.out.empty()) p.out += '\n';
  return std::move(p.out);
}

std::string print(const Expr& expr) {
  Printer p;
  p.put(expr);
  return std::move(p.out);
}

}  // namespace shard::grammar
