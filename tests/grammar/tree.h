// A tree as one line of text, for expectations and for comparing trees without their spans and ids. Independent of
// printer.cpp: every node is spelt out in parentheses, so that nothing hangs on precedence.
#pragma once
#include <string>

#include "grammar/parse.h"
#include "grammar/style/style.h"

namespace shard::grammar::testing {

struct Dump {
  std::string out;

  template <class... F>
  struct Overloaded : F... {
    using F::operator()...;
  };
  template <class... F>
  static auto overloaded(F... f) {
    return Overloaded<F...>{f...};
  }

  void expr(const ExprPtr& e) {
    if (e)
      expr(*e);
    else
      out += "-";
  }
  void expr(const Expr& e) {
    static const char* binaries[] = {"or", "and", "==", "!=", "<", "<=", ">",  ">=", "..", "|", "&",
                                     "<<", ">>",  "+",  "-",  "*", "/",  "//", "%",  "@",  "**"};
    static const char* unaries[] = {"neg", "pos", "~", "not"};
    std::visit(
        overloaded([&](const IntLit& x) { out += std::to_string(x.value); },
                   [&](const FloatLit& x) {
                     char b[40];
                     std::snprintf(b, sizeof b, "%a", x.value);
                     out += b;
                   },
                   [&](const BoolLit& x) { out += x.value ? "true" : "false"; }, [&](const NoneLit&) { out += "none"; },
                   [&](const StringLit& x) {
                     open("str");
                     for (auto& p : x.pieces) {
                       out += ' ';
                       if (p.value) {
                         expr(p.value);
                         if (!p.format.empty()) out += ":" + p.format;
                       } else
                         out += '"' + p.text + '"';
                     }
                     out += ')';
                   },
                   [&](const NameRef& x) { out += x.name; }, [&](const DTypeLit& x) { out += "dtype:" + x.name; },
                   [&](const AxisLit& x) { axes(x.names, x.grouped); }, [&](const HoleLit&) { out += "_"; },
                   [&](const OpenLit&) { out += "?"; },
                   [&](const SpecLit& x) {
                     open("P");
                     args(x.args);
                   },
                   [&](const TypeLit& x) {
                     open(x.weak ? "weak-type" : "type");
                     out += ' ' + x.dtype;
                     for (auto& d : x.dims) {
                       out += " [";
                       if (d.ellipsis) out += "...";
                       if (d.size) expr(d.size);
                       if (!d.axes.empty() || d.grouped) axes(d.axes, d.grouped);
                       out += ']';
                     }
                     for (auto& g : x.groups) {
                       out += " {" + g.tag;
                       for (auto& w : g.axes) out += ' ' + w.text;
                       out += '}';
                     }
                     out += ')';
                   },
                   [&](const TupleLit& x) {
                     open("tuple");
                     elements(x.elements);
                   },
                   [&](const ListLit& x) {
                     open("list");
                     elements(x.elements);
                   },
                   [&](const RecordLit& x) {
                     open("record");
                     for (auto& f : x.entries) {
                       out += ' ' + (f.name ? f.name->text + ":" : std::string("..."));
                       expr(f.value);
                     }
                     out += ')';
                   },
                   [&](const Block& x) {
                     open("block");
                     for (auto& s : x.body) {
                       out += ' ';
                       stmt(*s);
                     }
                     out += ')';
                   },
                   [&](const IfExpr& x) { node("if", x.condition, x.then, x.otherwise); },
                   [&](const UseExpr& x) { node("use", x.mesh, x.body); },
                   [&](const FunctionLit& x) { function(*x.function); },
                   [&](const Unary& x) { node(unaries[int(x.op)], x.operand); },
                   [&](const Binary& x) { node(binaries[int(x.op)], x.left, x.right); },
                   [&](const Call& x) {
                     open("call ");
                     expr(x.callee);
                     args(x.args);
                   },
                   [&](const Index& x) {
                     open("index ");
                     expr(x.object);
                     for (auto& i : x.items) {
                       out += " [";
                       if (i.ellipsis)
                         out += "...";
                       else if (i.slice) {
                         expr(i.start);
                         out += ':';
                         expr(i.stop);
                         out += ':';
                         expr(i.step);
                       } else
                         expr(i.value);
                       out += ']';
                     }
                     out += ')';
                   },
                   [&](const Field& x) {
                     open("field ");
                     expr(x.object);
                     out += ' ' + x.name.text + ')';
                   },
                   [&](const Pipe& x) { node("pipe", x.value, x.target); },
                   [&](const Shard& x) { node("shard", x.value, x.spec, x.mesh); }),
        e.node);
  }
  void stmt(const Stmt& s) {
    static const char* assigns[] = {"=", "+=", "-=", "*=", "/="};
    std::visit(
        overloaded(
            [&](const LetStmt& x) {
              open("let ");
              pattern(*x.pattern);
              out += ' ';
              expr(x.value);
              out += ')';
            },
            [&](const FnStmt& x) { function(*x.function); },
            [&](const MeshStmt& x) {
              open("mesh " + x.name.text);
              for (auto& a : x.axes) {
                out += " @" + a.name.text + (a.kind == AxisKind::Explicit ? "!:" : ":");
                expr(a.size);
              }
              if (x.devices) {
                out += " on ";
                expr(x.devices);
              }
              out += ')';
            },
            [&](const UseStmt& x) { node("use-rest", x.mesh); }, [&](const RulesStmt& x) { node("rules", x.rules); },
            [&](const TestStmt& x) { node("test \"" + x.name + "\"", x.body); },
            [&](const ImportStmt& x) {
              open("import " + std::string(x.file ? "file " : "") + x.module + " as " + x.name.text);
              out += ')';
            },
            [&](const ForStmt& x) {
              open("for ");
              pattern(*x.pattern);
              out += ' ';
              expr(x.sequence);
              out += ' ';
              expr(x.body);
              out += ')';
            },
            [&](const WhileStmt& x) { node("while", x.condition, x.body); },
            [&](const BreakStmt&) { out += "(break)"; }, [&](const ContinueStmt&) { out += "(continue)"; },
            [&](const ReturnStmt& x) { node("return", x.value); },
            [&](const AssignStmt& x) { node(assigns[int(x.op)], x.target, x.value); },
            [&](const ExprStmt& x) { expr(x.value); }),
        s.node);
  }
  void function(const Function& f) {
    static const char* kinds[] = {"jit", "manual", "auto", "explicit"};
    open("fn");
    for (auto& m : f.modifiers) {
      out += ' ';
      out += kinds[int(m.kind)];
      if (!m.all_axes) {
        out += '(';
        for (auto& a : m.axes) expr(a);
        out += ')';
      }
    }
    if (!f.name.empty()) out += ' ' + f.name;
    if (!f.doc.empty()) out += " doc\"" + f.doc + '"';
    out += " (";
    for (auto& p : f.params) {
      if (&p != &f.params[0]) out += ' ';
      pattern(*p.pattern);
      if (p.annot) {
        out += ':';
        annot(*p.annot);
      }
      if (p.default_value) {
        out += '=';
        expr(p.default_value);
      }
    }
    out += ')';
    if (f.result) {
      out += " -> ";
      annot(*f.result);
    }
    out += ' ';
    expr(f.body);
    out += ')';
  }
  void annot(const Annot& a) {
    std::visit(overloaded([&](const TypeAnnot& x) { expr(x.type); },
                          [&](const SpecAnnot& x) {
                            out += "spec ";
                            expr(x.spec);
                          },
                          [&](const TupleAnnot& x) {
                            open("tuple");
                            for (auto& e : x.elements) {
                              out += ' ';
                              annot(*e);
                            }
                            out += ')';
                          },
                          [&](const ListAnnot& x) {
                            open("list");
                            for (auto& e : x.elements) {
                              out += ' ';
                              annot(*e);
                            }
                            out += ')';
                          },
                          [&](const RecordAnnot& x) {
                            open("record");
                            for (auto& f : x.fields) {
                              out += ' ' + f.name.text + ':';
                              annot(*f.annot);
                            }
                            out += ')';
                          }),
               a.node);
  }
  void pattern(const Pattern& p) {
    std::visit(overloaded([&](const NamePattern& x) { out += x.name; },
                          [&](const TuplePattern& x) {
                            open("tuple");
                            for (auto& e : x.elements) {
                              out += ' ';
                              pattern(*e);
                            }
                            out += ')';
                          },
                          [&](const ListPattern& x) {
                            open("list");
                            for (auto& e : x.elements) {
                              out += ' ';
                              pattern(*e);
                            }
                            out += ')';
                          },
                          [&](const RecordPattern& x) {
                            open("record");
                            for (auto& f : x.fields) {
                              out += ' ' + f.name.text + ':';
                              pattern(*f.target);
                            }
                            out += ')';
                          }),
               p.node);
  }

