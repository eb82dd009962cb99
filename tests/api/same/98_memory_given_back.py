# Observes: that memory which a program frees is there for what it makes next, large and small. Not looked at: how much of it the
# allocators keep.
import gc
import sys


def resident_mb():
    return int(open("/proc/self/statm").read().split()[1]) >> 8


def peak_mb(make):
    things = make()
    peak = resident_mb()
    del things
    gc.collect()
    return peak


MAKERS = {
    "one block": lambda: bytearray(b"x") * (24 << 20),
    "blocks": lambda: [bytes(1 << 20) + b"x" for _ in range(24)],
    "pages": lambda: [bytearray(b"x") * 5000 for _ in range(4000)],
    "strings": lambda: [str(number) * 5 for number in range(200_000)],
    "tuples": lambda: [(number, number) for number in range(180_000)],
    "names": lambda: {"name%d" % number: [number] for number in range(80_000)},
}
for name, make in MAKERS.items():
    first, *_, last = [peak_mb(make) for _ in range(4)]
    print(name, last <= first + 8 or (first, last))
print(sys.getallocatedblocks() > 0)
