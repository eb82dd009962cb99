// The agent over real jails, with a model whose answers are given by the test.
#include <gmock/gmock.h>

#include <thread>

#include "runtime/agent/agent_runtime.h"
#include "runtime/json/writer.h"
#include "tests/kernel/runner_fixture.h"
#include "tests/time_scale.h"
#include "tests/unit/agent/scripted_provider.h"

namespace {

using namespace runtime;
using namespace runtime::agent;
using std::chrono::milliseconds;
using testing::HasSubstr;
using testing::Not;

std::string coded(const std::string& code) {
  return R"({"code": )" + json::quoted(code, code.size()) +
         R"(, "reasoning": "because", "dependencies": []})";
}

enum class Jails : std::uint8_t { made_for_each, waiting };

class AgentInJails : public RunnerTest, public testing::WithParamInterface<Jails> {
 protected:
  void SetUp() override {
    RunnerOptions options;
    if (GetParam() == Jails::waiting) {
      Template python;
      python.name = "python";
      python.warmth = jail::Warmth::forked;
      python.pool = {.least = 1, .usual = 2, .most = 4};
      options.templates = {std::move(python)};
    }
    create(std::move(options));
    model_.otherwise[Role::critic] = {
        .text = R"({"diagnosis": "d", "fix": "f", "should_retry": true, "confidence": 0.5})"};
  }

  TaskResult solve(TaskRequest request, TaskOptions options = {}) {
    AgentParts parts;
    parts.runner = runner_.get();
    parts.providers = {&model_};
    AgentRuntime runtime(std::move(parts));
    wait_for_jail();
    auto promise = std::make_shared<std::promise<TaskResult>>();
    auto future = promise->get_future();
    boost::asio::co_spawn(pool_,
                          work_on(runtime.run(std::move(request), std::move(options)), promise),
                          boost::asio::detached);
    return future.get();
  }

