// The commands of the `shard` program, a row each: the command line, its help, `shard help COMMAND` and what is
// proposed for a misspelt word read the table (commands.cpp). A command is a file of its own that ends in its row; none
// knows the library that reads the command line (main.cpp).
#pragma once
#include <algorithm>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "interpreter/cli/session.h"

namespace shard::cli {

struct Option {
  enum Kind : unsigned char {
    Flag,    // "--json"
    Word,    // one word that stands alone
    Words,   // one or more
    Value,   // "--filter WORDS"
    Values,  // the same, as often as one likes: a line each
  };
  std::string_view name, what;
  Kind kind = Flag;
  bool required = false;
  std::string_view alias = {};  // an older name, which goes on working
};

struct Arguments {  // what was written
  Settings settings;
  std::vector<std::string> words, flags;
  std::map<std::string, std::string, std::less<>> values;
  bool has(std::string_view flag) const { return std::find(flags.begin(), flags.end(), flag) != flags.end(); }
  std::string value(std::string_view option) const {  // empty where it was not written
    const auto at = values.find(option);
    return at == values.end() ? "" : at->second;
  }
};

struct Command {
  std::string_view name, what;
  std::vector<Option> options;
  bool settings = false;                   // takes setting_options() too
  int (*run)(const Arguments&) = nullptr;  // gives the exit status
  // Whether its word is one script, whose head says how many devices there are; of several each one's does.
  bool takes_script() const { return settings && !options.empty() && options[0].kind == Option::Word; }
};

// The whole number that an option's value is; nothing where it is none, or not from `least` to `most`.
std::optional<int> number_of(std::string_view text, int least, int most);
// "a,b" as its parts, without those that are empty.
std::vector<std::string> parts_of(std::string_view text, char by);
// "name=value" of `--set`; nothing where it is none.
std::optional<std::pair<std::string, std::string>> setting_of(const std::string& text);
std::string shell_quoted(const std::string& text);
std::string shell_word(
    const std::string& word);  // of a command line as a shell reads it back, quoted where it has to be
// "10s", "500ms", "2m"; seconds where no unit stands. Nothing where it is no such time.
std::optional<std::chrono::milliseconds> time_of(std::string_view text);
// The settings with what the options of processes say; nothing, and a sentence on standard error, where `--timeout`
// says no time.
std::optional<Settings> process_settings(const Arguments& a);
inline const Option kEngine{"--engine", "What runs it: lockstep, or xla[:PLUGIN.so]; `shard engines` lists them",
                            Option::Value};
inline const Option kEngineProcess{"--engine-process",
                                   "The script in a process of its own, which a plug-in that aborts ends alone"};
inline const Option kTimeout{"--timeout", "How long a process that does not come is waited for: 10s, 500ms, 2m",
                             Option::Value};
inline const Option kFault{"--fault", "A fault on purpose: kill 2 at step 5; may stand several times", Option::Values,
                           false, "--drill"};

std::span<const Command> commands();
std::span<const Option> setting_options();  // of commands with settings
std::span<const Option> common_options();   // of all
const Command* find_command(std::string_view name);
std::string version_text();  // version, commit, compiler, processor and instruction sets: what `shard --version` says

// ---- the rows, each in the file of its name
Command run_command();
Command repl_command();
Command test_command();
Command check_command();
Command help_command();
Command explain_command();
Command estimate_command();
Command calibrate_command();
Command plan_command();
Command export_command();
Command compile_command();
Command convert_command();
Command fmt_command();
Command launch_command();
Command engines_command();
Command lsp_command();  // interpreter/lsp

}  // namespace shard::cli
