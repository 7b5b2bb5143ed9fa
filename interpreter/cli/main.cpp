// The `shard` program: its command line, read with CLI11 into what the table of commands says (command.h).
#include <CLI/CLI.hpp>
#include <malloc.h>
#include <unistd.h>

#include <iostream>
#include <sstream>

#include "grammar/diagnostic.h"
#include "interpreter/cli/command.h"
#include "interpreter/cli/signals.h"
#include "interpreter/cli/terminal.h"

namespace {

using shard::cli::Arguments;
using shard::cli::Command;
using shard::cli::Option;
using shard::cli::Settings;

// Large buffers stay with the process between uses; a fresh one costs sixteen times the time to fill. A program's
// choice, so here.
void tune_memory() {
#ifdef M_MMAP_THRESHOLD
  mallopt(M_MMAP_THRESHOLD, 1 << 30);
  mallopt(M_TRIM_THRESHOLD, 1 << 30);
  mallopt(M_TOP_PAD, 16 << 20);
#endif
}

// What an option that several commands take does.
std::string what_of(std::string_view name) {
  for (const auto& options : {shard::cli::setting_options(), shard::cli::common_options()})
    for (const Option& o : options)
      if (o.name == name) return std::string(o.what);
  return "";
}

// A command's options as the library that reads the command line takes them.
void add_options(CLI::App* app, const Command& c, Arguments& out, std::vector<std::string>& sets) {
  for (const Option& o : c.options) {
    const std::string name(o.name), what(o.what), names = o.alias.empty() ? name : name + "," + std::string(o.alias);
    const auto word = [&out](const std::string& w) { out.words.push_back(w); };
    const auto flag = [&out, name] { out.flags.push_back(name); };
    const auto value = [&out, name](const std::string& w) { out.values[name] = w; };
    const auto several = [&out, name](const std::vector<std::string>& all) {
      for (const std::string& w : all) out.values[name] += w + "\n";
    };
    CLI::Option* made = o.kind == Option::Flag   ? app->add_flag_callback(names, flag, what)
                        : o.kind == Option::Word ? app->add_option_function<std::string>(names, word, what)
                        : o.kind == Option::Values
                            ? app->add_option_function<std::vector<std::string>>(names, several, what)
                        : o.kind == Option::Value ? app->add_option_function<std::string>(names, value, what)
                                                  : app->add_option(names, out.words, what);
    made->required(o.required);
    if (o.kind == Option::Values) made->expected(1)->take_all()->allow_extra_args(false);
  }
  app->add_option_function<std::string>("--color", shard::cli::set_color, what_of("--color"))
      ->check(CLI::IsMember({"always", "never"}));
  if (!c.settings) return;
  app->add_option("--devices", out.settings.devices, what_of("--devices"))
      ->check(CLI::Range(1, shard::embed::kMostDevices))
      ->capture_default_str()
      ->each([&out](const std::string&) { out.settings.devices_given = true; });
  app->add_flag("--exact", out.settings.exact, what_of("--exact"));
  app->add_flag("--debug-nans", out.settings.debug_nans, what_of("--debug-nans"));
  app->add_option("--allow", out.settings.allow, what_of("--allow"))
      ->check([](const std::string& code) { return shard::cli::unknown_warning(code); })
      ->expected(1)
      ->take_all()
      ->allow_extra_args(false);
  app->add_flag("--deny-warnings", out.settings.deny_warnings, what_of("--deny-warnings"));
  app->add_option("--set", sets, what_of("--set"))->expected(1)->take_all()->allow_extra_args(false);
}

// "rate=0.1" -> {rate, 0.1}; false where it is no such pair.
bool split_sets(const std::vector<std::string>& sets, Settings& settings) {
  for (const std::string& s : sets) {
    auto setting = shard::cli::setting_of(s);
    if (!setting) return shard::cli::misused("--set takes name=value, not '" + s + "'") == 0;
    settings.set.push_back(std::move(*setting));
  }
  return true;
}

// A first word that is no command: a script, or an option of `run`.
bool begins_run(const std::string& word) {
  if (word.empty()) return false;
  if (word[0] != '-' || word == "-") return true;
  for (const auto& options : {shard::cli::setting_options(), shard::cli::common_options()})
    for (const Option& o : options)
      if (word.starts_with(o.name)) return true;
  return word.starts_with("-e");
}

// `shard rnu x.shard`: a first word that is neither a command nor a file, but near a command.
bool misspelt_command(const std::string& word) {
  if (word.empty() || word.find_first_of("./-") != std::string::npos || access(word.c_str(), F_OK) == 0) return false;
  if (access((word + ".shard").c_str(), F_OK) == 0) return false;
  std::vector<std::string> names;
  for (const Command& c : shard::cli::commands()) names.emplace_back(c.name);
  const auto near = shard::grammar::near_miss(word, names);
  if (!near) return false;
  std::fprintf(stderr, "error: there is no command or file '%s'\nnote: did you mean `shard %s`?\n", word.c_str(),
               near->c_str());
  return true;
}

// Help and the version are no errors, but come as one.
int usage(const CLI::App& app, const CLI::ParseError& e) {
  std::ostringstream help;
  const int status = app.exit(e, help, std::cerr);
  shard::cli::write_out(help.str());
  return status == 0 ? 0 : 2;
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
  return usage(app, e);
}

int run_program(int argc, char** argv) {
  tune_memory();
  shard::cli::install_signals();

  // `shard FILE ...` is `shard run FILE ...`, and `shard` alone the REPL. What follows `--` is the script's.
  std::vector<std::string> args(argv + 1, argv + argc);
  Arguments given;
  if (const auto dashes = std::find(args.begin(), args.end(), "--"); dashes != args.end()) {
    given.settings.args.assign(dashes + 1, args.end());
    args.erase(dashes, args.end());
  }
  if (args.empty())
    args = {"repl"};
  else if (begins_run(args[0]) && !shard::cli::find_command(args[0])) {
    if (misspelt_command(args[0])) return 2;
    args.insert(args.begin(), "run");
  }

  CLI::App app(
      "Shard: a small language for training on many devices. `shard FILE` runs a script, `shard` alone is interactive.",
      "shard");
  app.set_version_flag("--version", shard::cli::version_text);
  app.require_subcommand(1);
  std::vector<std::string> sets;
  std::vector<std::pair<CLI::App*, const Command*>> made;
  // The others only where they are spoken of, in the help of all: making them takes longer than a short script.
  const Command* const asked = shard::cli::find_command(args[0]);
  for (const Command& c : shard::cli::commands()) {
    if (asked && &c != asked) continue;
    made.emplace_back(app.add_subcommand(std::string(c.name), std::string(c.what)), &c);
    add_options(made.back().first, c, given, sets);
  }

  try {
    std::reverse(args.begin(), args.end());  // CLI11 takes them from the back
    app.parse(args);
  } catch (const CLI::ExtrasError& e) { return unexpected(app, e); } catch (const CLI::ParseError& e) {
    return usage(app, e);
  }
  given.settings.engine = given.value("--engine");
  if (!split_sets(sets, given.settings)) return 2;
  for (const auto& [app_of, command] : made)
    if (*app_of) {
      if (command->takes_script() && !given.words.empty())
        given.settings = shard::cli::with_head(std::move(given.settings), shard::cli::script_text(given.words[0]));
      return command->run(given);
    }
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  int status = 1;
  try {
    status = run_program(argc, argv);
  } catch (const shard::runtime::RuntimeError& e) { std::fprintf(stderr, "error: %s\n", e.what()); }
  status = shard::cli::finish_out(status);
  if (shard::cli::work_is_left()) _exit(status);  // all is said
  return status;
}
