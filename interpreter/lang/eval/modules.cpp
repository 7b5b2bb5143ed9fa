// Files as modules: parsed, resolved, run once. `import nn` is a module of the stdlib, `import "file.shard"` one beside
// the file.
#include <filesystem>
#include <fstream>
#include <iterator>

#include "grammar/advice/advice.h"
#include "grammar/parse.h"
#include "interpreter/lang/check/check.h"
#include "interpreter/lang/eval/impl.h"
#include "interpreter/lang/index/items.h"
#include "interpreter/lang/report/report.h"

namespace shard::lang {

using namespace grammar;
using Impl = Interpreter::Impl;

namespace {

constexpr std::uintmax_t kLargestFile = 64u << 20;

[[noreturn]] void raise(std::vector<Diagnostic> all) { throw Errors(std::move(all)); }

Value module_value(const ModuleEnv& env) {
  std::vector<std::pair<std::string, Value>> fields;
  for (std::size_t i = 0; i < env.variables.size(); ++i) {
    const auto& v = env.variables[i];
    if (env.find(v.name) == static_cast<int>(i) && v.cell && v.cell->set) fields.emplace_back(v.name, v.cell->value);
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

}  // namespace

Value Impl::run_module(const std::shared_ptr<ModuleEnv>& env, std::uint32_t source, bool main) {
  ParseResult parsed = parse(in.sources(), source);
  if (!parsed.module || !parsed.diagnostics.empty()) {
    if (parsed.diagnostics.empty()) fail("syntax", {}, "the text could not be read");
    raise(std::move(parsed.diagnostics));
  }
  if (main) {
    std::vector<std::string> names;
    for (const StmtPtr& s : parsed.module->body)
      if (auto* n = settable(*s)) names.push_back(n->name);
    for (const auto& [name, text] : in.options().set)
      if (std::find(names.begin(), names.end(), name) == names.end()) {
        std::vector<std::string> notes{"its top-level variables: " + joined(names)};
        if (auto near = near_miss(name, names)) notes.push_back("did you mean `" + *near + "`?");
        fail("name", {}, "--set " + name + "=" + text + ": the file has no top-level `let " + name + "`",
             std::move(notes));
      }
  }
  ResolveHost host{[this](const std::string& name) { return builtin(name); }, [this] { return builtin_names(); }};
  std::vector<Diagnostic> errors;
  auto unit = resolve_names(parsed.module, *env, host, errors);
  if (check)
    check->add(*this, std::move(errors));  // and goes on
  else if (!errors.empty())
    raise(std::move(errors));
  env->unit = unit;
  for (auto& v : env->variables)
    if (!v.cell) v.cell = new_cell();
  return execute(env, unit, main);
}

Value Impl::execute(const std::shared_ptr<ModuleEnv>& env, std::shared_ptr<const Unit> unit, bool main) {
  FrameMemory memory(*this, unit->top);
  memory.frame.unit = unit.get();
  memory.frame.module = env.get();
  FrameScope scope(*this, memory.frame);
  Value last;
  const auto& body = unit->tree->body;
  for (std::size_t i = 0; i < body.size(); ++i) {
    const Stmt& s = *body[i];
    last = Value();
    if (main && !in.options().set.empty()) {
      const std::string* text = nullptr;
      if (auto* n = settable(s))
        for (const auto& [name, given] : in.options().set)
          if (name == n->name) text = &given;
      if (text) {
        const LetStmt& l = std::get<LetStmt>(s.node);
        Value v = std::holds_alternative<StringLit>(l.value->node)
                      ? Value::string(*text)
                      : set_value(std::get<NamePattern>(l.pattern->node).name, *text);
        bind(*l.pattern, std::move(v), false);
        continue;
      }
    }
    if (check)
      check->statement(*this, s, nullptr);
    else
      exec(s, &last);
  }
  return last;
}

// The value of `--set name=text`, read as an expression of its own.
Value Impl::set_value(const std::string& name, const std::string& text) {
  const std::uint32_t source = in.sources().add("--set " + name, text);
  ParseResult parsed = parse(in.sources(), source);
  if (!parsed.module) raise(std::move(parsed.diagnostics));
  if (parsed.module->body.size() != 1 || !std::holds_alternative<ExprStmt>(parsed.module->body[0]->node))
    fail("value", Span{source, 0, static_cast<std::uint32_t>(text.size())}, "--set " + name + " takes one value");
  auto env = std::make_shared<ModuleEnv>();
  env->name = "--set";
  modules.push_back(env);
  ResolveHost host{[this](const std::string& n) { return builtin(n); }, [this] { return builtin_names(); }};
  std::vector<Diagnostic> errors;
  auto unit = resolve_names(parsed.module, *env, host, errors);
  if (!errors.empty()) raise(std::move(errors));
  env->unit = unit;
  return execute(env, unit, false);
}

Value Impl::import_module(const ImportStmt& s, Span span) {
  namespace fs = std::filesystem;
  std::string key = s.module, text;
  if (s.file) {
    fs::path path(s.module);
    if (path.is_relative() && in.sources().has(span.source))
      path = fs::path(in.sources().at(span.source).name()).parent_path() / path;
    std::error_code ignored;
    fs::path whole = fs::weakly_canonical(path, ignored);
    key = (ignored ? path : whole).string();
  }
  if (auto it = loaded.find(key); it != loaded.end()) return it->second;
  if (auto it = std::find(loading.begin(), loading.end(), key); it != loading.end()) {
    std::string chain;
    for (; it != loading.end(); ++it) chain += *it + " imports ";
    fail("import", span, "a file imports itself", {chain + key});
  }
  if (ctx.tracing())
    fail("import", span, "a module cannot be imported while a function is traced",
         {"move the `import` to the top of the file"});
  if (s.file) {
    if (in.options().may_read && !in.options().may_read(key))
      fail("io", span, "reading " + key + " is not allowed here");
    std::error_code error;
    const auto size = fs::file_size(key, error);
    if (error) fail("io", span, "cannot read " + key + ": " + error.message(), near_scripts(key, s.module));
    if (size > kLargestFile) fail("io", span, key + " is larger than 64 MiB");
    std::ifstream file(key, std::ios::binary);
    if (!file) fail("io", span, "cannot read " + key);
    text.assign(std::istreambuf_iterator<char>(file), {});
  } else {
    std::optional<std::string> found;
    if (in.options().embedded_module) found = in.options().embedded_module(s.module);
    if (!found) {
      std::vector<std::string> notes;
      const std::vector<std::string> known{"nn", "optim", "train"};
      if (const std::string_view here = module_here(s.module); !here.empty()) {
        notes.emplace_back(here);
      } else {
        notes.push_back("its modules are nn, optim and train; arrays and their functions need no import");
        if (auto near = near_miss(s.module, known)) notes.push_back("did you mean `" + *near + "`?");
        notes.push_back("a file is imported by its name in quotes: import \"" + s.module + ".shard\" as " + s.module);
      }
      fail("import", span, "there is no module `" + s.module + "` in the standard library", std::move(notes));
    }
    text = std::move(*found);
  }
  auto env = std::make_shared<ModuleEnv>();
  env->name = key;
  modules.push_back(env);
  loading.push_back(key);
  const std::uint32_t source =
      in.sources().add(s.file ? key : std::string(kLibrary) + s.module + ".shard", std::move(text));
  Surroundings restore(*this);
  struct Pop {
    std::vector<std::string>& v;
    ~Pop() { v.pop_back(); }
  } pop{loading};
  run_module(env, source, false);
  Value v = module_value(*env);
  loaded.emplace(key, v);
  return v;
}

}  // namespace shard::lang
