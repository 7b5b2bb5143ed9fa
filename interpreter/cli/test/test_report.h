// What `shard test` shows: a line for each test, all failures in one place at the end, the counts; a JUnit file.
#pragma once
#include "interpreter/cli/test/test_file.h"

namespace shard::cli {

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
