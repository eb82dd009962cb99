// How jails end, and what is left of them.
#include <errno.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <optional>
#include <set>
#include <thread>

#include "guest.h"
#include "jail/pool.h"
#include "processes.h"
#include "tests/time_scale.h"

namespace kernel_ring {
namespace {

using jail::Ended;
using jail::Phase;
using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::HasSubstr;

jail::Result<jail::Jail> ready_program(std::vector<std::string> program) {
  return kernel_ring::ready_jail(spec_for(std::move(program)));
}

TEST(Life, ExitStatusIsTheGuests) {
  for (const int status : {0, 1, 42, 137, 255}) {
    const Outcome outcome = run_shell("exit " + std::to_string(status));
    EXPECT_EQ(outcome.report.ended, Ended::exited);
    EXPECT_EQ(outcome.report.exit_code, status);
  }
}

TEST(Life, DeathByASignalIsNamed) {
  for (const int signal : {SIGKILL, SIGTERM, SIGSEGV, SIGABRT}) {
    const Outcome outcome = run_shell("kill -" + std::to_string(signal) + " $$");
    EXPECT_EQ(outcome.report.ended, Ended::signaled);
    EXPECT_EQ(outcome.report.signal, signal);
  }
}

TEST(Life, StandardInputReachesTheGuest) {
  EXPECT_EQ(run(spec_for({"/usr/bin/cat"}), "hello\n").out, "hello\n");
}

TEST(Life, OutputIsDeliveredAfterTheEnd) {
  EXPECT_EQ(run_shell("echo out; echo err >&2").err, "err\n");
}

TEST(Life, EverythingEndsWithTheFirstProcess) {
  const auto begin = std::chrono::steady_clock::now();
  const Outcome outcome = run_shell("(sleep 30; echo late) & echo early");
  EXPECT_EQ(outcome.out, "early\n");
  EXPECT_EQ(outcome.report.ended, Ended::exited);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, seconds(10));
}

TEST(Life, OrphansAreReaped) {
  const Outcome outcome = run_python(R"(
import os, time
for i in range(300):
    pid = os.fork()
    if pid == 0:
        if os.fork() == 0: os._exit(0)
        os._exit(0)
    os.waitpid(pid, 0)
print('ok')
)",
                                     [](jail::JailSpec& spec) {
                                       spec.limits.processes = 40;
                                       // The time suffices for 600 forks of Python.
                                       spec.limits.wall = scaled(seconds(60));
                                       spec.limits.cpu = scaled(seconds(60));
                                     });
  EXPECT_EQ(outcome.out, "ok\n") << outcome.err;
}

TEST(Life, ProgramThatIsNotThereIsAnErrorOfTheStep) {
  auto jail = ready_program({"/usr/bin/no-such-program"});
  ASSERT_TRUE(jail) << jail.error().message();
  ASSERT_TRUE(jail->start());
  const auto ended = jail->wait(Phase::ended, scaled(seconds(10)));
  ASSERT_FALSE(ended);
  EXPECT_THAT(ended.error().message(), HasSubstr("start /usr/bin/no-such-program (guest step "));
  EXPECT_THAT(ended.error().message(), HasSubstr("No such file or directory"));
}

TEST(Life, SourceThatIsNotThereIsAnErrorOfTheStep) {
  jail::JailSpec spec = spec_for({"/usr/bin/true"});
  spec.root.binds.push_back({"/no/such/place", "/mnt", jail::NodeKind::directory});
  auto jail = launcher().launch(spec);
  ASSERT_TRUE(jail) << jail.error().message();
  const auto ready = jail->wait(Phase::ready, scaled(seconds(10)));
  ASSERT_FALSE(ready);
  EXPECT_THAT(ready.error().message(), HasSubstr("open /no/such/place (init step "));
}

TEST(Life, CancelEndsARunningJail) {
  auto jail = ready_program({"/usr/bin/sleep", "30"});
  ASSERT_TRUE(jail) << jail.error().message();
  ASSERT_TRUE(jail->start());
  jail->cancel();
  ASSERT_TRUE(jail->wait(Phase::ended, scaled(seconds(10))));
  EXPECT_EQ(jail->report().ended, Ended::cancelled);
}

TEST(Life, CancelEndsAJailThatNeverRan) {
  auto jail = ready_program({"/usr/bin/true"});
  ASSERT_TRUE(jail) << jail.error().message();
  jail->cancel();
  ASSERT_TRUE(jail->wait(Phase::ended, scaled(seconds(10))));
  EXPECT_EQ(jail->report().ended, Ended::cancelled);
}

