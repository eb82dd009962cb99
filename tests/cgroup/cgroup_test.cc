// Limits held by cgroup v2. JAIL_TEST_CGROUP names a directory that this user may write, with the
// controllers memory, pids and cpu; without it every test here is skipped.
#include "jail/cgroup.h"

#include <gmock/gmock.h>
#include <grp.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <thread>

#include "jail/launcher.h"

namespace {

using namespace jail;
using std::chrono::milliseconds;
using std::chrono::seconds;

// Deadlines for an emulated processor, where starting an interpreter takes most of a second.
constexpr seconds patience{120};

class Cgroup : public testing::Test {
 protected:
  void SetUp() override {
    const char* parent = std::getenv("JAIL_TEST_CGROUP");
    if (parent == nullptr) GTEST_SKIP() << "JAIL_TEST_CGROUP names no cgroup v2 directory";
    static int made = 0;
    place_ =
        std::string(parent) + "/test-" + std::to_string(::getpid()) + "-" + std::to_string(++made);
    ASSERT_TRUE(std::filesystem::create_directory(place_)) << place_;
    auto tree = CgroupTree::adopt(place_);
    ASSERT_TRUE(tree) << tree.error().message();
    auto launcher = Launcher::start({.cgroups = std::move(*tree)});
    ASSERT_TRUE(launcher) << launcher.error().message();
    launcher_ = std::make_unique<Launcher>(std::move(*launcher));
  }

  JailSpec python(const std::string& code) {
    JailSpec spec;
    spec.argv = {"/usr/bin/python3", "-c", code};
    spec.env = {"PATH=/usr/bin:/bin"};
    spec.root = host_root();
    auto filter = compile_policy(default_policy());
    EXPECT_TRUE(filter) << filter.error().message();
    spec.filter = *filter;
    spec.limits.wall = patience;
    spec.limits.cpu = patience;
    spec.limits.memory_bytes = 64u << 20;
    return spec;
  }

  Result<Jail> started(const JailSpec& spec) {
    auto jail = launcher_->launch(spec);
    if (!jail) return jail;
    if (auto ready = jail->wait(Phase::ready, patience); !ready) return ready.error();
    if (auto running = jail->start(); !running) return running.error();
    return jail;
  }

  ExitReport run(const JailSpec& spec) {
    auto jail = started(spec);
    EXPECT_TRUE(jail) << jail.error().message();
    if (!jail) return {};
    const Fd out = jail->take_stdout();
    const auto ended = jail->wait(Phase::ended, patience);
    EXPECT_TRUE(ended) << ended.error().message();
    char text[4096];
    const ssize_t got = ::read(out.get(), text, sizeof text);
    out_ = got > 0 ? std::string(text, static_cast<std::size_t>(got)) : "";
    return jail->report();
  }

  std::size_t leaves() const {
    std::size_t count = 0;
    for (const auto& entry : std::filesystem::directory_iterator(place_)) {
      if (entry.path().filename().string().rfind("jail-", 0) == 0) ++count;
    }
    return count;
  }

