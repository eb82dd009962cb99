# Tries: to trace, signal, freeze, limit, pin and read the jail's init (pid 1), which reports the end.
# Report: success; init goes on and reports this program's own exit status.
PTRACE_ATTACH, PTRACE_SEIZE = 16, 0x4206
SIGKILL, SIGSTOP, SIGUSR1, SIGSEGV, SIGRTMIN = 9, 19, 10, 11, 34
must_fail("ptrace attach", "ptrace", PTRACE_ATTACH, 1, 0, 0)
must_fail("ptrace seize", "ptrace", PTRACE_SEIZE, 1, 0, 0)
# What init blocks would queue up, on a count that all jails of a user share.
information = ctypes.create_string_buffer(128)
for signal_number in (0, SIGKILL, SIGSTOP, SIGUSR1, SIGSEGV, SIGRTMIN):
    must_raise(f"kill -{signal_number}", lambda: os.kill(1, signal_number))
    must_fail(f"tkill -{signal_number}", "tkill", 1, signal_number)
    must_fail(f"tgkill -{signal_number}", "tgkill", 1, 1, signal_number)
    must_fail(f"rt_sigqueueinfo -{signal_number}", "rt_sigqueueinfo", 1, signal_number, information)
    must_fail(f"rt_tgsigqueueinfo -{signal_number}", "rt_tgsigqueueinfo", 1, 1, signal_number, information)
limit = (ctypes.c_uint64 * 2)(0, 0)
for resource in range(16):
    must_fail(f"prlimit {resource} of init", "prlimit64", 1, resource, limit, None)
must_fail("pin init", "sched_setaffinity", 1, 8, (ctypes.c_uint64 * 1)(1))
must_raise("renice init", lambda: os.setpriority(os.PRIO_PROCESS, 1, 19))
must_raise("idle init", lambda: os.sched_setscheduler(1, os.SCHED_IDLE, os.sched_param(0)))
must_fail("kcmp with init", "kcmp", 1, os.getpid(), 0, 0, 0)
buffer = ctypes.create_string_buffer(64)
local = (ctypes.c_uint64 * 2)(ctypes.addressof(buffer), 64)
must_fail("process_vm_readv of init", "process_vm_readv", 1, local, 1, local, 1, 0)
must_fail("process_vm_writev of init", "process_vm_writev", 1, local, 1, local, 1, 0)
must_fail("pidfd_open", "pidfd_open", 1, 0)
import time
time.sleep(0.2)
if os.getppid() == 0:
    escapes.append("the parent of this process is gone")
verdict()
