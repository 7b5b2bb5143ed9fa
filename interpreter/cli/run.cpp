// shard run: a script from its first line to its last, or the words of -e.
#include <cstdio>

#include "interpreter/cli/apart.h"
#include "interpreter/cli/cost/profile.h"
#include "interpreter/cli/repl/repl.h"
#include "runtime/channel/processes.h"

namespace shard::cli {
namespace {

int run(const Arguments& a) {
  const bool inline_code = a.values.contains("-e");
  if (inline_code == !a.words.empty()) {
    std::fputs("error: run takes a script, or code behind -e: `shard run file.shard`, `shard run -e 'print(1)'`\n",
               stderr);
    return 2;
  }
  std::string path = inline_code ? "-e" : a.words[0], text = a.value("-e");
  if (!inline_code && !read_script(path, text)) return 1;
  lang::Options options;
  options.breakpoint = stand_still;
  const auto settings = process_settings(a);
  if (!settings) return 2;
  options.processes = joined_processes(*settings);
  if (options.processes && options.processes->index() > 0)
    options.warning = [](const grammar::Diagnostic&, const grammar::SourceMap&) {};  // process 0 tells them
  const auto go = [&](const Entering& entering) {
    std::optional<RunProfile> profile;
    if (const std::string file = a.value("--profile"); !file.empty()) {
      const auto chips = read_chips(a.value("--chip").empty() ? "cpu" : a.value("--chip"), a.settings.devices);
      if (chips.empty()) return 1;
      profile.emplace(file, chips[0]).watch(options);
    }
    const auto machine = make_machine(*settings, std::move(options), entering);
    const int status = guarded(machine->interpreter(), [&] { machine->interpreter().run(path, std::move(text)); });
    return status || !profile || profile->write(machine->interpreter().sources()) ? status : 1;
  };
  if (!a.has("--engine-process")) return go(nullptr);
  if (!settings->engine.starts_with("xla")) {
    std::fputs("error: --engine-process is for --engine xla\n", stderr);
    return 2;
  }
  return run_apart(go);
}

}  // namespace

Command run_command() {
  return {
      "run",
      "Run a script (- reads it from standard input); words behind -- reach it as `args`",
      {{"file", "The script", Option::Word},
       {"-e", "Code to run in place of a script", Option::Value},
       kEngine,
       {"--engine-process", "The script in a process of its own, which a plug-in that aborts ends alone", Option::Flag},
       {"--profile",
        "Time every instruction, and write a page for a browser (.json: a timeline) beside what is predicted",
        Option::Value},
       {"--chip", "What --profile compares with: a chip of `shard estimate`; `shard calibrate` measures this machine",
        Option::Value},
       kTimeout,
       kFault},
      true,
      run};
}

}  // namespace shard::cli
