// Canonical text of a tree. Parentheses stand where the operator table asks for them and nowhere else; blocks stand on lines of
// their own, indented by two. The height of a tree is bounded (state.h), so the walk recurses.
#include <charconv>
#include <cmath>

#include "grammar/operators.h"
#include "grammar/parse.h"

namespace shard::grammar {
namespace {

template <class... F> struct Overloaded : F... { using F::operator()...; };
template <class... F> Overloaded(F...) -> Overloaded<F...>;

// How tightly an expression holds together: what may stand where an operand of some level is asked for.
constexpr int loosest = -2;   // a lambda, `shard`: only where a whole expression stands
constexpr int pipe_level = -1;

class Printer {
 public:
  std::string out;

  void statements(const std::vector<StmtPtr>& body) {
    for (std::size_t i = 0; i < body.size(); ++i) {
      if (i && inline_) out += ';';
      line();
      statement(*body[i]);
    }
  }

  void whole(const Expr& e) { expr(e, loosest); }

 private:
  // ---- expressions --------------------------------------------------------------------------------------------------
  static int level_of(const Expr& e) {
    return std::visit(Overloaded{[](const FunctionLit&) { return loosest; }, [](const Shard&) { return pipe_level; }, [](const Pipe&) { return pipe_level; },
                                 [](const Unary& x) { return static_cast<int>(row(x.op).level); },
                                 [](const Binary& x) { return static_cast<int>(row(x.op).level); },
                                 [](const auto&) { return static_cast<int>(Level::Postfix); }},
                      e.node);
  }

  void expr(const Expr& e, int at_least) {
    const bool brackets = level_of(e) < at_least;
    if (brackets) out += '(';
    node(e);
    if (brackets) out += ')';
  }
  void expr(const ExprPtr& e, int at_least = loosest) { expr(*e, at_least); }
  void operand(const ExprPtr& e) { expr(*e, static_cast<int>(Level::Postfix)); }

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
    expr(chain.back()->left, first_level(*chain.back()));
    for (auto b = chain.rbegin(); b != chain.rend(); ++b) {
      const BinaryRow& r = row((*b)->op);
      out += r.level == Level::Range || r.level == Level::Power ? std::string(r.token) : " " + std::string(r.token) + " ";
      // `2 ** -x` needs no parentheses: a sign may stand after `**`.
      expr((*b)->right, r.level == Level::Power ? static_cast<int>(Level::Sign) : static_cast<int>(r.level) + 1);
    }
  }

  void node(const Expr& e) {
    std::visit(Overloaded{
                   [&](const IntLit& x) { out += std::to_string(x.value); },
                   [&](const FloatLit& x) { number(x.value); },
                   [&](const BoolLit& x) { out += x.value ? "true" : "false"; },
                   [&](const NoneLit&) { out += "none"; },
                   [&](const StringLit& x) { string(x); },
                   [&](const NameRef& x) { out += x.name; },
                   [&](const DTypeLit& x) { out += x.name; },
                   [&](const AxisLit& x) { axes(x.names, x.grouped); },
                   [&](const HoleLit&) { out += '_'; },
                   [&](const OpenLit&) { out += '?'; },
                   [&](const SpecLit& x) { out += 'P'; args(x.args); },
                   [&](const TypeLit& x) { type(x); },
                   [&](const TupleLit& x) {
                     out += '(';
                     list(x.elements, [&](const Element& i) { element(i); });
                     if (x.elements.size() == 1 && !x.elements[0].spread) out += ',';
                     out += ')';
                   },
                   [&](const ListLit& x) {
                     out += '[';
                     list(x.elements, [&](const Element& i) { element(i); });
                     out += ']';
                   },
                   [&](const RecordLit& x) {
                     out += '{';
                     list(x.entries, [&](const Entry& i) { entry(i); });
                     out += '}';
                   },
                   [&](const Block& x) { block(x); },
                   [&](const IfExpr& x) { branches(x); },
                   [&](const UseExpr& x) { out += "use "; operand(x.mesh); out += ' '; expr(x.body); },
                   [&](const FunctionLit& x) { function(*x.function); },
                   [&](const Unary& x) {
                     const UnaryRow& r = row(x.op);
                     out += r.token;
                     if (r.level == Level::Not) out += ' ';
                     else if (x.op == UnaryOp::BitNot && std::holds_alternative<TypeLit>(x.operand->node)) { out += '('; node(*x.operand); out += ')'; return; }
                     expr(x.operand, static_cast<int>(r.level));
                   },
                   [&](const Binary& x) { binary(x); },
                   [&](const Call& x) { operand(x.callee); args(x.args); },
                   [&](const Index& x) {
                     indexed(x.object);
                     out += '[';
                     list(x.items, [&](const Item& i) { item(i); });
                     out += ']';
                   },
                   [&](const Field& x) { operand(x.object); out += '.' + x.name.text; },
                   [&](const Pipe& x) { expr(x.value, pipe_level); out += " |> "; operand(x.target); },
                   [&](const Shard& x) { sharding(x); },
               },
               e.node);
  }

