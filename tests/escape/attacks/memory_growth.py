# Tries: to grow past the memory limit by 1 MiB at a time. It bounds itself at 2 GiB.
# Report: out_of_memory; the program is killed, not told.
# Expect: status=out_of_memory last=grows
# Memory: 64
print("grows", flush=True)
kept = []
try:
    for _ in range(2048):
        kept.append(bytearray(os.urandom(4096)) * 256)
except MemoryError:
    # RLIMIT_DATA says so before the watchdog looks: the growth goes on where that limit does not count.
    del kept
    import mmap
    kept = [mmap.mmap(-1, 1 << 20) for _ in range(2048)]
    for page in kept:
        page.write(b"x" * (1 << 20))
print("ESCAPED: 2 GiB were taken", flush=True)
