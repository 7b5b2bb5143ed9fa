#include "interpreter/cli/test/test.h"

#include <algorithm>
#include <cstdio>
#include <map>

#include "stdlib/host/files/text.h"

namespace shard::cli {
namespace {

std::string seconds_text(double s, const char* format = "%.2f") {
  char out[32];
  std::snprintf(out, sizeof out, format, s);
  return out;
}

std::string title(const TestResult& r) {
  return r.file + ": " + (r.name.empty() ? "an error outside of its tests" : r.name);
}

std::string xml(std::string_view text) { return stdlib::xml_text(text, "\n\t"); }

std::string junit_case(const TestResult& r) {
  std::string out = "    <testcase classname=\"" + xml(r.file) + "\" name=\"" +
                    xml(r.name.empty() ? "outside of its tests" : r.name) + "\" time=\"" +
                    seconds_text(r.seconds, "%.6f") + "\"";
  if (r.status == TestResult::Passed) return out + "/>\n";
  if (r.status == TestResult::Failed)
    return out + "><failure message=\"" + xml(r.text.substr(0, r.text.find('\n'))) + "\">" + xml(r.text) +
           "</failure></testcase>\n";
  return out + "><skipped" + (r.status == TestResult::NotRun ? " message=\"not run\"" : "") + "/></testcase>\n";
}

}  // namespace

int TestReport::count(TestResult::Status status) const {
  return static_cast<int>(
      std::count_if(results_.begin(), results_.end(), [&](const TestResult& r) { return r.status == status; }));
}

void TestReport::add(TestResult r) {
  constexpr const char* kWords[] = {"ok   ", "FAIL ", "skip ", "not run "};
  const bool timed = r.status == TestResult::Passed || r.status == TestResult::Failed;
  write_out(kWords[r.status] + title(r) + (timed ? " (" + seconds_text(r.seconds) + " s)" : "") + "\n");
  flush_out();
  results_.push_back(std::move(r));
}

void TestReport::finish() {
  if (failed() > 0) {
    write_out("\nfailures:\n");
    for (const TestResult& r : results_)
      if (r.status == TestResult::Failed) write_out("\n" + title(r) + "\n" + r.text);
    write_out("\n");
  }
  write_out(std::to_string(count(TestResult::Passed)) + " passed, " + std::to_string(failed()) + " failed, " +
            std::to_string(count(TestResult::Skipped)) + " skipped\n");
  flush_out();
}

bool TestReport::write_junit(const std::string& path) const {
  std::map<std::string, std::vector<const TestResult*>> suites;
  for (const TestResult& r : results_) suites[r.file].push_back(&r);
  std::string out = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n";
  for (const auto& [file, results] : suites) {
    int failures = 0, left_out = 0;
    double seconds = 0;
    std::string cases;
    for (const TestResult* r : results) {
      failures += r->status == TestResult::Failed;
      left_out += r->status == TestResult::Skipped || r->status == TestResult::NotRun;
      seconds += r->seconds;
      cases += junit_case(*r);
    }
    out += "  <testsuite name=\"" + xml(file) + "\" tests=\"" + std::to_string(results.size()) + "\" failures=\"" +
           std::to_string(failures) + "\" errors=\"0\" skipped=\"" + std::to_string(left_out) + "\" time=\"" +
           seconds_text(seconds, "%.6f") + "\">\n" + cases + "  </testsuite>\n";
  }
  out += "</testsuites>\n";
  return write_file(path, out);
}

}  // namespace shard::cli
