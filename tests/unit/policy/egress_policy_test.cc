// The system calls that the proxy of named egress may make, and those that an attacker who takes it
// over would need.
#include <fcntl.h>
#include <linux/sched.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include <csignal>

#include "egress/policy.h"
#include "policy_test.h"

namespace jail::test {
namespace {

class EgressPolicy : public PolicyTest {
 protected:
  EgressPolicy() : PolicyTest(egress_policy()) {}
};

// The whole list is repeated here, so that a call that is added to the file must be added here.
TEST_F(EgressPolicy, NothingElsePassesAtAll) {
  nothing_else_passes({
    SYS_recvfrom, SYS_recvmsg, SYS_sendto, SYS_sendmsg, SYS_close, SYS_shutdown, SYS_read,
        SYS_readv, SYS_write, SYS_writev, SYS_mmap, SYS_mprotect, SYS_munmap, SYS_mremap, SYS_brk,
        SYS_madvise, SYS_epoll_create1, SYS_epoll_ctl, SYS_epoll_pwait, SYS_socket, SYS_connect,
        SYS_accept4, SYS_getsockopt, SYS_setsockopt, SYS_fcntl, SYS_futex, SYS_gettid,
        SYS_sched_yield, SYS_rt_sigaction, SYS_rt_sigprocmask, SYS_rt_sigreturn, SYS_sigaltstack,
        SYS_clock_gettime, SYS_gettimeofday, SYS_getpid, SYS_getrandom, SYS_prlimit64, SYS_exit,
        SYS_exit_group,
#if defined(__x86_64__)
        SYS_epoll_wait,
#endif
        SYS_restart_syscall
  });
}

TEST_F(EgressPolicy, NoFileIsReachedByAnyCall) {
  for (const int flags : {O_RDONLY, O_RDONLY | O_CLOEXEC, O_RDONLY | O_DIRECTORY, O_PATH, O_WRONLY,
                          O_RDWR, O_CREAT | O_WRONLY, O_TMPFILE | O_RDWR}) {
    EXPECT_EQ(ask(SYS_openat, arguments(AT_FDCWD, 0, flags)), fails_with(EACCES))
        << std::oct << flags;
#if defined(__x86_64__)
    EXPECT_EQ(ask(SYS_open, arguments(0, flags)), fails_with(EACCES)) << std::oct << flags;
#endif
  }
  for (const long number :
       {SYS_openat2, SYS_open_by_handle_at, SYS_newfstatat, SYS_statx, SYS_readlinkat,
        SYS_faccessat, SYS_getdents64, SYS_chdir, SYS_pread64, SYS_sendfile, SYS_splice,
        SYS_io_uring_setup, SYS_memfd_create, SYS_unlinkat, SYS_mkdirat, SYS_linkat}) {
    EXPECT_EQ(ask(number), fails_with(ENOSYS)) << number;
  }
}

TEST_F(EgressPolicy, NoProcessNoThreadNoSignal) {
  for (const std::uint64_t flags :
       {std::uint64_t{SIGCHLD}, std::uint64_t{CLONE_VM | CLONE_VFORK | SIGCHLD},
        std::uint64_t{CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD},
        std::uint64_t{CLONE_NEWUSER}}) {
    EXPECT_EQ(ask(SYS_clone, arguments(flags)), fails_with(EPERM)) << std::hex << flags;
  }
  EXPECT_EQ(ask(SYS_clone3), fails_with(ENOSYS));
  for (const long number : {SYS_execve, SYS_execveat, SYS_ptrace, SYS_process_vm_readv,
                            SYS_process_vm_writev, SYS_seccomp, SYS_mount, SYS_unshare, SYS_setns,
                            SYS_kill, SYS_tkill, SYS_tgkill, SYS_pidfd_send_signal}) {
    EXPECT_EQ(ask(number), fails_with(EPERM)) << number;
  }
  EXPECT_TRUE(passes(SYS_prlimit64, arguments(0, 6)));
  EXPECT_EQ(ask(SYS_prlimit64, arguments(1, 6)), fails_with(EPERM));
  EXPECT_EQ(ask(SYS_prctl, arguments(PR_SET_DUMPABLE)), fails_with(ENOSYS));
}

TEST_F(EgressPolicy, NothingIsExecutedThatWasNotLoaded) {
  for (const long number : {SYS_mmap, SYS_mprotect}) {
    for (const int protection : {PROT_NONE, PROT_READ, PROT_READ | PROT_WRITE}) {
      EXPECT_TRUE(passes(number, arguments(0, 4096, protection))) << protection;
    }
    for (const int protection : {PROT_EXEC, PROT_READ | PROT_EXEC, PROT_WRITE | PROT_EXEC,
                                 PROT_READ | PROT_WRITE | PROT_EXEC}) {
      EXPECT_EQ(ask(number, arguments(0, 4096, protection)), fails_with(EACCES)) << protection;
    }
  }
  EXPECT_EQ(ask(SYS_pkey_mprotect), fails_with(ENOSYS));
}

TEST_F(EgressPolicy, SocketsOfTcpAlone) {
  only_these_sockets([](auto domain, auto type, auto protocol) {
    return (domain == AF_INET || domain == AF_INET6) && type == SOCK_STREAM &&
           protocol == IPPROTO_TCP;
  });
}

TEST_F(EgressPolicy, NobodyIsServedOnAPort) {
  EXPECT_EQ(ask(SYS_listen, arguments(3, 128)), fails_with(EPERM));
  EXPECT_EQ(ask(SYS_accept), fails_with(ENOSYS));
  for (const std::size_t size : {sizeof(sockaddr_in), sizeof(sockaddr_in6), std::size_t{12}}) {
    EXPECT_EQ(ask(SYS_bind, arguments(3, 0, size)), fails_with(EPERM)) << size;
  }
}

TEST_F(EgressPolicy, OptionsAndCommands) {
  const auto option = [&](int level, int name) {
    return ask(SYS_setsockopt, arguments(3, level, name));
  };
  EXPECT_EQ(option(SOL_SOCKET, SO_LINGER), allowed);
  EXPECT_EQ(option(IPPROTO_TCP, TCP_NODELAY), allowed);
  EXPECT_EQ(option(IPPROTO_IP, IP_RECVERR), fails_with(ENOPROTOOPT));
  EXPECT_EQ(option(SOL_SOCKET, SO_ATTACH_FILTER), fails_with(ENOPROTOOPT));
  EXPECT_EQ(option(SOL_SOCKET, SO_BINDTODEVICE), fails_with(ENOPROTOOPT));
  EXPECT_EQ(option(IPPROTO_TCP, TCP_ULP), fails_with(ENOPROTOOPT));
  EXPECT_EQ(option(IPPROTO_TCP, TCP_REPAIR), fails_with(ENOPROTOOPT));
  EXPECT_TRUE(passes(SYS_fcntl, arguments(3, F_SETFL, O_NONBLOCK)));
  for (const int command : {F_DUPFD, F_SETOWN, F_SETLEASE, F_SETLK, F_ADD_SEALS}) {
    EXPECT_EQ(ask(SYS_fcntl, arguments(3, command)), fails_with(EINVAL)) << command;
  }
  EXPECT_EQ(ask(SYS_ioctl, arguments(3, FIONREAD)), fails_with(ENOSYS));
  EXPECT_EQ(ask(SYS_madvise, arguments(0, 0, MADV_MERGEABLE)), fails_with(EINVAL));
}

TEST_F(EgressPolicy, OtherArchitecturesKill) { other_architectures_kill(); }

}  // namespace
}  // namespace jail::test
