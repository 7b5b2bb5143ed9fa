#include "interpreter/cli/repl/completion.h"

#include <algorithm>
#include <filesystem>

#include "grammar/parse.h"
#include "grammar/scan.h"
#include "interpreter/cli/repl/editor.h"
#include "interpreter/lang/eval/builtins.h"
#include "interpreter/lang/eval/surroundings.h"
#include "interpreter/lang/report/report.h"
#include "interpreter/lang/values/closure.h"
#include "interpreter/lang/values/value_text.h"
#include "interpreter/lang/values/wrapped.h"
#include "stdlib/stdlib.h"

namespace shard::cli {
namespace {

using grammar::npos;
using grammar::TokenKind;
using lang::Interpreter;
using lang::Value;

std::vector<std::string> axes(Interpreter& in) {  // of the current mesh, and the names that the rules lay out
  std::vector<std::string> out;
  if (const auto& mesh = in.context().mesh())
    for (const auto& a : mesh->axes) out.push_back("@" + a.name);
  if (const lang::Record* rules = in.surroundings().rules().fields())
    for (const auto& f : rules->fields) out.push_back("@" + f.first);
  return out;
}

// The value that a path of names holds: p.layers.w.
std::optional<Value> value_at(Interpreter& in, const std::string& path) {
  std::size_t at = path.find('.');
  std::optional<Value> v = in.global(path.substr(0, at));
  if (!v) v = in.builtin(path.substr(0, at));
  while (v && at != std::string::npos) {
    const std::size_t end = path.find('.', at + 1);
    const lang::Record* r = v->fields();
    const Value* field = r ? r->find(path.substr(at + 1, end == std::string::npos ? end : end - at - 1)) : nullptr;
    v = field ? std::optional<Value>(*field) : std::nullopt;
    at = end;
  }
  return v;
}

// A library module's helpers have no documentation: they are not for scripts.
bool helper(Interpreter& in, const Value& field) {
  if (const lang::Record* r = field.fields())  // a module within a module
    return std::any_of(r->fields.begin(), r->fields.end(),
                       [](const auto& f) { return lang::written_function(f.second) != nullptr; });
  const lang::Closure* f = lang::written_function(field);
  const std::uint32_t source = f ? f->function->span.source : 0;
  return f && f->function->doc.empty() && in.sources().has(source) &&
         in.sources().at(source).name().starts_with(lang::kLibrary);
}

std::vector<std::string> fields(Interpreter& in, const std::string& path) {
  std::vector<std::string> out;
  const std::optional<Value> v = value_at(in, path);
  if (!v) return out;
  const bool module = in.global(path) && stdlib::embedded_module(path);
  if (const lang::Record* r = v->fields())
    for (const auto& f : r->fields)
      if (!module || !helper(in, f.second)) out.push_back(path + "." + f.first);
  if (v->is_tensor())
    for (const char* f : {"shape", "dtype", "ndim", "size", "T"}) out.push_back(path + "." + f);
  if (v->is<std::shared_ptr<const lang::MeshValue>>())
    for (const char* f : {"axes", "shape", "devices"}) out.push_back(path + "." + f);
  if (v->is_tensor() || v->items())  // x.f() is f(x)
    for (const std::string& f : in.builtins().names()) out.push_back(path + "." + f);
  return out;
}

// The named arguments of the call whose bracket is open before the word.
std::vector<std::string> named_arguments(Interpreter& in, const std::string& before) {
  std::vector<std::string> out;
  if (const auto call = open_call(in, before))
    for (const std::string& signature : call->signatures)
      for (const std::string& p : parameters_of(signature)) out.push_back(p + ":");
  return out;
}

// Files whose path begins with what stands behind the open quote.
std::vector<std::string> files(const std::string& begun, std::size_t word) {
  namespace fs = std::filesystem;
  std::vector<std::string> out;
  const std::size_t slash = begun.rfind('/');
  const std::string folder = slash == std::string::npos ? "" : begun.substr(0, slash + 1);
  std::error_code failed;
  for (fs::directory_iterator at(folder.empty() ? "." : folder, failed), end; !failed && at != end;
       at.increment(failed)) {
    const std::string name = at->path().filename().string();
    std::error_code unknown;
    const std::string path = folder + name + (at->is_directory(unknown) ? "/" : "");
    if (!name.starts_with(".") && path.starts_with(begun)) out.push_back(path.substr(begun.size() - word));
  }
  return out;
}

// Where the string begins that is not closed at the end of a text; npos where none is.
std::size_t open_string(std::string_view text) {
  grammar::Scanner scan(text);
  grammar::Token last;
  for (grammar::Token t = scan.next(); t; t = scan.next()) last = t;
  return last.kind == TokenKind::Text && !last.whole ? last.opened : npos;
}

}  // namespace

// Names of parameters in "fn f(x, axis = none)", "f(x, axis: int? = none, xs...)".
std::vector<std::string> parameters_of(const std::string& signature) {
  std::vector<std::string> out;
  grammar::Scanner scan(signature);
  int depth = 0;
  bool name = false;  // a parameter's name may follow
  for (grammar::Token t = scan.next(); t; t = scan.next()) {
    if (name && t.kind == TokenKind::Word) out.emplace_back(scan.text(t));
    depth += (t.kind == TokenKind::Open) - (t.kind == TokenKind::Close);
    if (t.kind == TokenKind::Close && depth == 0) break;
    name = depth == 1 && (t.kind == TokenKind::Open || scan.text(t) == ",");
  }
  return out;
}

std::span<const std::string_view> contextual_words() {
  static constexpr std::string_view kAll[] = {"rules", "explicit", "auto", "test"};
  return kAll;
}

std::optional<OpenCall> open_call(Interpreter& in, const std::string& before) {
  OpenCall out;
  grammar::Scanner scan(before);
  std::vector<grammar::Token> tokens;
  for (grammar::Token t = scan.next(); t; t = scan.next()) tokens.push_back(t);
  std::size_t at = npos;  // of the bracket that is open
  for (int depth = 0; at == npos && !tokens.empty(); tokens.pop_back()) {
    const grammar::Token& t = tokens.back();
    if (t.kind == TokenKind::Close) ++depth;
    if (t.kind == TokenKind::Open && depth-- == 0) at = t.begin;
    if (depth != 0) continue;
    if (scan.text(t) == ",") ++out.argument;
    if (scan.text(t) == ":" && out.argument == 0 && out.named.empty()) out.named = last_word(before.substr(0, t.begin));
  }
  if (at == npos || before[at] != '(') return std::nullopt;
  out.callee = last_word(before.substr(0, at));
  const std::optional<Value> f = out.callee.empty() ? std::nullopt : value_at(in, out.callee);
  if (!f) return out;
  const auto* row = f->get<const ir::OpDef*>();
  const auto* native = f->get<std::shared_ptr<const lang::Native>>();
  if (const lang::Closure* closure = lang::written_function(*f))
    out.signatures.push_back(lang::header(*closure->function));
  if (native) out.signatures.push_back((*native)->signature);
  // A function of the host passes arrays on to the operation of its name.
  if (const ir::OpDef* same = row ? *row : native ? in.context().table().find((*native)->name) : nullptr)
    out.signatures.push_back(in.context().table().signature(*same).text);
  return out;
}

std::vector<std::string> completions(Interpreter& in, const std::set<std::string>& names, const std::string& before) {
  const std::string word = last_word(before);
  if (const std::size_t quote = open_string(before); quote != npos) return files(before.substr(quote + 1), word.size());
  if (word.starts_with('@')) return axes(in);
  const std::string line =
      before.substr(before.find_first_not_of(" \t") == std::string::npos ? 0 : before.find_first_not_of(" \t"));
  if (line.starts_with("import ") && line.find(' ', 7) == std::string::npos) return stdlib::public_modules();
  if (const std::size_t dot = word.rfind('.'); dot != std::string::npos) return fields(in, word.substr(0, dot));
  std::vector<std::string> out = named_arguments(in, before.substr(0, before.size() - word.size()));
  if (std::erase_if(out, [&](const std::string& w) { return !w.starts_with(word); }); !word.empty() && !out.empty())
    return out;
  out.insert(out.end(), names.begin(), names.end());
  for (std::string_view w : grammar::all_keywords()) out.emplace_back(w);
  for (std::string_view w : contextual_words()) out.emplace_back(w);
  for (const std::string& w : in.builtins().names()) out.push_back(w);
  return out;
}

}  // namespace shard::cli
