// Run over jails that are nothing but pipes, by a clock that the test moves.
#include "runtime/sandbox/run.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <chrono>
#include <deque>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tests/unit/sandbox/fake_jail.h"
#include "tests/unit/sandbox/manual_clock.h"

namespace runtime {
namespace {

namespace asio = boost::asio;
using namespace std::chrono_literals;
using jail::Ended;
using jail::Error;
using jail::ErrorKind;
using jail::Phase;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;

using Way = Acquisition::Way;
using Ticket = WarmPool::Ticket::element_type;

RunRequest program() {
  RunRequest request;
  request.code = "the program";
  return request;
}

// Whose jails there are, and what they are.
enum class Kind : std::uint8_t { of_its_own, pooled };

class RunTest : public testing::Test {
 protected:
  struct Outcome {
    std::optional<jail::Result<RunResult>> told;
    RunResult result() const {
      EXPECT_TRUE(told && *told) << (told ? told->error().message() : "not over");
      return told && *told ? **told : RunResult();
    }
    Error error() const {
      EXPECT_TRUE(told && !*told);
      return told && !*told ? told->error() : Error();
    }
  };
  struct Asked {
    Way way;
    JailMaker failed;
  };
  struct Next {
    Kind kind;
    std::shared_ptr<FakeJail> jail;
    JailMaker maker;
  };

  static void SetUpTestSuite() { ::signal(SIGPIPE, SIG_IGN); }

  RunTest() {
    setting_.output_cap_bytes = 10;
    setting_.clock = clock_;
    set_places(1, 1);
    setting_.launch = [this](const RunRequest&, Way way, const JailMaker& failed,
                             const WarmPool::MakeTicket& make_ticket) {
      return launch(way, failed, make_ticket);
    };
    setting_.collectors = [this] { return collectors_.get_executor(); };
  }

  void set_places(std::uint32_t places, std::uint32_t queue) {
    setting_.admission = std::make_shared<Admission>(places, queue);
  }

  // The next jail that is launched.
  std::shared_ptr<FakeJail> add(Kind kind, Phase phase) {
    auto jail = std::make_shared<FakeJail>();
    jail->phase = phase;
    next_.push_back({kind, jail, std::make_shared<const int>(0)});
    return jail;
  }

  static Leased lease(const Next& next) {
    return {.jail = std::make_unique<FakeJailHandle>(next.jail),
            .pooled = next.kind == Kind::pooled,
            .warm = next.kind == Kind::pooled,
            .template_name = next.kind == Kind::pooled ? "mine" : "",
            .maker = next.maker};
  }

  // Where there is no jail, it is waited for.
  std::optional<jail::Result<Leased>> launch(Way way, const JailMaker& failed,
                                             const WarmPool::MakeTicket& make_ticket) {
    asked_.push_back({way, failed});
    if (next_.empty()) {
      tickets_.push_back(make_ticket());
      return std::nullopt;
    }
    const Next next = next_.front();
    next_.pop_front();
    return lease(next);
  }

  std::shared_ptr<Outcome> begin(RunRequest request = program(), RunOptions options = {}) {
    auto outcome = std::make_shared<Outcome>();
    asio::co_spawn(*loop_, work(std::move(request), std::move(options), outcome), asio::detached);
    go_on();
    return outcome;
  }

  asio::awaitable<void> work(RunRequest request, RunOptions options,
                             std::shared_ptr<Outcome> outcome) {
    runtime::Run run(loop_->get_executor(), setting_, std::move(request), std::move(options));
    outcome->told.emplace(co_await run.result());
  }

  // All that can be done now.
  void go_on() {
    loop_->restart();
    loop_->poll();
  }

  void pass(std::chrono::milliseconds time) {
    clock_->advance(time);
    go_on();
  }

  void end(FakeJail& jail, Ended ended, int exit_code = 0) {
    jail.end(ended, exit_code);
    go_on();
  }

