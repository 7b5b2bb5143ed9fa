// shard help: what a builtin, a word, a module or a command does, or what speaks of some words; the reference page.
#include <cstdio>

#include "grammar/parse.h"
#include "interpreter/repl/command.h"
#include "interpreter/repl/terminal.h"
#include "stdlib/stdlib.h"

namespace shard::repl {
namespace {

int help(const Arguments& a) {
  const auto machine = make_machine(a.settings);
  lang::Interpreter& in = machine->interpreter();
  std::string topic;
  for (const std::string& word : a.words) topic += (topic.empty() ? "" : " ") + word;
  if (a.has("--all")) {
    write_out(stdlib::reference_page(in));
    flush_out();
    return 0;
  }
  if (topic.empty()) {
    std::fputs(
        "error: help of what? `shard help matmul` tells of one function, `shard help average over devices` finds what "
        "speaks of it, `shard help --all` tells of all builtins\n",
        stderr);
    return 2;
  }
  int status = 0;
  const int stopped = guarded(in, [&] {
    const bool command = find_command(topic) != nullptr;
    std::string text = stdlib::help_named(in, topic);
    if (text.empty() && !command) text = stdlib::help_about(in, topic);
    write_out(fitted(text));
    if (command)
      write_out((text.empty() ? "" : "\n") + ("`" + topic + "` is a command of the program") +
                (text.empty() ? "" : " too") + ": `shard " + topic + " --help` tells of it.\n");
    if (!text.empty() || command) return;
    std::fprintf(stderr, "error: nothing is called '%s' or speaks of it\n", topic.c_str());
    std::vector<std::string> names = stdlib::builtin_functions(in);
    for (std::string_view word : grammar::all_keywords()) names.emplace_back(word);
    if (const auto near = grammar::near_miss(topic, names))
      std::fprintf(stderr, "note: did you mean `shard help %s`?\n", near->c_str());
    status = 1;
  });
  return stopped ? stopped : status;
}

}  // namespace

Command help_command() {
  return {
      "help",
      "What a function or a word does: shard help matmul; what speaks of some words: shard help average over devices",
      {{"name", "A builtin, a word of the language, a module (nn), module.name, or some words", Option::Words},
       {"--all", "The reference page of all builtins, as Markdown"}},
      false,
      help};
}

}  // namespace shard::repl
