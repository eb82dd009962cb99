# Tries: to keep init waiting, which answers a call by writing to the memory of a process that changes all of its mappings all the
# time, and to run on after the deadline.
# Report: timeout, in time and with the processor time that was used.
# Expect: status=timeout last=asks
# Memory: 2048
# Timeout: 4
# Within: 6
import pathlib
import threading

LIBC.mmap.restype = ctypes.c_void_p
LIBC.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
LIBC.madvise.argtypes = LIBC.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
READ_ONLY, NOTHING, PRIVATE_FIXED, RESERVED, POPULATE_READ, TIMES = 1, 0, 0x12, 0x4022, 22, 60
largest = max((path for path in pathlib.Path("/usr/lib").glob("*/lib*.so*") if path.is_file()), key=lambda path: path.stat().st_size)
file = os.open(largest, os.O_RDONLY)
size = os.fstat(file).st_size >> 21 << 21
place = LIBC.mmap(None, size * TIMES, NOTHING, RESERVED, -1, 0)
for number in range(TIMES):
    LIBC.mmap(place + number * size, size, READ_ONLY, PRIVATE_FIXED, file, 0)
    LIBC.madvise(place + number * size, size, POPULATE_READ)


def change():
    while True:
        LIBC.mprotect(place, size * TIMES, NOTHING)
        LIBC.mprotect(place, size * TIMES, READ_ONLY)


def ask():
    told = ctypes.create_string_buffer(128)
    while True:
        LIBC.sysinfo(told)


print("asks", flush=True)
for _ in range(2):
    threading.Thread(target=ask, daemon=True).start()
change()
