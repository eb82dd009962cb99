// Descriptors, memory, processes and room run out on the way to a jail: the error says so, nothing
// is left, and when there is room again the next launch works.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <signal.h>
#include <sys/socket.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <optional>
#include <thread>
#include <vector>

#include "faults.h"
#include "parent/fd_passing.h"
#include "tests/time_scale.h"

namespace kernel_ring {
namespace {

using jail::ErrorKind;
using testing::AnyOf;
using testing::HasSubstr;

// Returns the number that the next descriptor of this process would get if all lower ones were
// taken.
rlim_t past_highest_descriptor() {
  int highest = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    highest = std::max(highest, std::stoi(entry.path().filename()));
  }
  return static_cast<rlim_t>(highest) + 1;
}

// Takes every free number below `limit` except exactly `room`.
class Crowd {
 public:
  Crowd() {
    for (int fd = 0; (fd = ::fcntl(0, F_DUPFD_CLOEXEC, 0)) >= 0;) taken_.emplace_back(fd);
  }
  void leave(std::size_t room) {
    for (; room > 0 && !taken_.empty(); --room) taken_.pop_back();
  }

 private:
  std::vector<jail::Fd> taken_;
};

class Shortage : public FaultsTest {
 protected:
  static constexpr std::size_t enough = 64;

  // The launcher answers while it has that limit.
  jail::Jail launched_below(__rlimit_resource resource, rlim_t soft) {
    const LoweredLimit lowered(pid_, resource, soft);
    auto launched = launcher_.launch(spec_for({"/usr/bin/true"}));
    EXPECT_TRUE(launched) << launched.error().message();
    pollfd answer{launched->control_fd(), POLLIN, 0};
    EXPECT_EQ(::poll(&answer, 1, scaled_ms(5000)), 1);
    return std::move(*launched);
  }

