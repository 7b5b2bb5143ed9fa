// The table of commands. To add one: its file, and its row here.
#include "interpreter/repl/command.h"

namespace shard::repl {

std::span<const Command> commands() {
  static const Command kCommands[] = {
      run_command(),  repl_command(),    test_command(),    check_command(),  fmt_command(),
      help_command(), explain_command(), convert_command(), launch_command(), {"lsp", "Comes with a later version", {}},
  };
  return kCommands;
}

const Command* find_command(std::string_view name) {
  for (const Command& c : commands())
    if (c.name == name) return &c;
  return nullptr;
}

}  // namespace shard::repl
