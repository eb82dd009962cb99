#include "runtime/benchmark/benchmark.h"

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <exception>
#include <memory>
#include <utility>

namespace runtime::benchmark {
namespace {

namespace asio = boost::asio;
using asio::awaitable;
using Clock = std::chrono::steady_clock;
using Strand = asio::strand<asio::any_io_executor>;

std::chrono::milliseconds since(Clock::time_point start) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - start);
}

std::uint32_t attempts_of(const BenchmarkOptions& options) {
  return std::clamp(options.max_attempts, 1u, agent::max_allowed_attempts);
}

// The state that the workers share. All workers are on one strand; only cancellation may be
// requested from elsewhere.
struct Progress {
  Progress(const Strand& strand, Suite tasks, BenchmarkOptions how, Solve by)
      : suite(std::move(tasks)),
        options(std::move(how)),
        solve(std::move(by)),
        scores(suite.tasks.size()),
        all_done(strand, Clock::time_point::max()) {}

  const Suite suite;
  const BenchmarkOptions options;
  const Solve solve;
  std::size_t next = 0;
  std::vector<std::optional<TaskScore>> scores;
  std::uint32_t workers = 0;
  asio::steady_timer all_done;
};

awaitable<TaskScore> score_one(std::shared_ptr<Progress> progress, std::size_t number) {
  const SuiteTask& task = progress->suite.tasks[number];
  const auto start = Clock::now();
  std::string failure;
  try {
    agent::TaskRequest request = request_for(task, progress->options);
    const agent::TaskResult result =
        co_await progress->solve(std::move(request), progress->options.cancel);
    co_return score_of(task.id, result, since(start));
  } catch (const std::exception& error) {
    failure = error.what();
  }
  TaskScore score;
  score.id = task.id;
  score.time = since(start);
  score.error = std::move(failure);
  co_return score;
}

awaitable<void> work(std::shared_ptr<Progress> progress) {
  while (progress->next < progress->suite.tasks.size() && !progress->options.cancel.requested()) {
    const std::size_t number = progress->next++;
    TaskScore score = co_await score_one(progress, number);
    // A task that was cut off says nothing about its solver, so it has no score.
    if (progress->options.cancel.requested() && score.solved_at == 0) co_return;
    if (progress->options.on_score) progress->options.on_score(score);
    progress->scores[number] = std::move(score);
  }
}

awaitable<BenchmarkReport> run_on_strand(Strand strand, Suite suite, BenchmarkOptions options,
                                         Solve solve) {
  const auto start = Clock::now();
  const auto progress =
      std::make_shared<Progress>(strand, std::move(suite), std::move(options), std::move(solve));
  progress->workers = std::clamp<std::uint32_t>(progress->options.at_once, 1, 256);
  for (std::uint32_t i = progress->workers; i > 0; --i) {
    asio::co_spawn(strand, work(progress), [progress](std::exception_ptr) {
      if (--progress->workers == 0) progress->all_done.cancel();
    });
  }
  while (progress->workers > 0) {
    boost::system::error_code ended;
    co_await progress->all_done.async_wait(asio::redirect_error(asio::use_awaitable, ended));
  }
  BenchmarkReport report;
  report.suite = progress->suite.name;
  report.asked = static_cast<std::uint32_t>(progress->suite.tasks.size());
  report.max_attempts = attempts_of(progress->options);
  for (auto& score : progress->scores) {
    if (score) report.tasks.push_back(std::move(*score));
  }
  report.time = since(start);
  co_return report;
}

}  // namespace

std::size_t BenchmarkReport::solved_within(std::uint32_t most) const {
  return static_cast<std::size_t>(std::count_if(
      tasks.begin(), tasks.end(), [most](const TaskScore& s) { return s.solved_within(most); }));
}

llm::Usage BenchmarkReport::usage() const {
  llm::Usage sum;
  for (const TaskScore& score : tasks) {
    sum.input_tokens += score.usage.input_tokens;
    sum.output_tokens += score.usage.output_tokens;
  }
  return sum;
}

double BenchmarkReport::attempts_each() const {
  double sum = 0;
  for (const TaskScore& score : tasks) sum += score.attempts;
  return tasks.empty() ? 0 : sum / static_cast<double>(tasks.size());
}

double BenchmarkReport::seconds_each() const {
  double sum = 0;
  for (const TaskScore& score : tasks) sum += static_cast<double>(score.time.count()) / 1000;
  return tasks.empty() ? 0 : sum / static_cast<double>(tasks.size());
}

agent::TaskRequest request_for(const SuiteTask& task, const BenchmarkOptions& options) {
  agent::TaskRequest request;
  request.task = task.task;
  request.tests = task.tests;
  request.files = task.files;
  request.max_attempts = attempts_of(options);
  request.timeout = options.timeout;
  request.memory_limit_mb = options.memory_limit_mb;
  request.team = options.team;
  request.candidates = options.candidates;
  request.lessons = agent::Lessons::off;
  request.provider = options.provider;
  request.model = options.model;
  return request;
}

TaskScore score_of(const std::string& id, const agent::TaskResult& result,
                   std::chrono::milliseconds time) {
  TaskScore score;
  score.id = id;
  score.time = time;
  for (const agent::Attempt& attempt : result.history) {
    if (!attempt.result) continue;
    // Candidates of one round share its number.
    score.attempts = std::max(score.attempts, attempt.number);
    const bool first = score.solved_at == 0 || attempt.number < score.solved_at;
    if (attempt.solved() && first) score.solved_at = attempt.number;
  }
  for (const auto& [provider, usage] : result.usage) {
    score.usage.input_tokens += usage.input_tokens;
    score.usage.output_tokens += usage.output_tokens;
  }
  if (score.solved_at != 0) return score;
  score.error = !result.error.empty() ? result.error
                : score.attempts == 0 ? "no program was run"
                                      : "no program passed the tests";
  return score;
}

awaitable<BenchmarkReport> run_benchmark(Suite suite, BenchmarkOptions options, Solve solve) {
  if (options.max_tasks && *options.max_tasks < suite.tasks.size()) {
    suite.tasks.resize(*options.max_tasks);
  }
  const Strand strand = asio::make_strand(co_await asio::this_coro::executor);
  auto running = run_on_strand(strand, std::move(suite), std::move(options), std::move(solve));
  co_return co_await asio::co_spawn(strand, std::move(running), asio::use_awaitable);
}

}  // namespace runtime::benchmark
