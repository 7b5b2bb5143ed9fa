// shard export: a script is run on arrays that have types and layouts and no elements, and the program of a compiled
// call is written as StableHLO, which JAX and other engines load.
#include "interpreter/hlo/module.h"
#include "interpreter/repl/foretold.h"

namespace shard::repl {
namespace {

int export_program(const Arguments& a) {
  std::string text;
  if (!read_script(a.words[0], text)) return 1;
  Foresight script(a.settings, true, "export");
  if (const int status = script.run(a.words[0], std::move(text), tell)) return status;
  const std::string name = a.value("--function");
  const Foretold* found = nullptr;
  for (const Foretold& f : script.calls())
    if (name.empty() || f.call.name == name) found = &f;
  if (!found) {
    std::fprintf(stderr, "error: no compiled function is called '%s'\n", name.c_str());
    return 1;
  }
  hlo::How how{.name = found->call.name, .arguments = found->call.given, .sources = &script.sources()};
  write_out(hlo::module_of(found->call.plan->program(), how).text);
  flush_out();
  return 0;
}

}  // namespace

Command export_command() {
  return {"export",
          "Write a compiled function of a script as StableHLO, which JAX and other engines load",
          {{"file", "The script (- reads it from standard input)", Option::Word, true},
           {"--function", "The jit or manual function, with the arguments it was last called with", Option::Value}},
          true,
          export_program};
}

}  // namespace shard::repl