  static void expect_shortage(const jail::Error& error, const std::string& where) {
    EXPECT_THAT(error.kind, AnyOf(ErrorKind::exhausted, ErrorKind::kernel, ErrorKind::closed))
        << where << ": " << error.message();
    EXPECT_FALSE(error.message().empty()) << where;
  }
};

TEST_F(Shortage, OfTheOwnersDescriptorsAtALaunch) {
  const jail::JailSpec spec = spec_for({"/usr/bin/true"});
  std::size_t failed = 0;
  for (std::size_t room = 0;; ++room) {
    ASSERT_LT(room, enough) << "it never worked";
    const std::string where = "with room for " + std::to_string(room);
    std::optional<jail::Error> refused;
    bool worked = false;
    {
      const LoweredLimit limit(0, RLIMIT_NOFILE, past_highest_descriptor() + 32);
      Crowd crowd;
      crowd.leave(room);
      auto jail = launcher_.launch(spec);
      if (!jail) {
        refused = jail.error();
      } else {
        // The jail is made, or given up while it was made, since the reply finds no room either.
        worked = run_to_end(*jail).has_value();
      }
    }
    if (worked) break;
    ++failed;
    // This check comes after the scope: UBSan inspects objects by a pipe, for which there may be no
    // room.
    if (refused) {
      EXPECT_EQ(refused->kind, ErrorKind::exhausted) << where << refused->message();
      EXPECT_THAT(refused->message(), HasSubstr("ulimit -n")) << where;
    }
  }
  EXPECT_GE(failed, 5u);
}

// The pidfd of init and the directory of its tmpfs come while there is no room for them.
TEST_F(Shortage, OfTheOwnersDescriptorsWhileAJailIsMade) {
  for (std::size_t room = 0; room < 3; ++room) {
    auto jail = launcher_.launch(spec_for({"/usr/bin/true"}));
    ASSERT_TRUE(jail) << jail.error().message();
    const std::string where = "with room for " + std::to_string(room);
    jail::Result<jail::Phase> phase = jail::Phase::launching;
    {
      const LoweredLimit limit(0, RLIMIT_NOFILE, past_highest_descriptor() + 8);
      Crowd crowd;
      crowd.leave(room);
      phase = jail->wait(jail::Phase::ready, patience);
    }
    if (room < 2) {
      ASSERT_FALSE(phase) << where;
      EXPECT_EQ(phase.error().kind, ErrorKind::exhausted)
          << where << ": " << phase.error().message();
      EXPECT_THAT(phase.error().message(), HasSubstr("ulimit -n")) << where;
    } else {
      ASSERT_TRUE(phase) << where << ": " << phase.error().message();
    }
  }
}

TEST_F(Shortage, OfTheLaunchersDescriptors) {
  expect_next_launch_works("before");  // the launcher raises the limit when it starts
  const jail::JailSpec spec = spec_for({"/usr/bin/true"});
  std::size_t failed = 0;
  for (rlim_t limit = 4;; limit += 4) {
    ASSERT_LT(limit, 256u) << "it never worked";
    const std::string where = "with a limit of " + std::to_string(limit);
    const LoweredLimit lowered(pid_, RLIMIT_NOFILE, limit);
    auto jail = launcher_.launch(spec);
    ASSERT_TRUE(jail) << where << ": " << jail.error().message();
    const auto done = run_to_end(*jail);
    if (done) break;
    expect_shortage(done.error(), where);
    ++failed;
  }
  EXPECT_GE(failed, 3u);
}

TEST_F(Shortage, OfTheLaunchersMemory) {
  expect_next_launch_works("before");  // its stack has reached its final size
  jail::Jail jail = launched_below(RLIMIT_AS, 4096);
  const auto phase = jail.wait(jail::Phase::ready, patience);
  ASSERT_FALSE(phase);
  EXPECT_EQ(phase.error().sys_errno, ENOMEM) << phase.error().message();
  EXPECT_EQ(phase.error().kind, ErrorKind::exhausted);
  EXPECT_THAT(phase.error().message(), HasSubstr("out of processes or memory"));
}

TEST_F(Shortage, OfProcesses) {
  expect_next_launch_works("before");
  jail::Jail jail = launched_below(RLIMIT_NPROC, 0);
  const auto phase = jail.wait(jail::Phase::ready, patience);
  ASSERT_FALSE(phase);
  EXPECT_EQ(phase.error().sys_errno, EAGAIN) << phase.error().message();
  EXPECT_EQ(phase.error().kind, ErrorKind::exhausted);
}

TEST_F(Shortage, OfRoomInTheWorkingDirectory) {
  jail::JailSpec spec = spec_for({"/usr/bin/true"});
  spec.limits.workspace_bytes = 64u << 10;
  spec.limits.workspace_inodes = 4;
  auto jail = launcher_.launch(spec);
  ASSERT_TRUE(jail) << jail.error().message();
  ASSERT_TRUE(jail->wait(jail::Phase::ready, patience));
  const auto large = jail->write_file("large", std::string(128u << 10, 'x'), 0644);
  ASSERT_FALSE(large);
  EXPECT_EQ(large.error().kind, ErrorKind::exhausted);
  EXPECT_EQ(large.error().sys_errno, ENOSPC);
  EXPECT_THAT(large.error().message(), HasSubstr("write large in the working directory"));
  jail::Result<void> done;
  for (int i = 0; i < 8 && done; ++i) done = jail->write_file("file" + std::to_string(i), "", 0644);
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().kind, ErrorKind::exhausted);
  // The jail itself is unharmed.
  ASSERT_TRUE(jail->start());
  ASSERT_TRUE(jail->wait(jail::Phase::ended, patience));
  EXPECT_EQ(jail->report().exit_code, 0);
}

