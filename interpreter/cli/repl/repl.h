// The read-eval-print loop: collects lines until they make an entry, runs it in a scope that stays, shows its value,
// and survives errors and Ctrl-C. Commands for the loop itself begin with a colon (repl_commands.cpp).
#pragma once
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "grammar/ast.h"
#include "interpreter/cli/command.h"
#include "interpreter/cli/repl/editor.h"
#include "runtime/channel/processes.h"

namespace shard::cli {

class Loop {
 public:
  Loop(lang::Interpreter& in, std::string greeting);  // said where a person reads
  int go();                                           // the exit status

 private:
  // A command for the loop: its names, the first of which is told, what stands behind it, and what it does.
  struct Colon {
    std::vector<std::string_view> names;
    std::string_view operand, what;
    void (Loop::*run)(const std::string& operand);
  };
  static const std::vector<Colon>& colons();

  lang::Interpreter& in() { return in_; }
  std::optional<std::string> line(const std::string& prompt);
  std::optional<std::string> read();
  std::optional<std::string> next();  // of several processes: what the first one read, in all of them
  bool alone(const char* what);       // whether this is the only process; told where it is not
  bool goes_on(const std::string& entry);
  bool unfinished(const std::string& entry);
  std::vector<std::string> complete(const std::string& before);
  bool evaluate(const std::string& entry);  // and shows the value
  void heard();
  bool guarded_run(const std::function<void()>& body);
  void about_call(const std::string& function, const std::string& expression);

  static void say(const std::string& text);

  // ---- commands
  void command(const std::string& text);
  void quit(const std::string&) { left_ = true; }
  void help(const std::string& topic);
  void type(const std::string& expression);
  void time(const std::string& expression);
  void explain(const std::string& call) { about_call("explain", call); }
  void comm(const std::string& call) { about_call("comm", call); }
  void mesh(const std::string&);
  void vars(const std::string&);
  void load(const std::string& path);
  void reload(const std::string&);
  void edit(const std::string&);
  void save(const std::string& path);

  lang::Interpreter& in_;
  std::string greeting_;
  runtime::Processes* processes_;  // null: one
  bool left_ = false;              // :quit
  bool apart_ = false;             // they were stopped, each where it was
  std::set<std::string> names_;
  std::unique_ptr<Editor> editor_;
  int lines_ = 0, first_line_ = 1;  // lines read, and the first of the entry
  std::vector<std::string> kept_;   // entries that went well
  std::string last_entry_, loaded_;
};

// How the REPL shows a value: arrays with their type and layout first, trees of arrays as trees of types, everything
// else as it is written.
std::string shown(lang::Interpreter& in, const lang::Value& v);
// "f32[8@data,4]" with the layout that an array has, on automatic axes too; "{w: f32[4], b: f32[]}"; of numbers as
// typeof.
std::string type_shown(lang::Interpreter& in, const lang::Value& v);

// Of the scripts that `run` and `repl` run: a loop where one calls `breakpoint()`, which ends with its input.
void stand_still(lang::Interpreter& in, const std::vector<std::pair<std::string, lang::Value>>& variables,
                 grammar::Span span);

}  // namespace shard::cli
