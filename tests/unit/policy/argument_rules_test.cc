// The attacks that argument rules prevent, one by one.
#include <fcntl.h>
#include <linux/close_range.h>
#include <linux/sched.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include <cerrno>
#include <csignal>
#include <set>
#include <utility>

#include "filter_probe.h"
#include "jail/spec.h"

namespace jail::test {
namespace {

constexpr std::uint64_t garbage = 0xdeadbeef00000000;

class ArgumentRules : public testing::Test {
 protected:
  // The answer must be the same when the upper halves, which the kernel ignores, are full.
  std::uint32_t ask(long number, const Arguments& arguments) const {
    const std::uint32_t plain = probe_.ask(number, arguments);
    Arguments dirty = arguments;
    for (std::uint64_t& argument : dirty) argument |= garbage;
    EXPECT_EQ(probe_.ask(number, dirty), plain) << number;
    return plain;
  }

  FilterProbe probe_{default_policy()};
};

TEST_F(ArgumentRules, CloneMakesNoNamespace) {
  const std::uint64_t fork_flags = CLONE_CHILD_SETTID | CLONE_CHILD_CLEARTID | SIGCHLD;
  const std::uint64_t thread_flags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND |
                                     CLONE_THREAD | CLONE_SYSVSEM | CLONE_SETTLS |
                                     CLONE_PARENT_SETTID | CLONE_CHILD_CLEARTID;
  const std::uint64_t spawn_flags = CLONE_VM | CLONE_VFORK | SIGCHLD;
  for (const std::uint64_t usual : {fork_flags, thread_flags, spawn_flags}) {
    EXPECT_EQ(ask(SYS_clone, {usual}), allowed);
    for (const std::uint64_t flag : {CLONE_NEWNS, CLONE_NEWCGROUP, CLONE_NEWUTS, CLONE_NEWIPC,
                                     CLONE_NEWUSER, CLONE_NEWPID, CLONE_NEWNET}) {
      EXPECT_EQ(ask(SYS_clone, {usual | flag}), fails_with(EPERM)) << std::hex << flag;
    }
    EXPECT_EQ(ask(SYS_clone, {usual | 0x7e020000}), fails_with(EPERM));
    EXPECT_EQ(ask(SYS_clone, {usual | CLONE_PARENT}), fails_with(EPERM));
  }
}

// Init counts the descriptors and the memory of each process by one of its threads.
TEST_F(ArgumentRules, DescriptorsAndMemoryAreAWholeProcesss) {
  const std::uint64_t thread = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD;
  for (const std::uint64_t flags :
       {thread & ~std::uint64_t{CLONE_FILES}, std::uint64_t{CLONE_VM | SIGCHLD},
        std::uint64_t{CLONE_FILES | SIGCHLD}, std::uint64_t{CLONE_VM | CLONE_FILES | SIGCHLD},
        std::uint64_t{CLONE_FILES | CLONE_VFORK | SIGCHLD},
        std::uint64_t{CLONE_VM | CLONE_FILES | CLONE_VFORK | SIGCHLD}}) {
    EXPECT_EQ(ask(SYS_clone, {flags}), fails_with(EPERM)) << std::hex << flags;
  }
  EXPECT_EQ(ask(SYS_clone, {CLONE_VFORK | SIGCHLD}), allowed);
  EXPECT_EQ(ask(SYS_close_range, {3, ~0U, 0}), allowed);
  EXPECT_EQ(ask(SYS_close_range, {3, ~0U, CLOSE_RANGE_CLOEXEC}), allowed);
  EXPECT_EQ(ask(SYS_close_range, {3, ~0U, CLOSE_RANGE_UNSHARE}), fails_with(EINVAL));
  EXPECT_EQ(ask(SYS_close_range, {3, ~0U, CLOSE_RANGE_UNSHARE | CLOSE_RANGE_CLOEXEC}),
            fails_with(EINVAL));
}

TEST_F(ArgumentRules, AnIdIsSetToWhatItIsAlone) {
  constexpr std::uint64_t none = 0xffffffff;
  for (const long number : {SYS_setresuid, SYS_setresgid}) {
    // posix_spawn(3) makes these calls in its child, for make among others.
    EXPECT_EQ(ask(number, {none, guest_uid, none}), allowed);
    EXPECT_EQ(ask(number, {guest_uid, guest_uid, guest_uid}), allowed);
    for (const std::uint64_t other : {0UL, 1UL, 1001UL, 65534UL}) {
      EXPECT_EQ(ask(number, {other, guest_uid, guest_uid}), fails_with(EPERM)) << other;
      EXPECT_EQ(ask(number, {none, other, none}), fails_with(EPERM)) << other;
      EXPECT_EQ(ask(number, {none, guest_uid, other}), fails_with(EPERM)) << other;
    }
  }
}

// CLONE_NEWTIME lies among the bits of clone's exit signal and means nothing there, so it needs no
// bit in the mask; the two calls where it counts are shut.
TEST_F(ArgumentRules, TimeNamespacesAreOutOfReach) {
  EXPECT_EQ(ask(SYS_clone3, {0, 88}), fails_with(ENOSYS));
  EXPECT_EQ(ask(SYS_unshare, {0x80}), fails_with(EPERM));
}

TEST_F(ArgumentRules, SocketDomains) {
  for (std::uint64_t domain = 0; domain <= 45; ++domain) {
    const bool local = domain == AF_UNIX;
    const bool internet = domain == AF_INET || domain == AF_INET6;
    for (std::uint64_t type = 0; type <= 15; ++type) {
      const bool stream_or_datagram = type == SOCK_STREAM || type == SOCK_DGRAM;
      const bool local_pair = local && (stream_or_datagram || type == SOCK_SEQPACKET);
      const bool opens = local_pair || (internet && stream_or_datagram);
      for (const int flags : {0, 0 | SOCK_NONBLOCK, SOCK_CLOEXEC | SOCK_NONBLOCK}) {
        EXPECT_EQ(ask(SYS_socket, {domain, type | static_cast<std::uint64_t>(flags), 0}),
                  opens ? allowed : fails_with(EAFNOSUPPORT))
            << domain << " " << type;
        EXPECT_EQ(ask(SYS_socketpair, {domain, type | static_cast<std::uint64_t>(flags), 0}),
                  local_pair ? allowed : fails_with(EAFNOSUPPORT))
            << domain << " " << type;
      }
    }
  }
}

TEST_F(ArgumentRules, SocketProtocols) {
  for (const std::uint64_t domain : {AF_INET, AF_INET6}) {
    for (std::uint64_t protocol = 0; protocol <= 300; ++protocol) {
      EXPECT_EQ(ask(SYS_socket, {domain, SOCK_STREAM, protocol}),
                protocol == 0 || protocol == IPPROTO_TCP ? allowed : fails_with(EAFNOSUPPORT))
          << protocol;
      EXPECT_EQ(ask(SYS_socket, {domain, SOCK_DGRAM, protocol}),
                protocol == 0 || protocol == IPPROTO_UDP ? allowed : fails_with(EAFNOSUPPORT))
          << protocol;
      EXPECT_EQ(ask(SYS_socket, {domain, SOCK_RAW, protocol}), fails_with(EAFNOSUPPORT));
    }
  }
  EXPECT_EQ(ask(SYS_socket, {AF_UNIX, SOCK_STREAM, 1}), fails_with(EAFNOSUPPORT));
  // NETLINK_ROUTE shows counters of a network namespace that others have used.
  EXPECT_EQ(ask(SYS_socket, {AF_NETLINK, SOCK_RAW, 0}), fails_with(EAFNOSUPPORT));
}

TEST_F(ArgumentRules, TerminalsCannotBeTypedInto) {
  for (const std::uint64_t command : {TIOCSTI, TIOCLINUX, TIOCSETD, TIOCCONS, TIOCSCTTY}) {
    EXPECT_EQ(ask(SYS_ioctl, {0, command}), fails_with(ENOTTY)) << std::hex << command;
  }
}

TEST_F(ArgumentRules, IoctlCommands) {
  const std::set<std::uint64_t> permitted = {TCGETS,    TCSETS,   TCSETSW, TCSETSF, TIOCGWINSZ,
                                             TIOCGPGRP, FIONREAD, FIONBIO, FIOCLEX, FIONCLEX};
  for (std::uint64_t command = 0; command <= 0xffff; ++command) {
    ASSERT_EQ(ask(SYS_ioctl, {0, command}),
              permitted.count(command) != 0 ? allowed : fails_with(ENOTTY))
        << std::hex << command;
  }
  constexpr std::uint64_t ficlone = 0x40049409;
  constexpr std::uint64_t get_net_namespace_of_pidfd = 0xff04;
  EXPECT_EQ(ask(SYS_ioctl, {0, ficlone}), fails_with(ENOTTY));
  EXPECT_EQ(ask(SYS_ioctl, {0, get_net_namespace_of_pidfd}), fails_with(ENOTTY));
}

TEST_F(ArgumentRules, PrctlOptions) {
  const std::set<std::uint64_t> permitted = {
      PR_SET_NAME,         PR_GET_NAME,    PR_GET_DUMPABLE, PR_SET_DUMPABLE,   PR_SET_PDEATHSIG,
      PR_GET_NO_NEW_PRIVS, PR_GET_SECCOMP, PR_CAPBSET_READ, PR_GET_TIMERSLACK, PR_SET_VMA};
  for (std::uint64_t option = 0; option <= 1024; ++option) {
    EXPECT_EQ(ask(SYS_prctl, {option}), permitted.count(option) != 0 ? allowed : fails_with(EINVAL))
        << option;
  }
  EXPECT_EQ(ask(SYS_prctl, {PR_SET_VMA}), allowed);
  EXPECT_EQ(ask(SYS_prctl, {PR_SET_PTRACER}), fails_with(EINVAL));
  for (const std::uint64_t option :
       {PR_SET_MM, PR_SET_SECUREBITS, PR_CAP_AMBIENT, PR_SET_SECCOMP, PR_SET_CHILD_SUBREAPER}) {
    EXPECT_EQ(ask(SYS_prctl, {option, 2}), fails_with(EINVAL)) << option;
  }
}

TEST_F(ArgumentRules, LimitsAndPriorityOfTheCallerOnly) {
  for (const long number : {SYS_prlimit64, SYS_sched_setaffinity, SYS_sched_setattr,
                            SYS_sched_setparam, SYS_sched_setscheduler}) {
    EXPECT_EQ(ask(number, {0}), allowed) << number;
    for (const std::uint64_t pid : {1u, 2u, 4194304u, 0xffffffffu}) {
      EXPECT_EQ(ask(number, {pid}), fails_with(EPERM)) << number << " " << pid;
    }
  }
  EXPECT_EQ(ask(SYS_setpriority, {PRIO_PROCESS, 0, 5}), allowed);
  EXPECT_EQ(ask(SYS_setpriority, {PRIO_PROCESS, 1, 5}), fails_with(EPERM));
  EXPECT_EQ(ask(SYS_setpriority, {PRIO_PGRP, 0, 5}), fails_with(EPERM));
  EXPECT_EQ(ask(SYS_setpriority, {PRIO_USER, 0, 5}), fails_with(EPERM));
}

TEST_F(ArgumentRules, PersonalityStaysPlain) {
  EXPECT_EQ(ask(SYS_personality, {0}), allowed);
  EXPECT_EQ(ask(SYS_personality, {0xffffffff}), allowed);
  for (int bit = 0; bit < 32; ++bit) {
    EXPECT_EQ(ask(SYS_personality, {1ull << bit}), fails_with(EPERM)) << bit;
    EXPECT_EQ(ask(SYS_personality, {0xffffffff ^ 1ull << bit}), fails_with(EPERM)) << bit;
  }
}

TEST_F(ArgumentRules, FcntlCommands) {
  const std::set<std::uint64_t> permitted = {
      F_DUPFD,         F_GETFD,      F_SETFD,     F_GETFL,      F_SETFL,
      F_GETLK,         F_SETLK,      F_SETLKW,    F_GETOWN,     F_GETSIG,
      F_GETOWN_EX,     F_OFD_GETLK,  F_OFD_SETLK, F_OFD_SETLKW, F_GETLEASE,
      F_DUPFD_CLOEXEC, F_GETPIPE_SZ, F_ADD_SEALS, F_GET_SEALS};
  EXPECT_EQ(ask(SYS_fcntl, {0, F_SETPIPE_SZ}), fails_with(EPERM));
  for (std::uint64_t command = 0; command <= 2048; ++command) {
    if (command == F_SETPIPE_SZ) continue;
    EXPECT_EQ(ask(SYS_fcntl, {0, command}),
              permitted.count(command) != 0 ? allowed : fails_with(EINVAL))
        << command;
  }
  for (const std::uint64_t command : {F_NOTIFY, F_SETLEASE, F_SETOWN, F_SETSIG, F_SETOWN_EX}) {
    EXPECT_EQ(ask(SYS_fcntl, {0, command}), fails_with(EINVAL)) << command;
  }
}

TEST_F(ArgumentRules, SocketOptionsLoadNoCode) {
  constexpr std::uint64_t upper_layer_protocol = 31;  // TCP_ULP
  EXPECT_EQ(ask(SYS_setsockopt, {3, SOL_SOCKET, SO_REUSEADDR}), allowed);
  EXPECT_EQ(ask(SYS_setsockopt, {3, IPPROTO_TCP, TCP_NODELAY}), allowed);
  EXPECT_EQ(ask(SYS_setsockopt, {3, IPPROTO_TCP, upper_layer_protocol}), fails_with(ENOPROTOOPT));
  for (const std::uint64_t option :
       {SO_ATTACH_FILTER, SO_ATTACH_BPF, SO_ATTACH_REUSEPORT_CBPF, SO_ATTACH_REUSEPORT_EBPF}) {
    EXPECT_EQ(ask(SYS_setsockopt, {3, SOL_SOCKET, option}), fails_with(ENOPROTOOPT)) << option;
  }
}

// The list is written by hand: what the programs of these tests, libuv, asyncio and glibc ask for,
// and nothing else.
TEST_F(ArgumentRules, SocketOptionsAreListed) {
  using Option = std::pair<std::uint64_t, std::uint64_t>;  // level and name
  const std::set<Option> both = {
      {1, 2},   {1, 5},   {1, 6},   {1, 9},   {1, 10},  {1, 13}, {1, 15}, {1, 16},  {1, 18},
      {1, 20},  {1, 21},  {1, 66},  {1, 67},  {6, 1},   {6, 2},  {6, 3},  {6, 4},   {6, 5},
      {6, 6},   {6, 7},   {6, 8},   {6, 9},   {6, 10},  {6, 12}, {6, 18}, {0, 1},   {0, 2},
      {0, 8},   {0, 10},  {0, 11},  {0, 12},  {0, 13},  {0, 14}, {0, 24}, {41, 16}, {41, 23},
      {41, 25}, {41, 26}, {41, 49}, {41, 51}, {41, 66}, {41, 67}};
  const std::set<Option> to_read = {{1, 3},  {1, 4},  {1, 7},  {1, 8},  {1, 17},
                                    {1, 30}, {1, 38}, {1, 39}, {6, 11}, {6, 13}};
  for (std::uint64_t level = 0; level < 300; ++level) {
    for (std::uint64_t name = 0; name < 300; ++name) {
      const bool set = both.count({level, name}) != 0;
      const bool got = set || to_read.count({level, name}) != 0;
      ASSERT_EQ(ask(SYS_setsockopt, {3, level, name}), set ? allowed : fails_with(ENOPROTOOPT))
          << level << ' ' << name;
      ASSERT_EQ(ask(SYS_getsockopt, {3, level, name}), got ? allowed : fails_with(ENOPROTOOPT))
          << level << ' ' << name;
    }
  }
}

TEST_F(ArgumentRules, PagesOfSharedFilesAreNotProbedOrDropped) {
  for (std::uint64_t bit = 0; bit < 32; ++bit) {
    EXPECT_EQ(ask(SYS_preadv2, {3, 0, 0, 0, 0, 1ull << bit}),
              1ull << bit == RWF_NOWAIT ? fails_with(EOPNOTSUPP) : allowed)
        << bit;
  }
  for (std::uint64_t advice = 0; advice < 16; ++advice) {
    EXPECT_EQ(ask(SYS_fadvise64, {3, 0, 0, advice}),
              advice == POSIX_FADV_DONTNEED ? fails_with(EINVAL) : allowed)
        << advice;
  }
  EXPECT_EQ(ask(SYS_madvise, {0, 4096, MADV_PAGEOUT}), fails_with(EINVAL));
  EXPECT_EQ(ask(SYS_mincore, {0, 4096, 0}), fails_with(ENOSYS));
}

TEST_F(ArgumentRules, BarriersAreOfTheCallersOwnProcess) {
  constexpr std::uint64_t global = 1, global_expedited = 2, register_global_expedited = 4;
  for (std::uint64_t command = 1; command <= 512; command <<= 1) {
    const bool of_all =
        command == global || command == global_expedited || command == register_global_expedited;
    EXPECT_EQ(ask(SYS_membarrier, {command}), of_all ? fails_with(EINVAL) : allowed) << command;
  }
  EXPECT_EQ(ask(SYS_membarrier, {0}), allowed);
}

TEST_F(ArgumentRules, PagesAreNotMerged) {
  EXPECT_EQ(ask(SYS_madvise, {0, 4096, MADV_MERGEABLE}), fails_with(EINVAL));
  constexpr int collapse = 25;  // MADV_COLLAPSE
  for (const std::uint64_t advice : {MADV_HUGEPAGE, collapse}) {
    EXPECT_EQ(ask(SYS_madvise, {0, 4096, advice}), fails_with(EINVAL)) << advice;
  }
  for (const std::uint64_t advice : {MADV_NORMAL, MADV_DONTNEED, MADV_FREE, MADV_NOHUGEPAGE}) {
    EXPECT_EQ(ask(SYS_madvise, {0, 4096, advice}), allowed) << advice;
  }
}

TEST_F(ArgumentRules, NoPagesOfTheHostsReserve) {
  for (const std::uint64_t flags : {MAP_PRIVATE, MAP_SHARED, MAP_PRIVATE | MAP_NORESERVE}) {
    EXPECT_EQ(ask(SYS_mmap, {0, 4096, PROT_READ, flags | MAP_ANONYMOUS}), allowed) << flags;
    EXPECT_EQ(ask(SYS_mmap, {0, 4096, PROT_READ, flags | MAP_ANONYMOUS | MAP_HUGETLB}),
              fails_with(ENOMEM))
        << flags;
  }
}

// The pid namespace bounds all other signals.
TEST_F(ArgumentRules, SignalsPassExceptToInit) {
  for (std::uint64_t signal = 0; signal <= 64; ++signal) {
    for (const std::uint64_t pid : {0ull, 1ull, 2ull, ~0ull}) {
      const auto answer = pid == 1 ? fails_with(EPERM) : allowed;
      EXPECT_EQ(probe_.ask(SYS_kill, {pid, signal}), answer);
      EXPECT_EQ(probe_.ask(SYS_tkill, {pid, signal}), answer);
      EXPECT_EQ(probe_.ask(SYS_tgkill, {pid, pid, signal}), answer);
      EXPECT_EQ(probe_.ask(SYS_rt_sigqueueinfo, {pid, signal}), answer);
      EXPECT_EQ(probe_.ask(SYS_rt_tgsigqueueinfo, {pid, pid, signal}), answer);
    }
  }
}

TEST_F(ArgumentRules, MappingsMayBeExecutable) {
  EXPECT_EQ(ask(SYS_mmap, {0, 4096, PROT_READ | PROT_WRITE | PROT_EXEC}), allowed);
  EXPECT_EQ(ask(SYS_mprotect, {0, 4096, PROT_READ | PROT_EXEC}), allowed);
}

TEST_F(ArgumentRules, CallsOfOtherArchitecturesKill) {
  for (const std::uint32_t arch :
       {0u + AUDIT_ARCH_I386, 0u + AUDIT_ARCH_ARM, 0u + AUDIT_ARCH_PPC64LE, 0u, 0xffffffffu}) {
    for (std::uint32_t number = 0; number < 512; ++number) {
      ASSERT_EQ(probe_.evaluate(arch, number, {}).action, killed) << std::hex << arch;
    }
  }
}

#if defined(__x86_64__)
TEST_F(ArgumentRules, X32NumbersKill) {
  for (std::uint32_t number = 0; number < 1024; ++number) {
    ASSERT_EQ(probe_.ask(0x40000000 + number), killed) << number;
  }
  for (const std::uint32_t number :
       {0x7fffffffu, 0x80000000u, 0x80000027u, 0xc0000027u, 0xfffffffeu}) {
    EXPECT_EQ(probe_.ask(number), killed) << std::hex << number;
  }
}
#endif

// A tracer writes this number to skip a call. It is no call of any architecture: it fails like any
// number that does not exist.
TEST_F(ArgumentRules, MinusOneIsNoCall) { EXPECT_EQ(probe_.ask(0xffffffff), fails_with(ENOSYS)); }

}  // namespace
}  // namespace jail::test
