// What a word is: a variable with its type and layout, a function with its comment and what its compiled calls send, a
// builtin, a word of the language, an axis.
#include "interpreter/lang/values/value_text.h"
#include "interpreter/lsp/features.h"
#include "stdlib/stdlib.h"

namespace shard::lsp {
namespace {

using grammar::Span;
using lang::NameUse;

std::string fenced(const std::string& code) {
  return "```shard\n" + code + (code.ends_with('\n') ? "" : "\n") + "```\n";
}

// The first lines of a long help.
std::string lines_of(const std::string& help) {
  constexpr int kMost = 40;
  std::size_t end = 0;
  for (int i = 0; i < kMost && end < help.size(); ++i) end = std::min(help.find('\n', end), help.size() - 1) + 1;
  return "```\n" + help.substr(0, end) + (end < help.size() ? "...\n" : "") + "```\n";
}

std::string of_function(const grammar::Function& f) {
  return fenced(lang::header(f)) + (f.doc.empty() ? "" : "\n" + f.doc + "\n");
}

// What the compiled calls of the function with this name (of the tree) communicate.
std::string calls_of(const Document& d, Span name) {
  if (!d.types) return "";
  const Shift shift(d.tree->text, d.types->text);
  const auto at = shift(name.begin, true);
  std::string out;
  for (const ExplainedCall& c : d.types->calls)
    if (at && c.function.known() && c.function.begin <= *at && *at < c.function.end) out += c.text;
  return out.empty() ? "" : "\n```\n" + out + "```\n";
}

std::string of_variable(Session& s, const Document& d, const NameUse& use) {
  const Tree& tree = *d.tree;
  const std::string word = tree.word(use.span);
  if (const grammar::Function* f = function_at(tree, use.declared); f && use.kind != NameUse::Argument)
    return of_function(*f) + calls_of(d, use.declared);
  if (const auto* import = import_at(tree, use.declared); import && use.kind != NameUse::Member) {
    if (!import->file)
      return fenced("import " + import->module) + lines_of(stdlib::help_named(s.interpreter(), import->module));
    return fenced("import \"" + import->module + "\" as " + import->name.text);
  }
  const auto at = declaration(s, d.path, tree, use);
  if (at && at->path != d.path) {
    const auto there = s.tree_at(at->path);
    const Span name{tree.module->source, static_cast<std::uint32_t>(at->begin), static_cast<std::uint32_t>(at->end)};
    for (const grammar::Function* f : there->functions)
      if (f->name_span.begin == name.begin) return of_function(*f);
    return fenced(word) + "\nof " + at->path + "\n";
  }
  if (!at) return "";
  const std::string types =
      types_of(d, {use.declared.source, static_cast<std::uint32_t>(at->begin), static_cast<std::uint32_t>(at->end)});
  return fenced(types.empty() ? word : word + ": " + types);
}

// `@data`: the axes of that name that the text's meshes have.
std::string of_axis(const Document& d, const std::string& name) {
  std::string out;
  for (const grammar::StmtPtr& s : d.tree->module->body)
    if (const auto* m = std::get_if<grammar::MeshStmt>(&s->node))
      for (const grammar::MeshAxis& a : m->axes)
        if (a.name.text == name) out += d.tree->word(s->span) + "\n";
  return out.empty() ? "" : fenced(out);
}

}  // namespace

std::string hover(Session& s, const Params& p) {
  const Document& d = s.document(p);
  const std::size_t offset = s.offset(d, p);
  const Dotted word = word_at(d.text.str(), offset);
  if (word.begin == word.end) return null();
  std::string text;
  if (d.tree) {
    const auto at = Shift(d.text.str(), d.tree->text)(offset);
    const NameUse* use = at ? use_at(*d.tree, *at) : nullptr;
    if (word.begin > 0 && d.text.str()[word.begin - 1] == '@')
      text = of_axis(d, word.text);
    else if (use && use->declared.known())
      text = of_variable(s, d, *use);
  }
  if (text.empty()) {
    const std::string help = stdlib::help_named(s.interpreter(), word.text);
    if (help.empty()) return null();
    text = lines_of(help);
  }
  return object({{"contents", object({{"kind", json_string("markdown")}, {"value", json_string(text)}})},
                 {"range", s.range(d.text, word.begin, word.end)}});
}

}  // namespace shard::lsp