 private:
  void open(const std::string& name) { out += '(' + name; }
  template <class... E>
  void node(const std::string& name, const E&... parts) {
    open(name);
    ((out += ' ', expr(parts)), ...);
    out += ')';
  }
  void axes(const std::vector<Word>& names, bool grouped) {
    out += grouped ? "@(" : "@";
    for (auto& w : names) {
      if (&w != &names[0]) out += ' ';
      out += w.text;
    }
    if (grouped) out += ')';
  }
  void elements(const std::vector<Element>& all) {
    for (auto& e : all) {
      out += e.spread ? " ..." : " ";
      expr(e.value);
    }
    out += ')';
  }
  void args(const std::vector<Arg>& all) {
    for (auto& a : all) {
      out += ' ';
      if (a.name) out += a.name->text + ':';
      if (a.spread) out += "...";
      expr(a.value);
    }
    out += ')';
  }
};

inline std::string dump(const Module& m) {
  Dump d;
  for (auto& s : m.body) {
    if (!d.out.empty()) d.out += '\n';
    d.stmt(*s);
  }
  return d.out;
}

// The tree of a text, or "error: MESSAGE" for one that has none.
struct Parsed {
  explicit Parsed(std::string text) {
    id = sources.add("test.shard", std::move(text));
    result = parse(sources, id);
  }
  std::string tree() const { return result.module ? dump(*result.module) : "error: " + message(); }
  std::string message() const { return result.diagnostics.empty() ? "" : result.diagnostics[0].message; }
  std::string_view marked() const { return result.diagnostics.empty() ? "" : sources.text(result.diagnostics[0].span); }
  std::string fixed() const {  // the text with the first fix applied
    std::string text = sources.at(id).text();
    const Fix& f = result.diagnostics.at(0).fixes.at(0);
    return text.replace(f.span.begin, f.span.end - f.span.begin, f.replacement);
  }
  SourceMap sources;
  std::uint32_t id = 0;
  ParseResult result;
};

// The tree of a text. Every text that a test parses goes round the printer too: parse(print(t)) is t but for spans and
// ids, and canonical text is printed as itself. It goes through the style as well: the same tree, and stable.
inline std::string tree(const std::string& text) {
  const Parsed first(text);
  const std::string out = first.tree();
  if (!first.result.module) return out;
  const std::string printed = print(*first.result.module);
  const Parsed second(printed);
  if (second.tree() != out) return "printed as\n" + printed + "which is\n" + second.tree() + "\nand not\n" + out;
  if (print(*second.result.module) != printed)
    return "printed as\n" + printed + "and then as\n" + print(*second.result.module);
  const std::string styled = style::formatted(text);
  if (Parsed(styled).tree() != out) return "formatted as\n" + styled + "which is\n" + Parsed(styled).tree();
  if (style::formatted(styled) != styled) return "formatted as\n" + styled + "and then as\n" + style::formatted(styled);
  return out;
}
inline std::string message(const std::string& text) { return Parsed(text).message(); }

}  // namespace shard::grammar::testing
