// Scripts of `shard test --jobs N`, each in a process of its own: what one prints stands together, and one that crashes
// is a failure like another.
#pragma once
#include "interpreter/cli/test/test_file.h"

namespace shard::cli {

// Results come script by script, in the order of the scripts. Gives 0, or the status of a program that a signal stops.
int run_test_jobs(std::vector<TestScript> scripts, int jobs, const Settings& settings, const TestFilter& filter,
                  const std::function<void(TestResult)>& told);

}  // namespace shard::cli
