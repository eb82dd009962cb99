// Every reference solution of the benchmark passes its tests in a jail, and every wrong one fails.
#include <chrono>
#include <future>
#include <string>

#include "runtime/benchmark/suite.h"
#include "tests/kernel/runner_fixture.h"

namespace {

using namespace std::chrono_literals;
using runtime::benchmark::SuiteTask;

class SuitePrograms : public RunnerTest, public testing::WithParamInterface<std::string> {
 protected:
  static runtime::RunRequest request_for(const SuiteTask& task, const std::string& program,
                                         std::chrono::seconds timeout) {
    runtime::RunRequest request = python(program + "\n\n" + task.tests);
    request.files = task.files;
    request.timeout = timeout;
    request.memory_limit_mb = 512;
    return request;
  }

  bool has_tables() {
    return run(python("import numpy, pandas")).status == runtime::Status::success;
  }
};

TEST_P(SuitePrograms, DecideByTheirTests) {
  runtime::RunnerOptions options;
  options.max_running = 2;
  create(std::move(options));
  ASSERT_NE(runner_, nullptr);
  if (GetParam() == "data" && !has_tables())
    GTEST_SKIP() << "no numpy or pandas for /usr/bin/python3";
  const auto suite = runtime::benchmark::shipped_suite(GetParam());
  ASSERT_TRUE(suite) << suite.error().message();
  for (const SuiteTask& task : suite->tasks) {
    const std::string& id = task.id;
    // No more programs are started than may run at once: a request for a place gives up after the
    // time that its program may run.
    std::future<Outcome> right = begin(request_for(task, task.solution, 20s));
    // Some never end, which is wrong enough, and is waited for.
    std::future<Outcome> wrong = begin(request_for(task, task.wrong, 3s));
    const Outcome passing = right.get();
    const Outcome failing = wrong.get();
    ASSERT_TRUE(passing) << id << ": " << passing.error().message();
    ASSERT_TRUE(failing) << id << ": " << failing.error().message();
    EXPECT_EQ(to_string(passing->status), "success") << id << ": " << passing->standard_error;
    EXPECT_TRUE(failing->status == runtime::Status::error ||
                failing->status == runtime::Status::timeout ||
                failing->status == runtime::Status::out_of_memory)
        << id << ": the wrong program ends with " << to_string(failing->status);
  }
}

INSTANTIATE_TEST_SUITE_P(Of, SuitePrograms,
                         testing::Values("quick", "algorithms", "error_recovery", "data", "math",
                                         "strings", "hard"),
                         [](const auto& suite) { return suite.param; });

}  // namespace
