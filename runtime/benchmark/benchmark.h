// Has a suite solved and counts only what happened when the programs ran.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "runtime/agent/task.h"
#include "runtime/benchmark/suite.h"
#include "runtime/sandbox/cancel.h"

namespace runtime::benchmark {

struct TaskScore {
  std::string id;
  std::uint32_t solved_at = 0;  // the attempt whose program passed the tests; 0: none did
  std::uint32_t attempts = 0;   // programs that were run
  std::chrono::milliseconds time{0};
  llm::Usage usage;
  std::string error;  // why it is not solved

  bool solved_within(std::uint32_t most) const { return solved_at != 0 && solved_at <= most; }
};

struct BenchmarkReport {
  std::string suite;
  std::vector<TaskScore> tasks;  // in the suite's order; fewer than `asked` where it was cancelled
  std::uint32_t asked = 0;       // number of tasks that were to be solved
  std::uint32_t max_attempts = 3;
  std::chrono::milliseconds time{0};  // time of all tasks together

  std::size_t solved_within(std::uint32_t most) const;
  llm::Usage usage() const;
  double attempts_each() const;
  double seconds_each() const;
};

struct BenchmarkOptions {
  std::optional<std::uint32_t> max_tasks;  // from the beginning of the suite
  std::uint32_t max_attempts = 3;
  std::uint32_t at_once = 4;
  std::chrono::milliseconds timeout{20'000};  // for each program with its tests
  std::uint32_t memory_limit_mb = 512;
  agent::Team team = agent::Team::coder;
  std::uint32_t candidates = 1;
  std::string provider;
  std::string model;
  Cancel cancel;
  // Called with each score as soon as it is known, one at a time. Empty: nobody watches.
  std::function<void(const TaskScore&)> on_score;
};

// AgentRuntime::run(), or another solver of tasks. Only TaskRequest::tests has the tests, so the
// solver does not tell them to the model.
using Solve =
    std::function<boost::asio::awaitable<agent::TaskResult>(agent::TaskRequest, Cancel cancel)>;

// The request for one task. Lessons are off, since otherwise a second run would measure the first.
agent::TaskRequest request_for(const SuiteTask& task, const BenchmarkOptions& options);

// The score of an attempt is what the jail reported; the result's own verdict does not count.
TaskScore score_of(const std::string& id, const agent::TaskResult& result,
                   std::chrono::milliseconds time);

// Never fails: the error of a task is in its score.
boost::asio::awaitable<BenchmarkReport> run_benchmark(Suite suite, BenchmarkOptions options,
                                                      Solve solve);

}  // namespace runtime::benchmark