  void wait_for_jail() const {
    if (GetParam() == Jails::made_for_each) return;
    for (int tries = scaled_ms(10'000) / 5;
         tries > 0 && runner_->state().pools.at(0).state.ready == 0; --tries) {
      std::this_thread::sleep_for(milliseconds(5));
    }
    ASSERT_GT(runner_->state().pools.at(0).state.ready, 0u);
  }

  static boost::asio::awaitable<void> work_on(boost::asio::awaitable<TaskResult> task,
                                              std::shared_ptr<std::promise<TaskResult>> promise) {
    TaskResult result = co_await std::move(task);
    promise->set_value(std::move(result));
  }

  // Returns the result of one program with these tests.
  TaskResult judge(const std::string& program, const std::string& tests) {
    model_.play(Role::coder, coded(program));
    TaskRequest request;
    request.task = "Write f, which adds one.";
    request.tests = tests;
    request.max_attempts = 1;
    return solve(std::move(request));
  }

  ScriptedProvider model_;
};

constexpr const char* right = "def f(x):\n    return x + 1\n";
constexpr const char* wrong = "def f(x):\n    return x\n";
constexpr const char* tests_of_f = "assert f(1) == 2, 'one more'\n";

TEST_P(AgentInJails, SolvesATaskAtTheSecondAttempt) {
  model_.play(Role::coder,
              coded("import sys\nprint(6 * 8, file=sys.stderr)\nraise ValueError(48)"));
  model_.play(Role::coder, coded("print(6 * 7)"));
  TaskRequest request;
  request.task = "Print six times seven.";
  const TaskResult result = solve(std::move(request));
  EXPECT_TRUE(result.success()) << result.error;
  EXPECT_EQ(result.output, "42\n");
  EXPECT_EQ(result.attempts, 2u);
  EXPECT_EQ(result.history.at(0).result->exit_code, 1);
  EXPECT_THAT(model_.of(Role::coder).at(1).user(), HasSubstr("ValueError: 48"));
}

TEST_P(AgentInJails, ProgramsThatKeepTheirTestsPass) {
  const TaskResult result =
      judge(std::string(right) + "if __name__ == '__main__':\n    print('main')\n",
            "print('testing')\nassert f(1) == 2\n");
  EXPECT_TRUE(result.success()) << result.history.at(0).result->standard_error;
  EXPECT_EQ(result.output, "main\n");
  EXPECT_EQ(result.history.at(0).result->warm, GetParam() == Jails::waiting);
  // Programs that do not know of the tests may exit early; the tests run all the same.
  EXPECT_TRUE(judge(std::string(right) + "import sys\nsys.exit(0)\n", tests_of_f).success());
  EXPECT_FALSE(judge(std::string(wrong) + "import sys\nsys.exit(0)\n", tests_of_f).success());
  EXPECT_TRUE(judge(right,
                    "import unittest\nclass T(unittest.TestCase):\n"
                    "    def test(self):\n        self.assertEqual(f(1), 2)\nunittest.main()\n")
                  .success());
}

TEST_P(AgentInJails, AFailedTestIsShownAsPythonShowsIt) {
  const TaskResult result = judge(wrong, tests_of_f);
  EXPECT_FALSE(result.success());
  const RunResult& run = *result.history.at(0).result;
  EXPECT_EQ(run.status, Status::error);
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_THAT(run.standard_error, HasSubstr("assert f(1) == 2, 'one more'"));
  EXPECT_THAT(run.standard_error, HasSubstr("AssertionError: one more"));
  EXPECT_TRUE(run.standard_error.ends_with("The program ran to its end; its tests failed.\n"));
  const TaskResult broken = judge("def f(x) return", tests_of_f);
  EXPECT_THAT(broken.history.at(0).result->standard_error, HasSubstr("main.py\", line 1"));
  EXPECT_THAT(broken.history.at(0).result->standard_error, HasSubstr("SyntaxError"));
}

TEST_P(AgentInJails, TestsAreNotDodged) {
  const std::string f = wrong;
  const std::string dodges[] = {
      "import os; os._exit(0)",
      f + "import atexit, os; atexit.register(os._exit, 0)",
      "import os\ndef f(x): os._exit(0)",
      "def f(x): raise SystemExit(0)",
      "import sys\ndef f(x): sys.exit()",
      f + "import os, sys; sys.excepthook = lambda *a: os._exit(0)",
      f + "import os, sys; sys.exit = lambda *a: None; os.write = lambda *a: 1\n"
          "os.read = lambda *a: b''",
      f + "import builtins; builtins.exec = builtins.compile = lambda *a, **k: None",
      f + "import builtins; builtins.SystemExit = builtins.BaseException = AssertionError",
      f + "import sys, threading\ndef trace(*a): raise SystemExit(0)\nsys.settrace(trace)",
      f + "import signal, os; signal.signal(signal.SIGALRM, lambda *a: os._exit(0))\n"
          "signal.setitimer(signal.ITIMER_REAL, 0.0001)",
      R"(import os
for n in range(3, 64):
    try: os.write(n, b'r' * 17)
    except OSError: pass
os._exit(0))",
      "import os\nif os.fork(): os._exit(0)\n",
      "import os, signal; os.kill(os.getppid(), signal.SIGTERM)\nimport time; time.sleep(1)",
      "import os; os.execv('/bin/true', ['true'])",
      "print('1 passed'); import os; os.write(2, b'tests passed'); os._exit(0)",
      "import os, sys\nopen('/workspace/main.py', 'w').write('')\n"
      "open('/tmp/tests.py', 'w').write('')\n" +
          f,
  };
  for (const std::string& program : dodges) {
    EXPECT_FALSE(judge(program, tests_of_f).success()) << program;
  }
  // The control is a program that all of them could have been.
  EXPECT_TRUE(judge(right, tests_of_f).success());
}

TEST_P(AgentInJails, AProgramDoesNotSeeItsTestsBeforeItIsOver) {
  const std::string spy =
      "import glob, gc, os, sys\n"
      "found = [p for p in glob.glob('/workspace/*') + glob.glob('/tmp/*')\n"
      "         if os.path.isfile(p) and 'one' + ' more' in open(p).read()]\n"
      "found += [o for o in gc.get_objects() if isinstance(o, list) and 'one' + ' more' in "
      "str(o)[:1000]]\n"
      "found += [sys.stdin.read()] if not sys.stdin.closed else []\n"
      "print([x for x in found if x])\n";
  const TaskResult result = judge(spy + right, tests_of_f);
  EXPECT_TRUE(result.success()) << result.history.at(0).result->standard_error;
  EXPECT_EQ(result.output, "[]\n");
}

TEST_P(AgentInJails, WhereAProgramFailedIsKnown) {
  model_.otherwise[Role::coder] = {.text = coded(wrong)};
  model_.play(Role::tester, R"({"tests": "assert f(1) == 7", "reasoning": "r"})");
  model_.play(Role::tester, R"({"tests": "assert f(1) == 1", "reasoning": "r"})");
  TaskRequest request;
  request.task = "Write f.";
  request.tests_by_model = TestsByModel::first;
  const TaskResult result = solve(std::move(request));
  EXPECT_TRUE(result.success()) << result.error;
  EXPECT_EQ(result.attempts, 3u);
  EXPECT_EQ(model_.of(Role::tester).size(), 2u);
}

TEST_P(AgentInJails, CandidatesRunInJailsOfTheirOwn) {
  model_.play(Role::coder, coded("import time; time.sleep(0.4); print('slow')"));
  model_.play(Role::coder, coded("print('fast')"));
  model_.play(Role::coder, coded("raise SystemExit(3)"));
  TaskRequest request;
  request.task = "Print something.";
  request.candidates = 3;
  const TaskResult result = solve(std::move(request));
  EXPECT_TRUE(result.success()) << result.error;
  EXPECT_EQ(result.output, "fast\n");
  EXPECT_EQ(runner_->state().total, 4u);
}

TEST_P(AgentInJails, CancellingKillsTheJail) {
  model_.play(Role::coder, coded("import time\nprint('here', flush=True)\ntime.sleep(30)"));
  TaskOptions options;
  const Cancel cancel = options.cancel;
  options.on_event = [cancel](const Event& event) {
    if (event.type == EventType::standard_output) cancel.request();
  };
  TaskRequest request;
  request.task = "Sleep.";
  request.timeout = milliseconds(30'000);
  const TaskResult result = solve(std::move(request), std::move(options));
  EXPECT_EQ(result.status, TaskStatus::cancelled);
  EXPECT_EQ(result.history.at(0).result->status, Status::cancelled);
  EXPECT_EQ(result.output, "here\n");
  EXPECT_LT(result.execution_time, milliseconds(25'000));
  for (int tries = scaled_ms(1000) / 5; tries > 0 && runner_->state().running > 0; --tries) {
    std::this_thread::sleep_for(milliseconds(5));
  }
  EXPECT_EQ(runner_->state().running, 0u);
}

INSTANTIATE_TEST_SUITE_P(, AgentInJails, testing::Values(Jails::made_for_each, Jails::waiting),
                         [](const auto& tested) {
                           return tested.param == Jails::waiting ? "Waiting" : "MadeForEach";
                         });

}  // namespace
