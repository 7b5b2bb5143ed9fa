// shard help: what a builtin, a word, a module or a command does, or what speaks of some words; the reference page.
#include <cstdio>

#include "grammar/characters.h"
#include "grammar/parse.h"
#include "interpreter/cli/command.h"
#include "interpreter/cli/repl/completion.h"
#include "interpreter/cli/terminal.h"
#include "runtime/array/dtype.h"
#include "stdlib/stdlib.h"

namespace shard::cli {
namespace {

// The words of the language by kind, a line each: editors' colours are made of it (grammar/editors).
std::string words_text(lang::Interpreter& in) {
  std::string out = "keywords:";
  for (std::string_view w : grammar::all_keywords()) (out += ' ') += w;
  out += "\nmodifiers:";
  for (std::string_view w : contextual_words()) (out += ' ') += w;
  out += "\ntypes:";
  for (int t = 0; t <= static_cast<int>(runtime::DType::Key); ++t)
    if (const auto name = runtime::name(static_cast<runtime::DType>(t)); grammar::is_dtype(name)) (out += ' ') += name;
  out += "\nfunctions:";
  for (const std::string& w : stdlib::builtin_functions(in)) (out += ' ') += w;
  return out + "\n";
}

// The commands and their options, a line each, parts between tabs: the man page and the shells' completions are made
// of it (manual.py).
std::string commands_text() {
  static constexpr std::string_view kKinds[] = {"flag", "word", "words", "value", "values"};
  std::string out;
  const auto add = [&](std::string_view of, std::span<const Option> options) {
    for (const Option& o : options)
      out += "option\t" + std::string(of) + "\t" + std::string(o.name) + "\t" +
             std::string(kKinds[static_cast<std::size_t>(o.kind)]) + "\t" + std::string(o.what) + "\n";
  };
  for (const Command& c : commands()) {
    out += "command\t" + std::string(c.name) + "\t" + std::string(c.what) + "\n";
    add(c.name, c.options);
    if (c.settings) add(c.name, setting_options());
    add(c.name, common_options());
  }
  return out;
}

int help(const Arguments& a) {
  if (a.has("--commands")) return print_out(commands_text());
  const auto machine = make_machine(a.settings);
  lang::Interpreter& in = machine->interpreter();
  const std::string topic = grammar::separated(a.words, " ");
  if (a.has("--all")) return print_out(stdlib::reference_page(in));
  if (a.has("--words")) return print_out(words_text(in));
  if (topic.empty()) return print_out(fitted(stdlib::help_subjects()));
  int status = 0;
  const int stopped = guarded(in, [&] {
    const bool command = find_command(topic) != nullptr;
    const std::string text = stdlib::help_on(in, topic);
    if (command) write_out("`" + topic + "` is a command of the program: `shard " + topic + " --help` explains it.\n");
    write_out((command && !text.empty() ? "\n" : "") + fitted(text));
    if (!text.empty() || command) return;
    std::fprintf(stderr, "error: nothing is called '%s' or speaks of it\n", topic.c_str());
    for (const std::string& hint : stdlib::help_hints(in, topic)) std::fprintf(stderr, "note: %s\n", hint.c_str());
    status = 1;
  });
  return stopped ? stopped : status;
}

}  // namespace

Command help_command() {
  return {
      "help",
      "What a function, a word or a subject is: shard help matmul, shard help tensor parallel; alone it lists subjects",
      {{"name",
        "A builtin, a word of the language, a module (nn), module.name, a name of another library (torch.cat), or some "
        "words",
        Option::Words},
       {"--all", "The reference page of all builtins, as Markdown"},
       {"--words", "The words of the language by kind, for editors"},
       {"--commands", "The commands and their options between tabs, for man page and completions"}},
      false,
      help};
}

}  // namespace shard::cli
