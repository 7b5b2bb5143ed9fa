// shard run: a script from its first line to its last.
#include "interpreter/repl/command.h"

namespace shard::repl {

Command run_command() {
  return {"run",
          "Run a script (- reads it from standard input)",
          {{"file", "The script", Option::Word, true}},
          true,
          [](const Arguments& a) {
            const std::string& path = a.words[0];
            std::string text;
            if (!read_script(path, text)) return 1;
            const auto machine = make_machine(a.settings);
            return guarded(machine->interpreter(), [&] { machine->interpreter().run(path, std::move(text)); });
          }};
}

}  // namespace shard::repl
