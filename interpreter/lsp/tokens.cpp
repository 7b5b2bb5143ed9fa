// Words and signs with what they are: the colours of the REPL (cli/repl/colours.h), and of names what the resolver
// found out.
#include <algorithm>
#include <array>
#include <set>

#include "interpreter/cli/repl/colours.h"
#include "interpreter/lsp/features.h"

namespace shard::lsp {
namespace {

using cli::Ink;
using lang::NameUse;

// The inks, then what names are.
enum class Colour : std::uint8_t { None, Axis = std::uint8_t(Ink::Axis), Function, Variable, Parameter, Module };
constexpr std::array<std::string_view, 10> kKinds = {"keyword",    "type",     "number",   "string",    "comment",
                                                     "enumMember", "function", "variable", "parameter", "namespace"};
constexpr int kDeclaration = 1, kLibrary = 2;  // bits of modifiers

struct Token {
  std::size_t begin, end;
  Colour kind;
  int modifiers = 0;
};

class Names {
 public:
  explicit Names(const Tree& tree) {
    for (const NameUse& u : tree.uses)
      if (u.kind == NameUse::Parameter) parameters_.insert(u.span.begin);
    for (const grammar::StmtPtr& x : tree.module->body)
      if (const auto* i = std::get_if<grammar::ImportStmt>(&x->node)) imports_.insert(i->name.span.begin);
  }
  bool imports(grammar::Span declared) const { return declared.known() && imports_.contains(declared.begin); }

  Token token(const NameUse& u, std::size_t begin, std::size_t end) const {
    Token t{begin, end, u.function ? Colour::Function : Colour::Variable};
    if (u.kind == NameUse::Declared || u.kind == NameUse::Parameter) t.modifiers = kDeclaration;
    if (u.kind == NameUse::Argument || parameters_.contains(u.declared.begin)) t.kind = Colour::Parameter;
    if (!u.declared.known()) t.kind = Colour::Function, t.modifiers = kLibrary;
    if (imports(u.declared)) t.kind = u.kind == NameUse::Member ? Colour::Function : Colour::Module;
    return t;
  }

 private:
  std::set<std::uint32_t> parameters_, imports_;  // where their names begin
};

}  // namespace

std::string token_legend() {
  std::vector<std::string> kinds(kKinds.begin(), kKinds.end());
  return object({{"tokenTypes", strings(kinds)}, {"tokenModifiers", strings({"declaration", "defaultLibrary"})}});
}

std::string semantic_tokens(Session& s, const Params& p) {
  const Document& d = s.document(p);
  const std::string& text = d.text.str();
  std::vector<Colour> kinds(text.size());
  std::vector<std::uint8_t> modifiers(text.size(), 0);
  const std::vector<Ink> inks = cli::inks_of(text);
  std::transform(inks.begin(), inks.end(), kinds.begin(), [](Ink ink) { return static_cast<Colour>(ink); });
  if (d.tree) {
    const Shift shift(d.tree->text, text);
    const Names names(*d.tree);
    for (const NameUse& u : d.tree->uses) {
      const auto at = carried(shift, u.span);
      if (!at || at->first == at->second || at->second > text.size()) continue;
      if (inks[at->first] != Ink::Plain) continue;  // an import's file is a string
      const Token t = names.token(u, at->first, at->second);
      for (std::size_t i = t.begin; i < t.end; ++i)
        kinds[i] = t.kind, modifiers[i] = static_cast<std::uint8_t>(t.modifiers);
    }
  }
  std::vector<std::string> data;
  Place last;
  for (std::size_t i = 0; i < text.size();) {
    std::size_t end = i + 1;
    while (end < text.size() && kinds[end] == kinds[i] && modifiers[end] == modifiers[i] && text[end] != '\n') ++end;
    if (kinds[i] != Colour::None && text[i] != '\n') {
      const Place at = d.text.place(i, s.units);
      const std::int64_t length = d.text.place(end, s.units).character - at.character;
      for (const std::int64_t n :
           {at.line - last.line, at.line == last.line ? at.character - last.character : at.character, length,
            std::int64_t(kinds[i]) - 1, std::int64_t(modifiers[i])})
        data.push_back(number(n));
      last = at;
    }
    i = end;
  }
  return object({{"data", list(data)}});
}

}  // namespace shard::lsp
