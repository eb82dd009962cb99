// The Runner over real pools.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <mutex>
#include <thread>
#include <vector>

#include "tests/kernel/runner_fixture.h"
#include "tests/time_scale.h"

namespace {

using namespace runtime;
using namespace std::chrono_literals;
using testing::HasSubstr;
using Clock = std::chrono::steady_clock;

Template forked(std::string name, std::vector<std::string> imports = {}) {
  Template what;
  what.imports = std::move(imports);
  what.name = std::move(name);
  what.warmth = jail::Warmth::forked;
  what.pool = {.least = 1, .usual = 2, .most = 4};
  return what;
}

RunRequest named(std::string name, std::string code = "print(6*7)") {
  RunRequest request = python(std::move(code));
  request.template_name = std::move(name);
  return request;
}

class WarmRunnerTest : public RunnerTest {
 protected:
  // The calls of on_pool_trouble, in order; outlives the threads that make them.
  std::mutex mutex_;
  std::vector<std::string> told_;

  void create_with(std::vector<Template> templates, RunnerOptions options = {}) {
    options.templates = std::move(templates);
    options.on_pool_trouble = [this](std::string_view name, std::string_view reason) {
      const std::lock_guard lock(mutex_);
      told_.push_back(std::string(name) + ": " + std::string(reason));
    };
    create(std::move(options));
  }

  PoolReport report(std::string_view name) const {
    const RunnerState state = runner_->state();
    const auto found = std::find_if(state.pools.begin(), state.pools.end(),
                                    [&](const PoolReport& pool) { return pool.name == name; });
    return found == state.pools.end() ? PoolReport{} : *found;
  }

  template <class Condition>
  static bool eventually(Condition condition) {
    for (const auto end = Clock::now() + scaled(10s); Clock::now() < end;) {
      if (condition()) return true;
      std::this_thread::sleep_for(2ms);
    }
    return false;
  }

  bool is_ready(std::string_view name) {
    return eventually([&] { return report(name).state.ready > 0; });
  }
};

TEST_F(WarmRunnerTest, ADefaultIsWarmOnceAJailWaits) {
  create_with({forked("python")});
  ASSERT_TRUE(is_ready("python"));
  const RunResult result = run(python("print(6*7)"));
  EXPECT_EQ(result.standard_output, "42\n");
  EXPECT_TRUE(result.warm);
  EXPECT_FALSE(run(named("none")).warm);
  EXPECT_EQ(report("python").cold, 0u);
}

TEST_F(WarmRunnerTest, WithoutTemplatesNothingWaits) {
  create();
  EXPECT_FALSE(run(python("pass")).warm);
  EXPECT_TRUE(runner_->state().pools.empty());
}

TEST_F(WarmRunnerTest, WhoNamesATemplateWaitsForItsFirstJail) {
  Template slow = forked("slow");
  slow.warm_up = "import time; time.sleep(3)";
  create_with({slow});
  EXPECT_EQ(report("slow").state.zygotes, 0u) << "nobody asked for it yet";
  RunRequest request = named("slow");
  request.timeout = 60s;
  const RunResult result = run(std::move(request));
  EXPECT_TRUE(result.warm);
  EXPECT_EQ(result.standard_output, "42\n");
  EXPECT_GE(result.timings.queued, 2900ms);
  EXPECT_LT(result.timings.started, 2900ms);
}

TEST_F(WarmRunnerTest, WhoMeansTheDefaultDoesNotWaitForItsFirstJail) {
  Template slow = forked("python");
  slow.warm_up = "import time; time.sleep(20)";
  create_with({slow});
  const auto began = Clock::now();
  EXPECT_FALSE(run(python("pass")).warm);
  EXPECT_LT(Clock::now() - began, 15s);
  EXPECT_EQ(report("python").cold, 1u);
}

TEST_F(WarmRunnerTest, NobodyWaitsLongerThanHisProgramMayRun) {
  Template slow = forked("slow");
  slow.warm_up = "import time; time.sleep(20)";
  create_with({slow});
  RunRequest request = named("slow");
  request.timeout = 300ms;
  const auto began = Clock::now();
  const auto result = begin(std::move(request)).get();
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().kind, jail::ErrorKind::exhausted);
  EXPECT_GE(Clock::now() - began, 300ms);
  EXPECT_LT(Clock::now() - began, 15s);
  EXPECT_EQ(runner_->state().running, 0u) << "its place is free again";
}

TEST_F(WarmRunnerTest, WhoWaitsForAJailCanBeCancelled) {
  Template slow = forked("slow");
  slow.warm_up = "import time; time.sleep(50)";
  create_with({slow});
  RunOptions options;
  const Cancel cancel = options.cancel;
  auto outcome = begin(named("slow"), std::move(options));
  ASSERT_TRUE(eventually([&] { return runner_->state().running == 1; }));
  cancel.request();
  const auto result = outcome.get();
  ASSERT_TRUE(result);
  EXPECT_EQ(result->status, Status::cancelled);
}

TEST_F(WarmRunnerTest, AZygoteThatDoesNotStartCostsWarmthAlone) {
  const Template broken = forked("broken", {"no_such_module"});
  create_with({broken});
  for (int i = 0; i < 3; ++i) {
    const RunResult result = run(named("broken"));
    EXPECT_EQ(result.standard_output, "42\n");
    EXPECT_FALSE(result.warm);
  }
  EXPECT_EQ(report("broken").cold, 3u);
  EXPECT_THAT(report("broken").state.trouble, HasSubstr("no_such_module"));
  const std::lock_guard lock(mutex_);
  ASSERT_EQ(told_.size(), 1u) << "each reason is told once";
  EXPECT_THAT(told_[0], HasSubstr("broken: "));
  EXPECT_THAT(told_[0], HasSubstr("no_such_module"));
}

