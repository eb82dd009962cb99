// Which processes of the library another process of the same user can take control of: none that a
// guest or a stranger talks to.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <spawn.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <string>

#include "guest.h"
#include "jail/egress.h"
#include "jail/fd.h"
#include "processes.h"
#include "tests/driven_pool.h"
#include "tests/time_scale.h"

namespace kernel_ring {
namespace {

using jail::Phase;
using std::chrono::seconds;

pid_t descendant_named(const std::string& name, pid_t ancestor) {
  for (const pid_t pid : descendants_of(ancestor)) {
    if (name_of(pid) == name) return pid;
  }
  return -1;
}

// The errors of tracing it, and of opening its memory and its environment; 0 where that works.
struct Hold {
  int trace = 0;
  int memory = 0;
  int environment = 0;
  bool operator==(const Hold&) const = default;
};

void PrintTo(const Hold& hold, std::ostream* out) {
  *out << "trace " << hold.trace << ", memory " << hold.memory << ", environment "
       << hold.environment;
}

int error_of_opening(pid_t pid, const std::string& name, int flags) {
  const jail::Fd file(::open(("/proc/" + std::to_string(pid) + "/" + name).c_str(), flags));
  return file.valid() ? 0 : errno;
}

Hold take_hold_of(pid_t pid) {
  Hold hold;
  if (::ptrace(PTRACE_SEIZE, pid, nullptr, nullptr) != 0) {
    hold.trace = errno;
  } else {
    ::ptrace(PTRACE_INTERRUPT, pid, nullptr, nullptr);
    ::waitpid(pid, nullptr, __WALL);
    ::ptrace(PTRACE_DETACH, pid, nullptr, nullptr);
  }
  hold.memory = error_of_opening(pid, "mem", O_RDWR | O_CLOEXEC);
  hold.environment = error_of_opening(pid, "environ", O_RDONLY | O_CLOEXEC);
  return hold;
}

constexpr Hold out_of_reach{EPERM, EACCES, EACCES};

class Reach : public testing::Test {
 protected:
  // The refusals below must be due to the process itself, so this checks that another program
  // allows all of it. It is executed, since a process that became another user is itself out of
  // reach, and so is a fork of it.
  void SetUp() override {
    char name[] = "/usr/bin/sleep";
    char time[] = "30";
    char* const arguments[] = {name, time, nullptr};
    pid_t child = 0;
    ASSERT_EQ(::posix_spawn(&child, name, nullptr, nullptr, arguments, environ), 0);
    EXPECT_TRUE(soon([&] { return name_of(child) == "sleep"; }));
    const Hold hold = take_hold_of(child);
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    if (hold.trace != 0) GTEST_SKIP() << "this host lets nobody trace a child of his own";
    ASSERT_EQ(hold, Hold{});
  }
};

TEST_F(Reach, InitOfAColdJail) {
  auto started = start_launcher();
  ASSERT_TRUE(started) << started.error().message();
  auto jail = started->launch(spec_for({"/usr/bin/sleep", "30"}));
  ASSERT_TRUE(jail) << jail.error().message();
  ASSERT_TRUE(jail->wait(Phase::ready, scaled(seconds(10))));
  const pid_t init = descendant_named("jail-init", process_of(started->process_fd()));
  ASSERT_GT(init, 0);
  EXPECT_EQ(take_hold_of(init), out_of_reach);
  ASSERT_TRUE(jail->start());
  EXPECT_EQ(take_hold_of(init), out_of_reach);
}

TEST_F(Reach, InitOfAForkedJail) {
  auto started = start_launcher();
  ASSERT_TRUE(started) << started.error().message();
  jail::TemplateSpec spec;
  spec.name = "python";
  spec.jail = spec_for({"/usr/bin/python3", "/workspace/main.py"});
  ::DrivenPool pool(*started, spec, {.usual = 2});
  ASSERT_TRUE(pool.until_ready(2)) << pool->state().trouble;
  int inits = 0;
  for (const pid_t pid : descendants_of(process_of(started->process_fd()))) {
    if (name_of(pid) != "jail-init") continue;
    EXPECT_EQ(take_hold_of(pid), out_of_reach);
    ++inits;
  }
  EXPECT_EQ(inits, 2);
}

TEST_F(Reach, TheProxyOfEgressAndItsLookUps) {
  auto proxy = jail::EgressProxy::start({});
  ASSERT_TRUE(proxy) << proxy.error().message();
  EXPECT_EQ(take_hold_of(process_of(proxy->process_fd())), out_of_reach);
  const pid_t look_ups = descendant_named("jail-lookup", ::getpid());
  ASSERT_GT(look_ups, 0);
  EXPECT_EQ(take_hold_of(look_ups), out_of_reach);
}

}  // namespace
}  // namespace kernel_ring
