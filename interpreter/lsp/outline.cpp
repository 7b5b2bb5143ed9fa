// The text as a table of contents, and the parts that can be folded.
#include <algorithm>

#include "grammar/scan.h"
#include "grammar/walk.h"
#include "interpreter/lang/values/value_text.h"
#include "interpreter/lsp/features.h"

namespace shard::lsp {
namespace {

using grammar::Span;

struct Symbol {
  enum Kind { Module = 2, Function = 12, Variable = 13, Object = 19, Event = 24 };
};

class Outline {
 public:
  Outline(Session& s, const Document& d) : s_(s), d_(d), shift_(d.tree->text, d.text.str()) {}

  std::string all(const std::vector<grammar::StmtPtr>& body) {
    std::vector<std::string> out;
    for (const grammar::StmtPtr& s : body) statement(*s, out);
    return list(out);
  }

 private:
  void statement(const grammar::Stmt& s, std::vector<std::string>& out) {
    if (auto* l = std::get_if<grammar::LetStmt>(&s.node)) pattern(*l->pattern, s.span, out);
    if (auto* f = std::get_if<grammar::FnStmt>(&s.node)) {
      const auto* block = std::get_if<grammar::Block>(&f->function->body->node);
      add(out, f->function->name, Symbol::Function, s.span, f->function->name_span, lang::header(*f->function),
          block ? functions_in(block->body) : "");
    }
    if (auto* m = std::get_if<grammar::MeshStmt>(&s.node))
      add(out, m->name.text, Symbol::Object, s.span, m->name.span, "mesh");
    if (auto* i = std::get_if<grammar::ImportStmt>(&s.node))
      add(out, i->name.text, Symbol::Module, s.span, i->name.span, i->module);
    if (auto* t = std::get_if<grammar::TestStmt>(&s.node)) {
      const auto* block = std::get_if<grammar::Block>(&t->body->node);
      add(out, t->name.empty() ? "test" : t->name, Symbol::Event, s.span, s.span, "test",
          block ? functions_in(block->body) : "");
    }
  }

  std::string functions_in(const std::vector<grammar::StmtPtr>& body) {  // within a function: its functions alone
    std::vector<std::string> out;
    for (const grammar::StmtPtr& s : body)
      if (std::holds_alternative<grammar::FnStmt>(s->node)) statement(*s, out);
    return list(out);
  }

  void pattern(const grammar::Pattern& all, Span whole, std::vector<std::string>& out) {
    grammar::each_name(all, [&](const grammar::Pattern& p, const grammar::NamePattern& n) {
      add(out, n.name, Symbol::Variable, whole, p.span, types_of(d_, p.span));
    });
  }

  void add(std::vector<std::string>& out, const std::string& name, int kind, Span whole, Span word,
           const std::string& detail, const std::string& children = "") {
    const auto range = carried(shift_, whole), at = carried(shift_, word);
    if (!range || !at) return;
    out.push_back(object({{"name", json_string(name)},
                          {"detail", detail.empty() ? "" : json_string(detail)},
                          {"kind", number(kind)},
                          {"range", s_.range(d_.text, range->first, std::max(range->second, at->second))},
                          {"selectionRange", s_.range(d_.text, at->first, at->second)},
                          {"children", children}}));
  }

  Session& s_;
  const Document& d_;
  Shift shift_;
};

}  // namespace

std::string document_symbols(Session& s, const Params& p) {
  const Document& d = s.document(p);
  return d.tree ? Outline(s, d).all(d.tree->module->body) : list({});
}

// Brackets over several lines, and comments of several lines: also of a text that does not parse.
std::string folding_ranges(Session& s, const Params& p) {
  const Document& d = s.document(p);
  std::vector<std::string> out;
  const auto add = [&](std::size_t first, std::size_t last, std::string_view kind) {
    if (last > first)
      out.push_back(object({{"startLine", number(static_cast<std::int64_t>(first))},
                            {"endLine", number(static_cast<std::int64_t>(last))},
                            {"kind", kind.empty() ? "" : json_string(kind)}}));
  };
  using grammar::TokenKind;
  std::vector<std::size_t> comments;  // lines that hold nothing else
  grammar::Scanner scan(d.text.str(), grammar::Strings::Whole);
  TokenKind before = TokenKind::Newline;
  for (grammar::Token t = scan.next(); t; t = scan.next()) {
    const std::size_t line = d.text.line_of(t.begin);
    if (t.kind == TokenKind::Comment && before == TokenKind::Newline) comments.push_back(line);
    if (t.kind == TokenKind::Close && t.opened != grammar::npos && line > 0)
      add(d.text.line_of(t.opened), line - 1, "");
    before = t.kind;
  }
  for (std::size_t first = 0, end = 0; first < comments.size(); first = end) {
    while (end < comments.size() && comments[end] == comments[first] + end - first) ++end;
    add(comments[first], comments[end - 1], "comment");
  }
  return list(out);
}

}  // namespace shard::lsp
