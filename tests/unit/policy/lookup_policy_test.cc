// The system calls that the process that looks up names for the proxy of egress may make, and those
// that an attacker who takes it over would need.
#include <fcntl.h>
#include <linux/netlink.h>
#include <linux/sched.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>

#include <csignal>
#include <set>

#include "egress/policy.h"
#include "policy_test.h"

namespace jail::test {
namespace {

class LookupPolicy : public PolicyTest {
 protected:
  LookupPolicy() : PolicyTest(lookup_policy()) {}
};

// The whole list is repeated here, so that a call that is added to the file must be added here.
TEST_F(LookupPolicy, NothingElsePassesAtAll) {
  const std::set<long> may_pass = {
    SYS_read,
    SYS_write,
    SYS_readv,
    SYS_writev,
    SYS_pread64,
    SYS_lseek,
    SYS_close,
    SYS_openat,
    SYS_fstat,
    SYS_newfstatat,
    SYS_statx,
    SYS_faccessat,
    SYS_faccessat2,
    SYS_readlinkat,
    SYS_getdents64,
    SYS_mmap,
    SYS_mprotect,
    SYS_munmap,
    SYS_mremap,
    SYS_brk,
    SYS_madvise,
    SYS_ppoll,
    SYS_pselect6,
    SYS_socket,
    SYS_connect,
    SYS_sendto,
    SYS_sendmsg,
    SYS_sendmmsg,
    SYS_recvfrom,
    SYS_recvmsg,
    SYS_shutdown,
    SYS_getsockname,
    SYS_getpeername,
    SYS_getsockopt,
    SYS_setsockopt,
    SYS_bind,
    SYS_ioctl,
    SYS_fcntl,
    SYS_clone,
    SYS_futex,
    SYS_rseq,
    SYS_gettid,
    SYS_set_robust_list,
    SYS_getcpu,
    SYS_sched_yield,
    SYS_rt_sigaction,
    SYS_sched_getaffinity,
    SYS_rt_sigreturn,
    SYS_sigaltstack,
    SYS_nanosleep,
    SYS_rt_sigprocmask,
    SYS_clock_gettime,
    SYS_clock_getres,
    SYS_getrandom,
    SYS_clock_nanosleep,
    SYS_getpid,
    SYS_getppid,
    SYS_getuid,
    SYS_gettimeofday,
    SYS_geteuid,
    SYS_getgid,
    SYS_getegid,
    SYS_uname,
    SYS_sysinfo,
    SYS_prlimit64,
    SYS_prctl,
    SYS_exit,
    SYS_exit_group,
    SYS_restart_syscall,
#if defined(__x86_64__)
    SYS_open,
    SYS_stat,
    SYS_lstat,
    SYS_access,
    SYS_readlink,
    SYS_poll,
    SYS_select,
    SYS_time,
#endif
    SYS_getrlimit,
    SYS_setrlimit
  };
  nothing_else_passes(may_pass);
}

TEST_F(LookupPolicy, WhatNoRuleNamesIsNotThere) {
  for (const long number : {SYS_io_uring_setup,
                            SYS_bpf,
                            SYS_perf_event_open,
                            SYS_userfaultfd,
                            SYS_memfd_create,
                            SYS_add_key,
                            SYS_keyctl,
                            SYS_open_by_handle_at,
                            SYS_pidfd_getfd,
                            SYS_pidfd_open,
                            SYS_openat2,
                            SYS_unlinkat,
                            SYS_renameat2,
                            SYS_mkdirat,
                            SYS_linkat,
                            SYS_symlinkat,
                            SYS_mknodat,
                            SYS_fchmodat,
                            SYS_truncate,
                            SYS_ftruncate,
                            SYS_pwrite64,
                            SYS_splice,
                            SYS_personality,
                            SYS_setuid,
                            SYS_capset,
                            SYS_init_module,
                            SYS_kexec_load,
                            SYS_shmat,
                            SYS_pkey_mprotect,
                            SYS_process_madvise,
                            SYS_sched_setaffinity,
                            SYS_setpriority,
                            SYS_clone3,
                            SYS_umount2,
                            SYS_chroot,
                            SYS_inotify_init1,
                            SYS_fanotify_init,
                            SYS_timer_create}) {
    EXPECT_EQ(ask(number), fails_with(ENOSYS)) << number;
  }
}

TEST_F(LookupPolicy, NoProgramIsStartedAndNoOtherProcessTouched) {
  for (const long number :
       {SYS_execve, SYS_execveat, SYS_ptrace, SYS_process_vm_readv, SYS_process_vm_writev,
        SYS_seccomp, SYS_mount, SYS_unshare, SYS_setns}) {
    EXPECT_EQ(ask(number), fails_with(EPERM)) << number;
  }
  for (const int signal : {0, SIGABRT, SIGKILL}) {
    EXPECT_EQ(ask(SYS_kill, arguments(1, signal)), fails_with(EPERM));
    EXPECT_EQ(ask(SYS_tkill, arguments(1, signal)), fails_with(EPERM));
    EXPECT_EQ(ask(SYS_tgkill, arguments(1, 1, signal)), fails_with(EPERM));
  }
  EXPECT_EQ(ask(SYS_pidfd_send_signal), fails_with(EPERM));
  EXPECT_TRUE(passes(SYS_prlimit64, arguments(0, 6)));
  EXPECT_EQ(ask(SYS_prlimit64, arguments(1, 6)), fails_with(EPERM));
}

TEST_F(LookupPolicy, ThreadsAndNoProcesses) {
  const std::uint64_t thread = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD |
                               CLONE_SYSVSEM | CLONE_SETTLS | CLONE_PARENT_SETTID |
                               CLONE_CHILD_CLEARTID;
  EXPECT_TRUE(passes(SYS_clone, arguments(thread)));
  for (const std::uint64_t flags :
       {std::uint64_t{SIGCHLD}, std::uint64_t{CLONE_VM | CLONE_VFORK | SIGCHLD},
        thread & ~std::uint64_t{CLONE_THREAD}, thread | CLONE_NEWUSER, thread | CLONE_NEWNS,
        thread | CLONE_NEWNET, thread | CLONE_NEWPID}) {
    EXPECT_EQ(ask(SYS_clone, arguments(flags)), fails_with(EPERM)) << std::hex << flags;
  }
#if defined(__x86_64__)
  EXPECT_EQ(ask(SYS_fork), fails_with(ENOSYS));
  EXPECT_EQ(ask(SYS_vfork), fails_with(ENOSYS));
#endif
}

TEST_F(LookupPolicy, FilesAreOpenedForReadingAlone) {
  for (const int flags : {O_RDONLY, O_RDONLY | O_CLOEXEC, O_RDONLY | O_DIRECTORY | O_NONBLOCK,
                          O_RDONLY | O_NOFOLLOW, O_PATH}) {
    EXPECT_TRUE(passes(SYS_openat, arguments(AT_FDCWD, 0, flags))) << std::oct << flags;
  }
  for (const int flags : {O_WRONLY, O_RDWR, O_ACCMODE, O_RDONLY | O_CREAT, O_RDONLY | O_TRUNC,
                          O_WRONLY | O_CREAT | O_TRUNC, O_RDONLY | O_APPEND, O_RDWR | O_TMPFILE,
                          O_WRONLY | O_TMPFILE}) {
    EXPECT_EQ(ask(SYS_openat, arguments(AT_FDCWD, 0, flags)), fails_with(EACCES))
        << std::oct << flags;
#if defined(__x86_64__)
    EXPECT_EQ(ask(SYS_open, arguments(0, flags)), fails_with(EACCES)) << std::oct << flags;
#endif
  }
}

TEST_F(LookupPolicy, WhatIsWrittenIsNotExecuted) {
  for (const int protection :
       {PROT_NONE, PROT_READ, PROT_READ | PROT_WRITE, PROT_READ | PROT_EXEC}) {
    EXPECT_TRUE(passes(SYS_mmap, arguments(0, 4096, protection))) << protection;
  }
  for (const int protection : {PROT_WRITE | PROT_EXEC, PROT_READ | PROT_WRITE | PROT_EXEC}) {
    EXPECT_EQ(ask(SYS_mmap, arguments(0, 4096, protection)), fails_with(EACCES)) << protection;
  }
  EXPECT_TRUE(passes(SYS_mprotect, arguments(0, 4096, PROT_READ | PROT_WRITE)));
  for (const int protection :
       {PROT_EXEC, PROT_READ | PROT_EXEC, PROT_READ | PROT_WRITE | PROT_EXEC}) {
    EXPECT_EQ(ask(SYS_mprotect, arguments(0, 4096, protection)), fails_with(EACCES)) << protection;
  }
}

bool may_be_made(std::uint64_t domain, std::uint64_t type, std::uint64_t protocol) {
  if (domain == AF_UNIX) return type == SOCK_STREAM && protocol == 0;
  if (domain == AF_NETLINK) return type == SOCK_RAW && protocol == NETLINK_ROUTE;
  if (domain != AF_INET && domain != AF_INET6) return false;
  return (type == SOCK_STREAM && (protocol == 0 || protocol == IPPROTO_TCP)) ||
         (type == SOCK_DGRAM && (protocol == 0 || protocol == IPPROTO_UDP));
}

TEST_F(LookupPolicy, Sockets) { only_these_sockets(may_be_made); }

TEST_F(LookupPolicy, NobodyIsServedOnAPort) {
  EXPECT_EQ(ask(SYS_listen, arguments(3, 128)), fails_with(EPERM));
  EXPECT_EQ(ask(SYS_accept), fails_with(ENOSYS));
  EXPECT_EQ(ask(SYS_accept4), fails_with(ENOSYS));
  EXPECT_TRUE(passes(SYS_bind, arguments(3, 0, sizeof(sockaddr_nl))));
  for (const std::size_t size : {sizeof(sockaddr_in), sizeof(sockaddr_in6), sizeof(sockaddr_un),
                                 sizeof(sockaddr_storage), std::size_t{24}, std::size_t{2}}) {
    EXPECT_EQ(ask(SYS_bind, arguments(3, 0, size)), fails_with(EPERM)) << size;
  }
}

TEST_F(LookupPolicy, OptionsAndCommands) {
  const auto option = [&](int level, int name) {
    return ask(SYS_setsockopt, arguments(3, level, name));
  };
  EXPECT_EQ(option(SOL_SOCKET, SO_LINGER), fails_with(ENOPROTOOPT));
  EXPECT_EQ(option(IPPROTO_TCP, TCP_NODELAY), fails_with(ENOPROTOOPT));
  EXPECT_EQ(option(IPPROTO_IP, IP_RECVERR), allowed);
  EXPECT_EQ(option(IPPROTO_IPV6, IPV6_RECVERR), allowed);
  EXPECT_EQ(option(SOL_SOCKET, SO_ATTACH_FILTER), fails_with(ENOPROTOOPT));
  EXPECT_EQ(option(SOL_SOCKET, SO_BINDTODEVICE), fails_with(ENOPROTOOPT));
  EXPECT_EQ(option(IPPROTO_TCP, TCP_ULP), fails_with(ENOPROTOOPT));
  EXPECT_EQ(option(IPPROTO_IP, 64), fails_with(ENOPROTOOPT));  // IPT_SO_SET_REPLACE
  EXPECT_TRUE(passes(SYS_ioctl, arguments(3, FIONREAD)));
  EXPECT_EQ(ask(SYS_ioctl, arguments(3, TIOCSTI)), fails_with(ENOTTY));
  EXPECT_TRUE(passes(SYS_fcntl, arguments(3, F_SETFL, O_NONBLOCK)));
  EXPECT_EQ(ask(SYS_fcntl, arguments(3, F_SETLEASE)), fails_with(EINVAL));
  EXPECT_TRUE(passes(SYS_prctl, arguments(PR_SET_NAME)));
  for (const int command : {PR_SET_DUMPABLE, PR_SET_PTRACER, PR_SET_MM, PR_SET_SECCOMP}) {
    EXPECT_EQ(ask(SYS_prctl, arguments(command)), fails_with(EINVAL)) << command;
  }
  EXPECT_EQ(ask(SYS_madvise, arguments(0, 0, MADV_MERGEABLE)), fails_with(EINVAL));
}

TEST_F(LookupPolicy, OtherArchitecturesKill) { other_architectures_kill(); }

}  // namespace
}  // namespace jail::test
