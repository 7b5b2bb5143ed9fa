#include "interpreter/cli/checker.h"

#include "grammar/parse.h"
#include "grammar/stable_sort.h"
#include "interpreter/cli/signals.h"
#include "interpreter/lang/eval/builtins.h"

namespace shard::cli {
namespace {

using grammar::Diagnostic;
using grammar::SourceMap;
using grammar::Span;

// Spans of one engine among the sources of all files.
class Moved {
 public:
  Moved(const SourceMap& from, SourceMap& to) : from_(from), to_(to) {}

  Diagnostic operator()(Diagnostic d) {
    move(d.span);
    for (grammar::Fix& f : d.fixes) move(f.span);
    for (grammar::Frame& f : d.calls) move(f.call);
    return d;
  }
  void move(Span& s) {
    if (!from_.has(s.source)) return;
    for (const auto& [old, fresh] : known_)
      if (old == s.source) return void(s.source = fresh);
    const std::uint32_t fresh = to_.add(from_.at(s.source).name(), from_.at(s.source).text());
    known_.emplace_back(s.source, fresh);
    s.source = fresh;
  }

 private:
  const SourceMap& from_;
  SourceMap& to_;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> known_;
};

}  // namespace

void Checker::check(const std::string& path, const std::string& text) {
  lang::Options inside = options;
  inside.output = [](std::string_view) {};  // print prints nothing
  inside.test = [](const grammar::TestStmt&, Span, const std::function<void()>& body) { body(); };
  warnings_.clear();  // denied or not, none ends the check
  inside.warning = [this](const Diagnostic& d, const SourceMap&) { warnings_.push_back(d); };
  if (parameters)
    inside.compiled = [this](const lang::CompiledCall& call) {
      if (options.compiled) options.compiled(call);
      if (check_) check_->lay_out(call);
    };
  machine = make_machine(with_head(settings_, text), std::move(inside));
  if (names_only_)
    names(machine->interpreter(), path, text);
  else
    types(machine->interpreter(), path, text);
}

void Checker::names(lang::Interpreter& in, const std::string& path, const std::string& text) {
  const grammar::ParseResult parsed = grammar::parse(sources, sources.add(path, text));
  found.insert(found.end(), parsed.diagnostics.begin(), parsed.diagnostics.end());
  if (!parsed.module) return;
  lang::ModuleNames module;
  lang::NamesFound names;
  lang::resolve_names(parsed.module, module, in.builtins().for_names(), names);
  found.insert(found.end(), names.errors.begin(), names.errors.end());
  for (Diagnostic& d : names.warnings)
    if (in.wanted(d)) add_warning(std::move(d));
}

void Checker::types(lang::Interpreter& in, const std::string& path, const std::string& text) {
  lang::Check check(in);
  check.with_parameters = parameters;
  check_ = &check;
  in.context().set_target(in.context().target(target));
  const auto add = [&](const Diagnostic& d) { check.errors.push_back(d); };
  const Listening listening(in.context().pool().stop());
  if (running) running(&in);
  const std::shared_ptr<void> done(nullptr, [&](void*) {
    if (running) running(nullptr);
    check_ = nullptr;
  });
  try {
    in.run(path, text);
  } catch (const grammar::Error& e) {
    for (const Diagnostic& d : e.all())
      if (d.code != "unknown") add(d);
  } catch (const runtime::RuntimeError& e) {
    if (e.code != "unknown") add({e.code, in.context().span(), e.what(), {}, {}, {}});
  }
  check.finish();
  Moved moved(in.sources(), sources);
  for (const Diagnostic& d : check.errors) found.push_back(moved(d));
  for (const Diagnostic& d : check.notes) notes.push_back(moved(d));
  for (const Diagnostic& d : warnings_)  // which axes are used, a script shows that comes to its end
    if (d.code != "unused-axis" || check.errors.empty()) add_warning(moved(d));
  for (lang::Check::Let& l : check.lets) {
    if (!in.sources().has(l.span.source) || in.sources().at(l.span.source).name() != path) continue;  // of a module
    moved.move(l.span);
    moved.move(l.word);
    lets.push_back(std::move(l));
  }
}

void Checker::add_warning(Diagnostic d) {
  d.warning = !deny_;
  found.push_back(std::move(d));
}

Fixed with_safe_fixes(const grammar::SourceMap& sources, std::uint32_t source,
                      const std::vector<grammar::Diagnostic>& found) {
  struct One {
    const grammar::Fix* fix;
    const grammar::Diagnostic* of;
  };
  std::vector<One> all;
  for (const grammar::Diagnostic& d : found)
    for (const grammar::Fix& f : d.fixes)
      if (f.safe && f.span.source == source) all.push_back({&f, &d});
  stable_sort(all, [](const One& a, const One& b) { return a.fix->span.begin < b.fix->span.begin; });
  const grammar::Source& file = sources.at(source);
  Fixed out;
  std::size_t done = 0;  // of the old text
  for (const One& one : all) {
    if (one.fix->span.begin < done) continue;
    out.text += file.text().substr(done, one.fix->span.begin - done) + one.fix->replacement;
    done = one.fix->span.end;
    out.lines.push_back(file.name() + ":" + std::to_string(sources.line_of(one.fix->span)) + ": " + one.of->message +
                        ": fixed" + (one.fix->replacement.empty() ? "" : " with `" + one.fix->replacement + "`"));
  }
  out.text += file.text().substr(done);
  return out;
}

}  // namespace shard::cli
