// The `test` blocks of one script: which there are, and what becomes of them.
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

}  // namespace shard::cli
