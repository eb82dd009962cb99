// An owner's handling of reports by launchers and inits, including those that they would never
// send.
#include <errno.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>
#include <limits>
#include <string_view>
#include <vector>

#include "parent/fd_passing.h"
#include "parent/jail_state.h"
#include "parent/messages.h"
#include "parent/order.h"
#include "pool/template_host.h"

namespace jail {
namespace {

using namespace std::chrono_literals;

wire::Message message(wire::MessageType type) {
  wire::Message message{};
  message.type = type;
  return message;
}

std::string_view bytes_of(const wire::Message& message) {
  return {reinterpret_cast<const char*>(&message), sizeof message};
}

class ReportsTest : public testing::Test {
 protected:
  void SetUp() override {
    auto ends = socket_pair();
    ASSERT_TRUE(ends) << ends.error().message();
    own_ = std::move(ends->first);
    other_ = std::move(ends->second);
    // All numbers below are taken, so that the next descriptor shows whether one is left open.
    first_free_ = next_descriptor();
  }

  static int next_descriptor() { return Fd(::open("/dev/null", O_RDONLY | O_CLOEXEC)).get(); }

  void send(std::string_view bytes, std::size_t descriptors = 0) {
    ASSERT_TRUE(
        send_with_fds(own_.get(), bytes, std::vector<int>(descriptors, int{STDERR_FILENO})));
  }
  void send(const wire::Message& message, std::size_t descriptors = 0) {
    send(bytes_of(message), descriptors);
  }

  // Sets `*inside` to the internal state of the jail.
  Jail jail(Jail::State** inside = nullptr) {
    auto state = std::make_unique<Jail::State>();
    state->plan = std::make_shared<const Plan>();
    state->control = std::move(other_);
    if (inside != nullptr) *inside = state.get();
    return Jail::State::make(std::move(state));
  }

  Jail running_jail(Jail::State** inside = nullptr) {
    Jail running = jail(inside);
    send(message(wire::message_launched), 1);
    send(message(wire::message_ready), 1);
    EXPECT_TRUE(running.advance());
    EXPECT_TRUE(running.start());
    return running;
  }

  // Returns the reporting end of an order that a launcher got.
  static Fd control_of_order(const Fd& launcher) {
    char request[sizeof(wire::LaunchRequest)];
    int received[wire::launch_fd_kinds];
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof received)] = {};
    iovec part{request, sizeof request};
    msghdr header{};
    header.msg_iov = &part;
    header.msg_iovlen = 1;
    header.msg_control = control;
    header.msg_controllen = sizeof control;
    EXPECT_EQ(::recvmsg(launcher.get(), &header, MSG_CMSG_CLOEXEC), ssize_t{sizeof request});
    const cmsghdr* rights = CMSG_FIRSTHDR(&header);
    const std::size_t count = (rights->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    std::memcpy(received, CMSG_DATA(rights), count * sizeof(int));
    Fd reports;
    for (std::size_t i = 0; i < count; ++i) {
      Fd owned(received[i]);
      if (i == 1) reports = std::move(owned);  // by the order of wire::LaunchFd
    }
    return reports;
  }

