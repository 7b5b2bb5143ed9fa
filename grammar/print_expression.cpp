// Expressions as canonical text. Parentheses stand where the operator table asks for them and nowhere else.
#include "grammar/printer.h"

#include <charconv>

namespace shard::grammar {

int Printer::level_of(const Expr& e) {
  return std::visit(Overloaded{[](const FunctionLit&) { return loosest; }, [](const Shard&) { return pipe_level; },
                               [](const Pipe&) { return pipe_level; },
                               [](const Unary& x) { return static_cast<int>(row(x.op).level); },
                               [](const Binary& x) { return static_cast<int>(row(x.op).level); },
                               [](const auto&) { return static_cast<int>(Level::Postfix); }},
                    e.node);
}

void Printer::expr(const Expr& e, int at_least) {
  const bool brackets = level_of(e) < at_least;
  if (brackets) out += '(';
  node(e);
  if (brackets) out += ')';
}

void Printer::expr(const ExprPtr& e, int at_least) { expr(*e, at_least); }

void Printer::operand(const ExprPtr& e) { expr(*e, static_cast<int>(Level::Postfix)); }

// A chain of left operands is as high as the tree may be; it is written without recursion.
void Printer::binary(const Binary& top) {
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

void Printer::node(const Expr& e) {
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
                 [&](const SpecLit& x) {
                   out += 'P';
                   args(x.args);
                 },
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
                 [&](const UseExpr& x) {
                   out += "use ";
                   operand(x.mesh);
                   out += ' ';
                   expr(x.body);
                 },
                 [&](const FunctionLit& x) { function(*x.function); },
                 [&](const Unary& x) {
                   const UnaryRow& r = row(x.op);
                   out += r.token;
                   if (r.level == Level::Not)
                     out += ' ';
                   else if (x.op == UnaryOp::BitNot && std::holds_alternative<TypeLit>(x.operand->node)) {
                     out += '(';
                     node(*x.operand);
                     out += ')';
                     return;
                   }
                   expr(x.operand, static_cast<int>(r.level));
                 },
                 [&](const Binary& x) { binary(x); },
                 [&](const Call& x) {
                   operand(x.callee);
                   args(x.args);
                 },
                 [&](const Index& x) {
                   indexed(x.object);
                   out += '[';
                   list(x.items, [&](const Item& i) { item(i); });
                   out += ']';
                 },
                 [&](const Field& x) {
                   operand(x.object);
                   out += '.' + x.name.text;
                 },
                 [&](const Pipe& x) {
                   expr(x.value, pipe_level);
                   out += " |> ";
                   operand(x.target);
                 },
                 [&](const Shard& x) { sharding(x); },
             },
             e.node);
}

void Printer::indexed(const ExprPtr& e) {
  if (!std::holds_alternative<DTypeLit>(e->node)) return operand(e);
  out += '(';  // `f32[8]` would be read as a type
  node(*e);
  out += ')';
}

// The expression that an operand begins with.
const Expr& Printer::leftmost(const Expr& e) {
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

void Printer::sharding(const Shard& x) {
  out += "shard ";
  expr(x.value);
  out += " as ";
  const bool brackets =
      !std::holds_alternative<SpecLit>(x.spec->node) && std::holds_alternative<SpecLit>(leftmost(*x.spec).node);
  if (brackets) out += '(';  // after `P(...)` only `on` and `|>` may follow
  operand(x.spec);
  if (brackets) out += ')';
  if (x.mesh) {
    out += " on ";
    operand(x.mesh);
  }
}

void Printer::number(double v) {
  char buffer[32];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, v).ptr;
  const std::string text(buffer, end);
  out += text;
  if (text.find_first_of(".e") == std::string::npos) out += ".0";
}

void Printer::string(const StringLit& x) {
  out += '"';
  for (const StringPiece& p : x.pieces) {
    if (!p.value) {
      literal(p.text);
      continue;
    }
    out += '{';
    const std::size_t at = out.size();
    ++inline_;
    expr(p.value);
    --inline_;
    if (out[at] == '{') out.insert(at, " ");  // `{{` would be a brace
    if (!p.format.empty()) out += ':' + p.format;
    out += '}';
  }
  out += '"';
}

void Printer::literal(const std::string& text) {
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

void Printer::axes(const std::vector<Word>& names, bool grouped) {
  out += '@';
  if (grouped) out += '(';
  list(names, [&](const Word& w) { out += w.text; });
  if (grouped) out += ')';
}

void Printer::args(const std::vector<Arg>& all) {
  out += '(';
  list(all, [&](const Arg& a) {
    if (a.name) out += a.name->text + ": ";
    if (a.spread) out += "...";
    expr(a.value);
  });
  out += ')';
}

// Without blanks, as typeof prints.
void Printer::type(const TypeLit& t) {
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

void Printer::size(const Expr& e) {  // only what may stand before the `@` of a type stands bare
  const auto* b = std::get_if<Binary>(&e.node);
  const bool bare =
      level_of(e) >= static_cast<int>(Level::Sum) && !(b && row(b->op).level <= Level::Product && has_matmul(e));
  expr(e, bare ? static_cast<int>(Level::Sum) : static_cast<int>(Level::Postfix));
}

bool Printer::has_matmul(const Expr& e) {
  for (const auto* b = std::get_if<Binary>(&e.node); b; b = std::get_if<Binary>(&b->left->node)) {
    if (b->op == BinaryOp::MatMul || has_matmul(*b->right)) return true;
  }
  return false;
}

void Printer::element(const Element& x) {
  if (x.spread) out += "...";
  expr(x.value);
}

void Printer::entry(const Entry& x) {
  if (x.key) {
    out += '[';
    expr(x.key);
    out += "]: ";
  } else if (!x.name) {
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

bool Printer::is_word(const std::string& s) {
  if (s.empty() || !is_word_start(s[0])) return false;
  for (const char c : s)
    if (!is_word_part(c)) return false;
  return true;
}

void Printer::item(const Item& x) {
  if (x.ellipsis) {
    out += "...";
    return;
  }
  if (x.value) expr(x.value);
  if (!x.slice) return;
  if (x.start) expr(x.start);
  out += ':';
  if (x.stop) expr(x.stop);
  if (x.step) {
    out += ':';
    expr(x.step);
  }
}

void Printer::branches(const IfExpr& top) {
  for (const IfExpr* x = &top;;) {
    out += "if ";
    expr(x->condition);
    out += ' ';
    expr(x->then);
    if (!x->otherwise) return;
    out += " else ";
    const auto* next = std::get_if<IfExpr>(&x->otherwise->node);
    if (!next) {
      expr(x->otherwise);
      return;
    }
    x = next;
  }
}

}  // namespace shard::grammar
