// Limits held by cgroup v2, and what is left of the cgroups afterwards.
#include "jail/cgroup.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <fstream>

#include "fixture.h"

namespace {

using namespace jail;
using std::chrono::milliseconds;
using testing::AllOf;
using testing::HasSubstr;

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
        if os.fork() == 0: time.sleep(600)
        made += 1
except OSError:
    print(made, flush=True)
    os._exit(0)
)");
  spec.limits.processes = 12;
  EXPECT_EQ(run(spec).ended, Ended::exited);
  EXPECT_EQ(out_, "11\n");
}

// An rlimit counts too, so this test looks at the leaf alone: how often can a process in it fork?
TEST_F(Cgroup, TheLeafItselfBoundsProcesses) {
  const auto leaf = tree_->make_leaf({.memory_bytes = 64u << 20, .processes = 5});
  ASSERT_TRUE(leaf) << leaf.error().message();
  const pid_t child = ::fork();
  if (child == 0) {
    const int file = ::openat(leaf->directory(), "cgroup.procs", O_WRONLY);
    if (::write(file, "0", 1) != 1) ::_exit(100);
    int made = 0;
    for (;; ++made) {
      const pid_t grandchild = ::fork();
      if (grandchild < 0) ::_exit(made);
      if (grandchild == 0) ::pause();
    }
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  leaf->kill();
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 4);
}

TEST_F(Cgroup, ProcessorTimeIsSlowedDown) {
  JailSpec spec = python(R"(
import os, time
for i in range(3): os.fork()
end = time.monotonic() + 6
while time.monotonic() < end: pass
)");
  spec.limits.cpu_percent = 25;
  const auto begin = std::chrono::steady_clock::now();
  const ExitReport report = run(spec);
  const auto took = std::chrono::steady_clock::now() - begin;
  const auto used = report.usage.cpu_user + report.usage.cpu_system;
  EXPECT_EQ(report.ended, Ended::exited);
  // Four processes take all they can get: a quarter of a core, and what one period grants to each
  // processor before it counts.
  EXPECT_LT(used, took * 2 / 5);
  EXPECT_GT(used, took / 10);
}

