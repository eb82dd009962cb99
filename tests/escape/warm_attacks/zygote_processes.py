# Tries: to reach the zygote or another jail by its number: look, signal, trace, read, change.
# Report: success; no number but its own names a process that it can see, and init answers nothing. What keeps the
# memory of a warm jail alive is a process of this jail: it is seen by signals alone, and answers nothing else.
import resource
own = os.getpid()
remote = ctypes.create_string_buffer(64)
vector = (ctypes.c_uint64 * 2)(ctypes.addressof(remote), 64)
there = (ctypes.c_uint64 * 2)(0x400000, 64)
if os.getppid() not in (0, 1):
    escapes.append(f"its parent has the number {os.getppid()}")
seen, keepers = [], []
for pid in range(2, 32769):
    if pid == own:
        continue
    try:
        os.kill(pid, 0)
        keepers.append(pid)
        if os.path.exists(f"/proc/{pid}"):
            escapes.append(f"process {pid} is there")
    except OSError as error:
        if error.errno != errno.ESRCH:
            seen.append(("signal", pid, errno.errorcode[error.errno]))
    for label, action in (("group", lambda: os.killpg(pid, 0)), ("stat", lambda: os.stat(f"/proc/{pid}"))):
        if pid in keepers and label == "group":
            continue
        try:
            action()
            escapes.append(f"{label} {pid}")
        except OSError as error:
            if error.errno != errno.ESRCH and error.errno != errno.ENOENT:
                seen.append((label, pid, errno.errorcode[error.errno]))
if seen:
    escapes.append(f"numbers that are not simply absent: {seen[:5]}")
if len(keepers) > 1:
    escapes.append(f"processes {keepers}")
for pid in (1, *keepers):
    for request, label in ((16, "attach"), (0x4206, "seize")):
        must_fail(f"ptrace {label} {pid}", "ptrace", request, pid, 0, 0)
    must_fail(f"process_vm_readv {pid}", "process_vm_readv", pid, vector, 1, there, 1, 0)
    must_fail(f"process_vm_writev {pid}", "process_vm_writev", pid, vector, 1, there, 1, 0)
    must_fail(f"prlimit64 {pid}", "prlimit64", pid, resource.RLIMIT_NOFILE, None, (ctypes.c_uint64 * 2)())
    must_fail(f"kcmp {pid}", "kcmp", own, pid, 2, 0, 0)
    for name in ("mem", "maps", "environ", "fd", "cwd", "root", "exe", "ns/pid", "task", "stat", "cmdline", "status"):
        must_raise(f"/proc/{pid}/{name}", lambda: os.open(f"/proc/{pid}/{name}", os.O_RDONLY))
for name in ("/proc/self/../1/mem", "/proc/thread-self/../../../1/mem", "/proc/self/task/1/mem", "/proc/self/cwd/../proc/1/mem"):
    must_raise(name, lambda: os.open(name, os.O_RDONLY))
verdict()
