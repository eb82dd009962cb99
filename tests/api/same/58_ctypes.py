# Observes: C libraries loaded now, callbacks, errno, thread numbers, the heap by brk and mmap.
import ctypes
import ctypes.util
import os
libc = ctypes.CDLL(None, use_errno=True)
print("[heap]" in open("/proc/self/maps").read())
print(libc.getpid() == os.getpid(), libc.gettid() == os.getpid(), libc.getppid(), 0 <= libc.sched_getcpu() < os.cpu_count())
print(libc.close(999), ctypes.get_errno(), os.strerror(9), ctypes.util.find_library("m"))
compare = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_int), ctypes.POINTER(ctypes.c_int))(lambda a, b: a[0] - b[0])
numbers = (ctypes.c_int * 5)(5, 1, 4, 2, 3)
libc.qsort(numbers, 5, 4, compare)
print(list(numbers))
mathematics = ctypes.CDLL("libm.so.6")
mathematics.cos.restype = mathematics.cos.argtypes = None
mathematics.cos.restype, mathematics.cos.argtypes = ctypes.c_double, [ctypes.c_double]
print(mathematics.cos(0.0))
libc.sbrk.restype, libc.sbrk.argtypes = ctypes.c_void_p, [ctypes.c_long]
start = libc.sbrk(0)
print(libc.sbrk(1 << 20) == start, libc.sbrk(0) - start)
ctypes.memset(start, 65, 1 << 20)
print(ctypes.string_at(start + (1 << 20) - 3, 3), libc.sbrk(-(1 << 20)) - start, libc.sbrk(0) == start)
libc.malloc.restype, libc.malloc.argtypes, libc.free.argtypes = ctypes.c_void_p, [ctypes.c_size_t], [ctypes.c_void_p]
blocks = [libc.malloc(size) for size in (16, 1000, 100_000, 10_000_000) for _ in range(50 if size < 10 ** 6 else 2)]
print(len(set(blocks)), all(blocks))
for block in blocks:
    libc.free(block)
print(libc.malloc_trim(0) in (0, 1), "[heap]" in open("/proc/self/maps").read())
