#include "server/cli/host_exposure.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>

namespace server {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

// A host made of files.
class HostTest : public ::testing::Test {
 protected:
  ~HostTest() override { std::filesystem::remove_all(root_); }

  void write(const std::string& path, std::string_view text) {
    const std::filesystem::path file = root_ + path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }

  static void is_good(const Check& check) {
    EXPECT_EQ(check.state, Check::State::good) << check.found;
    EXPECT_THAT(check.found, Not(IsEmpty()));
    EXPECT_THAT(check.advice, IsEmpty());
  }

  // `advice` is what the reader can do.
  static void is_noticed(const Check& check, std::string_view found, std::string_view advice) {
    says(check, Check::State::notice, found, advice);
  }

  static void is_missing(const Check& check, std::string_view found, std::string_view advice) {
    says(check, Check::State::missing, found, advice);
  }

  static std::string make_directory() {
    std::string name = ::testing::TempDir() + "host.XXXXXX";
    EXPECT_NE(::mkdtemp(name.data()), nullptr);
    return name;
  }

  static void says(const Check& check, Check::State state, std::string_view found,
                   std::string_view advice) {
    EXPECT_EQ(check.state, state) << check.found;
    EXPECT_THAT(check.found, HasSubstr(found));
    EXPECT_THAT(check.advice, HasSubstr(advice));
  }

