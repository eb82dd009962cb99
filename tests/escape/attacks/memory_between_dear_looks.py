# Tries: to make each look at memory so dear, by mappings in many processes, that the next one is late, and to fill memory in between.
# Report: out_of_memory; between two looks memory is seen at a glance.
# Expect: status=out_of_memory last=fills
# Memory: 256
# Timeout: 30
import time

LIBC.madvise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
LIBC.mmap.restype = ctypes.c_void_p
LIBC.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
LIBC.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
READ_ONLY, NOTHING, RESERVED, WRITABLE, POPULATE_WRITE = 1, 0, 0x4022, 3, 23
PROCESSES, MAPPINGS = 4, 50_000
reader, writer = os.pipe()
for _ in range(PROCESSES):
    if os.fork() == 0:
        place = LIBC.mmap(None, MAPPINGS * 4096, NOTHING, RESERVED, -1, 0)
        for at in range(1, MAPPINGS, 2):
            LIBC.mprotect(place + at * 4096, 4096, READ_ONLY)
        LIBC.mmap(None, 4 << 40, NOTHING, RESERVED, -1, 0)
        os.write(writer, b"x")
        time.sleep(30)
for _ in range(PROCESSES):
    os.read(reader, 1)
time.sleep(0.5)
print("fills", flush=True)
place = LIBC.mmap(None, 1000 << 20, WRITABLE, RESERVED, -1, 0)
for at in range(0, 1000 << 20, 8 << 20):
    LIBC.madvise(place + at, 8 << 20, POPULATE_WRITE)
print("ESCAPED: 1,000 MiB are filled under a limit of 256 MiB", flush=True)
time.sleep(20)
