// The `shard` program: its command line. What the commands do is in commands.cpp and repl.cpp.
#include <CLI/CLI.hpp>
#include <malloc.h>
#include <unistd.h>

#include "grammar/diagnostic.h"
#include "interpreter/repl/commands.h"
#include "interpreter/repl/signals.h"

namespace {

using shard::repl::Settings;

// Large buffers stay with the process between uses; a fresh one costs sixteen times the time to fill. A program's
// choice, so here.
void tune_memory() {
#ifdef M_MMAP_THRESHOLD
  mallopt(M_MMAP_THRESHOLD, 1 << 30);
  mallopt(M_TRIM_THRESHOLD, 1 << 30);
  mallopt(M_TOP_PAD, 16 << 20);
#endif
}

void add_settings(CLI::App* app, Settings& settings, std::vector<std::string>& sets) {
  app->add_option("--devices", settings.devices, "How many devices are simulated")
      ->check(CLI::Range(1, 65536))
      ->capture_default_str();
  app->add_option("--set", sets, "name=value: the initial value of a top-level `let` instead of the script's")
      ->expected(1)
      ->take_all();
}

// "rate=0.1" -> {rate, 0.1}; false where it is no such pair.
bool split_sets(const std::vector<std::string>& sets, Settings& settings) {
  for (const std::string& s : sets) {
    const std::size_t at = s.find('=');
    if (at == 0 || at == std::string::npos) {
      std::fprintf(stderr, "error: --set takes name=value, not '%s'\n", s.c_str());
      return false;
    }
    settings.set.emplace_back(s.substr(0, at), s.substr(at + 1));
  }
  return true;
}

const std::vector<std::string>& commands() {
  static const std::vector<std::string> all{"run", "repl", "test", "check", "help", "fmt", "explain", "launch", "lsp"};
  return all;
}

bool is_command(const std::string& word) {
  return std::find(commands().begin(), commands().end(), word) != commands().end();
}

// `shard rnu x.shard`: a first word that is neither a command nor a file, but near a command.
bool misspelt_command(const std::string& word) {
  if (word.empty() || word.find_first_of("./-") != std::string::npos || access(word.c_str(), F_OK) == 0) return false;
  if (access((word + ".shard").c_str(), F_OK) == 0) return false;
  const auto near = shard::grammar::near_miss(word, commands());
  if (!near) return false;
  std::fprintf(stderr, "error: there is no command or file '%s'\nnote: did you mean `shard %s`?\n", word.c_str(),
               near->c_str());
  return true;
}

// What was not expected, and the option that may be meant.
int unexpected(const CLI::App& app, const CLI::ExtrasError& e) {
  const CLI::App* used = &app;
  for (const CLI::App* sub : app.get_subcommands()) used = sub;
  std::vector<std::string> names, extras = app.remaining(true);
  for (const CLI::Option* o : used->get_options())
    names.push_back(o->get_name(false, true).substr(0, o->get_name(false, true).find(',')));
  for (const std::string& word : extras) {
    if (!word.starts_with("-")) continue;
    const std::string option = word.substr(0, word.find('='));
    std::fprintf(stderr, "error: there is no option '%s'\n", option.c_str());
    if (auto near = shard::grammar::near_miss(option, names))
      std::fprintf(stderr, "note: did you mean `%s`?\n", near->c_str());
    else
      std::fprintf(stderr, "note: `shard %s --help` lists them\n", used == &app ? "" : used->get_name().c_str());
    return 2;
  }
  return app.exit(e) == 0 ? 0 : 2;
}

int usage(int status) { return status == 0 ? 0 : 2; }

}  // namespace

int main(int argc, char** argv) {
  tune_memory();
  shard::repl::install_signals();

  // `shard FILE ...` is `shard run FILE ...`, and `shard` alone the REPL.
  std::vector<std::string> args(argv + 1, argv + argc);
  if (args.empty())
    args = {"repl"};
  else if (!args[0].empty() &&
           (args[0][0] != '-' || args[0] == "-" || args[0].starts_with("--devices") || args[0].starts_with("--set")) &&
           !is_command(args[0])) {
    if (misspelt_command(args[0])) return 2;
    args.insert(args.begin(), "run");
  }

  CLI::App app(
      "Shard: a small language for training on many devices. `shard FILE` runs a script, `shard` alone is interactive.",
      "shard");
  app.set_version_flag("--version", "shard " SHARD_VERSION);
  app.require_subcommand(1);
  Settings settings;
  std::vector<std::string> sets, files;
  std::string file, name;
  shard::repl::CheckOutput output;

  CLI::App* run = app.add_subcommand("run", "Run a script (- reads it from standard input)");
  run->add_option("file", file, "The script")->required();
  add_settings(run, settings, sets);
  CLI::App* repl = app.add_subcommand("repl", "Read entries one by one and show their values");
  add_settings(repl, settings, sets);
  CLI::App* test = app.add_subcommand("test", "Run scripts together with their `test` blocks");
  test->add_option("files", files, "Scripts")->required();
  add_settings(test, settings, sets);
  CLI::App* check =
      app.add_subcommand("check", "Look for errors without running: syntax, names, types, shapes and layouts");
  check->add_option("files", files, "Scripts")->required();
  check->add_flag("--json", output.json, "Diagnostics as a JSON array on standard output");
  check->add_flag("--names", output.names_only, "Syntax and names only");
  check->add_flag("--types", output.types, "Print the type of each `let` beside its line");
  add_settings(check, settings, sets);
  CLI::App* help = app.add_subcommand("help", "What a function does: shard help matmul");
  bool all_builtins = false;
  help->add_option("name", name, "A builtin, a module (nn), or module.name");
  help->add_flag("--all", all_builtins, "The reference page of all builtins, as Markdown");
  CLI::App* explain = app.add_subcommand(
      "explain", "Run a script without its output and tell what each compiled call does between devices");
  explain->add_option("file", file, "The script (- reads it from standard input)")->required();
  add_settings(explain, settings, sets);
  std::vector<CLI::App*> later;
  for (const char* word : {"fmt", "launch", "lsp"}) {
    later.push_back(app.add_subcommand(word, "Comes with a later version"));
    later.back()->allow_extras();
  }

  try {
    std::reverse(args.begin(), args.end());  // CLI11 takes them from the back
    app.parse(args);
  } catch (const CLI::ExtrasError& e) { return unexpected(app, e); } catch (const CLI::ParseError& e) {
    return usage(app.exit(e));
  }
  for (CLI::App* word : later)
    if (*word) {
      std::fprintf(stderr, "error: `shard %s` comes with a later version\n", word->get_name().c_str());
      return 2;
    }
  if (!split_sets(sets, settings)) return 2;
  if (*repl) return shard::repl::run_repl(settings);
  if (*test) return shard::repl::test_files(files, settings);
  if (*check) return shard::repl::check_files(files, settings, output);
  if (*explain) return shard::repl::explain_file(file, settings);
  if (*help) return all_builtins ? shard::repl::help_all(settings) : shard::repl::help(name, settings);
  return shard::repl::run_file(file, settings);
}
