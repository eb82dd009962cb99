# Observes: big allocations, the refusal of one that is too big, and life after it.
# Ends: error 1
import mmap
import resource
print(resource.getrlimit(resource.RLIMIT_DATA), resource.getrlimit(resource.RLIMIT_AS))
block = bytearray(60 << 20)
block[-1] = 7
print(len(block), sum(block[-10:]))
del block
reserved = mmap.mmap(-1, 4 << 30, flags=mmap.MAP_SHARED | 0x4000)  # MAP_NORESERVE
print(len(reserved))
reserved.close()
for size in (1 << 31, 1 << 40, 1 << 62):
    try:
        bytearray(size)
        print("granted", size)
    except MemoryError as error:
        print("refused", size, repr(error))
try:
    [0] * (1 << 62)
except (MemoryError, OverflowError) as error:
    print(repr(error))
print(len([str(number) for number in range(200_000)]))
"x" * (1 << 44)
