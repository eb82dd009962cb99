# Tries: to have the kernel keep a line of megabytes for each file of /proc that is open.
# Report: out_of_memory; open files of /proc count.
# Expect: status=out_of_memory last=opens
# Memory: 256
# Timeout: 30
import time

LIBC.mmap.restype = ctypes.c_void_p
LIBC.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
READ_ONLY, PRIVATE_FIXED, LEVELS, NAME = 1, 0x12, 1500, "\n" * 255
directory = os.open("/tmp", os.O_RDONLY)
for _ in range(LEVELS):
    os.mkdir(NAME, dir_fd=directory)
    below = os.open(NAME, os.O_RDONLY, dir_fd=directory)
    os.close(directory)
    directory = below
file = os.open("f", os.O_RDWR | os.O_CREAT, dir_fd=directory)
os.ftruncate(file, 4096)
LIBC.mmap(0x10000, 4096, READ_ONLY, PRIVATE_FIXED, file, 0)  # the first line of the file
print("opens", flush=True)
kept = []
for _ in range(400):
    kept.append(os.open("/proc/self/maps", os.O_RDONLY))
    os.read(kept[-1], 100)
time.sleep(1)
print("ESCAPED: 400 lines of 1.5 MB are kept under a limit of 256 MiB", flush=True)
