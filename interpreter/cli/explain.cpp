// shard explain: each call that a script compiles is told, once a function and signature. The script is evaluated on
// the target that computes nothing: its arrays are types with layouts, so nothing is trained, printed or written.
// Conditions that only a run knows take both parts, and long loops end early, as in `shard check`. With `--chip` it is
// run as `shard estimate` runs it.
#include <cstdio>
#include <set>

#include "interpreter/cli/command.h"
#include "interpreter/cli/cost/attempts.h"
#include "interpreter/lang/check/static_check.h"
#include "interpreter/lang/staging/advice.h"
#include "stdlib/host/cost/chips.h"

namespace shard::cli {
namespace {

// On a chip: each call with the price of its collectives; of the one that takes most, what would make them cheaper.
int explain_on(const Arguments& a, std::string text) {
  const std::string& path = a.words[0];
  const std::vector<cost_model::Chip> chips = read_chips(a.value("--chip"), a.settings.devices);
  if (chips.empty()) return 1;
  const std::string as_written = text;
  DryRun script(a.settings, true, simulated(chips));
  if (const int status = script.run(path, std::move(text), tell)) return status;
  script.tell_passed_over();
  std::string out;
  for (const cost_model::Chip& chip : chips) {
    const Prediction& most = script.on(chip);
    for (const Prediction& f : script.calls())
      out += (out.empty() ? "" : "\n") + stdlib::explained_on(f.call, f.of, chip, script.sources());
    const auto better = constraints_text({path, as_written, a.settings, most, chip, script.sources()});
    if (!better) return 130;
    out += *better;
  }
  return print_out(out);
}

int explain(const Arguments& a) {
  const std::string& path = a.words[0];
  std::string text;
  if (!read_script(path, text)) return 1;
  if (!a.value("--chip").empty()) return explain_on(a, std::move(text));
  std::set<std::string> told, not_written;
  embed::Machine* engine = nullptr;
  lang::Options options;
  options.output = [](std::string_view) {};
  options.warning = [](const grammar::Diagnostic&, const grammar::SourceMap&) {};  // `shard check` tells them
  options.not_written = [&](const std::string& file) { not_written.insert(file); };
  options.compiled = [&](const lang::CompiledCall& call) {
    lang::Interpreter& in = engine->interpreter();
    const std::string one = stdlib::explained_call(call, in.sources());
    if (!told.insert(one).second) return;
    write_out((told.size() > 1 ? "\n" : "") + one +
              (a.has("--advise") ? lang::advice_text(lang::advise(in, call)) : ""));
    flush_out();
  };
  const auto machine = make_machine(a.settings, std::move(options));
  engine = machine.get();
  lang::Interpreter& in = machine->interpreter();
  lang::Check check(in);
  in.context().set_target(in.context().target("abstract"));
  int status = guarded(in, [&] { in.run(path, std::move(text)); });
  for (const grammar::Diagnostic& d : check.errors) tell(d, in.sources());
  if (!check.errors.empty() && !stopped(status)) status = 1;
  constexpr std::size_t kFiles = 5;  // a loop may name many
  std::size_t named = 0;
  for (auto file = not_written.begin(); file != not_written.end() && named < kFiles; ++file, ++named)
    std::fprintf(stderr, "note: '%s' is not written\n", file->c_str());
  if (const std::size_t more = not_written.size() - named; more > 0)
    std::fprintf(stderr, "note: nor %s %zu more\n", more == 1 ? "is" : "are", more);
  if (status == 0 && told.empty()) write_out("nothing is compiled: the script calls no jit and no manual function\n");
  flush_out();
  return status;
}

}  // namespace

Command explain_command() {
  return {"explain",
          "Explain what each compiled call of a script does between devices; nothing is computed, printed or written",
          {{"file", "The script (- reads it from standard input)", Option::Word, true},
           {"--advise", "Constraints that would make each call send less, as they are to be written"},
           {"--chip", "Say what each collective takes on this chip, and which constraints would make it cheaper",
            Option::Value}},
          true,
          explain};
}

}  // namespace shard::cli
