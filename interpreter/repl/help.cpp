// shard help: what a builtin, a module or a command does; the reference page.
#include <cctype>
#include <cstdio>

#include "interpreter/repl/command.h"
#include "stdlib/stdlib.h"

namespace shard::repl {
namespace {

int help(const Arguments& a) {
  const auto machine = make_machine(a.settings);
  if (a.has("--all")) {
    write_out(stdlib::reference_page(machine->interpreter()));
    flush_out();
    return 0;
  }
  const std::string name = a.words.empty() ? "" : a.words[0];
  if (name.empty()) {
    std::fprintf(
        stderr, "error: help of what? `shard help matmul` tells of one function, `shard help --all` of all builtins\n");
    return 2;
  }
  for (char c : name)
    if (!std::isalnum(static_cast<unsigned char>(c)) && c != '_' && c != '.') {
      std::fprintf(stderr, "error: '%s' is no name; ask for one, such as `shard help matmul`\n", name.c_str());
      return 2;
    }
  if (find_command(name) && !machine->interpreter().builtin(name)) {
    std::printf("`%s` is a command of the program: `shard %s --help` tells of it.\n", name.c_str(), name.c_str());
    return 0;
  }
  const std::size_t dot = name.find('.');
  const std::string module = name.substr(0, dot);  // nn.linear, or nn for what is in it
  const std::string import =
      dot != std::string::npos || stdlib::embedded_module(module) ? "import " + module + "\n" : "";
  return guarded(machine->interpreter(), [&] { machine->interpreter().run("help", import + "help(" + name + ")\n"); });
}

}  // namespace

Command help_command() {
  return {"help",
          "What a function does: shard help matmul",
          {{"name", "A builtin, a module (nn), or module.name", Option::Word},
           {"--all", "The reference page of all builtins, as Markdown"}},
          false,
          help};
}

}  // namespace shard::repl
