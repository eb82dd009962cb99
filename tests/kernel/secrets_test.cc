// The launcher and init hold nothing of the process that embeds them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/types.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "guest.h"
#include "processes.h"
#include "tests/time_scale.h"

namespace kernel_ring {
namespace {

using jail::Phase;
using testing::HasSubstr;
using testing::Not;

std::string slurp(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

pid_t child_named(const std::string& name, pid_t parent) {
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", ignored)) {
    const std::string stat = slurp(entry.path() / "stat");
    const std::size_t close = stat.rfind(')');
    if (close == std::string::npos || stat.find("(" + name + ")") == std::string::npos) continue;
    if (std::stoi(stat.substr(close + 4)) == parent) return std::stoi(entry.path().filename());
  }
  return -1;
}

// Returns every byte of private memory of `pid`, which must be a dumpable process of the same user.
std::string memory_of(pid_t pid) {
  const std::filesystem::path directory = "/proc/" + std::to_string(pid);
  std::istringstream maps(slurp(directory / "maps"));
  std::ifstream memory(directory / "mem", std::ios::binary);
  std::string all;
  std::string line;
  while (std::getline(maps, line)) {
    unsigned long begin = 0;
    unsigned long end = 0;
    if (std::sscanf(line.c_str(), "%lx-%lx r", &begin, &end) != 2) continue;
    if (line.find("[v") != std::string::npos) continue;  // vvar, vdso, vsyscall
    std::string part(end - begin, '\0');
    memory.clear();
    memory.seekg(static_cast<std::streamoff>(begin));
    memory.read(part.data(), static_cast<std::streamsize>(part.size()));
    all += part.substr(0, static_cast<std::size_t>(std::max<std::streamsize>(memory.gcount(), 0)));
  }
  return all;
}

class Secrets : public testing::Test {
 protected:
  void SetUp() override {
    // The marker is not one literal: this test's own binary must not be a hit.
    marker_ = std::string("marker-") + std::to_string(::getpid()) + "-of-the-owner";
    ::setenv("OWNERS_SECRET", marker_.c_str(), 1);
    auto started = start_launcher();
    ASSERT_TRUE(started) << started.error().message();
    launcher_ = std::make_unique<jail::Launcher>(std::move(*started));
  }
  void TearDown() override { ::unsetenv("OWNERS_SECRET"); }

  std::string marker_;
  std::unique_ptr<jail::Launcher> launcher_;
};

TEST_F(Secrets, LauncherHoldsNothingOfItsOwner) {
  const pid_t pid = process_of(launcher_->process_fd());
  ASSERT_GT(pid, 0);
  EXPECT_EQ(slurp("/proc/" + std::to_string(pid) + "/environ"), "");
  const std::string memory = memory_of(pid);
  EXPECT_THAT(memory, HasSubstr("jail-launcher"));  // it was readable
  EXPECT_THAT(memory, Not(HasSubstr(marker_)));
}

TEST_F(Secrets, GuestFindsNothingOfTheOwner) {
  const Outcome outcome = run_python(R"(
import glob, re, sys
found = b''
for name in glob.glob('/proc/*/*') + glob.glob('/proc/*/task/*/*'):
    try: found += open(name, 'rb').read(1 << 20)
    except OSError: pass
for line in open('/proc/self/maps'):
    begin, end = (int(x, 16) for x in line.split()[0].split('-'))
    try:
        with open('/proc/self/mem', 'rb') as memory:
            memory.seek(begin)
            found += memory.read(end - begin)
    except (OSError, ValueError, OverflowError): pass
# A pattern that does not match itself: this program's own memory is searched too.
print(len(found) > 1 << 20, re.search(rb'-o[f]-th[e]-ow[n]er', found) is not None)
)",
                                     [](jail::JailSpec& spec) {
                                       // The test reads much, and a loaded host makes it wait.
                                       spec.limits.wall = spec.limits.cpu =
                                           scaled(std::chrono::minutes(1));
                                     });
  EXPECT_EQ(outcome.out, "True False\n") << outcome.err;
}

TEST_F(Secrets, InitIsNotReadableByItsUser) {
  auto jail = launcher_->launch(spec_for({"/usr/bin/sleep", "30"}));
  ASSERT_TRUE(jail) << jail.error().message();
  ASSERT_TRUE(jail->wait(Phase::ready, scaled(std::chrono::seconds(10))));
  const pid_t pid = child_named("jail-init", process_of(launcher_->process_fd()));
  ASSERT_GT(pid, 0);
  std::ifstream memory("/proc/" + std::to_string(pid) + "/mem", std::ios::binary);
  EXPECT_FALSE(memory.is_open());
}

TEST_F(Secrets, GuestAndInitAreOfNobodyImportant) {
  auto jail = launcher_->launch(spec_for({"/usr/bin/sleep", "30"}));
  ASSERT_TRUE(jail) << jail.error().message();
  ASSERT_TRUE(jail->wait(Phase::ready, scaled(std::chrono::seconds(10))));
  const pid_t pid = child_named("jail-init", process_of(launcher_->process_fd()));
  const std::string status = slurp("/proc/" + std::to_string(pid) + "/status");
  EXPECT_THAT(status, Not(HasSubstr("Uid:\t0\t")));
  EXPECT_THAT(status, HasSubstr("CapPrm:\t0000000000000000"));
  EXPECT_THAT(status, HasSubstr("CapBnd:\t0000000000000000"));
  EXPECT_THAT(status, HasSubstr("NoNewPrivs:\t1"));
}

}  // namespace
}  // namespace kernel_ring
