// The read-eval-print loop: collects lines until they make an entry, runs it in a scope that stays, shows its value,
// and survives errors and Ctrl-C. Commands for the loop itself begin with a colon.
#include <algorithm>
#include <cstdio>
#include <set>

#include "grammar/parse.h"
#include "interpreter/lang/eval/impl.h"
#include "interpreter/repl/command.h"
#include "interpreter/repl/editor.h"
#include "interpreter/repl/signals.h"

namespace shard::repl {
namespace {

// Commands for the loop itself: their names, the first of which is told, what stands behind it, and what it does.
class Loop;
struct ColonCommand {
  std::vector<std::string_view> names;
  std::string_view operand, what;
  bool (Loop::*run)(const std::string& operand);  // false: leave
};

const char* const kWords[] = {"let",  "fn",    "jit",   "manual", "mesh",     "shard",  "as",     "use", "if",  "else",
                              "for",  "in",    "while", "break",  "continue", "return", "import", "and", "or",  "not",
                              "true", "false", "none",  "rules",  "explicit", "auto",   "bool",   "i8",  "i16", "i32",
                              "i64",  "u8",    "u16",   "u32",    "u64",      "f16",    "bf16",   "f32", "f64"};

class Loop {
 public:
  explicit Loop(const Settings& settings)
      : machine_(make_machine(settings)),
        editor_(make_editor([this](const std::string& before) { return complete(before); })) {}

  int go() {
    if (editor_->interactive())
      write_out("Shard " SHARD_VERSION ", " + std::to_string(in().context().devices()) +
                " devices. :help tells more, :quit or Ctrl-D leaves.\n");
    bool failed = false;
    for (;;) {
      std::optional<std::string> entry;
      try {
        entry = read();
      } catch (const Abandoned&) {
        write_out("\n");
        continue;
      }
      if (!entry) break;
      const std::size_t first = entry->find_first_not_of(" \t\n");
      if (first == std::string::npos) continue;
      editor_->remember(*entry);
      if ((*entry)[first] == ':') {
        if (!command(entry->substr(first))) break;
        continue;
      }
      const std::string word = entry->substr(first, entry->find_last_not_of(" \t\n") + 1 - first);
      if ((word == "exit" || word == "quit" || word == "exit()" || word == "quit()") && !in().global(word.substr(0, 4)))
        break;
      if (word == "help" && !in().global(word)) {
        help("");
        continue;
      }
      failed = !evaluate(*entry) || failed;
    }
    if (editor_->interactive()) write_out("\n");
    flush_out();
    return failed && !editor_->interactive() ? 1 : 0;
  }

 private:
  lang::Interpreter& in() { return machine_->interpreter(); }

  std::optional<std::string> read() {
    auto first = editor_->line("shard> ");
    if (!first) return std::nullopt;
    std::string entry = *first;
    const std::size_t start = entry.find_first_not_of(" \t");
    if (start != std::string::npos && entry[start] == ':') return entry;
    while (unfinished(entry)) {
      auto more = editor_->line("  ...> ");
      if (!more) break;  // the error of the unfinished entry says what is missing
      entry += "\n" + *more;
    }
    return entry;
  }

  bool unfinished(const std::string& entry) {
    grammar::SourceMap sources;
    const grammar::ParseResult parsed = grammar::parse(sources, sources.add("entry", entry));
    if (!parsed.module) return parsed.incomplete;
    for (const auto& s : parsed.module->body) note_names(*s);
    return false;
  }

  void note_names(const grammar::Stmt& s) {  // for completion
    if (auto* let = std::get_if<grammar::LetStmt>(&s.node))
      note_pattern(*let->pattern);
    else if (auto* f = std::get_if<grammar::FnStmt>(&s.node))
      names_.insert(f->function->name);
    else if (auto* m = std::get_if<grammar::MeshStmt>(&s.node))
      names_.insert(m->name.text);
    else if (auto* i = std::get_if<grammar::ImportStmt>(&s.node))
      names_.insert(i->name.text);
  }

  void note_pattern(const grammar::Pattern& p) {
    if (auto* n = std::get_if<grammar::NamePattern>(&p.node))
      names_.insert(n->name);
    else if (auto* t = std::get_if<grammar::TuplePattern>(&p.node))
      for (const auto& e : t->elements) note_pattern(*e);
    else if (auto* l = std::get_if<grammar::ListPattern>(&p.node))
      for (const auto& e : l->elements) note_pattern(*e);
    else if (auto* r = std::get_if<grammar::RecordPattern>(&p.node))
      for (const auto& f : r->fields) note_pattern(*f.target);
  }

