// The answer to every system call number of x86_64, written down a second time: not made from the
// policy file, so that a rule there which lets more through than meant fails here.
#if defined(__x86_64__)

#include <gtest/gtest.h>

#include <cerrno>
#include <map>
#include <string>

#include "filter_probe.h"
#include "policy/syscall_numbers.h"

namespace jail::test {
namespace {

struct Call {
  std::uint32_t number;
  const char* name;
};

// Decided by arguments: the answers when all of them are 0, and when all their bits are set.
// argument_rules_test.cc looks at what lies between.
struct CallByArguments {
  Call call;
  std::uint32_t zeros;
  std::uint32_t ones;
};

// What Python, bash and node programs were seen to call, and what numpy, git, pip and their like
// need besides. Whatever the arguments.
constexpr Call allowed_calls[] = {
    {0, "read"},
    {1, "write"},
    {2, "open"},
    {3, "close"},
    {4, "stat"},
    {5, "fstat"},
    {6, "lstat"},
    {7, "poll"},
    {8, "lseek"},
    {9, "mmap"},
    {10, "mprotect"},
    {11, "munmap"},
    {12, "brk"},
    {13, "rt_sigaction"},
    {14, "rt_sigprocmask"},
    {15, "rt_sigreturn"},
    {17, "pread64"},
    {18, "pwrite64"},
    {19, "readv"},
    {20, "writev"},
    {21, "access"},
    {22, "pipe"},
    {23, "select"},
    {24, "sched_yield"},
    {25, "mremap"},
    {26, "msync"},
    {27, "mincore"},
    {32, "dup"},
    {33, "dup2"},
    {34, "pause"},
    {35, "nanosleep"},
    {36, "getitimer"},
    {37, "alarm"},
    {38, "setitimer"},
    {39, "getpid"},
    {40, "sendfile"},
    {42, "connect"},
    {43, "accept"},
    {44, "sendto"},
    {45, "recvfrom"},
    {46, "sendmsg"},
    {47, "recvmsg"},
    {48, "shutdown"},
    {49, "bind"},
    {50, "listen"},
    {51, "getsockname"},
    {52, "getpeername"},
    {55, "getsockopt"},
    {57, "fork"},
    {58, "vfork"},
    {59, "execve"},
    {60, "exit"},
    {61, "wait4"},
    {62, "kill"},
    {63, "uname"},
    {73, "flock"},
    {74, "fsync"},
    {75, "fdatasync"},
    {76, "truncate"},
    {77, "ftruncate"},
    {79, "getcwd"},
    {80, "chdir"},
    {81, "fchdir"},
    {82, "rename"},
    {83, "mkdir"},
    {84, "rmdir"},
    {85, "creat"},
    {86, "link"},
    {87, "unlink"},
    {88, "symlink"},
    {89, "readlink"},
    {90, "chmod"},
    {91, "fchmod"},
    {92, "chown"},
    {93, "fchown"},
    {94, "lchown"},
    {95, "umask"},
    {96, "gettimeofday"},
    {97, "getrlimit"},
    {98, "getrusage"},
    {99, "sysinfo"},
    {100, "times"},
    {102, "getuid"},
    {104, "getgid"},
    {107, "geteuid"},
    {108, "getegid"},
    {109, "setpgid"},
    {110, "getppid"},
    {111, "getpgrp"},
    {112, "setsid"},
    {115, "getgroups"},
    {118, "getresuid"},
    {120, "getresgid"},
    {121, "getpgid"},
    {124, "getsid"},
    {125, "capget"},
    {127, "rt_sigpending"},
    {128, "rt_sigtimedwait"},
    {129, "rt_sigqueueinfo"},
    {130, "rt_sigsuspend"},
    {131, "sigaltstack"},
    {132, "utime"},
    {137, "statfs"},
    {138, "fstatfs"},
    {140, "getpriority"},
    {143, "sched_getparam"},
    {145, "sched_getscheduler"},
    {146, "sched_get_priority_max"},
    {147, "sched_get_priority_min"},
    {148, "sched_rr_get_interval"},
    {149, "mlock"},
    {150, "munlock"},
    {158, "arch_prctl"},
    {160, "setrlimit"},
    {186, "gettid"},
    {187, "readahead"},
    {191, "getxattr"},
    {192, "lgetxattr"},
    {193, "fgetxattr"},
    {194, "listxattr"},
    {195, "llistxattr"},
    {196, "flistxattr"},
    {200, "tkill"},
    {201, "time"},
    {202, "futex"},
    {204, "sched_getaffinity"},
    {213, "epoll_create"},
    {217, "getdents64"},
    {218, "set_tid_address"},
    {219, "restart_syscall"},
    {221, "fadvise64"},
    {222, "timer_create"},
    {223, "timer_settime"},
    {224, "timer_gettime"},
    {225, "timer_getoverrun"},
    {226, "timer_delete"},
    {228, "clock_gettime"},
    {229, "clock_getres"},
    {230, "clock_nanosleep"},
    {231, "exit_group"},
    {232, "epoll_wait"},
    {233, "epoll_ctl"},
    {234, "tgkill"},
    {235, "utimes"},
    {247, "waitid"},
    {257, "openat"},
    {258, "mkdirat"},
    {260, "fchownat"},
    {262, "newfstatat"},
    {263, "unlinkat"},
    {264, "renameat"},
    {265, "linkat"},
    {266, "symlinkat"},
    {267, "readlinkat"},
    {268, "fchmodat"},
    {269, "faccessat"},
    {270, "pselect6"},
    {271, "ppoll"},
    {273, "set_robust_list"},
    {277, "sync_file_range"},
    {280, "utimensat"},
    {281, "epoll_pwait"},
    {283, "timerfd_create"},
    {285, "fallocate"},
    {286, "timerfd_settime"},
    {287, "timerfd_gettime"},
    {288, "accept4"},
    {289, "signalfd4"},
    {290, "eventfd2"},
    {291, "epoll_create1"},
    {292, "dup3"},
    {293, "pipe2"},
    {295, "preadv"},
    {296, "pwritev"},
    {297, "rt_tgsigqueueinfo"},
    {299, "recvmmsg"},
    {307, "sendmmsg"},
    {309, "getcpu"},
    {315, "sched_getattr"},
    {316, "renameat2"},
    {318, "getrandom"},
    {324, "membarrier"},
    {326, "copy_file_range"},
    {327, "preadv2"},
    {328, "pwritev2"},
    {329, "pkey_mprotect"},
    {330, "pkey_alloc"},
    {331, "pkey_free"},
    {332, "statx"},
    {334, "rseq"},
    {424, "pidfd_send_signal"},
    {434, "pidfd_open"},
    {436, "close_range"},
    {437, "openat2"},
    {439, "faccessat2"},
    {449, "futex_waitv"},
    {452, "fchmodat2"},
    {454, "futex_wake"},
    {455, "futex_wait"},
    {456, "futex_requeue"},
    {462, "mseal"},
};

// Privileges that a guest does not have, where callers take ENOSYS for a broken system.
constexpr Call eperm_calls[] = {
    {105, "setuid"},        {106, "setgid"},
    {113, "setreuid"},      {114, "setregid"},
    {116, "setgroups"},     {117, "setresuid"},
    {119, "setresgid"},     {122, "setfsuid"},
    {123, "setfsgid"},      {126, "capset"},
    {133, "mknod"},         {155, "pivot_root"},
    {161, "chroot"},        {165, "mount"},
    {166, "umount2"},       {237, "mbind"},
    {238, "set_mempolicy"}, {259, "mknodat"},
    {272, "unshare"},       {308, "setns"},
    {317, "seccomp"},       {450, "set_mempolicy_home_node"},
};

// Extended attributes: the answer of a file system without them.
constexpr Call eopnotsupp_calls[] = {
    {188, "setxattr"},    {189, "lsetxattr"},    {190, "fsetxattr"},
    {197, "removexattr"}, {198, "lremovexattr"}, {199, "fremovexattr"},
};

// Refused as if the kernel had never had them: what escapes or spies (ptrace, handles, new mounts,
// keyrings, bpf, perf, io_uring, userfaultfd), what no namespace holds (keyrings, vsock's kin),
// what an inode shared between jails would carry (inotify, fanotify), what is not accounted (memfd,
// AIO, SysV IPC, message queues), and what no program of ours calls.
constexpr Call enosys_calls[] = {
    {29, "shmget"},
    {30, "shmat"},
    {31, "shmctl"},
    {64, "semget"},
    {65, "semop"},
    {66, "semctl"},
    {67, "shmdt"},
    {68, "msgget"},
    {69, "msgsnd"},
    {70, "msgrcv"},
    {71, "msgctl"},
    {78, "getdents"},
    {101, "ptrace"},
    {103, "syslog"},
    {134, "uselib"},
    {136, "ustat"},
    {139, "sysfs"},
    {151, "mlockall"},
    {152, "munlockall"},
    {153, "vhangup"},
    {154, "modify_ldt"},
    {156, "_sysctl"},
    {159, "adjtimex"},
    {162, "sync"},
    {163, "acct"},
    {164, "settimeofday"},
    {167, "swapon"},
    {168, "swapoff"},
    {169, "reboot"},
    {170, "sethostname"},
    {171, "setdomainname"},
    {172, "iopl"},
    {173, "ioperm"},
    {174, "create_module"},
    {175, "init_module"},
    {176, "delete_module"},
    {177, "get_kernel_syms"},
    {178, "query_module"},
    {179, "quotactl"},
    {180, "nfsservctl"},
    {181, "getpmsg"},
    {182, "putpmsg"},
    {183, "afs_syscall"},
    {184, "tuxcall"},
    {185, "security"},
    {205, "set_thread_area"},
    {206, "io_setup"},
    {207, "io_destroy"},
    {208, "io_getevents"},
    {209, "io_submit"},
    {210, "io_cancel"},
    {211, "get_thread_area"},
    {212, "lookup_dcookie"},
    {214, "epoll_ctl_old"},
    {215, "epoll_wait_old"},
    {216, "remap_file_pages"},
    {220, "semtimedop"},
    {227, "clock_settime"},
    {236, "vserver"},
    {239, "get_mempolicy"},
    {240, "mq_open"},
    {241, "mq_unlink"},
    {242, "mq_timedsend"},
    {243, "mq_timedreceive"},
    {244, "mq_notify"},
    {245, "mq_getsetattr"},
    {246, "kexec_load"},
    {248, "add_key"},
    {249, "request_key"},
    {250, "keyctl"},
    {251, "ioprio_set"},
    {252, "ioprio_get"},
    {253, "inotify_init"},
    {254, "inotify_add_watch"},
    {255, "inotify_rm_watch"},
    {256, "migrate_pages"},
    {261, "futimesat"},
    {274, "get_robust_list"},
    {275, "splice"},
    {276, "tee"},
    {278, "vmsplice"},
    {279, "move_pages"},
    {282, "signalfd"},
    {284, "eventfd"},
    {294, "inotify_init1"},
    {298, "perf_event_open"},
    {300, "fanotify_init"},
    {301, "fanotify_mark"},
    {303, "name_to_handle_at"},
    {304, "open_by_handle_at"},
    {305, "clock_adjtime"},
    {306, "syncfs"},
    {310, "process_vm_readv"},
    {311, "process_vm_writev"},
    {312, "kcmp"},
    {313, "finit_module"},
    {319, "memfd_create"},
    {320, "kexec_file_load"},
    {321, "bpf"},
    {322, "execveat"},
    {323, "userfaultfd"},
    {325, "mlock2"},
    {333, "io_pgetevents"},
    {335, "uretprobe"},
    {336, "uprobe"},
    {425, "io_uring_setup"},
    {426, "io_uring_enter"},
    {427, "io_uring_register"},
    {428, "open_tree"},
    {429, "move_mount"},
    {430, "fsopen"},
    {431, "fsconfig"},
    {432, "fsmount"},
    {433, "fspick"},
    {435, "clone3"},
    {438, "pidfd_getfd"},
    {440, "process_madvise"},
    {441, "epoll_pwait2"},
    {442, "mount_setattr"},
    {443, "quotactl_fd"},
    {444, "landlock_create_ruleset"},
    {445, "landlock_add_rule"},
    {446, "landlock_restrict_self"},
    {447, "memfd_secret"},
    {448, "process_mrelease"},
    {451, "cachestat"},
    {453, "map_shadow_stack"},
    {457, "statmount"},
    {458, "listmount"},
    {459, "lsm_get_self_attr"},
    {460, "lsm_set_self_attr"},
    {461, "lsm_list_modules"},
    {463, "setxattrat"},
    {464, "getxattrat"},
    {465, "listxattrat"},
    {466, "removexattrat"},
    {467, "open_tree_attr"},
    {468, "file_getattr"},
    {469, "file_setattr"},
};

constexpr CallByArguments calls_by_arguments[] = {
    {{16, "ioctl"}, fails_with(ENOTTY), fails_with(ENOTTY)},
    {{28, "madvise"}, allowed, allowed},
    {{41, "socket"}, fails_with(EAFNOSUPPORT), fails_with(EAFNOSUPPORT)},
    {{53, "socketpair"}, fails_with(EAFNOSUPPORT), fails_with(EAFNOSUPPORT)},
    {{54, "setsockopt"}, allowed, allowed},
    {{56, "clone"}, allowed, fails_with(EPERM)},
    {{72, "fcntl"}, allowed, fails_with(EINVAL)},
    {{135, "personality"}, allowed, allowed},
    {{141, "setpriority"}, allowed, fails_with(EPERM)},
    {{142, "sched_setparam"}, allowed, fails_with(EPERM)},
    {{144, "sched_setscheduler"}, allowed, fails_with(EPERM)},
    {{157, "prctl"}, fails_with(EINVAL), fails_with(EINVAL)},
    {{203, "sched_setaffinity"}, allowed, fails_with(EPERM)},
    {{302, "prlimit64"}, allowed, fails_with(EPERM)},
    {{314, "sched_setattr"}, allowed, fails_with(EPERM)},
};

// Numbers that no system call has: below 424 by design of the table, from 470 on not yet.
constexpr bool unassigned(std::uint32_t number) {
  return (number >= 337 && number < 424) || number >= 470;
}

constexpr std::uint32_t last_number = 511;

struct Expectation {
  std::string name;
  std::uint32_t zeros;
  std::uint32_t ones;
};

class SyscallTable : public testing::Test {
 protected:
  SyscallTable() {
    for (const Call& call : allowed_calls) expect(call, allowed);
    for (const Call& call : eperm_calls) expect(call, fails_with(EPERM));
    for (const Call& call : eopnotsupp_calls) expect(call, fails_with(EOPNOTSUPP));
    for (const Call& call : enosys_calls) expect(call, fails_with(ENOSYS));
    for (const auto& [call, zeros, ones] : calls_by_arguments) expect(call, zeros, ones);
  }

