# Tries: to reach the zygote or another jail by its number: look, signal, trace, read, change.
# Report: success; no number but its own names a process, and init answers nothing.
import resource
own = os.getpid()
remote = ctypes.create_string_buffer(64)
vector = (ctypes.c_uint64 * 2)(ctypes.addressof(remote), 64)
there = (ctypes.c_uint64 * 2)(0x400000, 64)
if os.getppid() not in (0, 1):
    escapes.append(f"its parent has the number {os.getppid()}")
seen = []
for pid in range(2, 32769):
    if pid == own:
        continue
    for label, action in (("signal", lambda: os.kill(pid, 0)), ("group", lambda: os.killpg(pid, 0)),
                          ("stat", lambda: os.stat(f"/proc/{pid}"))):
        try:
            action()
            escapes.append(f"{label} {pid}")
        except OSError as error:
            if error.errno != errno.ESRCH and error.errno != errno.ENOENT:
                seen.append((label, pid, errno.errorcode[error.errno]))
if seen:
    escapes.append(f"numbers that are not simply absent: {seen[:5]}")
for request, label in ((16, "attach"), (0x4206, "seize")):
    must_fail(f"ptrace {label} init", "ptrace", request, 1, 0, 0)
must_fail("process_vm_readv 1", "process_vm_readv", 1, vector, 1, there, 1, 0)
must_fail("process_vm_writev 1", "process_vm_writev", 1, vector, 1, there, 1, 0)
must_fail("prlimit64 1", "prlimit64", 1, resource.RLIMIT_NOFILE, None, (ctypes.c_uint64 * 2)())
must_fail("kcmp 1", "kcmp", own, 1, 2, 0, 0)
for name in ("mem", "maps", "environ", "fd", "cwd", "root", "exe", "ns/pid", "task", "stat", "cmdline", "status"):
    must_raise(f"/proc/1/{name}", lambda: os.open(f"/proc/1/{name}", os.O_RDONLY))
for name in ("/proc/self/../1/mem", "/proc/thread-self/../../../1/mem", "/proc/self/task/1/mem", "/proc/self/cwd/../proc/1/mem"):
    must_raise(name, lambda: os.open(name, os.O_RDONLY))
verdict()
