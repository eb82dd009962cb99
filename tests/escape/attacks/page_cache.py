# Tries: to learn whether pages of a file that all jails share are in memory (RWF_NOWAIT, cachestat), and to
# drop them from there (POSIX_FADV_DONTNEED), as two programs would that signal to each other by them.
# Report: success; nothing tells, and nothing drops.
# Control: this program says ESCAPED outside of a jail.
path = "/bin/sh"
descriptor = os.open(path, os.O_RDONLY)
os.pread(descriptor, 4096, 0)
must_raise("drop pages", lambda: os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED))
must_raise("read what is in memory", lambda: os.preadv(descriptor, [bytearray(4096)], 0, os.RWF_NOWAIT))
must_fail("cachestat", "cachestat", descriptor, (ctypes.c_uint64 * 2)(0, 4096), (ctypes.c_uint64 * 5)(), 0)
verdict()