  void expect(const Call& call, std::uint32_t action) { expect(call, action, action); }
  void expect(const Call& call, std::uint32_t zeros, std::uint32_t ones) {
    EXPECT_TRUE(expected_.emplace(call.number, Expectation{call.name, zeros, ones}).second)
        << call.name << " is listed twice";
  }

  std::map<std::uint32_t, Expectation> expected_;
  FilterProbe probe_{default_policy()};
};

TEST_F(SyscallTable, ListsEveryNumberUnderItsName) {
  for (std::uint32_t number = 0; number <= last_number; ++number) {
    EXPECT_EQ(expected_.count(number), unassigned(number) ? 0u : 1u) << number;
  }
  for (const auto& [number, expectation] : expected_) {
    EXPECT_EQ(syscall_number(expectation.name), static_cast<int>(number)) << expectation.name;
  }
}

TEST_F(SyscallTable, EveryNumberGetsItsAnswer) {
  constexpr std::uint64_t ones = ~std::uint64_t{0};
  for (std::uint32_t number = 0; number <= last_number; ++number) {
    const auto found = expected_.find(number);
    const Expectation expectation =
        found == expected_.end() ? Expectation{"unassigned", fails_with(ENOSYS), fails_with(ENOSYS)}
                                 : found->second;
    EXPECT_EQ(probe_.ask(number), expectation.zeros) << number << " " << expectation.name;
    EXPECT_EQ(probe_.ask(number, {ones, ones, ones, ones, ones, ones}), expectation.ones)
        << number << " " << expectation.name;
  }
}

// Small numbers in every argument, where the values are that programs pass.
TEST_F(SyscallTable, NoOtherCallLooksAtItsArguments) {
  for (const CallByArguments& by_arguments : calls_by_arguments) {
    expected_.erase(by_arguments.call.number);
  }
  Random random(3);
  for (const auto& [number, expectation] : expected_) {
    for (int round = 0; round < 200; ++round) {
      Arguments arguments;
      for (std::uint64_t& argument : arguments) argument = random() >> (random() % 64);
      EXPECT_EQ(probe_.ask(number, arguments), expectation.zeros) << expectation.name;
    }
  }
}

}  // namespace
}  // namespace jail::test

#endif
