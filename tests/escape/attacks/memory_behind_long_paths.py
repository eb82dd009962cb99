# Tries: to keep whoever counts mappings busy with paths of megabytes, while another process fills memory.
# Report: out_of_memory; what is dear to read is not read again, and memory is looked at meanwhile.
# Expect: status=out_of_memory last=fills
# Memory: 256
# Timeout: 20
import time

LIBC.madvise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
LIBC.mmap.restype = ctypes.c_void_p
LIBC.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
READ_ONLY, NOTHING, PRIVATE_FIXED, RESERVED, WRITABLE, POPULATE_WRITE = 1, 0, 0x12, 0x4022, 3, 23
LEVELS, MAPPINGS, NAME = 7000, 5000, "\n" * 255  # each letter is written as four
# In pieces, each of which is hung below the one before it: Landlock looks at each directory above a new one.
pieces = []
for number in range(LEVELS // 100):
    os.mkdir(f"/tmp/{number}")
    directory = os.open(f"/tmp/{number}", os.O_RDONLY)
    for _ in range(100):
        os.mkdir(NAME, dir_fd=directory)
        below = os.open(NAME, os.O_RDONLY, dir_fd=directory)
        os.close(directory)
        directory = below
    pieces.append(directory)
for number in reversed(range(1, len(pieces))):
    os.rename(f"/tmp/{number}", NAME, dst_dir_fd=pieces[number - 1])
file = os.open("f", os.O_RDWR | os.O_CREAT, dir_fd=directory)
os.ftruncate(file, 8192)
reader, writer = os.pipe()
if os.fork() == 0:
    os.read(reader, 1)
    place = LIBC.mmap(None, 1000 << 20, WRITABLE, RESERVED, -1, 0)
    for at in range(0, 1000 << 20, 8 << 20):
        LIBC.madvise(place + at, 8 << 20, POPULATE_WRITE)
    print("ESCAPED: 1,000 MiB are filled under a limit of 256 MiB", flush=True)
    time.sleep(20)
place = LIBC.mmap(None, 1 << 40, NOTHING, RESERVED, -1, 0)
for at in range(MAPPINGS):
    LIBC.mmap(place + at * 4096, 4096, READ_ONLY, PRIVATE_FIXED, file, 4096 * (at % 2))
time.sleep(0.5)
print("fills", flush=True)
os.write(writer, b"x")
time.sleep(20)
