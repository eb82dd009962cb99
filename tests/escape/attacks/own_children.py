# Tries: to trace, read, compare and take descriptors from a process of its own: no barrier is between them, but each of
# these calls has been one through a barrier before.
# Report: success; none of them exists.
# Control: this program says ESCAPED outside of a jail.
import time
PTRACE_SEIZE, PTRACE_ATTACH = 0x4206, 16
child = os.fork()
if child == 0:
    time.sleep(20)
    os._exit(0)
buffer = ctypes.create_string_buffer(64)
local = (ctypes.c_uint64 * 2)(ctypes.addressof(buffer), 64)
must_fail("ptrace seize", "ptrace", PTRACE_SEIZE, child, 0, 0)
must_fail("ptrace attach", "ptrace", PTRACE_ATTACH, child, 0, 0)
must_fail("process_vm_readv", "process_vm_readv", child, local, 1, local, 1, 0)
must_fail("process_vm_writev", "process_vm_writev", child, local, 1, local, 1, 0)
must_fail("kcmp", "kcmp", os.getpid(), child, 2, 0, 0)
pidfd, _ = call("pidfd_open", child, 0)
must_fail("pidfd_getfd", "pidfd_getfd", pidfd, 0, 0)
must_fail("process_madvise", "process_madvise", pidfd, local, 1, 21, 0)
os.kill(child, 9)
verdict()
