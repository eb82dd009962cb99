# Tries: to see and to hold up what others do with files: watches, leases and signals on inodes of the root and its own.
# Report: success; no watch, no lease, no owner of signals.
import fcntl
for label, opened in (("inotify_init", LIBC.inotify_init()), ("inotify_init1", LIBC.inotify_init1(0)), ("fanotify_init", LIBC.fanotify_init(0x200, 0))):
    if opened >= 0:
        escapes.append(f"{label} gave descriptor {opened}")
        for path in (b"/usr/bin/env", b"/etc", b"/", b"/tmp"):
            if LIBC.inotify_add_watch(opened, path, 0xFFF) >= 0:
                escapes.append(f"{label} watches {path.decode()}")
    else:
        notes.append(f"{label}={errno.errorcode.get(ctypes.get_errno())}")
with open("/tmp/own", "w", encoding="utf-8") as own:
    own.write("x")
for path in ("/tmp/own", "/usr/bin/env", "/proc/self/exe"):
    opened = os.open(path, os.O_RDONLY)
    must_raise(f"lease of {path}", lambda: fcntl.fcntl(opened, fcntl.F_SETLEASE, fcntl.F_RDLCK))
for path in ("/tmp", "/usr", "/"):
    opened = os.open(path, os.O_RDONLY)
    must_raise(f"notes of {path}", lambda: fcntl.fcntl(opened, fcntl.F_NOTIFY, fcntl.DN_CREATE))
must_raise("owner", lambda: fcntl.fcntl(0, fcntl.F_SETOWN, os.getpid()))
must_raise("signal", lambda: fcntl.fcntl(0, fcntl.F_SETSIG, 10))
verdict()