  std::string place_;
  std::string out_;
  std::unique_ptr<Launcher> launcher_;
};

TEST_F(Cgroup, ReportSaysThatTheCgroupHoldsTheLimits) {
  const ExitReport report = run(python("print(6*7)"));
  EXPECT_EQ(report.ended, Ended::exited);
  EXPECT_EQ(out_, "42\n");
  EXPECT_EQ(report.enforcement.memory, Enforcer::cgroup);
  EXPECT_EQ(report.enforcement.processes, Enforcer::cgroup);
  EXPECT_EQ(report.enforcement.cpu, Enforcer::cgroup);
  EXPECT_EQ(launcher_->enforcement().memory, Enforcer::cgroup);
  EXPECT_GT(report.usage.memory_peak_bytes, 1u << 20);
}

TEST_F(Cgroup, MemoryThatIsTouchedEndsTheJail) {
  const ExitReport report = run(python("blocks = []\nwhile True: blocks.append(b'x' * (1 << 20))"));
  EXPECT_EQ(report.ended, Ended::out_of_memory);
  EXPECT_LE(report.usage.memory_peak_bytes, 65u << 20);
}

TEST_F(Cgroup, MemoryOfAChildEndsTheJail) {
  const ExitReport report = run(python(R"(
import os
if os.fork() == 0:
    blocks = []
    while True: blocks.append(b'x' * (1 << 20))
os.wait()
print('survived')
)"));
  EXPECT_EQ(report.ended, Ended::out_of_memory);
  EXPECT_EQ(out_, "");
}

TEST_F(Cgroup, FilesInTmpfsCountAsMemory) {
  const ExitReport report = run(python(R"(
for name in ('/tmp/a', '/workspace/b'):
    with open(name, 'wb') as file:
        for i in range(60): file.write(b'x' * (1 << 20))
)"));
  EXPECT_EQ(report.ended, Ended::out_of_memory);
}

TEST_F(Cgroup, AKillOfItsOwnIsNotOutOfMemory) {
  const ExitReport report = run(python("import os; os.kill(os.getpid(), 9)"));
  EXPECT_EQ(report.ended, Ended::signaled);
  EXPECT_EQ(report.signal, SIGKILL);
}

TEST_F(Cgroup, ProcessesAreBounded) {
  JailSpec spec = python(R"(
import os, time
made = 0
try:
    while True:
        if os.fork() == 0: time.sleep(60)
        made += 1
except OSError:
    print(made, flush=True)
    os._exit(0)
)");
  spec.limits.processes = 12;
  EXPECT_EQ(run(spec).ended, Ended::exited);
  EXPECT_EQ(out_, "11\n");
}

TEST_F(Cgroup, ProcessorTimeIsSlowedDown) {
  JailSpec spec = python(R"(
import os, time
for i in range(3): os.fork()
end = time.monotonic() + 4
while time.monotonic() < end: pass
)");
  spec.limits.cpu_percent = 25;
  const auto begin = std::chrono::steady_clock::now();
  const ExitReport report = run(spec);
  const auto took = std::chrono::steady_clock::now() - begin;
  const auto used = report.usage.cpu_user + report.usage.cpu_system;
  // A quarter of a core, and the burst that a period allows.
  EXPECT_LT(used, took / 2);
}

TEST_F(Cgroup, NothingIsLeftBehind) {
  for (int i = 0; i < 5; ++i) run(python("pass"));
  {
    auto jail = started(python("import time; time.sleep(60)"));
    ASSERT_TRUE(jail) << jail.error().message();
    EXPECT_GE(leaves(), 1u);
  }
  // A leaf whose last process was still dying goes when the next one is made.
  for (int i = 0; i < 100 && leaves() > 1; ++i) {
    std::this_thread::sleep_for(milliseconds(100));
    run(python("pass"));
  }
  EXPECT_LE(leaves(), 1u);
}

TEST_F(Cgroup, KillEndsEveryProcess) {
  auto jail = started(python("import os, time\nfor i in range(3): os.fork()\ntime.sleep(60)"));
  ASSERT_TRUE(jail) << jail.error().message();
  jail->kill(Ended::timed_out);
  EXPECT_EQ(jail->report().ended, Ended::timed_out);
}

TEST(CgroupOfNobody, IsRefusedByName) {
  const auto tree = CgroupTree::adopt("/no/such/cgroup");
  ASSERT_FALSE(tree);
  EXPECT_THAT(tree.error().message(), testing::HasSubstr("/no/such/cgroup"));
}

}  // namespace

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  ::signal(SIGPIPE, SIG_IGN);
  // Started as root, with the directory given to the user made for the tests.
  if (::geteuid() == 0) {
    constexpr uid_t user = 60801;
    const char* parent = std::getenv("JAIL_TEST_CGROUP");
    if (parent != nullptr) {
      for (const char* file : {"", "/cgroup.procs", "/cgroup.subtree_control", "/cgroup.threads"}) {
        if (::chown((std::string(parent) + file).c_str(), user, user) != 0) return 1;
      }
    }
    if (::setgroups(0, nullptr) != 0 || ::setresgid(user, user, user) != 0 ||
        ::setresuid(user, user, user) != 0) {
      return 1;
    }
  }
  return RUN_ALL_TESTS();
}
