// shard explain: each call that a script compiles is told, once a function and signature. The script is evaluated on
// the target that computes nothing: its arrays are types with layouts, so nothing is trained, printed or written.
// Conditions that only a run knows take both parts, and long loops end early, as in `shard check`.
#include <cstdio>
#include <set>

#include "interpreter/lang/check/check.h"
#include "interpreter/lang/staging/explain.h"
#include "interpreter/repl/command.h"

namespace shard::repl {
namespace {

int explain(const Arguments& a) {
  const std::string& path = a.words[0];
  std::string text;
  if (!read_script(path, text)) return 1;
  std::set<std::string> told, not_written;
  embed::Machine* engine = nullptr;
  lang::Options options;
  options.output = [](std::string_view) {};
  options.warning = [](const grammar::Diagnostic&, const grammar::SourceMap&) {};  // `shard check` tells them
  options.not_written = [&](const std::string& file) { not_written.insert(file); };
  options.compiled = [&](const lang::CompiledCall& call) {
    std::string one = lang::explained(call, engine->interpreter().sources());
    if (told.contains(one)) return;
    write_out((told.empty() ? "" : "\n") + one);
    flush_out();
    told.insert(std::move(one));
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
  if (named < not_written.size()) std::fprintf(stderr, "note: nor are %zu more\n", not_written.size() - named);
  if (status == 0 && told.empty()) write_out("nothing is compiled: the script calls no jit and no manual function\n");
  flush_out();
  return status;
}

}  // namespace

Command explain_command() {
  return {"explain",
          "Tell what each compiled call of a script does between devices; nothing is computed, printed or written",
          {{"file", "The script (- reads it from standard input)", Option::Word, true}},
          true,
          explain};
}

}  // namespace shard::repl
