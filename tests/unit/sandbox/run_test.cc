// Run over jails that are only pipes, by a clock that the test moves.
#include "runtime/sandbox/run.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <utility>

#include "tests/unit/sandbox/run_fixture.h"

namespace runtime {
namespace {

namespace asio = boost::asio;
using namespace std::chrono_literals;
using jail::Ended;
using jail::ErrorKind;
using jail::Phase;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;

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

TEST_F(RunTest, SignalsReachTheProgramWhenItRuns) {
  const auto jail = add(Kind::of_its_own, Phase::launching);
  RunOptions options;
  const auto signals = std::make_shared<ProgramSignals>();
  options.signals = signals;
  const auto outcome = begin(program(), std::move(options));
  signals->send(SIGINT);
  go_on();
  EXPECT_THAT(jail->signals, IsEmpty()) << "it does not run yet";
  jail->become(Phase::ready);
  go_on();
  EXPECT_THAT(jail->signals, ElementsAre(SIGINT));
  signals->send(SIGTERM);
  signals->send(SIGINT);
  go_on();
  EXPECT_THAT(jail->signals, ElementsAre(SIGINT, SIGTERM, SIGINT));
  EXPECT_EQ(jail->cancels, 0);
  end(*jail, Ended::exited);
  EXPECT_EQ(outcome->result().status, Status::success);
  signals->send(SIGINT);
  go_on();
  EXPECT_EQ(jail->signals.size(), 3u);
}

TEST_F(RunTest, ATerminalIsInputAndOutputOnceItIsThere) {
  int ends[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends), 0);
  const jail::Fd ours(ends[0]);
  jail::Fd of_program(ends[1]);
  const auto jail = add(Kind::of_its_own, Phase::ready);
  RunRequest request = program();
  request.terminal = jail::TerminalSize{};
  request.standard_input = "typed";
  RunOptions options;
  int told = 0;
  options.on_terminal = [&told](const jail::Fd& terminal) { told += terminal.valid() ? 1 : 0; };
  const auto outcome = begin(std::move(request), std::move(options));
  EXPECT_EQ(told, 0);
  jail->terminal = ours.get();
  jail->tell();
  go_on();
  jail->tell();
  go_on();
  EXPECT_EQ(told, 1);
  char typed[16];
  EXPECT_EQ(::read(of_program.get(), typed, sizeof typed), 5);
  ASSERT_EQ(::write(of_program.get(), "shown", 5), 5);
  go_on();
  of_program.reset();
  end(*jail, Ended::exited);
  EXPECT_EQ(outcome->result().standard_output, "shown");
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

// A run whose result alone is waited for, and that notes each output as it comes.
class ResultFirstTest : public RunTest {
 protected:
  std::shared_ptr<Outcome> begin_first(RunOptions options = {}) {
    options.result_first = true;
    options.on_output = [this](Stream, std::string_view bytes) { told_ += bytes; };
    return begin(program(), std::move(options));
  }

  std::string told_;
};

TEST_F(ResultFirstTest, TheOutputOfAShortProgramIsReadAtItsEnd) {
  const auto jail = add(Kind::pooled, Phase::ready);
  const auto outcome = begin_first();
  jail->out.write("out");
  jail->err.write("err");
  go_on();
  EXPECT_EQ(told_, "");
  end(*jail, Ended::exited);
  EXPECT_EQ(told_, "outerr");
  EXPECT_EQ(outcome->result().standard_output, "out");
  EXPECT_EQ(outcome->result().standard_error, "err");
}

TEST_F(ResultFirstTest, TheOutputOfALongerProgramIsReadAsItComes) {
  const auto jail = add(Kind::pooled, Phase::ready);
  const auto outcome = begin_first();
  jail->out.write("one");
  go_on();
  EXPECT_EQ(told_, "");
  pass(1ms);
  EXPECT_EQ(told_, "one");
  jail->out.write("two");
  go_on();
  EXPECT_EQ(told_, "onetwo");
  pass(6998ms);
  EXPECT_FALSE(outcome->told);
  pass(1ms);
  EXPECT_EQ(outcome->result().status, Status::timeout);
}

TEST_F(ResultFirstTest, ACancelBeforeTheOutputIsReadHasAllOfItsGrace) {
  const auto jail = add(Kind::pooled, Phase::ready);
  RunOptions options;
  const Cancel cancel = options.cancel;
  const auto outcome = begin_first(std::move(options));
  jail->out.write("out");
  cancel.request();
  go_on();
  EXPECT_EQ(jail->cancels, 1);
  EXPECT_EQ(told_, "out");
  pass(1999ms);
  EXPECT_FALSE(outcome->told);
  pass(1ms);
  EXPECT_EQ(outcome->result().status, Status::cancelled);
}

// A run that is there for longer than its result is waited for.
class FinishedRunTest : public RunTest {
 protected:
  void begin_run(RunOptions options) {
    run_ = std::make_unique<runtime::Run>(loop_->get_executor(), setting_, program(),
                                          std::move(options));
    const auto work = [this]() -> asio::awaitable<void> {
      const auto result = co_await run_->result();
      ended_ = result.has_value();
    };
    asio::co_spawn(*loop_, work, asio::detached);
    go_on();
  }

  std::unique_ptr<runtime::Run> run_;
  bool ended_ = false;  // with a result
};

TEST_F(FinishedRunTest, AFinishedRunGivesItsPlaceUpBeforeItsJail) {
  const auto jail = add(Kind::pooled, Phase::ready);
  RunOptions options;
  options.signals = std::make_shared<ProgramSignals>();
  const auto signals = options.signals;
  begin_run(std::move(options));
  EXPECT_EQ(setting_.admission->running(), 1u);
  end(*jail, Ended::exited);
  ASSERT_TRUE(ended_);
  run_->finish();
  EXPECT_EQ(setting_.admission->running(), 0u);
  EXPECT_FALSE(jail->given_up);
  signals->send(SIGINT);
  go_on();
  EXPECT_THAT(jail->signals, IsEmpty());
  run_.reset();
  EXPECT_TRUE(jail->given_up);
}

TEST_F(FinishedRunTest, AFinishedRunTellsOfNoMoreOutput) {
  const auto jail = add(Kind::pooled, Phase::ready);
  std::string told;
  RunOptions options;
  options.on_output = [&told](Stream, std::string_view bytes) { told += bytes; };
  begin_run(std::move(options));
  jail->out.write("in time");
  end(*jail, Ended::killed);
  ASSERT_TRUE(ended_);
  run_->finish();
  jail->out.write("too late");
  go_on();
  EXPECT_EQ(told, "in time");
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

// Has a working directory with the program's file and one that it made.
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
