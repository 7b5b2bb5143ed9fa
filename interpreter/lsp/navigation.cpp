// Where a name is declared, where it is written, and another name for it.
#include <algorithm>
#include <map>

#include "grammar/characters.h"
#include "grammar/parse.h"
#include "interpreter/lang/eval/builtins.h"
#include "interpreter/lsp/features.h"
#include "runtime/array/dtype.h"

namespace shard::lsp {
namespace {

using lang::NameUse;

// The declaration of the variable at the place that is asked about. The tree is of the last text that parses.
struct Asked {
  const NameUse* use = nullptr;
  std::optional<Location> declared;
};

Asked asked(Session& s, const Document& d, const Params& p) {
  if (!d.tree) return {};
  const auto at = Shift(d.text.str(), d.tree->text)(s.offset(d, p));
  Asked out;
  out.use = at ? use_at(*d.tree, *at) : nullptr;
  if (out.use) out.declared = declaration(s, d.path, *d.tree, *out.use);
  return out;
}

// A place of a tree in the text as it is now.
std::optional<Location> as_now(const Session& s, const Location& l) {
  const Document* d = s.open_at(l.path);
  if (!d || !d->tree) return l;
  const Shift shift(d->tree->text, d->text.str());
  const auto begin = shift(l.begin, true), end = shift(l.end, l.begin == l.end);
  return begin && end ? std::optional(Location{l.path, *begin, *end}) : std::nullopt;
}

std::string locations(Session& s, const std::vector<Location>& all) {
  std::vector<std::string> out;
  for (const Location& l : all)
    if (const auto now = as_now(s, l)) out.push_back(s.location(*now));
  return list(out);
}

// The axis `@name` at the place that is asked about: where the text's meshes have it.
std::vector<Location> axes(Session& s, const Document& d, const Params& p) {
  const Dotted word = word_at(d.text.str(), s.offset(d, p));
  std::vector<Location> out;
  if (!d.tree || word.begin == 0 || d.text.str()[word.begin - 1] != '@') return out;
  for (const grammar::StmtPtr& x : d.tree->module->body)
    if (const auto* m = std::get_if<grammar::MeshStmt>(&x->node))
      for (const grammar::MeshAxis& a : m->axes)
        if (a.name.text == word.text) out.push_back({d.path, a.name.span.begin, a.name.span.end});
  return out;
}

// A name to be written anew. `{w}` in a pattern takes the field w: there it becomes `{w: name}`.
struct Change {
  std::size_t begin, end;
  std::string text;
  std::size_t name_at;  // where the name begins in it
};

// Whether the name at `begin` stands for a field and its variable: behind a brace of a pattern, alone.
bool is_field_too(const Tree& tree, std::size_t begin, std::size_t end) {
  const auto declares = [&](const NameUse& u) {
    return u.span.begin == begin && (u.kind == NameUse::Declared || u.kind == NameUse::Parameter);
  };
  if (std::none_of(tree.uses.begin(), tree.uses.end(), declares)) return false;
  const std::size_t behind = tree.text.find_first_not_of(" \t\r\n", end);
  if (behind == std::string::npos || (tree.text[behind] != ',' && tree.text[behind] != '}')) return false;
  const std::size_t before = tree.text.find_last_not_of(" \t\r\n", begin - 1);
  if (begin == 0 || before == std::string::npos || (tree.text[before] != '{' && tree.text[before] != ',')) return false;
  int depth = 0;
  for (std::size_t i = begin; i-- > 0;) {
    const char c = tree.text[i];
    if (c == ')' || c == ']' || c == '}') ++depth;
    if ((c == '(' || c == '[' || c == '{') && depth-- == 0) return c == '{';
  }
  return false;
}

std::vector<Change> changes_for(const Tree& tree, const std::vector<Location>& places, const std::string& name) {
  std::vector<Change> out;
  for (const Location& l : places) {
    const std::string field =
        is_field_too(tree, l.begin, l.end) ? tree.text.substr(l.begin, l.end - l.begin) + ": " : "";
    out.push_back({l.begin, l.end, field + name, field.size()});
  }
  return out;
}

// Whether every name of the text still means what it meant: no other variable has the new name there.
bool same_meaning(Session& s, const std::string& path, const Tree& before, const std::vector<Change>& changes) {
  std::string text;
  std::size_t done = 0;
  for (const Change& c : changes) {
    text += before.text.substr(done, c.begin - done) + c.text;
    done = c.end;
  }
  text += before.text.substr(done);
  const auto after = s.tree_of(path, text);
  if (!after || after->uses.size() != before.uses.size()) return false;
  const auto moved = [&](std::size_t at) {
    std::size_t out = at;
    for (const Change& c : changes) {
      if (c.begin < at) out += c.text.size() - (c.end - c.begin);
      if (c.begin == at) out += c.name_at;
    }
    return out;
  };
  for (std::size_t i = 0; i < before.uses.size(); ++i) {
    const NameUse &a = before.uses[i], &b = after->uses[i];
    if (a.kind != b.kind || moved(a.span.begin) != b.span.begin || a.declared.known() != b.declared.known())
      return false;
    if (a.declared.known() && moved(a.declared.begin) != b.declared.begin) return false;
  }
  return true;
}

}  // namespace

std::string definition(Session& s, const Params& p) {
  const Document& d = s.document(p);
  if (const std::vector<Location> all = axes(s, d, p); !all.empty()) return locations(s, all);
  const Asked a = asked(s, d, p);
  if (!a.declared) return null();
  if (const auto* import = import_at(*d.tree, a.use->declared);
      import && import->file && a.use->kind != NameUse::Member)
    return locations(s, {{imported_path(*import, d.path), 0, 0}});
  return locations(s, {*a.declared});
}

std::string references(Session& s, const Params& p) {
  const Document& d = s.document(p);
  const Asked a = asked(s, d, p);
  if (!a.declared) return list({});
  std::vector<Location> all = places_of(s, *a.declared);
  const auto itself = [&](const Location& l) { return l.path == a.declared->path && l.begin == a.declared->begin; };
  if (!truth(p, {"context", "includeDeclaration"})) std::erase_if(all, itself);
  return locations(s, all);
}

std::string highlights(Session& s, const Params& p) {
  const Document& d = s.document(p);
  const Asked a = asked(s, d, p);
  std::vector<std::string> out;
  if (!a.declared) return list(out);
  const Shift shift(d.tree->text, d.text.str());
  const std::string name = d.tree->word(a.use->span);
  for (const NameUse& u : d.tree->uses) {
    if (d.tree->text.compare(u.span.begin, u.span.end - u.span.begin, name) != 0) continue;
    const auto declared = declaration(s, d.path, *d.tree, u);
    const auto at = carried(shift, u.span);
    if (!at || !declared || declared->path != a.declared->path || declared->begin != a.declared->begin) continue;
    constexpr int kText = 1, kRead = 2, kWrite = 3;
    const int kind = u.kind == NameUse::Read                                    ? kRead
                     : u.kind == NameUse::Argument || u.kind == NameUse::Member ? kText
                                                                                : kWrite;
    out.push_back(object({{"range", s.range(d.text, at->first, at->second)}, {"kind", number(kind)}}));
  }
  return list(out);
}

std::string prepare_rename(Session& s, const Params& p) {
  const Document& d = s.document(p);
  const Asked a = asked(s, d, p);
  if (!a.declared || import_at(*d.tree, a.use->declared)) {
    if (!a.declared || a.use->kind != NameUse::Member) return null();
  }
  const auto at = carried(Shift(d.tree->text, d.text.str()), a.use->span);
  return at ? s.range(d.text, at->first, at->second) : null();
}

std::string rename(Session& s, const Params& p) {
  const Document& d = s.document(p);
  const std::string name = need_text(p, {"newName"});
  if (grammar::is_keyword(name) || s.interpreter().builtins().reserved().contains(name))
    throw Refused{kInvalidParams, "`" + name + "` is a keyword and cannot be redefined"};
  if (!grammar::is_word(name) || runtime::dtype_named(name))
    throw Refused{kInvalidParams, "`" + name + "` is no name for a variable"};
  const Asked a = asked(s, d, p);
  if (!a.declared) throw Refused{kRequestFailed, "no variable of a script stands here"};
  if (import_at(*d.tree, a.use->declared) && a.use->kind != NameUse::Member)
    throw Refused{kRequestFailed, "what an import is called is written in it: `import ... as name`"};
  std::map<std::string, std::vector<Location>> files;
  for (const Location& l : places_of(s, *a.declared)) files[l.path].push_back(l);
  std::string changes;
  for (const auto& [path, places] : files) {
    const auto tree = s.tree_at(path);
    const std::vector<Change> wanted = tree ? changes_for(*tree, places, name) : std::vector<Change>();
    if (!tree || !same_meaning(s, path, *tree, wanted))
      throw Refused{kRequestFailed, "`" + name + "` has another meaning somewhere in " + path};
    const Document* const open = s.open_at(path);
    const std::string uri = open ? open->uri : uri_of(path);
    const Text text = open ? open->text : Text(tree->text);
    std::vector<std::string> edits;
    for (const Change& c : wanted) {
      const auto now = as_now(s, {path, c.begin, c.end});
      if (!now) throw Refused{kRequestFailed, "the text does not parse where the name stands"};
      edits.push_back(object({{"range", s.range(text, now->begin, now->end)}, {"newText", json_string(c.text)}}));
    }
    changes += (changes.empty() ? "" : ",") + json_string(uri) + ":" + list(edits);
  }
  return "{\"changes\":{" + changes + "}}";
}

}  // namespace shard::lsp
