// The arguments of each system call that the policy allows; call_sequences.cc makes calls by them.
// A test fails if a call of policies/default.json is missing here.
#pragma once

#include <fcntl.h>
#include <linux/fs.h>
#include <linux/futex.h>
#include <linux/membarrier.h>
#include <linux/prctl.h>
#include <linux/sched.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sched.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstddef>
#include <cstdint>

#include "call_kinds.h"

// These calls are newer than the headers of the build.
#ifndef SYS_fchmodat2
#define SYS_fchmodat2 452
#endif
#ifndef SYS_futex_wake
#define SYS_futex_wake 454
#define SYS_futex_wait 455
#define SYS_futex_requeue 456
#endif
#ifndef SYS_mseal
#define SYS_mseal 462
#endif

namespace sequences {

template <auto... values>
inline constexpr std::uint64_t listed[] = {static_cast<std::uint64_t>(values)...};
template <auto... values>
inline constexpr Argument one_of{Kind::choice, listed<values...>, sizeof...(values)};
template <auto... values>
inline constexpr Argument some_of{Kind::choices, listed<values...>, sizeof...(values)};

namespace table {

using enum Kind;

constexpr Argument zero = one_of<0>;
constexpr Argument own_id = one_of<1000, -1, 0, 65534>;  // the first is the guest's
constexpr Argument mode = one_of<0, 0400, 0600, 0644, 0755, 0777, 04777, 07777>;
constexpr Argument open_flags =
    some_of<O_WRONLY, O_RDWR, O_CREAT, O_EXCL, O_TRUNC, O_APPEND, O_NONBLOCK, O_DIRECTORY,
            O_NOFOLLOW, O_CLOEXEC, O_PATH, O_TMPFILE, O_DSYNC, O_NOATIME, O_DIRECT>;
constexpr Argument descriptor_flags = some_of<O_CLOEXEC, O_NONBLOCK, O_DIRECT>;
constexpr Argument at_flags =
    some_of<AT_SYMLINK_NOFOLLOW, AT_EMPTY_PATH, AT_SYMLINK_FOLLOW, AT_REMOVEDIR, AT_NO_AUTOMOUNT>;
constexpr Argument access_mode = some_of<R_OK, W_OK, X_OK>;
constexpr Argument protection = some_of<PROT_READ, PROT_WRITE, PROT_EXEC, PROT_GROWSDOWN>;
constexpr Argument attribute = path;
constexpr Argument send_flags = some_of<MSG_OOB, MSG_DONTWAIT, MSG_MORE, MSG_NOSIGNAL, MSG_EOR,
                                        MSG_CONFIRM, MSG_ZEROCOPY, MSG_FASTOPEN>;
constexpr Argument receive_flags = some_of<MSG_OOB, MSG_PEEK, MSG_TRUNC, MSG_DONTWAIT, MSG_WAITALL,
                                           MSG_CMSG_CLOEXEC, MSG_ERRQUEUE>;
constexpr Argument read_write_flags = some_of<RWF_HIPRI, RWF_DSYNC, RWF_SYNC, RWF_APPEND>;
constexpr Argument clock =
    one_of<CLOCK_REALTIME, CLOCK_MONOTONIC, CLOCK_PROCESS_CPUTIME_ID, CLOCK_THREAD_CPUTIME_ID,
           CLOCK_MONOTONIC_RAW, CLOCK_REALTIME_COARSE, CLOCK_BOOTTIME, CLOCK_REALTIME_ALARM,
           CLOCK_TAI, -6, -2>;
constexpr Argument resource =
    one_of<RLIMIT_CPU, RLIMIT_FSIZE, RLIMIT_DATA, RLIMIT_STACK, RLIMIT_CORE, RLIMIT_RSS,
           RLIMIT_NPROC, RLIMIT_NOFILE, RLIMIT_MEMLOCK, RLIMIT_AS, RLIMIT_LOCKS, RLIMIT_SIGPENDING,
           RLIMIT_NICE, RLIMIT_RTPRIO>;
constexpr Argument futex2_flags = one_of<2, 2 | 128, 0, 1, 3>;
constexpr Argument futex_operation =
    one_of<FUTEX_WAIT, FUTEX_WAKE, FUTEX_REQUEUE, FUTEX_CMP_REQUEUE, FUTEX_WAKE_OP, FUTEX_LOCK_PI,
           FUTEX_UNLOCK_PI, FUTEX_TRYLOCK_PI, FUTEX_WAIT_BITSET, FUTEX_WAIT_REQUEUE_PI,
           FUTEX_CMP_REQUEUE_PI, FUTEX_LOCK_PI2, FUTEX_WAIT_PRIVATE, FUTEX_LOCK_PI_PRIVATE,
           FUTEX_CMP_REQUEUE_PI_PRIVATE>;
constexpr Argument family =
    one_of<AF_UNIX, AF_INET, AF_INET6, AF_UNIX, AF_INET, AF_NETLINK, AF_VSOCK, AF_PACKET>;
constexpr Argument socket_type = one_of<SOCK_STREAM, SOCK_DGRAM, SOCK_SEQPACKET,
                                        SOCK_STREAM | SOCK_NONBLOCK, SOCK_DGRAM | SOCK_CLOEXEC>;
constexpr Argument policy =
    one_of<SCHED_OTHER, SCHED_BATCH, SCHED_IDLE, SCHED_FIFO, SCHED_DEADLINE>;

inline constexpr Description descriptions[] = {
    // Input and output on descriptors.
    {"read", SYS_read, {descriptor, buffer, length}},
    {"write", SYS_write, {descriptor, buffer, length}},
    {"readv", SYS_readv, {descriptor, vectors, number}},
    {"writev", SYS_writev, {descriptor, vectors, number}},
    {"pread64", SYS_pread64, {file, buffer, length, offset}},
    {"pwrite64", SYS_pwrite64, {file, buffer, length, offset}},
    {"preadv", SYS_preadv, {file, vectors, number, offset, zero}},
    {"pwritev", SYS_pwritev, {file, vectors, number, offset, zero}},
    {"preadv2", SYS_preadv2, {file, vectors, number, offset, zero, read_write_flags}},
    {"pwritev2", SYS_pwritev2, {file, vectors, number, offset, zero, read_write_flags}},
    {"lseek",
     SYS_lseek,
     {file, offset, one_of<SEEK_SET, SEEK_CUR, SEEK_END, SEEK_DATA, SEEK_HOLE>}},
    {"close", SYS_close, {descriptor}},
    {"close_range",
     SYS_close_range,
     {new_descriptor, new_descriptor, one_of<0, 2, 4, 6>},
     Makes::nothing,
     Chosen::seldom},
    {"dup", SYS_dup, {descriptor}, Makes::descriptor},
    {"dup2", SYS_dup2, {descriptor, new_descriptor}, Makes::descriptor},
    {"dup3", SYS_dup3, {descriptor, new_descriptor, one_of<0, O_CLOEXEC>}, Makes::descriptor},
    {"pipe", SYS_pipe, {descriptor_pair}},
    {"pipe2", SYS_pipe2, {descriptor_pair, descriptor_flags}},
    // Paths.
    {"open", SYS_open, {path, open_flags, mode}, Makes::file, Chosen::most},
    {"openat", SYS_openat, {directory, path, open_flags, mode}, Makes::file},
    {"openat2", SYS_openat2, {directory, path, open_how, one_of<24, 0, 8, 32, 4096>}, Makes::file},
    {"creat", SYS_creat, {path, mode}, Makes::file},
    {"stat", SYS_stat, {path, buffer}},
    {"lstat", SYS_lstat, {path, buffer}},
    {"fstat", SYS_fstat, {descriptor, buffer}},
    {"newfstatat", SYS_newfstatat, {directory, path, buffer, at_flags}},
    {"statx", SYS_statx, {directory, path, at_flags, one_of<0x7ff, 0xfff, 0x3fff, -1>, buffer}},
    {"statfs", SYS_statfs, {path, buffer}},
    {"fstatfs", SYS_fstatfs, {descriptor, buffer}},
    {"access", SYS_access, {path, access_mode}},
    {"faccessat", SYS_faccessat, {directory, path, access_mode}},
    {"faccessat2", SYS_faccessat2, {directory, path, access_mode, at_flags}},
    {"readlink", SYS_readlink, {path, buffer, length}},
    {"readlinkat", SYS_readlinkat, {directory, path, buffer, length}},
    {"getdents64", SYS_getdents64, {file, buffer, length}},
    {"getcwd", SYS_getcwd, {buffer, length}},
    {"chdir", SYS_chdir, {path}},
    {"fchdir", SYS_fchdir, {file}},
    {"mkdir", SYS_mkdir, {path, mode}},
    {"mkdirat", SYS_mkdirat, {directory, path, mode}},
    {"rmdir", SYS_rmdir, {path}},
    {"unlink", SYS_unlink, {path}},
    {"unlinkat", SYS_unlinkat, {directory, path, one_of<0, 0, AT_REMOVEDIR>}},
    {"rename", SYS_rename, {path, path}},
    {"renameat", SYS_renameat, {directory, path, directory, path}},
    {"renameat2", SYS_renameat2, {directory, path, directory, path, one_of<0, 1, 2, 4>}},
    {"link", SYS_link, {path, path}},
    {"linkat",
     SYS_linkat,
     {directory, path, directory, path, one_of<0, 0, AT_SYMLINK_FOLLOW, AT_EMPTY_PATH>}},
    {"symlink", SYS_symlink, {path, path}},
    {"symlinkat", SYS_symlinkat, {path, directory, path}},
    {"truncate", SYS_truncate, {path, offset}},
    {"ftruncate", SYS_ftruncate, {file, offset}},
    {"fallocate", SYS_fallocate, {file, some_of<1, 2, 8, 16, 32, 64>, offset, length}},
    {"umask", SYS_umask, {mode}},
    {"utime", SYS_utime, {path, time}},
    {"utimes", SYS_utimes, {path, interval}},
    {"utimensat", SYS_utimensat, {directory, path, interval, at_flags}},
    {"chmod", SYS_chmod, {path, mode}},
    {"fchmod", SYS_fchmod, {file, mode}},
    {"fchmodat", SYS_fchmodat, {directory, path, mode}},
    {"fchmodat2", SYS_fchmodat2, {directory, path, mode, at_flags}},
    {"chown", SYS_chown, {path, one_of<0, 1000, -1>, one_of<0, 1000, -1>}},
    {"fchown", SYS_fchown, {file, one_of<0, 1000, -1>, one_of<0, 1000, -1>}},
    {"lchown", SYS_lchown, {path, one_of<0, 1000, -1>, one_of<0, 1000, -1>}},
    {"fchownat",
     SYS_fchownat,
     {directory, path, one_of<0, 1000, -1>, one_of<0, 1000, -1>, at_flags}},
    {"getxattr", SYS_getxattr, {path, attribute, buffer, length}},
    {"lgetxattr", SYS_lgetxattr, {path, attribute, buffer, length}},
    {"fgetxattr", SYS_fgetxattr, {descriptor, attribute, buffer, length}},
    {"listxattr", SYS_listxattr, {path, buffer, length}},
    {"llistxattr", SYS_llistxattr, {path, buffer, length}},
    {"flistxattr", SYS_flistxattr, {descriptor, buffer, length}},
    {"fsync", SYS_fsync, {file}},
    {"fdatasync", SYS_fdatasync, {file}},
    {"sync_file_range", SYS_sync_file_range, {file, offset, length, some_of<1, 2, 4>}},
    {"fadvise64", SYS_fadvise64, {file, offset, length, one_of<0, 1, 2, 3, 4, 5>}},
    {"readahead", SYS_readahead, {file, offset, length}},
    {"flock",
     SYS_flock,
     {file, one_of<LOCK_SH, LOCK_EX, LOCK_UN, LOCK_SH | LOCK_NB, LOCK_EX | LOCK_NB>}},
    {"sendfile", SYS_sendfile, {descriptor, descriptor, offset_pointer, length}},
    {"copy_file_range",
     SYS_copy_file_range,
     {file, offset_pointer, file, offset_pointer, length, zero}},
    {"fcntl",
     SYS_fcntl,
     {descriptor,
      one_of<0, 1, 2, 3, 4, 5, 6, 7, 9, 11, 16, 36, 37, 38, 1025, 1030, 1032, 1033, 1034, 1024,
             1031>,
      control_value}},
    {"ioctl",
     SYS_ioctl,
     {descriptor,
      one_of<TCGETS, FIONBIO, FIOCLEX, FIONREAD, TIOCGWINSZ, FIONCLEX, TIOCGPGRP, TCSETS, TCSETSW,
             TCSETSF, TIOCSTI>,
      control_value}},
    // Waiting for descriptors.
    {"poll", SYS_poll, {polls, number, one_of<0, 1, 5>}},
    {"ppoll", SYS_ppoll, {polls, number, time, signal_set, set_size}},
    {"select",
     SYS_select,
     {one_of<0, 8, 32, 64, 1024>, descriptor_set, descriptor_set, descriptor_set, time}},
    {"pselect6",
     SYS_pselect6,
     {one_of<0, 8, 32, 64, 1024>, descriptor_set, descriptor_set, descriptor_set, time,
      signal_set_pointer}},
    {"epoll_create", SYS_epoll_create, {number}, Makes::waiter},
    {"epoll_create1", SYS_epoll_create1, {one_of<0, EPOLL_CLOEXEC>}, Makes::waiter},
    {"epoll_ctl",
     SYS_epoll_ctl,
     {waiter, one_of<EPOLL_CTL_ADD, EPOLL_CTL_MOD, EPOLL_CTL_DEL>, descriptor, event}},
    {"epoll_wait", SYS_epoll_wait, {waiter, event, number, one_of<0, 1, 5>}},
    {"epoll_pwait",
     SYS_epoll_pwait,
     {waiter, event, number, one_of<0, 1, 5>, signal_set, set_size}},
    {"eventfd2",
     SYS_eventfd2,
     {number, some_of<EFD_CLOEXEC, EFD_NONBLOCK, EFD_SEMAPHORE>},
     Makes::descriptor},
    {"signalfd4",
     SYS_signalfd4,
     {one_of<-1, -1, 3, 9>, signal_set, set_size, one_of<0, O_CLOEXEC, O_NONBLOCK>},
     Makes::descriptor},
    {"timerfd_create",
     SYS_timerfd_create,
     {clock, one_of<0, O_CLOEXEC, O_NONBLOCK>},
     Makes::waiter},
    {"timerfd_settime", SYS_timerfd_settime, {waiter, one_of<0, 1, 2, 3>, interval, buffer}},
    {"timerfd_gettime", SYS_timerfd_gettime, {waiter, buffer}},
    // Memory.
    {"mmap",
     SYS_mmap,
     {address, address_length, protection, mapping_flags, file, one_of<0, 0, 4096, 65536>},
     Makes::mapping},
    {"munmap", SYS_munmap, {address, address_length}},
    {"mremap",
     SYS_mremap,
     {address, address_length, address_length,
      one_of<0, MREMAP_MAYMOVE, MREMAP_MAYMOVE | MREMAP_FIXED, MREMAP_MAYMOVE | 4>, address},
     Makes::mapping},
    {"mprotect", SYS_mprotect, {address, address_length, protection}},
    {"madvise",
     SYS_madvise,
     {address, address_length,
      one_of<0, 1, 2, 3, 4, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25,
             102, 103>}},
    {"msync",
     SYS_msync,
     {address, address_length, one_of<MS_ASYNC, MS_SYNC, MS_INVALIDATE, MS_SYNC | MS_INVALIDATE>}},
    {"brk", SYS_brk, {address}},
    {"mlock", SYS_mlock, {address, address_length}},
    {"munlock", SYS_munlock, {address, address_length}},
    {"mseal", SYS_mseal, {address, address_length, zero}},
    {"pkey_alloc", SYS_pkey_alloc, {zero, one_of<0, 1, 2, 3>}, Makes::protection_key},
    {"pkey_free", SYS_pkey_free, {protection_key}},
    {"pkey_mprotect", SYS_pkey_mprotect, {address, address_length, protection, protection_key}},
    // Processes and threads.
    {"execve", SYS_execve, {program, arguments, arguments}, Makes::nothing, Chosen::seldom},
    {"exit", SYS_exit, {number}, Makes::nothing, Chosen::seldom},
    {"exit_group",
     SYS_exit_group,
     {number, one_of<0, 0x6a61696c20656e64>},
     Makes::nothing,
     Chosen::seldom},
    {"wait4",
     SYS_wait4,
     {process, buffer, some_of<WNOHANG, WUNTRACED, WCONTINUED, __WALL, __WCLONE, __WNOTHREAD>,
      buffer}},
    {"waitid",
     SYS_waitid,
     {one_of<P_ALL, P_PID, P_PGID, 3>, process, buffer,
      some_of<WNOHANG, WEXITED, WSTOPPED, WCONTINUED, WNOWAIT>, buffer}},
    {"fork", SYS_fork, {}, Makes::process},
    {"vfork", SYS_vfork, {}, Makes::process},
    {"clone", SYS_clone, {clone_flags, clone_stack, word, word, structure}, Makes::process},
    {"restart_syscall", SYS_restart_syscall, {}},
    {"futex",
     SYS_futex,
     {word, futex_operation, one_of<0, 1, 2, -1>, time, word, one_of<0, 1, 2, 0x6061626>}},
    {"futex_wait",
     SYS_futex_wait,
     {word, one_of<0, 1, 2>, one_of<1, -1>, futex2_flags, time, one_of<0, 1>}},
    {"futex_wake", SYS_futex_wake, {word, one_of<1, -1, 0>, number, futex2_flags}},
    {"futex_requeue", SYS_futex_requeue, {words, zero, number, number}},
    {"futex_waitv", SYS_futex_waitv, {words, one_of<1, 2, 3, 128>, zero, time, one_of<0, 1>}},
    {"set_robust_list", SYS_set_robust_list, {robust_list, one_of<24, 0, 25>}},
    {"set_tid_address", SYS_set_tid_address, {word}},
    {"rseq", SYS_rseq, {structure, one_of<32, 28, 33>, one_of<0, 1>, one_of<0x53053053, 0>}},
    {"membarrier",
     SYS_membarrier,
     {one_of<0, 1, 2, 4, 8, 16, 32, 64, 128, 256, 512>, one_of<0, 1>, one_of<0, 1>}},
    {"arch_prctl",
     SYS_arch_prctl,
     {one_of<0x1001, 0x1002, 0x1003, 0x1004, 0x1011, 0x1012, 0x1021, 0x1022, 0x1023, 0x2001, 0x2002,
             0x2003, 0x4001, 0x4002, 0x5001, 0x5003, 0x5005>,
      structure}},
    {"gettid", SYS_gettid, {}},
    {"sched_yield", SYS_sched_yield, {}},
    {"getcpu", SYS_getcpu, {word, word, zero}},
    {"prctl",
     SYS_prctl,
     {one_of<1, 2, 3, 4, 15, 16, 21, 23, 30, 39, 0x53564d41>, control_value, address,
      address_length, buffer}},
    // Signals and timers.
    {"rt_sigaction", SYS_rt_sigaction, {signal, action, buffer, set_size}},
    {"rt_sigprocmask",
     SYS_rt_sigprocmask,
     {one_of<SIG_BLOCK, SIG_UNBLOCK, SIG_SETMASK>, signal_set, buffer, set_size}},
    {"rt_sigreturn", SYS_rt_sigreturn, {}, Makes::nothing, Chosen::seldom},
    {"rt_sigpending", SYS_rt_sigpending, {buffer, set_size}},
    {"rt_sigtimedwait", SYS_rt_sigtimedwait, {signal_set, buffer, time, set_size}},
    {"rt_sigsuspend", SYS_rt_sigsuspend, {signal_set, set_size}, Makes::nothing, Chosen::seldom},
    {"sigaltstack", SYS_sigaltstack, {signal_stack, buffer}},
    {"pause", SYS_pause, {}, Makes::nothing, Chosen::seldom},
    {"alarm", SYS_alarm, {number}},
    {"getitimer", SYS_getitimer, {one_of<0, 1, 2>, buffer}},
    {"setitimer", SYS_setitimer, {one_of<1, 2, 0>, interval, buffer}},
    {"timer_create", SYS_timer_create, {clock, event_of_timer, timer}},
    {"timer_settime", SYS_timer_settime, {number, one_of<0, 1>, interval, buffer}},
    {"timer_gettime", SYS_timer_gettime, {number, buffer}},
    {"timer_getoverrun", SYS_timer_getoverrun, {number}},
    {"timer_delete", SYS_timer_delete, {number}},
    {"kill", SYS_kill, {process, signal}, Makes::nothing, Chosen::seldom},
    {"tkill", SYS_tkill, {process, signal}, Makes::nothing, Chosen::seldom},
    {"tgkill", SYS_tgkill, {process, process, signal}, Makes::nothing, Chosen::seldom},
    {"rt_sigqueueinfo",
     SYS_rt_sigqueueinfo,
     {process, signal, structure},
     Makes::nothing,
     Chosen::seldom},
    {"rt_tgsigqueueinfo",
     SYS_rt_tgsigqueueinfo,
     {process, process, signal, structure},
     Makes::nothing,
     Chosen::seldom},
    {"pidfd_open", SYS_pidfd_open, {process, one_of<0, O_NONBLOCK, O_EXCL>}, Makes::descriptor},
    {"pidfd_send_signal",
     SYS_pidfd_send_signal,
     {descriptor, signal, structure, one_of<0, 0, 1, 2, 4>},
     Makes::nothing,
     Chosen::seldom},
    {"nanosleep", SYS_nanosleep, {time, buffer}},
    {"clock_nanosleep", SYS_clock_nanosleep, {clock, one_of<0, 1>, time, buffer}},
    {"clock_gettime", SYS_clock_gettime, {clock, buffer}},
    {"clock_getres", SYS_clock_getres, {clock, buffer}},
    {"gettimeofday", SYS_gettimeofday, {buffer, buffer}},
    {"time", SYS_time, {buffer}},
    {"times", SYS_times, {buffer}},
    {"getrandom", SYS_getrandom, {buffer, length, some_of<1, 2, 4>}},
    // Attributes of a process.
    {"getpid", SYS_getpid, {}},
    {"getppid", SYS_getppid, {}},
    {"getpgrp", SYS_getpgrp, {}},
    {"getpgid", SYS_getpgid, {process}},
    {"getsid", SYS_getsid, {process}},
    {"setsid", SYS_setsid, {}},
    {"setpgid", SYS_setpgid, {process, process}},
    {"getuid", SYS_getuid, {}},
    {"geteuid", SYS_geteuid, {}},
    {"getgid", SYS_getgid, {}},
    {"getegid", SYS_getegid, {}},
    {"getresuid", SYS_getresuid, {buffer, buffer, buffer}},
    {"getresgid", SYS_getresgid, {buffer, buffer, buffer}},
    {"setresuid", SYS_setresuid, {own_id, own_id, own_id}},
    {"setresgid", SYS_setresgid, {own_id, own_id, own_id}},
    {"getgroups", SYS_getgroups, {number, buffer}},
    {"capget", SYS_capget, {structure, buffer}},
    {"uname", SYS_uname, {buffer}},
    {"getrusage", SYS_getrusage, {one_of<0, 1, -1>, buffer}},
    {"getrlimit", SYS_getrlimit, {resource, buffer}},
    {"setrlimit", SYS_setrlimit, {resource, limits}},
    {"prlimit64", SYS_prlimit64, {one_of<0, 0, 1, 2>, resource, limits, buffer}},
    {"sysinfo", SYS_sysinfo, {buffer}},
    {"sched_getaffinity", SYS_sched_getaffinity, {process, length, buffer}},
    {"sched_getattr", SYS_sched_getattr, {process, buffer, one_of<48, 56, 4096>, zero}},
    {"sched_getparam", SYS_sched_getparam, {process, buffer}},
    {"sched_getscheduler", SYS_sched_getscheduler, {process}},
    {"sched_get_priority_max", SYS_sched_get_priority_max, {policy}},
    {"sched_get_priority_min", SYS_sched_get_priority_min, {policy}},
    {"sched_rr_get_interval", SYS_sched_rr_get_interval, {process, buffer}},
    {"getpriority", SYS_getpriority, {one_of<0, 1, 2>, process}},
    {"sched_setaffinity", SYS_sched_setaffinity, {zero, one_of<8, 128>, structure}},
    {"sched_setattr", SYS_sched_setattr, {zero, scheduling, zero}},
    {"sched_setparam", SYS_sched_setparam, {zero, structure}},
    {"sched_setscheduler", SYS_sched_setscheduler, {zero, policy, structure}},
    {"setpriority", SYS_setpriority, {zero, zero, one_of<0, 1, 5, 19, -5>}},
    {"personality", SYS_personality, {one_of<0, 0xffffffff>}},
    // Sockets.
    {"socket",
     SYS_socket,
     {family, socket_type, one_of<0, 0, 0, IPPROTO_TCP, IPPROTO_UDP>},
     Makes::socket},
    {"socketpair",
     SYS_socketpair,
     {one_of<AF_UNIX, AF_UNIX, AF_INET>, socket_type, zero, descriptor_pair}},
    {"bind", SYS_bind, {socket, socket_address, socket_length}},
    {"listen", SYS_listen, {socket, number}},
    {"accept", SYS_accept, {socket, buffer, length_pointer}, Makes::socket},
    {"accept4",
     SYS_accept4,
     {socket, buffer, length_pointer, one_of<0, SOCK_NONBLOCK, SOCK_CLOEXEC>},
     Makes::socket},
    {"connect", SYS_connect, {socket, socket_address, socket_length}, Makes::nothing, Chosen::most},
    {"shutdown", SYS_shutdown, {socket, one_of<0, 1, 2>}},
    {"getsockname", SYS_getsockname, {socket, buffer, length_pointer}},
    {"getpeername", SYS_getpeername, {socket, buffer, length_pointer}},
    {"sendto", SYS_sendto, {socket, buffer, length, send_flags, socket_address, socket_length}},
    {"sendmsg", SYS_sendmsg, {socket, message, send_flags}, Makes::nothing, Chosen::most},
    {"sendmmsg", SYS_sendmmsg, {socket, messages, one_of<0, 1, 2>, send_flags}},
    {"recvfrom", SYS_recvfrom, {socket, buffer, length, receive_flags, buffer, length_pointer}},
    {"recvmsg", SYS_recvmsg, {socket, message, receive_flags}, Makes::nothing, Chosen::most},
    {"recvmmsg", SYS_recvmmsg, {socket, messages, one_of<0, 1, 2>, receive_flags, time}},
    {"getsockopt", SYS_getsockopt, {socket, option_level, option_name, buffer, length_pointer}},
    {"setsockopt",
     SYS_setsockopt,
     {socket, option_level, option_name, option, one_of<4, 1, 8, 16, 12, 0>}},
};

}  // namespace table

using table::descriptions;
inline constexpr std::size_t description_count = sizeof descriptions / sizeof descriptions[0];

}  // namespace sequences
