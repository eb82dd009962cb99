// The tests read the kernel's files about their own process.
#include "child/proc_files.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include "jail/fd.h"

namespace jail::child {
namespace {

constexpr std::size_t page = 4096;

class ProcFiles : public testing::Test {
 protected:
  static std::uint64_t lines_of_maps() {
    std::ifstream maps("/proc/self/maps");
    std::uint64_t lines = 0;
    for (std::string line; std::getline(maps, line);) ++lines;
    return lines;
  }

  Mappings mappings(std::uint64_t most = ~std::uint64_t{0}) const {
    Mappings found;
    EXPECT_TRUE(read_mappings(proc_.get(), "self", most, ample_, found));
    return found;
  }

  Descriptors descriptors() const {
    Descriptors found;
    EXPECT_TRUE(
        read_descriptors(proc_.get(), "self", {.watches = true, .pipes = true}, ample_, found));
    return found;
  }

  // A sanitizer has a thread of its own.
  static std::uint64_t threads() {
    std::uint64_t count = 0;
    for (const auto& each : std::filesystem::directory_iterator("/proc/self/task")) {
      count += each.exists() ? 1 : 0;
    }
    return count;
  }

  const Budget ample_{60'000 * ns_per_ms};

  Fd proc_{::open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
};

TEST_F(ProcFiles, StatIsReadPastANameWithParentheses) {
  ASSERT_EQ(::prctl(PR_SET_NAME, "a) R 1 (b"), 0);
  ProcessStat stat;
  ASSERT_TRUE(read_stat(proc_.get(), "self", stat));
  EXPECT_EQ(stat.parent, ::getppid());
  EXPECT_EQ(stat.threads, threads());
  EXPECT_EQ(stat.state, 'R');
  EXPECT_GT(stat.resident_pages, 100u);
  EXPECT_GT(stat.mapped_bytes, stat.resident_pages * page);
  EXPECT_FALSE(read_stat(proc_.get(), "4194305", stat));
}

TEST_F(ProcFiles, WhoHasLeftForGoodIsMarked) {
  const pid_t pid = ::fork();
  if (pid == 0) {
    for (;;) ::pause();
  }
  const Number child(static_cast<std::uint64_t>(pid));
  ProcessStat stat;
  ASSERT_TRUE(read_stat(proc_.get(), child.text, stat));
  EXPECT_FALSE(stat.is_leaving());
  ASSERT_EQ(::kill(pid, SIGKILL), 0);
  siginfo_t ended{};
  ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(pid), &ended, WEXITED | WNOWAIT), 0);
  ASSERT_TRUE(read_stat(proc_.get(), child.text, stat));
  EXPECT_TRUE(stat.is_leaving());
  EXPECT_EQ(::waitpid(pid, nullptr, 0), pid);
}

TEST_F(ProcFiles, MappingsAreCounted) {
  const std::uint64_t lines = lines_of_maps();
  EXPECT_NEAR(static_cast<double>(mappings().count), static_cast<double>(lines), 4);
  EXPECT_GE(mappings(3).count, 3u);
}

TEST_F(ProcFiles, TheKernelCountsMappingsWhereItCan) {
  std::uint64_t found = 0;
  if (!count_mappings(proc_.get(), "self", ~std::uint64_t{0}, ample_, found)) {
    GTEST_SKIP() << "a kernel before 6.11";
  }
  EXPECT_NEAR(static_cast<double>(found), static_cast<double>(lines_of_maps()), 4);
}

TEST_F(ProcFiles, SharedAnonymousMemoryIsSeenWhateverItIsCalled) {
  EXPECT_EQ(mappings().shared_anonymous, 0u);
  void* block = ::mmap(nullptr, page, PROT_READ, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(block, MAP_FAILED);
  EXPECT_EQ(mappings().shared_anonymous, 1u);
  ASSERT_EQ(::mprotect(block, page, PROT_NONE), 0);
  EXPECT_EQ(mappings().shared_anonymous, 1u);
  // Where the kernel can name it.
  ::prctl(PR_SET_VMA, PR_SET_VMA_ANON_NAME, block, page, "innocent");
  EXPECT_EQ(mappings().shared_anonymous, 1u);
  ::munmap(block, page);
  EXPECT_EQ(mappings().shared_anonymous, 0u);
}

TEST_F(ProcFiles, PrivateMemoryIsNotSharedWhateverItIsCalled) {
  void* block = ::mmap(nullptr, page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(block, MAP_FAILED);
  ::prctl(PR_SET_VMA, PR_SET_VMA_ANON_NAME, block, page, "/dev/zero (deleted)");
  EXPECT_EQ(mappings().shared_anonymous, 0u);
  ::munmap(block, page);
}

TEST_F(ProcFiles, EpollWatchesAreCounted) {
  const Descriptors before = descriptors();
  const Fd one(::epoll_create1(EPOLL_CLOEXEC));
  const Fd two(::epoll_create1(EPOLL_CLOEXEC));
  EXPECT_EQ(descriptors().epolls, before.epolls + 2);
  EXPECT_EQ(descriptors().watches, before.watches);
  // Watches of one file under many numbers, none of which is open any more.
  const Fd watched(::eventfd(0, EFD_CLOEXEC));
  const int number = ::fcntl(watched.get(), F_DUPFD_CLOEXEC, 100);
  ASSERT_GE(number, 100);
  constexpr int many = 150;  // more than fit into what is read at once
  for (int i = 0; i < many; ++i) {
    ASSERT_EQ(::dup3(watched.get(), number + i, O_CLOEXEC), number + i);
    epoll_event event{};
    ASSERT_EQ(::epoll_ctl(two.get(), EPOLL_CTL_ADD, number + i, &event), 0);
    ::close(number + i);
  }
  EXPECT_EQ(descriptors().watches, before.watches + many);
  EXPECT_EQ(descriptors().max_watches, static_cast<std::uint64_t>(many));
}

TEST_F(ProcFiles, OpenFilesOfProcAreCounted) {
  const std::uint64_t before = descriptors().proc_files;
  const Fd one(::open("/proc/self/maps", O_RDONLY | O_CLOEXEC));
  const Fd other(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  EXPECT_EQ(descriptors().proc_files, before + 1);
}

TEST_F(ProcFiles, EndsOfPipesAreCountedWhateverTheirNames) {
  const std::uint64_t before = descriptors().pipe_ends;
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  const Fd read_end(ends[0]);
  const Fd write_end(ends[1]);
  const std::string path = testing::TempDir() + "pipe." + std::to_string(::getpid());
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  const Fd named(::open(path.c_str(), O_RDWR | O_CLOEXEC));
  ::unlink(path.c_str());
  ASSERT_GE(named.get(), 0);
  EXPECT_EQ(descriptors().pipe_ends, before + 3);
}

TEST_F(ProcFiles, DescriptorsInFlightAreCounted) {
  int ends[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
  const Fd one(ends[0]);
  const Fd two(ends[1]);
  const int sent[] = {one.get(), one.get(), one.get()};
  char byte = 'x';
  iovec part{&byte, 1};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof sent)] = {};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  cmsghdr* rights = CMSG_FIRSTHDR(&message);
  rights->cmsg_level = SOL_SOCKET;
  rights->cmsg_type = SCM_RIGHTS;
  rights->cmsg_len = CMSG_LEN(sizeof sent);
  std::memcpy(CMSG_DATA(rights), sent, sizeof sent);
  EXPECT_EQ(descriptors().in_flight, 0u);
  ASSERT_EQ(::sendmsg(one.get(), &message, 0), 1);
  EXPECT_EQ(descriptors().in_flight, 3u);
}

TEST_F(ProcFiles, ReadingEndsWithItsBudget) {
  const Budget spent(0);
  while (!spent.is_spent()) {
  }
  Mappings mappings;
  Descriptors found;
  EXPECT_FALSE(read_mappings(proc_.get(), "self", ~std::uint64_t{0}, spent, mappings));
  EXPECT_FALSE(
      read_descriptors(proc_.get(), "self", {.watches = true, .pipes = true}, spent, found));
}

TEST_F(ProcFiles, AThreadHasADirectoryOfItsOwn) {
  std::thread([&] {
    ProcessStat stat;
    EXPECT_TRUE(read_stat(proc_.get(), Number(static_cast<std::uint64_t>(::gettid())).text, stat));
    EXPECT_EQ(stat.threads, threads());
    EXPECT_GE(stat.threads, 2u);
    EXPECT_GT(stat.resident_pages, 100u);
  }).join();
}

TEST_F(ProcFiles, NumbersAreFoundAtTheStartOfALine) {
  const char* text = "Name:\tVmPTE: 1\nVmPTE:\t      64 kB\nFDSize:\t256\n";
  std::uint64_t number = 0;
  EXPECT_TRUE(find_size(text, "VmPTE:", number));
  EXPECT_EQ(number, 64u << 10);
  EXPECT_TRUE(find_number(text, "FDSize:", number));
  EXPECT_EQ(number, 256u);
  EXPECT_FALSE(find_number(text, "Size:", number));
}

}  // namespace
}  // namespace jail::child