  asio::io_context collectors_{1};
  const std::shared_ptr<ManualClock> clock_ = std::make_shared<ManualClock>();
  runtime::Run::Setting setting_;
  std::deque<Next> next_;
  std::vector<Asked> asked_;
  std::vector<std::weak_ptr<Ticket>> tickets_;
  // Drops its runs, before what they use goes.
  std::unique_ptr<asio::io_context> loop_ = std::make_unique<asio::io_context>(1);
};

TEST_F(RunTest, AProgramRunsInAJailThatWaits) {
  const auto jail = add(Kind::pooled, Phase::ready);
  RunRequest request = program();
  request.files = {{"a/b", "content"}};
  request.standard_input = "input";
  request.timeout = 3s;
  request.memory_limit_mb = 64;
  int started = 0;
  RunOptions options;
  options.on_start = [&started] { ++started; };
  const auto outcome = begin(std::move(request), std::move(options));
  EXPECT_EQ(started, 1);
  EXPECT_THAT(jail->files, ElementsAre(Pair("a/b", "content"), Pair("main.py", "the program")));
  ASSERT_TRUE(jail->limits);
  EXPECT_EQ(jail->limits->wall, 3s);
  EXPECT_EQ(jail->limits->cpu, 3s);
  EXPECT_EQ(jail->limits->memory_bytes, 64u << 20);
  EXPECT_EQ(jail->in.read(), "input");
  jail->out.write("out");
  jail->err.write("err");
  EXPECT_FALSE(outcome->told);
  end(*jail, Ended::exited, 3);
  const RunResult result = outcome->result();
  EXPECT_EQ(result.status, Status::error);
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_EQ(result.standard_output, "out");
  EXPECT_EQ(result.standard_error, "err");
  EXPECT_TRUE(result.warm);
  EXPECT_EQ(result.template_name, "mine");
  EXPECT_TRUE(jail->given_up);
  EXPECT_EQ(setting_.admission->running(), 0u);
}

TEST_F(RunTest, NothingIsWaitedForWhereAJailWaits) {
  const auto jail = add(Kind::pooled, Phase::ready);
  const auto outcome = std::make_shared<Outcome>();
  asio::co_spawn(*loop_, work(program(), {}, outcome), asio::detached);
  EXPECT_EQ(loop_->poll_one(), 1u);
  EXPECT_EQ(jail->starts, 1);
}

TEST_F(RunTest, AJailOfItsOwnIsStartedWhenItIsReady) {
  const auto jail = add(Kind::of_its_own, Phase::launching);
  const auto outcome = begin();
  EXPECT_EQ(jail->starts, 0);
  clock_->advance(40ms);
  jail->become(Phase::ready);
  go_on();
  EXPECT_EQ(jail->starts, 1);
  EXPECT_FALSE(jail->limits) << "it has them already";
  end(*jail, Ended::exited);
  EXPECT_EQ(outcome->result().status, Status::success);
  EXPECT_EQ(outcome->result().timings.started, 40ms);
  EXPECT_EQ(outcome->result().timings.queued, 0ms);
}

TEST_F(RunTest, AProgramThatInitDoesNotEndIsKilledAfterAGrace) {
  const auto jail = add(Kind::pooled, Phase::ready);
  const auto outcome = begin();
  jail->out.write("so far");
  pass(6999ms);
  EXPECT_FALSE(outcome->told);
  pass(1ms);
  EXPECT_EQ(outcome->result().status, Status::timeout);
  EXPECT_EQ(outcome->result().standard_output, "so far");
  EXPECT_EQ(jail->cancels, 0);
}

TEST_F(RunTest, CancelEndsARunningProgram) {
  const auto jail = add(Kind::pooled, Phase::ready);
  RunOptions options;
  const Cancel cancel = options.cancel;
  const auto outcome = begin(program(), std::move(options));
  cancel.request();
  go_on();
  EXPECT_EQ(jail->cancels, 1);
  EXPECT_FALSE(outcome->told);
  jail->tell();
  go_on();
  EXPECT_EQ(jail->cancels, 1) << "once is enough";
  end(*jail, Ended::cancelled);
  EXPECT_EQ(outcome->result().status, Status::cancelled);
}

TEST_F(RunTest, ACancelThatInitDoesNotHearKillsAfterAGrace) {
  const auto jail = add(Kind::pooled, Phase::ready);
  RunOptions options;
  const Cancel cancel = options.cancel;
  const auto outcome = begin(program(), std::move(options));
  pass(6s);
  cancel.request();
  go_on();
  pass(1999ms);
  EXPECT_FALSE(outcome->told);
  pass(1ms);
  EXPECT_EQ(outcome->result().status, Status::cancelled);
}

TEST_F(RunTest, ACancelBeforeTheStartTakesNoJail) {
  add(Kind::pooled, Phase::ready);
  RunOptions options;
  options.cancel.request();
  EXPECT_EQ(begin(program(), std::move(options))->result().status, Status::cancelled);
  EXPECT_THAT(asked_, IsEmpty());
  EXPECT_EQ(setting_.admission->running(), 0u);
}

TEST_F(RunTest, CancelKillsAJailThatIsNotReady) {
  const auto jail = add(Kind::of_its_own, Phase::launching);
  RunOptions options;
  const Cancel cancel = options.cancel;
  const auto outcome = begin(program(), std::move(options));
  cancel.request();
  go_on();
  EXPECT_EQ(outcome->result().status, Status::cancelled);
  EXPECT_EQ(outcome->result().timings.started, 0ms);
  EXPECT_TRUE(jail->given_up);
  EXPECT_EQ(jail->starts, 0);
}

TEST_F(RunTest, WhoWaitsForAPlaceGetsTheOneThatBecomesFree) {
  auto place = setting_.admission->take_free();
  const auto jail = add(Kind::pooled, Phase::ready);
  const auto outcome = begin();
  EXPECT_EQ(setting_.admission->queued(), 1u);
  pass(70ms);
  place.reset();
  go_on();
  EXPECT_EQ(jail->starts, 1);
  pass(5s);
  EXPECT_FALSE(outcome->told) << "the time to wait is over, that to run is not";
  end(*jail, Ended::exited);
  EXPECT_EQ(outcome->result().timings.queued, 70ms);
}

TEST_F(RunTest, NobodyWaitsForAPlaceLongerThanHeMayRun) {
  auto place = setting_.admission->take_free();
  const auto outcome = begin();
  pass(4999ms);
  EXPECT_FALSE(outcome->told);
  pass(1ms);
  EXPECT_EQ(outcome->error().kind, ErrorKind::exhausted);
  EXPECT_THAT(outcome->error().message(), HasSubstr("no place"));
  EXPECT_EQ(setting_.admission->queued(), 0u);
}

TEST_F(RunTest, APlaceThatIsOnItsWayAtTheDeadlineIsTaken) {
  auto place = setting_.admission->take_free();
  const auto jail = add(Kind::pooled, Phase::ready);
  const auto outcome = begin();
  clock_->advance(5s);  // which is told before the place
  place.reset();
  go_on();
  EXPECT_FALSE(outcome->told);
  EXPECT_EQ(jail->starts, 1);
}

TEST_F(RunTest, CancelLeavesTheQueue) {
  auto place = setting_.admission->take_free();
  RunOptions options;
  const Cancel cancel = options.cancel;
  const auto outcome = begin(program(), std::move(options));
  clock_->advance(30ms);
  cancel.request();
  go_on();
  EXPECT_EQ(outcome->result().status, Status::cancelled);
  EXPECT_EQ(outcome->result().timings.queued, 30ms);
  EXPECT_EQ(setting_.admission->queued(), 0u);
}

TEST_F(RunTest, APlaceThatIsOnItsWayToACancelledRunIsGivenBack) {
  auto place = setting_.admission->take_free();
  RunOptions options;
  const Cancel cancel = options.cancel;
  const auto outcome = begin(program(), std::move(options));
  cancel.request();
  place.reset();
  go_on();
  EXPECT_EQ(outcome->result().status, Status::cancelled);
  EXPECT_EQ(setting_.admission->running(), 0u);
}

TEST_F(RunTest, AFullQueueIsAnError) {
  set_places(1, 0);
  auto place = setting_.admission->take_free();
  EXPECT_EQ(begin()->error().kind, ErrorKind::exhausted);
}

TEST_F(RunTest, WhoIsPushedOutOfTheQueueIsTold) {
  set_places(1, 2);
  auto place = setting_.admission->take_free();
  RunOptions greedy;
  greedy.caller = "greedy";
  const auto first = begin(program(), greedy);
  const auto second = begin(program(), greedy);
  RunOptions modest;
  modest.caller = "modest";
  const auto third = begin(program(), modest);
  EXPECT_FALSE(first->told || third->told);
  EXPECT_THAT(second->error().message(), HasSubstr("queue is full"));
}

TEST_F(RunTest, WhoWaitsForAJailGetsTheOneThatBecomesReady) {
  const auto outcome = begin();
  ASSERT_EQ(tickets_.size(), 1u);
  pass(20ms);
  const auto jail = add(Kind::pooled, Phase::ready);
  (*tickets_[0].lock())(lease(next_.front()));
  go_on();
  EXPECT_EQ(jail->starts, 1);
  EXPECT_TRUE(tickets_[0].expired());
  end(*jail, Ended::exited);
  EXPECT_EQ(outcome->result().timings.queued, 20ms);
}

TEST_F(RunTest, WhereThePoolHasNoneAfterAllAJailIsMade) {
  const auto outcome = begin();
  const auto jail = add(Kind::of_its_own, Phase::ready);
  (*tickets_[0].lock())(Error{ErrorKind::closed, "lease a jail", 0, {}});
  go_on();
  ASSERT_EQ(asked_.size(), 2u);
  EXPECT_EQ(asked_[1].way, Way::cold);
  EXPECT_EQ(jail->starts, 1);
}

TEST_F(RunTest, NobodyWaitsForAJailLongerThanHeMayRun) {
  const auto outcome = begin();
  pass(4999ms);
  EXPECT_FALSE(outcome->told);
  pass(1ms);
  EXPECT_EQ(outcome->error().kind, ErrorKind::exhausted);
  EXPECT_THAT(outcome->error().message(), HasSubstr("no jail"));
  EXPECT_TRUE(tickets_[0].expired());
  EXPECT_EQ(setting_.admission->running(), 0u);
}

TEST_F(RunTest, CancelEndsTheWaitForAJail) {
  RunOptions options;
  const Cancel cancel = options.cancel;
  const auto outcome = begin(program(), std::move(options));
  cancel.request();
  go_on();
  EXPECT_EQ(outcome->result().status, Status::cancelled);
  EXPECT_TRUE(tickets_[0].expired());
}

TEST_F(RunTest, APooledJailThatIsNotReadyIsReplacedByOneThatIsWaitedForLonger) {
  const auto slow = add(Kind::pooled, Phase::launching);
  const auto slower = add(Kind::of_its_own, Phase::launching);
  const JailMaker maker = next_.front().maker;
  const auto outcome = begin();
  pass(4999ms);
  EXPECT_EQ(asked_.size(), 1u);
  pass(1ms);
  EXPECT_TRUE(slow->given_up);
  ASSERT_EQ(asked_.size(), 2u);
  EXPECT_EQ(asked_[1].way, Way::cold);
  EXPECT_EQ(asked_[1].failed, maker);
  pass(9999ms);
  EXPECT_FALSE(outcome->told);
  pass(1ms);
  EXPECT_EQ(outcome->error().kind, ErrorKind::timed_out);
  EXPECT_THAT(outcome->error().message(), HasSubstr("not ready after 10 s"));
  EXPECT_TRUE(slower->given_up);
}

TEST_F(RunTest, AJailThatItsLauncherLostIsLaunchedAgainOnce) {
  const auto lost = add(Kind::of_its_own, Phase::launching);
  const auto lost_too = add(Kind::of_its_own, Phase::launching);
  const JailMaker maker = next_.front().maker;
  const auto outcome = begin();
  lost->fail({ErrorKind::closed, "launch", 0, {}});
  go_on();
  ASSERT_EQ(asked_.size(), 2u);
  EXPECT_EQ(asked_[1].failed, maker);
  lost_too->fail({ErrorKind::closed, "launch again", 0, {}});
  go_on();
  EXPECT_EQ(asked_.size(), 2u);
  EXPECT_THAT(outcome->error().message(), HasSubstr("launch again"));
}

TEST_F(RunTest, AJailThatCannotBeMadeIsNotLaunchedAgain) {
  const auto jail = add(Kind::of_its_own, Phase::launching);
  const auto outcome = begin();
  jail->fail({ErrorKind::kernel, "mount /usr", 0, {}});
  go_on();
  EXPECT_EQ(asked_.size(), 1u);
  EXPECT_THAT(outcome->error().message(), HasSubstr("mount /usr"));
  EXPECT_EQ(setting_.admission->running(), 0u);
}

TEST_F(RunTest, APooledJailThatEndsBeforeTheStartIsReplaced) {
  const auto killed = add(Kind::pooled, Phase::launching);
  const auto jail = add(Kind::of_its_own, Phase::ready);
  begin();
  end(*killed, Ended::killed);
  EXPECT_EQ(jail->starts, 1);
}

TEST_F(RunTest, AJailOfItsOwnThatEndsBeforeTheStartIsReported) {
  const auto killed = add(Kind::of_its_own, Phase::launching);
  const auto outcome = begin();
  end(*killed, Ended::killed);
  EXPECT_EQ(outcome->result().status, Status::killed);
  EXPECT_EQ(asked_.size(), 1u);
}

TEST_F(RunTest, TheJailThatReplacesOneThatCannotStartGetsAllOfTheInput) {
  const auto broken = add(Kind::pooled, Phase::ready);
  broken->start_error = Error{ErrorKind::closed, "start", 0, {}};
  const auto jail = add(Kind::of_its_own, Phase::ready);
  RunRequest request = program();
  request.files = {{"file", "content"}};
  request.standard_input = "input";
  begin(std::move(request));
  EXPECT_TRUE(broken->given_up);
  EXPECT_EQ(broken->in.read(), "input");
  EXPECT_TRUE(broken->in.at_end());
  EXPECT_EQ(jail->in.read(), "input");
  EXPECT_EQ(jail->files.size(), 2u);
}

TEST_F(RunTest, AnErrorOfARunningJailIsTold) {
  const auto jail = add(Kind::pooled, Phase::ready);
  add(Kind::of_its_own, Phase::ready);
  const auto outcome = begin();
  jail->fail({ErrorKind::closed, "hear of init", 0, {}});
  go_on();
  EXPECT_THAT(outcome->error().message(), HasSubstr("hear of init"));
  EXPECT_EQ(asked_.size(), 1u) << "the program may have done something already";
}

TEST_F(RunTest, OutputIsCutAtTheCap) {
  const auto jail = add(Kind::pooled, Phase::ready);
  const auto outcome = begin();
  jail->out.write("0123456789abc");
  jail->err.write("0123456789");
  go_on();
  end(*jail, Ended::exited);
  EXPECT_EQ(outcome->result().standard_output, "0123456789");
  EXPECT_TRUE(outcome->result().stdout_truncated);
  EXPECT_FALSE(outcome->result().stderr_truncated);
}

TEST_F(RunTest, AClosedGateDoesNotKeepTheLastOutput) {
  const auto jail = add(Kind::pooled, Phase::ready);
  RunOptions options;
  const OutputGate gate = options.gate;
  std::string told;
  options.on_output = [&told](Stream, std::string_view bytes) { told += bytes; };
  gate.close();
  const auto outcome = begin(program(), std::move(options));
  jail->out.write("last");
  go_on();
  EXPECT_EQ(told, "");
  end(*jail, Ended::exited);
  EXPECT_EQ(told, "last");
  EXPECT_EQ(outcome->result().standard_output, "last");
}

TEST_F(RunTest, AnExecutorThatIsDestroyedDropsItsRuns) {
  set_places(2, 1);
  const auto running = add(Kind::pooled, Phase::ready);
  begin();
  const auto launching = add(Kind::of_its_own, Phase::launching);
  begin();
  begin();
  EXPECT_EQ(setting_.admission->queued(), 1u);
  loop_.reset();
  EXPECT_TRUE(running->given_up);
  EXPECT_TRUE(launching->given_up);
  EXPECT_EQ(setting_.admission->queued(), 0u);
  EXPECT_EQ(setting_.admission->running(), 0u);
}

// With a working directory that has the program's file and one that it made.
class RunArtifactsTest : public RunTest {
 protected:
  RunArtifactsTest() {
    char name[] = "/tmp/run_test.XXXXXX";
    path_ = ::mkdtemp(name);
    std::ofstream(path_ / "main.py") << "the program";
    std::ofstream(path_ / "made.txt") << "artifact";
    directory_ = jail::Fd(::open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    jail_ = add(Kind::pooled, Phase::ready);
    jail_->working_directory = directory_.get();
  }
  ~RunArtifactsTest() override { std::filesystem::remove_all(path_); }

  static RunRequest request() {
    RunRequest request = program();
    request.artifacts = {"**"};
    return request;
  }

  std::filesystem::path path_;
  jail::Fd directory_;
  std::shared_ptr<FakeJail> jail_;
};

TEST_F(RunArtifactsTest, AreReadWhereNoOtherRunWaitsForThat) {
  set_places(2, 0);
  const auto outcome = begin(request());
  end(*jail_, Ended::exited);
  EXPECT_FALSE(outcome->told);
  const auto other_jail = add(Kind::pooled, Phase::ready);
  const auto other = begin();
  end(*other_jail, Ended::exited);
  EXPECT_EQ(other->result().status, Status::success);
  EXPECT_FALSE(outcome->told);
  EXPECT_GT(collectors_.poll(), 0u);
  EXPECT_FALSE(outcome->told) << "it is told by its own executor";
  go_on();
  const RunResult result = outcome->result();
  ASSERT_EQ(result.artifacts.files.size(), 1u);
  EXPECT_EQ(result.artifacts.files[0].path, "made.txt");
  EXPECT_EQ(result.artifacts.files[0].content, "artifact");
  EXPECT_TRUE(jail_->given_up);
}

TEST_F(RunArtifactsTest, AreReadWhenAllProcessesAreDead) {
  const auto outcome = begin(request());
  jail_->report.ended = Ended::exited;
  jail_->become(Phase::ended);
  go_on();
  EXPECT_EQ(collectors_.poll(), 0u);
  jail_->process.writing.reset();
  go_on();
  collectors_.restart();
  EXPECT_GT(collectors_.poll(), 0u);
  go_on();
  EXPECT_EQ(outcome->result().artifacts.files.size(), 1u);
}

TEST_F(RunArtifactsTest, ProcessesThatDoNotDieAreAnError) {
  const auto outcome = begin(request());
  jail_->become(Phase::ended);
  go_on();
  pass(1999ms);
  EXPECT_FALSE(outcome->told);
  pass(1ms);
  EXPECT_THAT(outcome->error().message(), HasSubstr("do not end"));
}

TEST_F(RunArtifactsTest, ACancelledRunHasNone) {
  RunOptions options;
  const Cancel cancel = options.cancel;
  const auto outcome = begin(request(), std::move(options));
  cancel.request();
  go_on();
  end(*jail_, Ended::cancelled);
  EXPECT_EQ(outcome->result().status, Status::cancelled);
  EXPECT_THAT(outcome->result().artifacts.files, IsEmpty());
}

TEST_F(RunArtifactsTest, ACancelThatComesWhileTheyAreReadIsTooLate) {
  RunOptions options;
  const Cancel cancel = options.cancel;
  const auto outcome = begin(request(), std::move(options));
  jail_->report.ended = Ended::exited;
  jail_->become(Phase::ended);
  go_on();
  cancel.request();
  go_on();
  jail_->process.writing.reset();
  go_on();
  collectors_.poll();
  go_on();
  EXPECT_EQ(outcome->result().status, Status::error) << "exit code -1, as the jail was not told";
  EXPECT_EQ(outcome->result().artifacts.files.size(), 1u);
}

}  // namespace
}  // namespace runtime
