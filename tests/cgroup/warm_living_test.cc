// Hostile living jails, each in a leaf of its own, into which a template's zygote forks: what the
// kernel does to a leaf must not hit the zygote, which serves other jails.
#include <fcntl.h>
#include <poll.h>
#include <sys/syscall.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <vector>

#include "fixture.h"
#include "jail/process.h"
#include "tests/driven_pool.h"

namespace {

using namespace jail;

class HostileLeaf : public Cgroup {
 protected:
  void SetUp() override {
    Cgroup::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    TemplateSpec spec;
    spec.name = "python";
    spec.jail = program({"/usr/bin/python3", "/workspace/main.py"});
    spec.jail.limits.wall = spec.jail.limits.cpu = patience;
    spec.jail.limits.processes = 48;
    spec.max_cpu = patience;
    pool_ = std::make_unique<DrivenPool>(*launcher_, spec,
                                         PoolOptions{.least = 1, .usual = 1, .most = 1});
    ASSERT_TRUE(pool_->until_ready(1, 6 * patience)) << (*pool_)->state().trouble;
    constexpr int first_with_scopes = 6;
    if (::syscall(SYS_landlock_create_ruleset, nullptr, 0, 1) >= first_with_scopes) return;
    const auto refused = (*pool_)->launch_living();
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().kind, ErrorKind::unsupported);
    EXPECT_THAT(refused.error().message(), testing::HasSubstr("Linux 6.12"));
    GTEST_SKIP() << "this kernel's Landlock knows no signals: " << refused.error().message();
  }

  void begin() {
    auto made = (*pool_)->launch_living();
    ASSERT_TRUE(made) << made.error().message();
    jail_.emplace(std::move(*made));
    const auto ready = jail_->wait(Phase::ready, patience);
    ASSERT_TRUE(ready) << ready.error().message();
    ASSERT_TRUE(jail_->start());
    const auto file = jail_->open_file("/workspace/quick.py", O_WRONLY | O_CREAT);
    ASSERT_TRUE(file);
    ASSERT_EQ(::write(file->get(), "print('in')", 11), 11);
  }

  Result<Process> spawn_warm() {
    ProcessSpec spec{.argv = {"/workspace/quick.py"}};
    spec.warm = true;
    return jail_->spawn(spec);
  }

  // Returns when it has said that it is at work.
  Process attacker(const std::string& code) {
    auto process = jail_->spawn({.argv = {"/usr/bin/python3", "-I", "-S", "-c", code}});
    if (!process) {
      ADD_FAILURE() << process.error().message();
      std::abort();
    }
    said_ = process->take_stdout();
    pollfd readable{said_.get(), POLLIN, 0};
    EXPECT_EQ(::poll(&readable, 1, static_cast<int>(patience.count())), 1);
    char word = 0;
    EXPECT_EQ(::read(said_.get(), &word, 1), 1) << "the attack has not begun";
    return std::move(*process);
  }

  // Returns the leaf of the jail's init.
  std::filesystem::path leaf() const {
    std::ifstream info("/proc/self/fdinfo/" + std::to_string(jail_->process_fd()));
    std::string pid;
    for (std::string line; std::getline(info, line);) {
      if (line.starts_with("Pid:")) pid = line.substr(line.find_first_of("123456789"));
    }
    for (const auto& entry : std::filesystem::directory_iterator(place_)) {
      std::ifstream processes(entry.path() / "cgroup.procs");
      for (std::string line; std::getline(processes, line);) {
        if (line == pid) return entry.path();
      }
    }
    return {};
  }

  std::unique_ptr<DrivenPool> pool_;
  std::optional<Jail> jail_;
  Fd said_;
};

// The kernel kills everything in a leaf, and every process that shares memory with it.
TEST_F(HostileLeaf, AJailOutOfMemoryTakesNoZygoteAlong) {
  for (int round = 0; round < 12; ++round) {
    ASSERT_NO_FATAL_FAILURE(begin());
    const Process filler = attacker(
        "print('at work', flush=True)\nkept = []\nwhile True: kept.append(b'x' * (1 << 18))");
    bool lives = true;
    while (lives) {
      std::vector<Process> forks;
      for (int i = 0; i < 8; ++i) {
        auto process = spawn_warm();
        if (process) forks.push_back(std::move(*process));
      }
      for (Process& process : forks) static_cast<void>(process.communicate());
      const auto phase = jail_->advance();
      lives = phase && *phase != Phase::ended;
    }
    ASSERT_TRUE(jail_->wait(Phase::ended, patience));
    EXPECT_EQ(jail_->report().ended, Ended::out_of_memory);
    auto other = (*pool_)->launch({});
    ASSERT_TRUE(other) << round << ": " << other.error().message();
    ASSERT_TRUE(other->wait(Phase::ready, patience)) << round;
  }
  EXPECT_EQ((*pool_)->state().zygotes, 1u);
}

TEST_F(HostileLeaf, AJailThatStandsStillHoldsNoZygoteUp) {
  ASSERT_NO_FATAL_FAILURE(begin());
  const std::filesystem::path freeze = leaf() / "cgroup.freeze";
  const auto set_frozen = [&](const char* to) {
    std::ofstream file(freeze);
    file << to << std::flush;
    return file.good();
  };
  for (int i = 0; i < 20; ++i) {
    auto process = spawn_warm();
    ASSERT_TRUE(process) << process.error().message();
    // The kill hits it somewhere on its way in.
    std::this_thread::sleep_for(
        i * std::chrono::microseconds(scaled(std::chrono::milliseconds(1))) / 4);
    ASSERT_TRUE(set_frozen("1")) << freeze;
    auto other = (*pool_)->launch({});
    ASSERT_TRUE(other) << other.error().message();
    const auto ready = other->wait(Phase::ready, patience);
    ASSERT_TRUE(set_frozen("0"));
    ASSERT_TRUE(ready) << i << ": " << ready.error().message();
    const auto output = process->communicate();
    ASSERT_TRUE(output) << output.error().message();
    EXPECT_EQ(output->out, "in\n");
  }
}

TEST_F(HostileLeaf, AJailFullOfProcessesSaysSoUntilThereIsRoom) {
  ASSERT_NO_FATAL_FAILURE(begin());
  {
    const Process holder = attacker(R"(
import os, time
while True:
    try:
        if os.fork() == 0: time.sleep(600)
    except BlockingIOError: break
print('at work', flush=True)
time.sleep(600)
)");
    auto process = spawn_warm();
    ASSERT_TRUE(process) << process.error().message();
    const auto refused = process->communicate();
    ASSERT_FALSE(refused) << refused->out;
    EXPECT_EQ(refused.error().sys_errno, EAGAIN) << refused.error().message();
  }
  const auto deadline = std::chrono::steady_clock::now() + patience;
  std::string out;
  while (out != "in\n" && std::chrono::steady_clock::now() < deadline) {
    auto process = spawn_warm();
    ASSERT_TRUE(process) << process.error().message();
    if (auto output = process->communicate()) out = output->out;
  }
  EXPECT_EQ(out, "in\n");
}

}  // namespace
