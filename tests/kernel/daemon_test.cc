// libjail in a daemon of many threads: no deadlock, no descriptor lost or passed on, no child taken
// from it, whatever it does about SIGCHLD. SIGPIPE keeps its default action, so it kills a careless
// caller.
#include "daemon.h"

#include <errno.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/close_range.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>

#include "guest.h"
#include "processes.h"
#include "tests/time_scale.h"

namespace kernel_ring {
namespace {

using jail::ErrorKind;
using jail::Launcher;
using jail::Phase;
using std::chrono::seconds;

// The counts of signal handlers, which get no argument of ours.
std::atomic<int> interruptions{0};
std::atomic<int> reaped{0};

void note_interruption(int) { ++interruptions; }

void reap_all(int) {
  const int before = errno;
  while (::waitpid(-1, nullptr, WNOHANG) > 0) ++reaped;
  errno = before;
}

void handle(int signal, void (*handler)(int)) {
  struct sigaction action {};
  action.sa_handler = handler;  // and no SA_RESTART: calls fail with EINTR
  ASSERT_EQ(::sigaction(signal, &action, nullptr), 0);
}

// JAIL_TEST_LAUNCHES says how many.
int wanted_launches() {
  const char* wanted = std::getenv("JAIL_TEST_LAUNCHES");
  return wanted == nullptr ? 340 : std::atoi(wanted);
}

class Daemon : public testing::Test {
 protected:
  void SetUp() override {
    // Descriptors that the runner of the tests left open do not belong to the daemon.
    ASSERT_EQ(::syscall(SYS_close_range, 3, ~0u, CLOSE_RANGE_CLOEXEC), 0);
    // The daemon acts as pid 1 of a container: orphans become children of this process.
    ASSERT_EQ(::prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0), 0);
    handle(SIGPIPE, SIG_DFL);
    handle(SIGUSR1, note_interruption);
  }

  void expect_whole(Waits waits) {
    const DaemonOptions options{.launches = wanted_launches(), .waits = waits};
    const std::size_t before = open_descriptors();
    Findings findings;
    const auto started = std::chrono::steady_clock::now();
    {
      auto launcher = Launcher::start();
      ASSERT_TRUE(launcher) << launcher.error().message();
      run_daemon(*launcher, options, findings);
    }
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - started;
    EXPECT_THAT(findings.faults(), testing::IsEmpty());
    EXPECT_EQ(open_descriptors(), before);
    EXPECT_TRUE(soon(has_no_child)) << children_of(::getpid()).size() << " are left";
#ifndef __SANITIZE_THREAD__  // which hands a signal to its handler where it suits it
    EXPECT_GT(interruptions, 0);
#endif
    std::printf("%d launches by %d threads in %.1f s, %d interruptions\n", options.launches,
                options.threads, took.count(), interruptions.load());
    for (const auto& [what, count] : findings.counts()) {
      std::printf("  %6d %s\n", count, what.c_str());
    }
  }

  static bool has_no_child() {
    while (::waitpid(-1, nullptr, WNOHANG) > 0) {
    }
    return errno == ECHILD;
  }
};

TEST_F(Daemon, ReapsWhoeverEndsInItsHandler) {
  handle(SIGCHLD, reap_all);
  expect_whole(Waits::never);
  EXPECT_GE(reaped, wanted_launches());  // a child of its own for each launch
}

TEST_F(Daemon, IgnoresItsChildren) {
  handle(SIGCHLD, SIG_IGN);
  expect_whole(Waits::never);
}

TEST_F(Daemon, WaitsForEachOfItsChildren) {
  handle(SIGCHLD, SIG_DFL);
  expect_whole(Waits::by_pid);
}

TEST_F(Daemon, OutlivesALauncherThatIsGone) {
  auto launcher = Launcher::start();
  ASSERT_TRUE(launcher) << launcher.error().message();
  auto jail = launcher->launch(spec_for({"/usr/bin/true"}));
  ASSERT_TRUE(jail) << jail.error().message();
  ASSERT_TRUE(jail->wait(Phase::ready, scaled(seconds(60))));
  ASSERT_EQ(::syscall(SYS_pidfd_send_signal, launcher->process_fd(), SIGKILL, nullptr, 0), 0);
  pollfd gone{launcher->process_fd(), POLLIN, 0};
  ASSERT_EQ(::poll(&gone, 1, 60'000), 1);

  const auto next = launcher->launch(spec_for({"/usr/bin/true"}));
  ASSERT_FALSE(next);
  EXPECT_EQ(next.error().kind, ErrorKind::closed) << next.error().message();
  // A jail belongs to its owner, not to its launcher.
  ASSERT_TRUE(jail->start());
  ASSERT_TRUE(jail->wait(Phase::ended, scaled(seconds(60))));
  EXPECT_EQ(jail->report().ended, jail::Ended::exited);
}

// A fork has copies of every handle. Where it ends without an execve, their destructors run.
TEST_F(Daemon, KeepsWhatAForkOfItDestroys) {
  auto launcher = Launcher::start();
  ASSERT_TRUE(launcher) << launcher.error().message();
  auto jail = launcher->launch(spec_for({"/usr/bin/sh", "-c", "read -r it; exit 7"}));
  ASSERT_TRUE(jail) << jail.error().message();
  ASSERT_TRUE(jail->wait(Phase::ready, scaled(seconds(60))));
  ASSERT_TRUE(jail->start());
  const pid_t fork = ::fork();
  ASSERT_GE(fork, 0);
  if (fork == 0) {
    { const jail::Jail ends(std::move(*jail)); }
    { const Launcher ends(std::move(*launcher)); }
    ::_exit(0);
  }
  ASSERT_EQ(::waitpid(fork, nullptr, 0), fork);

  const auto next = launcher->launch(spec_for({"/usr/bin/true"}));
  EXPECT_TRUE(next) << next.error().message();
  EXPECT_EQ(::write(jail->take_stdin().get(), "\n", 1), 1);
  ASSERT_TRUE(jail->wait(Phase::ended, scaled(seconds(60))));
  EXPECT_EQ(jail->report().exit_code, 7) << to_string(jail->report().ended);
}

TEST_F(Daemon, EndsWhatAnotherHandleTakesThePlaceOf) {
  auto launcher = Launcher::start();
  ASSERT_TRUE(launcher) << launcher.error().message();
  auto jail = launcher->launch(spec_for({"/usr/bin/true"}));
  ASSERT_TRUE(jail) << jail.error().message();
  ASSERT_TRUE(jail->wait(Phase::ready, scaled(seconds(60))));
  const jail::Fd init(::dup(jail->process_fd()));
  const jail::Fd first(::dup(launcher->process_fd()));
  auto second = Launcher::start();
  ASSERT_TRUE(second) << second.error().message();
  *launcher = std::move(*second);
  siginfo_t status{};
  EXPECT_NE(::waitid(static_cast<idtype_t>(P_PIDFD), static_cast<id_t>(first.get()), &status,
                     WEXITED | WNOHANG),
            0)
      << "the first launcher is left as a zombie";
  auto next = launcher->launch(spec_for({"/usr/bin/true"}));
  ASSERT_TRUE(next) << next.error().message();
  *jail = std::move(*next);
  pollfd ended{init.get(), POLLIN, 0};
  EXPECT_EQ(::poll(&ended, 1, 60'000), 1) << "the jail whose handle was overwritten goes on";
}

}  // namespace
}  // namespace kernel_ring
