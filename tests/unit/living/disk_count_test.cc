// What DiskCount counts of what a guest can do to files.
#include "runtime/living/disk_count.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <thread>

namespace runtime {
namespace {

namespace fs = std::filesystem;
using jail::Fd;

constexpr std::uint64_t mib = 1u << 20;
constexpr std::uint64_t no_bound = 1ull << 40;

class DiskCountTest : public testing::Test {
 protected:
  DiskCountTest() {
    std::string name = testing::TempDir() + "disk-count-XXXXXX";
    root_ = ::mkdtemp(name.data());
    // A sanitizer may hold files without a name on the same file system.
    others_ = DiskCount(directory()).look(self(), no_bound, 100'000, budget_);
  }
  ~DiskCountTest() override { fs::remove_all(root_); }

  Fd directory() const { return Fd(::open(root_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)); }

  // This process stands for the first one of a sandbox.
  DiskUse look(std::uint64_t max_bytes = no_bound, std::uint64_t max_files = 100'000) {
    if (!count_) count_.emplace(directory());
    DiskUse use = count_->look(self(), max_bytes, max_files + others_.files, budget_);
    use.files -= others_.files;
    use.bytes -= others_.bytes;
    return use;
  }
  static Fd self() { return Fd(static_cast<int>(::syscall(SYS_pidfd_open, ::getpid(), 0))); }

  Fd make(const std::string& name) const {
    return Fd(::open((root_ / name).c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  }
  void fill(const std::string& name, std::uint64_t bytes) const { fill(make(name), bytes); }
  static void fill(const Fd& file, std::uint64_t bytes) {
    const std::string block(bytes, 'x');
    ASSERT_EQ(::write(file.get(), block.data(), block.size()), static_cast<ssize_t>(bytes));
  }

  DiskCount::Budget budget_{.processor_time = std::chrono::seconds(60),
                            .time = std::chrono::seconds(60),
                            .max_text_bytes = 1u << 30};
  fs::path root_;
  std::optional<DiskCount> count_;
  DiskUse others_;
};

TEST_F(DiskCountTest, CountsFilesDirectoriesAndLinks) {
  EXPECT_EQ(look().files, 0u);
  fs::create_directories(root_ / "a/b");
  fill("a/b/file", 3 * mib);
  fs::create_symlink("/usr", root_ / "link");
  const DiskUse use = look();
  EXPECT_EQ(use.files, 4u);
  EXPECT_GE(use.bytes, 3 * mib);
  EXPECT_LT(use.bytes, 4 * mib) << "a link is not followed";
  EXPECT_TRUE(use.is_countable);
}

TEST_F(DiskCountTest, CountsWhatWasAllocatedAndNotWhatIsNot) {
  ASSERT_EQ(::ftruncate(make("sparse").get(), 1ll << 33), 0);
  EXPECT_LT(look().bytes, mib);
  const Fd kept = make("kept");
  if (::fallocate(kept.get(), FALLOC_FL_KEEP_SIZE, 0, 5 * mib) == 0) {
    EXPECT_GE(look().bytes, 5 * mib) << "allocated, with a size of 0";
  }
}

TEST_F(DiskCountTest, CountsAFileOnceWhateverItsNames) {
  fill("one", 2 * mib);
  for (int i = 0; i < 5; ++i) fs::create_hard_link(root_ / "one", root_ / std::to_string(i));
  const DiskUse use = look();
  EXPECT_EQ(use.files, 1u);
  EXPECT_LT(use.bytes, 3 * mib);
}

TEST_F(DiskCountTest, CountsTheNamesInItsRoot) {
  { const Fd file = make("a"); }
  for (int i = 0; i < 2000; ++i) {
    fs::create_hard_link(root_ / "a", root_ / (std::string(200, 'n') + std::to_string(i)));
  }
  struct stat status {};
  ASSERT_EQ(::stat(root_.c_str(), &status), 0);
  const auto bytes = static_cast<std::uint64_t>(status.st_blocks) * 512;
  const DiskUse use = look();
  EXPECT_EQ(use.files, 1u);
  EXPECT_EQ(use.bytes, bytes > 4096 ? bytes - 4096 : 0) << "not each file system has blocks of it";
}

TEST_F(DiskCountTest, CountsFilesThatHaveNoNameAnyMore) {
  Fd open = make("open");
  fill(open, 2 * mib);
  fs::remove(root_ / "open");
  EXPECT_GE(look().bytes, 2 * mib);
  const Fd never(::open(root_.c_str(), O_RDWR | O_TMPFILE | O_CLOEXEC, 0600));
  if (never.valid()) {
    fill(never, mib);
    EXPECT_GE(look().bytes, 3 * mib) << "it never had one";
  }
  open.reset();
  EXPECT_LT(look().bytes, 2 * mib);
}

TEST_F(DiskCountTest, TellsWhatIsOnItsWayInSockets) {
  int pair[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
  const Fd one(pair[0]);
  const Fd other(pair[1]);
  EXPECT_EQ(look().in_flight, 0u);
  const Fd file = make("file");
  char byte = 'x';
  iovec data{.iov_base = &byte, .iov_len = 1};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  cmsghdr* const header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof(int));
  const int number = file.get();
  std::memcpy(CMSG_DATA(header), &number, sizeof number);
  ASSERT_EQ(::sendmsg(one.get(), &message, 0), 1);
  EXPECT_EQ(look().in_flight, 1u);
}

TEST_F(DiskCountTest, CountsFilesThatAreOnlyMapped) {
  Fd file = make("mapped");
  fill(file, 4 * mib);
  void* const page = ::mmap(nullptr, 4096, PROT_READ, MAP_SHARED, file.get(), 0);
  ASSERT_NE(page, MAP_FAILED);
  EXPECT_GE(look().bytes, 4 * mib);
  fs::remove(root_ / "mapped");
  file.reset();
  EXPECT_GE(look().bytes, 4 * mib) << "as it was when it was last seen";
  ::munmap(page, 4096);
  EXPECT_LT(look().bytes, mib);
}

TEST_F(DiskCountTest, CountsWhatIsWrittenByWayOfMemory) {
  const Fd file = make("mapped");
  ASSERT_EQ(::ftruncate(file.get(), 2 * mib), 0);
  void* const memory = ::mmap(nullptr, 2 * mib, PROT_WRITE, MAP_SHARED, file.get(), 0);
  ASSERT_NE(memory, MAP_FAILED);
  for (std::uint64_t at = 0; at < 2 * mib; at += 4096) static_cast<char*>(memory)[at] = 'x';
  EXPECT_GE(look().bytes, 2 * mib);
  ::munmap(memory, 2 * mib);
}

TEST_F(DiskCountTest, ADirectoryThatIsShutHidesNothing) {
  fs::create_directory(root_ / "shut");
  fill("shut/file", mib);
  const Fd whole = directory();
  if (!count_) count_.emplace(directory());
  ASSERT_EQ(::chmod((root_ / "shut").c_str(), 0), 0);
  ASSERT_EQ(::fchmod(whole.get(), 0), 0);
  const DiskUse use = look();
  EXPECT_GE(use.bytes, mib);
  EXPECT_TRUE(use.is_countable);
}

TEST_F(DiskCountTest, ATreeThatIsTooDeepIsNotCountable) {
  const auto deep = [this](int levels) {
    Fd at = directory();
    for (int i = 0; i < levels; ++i) {
      ::mkdirat(at.get(), "d", 0700);
      at = Fd(::openat(at.get(), "d", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    }
  };
  deep(DiskCount::max_depth - 1);
  EXPECT_TRUE(look().is_countable);
  deep(DiskCount::max_depth);
  EXPECT_FALSE(look().is_countable);
}

TEST_F(DiskCountTest, EndsAtItsBounds) {
  for (int i = 0; i < 2000; ++i) make(std::to_string(i));
  EXPECT_EQ(look().files, 2000u);
  EXPECT_EQ(look(no_bound, 100).files, 101u);
  fill("a", mib);
  fill("b", mib);
  EXPECT_LE(look(mib / 2).bytes, 2 * mib);
  EXPECT_GT(look(mib / 2).bytes, mib / 2);
}

// Somebody exchanges names meanwhile: no file counts twice, and no file of the host counts.
TEST_F(DiskCountTest, NamesThatAreExchangedLeadNowhereElse) {
  fs::create_directories(root_ / "a/deep/deeper");
  fs::create_directory(root_ / "b");
  for (int i = 0; i < 50; ++i) fill("a/deep/deeper/" + std::to_string(i), 4096);
  fs::create_symlink("/usr", root_ / "c");
  const DiskUse still = look();
  std::atomic<bool> is_over = false;
  std::thread guest([&] {
    while (!is_over) {
      std::error_code ignored;
      fs::rename(root_ / "a/deep", root_ / "b/deep", ignored);
      fs::rename(root_ / "b/deep", root_ / "a/deep", ignored);
      ::syscall(SYS_renameat2, AT_FDCWD, (root_ / "b").c_str(), AT_FDCWD, (root_ / "c").c_str(),
                RENAME_EXCHANGE);
    }
  });
  for (int i = 0; i < 300; ++i) {
    const DiskUse use = look();
    EXPECT_LE(use.files, still.files);
    EXPECT_LE(use.bytes, still.bytes);
    EXPECT_TRUE(use.is_countable);
  }
  is_over = true;
  guest.join();
  EXPECT_EQ(look().files, still.files);
}

// Forks; the child closes `is_ready` when it is in the state that `enter` brings it to.
class Child {
 public:
  template <typename Enter>
  explicit Child(Enter enter) {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) return;
    pid_ = ::fork();
    if (pid_ == 0) {
      ::close(ends[0]);
      enter();
      ::close(ends[1]);
      for (;;) ::pause();
    }
    ::close(ends[1]);
    char byte = 0;
    [[maybe_unused]] const ssize_t end = ::read(ends[0], &byte, 1);
    ::close(ends[0]);
  }
  ~Child() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }

 private:
  pid_t pid_ = -1;
};

TEST_F(DiskCountTest, WhatIsTooMuchToReadIsNotRead) {
  for (int i = 0; i < 200; ++i) make(std::to_string(i));
  EXPECT_EQ(look().seen, DiskUse::Seen::all);
  budget_.processor_time = {};
  DiskUse use = look();
  EXPECT_EQ(use.seen, DiskUse::Seen::beyond_budget);
  EXPECT_LT(use.files, 200u);
  budget_.processor_time = std::chrono::seconds(60);
  budget_.time = {};
  EXPECT_EQ(look().seen, DiskUse::Seen::beyond_budget);
  budget_.time = std::chrono::seconds(60);
  budget_.max_text_bytes = 1000;
  EXPECT_EQ(look().seen, DiskUse::Seen::beyond_budget) << "mappings are text";
  budget_.max_text_bytes = 1u << 30;
  use = look();
  EXPECT_EQ(use.seen, DiskUse::Seen::all);
  EXPECT_EQ(use.files, 200u);
}

TEST_F(DiskCountTest, AProcessThatStaysUnreadableIsNotCountable) {
  if (::geteuid() == 0) GTEST_SKIP() << "root reads every process";
  const Child child([] { ::prctl(PR_SET_DUMPABLE, 0); });
  DiskUse use = look();
  EXPECT_EQ(use.seen, DiskUse::Seen::unreadable);
  EXPECT_TRUE(use.is_countable) << "it may execute a program at this moment";
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (use.is_countable && std::chrono::steady_clock::now() < deadline) use = look();
  EXPECT_FALSE(use.is_countable);
}

TEST_F(DiskCountTest, AProcessThatHasEndedIsNotUnreadable) {
  const pid_t ended = ::fork();
  if (ended == 0) ::_exit(0);
  siginfo_t info{};
  ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(ended), &info, WEXITED | WNOWAIT), 0);
  EXPECT_EQ(look().seen, DiskUse::Seen::all);
  ::waitpid(ended, nullptr, 0);
}

TEST_F(DiskCountTest, CountsTheProgramThatAProcessExecutes) {
  const fs::path program = root_ / "program";
  fs::copy_file("/usr/bin/sleep", program);
  {
    Fd more(::open(program.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC));
    fill(more, 2 * mib);
  }
  const std::uint64_t before = look().bytes;
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::execl(program.c_str(), "sleep", "1000", nullptr);
    ::_exit(1);
  }
  const std::string exe = "/proc/" + std::to_string(pid) + "/exe";
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  std::error_code ignored;
  while (fs::read_symlink(exe, ignored) != program && std::chrono::steady_clock::now() < deadline) {
  }
  fs::remove(program);
  EXPECT_EQ(look().bytes, before);
  ::kill(pid, SIGKILL);
  ::waitpid(pid, nullptr, 0);
  EXPECT_LT(look().bytes, 2 * mib);
}

TEST_F(DiskCountTest, ALackOfDescriptorsIsNoFaultOfTheSandbox) {
  fs::create_directories(root_ / "a/b/c");
  fill("a/b/c/file", mib);
  EXPECT_GE(look().bytes, mib);
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const Fd self(static_cast<int>(::syscall(SYS_pidfd_open, ::getpid(), 0)));
  for (rlim_t free = 0; free < 4; ++free) {
    const rlimit few{.rlim_cur = static_cast<rlim_t>(self.get()) + 1 + free,
                     .rlim_max = before.rlim_max};
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &few), 0);
    const DiskUse use = count_->look(self, no_bound, 100'000, budget_);
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
    EXPECT_EQ(use.seen, DiskUse::Seen::short_of_the_host) << free;
    EXPECT_TRUE(use.is_countable) << free;
  }
  EXPECT_GE(look().bytes, mib);
}

TEST(DoubtsTest, OneLookProvesNothing) {
  const auto use = [](DiskUse::Seen seen) {
    DiskUse use;
    use.seen = seen;
    return use;
  };
  using Seen = DiskUse::Seen;
  Doubts doubts;
  EXPECT_FALSE(doubts.are_certain(use(Seen::beyond_budget)));
  EXPECT_FALSE(doubts.are_certain(use(Seen::all)));
  EXPECT_FALSE(doubts.are_certain(use(Seen::beyond_budget)));
  EXPECT_TRUE(doubts.are_certain(use(Seen::beyond_budget)));
  Doubts others;
  for (int i = 1; i < Doubts::max_partial_looks; ++i) {
    EXPECT_FALSE(others.are_certain(use(Seen::unreadable))) << i;
  }
  EXPECT_TRUE(others.are_certain(use(Seen::unreadable)));
}

}  // namespace
}  // namespace runtime