TEST(Life, CancelAfterTheEndChangesNothing) {
  auto jail = ready_program({"/usr/bin/true"});
  ASSERT_TRUE(jail) << jail.error().message();
  ASSERT_TRUE(jail->start());
  ASSERT_TRUE(jail->wait(Phase::ended, scaled(seconds(10))));
  jail->cancel();
  jail->kill(Ended::timed_out);
  EXPECT_EQ(jail->report().ended, Ended::exited);
}

TEST(Life, KillNeedsNoInit) {
  auto jail = ready_program({"/usr/bin/sleep", "30"});
  ASSERT_TRUE(jail) << jail.error().message();
  ASSERT_TRUE(jail->start());
  jail->kill(Ended::timed_out);
  EXPECT_EQ(jail->phase(), Phase::ended);
  EXPECT_EQ(jail->report().ended, Ended::timed_out);
}

TEST(Life, StartTwiceIsRefused) {
  auto jail = ready_program({"/usr/bin/sleep", "30"});
  ASSERT_TRUE(jail) << jail.error().message();
  ASSERT_TRUE(jail->start());
  const auto again = jail->start();
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().kind, jail::ErrorKind::invalid);
}

TEST(Life, FilesAreWrittenOnceAndOnlyInTheWorkingDirectory) {
  auto jail = ready_program({"/usr/bin/true"});
  ASSERT_TRUE(jail) << jail.error().message();
  EXPECT_TRUE(jail->write_file("a", "text", 0644));
  EXPECT_FALSE(jail->write_file("a", "text", 0644));
  EXPECT_TRUE(jail->write_file("some/where/b", "text", 0644));
  EXPECT_TRUE(jail->write_file("some/c", "text", 0644));
  for (const char* name : {"../b", "/tmp/a", "a/b", "some/../b", "some//b", "", ".", ".."}) {
    EXPECT_FALSE(jail->write_file(name, "text", 0644)) << name;
  }
  ASSERT_TRUE(jail->start());
  EXPECT_FALSE(jail->write_file("b", "text", 0644));
}

TEST(Life, DroppedJailsLeaveNothing) {
  run_shell("true");  // the launcher is up
  const std::size_t before = open_descriptors();
  const auto made_before = descendants_of(::getpid()).size();
  for (int i = 0; i < 10; ++i) {
    auto jail = ready_program({"/usr/bin/sleep", "30"});
    ASSERT_TRUE(jail) << jail.error().message();
    if (i % 2 == 0) {
      ASSERT_TRUE(jail->start());
    }
  }
  EXPECT_EQ(open_descriptors(), before);
  // There may be fewer, where a jail of an earlier test was still ending.
  EXPECT_TRUE(soon([&] { return descendants_of(::getpid()).size() <= made_before; }));
}

TEST(Life, ManyThreadsLaunchAtOnce) {
  run_shell("true");
  const std::size_t before = open_descriptors();
  std::atomic<int> good = 0;
  std::vector<std::thread> workers;
  for (int worker = 0; worker < 8; ++worker) {
    workers.emplace_back([&good, worker] {
      for (int i = 0; i < 10; ++i) {
        auto jail = ready_program({"/usr/bin/bash", "-c", "exit " + std::to_string(worker)});
        if (!jail || !jail->start() || !jail->wait(Phase::ended, scaled(seconds(30)))) continue;
        if (jail->report().exit_code == worker) ++good;
      }
    });
  }
  for (std::thread& worker : workers) worker.join();
  EXPECT_EQ(good, 80);
  EXPECT_EQ(open_descriptors(), before);
}

TEST(Life, LauncherThatWasKilledIsSaidToBeGone) {
  auto started = start_launcher();
  ASSERT_TRUE(started) << started.error().message();
  auto survivor = started->launch(spec_for({"/usr/bin/sleep", "0.3"}));
  ASSERT_TRUE(survivor) << survivor.error().message();
  ASSERT_TRUE(survivor->wait(Phase::ready, scaled(seconds(10))));
  ASSERT_TRUE(survivor->start());
  ASSERT_EQ(::syscall(SYS_pidfd_send_signal, started->process_fd(), SIGKILL, nullptr, 0), 0);
  ASSERT_TRUE(soon([&] { return !started->launch(spec_for({"/usr/bin/true"})).has_value(); }));
  const auto refused = started->launch(spec_for({"/usr/bin/true"}));
  EXPECT_EQ(refused.error().kind, jail::ErrorKind::closed);
  // A running jail does not depend on the launcher any more.
  ASSERT_TRUE(survivor->wait(Phase::ended, scaled(seconds(10))));
  EXPECT_EQ(survivor->report().ended, Ended::exited);
}

