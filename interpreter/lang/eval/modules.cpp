// Files as modules: parsed, resolved, run once. `import nn` is a module of the stdlib, `import "file.shard"` one beside
// the file.
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <mutex>
#include <set>

#include "grammar/advice/advice.h"
#include "grammar/kept.h"
#include "grammar/parse.h"
#include "interpreter/lang/eval/impl.h"
#include "interpreter/lang/report/report.h"

namespace shard::lang {

using namespace grammar;
using Impl = Interpreter::Impl;

namespace {

constexpr std::uintmax_t kLargestFile = 64u << 20;

[[noreturn]] void raise(std::vector<Diagnostic> all) { throw Errors(std::move(all)); }

// The tree of a text of the library, which never changes: read once for all engines that have it at the same place. A
// search that runs a script a thousand times would else read them a thousand times.
ParseResult library_tree(const SourceMap& sources, std::uint32_t source) {
  static std::mutex mutex;
  static std::map<std::pair<std::uint32_t, std::string>, std::shared_ptr<const Module>> trees;
  const std::scoped_lock lock(mutex);
  std::shared_ptr<const Module>& tree = trees[{source, std::string(sources.at(source).name())}];
  if (tree) return {tree, {}};
  ParseResult parsed = parse(sources, source);
  if (parsed.diagnostics.empty()) tree = parsed.module;
  return parsed;
}

Value module_value(const ModuleEnv& env) {
  std::vector<std::pair<std::string, Value>> fields;
  for (std::size_t i = 0; i < env.variables.size(); ++i) {
    const std::string& name = env.variables[i].name;
    const CellRef& cell = env.cells[i];
    if (env.find(name) == static_cast<int>(i) && cell && cell->set) fields.emplace_back(name, cell->value);
  }
  return Value::record(std::move(fields));
}

// What may be meant where there is no file `path`, written `module` in the script.
std::vector<std::string> near_scripts(const std::filesystem::path& path, const std::string& module) {
  std::vector<std::string> names;
  std::error_code closed;
  const auto folder = path.parent_path();
  std::filesystem::directory_iterator files(folder.empty() ? std::filesystem::path(".") : folder, closed);
  for (; !closed && files != std::filesystem::directory_iterator(); files.increment(closed))
    if (files->path().extension() == ".shard") names.push_back(files->path().filename().string());
  std::sort(names.begin(), names.end());
  const std::string wanted = path.filename().string() + (path.extension().empty() ? ".shard" : "");
  std::optional<std::string> near = near_miss(wanted, names);
  if (std::binary_search(names.begin(), names.end(), wanted)) near = wanted;
  if (!near) return {"the path is taken from the folder of the file that imports it"};
  return {"did you mean \"" + (std::filesystem::path(module).parent_path() / *near).string() + "\"?"};
}

// The variable of a top-level `let` that --set may replace.
const NamePattern* settable(const Stmt& s) {
  auto* l = std::get_if<LetStmt>(&s.node);
  return l ? std::get_if<NamePattern>(&l->pattern->node) : nullptr;
}

// Which top-level variable of a module --set gives which text.
const std::string* setting_of(Impl& m, const Stmt& s) {
  auto* n = settable(s);
  const std::string* text = nullptr;
  if (n)
    for (const auto& [name, given] : m.in.options().set)
      if (name == n->name) text = &given;
  return text;
}

void refuse_unknown_settings(Impl& m, const Module& tree) {
  std::vector<std::string> names;
  for (const StmtPtr& s : tree.body)
    if (auto* n = settable(*s)) names.push_back(n->name);
  for (const auto& [name, text] : m.in.options().set) {
    if (name.starts_with("@") || std::find(names.begin(), names.end(), name) != names.end()) continue;
    std::vector<std::string> notes{"its top-level variables: " + joined(names)};
    if (auto near = near_miss(name, names)) notes.push_back("did you mean `" + *near + "`?");
    m.fail("name", {}, "--set " + name + "=" + text + ": the file has no top-level `let " + name + "`",
           std::move(notes));
  }
}

// Of `--set @name=...`, when the script has come to its end.
void refuse_unknown_layouts(Impl& m) {
  const std::set<std::string>& declared = m.surroundings.declared;
  for (const auto& [name, text] : m.in.options().set) {
    if (!name.starts_with("@") || declared.contains(name.substr(1))) continue;
    const std::vector<std::string> names(declared.begin(), declared.end());
    std::vector<std::string> notes;
    if (auto near = near_miss(name.substr(1), names)) notes.push_back("did you mean `@" + *near + "`?");
    m.fail(
        "mesh", {},
        "--set " + name + "=" + text + ": the script has no mesh with an axis " + name + " and no rules with this name",
        std::move(notes));
  }
}

// Unknown names that a module of the library has, by this name or by one of another library: LayerNorm.
void look_in_library(Impl& m, std::vector<Diagnostic>& errors) {
  const std::vector<std::string> modules{"nn", "optim", "train"};
  for (Diagnostic& d : errors) {
    if (d.code != "name" || !d.notes.empty() || !d.message.starts_with("unknown name") || m.ctx.tracing()) continue;
    const std::string name(m.in.sources().text(d.span));
    for (const std::string& module : modules) {
      ImportStmt import;
      import.module = module;
      Value all;
      try {
        const Kept as_in_a_run(m.checker, nullptr);
        all = import_module(m, import, {});
      } catch (const Error&) { continue; }  // an engine without the library
      const Record* r = all.fields();
      const std::string_view elsewhere = member_here(r, name);
      if (!r || (elsewhere.empty() && !r->find(name))) continue;
      const std::string here = module + "." + (elsewhere.empty() ? name : std::string(elsewhere));
      d.notes.push_back("it is `" + here + "`, of the module " + module + ": `import " + module + "`");
      d.fixes.push_back({"name the module", d.span, here});
      break;
    }
  }
}

// Where tests are run, a wrong name in one of them fails that one alone.
void leave_to_tests(Impl& m, const Module& tree, std::vector<Diagnostic>& errors) {
  for (const StmtPtr& s : tree.body) {
    const auto* test = std::get_if<TestStmt>(&s->node);
    if (!test) continue;
    const auto here = [&](const Diagnostic& d) { return d.span.begin >= s->span.begin && d.span.end <= s->span.end; };
    for (const Diagnostic& d : errors)
      if (here(d)) m.modules.wrong_tests[test].push_back(d);
    std::erase_if(errors, here);
  }
}

// The tables of a text of the library are the same in each engine in which what it asks for lies at the same place.
// They are kept as they were found, before anything ran: code is added to a copy.
struct LibraryNames {
  std::shared_ptr<const Unit> unit;
  std::vector<ModuleNames::Variable> variables;
  struct Asked {  // a builtin
    std::string name;
    int index;
    bool is_function;
    bool operator==(const Asked&) const = default;
  };
  std::vector<Asked> asked;
};
std::shared_ptr<const Unit> library_names(const std::shared_ptr<const Module>& tree, ModuleEnv& env,
                                          const ResolveHost& host, NamesFound& found) {
  const auto ask = [&](const std::string& name) {
    const int index = host.builtin(name);
    return LibraryNames::Asked{name, index, index >= 0 && host.is_function(index)};
  };
  static std::mutex mutex;
  static std::map<const Module*, LibraryNames> known;
  const std::scoped_lock lock(mutex);
  if (const auto at = known.find(tree.get()); at != known.end()) {
    const LibraryNames& names = at->second;
    const auto same = [&](const LibraryNames::Asked& a) { return ask(a.name) == a; };
    if (std::all_of(names.asked.begin(), names.asked.end(), same)) {
      env.variables = names.variables;
      return std::make_shared<Unit>(*names.unit);
    }
  }
  LibraryNames names;
  ResolveHost heard = host;
  heard.builtin = [&](const std::string& name) { return names.asked.emplace_back(ask(name)).index; };
  auto unit = resolve_names(tree, env, heard, found);
  if (!found.errors.empty()) return unit;
  names.unit = std::make_shared<Unit>(*unit);
  names.variables = env.variables;
  known.insert_or_assign(tree.get(), std::move(names));
  return unit;
}

// The tables of a tree that runs in `env`. Errors of names are thrown, and nothing is declared then; a check is told of
// them and goes on.
std::shared_ptr<const Unit> resolved(Impl& m, const std::shared_ptr<const Module>& tree, ModuleEnv& env) {
  const std::size_t before = env.variables.size();
  NamesFound found;
  const SourceMap& sources = m.in.sources();
  const bool library = sources.at(tree->source).name().starts_with(kLibrary);
  auto unit = library && before == 0 ? library_names(tree, env, m.builtins.for_names(), found)
                                     : resolve_names(tree, env, m.builtins.for_names(), found);
  if (library)
    found.warnings.clear();  // nobody but us can mend it
  else
    look_in_library(m, found.errors), m.watch.see(unit->axes);
  std::vector<Diagnostic> denied = m.warnings.add(std::move(found.warnings), sources);
  found.errors.insert(found.errors.end(), denied.begin(), denied.end());
  if (!m.checker && m.in.options().test && m.modules.loading.empty()) leave_to_tests(m, *tree, found.errors);
  if (m.checker) {
    m.checker->found(std::move(found.errors));
  } else if (!found.errors.empty()) {
    env.variables.resize(before);
    raise(std::move(found.errors));
  }
  env.cells.resize(env.variables.size());
  return unit;
}

Value execute(Impl& m, const std::shared_ptr<ModuleEnv>& env, const std::shared_ptr<const Unit>& unit, bool main);

// The value of `--set name=text`, read as an expression of its own.
Value set_value(Impl& m, const std::string& name, const std::string& text) {
  const std::uint32_t source = m.in.sources().add("--set " + name, text);
  ParseResult parsed = parse(m.in.sources(), source);
  if (!parsed.module) raise(std::move(parsed.diagnostics));
  if (parsed.module->body.size() != 1 || !std::holds_alternative<ExprStmt>(parsed.module->body[0]->node))
    m.fail("value", Span{source, 0, static_cast<std::uint32_t>(text.size())}, "--set " + name + " takes one value");
  const auto env = m.modules.add("--set");
  const Kept as_in_a_run(m.checker, nullptr);
  return execute(m, env, resolved(m, parsed.module, *env), false);
}

Value execute(Impl& m, const std::shared_ptr<ModuleEnv>& env, const std::shared_ptr<const Unit>& unit, bool main) {
  FrameMemory memory(m.frames, unit->top);
  memory.frame.unit = unit.get();
  memory.frame.module = env.get();
  const Kept scope(m.frames.active, &memory.frame);
  Value last;
  for (const StmtPtr& statement : unit->tree->body) {
    const Stmt& s = *statement;
    last = Value();
    if (const std::string* text = main ? setting_of(m, s) : nullptr) {
      const LetStmt& l = std::get<LetStmt>(s.node);
      Value v = std::holds_alternative<StringLit>(l.value->node)
                    ? Value::string(*text)
                    : set_value(m, std::get<NamePattern>(l.pattern->node).name, *text);
      m.bind(*l.pattern, std::move(v), false);
      if (m.checker) m.checker->declared(l, s.span);
    } else if (m.checker) {
      m.checker->statement(s, nullptr);
    } else {
      m.exec(s, &last);
    }
  }
  return last;
}

// What an import is known by: the name of a module of the library, or the whole path of a file.
std::string key_of(Impl& m, const ImportStmt& s, Span span) {
  namespace fs = std::filesystem;
  if (!s.file) return s.module;
  fs::path path(s.module);
  if (path.is_relative() && m.in.sources().has(span.source))
    path = fs::path(m.in.sources().at(span.source).name()).parent_path() / path;
  std::error_code ignored;
  const fs::path whole = fs::weakly_canonical(path, ignored);
  return (ignored ? path : whole).string();
}

std::string file_text(Impl& m, const std::string& path, const ImportStmt& s, Span span) {
  if (m.in.options().may_read && !m.in.options().may_read(path))
    m.fail("io", span, "reading " + path + " is not allowed here");
  if (m.in.options().edited)
    if (std::optional<std::string> text = m.in.options().edited(path)) return *text;
  std::error_code error;
  const auto size = std::filesystem::file_size(path, error);
  if (error) m.fail("io", span, "cannot read " + path + ": " + error.message(), near_scripts(path, s.module));
  if (size > kLargestFile) m.fail("io", span, path + " is larger than 64 MiB");
  std::ifstream file(path, std::ios::binary);
  if (!file) m.fail("io", span, "cannot read " + path);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

std::string library_text(Impl& m, const ImportStmt& s, Span span) {
  std::optional<std::string> found;
  if (m.in.options().embedded_module) found = m.in.options().embedded_module(s.module);
  if (found) return std::move(*found);
  std::vector<std::string> notes;
  const std::vector<std::string> known{"nn", "optim", "train", "chips"};
  if (const std::string_view here = module_here(s.module); !here.empty()) {
    notes.emplace_back(here);
  } else {
    notes.push_back("its modules are nn, optim, train and chips; arrays and their functions need no import");
    if (auto near = near_miss(s.module, known)) notes.push_back("did you mean `" + *near + "`?");
    notes.push_back("a file is imported by its name in quotes: import \"" + s.module + ".shard\" as " + s.module);
  }
  m.fail("import", span, "there is no module `" + s.module + "` in the standard library", std::move(notes));
}

}  // namespace

Modules::~Modules() {
  for (auto& m : all)
    for (auto& cell : m->cells)
      if (cell) cell->value = Value();
  for (auto& w : cyclic)
    if (auto c = w.lock()) c->value = Value();
}

std::shared_ptr<ModuleEnv> Modules::add(std::string name) {
  all.push_back(std::make_shared<ModuleEnv>());
  all.back()->name = std::move(name);
  return all.back();
}

Value run_module(Impl& m, const std::shared_ptr<ModuleEnv>& env, std::uint32_t source, bool main) {
  ParseResult parsed = env->of_library ? library_tree(m.in.sources(), source) : parse(m.in.sources(), source);
  if (!parsed.module || !parsed.diagnostics.empty()) {
    if (parsed.diagnostics.empty()) m.fail("syntax", {}, "the text could not be read");
    raise(std::move(parsed.diagnostics));
  }
  if (main) refuse_unknown_settings(m, *parsed.module);
  const auto unit = resolved(m, parsed.module, *env);
  for (CellRef& cell : env->cells)
    if (!cell) cell = m.cells.make();
  Value last = execute(m, env, unit, main);
  if (main) refuse_unknown_layouts(m);
  return last;
}

Value import_module(Impl& m, const ImportStmt& s, Span span) {
  Modules& modules = m.modules;
  const std::string key = key_of(m, s, span);
  if (auto it = modules.loaded.find(key); it != modules.loaded.end()) return it->second;
  if (auto it = std::find(modules.loading.begin(), modules.loading.end(), key); it != modules.loading.end()) {
    std::string chain;
    for (; it != modules.loading.end(); ++it) chain += *it + " imports ";
    m.fail("import", span, "a file imports itself", {chain + key});
  }
  if (m.ctx.tracing())
    m.fail("import", span, "a module cannot be imported while a function is traced",
           {"move the `import` to the top of the file"});
  std::optional<std::string> of_host;
  if (!s.file && m.in.options().host_module) of_host = m.in.options().host_module(s.module);
  std::string text = s.file ? file_text(m, key, s, span) : of_host ? *of_host : library_text(m, s, span);
  const auto env = modules.add(key);
  env->of_library = !s.file && !of_host;
  modules.loading.push_back(key);
  const std::uint32_t source =
      m.in.sources().add(s.file || of_host ? key : std::string(kLibrary) + s.module + ".shard", std::move(text));
  const Surroundings::Restore kept(m.surroundings);
  struct Pop {
    std::vector<std::string>& v;
    ~Pop() { v.pop_back(); }
  } pop{modules.loading};
  run_module(m, env, source, false);
  Value v = module_value(*env);
  modules.loaded.emplace(key, v);
  return v;
}

}  // namespace shard::lang
