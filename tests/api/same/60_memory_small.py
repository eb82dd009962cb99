# Observes: how much memory a program gets under a small limit before it is refused, to 16 MiB.
kept = []
try:
    while len(kept) < 64:
        kept.append(bytearray(16 << 20))
    print("never refused")
except MemoryError:
    count = len(kept)
    del kept
    print("refused after", count)
import resource
print(resource.getrlimit(resource.RLIMIT_DATA))