  void indexed(const ExprPtr& e) {
    if (!std::holds_alternative<DTypeLit>(e->node)) return operand(e);
    out += '(';   // `f32[8]` would be read as a type
    node(*e);
    out += ')';
  }

  // The expression that an operand begins with.
  static const Expr& leftmost(const Expr& e) {
    const Expr* x = &e;
    for (;;) {
      const ExprPtr* next = std::visit(Overloaded{[](const Call& c) { return &c.callee; }, [](const Index& i) { return &i.object; },
                                                  [](const Field& f) { return &f.object; }, [](const Binary& b) { return &b.left; },
                                                  [](const Pipe& p) { return &p.value; }, [](const auto&) -> const ExprPtr* { return nullptr; }},
                                       x->node);
      if (!next) return *x;
      x = next->get();
    }
  }

  void sharding(const Shard& x) {
    out += "shard ";
    expr(x.value);
    out += " as ";
    const bool brackets = !std::holds_alternative<SpecLit>(x.spec->node) && std::holds_alternative<SpecLit>(leftmost(*x.spec).node);
    if (brackets) out += '(';   // after `P(...)` only `on` and `|>` may follow
    operand(x.spec);
    if (brackets) out += ')';
    if (x.mesh) { out += " on "; operand(x.mesh); }
  }

  void number(double v) {
    char buffer[32];
    const auto end = std::to_chars(buffer, buffer + sizeof buffer, v).ptr;
    const std::string text(buffer, end);
    out += text;
    if (text.find_first_of(".e") == std::string::npos) out += ".0";
  }

  void string(const StringLit& x) {
    out += '"';
    for (const StringPiece& p : x.pieces) {
      if (!p.value) { literal(p.text); continue; }
      out += '{';
      const std::size_t at = out.size();
      ++inline_;
      expr(p.value);
      --inline_;
      if (out[at] == '{') out.insert(at, " ");   // `{{` would be a brace
      if (!p.format.empty()) out += ':' + p.format;
      out += '}';
    }
    out += '"';
  }
  void literal(const std::string& text) {
    for (const char c : text) {
      switch (c) {
        case '"': out += "\\\""; break;
        case '\\': out += "\\\\"; break;
        case '\n': out += "\\n"; break;
        case '\t': out += "\\t"; break;
        case '\r': out += "\\r"; break;
        case '{': out += "{{"; break;
        case '}': out += "}}"; break;
        default:
          if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) {
            constexpr char hex[] = "0123456789abcdef";
            out += "\\x";
            out += hex[(c >> 4) & 15];
            out += hex[c & 15];
          } else {
            out += c;
          }
      }
    }
  }

  void axes(const std::vector<Word>& names, bool grouped) {
    out += '@';
    if (grouped) out += '(';
    list(names, [&](const Word& w) { out += w.text; });
    if (grouped) out += ')';
  }

  void args(const std::vector<Arg>& all) {
    out += '(';
    list(all, [&](const Arg& a) {
      if (a.name) out += a.name->text + ": ";
      if (a.spread) out += "...";
      expr(a.value);
    });
    out += ')';
  }

