// shard check: what is wrong with a script, without running it. First syntax and names, of the whole file; then the script is evaluated with
// every array replaced by its type: operations are recorded, never run, so that shapes and layouts are checked as they would be in a
// run. Host code runs. Where the script asks for a value that only a run has, checking ends there and says so.
#include <cstdio>

#include "grammar/parse.h"
#include "interpreter/lang/impl.h"
#include "interpreter/lang/report.h"
#include "interpreter/repl/commands.h"

namespace shard::repl {
namespace {

using grammar::Diagnostic;
using grammar::SourceMap;
using grammar::Span;

// Diagnostics of one engine told with the sources of all files.
class Moved {
 public:
  Moved(const SourceMap& from, SourceMap& to) : from_(from), to_(to) {}

  Diagnostic operator()(Diagnostic d) {
    move(d.span);
    for (grammar::Fix& f : d.fixes) move(f.span);
    for (grammar::Frame& f : d.calls) move(f.call);
    return d;
  }

 private:
  void move(Span& s) {
    if (!from_.has(s.source)) return;
    for (const auto& [old, fresh] : known_)
      if (old == s.source) return void(s.source = fresh);
    const std::uint32_t fresh = to_.add(from_.at(s.source).name(), from_.at(s.source).text());
    known_.emplace_back(s.source, fresh);
    s.source = fresh;
  }

  const SourceMap& from_;
  SourceMap& to_;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> known_;
};

class Checker {
 public:
  Checker(const Settings& settings, bool names_only) : settings_(settings), names_only_(names_only) {}

  void check(const std::string& path, const std::string& text) {
    lang::Options options;
    options.output = [](std::string_view) {};               // print prints nothing
    options.test = [](const std::string&, Span, const std::function<void()>& body) { body(); };
    const auto machine = make_machine(settings_, std::move(options));
    if (names(machine->interpreter(), path, text) && !names_only_) types(machine->interpreter(), path, text);
  }

  SourceMap sources;
  std::vector<Diagnostic> errors, notes;

 private:
  bool names(lang::Interpreter& in, const std::string& path, const std::string& text) {
    const std::size_t before = errors.size();
    const grammar::ParseResult parsed = grammar::parse(sources, sources.add(path, text));
    errors.insert(errors.end(), parsed.diagnostics.begin(), parsed.diagnostics.end());
    lang::ModuleEnv module;
    const lang::ResolveHost host{[&](const std::string& name) { return in.impl().builtin(name); }, [&] { return in.impl().builtin_names(); }};
    if (parsed.module) lang::resolve_names(parsed.module, module, host, errors);
    return errors.size() == before;
  }

  void types(lang::Interpreter& in, const std::string& path, const std::string& text) {
    Moved moved(in.sources(), sources);
    try {
      in.trace({}, [&](std::span<const trace::Tensor>) {
        in.run(path, text);
        return std::vector<trace::Tensor>{};
      }, true);
    } catch (const lang::Errors& e) {
      for (const Diagnostic& d : e.all) errors.push_back(moved(d));
    } catch (const grammar::Error& e) {
      (e.diagnostic.code == "trace" ? notes : errors).push_back(moved(e.diagnostic));   // a value that only a run has
    } catch (const runtime::RuntimeError& e) {
      (e.code == "trace" ? notes : errors).push_back(moved({e.code, in.context().span(), e.what(), {}, {}, {}}));
    }
  }

  const Settings& settings_;
  bool names_only_;
};

}  // namespace

int check_files(const std::vector<std::string>& paths, const Settings& settings, bool json, bool names_only) {
  Checker checker(settings, names_only);
  int status = 0;
  for (const std::string& path : paths) {
    std::string text;
    if (read_script(path, text)) checker.check(path, text);
    else status = 1;
  }
  if (json) {
    const std::string text = lang::report_json(checker.errors, checker.sources);
    std::fwrite(text.data(), 1, text.size(), stdout);
    std::fflush(stdout);
  } else {
    for (const Diagnostic& d : checker.errors) tell(d, checker.sources);
  }
  for (const Diagnostic& d : checker.notes) {
    std::string place;
    if (checker.sources.has(d.span.source)) {
      const grammar::Source& source = checker.sources.at(d.span.source);
      place = source.name() + ":" + std::to_string(source.position(d.span.begin).line) + ": ";
    }
    std::fprintf(stderr, "%schecked up to here: %s\n", place.c_str(), d.message.c_str());
  }
  return checker.errors.empty() ? status : 1;
}

}  // namespace shard::repl
