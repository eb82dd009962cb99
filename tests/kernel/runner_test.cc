// The Runner over real jails.
#include "runtime/sandbox/runner.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <boost/asio/io_context.hpp>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "tests/kernel/runner_fixture.h"

namespace {

using namespace runtime;
namespace asio = boost::asio;
using std::chrono::milliseconds;
using testing::HasSubstr;

RunRequest sleeper() { return python("import time; time.sleep(30)"); }

TEST_F(RunnerTest, RunsPython) {
  create();
  const RunResult result = run(python("print(6*7)"));
  EXPECT_EQ(result.status, Status::success);
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(result.signal, std::nullopt);
  EXPECT_EQ(result.standard_output, "42\n");
  EXPECT_GT(result.timings.started.count(), 0);
  EXPECT_GT(result.timings.ran.count(), 0);
}

TEST_F(RunnerTest, RunsBashWithArgumentsEnvironmentAndInput) {
  create();
  RunRequest request;
  request.language = Language::bash;
  request.code = "read line; echo \"$line $1 $NAME\"";
  request.args = {"argument"};
  request.env = {{"NAME", "value"}};
  request.standard_input = "input\n";
  EXPECT_EQ(run(std::move(request)).standard_output, "input argument value\n");
}

TEST_F(RunnerTest, TracebacksNameTheFileAndShowTheLine) {
  create();
  const RunResult result = run(python("x = 1\nraise ValueError('here')\n"));
  EXPECT_EQ(result.status, Status::error);
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.standard_error, HasSubstr("File \"/workspace/main.py\", line 2"));
  EXPECT_THAT(result.standard_error, HasSubstr("raise ValueError('here')"));
}

TEST_F(RunnerTest, NamesTheSignal) {
  create();
  const RunResult result = run(python("import os; os.kill(os.getpid(), 11)"));
  EXPECT_EQ(result.status, Status::killed);
  EXPECT_EQ(result.signal, "SIGSEGV");
  EXPECT_EQ(result.exit_code, std::nullopt);
}

TEST_F(RunnerTest, LargeInputGoesThrough) {
  create();
  RunRequest request = python("import sys; print(len(sys.stdin.buffer.read()))");
  request.standard_input.assign(5'000'000, 'x');
  EXPECT_EQ(run(std::move(request)).standard_output, "5000000\n");
}

TEST_F(RunnerTest, InputThatNobodyReadsIsNoError) {
  create();
  RunRequest request = python("import os; os.close(0); print('ok')");
  request.standard_input.assign(5'000'000, 'x');
  EXPECT_EQ(run(std::move(request)).standard_output, "ok\n");
}

TEST_F(RunnerTest, InputComesFromADescriptor) {
  create();
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  RunOptions options;
  options.standard_input_fd = ends[0];
  auto result = begin(python("print(input()); print(input())"), options);
  ASSERT_EQ(::write(ends[1], "one\n", 4), 4);
  std::this_thread::sleep_for(milliseconds(100));
  ASSERT_EQ(::write(ends[1], "two\n", 4), 4);
  EXPECT_EQ(result.get()->standard_output, "one\ntwo\n");
  // The descriptor may be somebody else's terminal or file: its flags must not change.
  EXPECT_EQ(::fcntl(ends[0], F_GETFL) & O_NONBLOCK, 0);
  ::close(ends[0]);
  ::close(ends[1]);
}

TEST_F(RunnerTest, InputComesFromAFile) {
  create();
  const int file = ::open("/etc/passwd", O_RDONLY | O_CLOEXEC);
  RunOptions options;
  options.standard_input_fd = file;
  const RunResult result = run(python("import sys; print(len(sys.stdin.read()) > 10)"), options);
  EXPECT_EQ(result.standard_output, "True\n");
  ::close(file);
}

