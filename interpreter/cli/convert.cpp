// shard convert: trees of arrays from one form to another, without a script.
#include "stdlib/host/storage/convert.h"

#include "interpreter/cli/command.h"

namespace shard::cli {

Command convert_command() {
  return {"convert",
          "Write what a file or checkpoint folder holds in another form: shard convert run/step_100/ model.safetensors",
          {{"from", "A file or folder that `load` reads", Option::Word, true},
           {"to", "A folder (ending in /), or a file whose ending says the format", Option::Word, true}},
          false,
          [](const Arguments& a) {
            const auto machine = make_machine(a.settings);
            return guarded(machine->interpreter(),
                           [&] { stdlib::convert(machine->interpreter(), a.words[0], a.words[1]); });
          }};
}

}  // namespace shard::cli