  bool evaluate(const std::string& entry) {
    clear_interrupt();
    const int status = guarded(in(), [&] {
      const lang::Value v = in().enter(entry);
      if (!v.is_none()) write_out(in().repr(v) + "\n");
    });
    clear_interrupt();
    return status == 0;
  }

  static const std::vector<ColonCommand>& colon_commands() {
    static const std::vector<ColonCommand> kAll = {
        {{":help", ":h", ":?"}, "", "this text", &Loop::help},
        {{":type", ":t"}, "EXPR", "the type of a value", &Loop::type},
        {{":quit", ":q", ":exit"}, "", "leave (so does Ctrl-D)", &Loop::quit}};
    return kAll;
  }

  bool command(const std::string& text) {  // false: leave
    const std::size_t blank = text.find(' ');
    const std::string word = text.substr(0, blank), rest = blank == std::string::npos ? "" : text.substr(blank + 1);
    for (const ColonCommand& c : colon_commands())
      if (std::find(c.names.begin(), c.names.end(), word) != c.names.end()) return (this->*c.run)(rest);
    write_out("there is no " + word + "; :help lists what there is\n");
    flush_out();
    return true;
  }
  bool quit(const std::string&) { return false; }
  bool type(const std::string& expression) {
    evaluate("typeof(" + expression + ")");
    flush_out();
    return true;
  }
  bool help(const std::string&) {
    std::string text =
        "An entry is a statement or an expression; it goes on over several lines while a bracket is open.\n";
    const auto add = [&](std::string head, std::string_view what) {
      head.resize(std::max<std::size_t>(head.size() + 1, 15), ' ');
      text += "  " + head + std::string(what) + "\n";
    };
    for (const ColonCommand& c : colon_commands())
      add(std::string(c.names[0]) + (c.operand.empty() ? "" : " ") + std::string(c.operand), c.what);
    add("help(matmul)", "what a function does");
    write_out(
        text +
        "Ctrl-C gives up the entry that is being written, or stops the one that runs. Tab completes names, fields "
        "and axes.\n");
    flush_out();
    return true;
  }

  std::vector<std::string> complete(const std::string& before) {
    const std::string word = last_word(before);
    if (word.starts_with(':')) {
      std::vector<std::string> out;
      for (const ColonCommand& c : colon_commands()) out.emplace_back(c.names[0]);
      return out;
    }
    if (word.starts_with('@')) return axes();
    const std::size_t dot = word.rfind('.');
    if (dot != std::string::npos) return fields(word.substr(0, dot));
    std::vector<std::string> out(names_.begin(), names_.end());
    for (const char* w : kWords) out.emplace_back(w);
    for (const std::string& w : in().impl().builtins.names()) out.push_back(w);
    return out;
  }

  std::vector<std::string> axes() {  // of the current mesh, and the names that the rules lay out
    std::vector<std::string> out;
    if (const auto& mesh = in().context().mesh())
      for (const auto& a : mesh->axes) out.push_back("@" + a.name);
    if (const lang::Record* rules = in().impl().surroundings.rules().fields())
      for (const auto& f : rules->fields) out.push_back("@" + f.first);
    return out;
  }

  std::vector<std::string> fields(const std::string& path) {  // of the value that a path of names holds
    std::vector<std::string> out;
    std::size_t at = path.find('.');
    std::optional<lang::Value> v = in().global(path.substr(0, at));
    while (v && at != std::string::npos) {
      const std::size_t end = path.find('.', at + 1);
      const lang::Record* r = v->fields();
      const lang::Value* field =
          r ? r->find(path.substr(at + 1, end == std::string::npos ? end : end - at - 1)) : nullptr;
      v = field ? std::optional<lang::Value>(*field) : std::nullopt;
      at = end;
    }
    if (!v) return out;
    if (const lang::Record* r = v->fields())
      for (const auto& f : r->fields) out.push_back(path + "." + f.first);
    if (v->is_tensor())
      for (const char* f : {"shape", "dtype", "ndim", "size", "T"}) out.push_back(path + "." + f);
    if (v->is<std::shared_ptr<const lang::MeshValue>>())
      for (const char* f : {"axes", "shape", "devices"}) out.push_back(path + "." + f);
    if (v->is_tensor() || v->items())  // x.f() is f(x)
      for (const std::string& f : in().impl().builtins.names()) out.push_back(path + "." + f);
    return out;
  }

  std::unique_ptr<embed::Machine> machine_;
  std::set<std::string> names_;
  std::unique_ptr<Editor> editor_;
};

}  // namespace

Command repl_command() {
  return {"repl", "Read entries one by one and show their values", {}, true, [](const Arguments& a) {
            return Loop(a.settings).go();
          }};
}

}  // namespace shard::repl
