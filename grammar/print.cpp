// Canonical text of a tree: statements and functions; blocks stand on lines of their own, indented by two. The height
// of a tree is bounded (state.h), so the walk recurses.
#include "grammar/printer.h"

#include <algorithm>

namespace shard::grammar {

void Printer::statements(const std::vector<StmtPtr>& body) {
  for (std::size_t i = 0; i < body.size(); ++i) {
    if (i && inline_) out += ';';
    line();
    statement(*body[i]);
  }
}

void Printer::block(const Block& b) {
  if (b.body.empty()) {
    out += "{}";
    return;
  }
  out += '{';
  indent_ += 2;
  statements(b.body);
  indent_ -= 2;
  line();
  out += '}';
}

void Printer::function(const Function& f) {
  for (const Modifier& m : f.modifiers) {
    out += m.kind == ModifierKind::Jit      ? "jit"
           : m.kind == ModifierKind::Manual ? "manual"
           : m.kind == ModifierKind::Auto   ? "auto"
                                            : "explicit";
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
    if (p.annot) {
      out += ": ";
      annot(*p.annot);
    }
    if (p.default_value) {
      out += " = ";
      expr(p.default_value);
    }
  });
  out += ')';
  if (f.result) {
    out += " -> ";
    annot(*f.result);
  }
  if (auto* b = std::get_if<Block>(&f.body->node)) {
    out += ' ';
    block(*b);
    return;
  }
  out += " = ";
  expr(f.body);
}

void Printer::annot(const Annot& a) {
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
                          list(x.fields, [&](const FieldAnnot& f) {
                            out += f.name.text + ": ";
                            annot(*f.annot);
                          });
                          out += '}';
                        }},
             a.node);
}

void Printer::pattern(const Pattern& p) {
  const auto parts = [&](const auto& x) {
    std::size_t i = 0;
    list(x.elements, [&](const PatternPtr& e) {
      if (i++ == x.rest) out += "...";
      pattern(*e);
    });
  };
  std::visit(Overloaded{[&](const NamePattern& x) { out += x.name; },
                        [&](const TuplePattern& x) {
                          out += '(';
                          parts(x);
                          out += ')';
                        },
                        [&](const ListPattern& x) {
                          out += '[';
                          parts(x);
                          out += ']';
                        },
                        [&](const RecordPattern& x) {
                          out += '{';
                          list(x.fields, [&](const FieldPattern& f) {
                            if (f.rest) {
                              out += "...";
                              pattern(*f.target);
                              return;
                            }
                            out += f.name.text;
                            const auto* n = std::get_if<NamePattern>(&f.target->node);
                            if (!n || n->name != f.name.text) {
                              out += ": ";
                              pattern(*f.target);
                            }
                          });
                          out += '}';
                        }},
             p.node);
}

void Printer::statement(const Stmt& s) {
  std::visit(Overloaded{
                 [&](const LetStmt& x) {
                   out += "let ";
                   pattern(*x.pattern);
                   out += " = ";
                   expr(x.value);
                 },
                 [&](const FnStmt& x) {
                   doc(x.function->doc);
                   function(*x.function);
                 },
                 [&](const MeshStmt& x) { mesh(x); },
                 [&](const UseStmt& x) {
                   out += "use ";
                   operand(x.mesh);
                 },
                 [&](const RulesStmt& x) {
                   out += "rules ";
                   operand(x.rules);
                 },
                 [&](const TestStmt& x) {
                   out += x.skip ? "test.skip \"" : "test \"";
                   literal(x.name);
                   out += "\" ";
                   expr(x.body);
                 },
                 [&](const ImportStmt& x) {
                   out += "import ";
                   if (x.file) {
                     out += '"';
                     literal(x.module);
                     out += '"';
                   } else
                     out += x.module;
                   if (x.file || x.name.text != x.module) out += " as " + x.name.text;
                 },
                 [&](const ForStmt& x) {
                   out += "for ";
                   pattern(*x.pattern);
                   out += " in ";
                   expr(x.sequence);
                   out += ' ';
                   expr(x.body);
                 },
                 [&](const WhileStmt& x) {
                   out += "while ";
                   expr(x.condition);
                   out += ' ';
                   expr(x.body);
                 },
                 [&](const BreakStmt&) { out += "break"; },
                 [&](const ContinueStmt&) { out += "continue"; },
                 [&](const ReturnStmt& x) {
                   out += "return";
                   if (x.value) {
                     out += ' ';
                     expr(x.value);
                   }
                 },
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

void Printer::mesh(const MeshStmt& x) {
  out += "mesh " + x.name.text + " = (";
  list(x.axes, [&](const MeshAxis& a) {
    out += '@' + a.name.text + ": ";
    expr(a.size);
    if (a.kind == AxisKind::Explicit) out += " explicit";
  });
  out += ')';
  if (x.devices) {
    out += " on ";
    operand(x.devices);
  }
}

void Printer::doc(const std::string& text) {
  for (std::size_t at = 0; !text.empty() && at <= text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    out += end > at ? "## " + text.substr(at, end - at) : "##";
    line();
    at = end + 1;
  }
}

void Printer::line() {
  if (inline_) {
    out += ' ';
    return;
  }
  if (!out.empty()) out += '\n';
  out.append(static_cast<std::size_t>(indent_), ' ');
}

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
