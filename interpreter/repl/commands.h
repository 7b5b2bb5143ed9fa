// What each command of the `shard` program does. Each returns the exit status: 0, 1 for errors of a script, 130 after
// Ctrl-C. main.cpp reads the command line; nothing here knows CLI11.
#pragma once
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "grammar/diagnostic.h"
#include "interpreter/embed/machine.h"

namespace shard::repl {

struct Settings {
  int devices = 8;
  std::vector<std::pair<std::string, std::string>> set;
};

int run_file(const std::string& path, const Settings& settings);
int test_files(const std::vector<std::string>& paths, const Settings& settings);
struct CheckOutput {
  bool json = false, types = false, names_only = false;
};
int check_files(const std::vector<std::string>& paths, const Settings& settings,
                const CheckOutput& output);                           // check.cpp
int explain_file(const std::string& path, const Settings& settings);  // explain.cpp
int help(const std::string& name, const Settings& settings);
int help_all(const Settings& settings);  // the reference page of all builtins
int run_repl(const Settings& settings);  // repl.cpp

// Shared with the REPL and check.
// The text of a script; "-" is standard input. Where it cannot be read: a clear sentence on standard error, and false.
bool read_script(const std::string& path, std::string& text);
std::unique_ptr<embed::Machine> make_machine(const Settings& settings, lang::Options options = {});
void write_out(std::string_view text);  // standard output, buffered; flushed at least every 0.1 s of printing
void tell(const grammar::Diagnostic& d,
          const grammar::SourceMap& sources);  // standard error, after what was printed before
// Runs `body`, tells what goes wrong, and gives the exit status.
int guarded(lang::Interpreter& in, const std::function<void()>& body);

}  // namespace shard::repl
