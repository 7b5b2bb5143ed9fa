// The commands of the loop: `:type x`, `:load file`. To add one: its function in repl.h, its row here.
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>

#include "grammar/parse.h"
#include "interpreter/cli/repl/repl.h"
#include "interpreter/cli/terminal.h"
#include "stdlib/stdlib.h"

namespace shard::cli {
namespace {

std::string seconds(double s) {
  const char* units[] = {"s", "ms", "us", "ns"};
  int unit = 0;
  while (s < 1 && unit < 3) s *= 1000, ++unit;
  char out[32];
  std::snprintf(out, sizeof out, "%.3g %s", s, units[unit]);
  return out;
}

}  // namespace

const std::vector<Loop::Colon>& Loop::colons() {
  static const std::vector<Colon> kAll = {
      {{":help", ":h", ":?"}, "[NAME]", "this text, or what a name is; ?name and name? too", &Loop::help},
      {{":type", ":t"}, "EXPR", "the type of a value, with its layout", &Loop::type},
      {{":time"}, "EXPR", "how long it takes", &Loop::time},
      {{":explain"}, "CALL", "what a call f(x) communicates, line by line", &Loop::explain},
      {{":comm"}, "CALL", "the collectives of a call f(x)", &Loop::comm},
      {{":mesh"}, "", "the mesh in use", &Loop::mesh},
      {{":vars"}, "", "the names of this session, with types", &Loop::vars},
      {{":load"}, "FILE", "run a script here; its names stay", &Loop::load},
      {{":reload"}, "", "run it again", &Loop::reload},
      {{":edit"}, "", "the last entry in $EDITOR, then run it", &Loop::edit},
      {{":save"}, "FILE", "write the entries that went well", &Loop::save},
      {{":continue", ":c"}, "", "at a breakpoint: go on with the script (so does Ctrl-D)", &Loop::quit},
      {{":quit", ":q", ":exit"}, "", "leave (so does Ctrl-D)", &Loop::quit}};
  return kAll;
}

void Loop::command(const std::string& text) {
  const std::size_t blank = text.find_first_of(" \t");
  const std::string word = text.substr(0, blank);
  const std::size_t rest = blank == std::string::npos ? blank : text.find_first_not_of(" \t", blank);
  const std::string operand = rest == std::string::npos ? "" : text.substr(rest);
  for (const Colon& c : colons()) {
    if (std::find(c.names.begin(), c.names.end(), word) == c.names.end()) continue;
    if (operand.empty() && !c.operand.empty() && c.operand[0] != '[') {
      return say(std::string(c.names[0]) + " takes " + std::string(c.operand) + ": " + std::string(c.what) + "\n");
    }
    return (this->*c.run)(operand);
  }
  say("there is no " + word + "; :help lists what there is\n");
}

void Loop::help(const std::string& topic) {
  if (!topic.empty()) {
    guarded_run([&] {
      if (in().global(topic.substr(0, topic.find('.')))) {
        in().enter("help(" + topic + ")", first_line_);
        return;
      }
      std::string text = stdlib::help_on(in(), topic);
      if (text.empty()) {
        text = "nothing is called " + topic + " or speaks of it\n";
        for (const std::string& hint : stdlib::help_hints(in(), topic)) text += hint + "\n";
      }
      write_out(fitted(text));
    });
    return;
  }
  const int window = in().screen().width();
  std::string text = in_lines(
      "An entry is a statement or an expression; it goes on over several lines while a bracket is open.", window, 0);
  const auto add = [&](std::string head, std::string_view what) {
    constexpr std::size_t kHead = 18;
    head = "  " + head;
    std::string line = in_lines(std::string(kHead, ' ') + std::string(what), window, kHead);
    text += line.replace(0, std::min(head.size() + 1, kHead), (head + " ").substr(0, kHead));
  };
  for (const Colon& c : colons())
    add(std::string(c.names[0]) + (c.operand.empty() ? "" : " ") + std::string(c.operand), c.what);
  add("_", "the last value");
  say(text + in_lines("Arrays show their type and layout first; print(x) shows all numbers. Ctrl-C gives up the entry "
                      "that is being written, or stops the one that runs. Tab completes names, fields, axes, named "
                      "arguments and files; the right arrow takes what is dim after the cursor.",
                      window, 0));
}

void Loop::type(const std::string& expression) {
  guarded_run([&] { write_out(type_shown(in(), in().enter(expression, first_line_)) + "\n"); });
}

void Loop::time(const std::string& expression) {
  guarded_run([&] {
    const lang::Value v = in().enter("time(fn() = " + expression + ")", first_line_);
    const lang::Record& r = *v.fields();
    write_out("best " + seconds(*r.find("best")->get<double>()) + ", mean " + seconds(*r.find("mean")->get<double>()) +
              " of " + in().show(*r.find("calls")) + ", the first " + seconds(*r.find("first")->get<double>()) + "\n");
  });
}

// Evaluates "f(x, y)" as function(f, x, y), by the places of its parts; told where it is no call.
void Loop::about_call(const std::string& function, const std::string& expression) {
  grammar::SourceMap sources;
  const grammar::ParseResult parsed = grammar::parse(sources, sources.add("entry", expression));
  if (parsed.module && parsed.module->body.size() == 1)
    if (auto* s = std::get_if<grammar::ExprStmt>(&parsed.module->body[0]->node))
      if (auto* call = std::get_if<grammar::Call>(&s->value->node)) {
        const std::size_t end = call->callee->span.end, open = expression.find('(', end);
        if (open != std::string::npos) {
          const std::string rest = expression.substr(open + 1);
          evaluate(function + "(" + expression.substr(0, end) + (call->args.empty() ? "" : ", ") + rest);
          return;
        }
      }
  say("this takes a call, such as f(x, y)\n");
}

void Loop::mesh(const std::string&) {
  const runtime::MeshRef& m = in().context().mesh();
  std::string text = m ? "" : "no mesh is in use: mesh m = (@data: 4, @model: 2)";
  if (m)
    for (const auto& a : m->axes)
      text += (text.empty() ? "" : ", ") + ("@" + a.name) + ": " + std::to_string(a.size) +
              (a.kind == runtime::AxisKind::Explicit ? " explicit" : "");
  say(text + "\n");
}

void Loop::vars(const std::string&) {
  for (const std::string& name : names_)
    if (const auto v = in().global(name)) write_out(name + ": " + type_shown(in(), *v) + "\n");
  flush_out();
}

void Loop::load(const std::string& path) {
  std::string text;
  if (!read_script(path, text)) return;
  loaded_ = path;
  unfinished(text);  // notes its names
  guarded_run([&] { in().continue_with(path, std::move(text)); });
}

void Loop::reload(const std::string&) {
  if (!loaded_.empty()) return load(loaded_);
  say("nothing was loaded: :load FILE\n");
}

void Loop::edit(const std::string&) {
  if (!alone(":edit")) return;
  char path[] = "/tmp/shard_entry_XXXXXX.shard";
  const int file = mkstemps(path, 6);
  if (file < 0) return std::perror("error: cannot make a file");
  close(file);
  std::ofstream(path) << last_entry_ << "\n";
  const char* editor = std::getenv("VISUAL");
  if (!editor || !*editor) editor = std::getenv("EDITOR");
  if (!editor || !*editor) editor = "vi";
  std::string text;
  const bool edited = std::system((std::string(editor) + " '" + path + "'").c_str()) == 0 && read_script(path, text);
  std::remove(path);
  if (!edited) return say("nothing was edited\n");
  last_entry_ = text;
  unfinished(text);
  if (text.find_first_not_of(" \t\n") != std::string::npos && evaluate(text)) kept_.push_back(text);
}

void Loop::save(const std::string& path) {
  std::string text;
  for (const std::string& entry : kept_) text += entry + "\n";
  const bool first = !processes_ || processes_->index() == 0;
  if (first && write_file(path, text)) write_out(std::to_string(kept_.size()) + " entries in " + path + "\n");
  flush_out();
}

}  // namespace shard::cli
