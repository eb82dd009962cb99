#include "server/cli/host_speed.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <csignal>
#include <cstring>
#include <filesystem>

#include "runtime/json/reader.h"

namespace server {
namespace {

const Host some_host{.processor = "AMD EPYC", .processors = 2, .kernel = "6.18.44"};
constexpr HostSpeed slow{.page_touched = 10.42,
                         .page_copied = 13.661,
                         .fork = 579.6,
                         .context_switch = 11.25,
                         .system_call = 1.024};

std::size_t open_descriptors() {
  std::size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    count += entry.exists() ? 1 : 0;
  }
  return count;
}

void expect_figures(const HostSpeed& speed) {
  for (const double figure : {speed.page_touched, speed.page_copied, speed.fork,
                              speed.context_switch, speed.system_call, slowness(speed)}) {
    EXPECT_TRUE(std::isfinite(figure)) << figure;
    EXPECT_GT(figure, 0);
  }
}

TEST(HostSpeed, OfThisHostIsMeasuredAndLeavesNothing) {
  cpu_set_t before{};
  cpu_set_t after{};
  ASSERT_EQ(::sched_getaffinity(0, sizeof before, &before), 0);
  const std::size_t descriptors = open_descriptors();
  const auto speed = measure_host_speed();
  ASSERT_TRUE(speed) << speed.error().message();
  expect_figures(*speed);
  // This holds on any host: a copy of a process takes longer than a simple system call.
  EXPECT_GT(speed->fork, speed->system_call);
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1);
  EXPECT_EQ(errno, ECHILD);
  EXPECT_EQ(open_descriptors(), descriptors);
  ASSERT_EQ(::sched_getaffinity(0, sizeof after, &after), 0);
  EXPECT_TRUE(CPU_EQUAL(&before, &after));
}

// A daemon may have set this: the kernel then reaps the children.
TEST(HostSpeed, IsMeasuredWhereSigchldIsIgnored) {
  const auto before = std::signal(SIGCHLD, SIG_IGN);
  ASSERT_NE(before, SIG_ERR);
  const auto speed = measure_host_speed();
  std::signal(SIGCHLD, before);
  ASSERT_TRUE(speed) << speed.error().message();
  expect_figures(*speed);
}

TEST(HostSpeed, OneThatMayNotForkSaysSo) {
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    // Root may fork beyond the limit.
    const rlimit none{.rlim_cur = 0, .rlim_max = 0};
    if (::geteuid() == 0 && ::setuid(60802) != 0) ::_exit(1);
    if (::setrlimit(RLIMIT_NPROC, &none) != 0) ::_exit(2);
    const auto speed = measure_host_speed();
    if (speed) ::_exit(3);
    ::_exit(speed.error().message().find("fork to measure this host") == 0 ? 0 : 4);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST(HostSpeed, SlownessIsHowManyTimesTheReference) {
  EXPECT_DOUBLE_EQ(slowness(reference_speed), 1);
  HostSpeed twice = reference_speed;
  for (double* figure : {&twice.page_touched, &twice.page_copied, &twice.fork,
                         &twice.context_switch, &twice.system_call}) {
    *figure *= 2;
  }
  EXPECT_DOUBLE_EQ(slowness(twice), 2);
  // 300 * 13.661 + 36 * 10.42 + 5 * 579.6 + 86 * 11.25 + 1500 * 1.024 over
  // 300 * 0.8 + 36 * 0.5 + 5 * 100 + 86 * 2 + 1500 * 0.1.
  EXPECT_NEAR(slowness(slow), 9874.92 / 1080, 1e-9);
  // Each kind of work counts.
  for (double HostSpeed::*figure :
       {&HostSpeed::page_touched, &HostSpeed::page_copied, &HostSpeed::fork,
        &HostSpeed::context_switch, &HostSpeed::system_call}) {
    HostSpeed worse = reference_speed;
    worse.*figure *= 3;
    EXPECT_GT(slowness(worse), 1);
  }
}

TEST(HostSpeed, IsDescribedInOneLine) {
  EXPECT_EQ(describe(some_host, slow),
            "AMD EPYC, 2 processors, Linux 6.18.44; microseconds: page touched 10.4, page copied "
            "13.7, fork 580, context switch 11.2, system call 1.02; a jail's work takes 9.14 times "
            "as long as on the reference");
  EXPECT_EQ(describe({.processor = "x", .processors = 1, .kernel = "6.1"}, reference_speed),
            "x, 1 processor, Linux 6.1; microseconds: page touched 0.50, page copied 0.80, fork "
            "100, context switch 2.00, system call 0.10; a jail's work takes 1.00 times as long as "
            "on the reference");
}

TEST(HostSpeed, JsonHasTheLineAndTheFigures) {
  EXPECT_EQ(describe_json(some_host, slow),
            "{\"description\":\"" + describe(some_host, slow) +
                "\",\"processor\":\"AMD EPYC\",\"processors\":2,\"kernel\":\"6.18.44\","
                "\"microseconds\":{\"page_touched\":10.42,\"page_copied\":13.661,\"fork\":579.6,"
                "\"context_switch\":11.25,\"system_call\":1.024},\"slowness\":9.143}");
}

TEST(HostSpeed, ThisHostHasANameAndAKernel) {
  const Host host = this_host();
  EXPECT_NE(host.processor, "");
  EXPECT_EQ(host.processors, ::sysconf(_SC_NPROCESSORS_ONLN));
  EXPECT_THAT(host.kernel, ::testing::MatchesRegex("[0-9]+\\.[0-9]+.*"));
}

}  // namespace
}  // namespace server
