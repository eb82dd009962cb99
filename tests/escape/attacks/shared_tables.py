# Tries: to have descriptors where nobody counts them: with one thread alone, or with a process that is gone later.
# Report: success; threads share all descriptors, and processes none.
# Control: this program says ESCAPED outside of a jail.
SIGCHLD, CLONE_FILES, CLONE_VFORK = 17, 0x400, 0x4000
CLOSE_RANGE, CLOSE_RANGE_UNSHARE = 436, 2
ctypes.set_errno(0)
LIBC.syscall(ctypes.c_long(CLOSE_RANGE), ctypes.c_long(900), ctypes.c_long(900), ctypes.c_long(CLOSE_RANGE_UNSHARE))
if ctypes.get_errno() != errno.EINVAL:
    escapes.append("a thread with descriptors of its own")
for flags in (CLONE_FILES | SIGCHLD, CLONE_FILES | CLONE_VFORK | SIGCHLD, CLONE_FILES):
    result, error = call("clone", flags, 0, 0, 0, 0)
    if result == 0:
        os._exit(0)
    if error != "EPERM":
        escapes.append(f"clone({flags:#x}): {error or result}")
verdict()