  // Without blanks, as typeof prints.
  void type(const TypeLit& t) {
    if (t.weak) out += '~';
    out += t.dtype + '[';
    for (std::size_t i = 0; i < t.dims.size(); ++i) {
      const TypeDim& d = t.dims[i];
      if (i) out += ',';
      if (d.ellipsis) out += "...";
      if (d.size) size(*d.size);
      if (!d.axes.empty() || d.grouped) axes(d.axes, d.grouped);
    }
    out += ']';
    if (t.groups.empty()) return;
    out += '{';
    for (std::size_t i = 0; i < t.groups.size(); ++i) {
      const TypeGroup& g = t.groups[i];
      out += (i ? "," : "") + g.tag + ':';
      if (g.axes.size() != 1) out += '(';
      list(g.axes, [&](const Word& w) { out += w.text; });
      if (g.axes.size() != 1) out += ')';
    }
    out += '}';
  }
  void size(const Expr& e) {  // only what may stand before the `@` of a type stands bare
    const auto* b = std::get_if<Binary>(&e.node);
    const bool bare = level_of(e) >= static_cast<int>(Level::Sum) && !(b && row(b->op).level <= Level::Product && has_matmul(e));
    expr(e, bare ? static_cast<int>(Level::Sum) : static_cast<int>(Level::Postfix));
  }
  static bool has_matmul(const Expr& e) {
    for (const auto* b = std::get_if<Binary>(&e.node); b; b = std::get_if<Binary>(&b->left->node)) {
      if (b->op == BinaryOp::MatMul || has_matmul(*b->right)) return true;
    }
    return false;
  }

  void element(const Element& x) {
    if (x.spread) out += "...";
    expr(x.value);
  }
  void entry(const Entry& x) {
    if (!x.name) {
      out += "...";
    } else if (is_word(x.name->text)) {
      out += x.name->text + ": ";
    } else {
      out += '"';
      literal(x.name->text);
      out += "\": ";
    }
    expr(x.value);
  }
  static bool is_word(const std::string& s) {
    if (s.empty() || !is_word_start(s[0])) return false;
    for (const char c : s) if (!is_word_part(c)) return false;
    return true;
  }
  void item(const Item& x) {
    if (x.ellipsis) { out += "..."; return; }
    if (x.value) expr(x.value);
    if (!x.slice) return;
    if (x.start) expr(x.start);
    out += ':';
    if (x.stop) expr(x.stop);
    if (x.step) { out += ':'; expr(x.step); }
  }

  void branches(const IfExpr& top) {
    for (const IfExpr* x = &top;;) {
      out += "if ";
      expr(x->condition);
      out += ' ';
      expr(x->then);
      if (!x->otherwise) return;
      out += " else ";
      const auto* next = std::get_if<IfExpr>(&x->otherwise->node);
      if (!next) { expr(x->otherwise); return; }
      x = next;
    }
  }

  void block(const Block& b) {
    if (b.body.empty()) { out += "{}"; return; }
    out += '{';
    indent_ += 2;
    statements(b.body);
    indent_ -= 2;
    line();
    out += '}';
  }

  // ---- functions, annotations, patterns -------------------------------------------------------------------------------
  void function(const Function& f) {
    for (const Modifier& m : f.modifiers) {
      out += m.kind == ModifierKind::Jit ? "jit" : m.kind == ModifierKind::Manual ? "manual" : m.kind == ModifierKind::Auto ? "auto" : "explicit";
      if (!m.all_axes) {
        out += '(';
        list(m.axes, [&](const ExprPtr& a) { expr(a); });
        out += ')';
      }
      out += ' ';
    }
    out += "fn";
    if (!f.name.empty()) out += ' ' + f.name;
    out += '(';
    list(f.params, [&](const Param& p) {
      pattern(*p.pattern);
      if (p.annot) { out += ": "; annot(*p.annot); }
      if (p.default_value) { out += " = "; expr(p.default_value); }
    });
    out += ')';
    if (f.result) { out += " -> "; annot(*f.result); }
    if (auto* b = std::get_if<Block>(&f.body->node)) { out += ' '; block(*b); return; }
    out += " = ";
    expr(f.body);
  }

  void annot(const Annot& a) {
    std::visit(Overloaded{[&](const TypeAnnot& x) { expr(x.type); }, [&](const SpecAnnot& x) { operand(x.spec); },
                          [&](const TupleAnnot& x) {
                            out += '(';
                            list(x.elements, [&](const AnnotPtr& e) { annot(*e); });
                            if (x.elements.size() == 1) out += ',';
                            out += ')';
                          },
                          [&](const ListAnnot& x) {
                            out += '[';
                            list(x.elements, [&](const AnnotPtr& e) { annot(*e); });
                            out += ']';
                          },
                          [&](const RecordAnnot& x) {
                            out += '{';
                            list(x.fields, [&](const FieldAnnot& f) { out += f.name.text + ": "; annot(*f.annot); });
                            out += '}';
                          }},
               a.node);
  }

