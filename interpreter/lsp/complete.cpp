// What could stand at the cursor, and how the call that is being written is called. The REPL knows it
// (cli/repl/completion.h) of a session's values; here they are those that the last check left: types in place of
// arrays.
#include <algorithm>
#include <set>

#include "grammar/characters.h"
#include "grammar/parse.h"
#include "interpreter/cli/repl/completion.h"
#include "interpreter/cli/repl/editor.h"
#include "interpreter/lang/values/value_text.h"
#include "interpreter/lsp/features.h"
#include "runtime/array/dtype.h"
#include "stdlib/stdlib.h"

namespace shard::lsp {
namespace {

using lang::NameUse;

struct Item {
  enum Kind { Text = 1, Function = 3, Field = 5, Variable = 6, Value = 12, Keyword = 14, Constant = 21 };
};

// The names of the text that are seen at an offset: of its top level and of the functions around.
std::set<std::string> names_at(const Document& d, std::size_t offset) {
  std::set<std::string> out;
  if (!d.tree) return out;
  const std::size_t at = Shift(d.text.str(), d.tree->text)(offset).value_or(d.tree->text.size());
  for (const NameUse& u : d.tree->uses) {
    if (u.kind != NameUse::Declared && u.kind != NameUse::Parameter) continue;
    const std::string name = d.tree->word(u.span);
    const auto inside = functions_around(*d.tree, u.span.begin);
    const bool seen = std::all_of(inside.begin(), inside.end(), [&](const grammar::Function* f) {
      return (f->span.begin <= at && at <= f->span.end) || f->name_span == u.span;
    });
    if (seen && !name.empty() && grammar::is_word_start(name[0])) out.insert(name);
  }
  return out;
}

// The engine whose values tell fields, axes and arguments; the text's own once it was checked.
lang::Interpreter& values_of(Session& s, const Document& d) {
  return d.types && d.types->checker.machine ? d.types->checker.machine->interpreter() : s.interpreter();
}

int item_kind(lang::Interpreter& in, const std::set<std::string>& names, const std::string& word) {
  if (word.starts_with('@')) return Item::Constant;
  if (word.ends_with(':')) return Item::Value;
  if (word.find('.') != std::string::npos) return Item::Field;
  if (names.contains(word)) return Item::Variable;
  if (grammar::is_keyword(word) || runtime::dtype_named(word)) return Item::Keyword;
  const auto v = in.builtin(word);
  return v && v->callable() ? Item::Function : Item::Text;
}

}  // namespace

std::string completion(Session& s, const Params& p) {
  const Document& d = s.document(p);
  const std::size_t offset = s.offset(d, p), line = d.text.begin_of(d.text.line_of(offset));
  const std::string before = d.text.str().substr(line, offset - line), word = cli::last_word(before);
  const std::set<std::string> names = names_at(d, offset);
  lang::Interpreter& in = values_of(s, d);
  std::vector<std::string> words = cli::completions(in, names, before);
  cli::only_those_of(words, word);
  const std::string range = s.range(d.text, offset - word.size(), offset);
  std::vector<std::string> out;
  for (const std::string& w : words) {
    const bool own = names.contains(w);
    out.push_back(object({{"label", json_string(w.substr(w.rfind('.') == std::string::npos ? 0 : w.rfind('.') + 1))},
                          {"kind", number(item_kind(in, names, w))},
                          {"sortText", json_string((own || w.ends_with(':') ? "0" : "1") + w)},
                          {"filterText", json_string(w)},
                          {"data", json_string(w)},
                          {"textEdit", object({{"range", range}, {"newText", json_string(w)}})}}));
  }
  return object({{"isIncomplete", "false"}, {"items", list(out)}});
}

std::string completion_resolve(Session& s, const Params& p) {
  const std::string word = need_text(p, {"data"});
  const std::string help = word.empty() ? "" : stdlib::help_named(s.interpreter(), word);
  const auto field = [&](const char* name) {
    const auto text = find(p, {name});
    return text && text->text() ? json_string(*text->text()) : "";
  };
  std::int64_t kind = Item::Text;
  if (const auto k = find(p, {"kind"})) k->integer(kind);
  const std::string doc =
      help.empty() ? "" : object({{"kind", json_string("markdown")}, {"value", json_string("```\n" + help + "```\n")}});
  std::string edit;
  if (const auto start = find(p, {"textEdit", "range", "start"}); start && start->object()) {
    const auto place = [&](std::string_view end) {
      return object({{"line", number(need_number(p, {"textEdit", "range", end, "line"}))},
                     {"character", number(need_number(p, {"textEdit", "range", end, "character"}))}});
    };
    edit = object({{"range", object({{"start", place("start")}, {"end", place("end")}})},
                   {"newText", json_string(need_text(p, {"textEdit", "newText"}))}});
  }
  return object({{"label", field("label")},
                 {"kind", number(kind)},
                 {"sortText", field("sortText")},
                 {"filterText", field("filterText")},
                 {"data", json_string(word)},
                 {"textEdit", edit},
                 {"documentation", doc}});
}

std::string signature_help(Session& s, const Params& p) {
  const Document& d = s.document(p);
  const std::size_t offset = s.offset(d, p);
  const auto call = cli::open_call(values_of(s, d), d.text.str().substr(0, offset));
  if (!call || call->callee.empty()) return null();
  std::vector<std::string> signatures = call->signatures;
  if (d.tree)  // as it is written now, of the text's own functions
    for (const grammar::Function* f : d.tree->functions)
      if (f->name == call->callee) signatures = {lang::header(*f)};
  std::vector<std::string> out;
  std::int64_t active = static_cast<std::int64_t>(call->argument);
  for (const std::string& signature : signatures) {
    std::vector<std::string> parameters;
    for (const std::string& name : cli::parameters_of(signature)) {
      if (name == call->named) active = static_cast<std::int64_t>(parameters.size());
      parameters.push_back(object({{"label", json_string(name)}}));
    }
    out.push_back(object({{"label", json_string(signature)}, {"parameters", list(parameters)}}));
  }
  if (out.empty()) return null();
  return object({{"signatures", list(out)}, {"activeSignature", "0"}, {"activeParameter", number(active)}});
}

}  // namespace shard::lsp
