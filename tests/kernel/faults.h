// A launcher for one test, and the conditions that must hold after a failure.
#pragma once

#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <fstream>
#include <iterator>
#include <string>
#include <utility>

#include "guest.h"
#include "processes.h"
#include "tests/edited_plan.h"
#include "tests/time_scale.h"

namespace kernel_ring {

// Simulates, for this process and all that it starts, a kernel without a call by its answer.
inline bool refuse_call(long number, int error) {
  sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<std::uint32_t>(number), 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | static_cast<std::uint32_t>(error)),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog program{std::size(filter), filter};
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         ::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) == 0;
}

class FaultsTest : public testing::Test {
 protected:
  FaultsTest()
      : launcher_(start()),
        pid_(process_of(launcher_.process_fd())),
        descriptors_(open_descriptors()),
        mounts_(mounts()) {}

  void TearDown() override {
    expect_nothing_left("at the end");
    EXPECT_EQ(open_descriptors(), descriptors_);
    EXPECT_EQ(mounts(), mounts_);
    expect_next_launch_works("at the end");
  }

  // Jails and hosts are the launcher's children, and all other processes are below them.
  void expect_nothing_left(const std::string& after) const {
    const std::string path =
        "/proc/" + std::to_string(pid_) + "/task/" + std::to_string(pid_) + "/children";
    EXPECT_TRUE(soon([&] { return file_text(path).empty(); })) << after;
  }

  // Init is the last process to go.
  static void expect_ended(const jail::Jail& jail, const std::string& after) {
    pollfd init{jail.process_fd(), POLLIN, 0};
    EXPECT_TRUE(jail.process_fd() < 0 || ::poll(&init, 1, scaled_ms(5000)) == 1) << after;
  }

  void expect_next_launch_works(const std::string& after) const {
    auto jail = launcher_.launch(spec_for({"/usr/bin/true"}));
    ASSERT_TRUE(jail) << after << ": " << jail.error().message();
    const auto ended = run_to_end(*jail);
    ASSERT_TRUE(ended) << after << ": " << ended.error().message();
    EXPECT_EQ(jail->report().exit_code, 0) << after;
  }

  // Drives a jail through all phases, as its owner does.
  static jail::Result<void> run_to_end(jail::Jail& jail) {
    if (auto phase = jail.wait(jail::Phase::ready, patience); !phase) return phase.error();
    if (jail.phase() == jail::Phase::ended) return {};
    if (auto done = jail.start(); !done) return done;
    if (auto phase = jail.wait(jail::Phase::ended, patience); !phase) return phase.error();
    return {};
  }

  static jail::TemplateSpec python_template() {
    jail::TemplateSpec spec;
    spec.name = "python";
    spec.jail = spec_for({"/usr/bin/python3", "/workspace/main.py"});
    return spec;
  }

  // Returns a text such as "purpose (init step 3 of 170)".
  static std::string step_text(const jail::Plan& plan, edited::List list, std::size_t index) {
    return jail::describe_call(plan, list == edited::List::init ? 0 : 1,
                               static_cast<std::int32_t>(index));
  }

  static std::string read_all(const jail::Fd& stream) {
    std::string text(4096, '\0');
    const ssize_t got = ::read(stream.get(), text.data(), text.size());
    text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
    return text;
  }

  static std::string file_text(const std::string& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  static inline const std::chrono::milliseconds patience =
      scaled(std::chrono::milliseconds(10'000));
  const jail::Launcher launcher_;
  const pid_t pid_;

 private:
  static jail::Launcher start() {
    auto started = start_launcher();
    if (!started) {
      ADD_FAILURE() << started.error().message();
      std::abort();
    }
    return std::move(*started);
  }
  static std::string mounts() { return file_text("/proc/self/mountinfo"); }

  const std::size_t descriptors_;
  const std::string mounts_;
};

// Lowers the soft limit of a process until the end of a scope.
class LoweredLimit {
 public:
  LoweredLimit(pid_t pid, __rlimit_resource resource, rlim_t soft)
      : pid_(pid), resource_(resource) {
    rlimit lowered{};
    EXPECT_EQ(::prlimit(pid_, resource_, nullptr, &before_), 0);
    lowered = before_;
    lowered.rlim_cur = soft;
    EXPECT_EQ(::prlimit(pid_, resource_, &lowered, nullptr), 0);
  }
  LoweredLimit(const LoweredLimit&) = delete;
  ~LoweredLimit() { ::prlimit(pid_, resource_, &before_, nullptr); }

 private:
  const pid_t pid_;
  const __rlimit_resource resource_;
  rlimit before_{};
};

}  // namespace kernel_ring
