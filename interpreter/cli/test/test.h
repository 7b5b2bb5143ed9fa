// The parts of `shard test`: the tests of one script and what becomes of them (test_file.cpp), several scripts at once
// (test_jobs.cpp), what is shown and kept (test_report.cpp).
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "interpreter/cli/session.h"

namespace shard::cli {

struct TestResult {
  enum Status : unsigned char {
    Passed,
    Failed,
    Skipped,
    NotRun,  // it stands behind an error outside of the tests
  };
  Status status = Passed;
  std::string file, name;  // no name: the script outside of its tests
  double seconds = 0;
  std::string text;  // of a failure: the error as people read it
};

// Words that must all occur in "FILE: NAME", whatever their case; none: every test.
class TestFilter {
 public:
  explicit TestFilter(const std::string& words);
  bool takes(const std::string& file, const std::string& name) const;
  bool all() const { return words_.empty(); }

 private:
  std::vector<std::string> words_;
};

struct TestTitle {
  std::string name;
  bool skip = false;
};
struct TestScript {
  std::string path, text;
  std::vector<TestTitle> tests;  // at the top level, in order
  bool broken = false;           // the text is no program: running it tells why
};
// False, and a sentence on standard error, where the file cannot be read.
bool read_tests(const std::string& path, TestScript& out);

// Runs the script with those of its tests that the filter takes; each result is told as it is known. Gives 0, or the
// status of a program that a signal stops.
int run_tests(TestScript script, const Settings& settings, const TestFilter& filter,
              const std::function<void(TestResult)>& told);

// ---- scripts of `--jobs N`, each in a process of its own: what one prints stands together, and one that crashes is a
// failure like another

// Results come script by script, in the order of the scripts. Gives 0, or the status of a program that a signal stops.
int run_test_jobs(std::vector<TestScript> scripts, int jobs, const Settings& settings, const TestFilter& filter,
                  const std::function<void(TestResult)>& told);

// ---- a line for each test, all failures in one place at the end, the counts; a JUnit file

class TestReport {
 public:
  void add(TestResult r);  // prints its line
  // Failures with their text, then "N passed, N failed, N skipped".
  void finish();
  // The form that continuous integration reads; whole or not at all. False, and a sentence, where it cannot be written.
  bool write_junit(const std::string& path) const;
  int failed() const { return count(TestResult::Failed); }
  std::size_t size() const { return results_.size(); }

 private:
  int count(TestResult::Status status) const;
  std::vector<TestResult> results_;
};

}  // namespace shard::cli
