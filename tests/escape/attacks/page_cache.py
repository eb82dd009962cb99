# Tries: to learn whether pages of a file that all jails share are in memory (RWF_NOWAIT, cachestat, mincore), and to
# drop them from there (POSIX_FADV_DONTNEED, MADV_PAGEOUT), as two programs would that signal to each other by them.
# Report: success; nothing tells, and nothing drops.
# Control: this program says ESCAPED outside of a jail.
import mmap
path = "/bin/sh"
descriptor = os.open(path, os.O_RDONLY)
os.pread(descriptor, 4096, 0)
must_raise("drop pages", lambda: os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED))
must_raise("read what is in memory", lambda: os.preadv(descriptor, [bytearray(4096)], 0, os.RWF_NOWAIT))
must_fail("cachestat", "cachestat", descriptor, (ctypes.c_uint64 * 2)(0, 4096), (ctypes.c_uint64 * 5)(), 0)
NUMBERS["mincore"] = {"x86_64": 27, "aarch64": 232}[platform.machine()]
mapping = mmap.mmap(descriptor, 4096, prot=mmap.PROT_READ)
must_raise("page out", lambda: mapping.madvise(21))  # MADV_PAGEOUT
LIBC.mmap.restype = ctypes.c_void_p
LIBC.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
address = LIBC.mmap(None, 4096, mmap.PROT_READ, mmap.MAP_SHARED, descriptor, 0)
must_fail("mincore", "mincore", ctypes.c_void_p(address), 4096, (ctypes.c_ubyte * 1)())
verdict()