  Fd own_;
  Fd other_;
  int first_free_ = -1;
};

TEST_F(ReportsTest, AMessageBringsOneDescriptorAtTheMost) {
  for (const std::size_t sent : {0, 1, 2, 8}) {
    send(message(wire::message_launched), sent);
    Received received;
    ASSERT_EQ(receive(other_.get(), received), Reading::got);
    EXPECT_EQ(received.fd.valid(), sent > 0);
    received.fd.reset();
    EXPECT_EQ(next_descriptor(), first_free_) << sent;
  }
}

TEST_F(ReportsTest, WhatIsNoMessageLeavesNoDescriptorOpen) {
  const std::string longer = std::string(bytes_of(message(wire::message_ready))) + "x";
  for (const std::string& bytes : {std::string(), std::string("short"), longer}) {
    send(bytes, 1);
    {
      Received received;
      EXPECT_EQ(receive(other_.get(), received), Reading::over) << bytes.size();
    }
    EXPECT_EQ(next_descriptor(), first_free_) << bytes.size();
  }
}

TEST_F(ReportsTest, AJailIsReadyOnce) {
  Jail jail = running_jail();
  send(message(wire::message_ready), 1);
  EXPECT_EQ(*jail.advance(), Phase::ended);
  EXPECT_EQ(jail.report().ended, Ended::killed);
  EXPECT_FALSE(jail.start());
}

// Init may be quicker than the launcher, and whoever has a jail that is ready can kill it.
TEST_F(ReportsTest, AJailIsReadyWhenItsProcessIsKnown) {
  Jail early = jail();
  send(message(wire::message_ready), 1);
  EXPECT_EQ(*early.advance(), Phase::launching);
  EXPECT_EQ(early.process_fd(), -1);
  send(message(wire::message_launched), 1);
  EXPECT_EQ(*early.advance(), Phase::ready);
  EXPECT_NE(early.process_fd(), -1);
}

// It would be ready once more, while it runs, when the word is said again.
TEST_F(ReportsTest, AWordOfTheLauncherWithoutTheProcessMakesNothingReady) {
  Jail early = jail();
  send(message(wire::message_ready), 1);
  send(message(wire::message_launched));
  EXPECT_EQ(*early.advance(), Phase::launching);
  send(message(wire::message_launched), 1);
  EXPECT_EQ(*early.advance(), Phase::ready);
}

// Init reads a cancellation as soon as it is ready, which may be before the launcher's word comes.
TEST_F(ReportsTest, AJailMayEndBeforeItsProcessIsKnown) {
  Jail cancelled = jail();
  send(message(wire::message_ready), 1);
  wire::Message ended = message(wire::message_ended);
  ended.cause = wire::cause_cancelled;
  send(ended);
  EXPECT_EQ(*cancelled.advance(), Phase::ended);
  EXPECT_EQ(cancelled.report().ended, Ended::cancelled);
}

TEST_F(ReportsTest, AJailReportsOnce) {
  Jail jail = running_jail();
  wire::Message ended = message(wire::message_ended);
  ended.wait_code = CLD_EXITED;
  ended.wait_status = 7;
  send(ended);
  ended.wait_status = 0;
  send(ended);
  EXPECT_EQ(*jail.advance(), Phase::ended);
  EXPECT_EQ(*jail.advance(), Phase::ended);
  EXPECT_EQ(jail.report().exit_code, 7);
}

TEST_F(ReportsTest, AKilledJailReportsTheCauseThatInitHadAnnounced) {
  Jail jail = running_jail();
  wire::Message ending = message(wire::message_ending);
  ending.cause = wire::cause_memory;
  ending.cpu_user_us = 3'700'000;
  ending.memory_peak_bytes = 200 << 20;
  ending.processes = 3;
  send(ending);
  EXPECT_EQ(*jail.advance(), Phase::running);
  jail.kill(Ended::timed_out);
  EXPECT_EQ(jail.phase(), Phase::ended);
  EXPECT_EQ(jail.report().ended, Ended::out_of_memory);
  EXPECT_EQ(jail.report().usage.cpu_user, 3'700ms);
  EXPECT_EQ(jail.report().usage.memory_peak_bytes, 200u << 20);
  EXPECT_EQ(jail.report().usage.processes_at_memory_limit, 3u);
}

TEST_F(ReportsTest, TheLastWordIsTheReport) {
  Jail jail = running_jail();
  wire::Message report = message(wire::message_ending);
  report.cause = wire::cause_deadline;
  report.cpu_user_us = 5;
  send(report);
  report = message(wire::message_ended);
  report.wait_code = CLD_EXITED;
  report.wait_status = 7;
  report.cpu_user_us = 6;
  send(report);
  EXPECT_EQ(*jail.advance(), Phase::ended);
  EXPECT_EQ(jail.report().ended, Ended::exited);
  EXPECT_EQ(jail.report().exit_code, 7);
  EXPECT_EQ(jail.report().signal, 0);
  EXPECT_EQ(jail.report().usage.cpu_user, 6us);
}

TEST_F(ReportsTest, AJailComesToItsEndOnce) {
  Jail jail = running_jail();
  send(message(wire::message_ending));
  send(message(wire::message_ending));
  EXPECT_EQ(*jail.advance(), Phase::ended);
}

TEST_F(ReportsTest, WhatIsSaidOutOfTurnEndsTheJail) {
  for (const auto type :
       {wire::message_launched, wire::message_paused, static_cast<wire::MessageType>(0xffff)}) {
    SetUp();
    Jail jail = running_jail();
    send(message(type));
    EXPECT_EQ(*jail.advance(), Phase::ended) << type;
    EXPECT_EQ(jail.report().ended, Ended::killed) << type;
  }
}

TEST_F(ReportsTest, OnlyTheAnswerToTheLastOrderToPauseCounts) {
  Jail::State* state = nullptr;
  Jail jail = running_jail(&state);
  state->spawning.emplace();
  wire::Message answer = message(wire::message_paused);
  ASSERT_TRUE(jail.pause());
  ASSERT_TRUE(jail.resume());
  ASSERT_TRUE(jail.pause());
  answer.index = 1;
  send(answer);
  EXPECT_EQ(*jail.advance(), Phase::running);
  EXPECT_EQ(jail.activity(), Activity::pausing);
  answer.index = 2;
  answer.error = EBUSY;
  send(answer);
  EXPECT_EQ(*jail.advance(), Phase::running);
  EXPECT_EQ(jail.activity(), Activity::active) << "they could not be stopped";
  ASSERT_TRUE(jail.pause());
  answer.index = 3;
  answer.error = 0;
  send(answer);
  EXPECT_EQ(*jail.advance(), Phase::running);
  EXPECT_EQ(jail.activity(), Activity::paused);
  EXPECT_EQ(jail.spawn({.argv = {"/usr/bin/true"}}).error().kind, ErrorKind::invalid);
  answer.index = 4;
  send(answer);
  EXPECT_EQ(*jail.advance(), Phase::ended) << "nobody has asked for it";
}

TEST_F(ReportsTest, AJailThatIsNotThereCannotHaveEnded) {
  Jail jail = this->jail();
  send(message(wire::message_ended));
  const auto phase = jail.advance();
  ASSERT_FALSE(phase);
  EXPECT_EQ(phase.error().kind, ErrorKind::closed);
}

TEST_F(ReportsTest, AZygoteIsReadyOnceAndWithItsPidfd) {
  TemplatePlans plans;
  plans.host = std::make_shared<const Plan>();
  for (Fd* fd : {&plans.jail_image, &plans.host_image, &plans.preloaded, &plans.setup}) {
    fd->reset(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  }
  for (const std::size_t descriptors : {0, 1}) {
    auto launcher = socket_pair();
    ASSERT_TRUE(launcher);
    auto host = TemplateHost::start(launcher->first.get(), plans);
    ASSERT_TRUE(host) << host.error().message();
    own_ = control_of_order(launcher->second);
    send(message(wire::message_ready), descriptors);
    EXPECT_EQ(host->advance().has_value(), descriptors == 1);
    EXPECT_EQ(host->is_ready(), descriptors == 1);
    send(message(wire::message_ready), descriptors);
    EXPECT_FALSE(host->advance());
    EXPECT_EQ(host->is_ready(), descriptors == 1);
  }
}

TEST_F(ReportsTest, NoFigureIsTooLargeToCountWith) {
  Jail jail = running_jail();
  wire::Message ended = message(wire::message_ended);
  ended.wait_code = CLD_KILLED;
  ended.wait_status = SIGKILL;
  ended.cpu_user_us = ended.cpu_system_us = std::numeric_limits<std::uint64_t>::max() / 2;
  ended.ran_ns = std::numeric_limits<std::uint64_t>::max();
  send(ended);
  EXPECT_EQ(*jail.advance(), Phase::ended);
  const ExitReport& report = jail.report();
  EXPECT_EQ(report.ended, Ended::timed_out);
  EXPECT_GT(report.usage.cpu_user + report.usage.cpu_system, 24h * 365);
  EXPECT_GT(report.phases.ran, 24h * 365);
}

}  // namespace
}  // namespace jail