TEST_F(WarmRunnerTest, AProgramGetsTheTemplateThatHasWhatItImports) {
  const Template decimals = forked("decimals", {"decimal"});
  create_with({decimals, forked("python")});
  ASSERT_TRUE(is_ready("python"));
  const std::string code = "import sys; print('decimal' in sys.modules); import decimal";
  const RunResult first = run(python(code));
  EXPECT_EQ(first.template_name, "python") << "nobody waits for a template that he has not named";
  EXPECT_EQ(first.standard_output, "False\n");
  ASSERT_TRUE(is_ready("decimals"));
  const RunResult second = run(python(code));
  EXPECT_EQ(second.template_name, "decimals");
  EXPECT_EQ(second.standard_output, "True\n");
  EXPECT_TRUE(second.warm);
  RunRequest special = python(code);
  special.env = {{"A", "x"}};
  EXPECT_EQ(run(std::move(special)).template_name, "python") << "its modules may have read A";
  EXPECT_EQ(run(named("python", code)).template_name, "python");
  EXPECT_EQ(run(named("none", code)).template_name, "");
  EXPECT_EQ(report("decimals").cold, 0u);
}

TEST_F(WarmRunnerTest, WhereProgramsHaveSeveralCoresTheyImportForThemselves) {
  const Template decimals = forked("decimals", {"decimal"});
  RunnerOptions options;
  options.cpu_percent = 200;
  create_with({decimals, forked("python")}, std::move(options));
  ASSERT_TRUE(run(named("decimals")).warm);
  EXPECT_EQ(run(python("import decimal")).template_name, "python");
}

TEST_F(WarmRunnerTest, ATemplateOfItsImportsThatDoesNotStartCostsNothing) {
  const Template broken = forked("broken", {"no_such_module"});
  create_with({broken, forked("python")});
  ASSERT_TRUE(is_ready("python"));
  const std::string code = "try: import no_such_module\nexcept ImportError: print(42)";
  for (int i = 0; i < 3; ++i) {
    const RunResult result = run(python(code));
    EXPECT_EQ(result.standard_output, "42\n");
    EXPECT_EQ(result.template_name, "python");
    ASSERT_TRUE(eventually([&] { return !report("broken").state.trouble.empty(); }));
    ASSERT_TRUE(is_ready("python"));
  }
}

TEST_F(WarmRunnerTest, ATemplateWithARootThatIsNotThereIsAnError) {
  Template lost = forked("lost");
  lost.rootfs = "/no/such/root";
  RunnerOptions options;
  options.templates = {lost};
  const auto created = Runner::create(pool_.get_executor(), std::move(options));
  ASSERT_FALSE(created);
  EXPECT_THAT(created.error().message(), HasSubstr("template lost: rootfs: "));
}

TEST_F(WarmRunnerTest, ABurstIsAnsweredByFewJailsThatWait) {
  RunnerOptions options;
  options.max_running = 32;
  create_with({forked("python")}, std::move(options));
  ASSERT_TRUE(is_ready("python"));
  std::vector<std::future<Outcome>> outcomes;
  for (int i = 0; i < 48; ++i) {
    RunRequest request = python("print(" + std::to_string(i) + ")");
    request.timeout = std::min<std::chrono::milliseconds>(scaled(20s), 60s);
    outcomes.push_back(begin(std::move(request)));
  }
  for (int i = 0; i < 48; ++i) {
    const auto result = outcomes[static_cast<std::size_t>(i)].get();
    ASSERT_TRUE(result) << result.error().message();
    EXPECT_EQ(result->standard_output, std::to_string(i) + "\n");
  }
  EXPECT_TRUE(eventually([&] { return report("python").state.leased == 0; }));
}

TEST_F(WarmRunnerTest, LimitsAreThoseOfTheRequest) {
  create_with({forked("python")});
  ASSERT_TRUE(is_ready("python"));
  RunRequest spin = python("while True: pass");
  spin.timeout = 300ms;
  const RunResult late = run(std::move(spin));
  EXPECT_EQ(late.status, Status::timeout);
  EXPECT_TRUE(late.warm);
  EXPECT_LT(late.timings.ran, 4s) << "5 s are the default";
  ASSERT_TRUE(is_ready("python"));
  RunRequest grow = python("x = []\nwhile True: x.append(bytearray(b'x') * (1 << 20))");
  grow.memory_limit_mb = 64;
  const RunResult large = run(std::move(grow));
  EXPECT_EQ(large.status, Status::out_of_memory);
  EXPECT_TRUE(large.warm);
}

TEST_F(WarmRunnerTest, FilesAndArgumentsAreThere) {
  create_with({forked("python")});
  ASSERT_TRUE(is_ready("python"));
  RunRequest request =
      python("import sys, os, mine; print(mine.word, sys.argv[1:], os.environ['A'])");
  request.files = {{"mine.py", "word = 'hello'"}};
  request.args = {"a", "b c"};
  request.env = {{"A", "x"}};
  const RunResult result = run(std::move(request));
  EXPECT_EQ(result.standard_output, "hello ['a', 'b c'] x\n") << result.standard_error;
  EXPECT_TRUE(result.warm);
}

}  // namespace
