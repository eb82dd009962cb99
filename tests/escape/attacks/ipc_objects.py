# Tries: memory and queues that outlive their maker and that no limit of a process counts: System V's and POSIX'.
# Report: success; none can be made.
KEY, CREATE = 0x657363, 0o1600
for label, make in (("shmget", lambda: LIBC.shmget(KEY, 1 << 20, CREATE)), ("semget", lambda: LIBC.semget(KEY, 4, CREATE)),
                    ("msgget", lambda: LIBC.msgget(KEY, CREATE)), ("mq_open", lambda: LIBC.mq_open(b"/escape", 0o102, 0o600, None))):
    ctypes.set_errno(0)
    if make() >= 0:
        escapes.append(f"{label} succeeded")
    else:
        notes.append(f"{label}={errno.errorcode.get(ctypes.get_errno(), '?')}")
for path in ("/dev/mqueue", "/proc/sysvipc/shm", "/proc/sys/kernel/shmmax"):
    must_raise(path, lambda: os.stat(path))
verdict()