TEST(Life, OwnerThatWasKilledTakesItsJailsAlong) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const pid_t owner = ::fork();
  if (owner == 0) {
    auto started = start_launcher();
    auto jail = started->launch(spec_for({"/usr/bin/bash", "-c", "sleep 60 & sleep 60"}));
    const bool running = jail->wait(Phase::ready, scaled(seconds(10))) && jail->start();
    if (running && ::write(ends[1], "x", 1) == 1) ::pause();
    ::_exit(1);
  }
  char byte = 0;
  ASSERT_EQ(::read(ends[0], &byte, 1), 1);
  // These are the launcher, init, the shell and its two children.
  ASSERT_TRUE(soon([owner] { return descendants_of(owner).size() == 5; }));
  const std::set<pid_t> all = descendants_of(owner);
  ASSERT_EQ(::kill(owner, SIGKILL), 0);
  ASSERT_EQ(::waitpid(owner, nullptr, 0), owner);
  EXPECT_TRUE(soon([&all] { return std::all_of(all.begin(), all.end(), is_gone); }));
  ::close(ends[0]);
  ::close(ends[1]);
}

TEST(Life, SurvivesAnOwnerThatIgnoresItsChildren) {
  const auto before = ::signal(SIGCHLD, SIG_IGN);
  {
    auto started = start_launcher();
    ASSERT_TRUE(started) << started.error().message();
    auto jail = started->launch(spec_for({"/usr/bin/bash", "-c", "/usr/bin/true; exit 3"}));
    ASSERT_TRUE(jail) << jail.error().message();
    ASSERT_TRUE(jail->wait(Phase::ready, scaled(seconds(10))));
    ASSERT_TRUE(jail->start());
    ASSERT_TRUE(jail->wait(Phase::ended, scaled(seconds(10))));
    EXPECT_EQ(jail->report().exit_code, 3);
  }
  ::signal(SIGCHLD, before);
}

TEST(Life, PhasesAddUp) {
  const Outcome outcome = run_shell("sleep 0.1");
  const auto& phases = outcome.report.phases;
  EXPECT_GT(phases.set_up.count(), 0);
  EXPECT_GT(phases.started.count(), 0);
  // Init may learn late that the program has begun.
  EXPECT_GE(phases.started + phases.ran, milliseconds(100));
  EXPECT_GT(outcome.report.usage.memory_peak_bytes, 500'000u);
}

TEST(Life, ARunGetsNoMoreThanItsJailWasMadeFor) {
  jail::JailSpec spec = spec_for({"/usr/bin/true"});
  spec.limits.memory_bytes = 64u << 20;
  auto jail = launcher().launch(spec);
  ASSERT_TRUE(jail) << jail.error().message();
  ASSERT_TRUE(jail->wait(jail::Phase::ready, scaled(std::chrono::seconds(30))));
  jail::RunLimits limits;
  limits.memory_bytes = 65u << 20;
  const auto refused = jail->start(limits);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, jail::ErrorKind::invalid);
  limits = {};
  limits.cpu = spec.limits.cpu + std::chrono::milliseconds(1);
  EXPECT_FALSE(jail->start(limits));
  limits = {};
  limits.wall = std::chrono::milliseconds::max();
  const auto endless = jail->start(limits);
  ASSERT_FALSE(endless);
  EXPECT_THAT(endless.error().message(), HasSubstr("limits.wall"));
  limits.wall = scaled(std::chrono::seconds(20));
  ASSERT_TRUE(jail->start(limits));
  EXPECT_EQ(collect(*jail).report.exit_code, 0);
}

TEST(Life, APoolIsToldThatItsLauncherIsGone) {
  auto own = start_launcher();
  ASSERT_TRUE(own) << own.error().message();
  std::optional<jail::Launcher> launcher(std::move(*own));
  jail::TemplateSpec spec;
  spec.name = "short";
  spec.warmth = jail::Warmth::prepared;
  spec.jail = spec_for({"/usr/bin/true"});
  auto pool = jail::Pool::open(*launcher, spec, {.least = 0, .usual = 0, .most = 4});
  ASSERT_TRUE(pool) << pool.error().message();
  launcher.reset();
  const auto jail = pool->lease();
  ASSERT_FALSE(jail);
  EXPECT_EQ(jail.error().kind, jail::ErrorKind::closed) << jail.error().message();
}

}  // namespace
}  // namespace kernel_ring
