// shard export: a script is run on arrays that have types and layouts and no elements, and the programs of its compiled
// calls are written as StableHLO, which JAX and other engines load; beside the text its names and layouts, and a
// program of Python that runs it.
#include <cstdio>
#include <set>

#include "interpreter/cli/cost/prediction.h"
#include "interpreter/lang/staging/exported.h"
#include "stdlib/packed_text.h"

namespace shard::cli {
namespace {

// exported.py, which loads X.mlir and X.json that lie next to it; as a program it makes arguments, runs, and prints the
// results.
std::string python_for(const std::string& name) {
  std::string out = stdlib::unpacked(stdlib::program_texts(), "exported");
  for (std::size_t at = 0; (at = out.find("{name}", at)) != std::string::npos;) out.replace(at, 6, name);
  return out;
}

bool write_call(const lang::CompiledCall& call, hlo::Form form, DryRun& script, const std::string& base, bool python) {
  const grammar::SourceMap& sources = script.sources();
  const hlo::Module module = lang::exported(call, form, script.interpreter().context().table(), sources);
  const std::size_t folder = base.find_last_of('/');
  if (!write_file(base + ".mlir", module.text) ||
      !write_file(base + ".json", lang::exported_json(call, form, module, sources)) ||
      (python && !write_file(base + ".py", python_for(folder == std::string::npos ? base : base.substr(folder + 1)))))
    return false;
  write_out(base + ".mlir: " + call.name + ", " + std::to_string(call.given.size()) + " arguments, " +
            std::to_string(module.collectives) + " collectives\n");
  return true;
}

int refuse_words(const std::string& what, const std::string& help) {
  std::fprintf(stderr, "error: %s\nhelp: %s\n", what.c_str(), help.c_str());
  return 1;
}

int export_programs(const Arguments& a) {
  const std::string name = a.value("--function"), word = a.value("--form");
  const bool all = a.has("--all");
  if (name.empty() && !all)
    return refuse_words("which function shall be written?", "--function NAME, or --all for every compiled call");
  if (!word.empty() && !hlo::form_of(word))
    return refuse_words("there is no form '" + word + "'", "manual, replica or auto");
  const hlo::Form form = lang::form_named(word.empty() ? "manual" : word);
  std::string text;
  if (!read_script(a.words[0], text)) return 1;
  bool stopped_there = false;
  DryRun script(a.settings, true);
  // Calls that were compiled before the script asks for what only a run knows are there all the same.
  const auto met = [&](const grammar::Diagnostic& d, const grammar::SourceMap& sources) {
    const bool later = (d.code == "unknown" || d.code == "trace") &&
                       std::any_of(script.calls().begin(), script.calls().end(),
                                   [&](const Prediction& f) { return all || f.call.name == name; });
    if (!later) return tell(d, sources);
    std::fprintf(stderr, "note: followed up to line %d, which needs data: %s\n", source_line(sources, d.span),
                 d.message.c_str());
    stopped_there = true;
  };
  if (const int status = script.run(a.words[0], std::move(text), met); status && !stopped_there) return status;
  script.tell_passed_over();
  for (const std::string& file : script.not_written())
    std::fprintf(stderr, "note: '%s' is not written\n", file.c_str());
  std::vector<const lang::CompiledCall*> chosen;
  std::string there;
  for (const Prediction& f : script.calls()) {
    there += (there.empty() ? "" : ", ") + f.call.name;
    if (all || f.call.name == name) chosen.push_back(&f.call);
  }
  if (chosen.empty())
    return refuse_words("no compiled function is called '" + name + "'", "compiled functions of this script: " + there);
  if (!all) chosen = {chosen.back()};  // as it was called last
  std::string given = a.value("-o");
  if (given.ends_with(".mlir")) given.resize(given.size() - 5);
  std::set<std::string> taken;
  return guarded(script.interpreter(), [&] {
    for (const lang::CompiledCall* call : chosen) {
      std::string base = all && !given.empty() ? given + "_" + call->name : given.empty() ? call->name : given;
      for (int k = 2; !taken.insert(base).second; ++k)
        base = base.substr(0, base.find_last_of('~')) + "~" + std::to_string(k);
      if (!write_call(*call, form, script, base, a.has("--python")))
        throw runtime::RuntimeError("io", "'" + base + "' cannot be written");
    }
    flush_out();
  });
}

}  // namespace

Command export_command() {
  return {"export",
          "Write a compiled function of a script as StableHLO, which JAX and other engines load; no data is needed",
          {{"file", "The script (- reads it from standard input)", Option::Word, true},
           {"--function", "The jit or manual function, with the arguments it was last called with", Option::Value},
           {"--all", "Every compiled call, each in a file of its own"},
           {"--form",
            "manual: whole arrays at the border (the default); replica: the blocks of one device, for any reader; "
            "auto: the whole graph, for XLA to cut",
            Option::Value},
           {"-o", "Where to write it: X.mlir, with X.json for names and layouts", Option::Value},
           {"--python", "Write X.py too, which runs it in JAX"}},
          true,
          export_programs};
}

}  // namespace shard::cli
