# Tries: to have the kernel make a page table for each page that is read once.
# Report: out_of_memory; page tables count.
# Expect: status=out_of_memory last=reads
# Memory: 64
# Timeout: 20
LIBC.mmap.restype = ctypes.c_void_p
LIBC.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
SIZE, TABLE = 1 << 30, 2 << 20
READ_ONLY, PRIVATE_ANONYMOUS_NORESERVE = 1, 0x4022
print("reads", flush=True)
for _ in range(160):
    place = LIBC.mmap(None, SIZE, READ_ONLY, PRIVATE_ANONYMOUS_NORESERVE, -1, 0)
    for at in range(place, place + SIZE, TABLE):
        ctypes.c_char.from_address(at).value
print("ESCAPED: 320 MiB of page tables under a limit of 64", flush=True)