TEST_F(RunnerTest, OutputIsCutAtTheCapAndTheProgramGoesOn) {
  RunnerOptions limits;
  limits.output_cap_bytes = 1000;
  create(limits);
  const RunResult result = run(python("print('x' * 10_000_000)\nimport sys\nsys.exit(5)"));
  EXPECT_EQ(result.standard_output, std::string(1000, 'x'));
  EXPECT_TRUE(result.stdout_truncated);
  EXPECT_FALSE(result.stderr_truncated);
  EXPECT_EQ(result.exit_code, 5);
}

TEST_F(RunnerTest, OutputIsSeenAsItComes) {
  create();
  auto first = std::make_shared<std::promise<std::string>>();
  auto seen = first->get_future();
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  RunOptions options;
  options.standard_input_fd = ends[0];
  options.collect_output = false;
  options.on_output = [first](Stream stream, std::string_view bytes) {
    EXPECT_EQ(stream, Stream::standard_output);
    first->set_value(std::string(bytes));
  };
  auto result = begin(python("print('now', flush=True)\ninput()"), options);
  EXPECT_EQ(seen.get(), "now\n");  // the program still waits for its input
  ASSERT_EQ(::write(ends[1], "go\n", 3), 3);
  EXPECT_EQ(result.get()->standard_output, "");
  ::close(ends[0]);
  ::close(ends[1]);
}

// All callbacks of a run come from the loop that waits for it, and before its result.
TEST_F(RunnerTest, RunsStayOnTheLoopOfTheirCallers) {
  create();
  asio::io_context loop(1);
  int told = 0;
  int told_elsewhere = 0;
  const auto note = [&, here = std::this_thread::get_id()] {
    std::this_thread::get_id() == here ? ++told : ++told_elsewhere;
  };
  std::vector<std::string> outputs(3);
  const auto work = [&](std::size_t index) -> asio::awaitable<void> {
    RunOptions options;
    options.on_start = note;
    options.on_output = [&, index](Stream, std::string_view bytes) {
      note();
      outputs[index] += bytes;
    };
    RunRequest request = python("print('x' * 100000)");
    const auto result = co_await runner_->run(std::move(request), std::move(options));
    EXPECT_TRUE(result);
    EXPECT_EQ(outputs[index].size(), 100'001u);
    note();
  };
  for (std::size_t i = 0; i < outputs.size(); ++i) asio::co_spawn(loop, work(i), asio::detached);
  loop.run();
  EXPECT_GE(told, 9);
  EXPECT_EQ(told_elsewhere, 0);
}

TEST_F(RunnerTest, WhereTheResultComesFirstTheJailIsLetGoAfterIt) {
  create();
  asio::io_context loop(1);
  const auto open_descriptors = [] {
    const std::filesystem::directory_iterator all("/proc/self/fd");
    return std::distance(std::filesystem::begin(all), std::filesystem::end(all));
  };
  std::ptrdiff_t with_jail = 0;
  const auto work = [&]() -> asio::awaitable<void> {
    RunOptions options;
    options.result_first = true;
    RunRequest request = python("import sys; print('out'); print('err', file=sys.stderr)");
    const auto result = co_await runner_->run(std::move(request), std::move(options));
    EXPECT_TRUE(result);
    if (!result) co_return;
    EXPECT_EQ(result->standard_output, "out\n");
    EXPECT_EQ(result->standard_error, "err\n");
    EXPECT_EQ(runner_->state().running, 0u);
    with_jail = open_descriptors();
  };
  asio::co_spawn(loop, work, asio::detached);
  loop.run();
  EXPECT_LT(open_descriptors(), with_jail);
}

TEST_F(RunnerTest, CancelEndsARun) {
  create();
  RunOptions options;
  auto result = begin(sleeper(), options);
  std::this_thread::sleep_for(milliseconds(200));
  options.cancel.request();
  EXPECT_EQ(result.get()->status, Status::cancelled);
}

TEST_F(RunnerTest, CancelBeforeTheStartIsKept) {
  create();
  RunOptions options;
  options.cancel.request();
  EXPECT_EQ(run(sleeper(), options).status, Status::cancelled);
}

TEST_F(RunnerTest, OneAtATimeServesAll) {
  RunnerOptions limits;
  limits.max_running = 1;
  create(limits);
  std::vector<std::future<jail::Result<RunResult>>> results;
  for (int i = 0; i < 8; ++i) results.push_back(begin(python("print(" + std::to_string(i) + ")")));
  for (int i = 0; i < 8; ++i) {
    EXPECT_EQ(results[static_cast<std::size_t>(i)].get()->standard_output,
              std::to_string(i) + "\n");
  }
  EXPECT_EQ(runner_->state().running, 0u);
  EXPECT_EQ(runner_->state().total, 8u);
}

TEST_F(RunnerTest, FullQueueIsAnErrorOfItsOwnKind) {
  RunnerOptions limits;
  limits.max_running = 1;
  limits.max_queued = 0;
  create(limits);
  RunOptions options;
  auto first = begin(sleeper(), options);
  while (runner_->state().running == 0) std::this_thread::sleep_for(milliseconds(1));
  const auto refused = begin(python("print(1)")).get();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, jail::ErrorKind::exhausted);
  options.cancel.request();
  EXPECT_EQ(first.get()->status, Status::cancelled);
}

