#include "interpreter/cli/test/test.h"

#include <algorithm>
#include <cctype>
#include <chrono>
#include <sstream>

#include "grammar/parse.h"

namespace shard::cli {
namespace {

std::string lower_case(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

class Stopwatch {
 public:
  double seconds() const { return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count(); }

 private:
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

}  // namespace

TestFilter::TestFilter(const std::string& words) {
  std::istringstream in(lower_case(words));
  for (std::string word; in >> word;) words_.push_back(word);
}

bool TestFilter::takes(const std::string& file, const std::string& name) const {
  const std::string text = lower_case(file + ": " + name);
  return std::all_of(words_.begin(), words_.end(),
                     [&](const std::string& w) { return text.find(w) != std::string::npos; });
}

bool read_tests(const std::string& path, TestScript& out) {
  out.path = path;
  if (!read_script(path, out.text)) return false;
  grammar::SourceMap sources;
  const grammar::ParseResult parsed = grammar::parse(sources, sources.add(path, out.text));
  out.broken = !parsed.module;
  if (parsed.module)
    for (const grammar::StmtPtr& s : parsed.module->body)
      if (auto* test = std::get_if<grammar::TestStmt>(&s->node)) out.tests.push_back({test->name, test->skip});
  return true;
}

int run_tests(TestScript script, const Settings& settings, const TestFilter& filter,
              const std::function<void(TestResult)>& told) {
  std::string text;  // of what went wrong
  const Teller collect = [&](const grammar::Diagnostic& d, const grammar::SourceMap& sources) {
    text += report_text(d, sources);
  };
  std::size_t met = 0;
  int stopped_with = 0;
  embed::Machine* engine = nullptr;
  lang::Options options;
  options.test = [&](const grammar::TestStmt& test, grammar::Span, const std::function<void()>& body) {
    ++met;
    if (!filter.takes(script.path, test.name)) return;
    TestResult r{TestResult::Skipped, script.path, test.name, 0, ""};
    if (!test.skip) {
      text.clear();
      const Stopwatch watch;
      const int status = guarded(engine->interpreter(), body, collect);
      r.status = status == 0 ? TestResult::Passed : TestResult::Failed;
      r.seconds = watch.seconds();
      r.text = std::move(text);
      text.clear();
      if (stopped(status)) stopped_with = status;
    }
    told(std::move(r));
    if (stopped_with) throw grammar::Error("interrupt", {}, "interrupted");
  };
  const auto machine = make_machine(with_head(settings, script.text), std::move(options));
  engine = machine.get();
  const Stopwatch watch;
  const int status = guarded(
      machine->interpreter(), [&] { machine->interpreter().run(script.path, std::move(script.text)); }, collect);
  if (stopped(status)) stopped_with = status;
  if (status != 0 && !stopped_with) told({TestResult::Failed, script.path, "", watch.seconds(), text});
  for (; met < script.tests.size(); ++met)
    if (filter.takes(script.path, script.tests[met].name))
      told({TestResult::NotRun, script.path, script.tests[met].name, 0, ""});
  return stopped_with;
}

}  // namespace shard::cli
