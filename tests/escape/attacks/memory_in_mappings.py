# Tries: to have the kernel remember many mappings in many processes, none of which has a page.
# Report: out_of_memory; mappings count.
# Expect: status=out_of_memory last=divides
# Memory: 64
# Timeout: 20
import time

LIBC.mmap.restype = ctypes.c_void_p
LIBC.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
READ_ONLY, PRIVATE_ANONYMOUS_NORESERVE = 1, 0x4022
MAPPINGS, PROCESSES = 60_000, 40
PR_SET_DUMPABLE = 4
print("divides", flush=True)
LIBC.prctl(PR_SET_DUMPABLE, 0)  # from here on nobody reads what this process has mapped
place = LIBC.mmap(None, MAPPINGS * 4096, READ_ONLY, PRIVATE_ANONYMOUS_NORESERVE, -1, 0)
for at in range(place, place + MAPPINGS * 4096, 2 * 4096):
    LIBC.mprotect(ctypes.c_void_p(at), ctypes.c_size_t(4096), 0)
for _ in range(PROCESSES):
    if os.fork() == 0:
        time.sleep(20)
        os._exit(0)
time.sleep(5)
print("ESCAPED: 40 processes of 60,000 mappings live under a limit of 64 MiB", flush=True)