TEST_F(RunnerTest, NobodyWaitsLongerThanHeMayRun) {
  RunnerOptions limits;
  limits.max_running = 1;
  create(limits);
  RunOptions options;
  auto first = begin(sleeper(), options);
  while (runner_->state().running == 0) std::this_thread::sleep_for(milliseconds(1));
  RunRequest request = python("print(1)");
  request.timeout = milliseconds(100);
  const auto refused = begin(std::move(request)).get();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, jail::ErrorKind::exhausted);
  options.cancel.request();
  EXPECT_EQ(first.get()->status, Status::cancelled);
}

pid_t launcher_of_this_process() {
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", ignored)) {
    std::ifstream file(entry.path() / "stat");
    std::string stat;
    std::getline(file, stat);
    // Returns whether it sleeps or is just cleaning up.
    const std::size_t name = stat.find("(jail-launcher) ");
    if (name == std::string::npos || stat.size() < name + 18) continue;
    if (stat.substr(name + 18).starts_with(std::to_string(::getpid()) + " ")) {
      return std::stoi(entry.path().filename());
    }
  }
  return -1;
}

TEST_F(RunnerTest, LauncherThatWasKilledIsReplaced) {
  create();
  run(python("pass"));
  const pid_t before = launcher_of_this_process();
  ASSERT_GT(before, 0);
  ASSERT_EQ(::kill(before, SIGKILL), 0);
  EXPECT_EQ(run(python("print('again')")).standard_output, "again\n");
}

TEST_F(RunnerTest, ProgramThatTheKilledLauncherHeldIsRun) {
  create();
  run(python("pass"));
  const pid_t held = launcher_of_this_process();
  ASSERT_GT(held, 0);
  ASSERT_EQ(::kill(held, SIGSTOP), 0);
  auto result = begin(python("print('after all')"));
  while (runner_->state().running == 0) std::this_thread::sleep_for(milliseconds(1));
  std::this_thread::sleep_for(milliseconds(50));
  ASSERT_EQ(::kill(held, SIGKILL), 0);
  const auto outcome = result.get();
  ASSERT_TRUE(outcome) << outcome.error().message();
  EXPECT_EQ(outcome->standard_output, "after all\n");
}

TEST_F(RunnerTest, ExplainListsTheSteps) {
  create();
  const auto text = runner_->explain(python("pass"));
  ASSERT_TRUE(text) << text.error().message();
  EXPECT_THAT(*text, HasSubstr("start /usr/bin/python3"));
}

}  // namespace