TEST_F(Cgroup, KillEndsEveryProcess) {
  auto jail = started(python(R"(
import os, time
for i in range(4): os.fork()
os.setsid() if os.getpid() != 2 else None
print('forked', flush=True)
time.sleep(600)
)"));
  ASSERT_TRUE(jail) << jail.error().message();
  const Fd out = jail->take_stdout();
  std::string lines;
  const auto deadline = std::chrono::steady_clock::now() + patience;
  while (lines.size() < 16 * 7 && std::chrono::steady_clock::now() < deadline) {
    lines += text_of(out);
    std::this_thread::sleep_for(milliseconds(20));
  }
  EXPECT_EQ(lines.size(), 16u * 7u) << lines;
  EXPECT_EQ(leaves(), 1u);
  jail->kill(Ended::timed_out);
  EXPECT_EQ(jail->report().ended, Ended::timed_out);
  { const Jail gone = std::move(*jail); }
  // The directory can only be removed when no process is in it.
  EXPECT_EQ(leaves_at_rest(), 0u);
}

// No thread of this process waits for the leaf's processes, which the launcher's kernel side reaps:
// giving a jail up tries once, and the end of the tree waits for a second.
TEST_F(Cgroup, ALeafThatStaysHoldsNobodyUp) {
  auto jail = started(python("import time; time.sleep(600)"));
  ASSERT_TRUE(jail) << jail.error().message();
  std::string leaf;
  for (const auto& entry : std::filesystem::directory_iterator(place_)) {
    if (entry.path().filename().string().starts_with("jail-")) leaf = entry.path().string();
  }
  ASSERT_TRUE(std::filesystem::create_directory(leaf + "/stays"));
  const auto took = [](const auto& action) {
    const auto began = std::chrono::steady_clock::now();
    action();
    return std::chrono::steady_clock::now() - began;
  };
  EXPECT_LT(took([&] { const Jail gone = std::move(*jail); }), scaled(milliseconds(500)));
  EXPECT_LT(took([&] { EXPECT_EQ(tree_->remove_ended(), 1u); }), scaled(milliseconds(500)));
  EXPECT_EQ(run(python("print(42)")).exit_code, 0);
  launcher_.reset();
  const auto end = took([&] { tree_.reset(); });
  EXPECT_GE(end, milliseconds(900)) << "it did not wait for the leaf";
  EXPECT_LT(end, milliseconds(1000) + scaled(milliseconds(1000)));
  ASSERT_TRUE(std::filesystem::remove(leaf + "/stays"));
  EXPECT_TRUE(std::filesystem::remove(leaf));
}

// JAIL_TEST_JAILS says how many.
TEST_F(Cgroup, ManyJailsLeaveNothingBehind) {
  const char* wanted = std::getenv("JAIL_TEST_JAILS");
  const int jails = wanted == nullptr ? 100 : std::atoi(wanted);
  ASSERT_GE(jails, 1);
  const JailSpec spec = program({"/usr/bin/true"});
  std::vector<Jail> running;
  const auto finish_oldest = [&] {
    const auto ended = running.front().wait(Phase::ended, patience);
    EXPECT_TRUE(ended) << ended.error().message();
    EXPECT_EQ(running.front().report().exit_code, 0);
    running.erase(running.begin());
  };
  for (int i = 0; i < jails; ++i) {
    auto jail = started(spec);
    ASSERT_TRUE(jail) << i << ": " << jail.error().message();
    running.push_back(std::move(*jail));
    if (running.size() == 8) finish_oldest();
  }
  while (!running.empty()) finish_oldest();
  EXPECT_EQ(leaves_at_rest(), 0u);
}

class Adoption : public Cgroup {
 protected:
  std::string fresh() { return make_place(std::getenv("JAIL_TEST_CGROUP")); }

  static std::string own_place() {
    std::ifstream file("/proc/self/cgroup");
    std::string line;
    std::getline(file, line);
    return line;
  }

  static void write(const std::string& path, const std::string& text) {
    std::ofstream(path) << text << std::flush;
  }
};

TEST_F(Adoption, LeavesOthersProcessesAlone) {
  const std::string place = fresh();
  const std::string before = own_place();
  const pid_t other = ::fork();
  if (other == 0) {
    write(place + "/cgroup.procs", "0");
    ::pause();
  }
  const auto deadline = std::chrono::steady_clock::now() + patience;
  const auto inside = [&] {
    std::ifstream file(place + "/cgroup.procs");
    return file.peek() != std::ifstream::traits_type::eof();
  };
  while (!inside() && std::chrono::steady_clock::now() < deadline) ::usleep(1000);
  const auto tree = CgroupTree::adopt(place);
  ASSERT_FALSE(tree);
  EXPECT_EQ(tree.error().kind, ErrorKind::exhausted);
  EXPECT_THAT(tree.error().message(), AllOf(HasSubstr(place), HasSubstr(std::to_string(other))));
  EXPECT_FALSE(std::filesystem::exists(place + "/supervisor"));
  EXPECT_EQ(own_place(), before);
  ::kill(other, SIGKILL);
  ::waitpid(other, nullptr, 0);
}

TEST_F(Adoption, OfAThreadedCgroupIsRefused) {
  const std::string place = fresh();
  ASSERT_TRUE(std::filesystem::create_directory(place + "/inner"));
  write(place + "/inner/cgroup.type", "threaded");
  for (const auto& [directory, type] :
       {std::pair(place + "/inner", "\"threaded\""), std::pair(place, "\"domain threaded\"")}) {
    const auto tree = CgroupTree::adopt(directory);
    ASSERT_FALSE(tree) << directory;
    EXPECT_EQ(tree.error().kind, ErrorKind::unsupported);
    // Below a threaded cgroup the controller memory is not available.
    EXPECT_THAT(tree.error().message(), HasSubstr(type));
  }
}

TEST_F(Adoption, WithoutControllersNamesThem) {
  // The leaf of this process cannot hand controllers down.
  const std::string place = place_ + "/supervisor/inner";
  ASSERT_TRUE(std::filesystem::create_directory(place));
  const auto tree = CgroupTree::adopt(place);
  ASSERT_FALSE(tree);
  EXPECT_EQ(tree.error().kind, ErrorKind::unsupported);
  EXPECT_THAT(tree.error().message(), HasSubstr("memory, pids, cpu"));
}

TEST_F(Adoption, IsSharedBySeveralProcesses) {
  const auto again = CgroupTree::adopt(place_);
  ASSERT_TRUE(again) << again.error().message();
  EXPECT_EQ(run(python("print(1)")).ended, Ended::exited);
}

TEST_F(Adoption, RemovesLeavesOfTheDeadOnly) {
  const std::string place = fresh();
  const pid_t dead = ::fork();
  if (dead == 0) ::_exit(0);
  ASSERT_EQ(::waitpid(dead, nullptr, 0), dead);
  const std::string stale = place + "/jail-" + std::to_string(dead) + "-1";
  const std::string living = place + "/jail-" + std::to_string(::getppid()) + "-1";
  const std::string foreign = place + "/jailhouse";
  for (const std::string& leaf : {stale, living, foreign}) {
    ASSERT_TRUE(std::filesystem::create_directory(leaf));
  }
  const auto tree = CgroupTree::adopt(place);
  ASSERT_TRUE(tree) << tree.error().message();
  EXPECT_FALSE(std::filesystem::exists(stale));
  EXPECT_TRUE(std::filesystem::exists(living));
  EXPECT_TRUE(std::filesystem::exists(foreign));
}

TEST_F(Adoption, GoesOnBesideALeafOfAnEarlierProcessOfTheSameNumber) {
  const std::string own = place_ + "/jail-" + std::to_string(::getpid()) + "-1";
  ASSERT_TRUE(std::filesystem::create_directory(own));
  EXPECT_EQ(run(python("print(1)")).ended, Ended::exited);
}

TEST(CgroupOfNobody, IsRefusedByName) {
  const auto tree = CgroupTree::adopt("/no/such/cgroup");
  ASSERT_FALSE(tree);
  EXPECT_THAT(tree.error().message(), HasSubstr("/no/such/cgroup"));
}

TEST(CgroupOfNobody, IsNoOtherFileSystem) {
  const auto tree = CgroupTree::adopt("/proc/self");
  ASSERT_FALSE(tree);
  EXPECT_EQ(tree.error().kind, ErrorKind::invalid);
}

}  // namespace
