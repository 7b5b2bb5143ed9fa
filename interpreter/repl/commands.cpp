// The table of commands. To add one: its file, and its row here.
#include "interpreter/repl/command.h"

#include <charconv>

namespace shard::repl {

std::span<const Command> commands() {
  static const Command kCommands[] = {
      run_command(),  repl_command(),    test_command(),    check_command(),  fmt_command(),
      help_command(), explain_command(), convert_command(), launch_command(), {"lsp", "Comes with a later version", {}},
  };
  return kCommands;
}

std::optional<int> number_of(std::string_view text, int least, int most) {
  int n = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
  if (error != std::errc() || end != text.data() + text.size() || n < least || n > most) return std::nullopt;
  return n;
}

const Command* find_command(std::string_view name) {
  for (const Command& c : commands())
    if (c.name == name) return &c;
  return nullptr;
}

}  // namespace shard::repl
