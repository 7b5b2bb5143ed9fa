// shard explain: a script is run without its output, and each call that it compiles is told, once a function and
// signature, as soon as it is compiled. Layouts decide what devices say, and they are known for certain in a run alone.
#include <cstdio>
#include <set>

#include "interpreter/lang/staging/explain.h"
#include "interpreter/repl/command.h"

namespace shard::repl {
namespace {

int explain(const Arguments& a) {
  const std::string& path = a.words[0];
  std::string text;
  if (!read_script(path, text)) return 1;
  std::set<std::string> told;
  embed::Machine* engine = nullptr;
  lang::Options options;
  options.output = [](std::string_view) {};
  options.compiled = [&](const lang::CompiledCall& call) {
    std::string one = lang::explained(call, engine->interpreter().sources());
    if (told.contains(one)) return;
    write_out((told.empty() ? "" : "\n") + one);
    flush_out();
    told.insert(std::move(one));
  };
  const auto machine = make_machine(a.settings, std::move(options));
  engine = machine.get();
  const int status = guarded(machine->interpreter(), [&] { machine->interpreter().run(path, std::move(text)); });
  if (status == 0 && told.empty()) write_out("nothing is compiled: the script calls no jit and no manual function\n");
  flush_out();
  return status;
}

}  // namespace

Command explain_command() {
  return {"explain",
          "Run a script without its output and tell what each compiled call does between devices",
          {{"file", "The script (- reads it from standard input)", Option::Word, true}},
          true,
          explain};
}

}  // namespace shard::repl