  void pattern(const Pattern& p) {
    std::visit(Overloaded{[&](const NamePattern& x) { out += x.name; },
                          [&](const TuplePattern& x) { out += '('; list(x.elements, [&](const PatternPtr& e) { pattern(*e); }); out += ')'; },
                          [&](const ListPattern& x) { out += '['; list(x.elements, [&](const PatternPtr& e) { pattern(*e); }); out += ']'; },
                          [&](const RecordPattern& x) {
                            out += '{';
                            list(x.fields, [&](const FieldPattern& f) {
                              out += f.name.text;
                              const auto* n = std::get_if<NamePattern>(&f.target->node);
                              if (!n || n->name != f.name.text) { out += ": "; pattern(*f.target); }
                            });
                            out += '}';
                          }},
               p.node);
  }

  // ---- statements ---------------------------------------------------------------------------------------------------
  void statement(const Stmt& s) {
    std::visit(Overloaded{
                   [&](const LetStmt& x) { out += "let "; pattern(*x.pattern); out += " = "; expr(x.value); },
                   [&](const FnStmt& x) { doc(x.function->doc); function(*x.function); },
                   [&](const MeshStmt& x) { mesh(x); },
                   [&](const UseStmt& x) { out += "use "; operand(x.mesh); },
                   [&](const RulesStmt& x) { out += "rules "; operand(x.rules); },
                   [&](const TestStmt& x) { out += "test \""; literal(x.name); out += "\" "; expr(x.body); },
                   [&](const ImportStmt& x) {
                     out += "import ";
                     if (x.file) { out += '"'; literal(x.module); out += '"'; }
                     else out += x.module;
                     if (x.file || x.name.text != x.module) out += " as " + x.name.text;
                   },
                   [&](const ForStmt& x) { out += "for "; pattern(*x.pattern); out += " in "; expr(x.sequence); out += ' '; expr(x.body); },
                   [&](const WhileStmt& x) { out += "while "; expr(x.condition); out += ' '; expr(x.body); },
                   [&](const BreakStmt&) { out += "break"; },
                   [&](const ContinueStmt&) { out += "continue"; },
                   [&](const ReturnStmt& x) { out += "return"; if (x.value) { out += ' '; expr(x.value); } },
                   [&](const AssignStmt& x) {
                     constexpr const char* ops[] = {" = ", " += ", " -= ", " *= ", " /= "};
                     expr(x.target);
                     out += ops[static_cast<int>(x.op)];
                     expr(x.value);
                   },
                   [&](const ExprStmt& x) {
                     // `use m { ... }` opens a statement of its own, after which nothing may follow.
                     const Expr& first = leftmost(*x.value);
                     const bool brackets = &first != x.value.get() && std::holds_alternative<UseExpr>(first.node);
                     if (brackets) out += '(';
                     expr(x.value);
                     if (brackets) out += ')';
                   },
               },
               s.node);
  }
  void mesh(const MeshStmt& x) {
    out += "mesh " + x.name.text + " = (";
    list(x.axes, [&](const MeshAxis& a) {
      out += '@' + a.name.text + ": ";
      expr(a.size);
      if (a.kind == AxisKind::Explicit) out += " explicit";
    });
    out += ')';
    if (x.devices) { out += " on "; operand(x.devices); }
  }
  void doc(const std::string& text) {
    for (std::size_t at = 0; !text.empty() && at <= text.size();) {
      const std::size_t end = std::min(text.find('\n', at), text.size());
      out += end > at ? "## " + text.substr(at, end - at) : "##";
      line();
      at = end + 1;
    }
  }

  template <class Items, class F> void list(const Items& items, F&& each) {
    bool first = true;
    for (const auto& i : items) {
      if (!first) out += ", ";
      first = false;
      each(i);
    }
  }
  void line() {
    if (inline_) { out += ' '; return; }
    if (!out.empty()) out += '\n';
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
  p.whole(expr);
  return std::move(p.out);
}

}  // namespace shard::grammar
