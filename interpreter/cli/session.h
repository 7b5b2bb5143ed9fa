// What the commands of the `shard` program share: settings, reading scripts, an engine that prints to the terminal,
// errors.
#pragma once
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "grammar/diagnostic.h"
#include "interpreter/cli/standard_output.h"
#include "interpreter/embed/machine.h"

namespace shard::cli {

struct Settings {
  int devices = 8;
  bool devices_given = false;  // by `--devices`: otherwise a plug-in's are as many as it has
  std::string engine;          // `--engine`: embed::Runs
  bool takes_all_devices() const { return engine.starts_with("xla") && !devices_given; }  // however many there are
  bool exact = false, debug_nans = false;
  std::vector<std::pair<std::string, std::string>> set;
  std::vector<std::string> args;              // the words behind `--`
  std::vector<std::string> allow;             // codes of warnings that are not told
  bool deny_warnings = false;                 // each is an error
  std::chrono::milliseconds timeout{10'000};  // how long another process is waited for
  std::vector<std::string> faults;            // faults on purpose (runtime/channel/fault_injection.h)
};

// The text of a script; "-" is standard input. Where it cannot be read: a clear sentence on standard error, and false.
bool read_script(const std::string& path, std::string& text);
std::string script_text(const std::string& path);  // the same without a word: empty where it cannot be read
// The scripts of a folder and of those within, but for hidden ones, in the order of their names.
std::vector<std::string> scripts_in(const std::string& folder);
// The words of a command: scripts as they are named, folders as the scripts in them.
std::vector<std::string> scripts_of(const std::vector<std::string>& words);
// The others that run the same script, where a launcher started several; null: this one is alone. (launch/join_job.cpp)
std::shared_ptr<runtime::Processes> joined_processes(const Settings& settings);
// By what the processes of a plug-in find each other in such a job (embed::Runs).
std::shared_ptr<runtime::KeyValues> values_of_job(runtime::Processes& processes, bool one_machine);
// Work that an interrupt left and nobody waits for: to end as usual might wait for it.
bool work_is_left();
void tell_as(const std::string& who);  // goes before every error of this process
// The settings with what the head of a script asks for, where the command line does not: `# devices: 512`, on a line of
// its own before the first statement.
Settings with_head(Settings settings, std::string_view text);
std::unique_ptr<embed::Machine> make_machine(const Settings& settings, lang::Options options = {},
                                             std::function<void(const std::string&)> entering = nullptr);
// What is wrong with a word behind `--allow`: empty where it is the code of a warning.
std::string unknown_warning(const std::string& code);
// What people read of an error: as wide as the terminal.
std::string report_text(const grammar::Diagnostic& d, const grammar::SourceMap& sources);
void tell(const grammar::Diagnostic& d,
          const grammar::SourceMap& sources);  // standard error, after what was printed before
using Teller = std::function<void(const grammar::Diagnostic&, const grammar::SourceMap&)>;
// Runs `body`, tells what goes wrong, and gives the exit status: 0, 1 for errors of a script, 130 after Ctrl-C, 143
// after SIGTERM.
int guarded(lang::Interpreter& in, const std::function<void()>& body, const Teller& teller = tell);
inline bool stopped(int status) { return status == 130 || status == 143; }

// A script in the one style (grammar/style; fmt.cpp). What comes out must be the same program: that is looked at, not
// believed.
struct Restyled {
  std::string text;
  bool parses = false;       // else: its errors
  bool same_program = true;  // false: a fault in Shard itself
  grammar::SourceMap sources;
  std::vector<grammar::Diagnostic> errors;
};
Restyled restyled(const std::string& name, const std::string& text);

}  // namespace shard::cli