  const std::string root_ = make_directory();
  const HostFiles files_{root_};
};

TEST_F(HostTest, FilesAreReadBelowTheRoot) {
  write("/proc/sys/a/number", "12\n");
  write("/proc/sys/a/word", "many\n");
  write("/lines", "first\nsecond\n");
  EXPECT_EQ(files_.setting("a/number"), 12u);
  EXPECT_EQ(files_.setting("a/word"), std::nullopt);
  EXPECT_EQ(files_.setting("a/none"), std::nullopt);
  EXPECT_EQ(files_.first_line("/lines"), "first");
  EXPECT_EQ(files_.text("/lines"), "first\nsecond\n");
  EXPECT_THAT(files_.names("/proc/sys/a"), ElementsAre("number", "word"));
  EXPECT_THAT(files_.names("/none"), IsEmpty());
}

TEST_F(HostTest, SwapIsNamed) {
  const std::string heading = "Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n";
  is_good(check_swap(files_));
  write("/proc/swaps", heading);
  is_good(check_swap(files_));
  write("/proc/swaps", heading +
                           "/dev/sda2                               partition\t8388604\t\t0\n" +
                           "/swapfile                               file\t\t2097148\t\t0\n");
  is_noticed(check_swap(files_), "/dev/sda2, /swapfile", "swapoff");
}

TEST_F(HostTest, PagesThatAreMergedAreNoticed) {
  is_good(check_same_page_merging(files_));
  for (const char* off : {"0\n", "2\n"}) {
    write("/sys/kernel/mm/ksm/run", off);
    is_good(check_same_page_merging(files_));
  }
  write("/sys/kernel/mm/ksm/run", "1\n");
  is_noticed(check_same_page_merging(files_), "merged", "/sys/kernel/mm/ksm/run");
}

TEST_F(HostTest, SharedCoresAreNoticed) {
  is_good(check_smt(files_));
  write("/sys/devices/system/cpu/smt/active", "0\n");
  is_good(check_smt(files_));
  write("/sys/devices/system/cpu/smt/active", "1\n");
  is_noticed(check_smt(files_), "share a core", "nosmt");
}

TEST_F(HostTest, PtraceWithinAUserIsNoticed) {
  is_noticed(check_ptrace(files_), "Yama is not there", "a user of its own");
  write("/proc/sys/kernel/yama/ptrace_scope", "0\n");
  is_noticed(check_ptrace(files_), "ptrace_scope is 0", "kernel.yama.ptrace_scope=1");
  for (const char* scope : {"1\n", "2\n", "3\n"}) {
    write("/proc/sys/kernel/yama/ptrace_scope", scope);
    is_good(check_ptrace(files_));
  }
}

TEST_F(HostTest, OpenFaultsOfTheProcessorAreListed) {
  const std::string directory = "/sys/devices/system/cpu/vulnerabilities/";
  EXPECT_EQ(check_processor(files_).state, Check::State::notice);
  write(directory + "meltdown", "Not affected\n");
  write(directory + "mds", "Mitigation: Clear CPU buffers; SMT vulnerable\n");
  is_good(check_processor(files_));
  write(directory + "spec_store_bypass", "Vulnerable\n");
  write(directory + "retbleed", "Vulnerable: Safe RET, no microcode\n");
  write(directory + "itlb_multihit", "KVM: Vulnerable\n");
  is_noticed(check_processor(files_), "open to itlb_multihit, retbleed, spec_store_bypass",
             "microcode");
}

TEST_F(HostTest, BpfForAnybodyIsNoticed) {
  is_good(check_bpf(files_));
  for (const char* off : {"1\n", "2\n"}) {
    write("/proc/sys/kernel/unprivileged_bpf_disabled", off);
    is_good(check_bpf(files_));
  }
  write("/proc/sys/kernel/unprivileged_bpf_disabled", "0\n");
  is_noticed(check_bpf(files_), "any process", "kernel.unprivileged_bpf_disabled=2");
}

TEST_F(HostTest, IoUringIsSaid) {
  EXPECT_THAT(check_io_uring(files_).found, HasSubstr("jails refuse"));
  const std::pair<const char*, const char*> cases[] = {
      {"0\n", "any process"}, {"1\n", "a group"}, {"2\n", "off"}};
  for (const auto& [value, found] : cases) {
    write("/proc/sys/kernel/io_uring_disabled", value);
    is_good(check_io_uring(files_));
    EXPECT_THAT(check_io_uring(files_).found, HasSubstr(found));
  }
}

TEST_F(HostTest, RiskyModulesAreNamedInOneLine) {
  is_good(check_modules(files_));
  const std::string harmless =
      "ext4 995328 1 - Live 0x0000000000000000\n"
      "esp4_offload 16384 0 - Live 0x0000000000000000\n"
      "my_rxrpc 16384 1 rxrpc, Live 0x0000000000000000\n";
  write("/proc/modules", harmless);
  is_good(check_modules(files_));
  write("/proc/modules", "rxrpc 401408 0 - Live 0x0000000000000000\n" + harmless +
                             "algif_aead 16384 0 - Live 0x0000000000000000\n"
                             "esp6 28672 0 - Live 0x0000000000000000\n"
                             "esp4 28672 0 - Live 0x0000000000000000\n");
  is_noticed(check_modules(files_), ": algif_aead, esp4, esp6, rxrpc",
             "`install esp6 /bin/false`, `install rxrpc /bin/false` in /etc/modprobe.d");
  EXPECT_EQ(check_modules(files_).found.find('\n'), std::string::npos);
  EXPECT_EQ(check_modules(files_).advice.find('\n'), std::string::npos);
}

TEST_F(HostTest, ACorePipeIsNoticed) {
  is_good(check_core_pattern("core"));
  is_noticed(check_core_pattern("|/usr/lib/systemd/systemd-coredump %P"), "systemd-coredump",
             "kernel.core_pattern=core");
}

TEST_F(HostTest, VsockIsNoticedWhereItIs) {
  is_good(check_vsock({.error = EAFNOSUPPORT, .doing = "open a socket"}));
  is_noticed(check_vsock({}), "AF_VSOCK", "filter");
}

TEST_F(HostTest, WithoutOverlaysThereAreNoJails) {
  is_good(check_overlay({}));
  is_missing(check_overlay({.error = EPERM, .doing = "mount an overlay"}),
             "mount an overlay: Operation not permitted", "profile");
  is_missing(check_overlay({.error = ENODEV, .doing = "mount an overlay"}), "No such device",
             "modprobe overlay");
}

TEST_F(HostTest, WhoForbidsUserNamespacesIsNamed) {
  const Trial refused{.error = EPERM, .doing = "make them"};
  const auto advice = [&] {
    const Check check = check_user_namespaces(files_, refused);
    EXPECT_EQ(check.state, Check::State::missing);
    EXPECT_EQ(check.found, "cannot be used: make them: Operation not permitted");
    return check.advice;
  };
  EXPECT_THAT(advice(), AllOf(HasSubstr("seccomp profile"), HasSubstr("chroot")));
  write("/proc/sys/user/max_user_namespaces", "0\n");
  EXPECT_THAT(advice(), HasSubstr("user.max_user_namespaces=65536"));
  write("/proc/sys/kernel/unprivileged_userns_clone", "0\n");
  EXPECT_THAT(advice(), HasSubstr("kernel.unprivileged_userns_clone=1"));
  write("/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1\n");
  EXPECT_THAT(advice(), AllOf(HasSubstr("AppArmor"),
                              HasSubstr("kernel.apparmor_restrict_unprivileged_userns=0")));
  write("/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "0\n");
  write("/proc/sys/kernel/unprivileged_userns_clone", "1\n");
  write("/proc/sys/user/max_user_namespaces", "1000\n");
  EXPECT_THAT(advice(), HasSubstr("seccomp profile"));
  const Check check = check_user_namespaces(files_, {});
  is_good(check);
  EXPECT_THAT(check.found, HasSubstr("at most 1000"));
}

TEST_F(HostTest, BoundsOfPoolsAreReadFromTheFiles) {
  write("/proc/sys/fs/pipe-user-pages-soft", "0\n");
  write("/proc/sys/kernel/keys/maxkeys", "200\n");
  write("/proc/sys/user/max_user_namespaces", "1000\n");
  write("/proc/sys/user/max_pid_namespaces", "900\n");
  write("/proc/sys/user/max_net_namespaces", "800\n");
  const PoolBounds bounds = pool_bounds(files_);
  EXPECT_EQ(bounds.pipe_pages, std::nullopt) << "0 means that there is none";
  EXPECT_EQ(bounds.keys, 200u);
  EXPECT_EQ(bounds.user_namespaces, 1000u);
  EXPECT_EQ(bounds.other_namespaces, 800u);
}

// What this host allows is unknown here, but the trials must leave nothing behind.
TEST(HostTrials, ChangeNothingHere) {
  const auto mounts = [] { return HostFiles().text("/proc/self/mountinfo"); };
  const auto before = mounts();
  const bool there = std::filesystem::exists("/tmp/over");
  for (const Trial& trial : {try_user_namespace(), try_overlay(), try_vsock()}) {
    EXPECT_EQ(trial.error == 0, trial.doing.empty()) << describe(trial);
  }
  EXPECT_EQ(mounts(), before);
  EXPECT_EQ(std::filesystem::exists("/tmp/over"), there);
}

}  // namespace
}  // namespace server
