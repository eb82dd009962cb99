# Tries: to stay below the limit with each of shared memory, files and private memory, and to pass it with all.
# Report: out_of_memory; they count together.
# Expect: status=out_of_memory last=all but private
# Memory: 96
# Timeout: 20
import mmap
import time

SIZE = 40 << 20
shared = mmap.mmap(-1, SIZE)
ctypes.memset((ctypes.c_char * SIZE).from_buffer(shared), 1, SIZE)
with open("/tmp/file", "wb") as file:
    for _ in range(SIZE >> 20):
        file.write(b"x" * (1 << 20))
print("all but private", flush=True)
private = ctypes.create_string_buffer(SIZE)
ctypes.memset(private, 1, SIZE)
time.sleep(2)
print("ESCAPED: three times 40 MiB under a limit of 96", flush=True)
