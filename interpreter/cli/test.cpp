// shard test: scripts together with their `test` blocks, in order; a failure does not end it.
#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "interpreter/cli/command.h"
#include "interpreter/cli/test/test.h"

namespace shard::cli {
namespace {

namespace fs = std::filesystem;

// Scripts that are named, and those with tests in the folders that are. False where one cannot be read.
bool find_scripts(const std::vector<std::string>& paths, std::vector<TestScript>& out) {
  bool all = true;
  for (const std::string& path : paths.empty() ? std::vector<std::string>{"."} : paths) {
    std::error_code unknown;
    const bool folder = fs::is_directory(path, unknown);
    for (const std::string& file : scripts_of({path})) {
      TestScript script;
      if (!read_tests(file, script)) {
        all = false;
        continue;
      }
      if (!folder || script.broken || !script.tests.empty()) out.push_back(std::move(script));
    }
  }
  return all;
}

int no_tests(const TestFilter& filter, const std::string& words) {
  flush_out();
  return misused("no test found" + (filter.all() ? ": a test is `test \"what holds\" { ... }` in a .shard file"
                                                 : " whose file and name have '" + words + "'"));
}

int list(const std::vector<TestScript>& scripts, const TestFilter& filter, const std::string& words) {
  int found = 0;
  for (const TestScript& s : scripts)
    for (const TestTitle& t : s.tests)
      if (filter.takes(s.path, t.name)) {
        ++found;
        write_out(s.path + ": " + t.name + (t.skip ? " (skipped)" : "") + "\n");
      }
  return found ? 0 : no_tests(filter, words);
}

int test(const Arguments& a) {
  const std::string jobs_text = a.value("--jobs");
  const std::optional<int> jobs = jobs_text.empty() ? 1 : number_of(jobs_text, 1, 1024);
  if (!jobs) return misused("--jobs takes a number from 1 to 1024, not '" + jobs_text + "'");
  const std::string words = a.value("--filter");
  const TestFilter filter(words);
  std::vector<TestScript> scripts;
  const bool all_read = find_scripts(a.words, scripts);
  if (a.has("--list")) return all_read ? list(scripts, filter, words) : 1;
  if (!filter.all())
    std::erase_if(scripts, [&](const TestScript& s) {
      return !s.broken && std::none_of(s.tests.begin(), s.tests.end(),
                                       [&](const TestTitle& t) { return filter.takes(s.path, t.name); });
    });
  TestReport report;
  const auto told = [&](TestResult r) { report.add(std::move(r)); };
  int stopped_with = 0;
  const bool apart = a.has("--engine-process");
  if (apart && !a.settings.engine.starts_with("xla")) return misused("--engine-process is for --engine xla");
  if (*jobs > 1 || apart)
    stopped_with = run_test_jobs(std::move(scripts), *jobs, a.settings, filter, told);
  else
    for (TestScript& s : scripts)
      if (!stopped_with) stopped_with = run_tests(std::move(s), a.settings, filter, told);
  if (report.size() == 0 && all_read && !stopped_with) return no_tests(filter, words);
  report.finish();
  if (const std::string path = a.value("--junit"); !path.empty() && !report.write_junit(path)) return 1;
  if (stopped_with) return stopped_with;
  return report.failed() || !all_read ? 1 : 0;
}

}  // namespace

Command test_command() {
  return {"test",
          "Run scripts together with their `test` blocks",
          {{"paths", "Scripts, and folders of them (default: this folder)", Option::Words},
           {"--filter", "Only tests whose file and name have all of these words", Option::Value},
           {"--jobs", "How many scripts run at a time (default: 1)", Option::Value},
           kEngine,
           kEngineProcess,
           {"--junit", "Write the results to this file as JUnit XML", Option::Value},
           {"--list", "Name the tests and run none"}},
          true,
          test};
}

}  // namespace shard::cli
