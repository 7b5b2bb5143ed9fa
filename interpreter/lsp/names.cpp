// Variables across files.
#include <algorithm>
#include <filesystem>

#include "grammar/characters.h"
#include "grammar/stable_sort.h"
#include "interpreter/lsp/features.h"

namespace shard::lsp {
namespace {

using grammar::Span;
using lang::NameUse;

// The parameter that is a plain name.
std::optional<Span> parameter(const grammar::Function& f, std::string_view name) {
  for (const grammar::Param& p : f.params)
    if (const auto* n = std::get_if<grammar::NamePattern>(&p.pattern->node); n && n->name == name)
      return p.pattern->span;
  return std::nullopt;
}

// What a file gives to those who import it: the last variable of that name at its top level.
std::optional<Location> exported(const std::string& path, const Tree& tree, const std::string& name) {
  std::optional<Location> out;
  for (const NameUse& u : tree.uses)
    if (u.kind == NameUse::Declared && tree.word(u.span) == name) {
      const bool inner = std::any_of(tree.functions.begin(), tree.functions.end(), [&](const auto* f) {
        return f->span.begin < u.span.begin && u.span.end <= f->span.end && !(f->name_span == u.span);
      });
      if (!inner) out = Location{path, u.span.begin, u.span.end};
    }
  return out;
}

}  // namespace

const NameUse* use_at(const Tree& tree, std::size_t offset) {
  const NameUse* best = nullptr;
  for (const NameUse& u : tree.uses) {
    if (u.span.begin > offset) break;
    if (offset <= u.span.end && (!best || offset < u.span.end)) best = &u;
  }
  return best;
}

const grammar::ImportStmt* import_at(const Tree& tree, Span declared) {
  for (const grammar::StmtPtr& s : tree.module->body)
    if (const auto* i = std::get_if<grammar::ImportStmt>(&s->node); i && i->name.span == declared) return i;
  return nullptr;
}

std::string imported_path(const grammar::ImportStmt& import, const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code failed;
  const fs::path written(import.module),
      joined = written.is_absolute() ? written : fs::path(path).parent_path() / written;
  const fs::path whole = fs::weakly_canonical(joined, failed);
  return (failed ? joined : whole).string();
}

const grammar::Function* function_at(const Tree& tree, Span name) {
  for (const grammar::Function* f : tree.functions)
    if (!f->name.empty() && f->name_span == name) return f;
  return nullptr;
}

std::vector<const grammar::Function*> functions_around(const Tree& tree, std::size_t offset) {
  std::vector<const grammar::Function*> out;
  for (const grammar::Function* f : tree.functions)
    if (f->span.begin <= offset && offset <= f->span.end) out.push_back(f);
  return out;
}

std::optional<Location> declaration(Session& s, const std::string& path, const Tree& tree, const NameUse& use) {
  if (!use.declared.known()) return std::nullopt;
  const grammar::ImportStmt* import = import_at(tree, use.declared);
  if (use.kind == NameUse::Member) {
    if (!import || !import->file) return std::nullopt;
    const std::string other = imported_path(*import, path);
    const auto there = s.tree_at(other);
    return there ? exported(other, *there, tree.word(use.span)) : std::nullopt;
  }
  Span at = use.declared;
  if (use.kind == NameUse::Argument) {
    const grammar::Function* f = function_at(tree, use.declared);
    const auto found = f ? parameter(*f, tree.word(use.span)) : std::nullopt;
    if (!found) return std::nullopt;
    at = *found;
  }
  return Location{path, at.begin, at.end};
}

std::vector<Location> places_of(Session& s, const Location& declared) {
  std::vector<Location> out;
  const auto home = s.tree_at(declared.path);
  if (!home) return out;
  const std::string name = home->text.substr(declared.begin, declared.end - declared.begin);
  const auto at_home = exported(declared.path, *home, name);
  const bool seen_outside = at_home && at_home->begin == declared.begin;
  std::vector<std::string> paths{declared.path};
  if (seen_outside) paths = s.scripts();
  if (std::find(paths.begin(), paths.end(), declared.path) == paths.end()) paths.push_back(declared.path);
  for (const std::string& path : paths) {
    const auto tree = s.tree_at(path);
    if (!tree) continue;
    for (const NameUse& u : tree->uses) {
      if (tree->word(u.span) != name || (path != declared.path && u.kind != NameUse::Member)) continue;
      const auto at = declaration(s, path, *tree, u);
      if (at && at->path == declared.path && at->begin == declared.begin)
        out.push_back({path, u.span.begin, u.span.end});
    }
  }
  const auto before = [](const Location& a, const Location& b) {
    return std::tie(a.path, a.begin) < std::tie(b.path, b.begin);
  };
  const auto same = [](const Location& a, const Location& b) { return a.path == b.path && a.begin == b.begin; };
  stable_sort(out, before);
  out.erase(std::unique(out.begin(), out.end(), same), out.end());
  return out;
}

Dotted word_at(const std::string& text, std::size_t offset) {
  const auto part = [&](std::size_t i) { return i < text.size() && grammar::is_word_part(text[i]); };
  Dotted out;
  out.begin = out.end = std::min(offset + (offset < text.size() && text[offset] == '@' ? 1 : 0), text.size());
  while (out.begin > 0 && part(out.begin - 1)) --out.begin;
  while (part(out.end)) ++out.end;
  std::size_t whole = out.begin;
  while (whole > 1 && text[whole - 1] == '.' && part(whole - 2)) {
    --whole;
    while (whole > 0 && part(whole - 1)) --whole;
  }
  out.text = text.substr(whole, out.end - whole);
  return out;
}

}  // namespace shard::lsp