// The launcher takes no orders, like one that was stopped or is starved.
TEST_F(Shortage, OfRoomForOrders) {
  const jail::JailSpec spec = spec_for({"/usr/bin/true"});
  ASSERT_EQ(::kill(pid_, SIGSTOP), 0);
  std::optional<jail::Error> refused;
  for (int orders = 0; !refused && orders < 10'000; ++orders) {
    auto jail = launcher_.launch(spec);
    if (!jail) refused = jail.error();
  }
  ASSERT_EQ(::kill(pid_, SIGCONT), 0);
  ASSERT_TRUE(refused) << "there is no end to what it is asked for";
  EXPECT_EQ(refused->kind, ErrorKind::exhausted) << refused->message();
  EXPECT_THAT(refused->message(), HasSubstr("ask the launcher for a jail"));
  std::optional<jail::Jail> next;
  ASSERT_TRUE(soon([&] {
    auto jail = launcher_.launch(spec);
    if (jail) next.emplace(std::move(*jail));
    return next.has_value();
  })) << "it takes orders again";
  // This is the last order of the queue: at its end the launcher is done with all that waited
  // before it.
  const auto ended = run_to_end(*next);
  ASSERT_TRUE(ended) << ended.error().message();
}

// Descriptors that nobody has received yet count for all processes of their user.
class OnTheirWay {
 public:
  explicit OnTheirWay(std::size_t count) {
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, ends_), 0);
    EXPECT_TRUE(jail::send_with_fds(ends_[1], "x", std::vector<int>(count, ends_[0])));
  }
  OnTheirWay(const OnTheirWay&) = delete;
  OnTheirWay& operator=(const OnTheirWay&) = delete;
  ~OnTheirWay() {
    for (const int end : ends_) ::close(end);
  }
  // Descriptors that are received without room for them are closed.
  void arrive() const {
    char byte = 0;
    EXPECT_EQ(::recv(ends_[0], &byte, 1, 0), 1);
  }

 private:
  int ends_[2] = {-1, -1};
};

TEST_F(Shortage, OfRoomForDescriptorsOnTheirWay) {
  expect_next_launch_works("before");  // the launcher raises the limit when it starts
  const LoweredLimit lowered(pid_, RLIMIT_NOFILE, 128);
  {
    const OnTheirWay many(200);
    auto jail = launcher_.launch(spec_for({"/usr/bin/true"}));
    ASSERT_TRUE(jail) << jail.error().message();
    const auto done = run_to_end(*jail);
    // Root's launcher is exempt, and its jails belong to another user.
    ASSERT_EQ(done.has_value(), ::geteuid() == 0);
    if (!done) {
      EXPECT_EQ(done.error().sys_errno, ETOOMANYREFS) << done.error().message();
      EXPECT_EQ(done.error().kind, ErrorKind::exhausted);
      EXPECT_THAT(done.error().message(), HasSubstr("ulimit -n"));
    }
  }
  expect_next_launch_works("when they have arrived");
  // Room that comes in time is waited for.
  const OnTheirWay many(200);
  auto jail = launcher_.launch(spec_for({"/usr/bin/true"}));
  ASSERT_TRUE(jail) << jail.error().message();
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  many.arrive();
  const auto done = run_to_end(*jail);
  ASSERT_TRUE(done) << done.error().message();
}

// A zygote that may make no process: its jails fail one by one, and work again when it may.
TEST_F(Shortage, OfProcessesInAZygote) {
  auto warm = edited::Template::start(launcher_, python_template(), {}, {});
  ASSERT_TRUE(warm) << warm.error().message();
  const auto ready = warm->wait_until_ready(patience);
  ASSERT_TRUE(ready) << ready.error().message();
  {
    const LoweredLimit lowered(process_of(warm->zygote_fd()), RLIMIT_NPROC, 0);
    auto jail = warm->order();
    ASSERT_TRUE(jail) << jail.error().message();
    const auto done = jail->wait(jail::Phase::ready, patience);
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().sys_errno, EAGAIN) << done.error().message();
    EXPECT_EQ(done.error().kind, ErrorKind::exhausted);
    EXPECT_THAT(done.error().message(), HasSubstr("fork the guest"));
  }
  auto jail = warm->order();
  ASSERT_TRUE(jail) << jail.error().message();
  const auto done = jail->wait(jail::Phase::ready, patience);
  ASSERT_TRUE(done) << done.error().message();
}

}  // namespace
}  // namespace kernel_ring
