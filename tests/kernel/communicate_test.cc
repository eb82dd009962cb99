// Jail::communicate(), and the behaviour of a Jail after its end.
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <set>
#include <thread>

#include "guest.h"
#include "processes.h"
#include "tests/time_scale.h"

namespace kernel_ring {
namespace {

using jail::Ended;
using jail::ErrorKind;
using jail::Phase;
using std::chrono::milliseconds;
using std::chrono::seconds;

std::optional<jail::Jail> running(const std::string& script) {
  auto jail = ready_jail(spec_for({"/usr/bin/bash", "-c", script}));
  if (jail && jail->start()) return std::move(*jail);
  ADD_FAILURE() << "it was not started";
  return std::nullopt;
}

bool is_dead(const jail::Jail& jail) {
  pollfd init{jail.process_fd(), POLLIN, 0};
  return init.fd >= 0 && ::poll(&init, 1, 0) == 1;
}

bool is_pending(int signal) {
  sigset_t pending;
  ::sigpending(&pending);
  return ::sigismember(&pending, signal) == 1;
}

TEST(Communicate, FeedsAndReadsMoreThanPipesHold) {
  auto jail = running("tee /dev/stderr");
  ASSERT_TRUE(jail);
  std::string input(3u << 20, 'a');
  for (std::size_t i = 0; i < input.size(); i += 61) input[i] = '\n';
  const auto output = jail->communicate(input, 4u << 20);
  ASSERT_TRUE(output) << output.error().message();
  EXPECT_TRUE(output->out == input);
  EXPECT_TRUE(output->err == input);
  EXPECT_EQ(output->out_lost_bytes + output->err_lost_bytes, 0u);
  EXPECT_EQ(jail->report().exit_code, 0);
}

TEST(Communicate, KeepsWhatItMayAndCountsTheRest) {
  auto jail = running("head -c 300000 /dev/zero; echo four >&2; exit 4");
  ASSERT_TRUE(jail);
  const auto output = jail->communicate({}, 3);
  ASSERT_TRUE(output) << output.error().message();
  EXPECT_EQ(output->out, std::string(3, '\0'));
  EXPECT_EQ(output->err, "fou");
  EXPECT_EQ(output->out_lost_bytes, 300'000u - 3);
  EXPECT_EQ(output->err_lost_bytes, 2u);
  EXPECT_EQ(jail->report().exit_code, 4);
}

TEST(Communicate, AGuestWithoutInputFindsItsEnd) {
  auto jail = running("cat; echo done");
  ASSERT_TRUE(jail);
  const auto output = jail->communicate();
  ASSERT_TRUE(output) << output.error().message();
  EXPECT_EQ(output->out, "done\n");
}

// The default action of SIGPIPE would end this test.
TEST(Communicate, AGuestThatDoesNotReadRaisesNoSignal) {
  sigset_t pipe;
  ::sigemptyset(&pipe);
  ::sigaddset(&pipe, SIGPIPE);
  auto jail = running("exec <&-; echo closed");
  ASSERT_TRUE(jail);
  const auto output = jail->communicate(std::string(1u << 20, 'x'));
  ASSERT_TRUE(output) << output.error().message();
  EXPECT_EQ(output->out, "closed\n");
  sigset_t mask;
  ASSERT_EQ(::pthread_sigmask(SIG_SETMASK, nullptr, &mask), 0);
  EXPECT_EQ(::sigismember(&mask, SIGPIPE), 0);
}

TEST(Communicate, ASignalThatWasPendingStaysPending) {
  sigset_t pipe;
  ::sigemptyset(&pipe);
  ::sigaddset(&pipe, SIGPIPE);
  ASSERT_EQ(::pthread_sigmask(SIG_BLOCK, &pipe, nullptr), 0);
  for (const bool was_pending : {false, true}) {
    if (was_pending) ::raise(SIGPIPE);
    auto jail = running("exec <&-");
    ASSERT_TRUE(jail);
    ASSERT_TRUE(jail->communicate(std::string(1u << 20, 'x')));
    EXPECT_EQ(is_pending(SIGPIPE), was_pending);
  }
  const timespec at_once{};
  EXPECT_EQ(::sigtimedwait(&pipe, nullptr, &at_once), SIGPIPE);
  ASSERT_EQ(::pthread_sigmask(SIG_UNBLOCK, &pipe, nullptr), 0);
}

TEST(Communicate, ReturnsWhenEveryProcessIsDead) {
  auto jail = running("(trap '' TERM; sleep 60; echo late) & echo first");
  ASSERT_TRUE(jail);
  const auto output = jail->communicate();
  ASSERT_TRUE(output) << output.error().message();
  EXPECT_EQ(output->out, "first\n");
  EXPECT_EQ(jail->phase(), Phase::ended);
  EXPECT_TRUE(is_dead(*jail));
}

TEST(Communicate, DoesNotWaitForAnInitThatSaysNothing) {
  jail::JailSpec spec = spec_for({"/usr/bin/sleep", "60"});
  spec.limits.wall = milliseconds(10);
  auto jail = ready_jail(spec);
  ASSERT_TRUE(jail);
  while (jail->process_fd() < 0) ASSERT_TRUE(jail->advance());
  ASSERT_TRUE(jail->start());
  ASSERT_EQ(::syscall(SYS_pidfd_send_signal, jail->process_fd(), SIGSTOP, nullptr, 0), 0);
  const auto output = jail->communicate();
  ASSERT_TRUE(output) << output.error().message();
  EXPECT_EQ(jail->report().ended, Ended::timed_out);
  EXPECT_TRUE(is_dead(*jail));
}

TEST(Communicate, IsRefusedWithoutItsStreamsAndBeforeTheStart) {
  auto jail = ready_jail(spec_for({"/usr/bin/true"}));
  ASSERT_TRUE(jail);
  const auto early = jail->communicate();
  ASSERT_FALSE(early);
  EXPECT_EQ(early.error().kind, ErrorKind::invalid);
  const jail::Fd in = jail->take_stdin();
  ASSERT_TRUE(jail->start());
  const auto fed = jail->communicate("input");
  ASSERT_FALSE(fed);
  EXPECT_NE(fed.error().message().find("its input was taken"), std::string::npos);
  ASSERT_TRUE(jail->communicate());
  const auto again = jail->communicate();
  ASSERT_FALSE(again);
  EXPECT_NE(again.error().message().find("its output was taken"), std::string::npos);
}

TEST(Cancel, ComesFromAnyThread) {
  auto jail = running("echo waiting; sleep 60");
  ASSERT_TRUE(jail);
  while (jail->process_fd() < 0) ASSERT_TRUE(jail->advance());
  const pid_t init = process_of(jail->process_fd());
  std::thread other([&] {
    // The guest is asleep, so it has printed its line.
    EXPECT_TRUE(soon([init] {
      const std::set<pid_t> inside = descendants_of(init);
      return std::any_of(inside.begin(), inside.end(),
                         [](pid_t pid) { return name_of(pid) == "sleep"; });
    }));
    jail->cancel();
  });
  const auto output = jail->communicate();
  other.join();
  ASSERT_TRUE(output) << output.error().message();
  EXPECT_EQ(output->out, "waiting\n");
  EXPECT_EQ(jail->report().ended, Ended::cancelled);
}

TEST(Kill, IsNoEndOfTheProgramsOwn) {
  for (const Ended why : {Ended::exited, Ended::signaled, Ended::violation}) {
    auto jail = running("sleep 60");
    ASSERT_TRUE(jail);
    jail->kill(why);
    EXPECT_EQ(jail->report().ended, Ended::killed);
    EXPECT_EQ(jail->report().exit_code, -1);
  }
}

TEST(Failure, StaysWhatItWas) {
  auto jail = ready_jail(spec_for({"/usr/bin/no-such-program"}));
  ASSERT_TRUE(jail);
  ASSERT_TRUE(jail->start());
  const auto first = jail->wait(Phase::ended, scaled(seconds(60)));
  ASSERT_FALSE(first);
  EXPECT_EQ(first.error().sys_errno, ENOENT);
  for (const auto& again : {jail->advance(), jail->wait(Phase::ended, scaled(seconds(60)))}) {
    ASSERT_FALSE(again);
    EXPECT_EQ(again.error().message(), first.error().message());
  }
  EXPECT_FALSE(jail->start());
  const auto output = jail->communicate();
  ASSERT_FALSE(output);
  EXPECT_EQ(output.error().message(), first.error().message());
}

TEST(Wait, SaysThatItsTimeIsOver) {
  auto jail = running("sleep 60");
  ASSERT_TRUE(jail);
  const auto ended = jail->wait(Phase::ended, milliseconds(1));
  ASSERT_FALSE(ended);
  EXPECT_EQ(ended.error().kind, ErrorKind::timed_out);
  EXPECT_EQ(jail->phase(), Phase::running);
}

}  // namespace
}  // namespace kernel_ring
