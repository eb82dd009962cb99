# Observes: standard streams that are replaced, closed and let go of, and what was in their buffers. Modules of others may hold one.
# Template: python
# Ends: error 120
import gc
import io
import os
import sys
import weakref

print("in the first buffer")
first = sys.stdout
watched = weakref.ref(first)
sys.stdout = io.StringIO()
print("kept in memory")
kept, sys.stdout = sys.stdout.getvalue(), first
print(repr(kept), watched() is sys.__stdout__)

other = os.dup(1)
sys.stdout = open(other, "w", encoding="utf-8")
print("in the second buffer")
sys.stdout = first                    # the last name of the other: its buffer is written
gc.collect()
try:
    os.fstat(other)
except OSError as error:
    print("closed with its stream:", error, flush=True)

wrapper = io.TextIOWrapper(io.FileIO(os.dup(1), "w"), encoding="ascii", line_buffering=True)
print("through a wrapper", file=wrapper)
raw = wrapper.detach()
raw.write(b"through what was below it\n")
del raw, wrapper
sys.stderr.write("an error\n")
sys.stderr = None
print("nowhere", file=sys.stderr)
print(sys.stdin.read(), sys.stdin.closed, flush=True)
sys.stdin.close()
sys.stdin = None
print(sys.__stdin__.closed, first.fileno(), flush=True)
sys.stdout = sys.__stdout__ = first = None
gc.collect()
print(watched() is None or watched().closed, os.write(1, b"the descriptor is open\n"), file=sys.__stderr__, flush=True)
sys.stdout = open(os.dup(1), "w", encoding="utf-8")
print("until the end")
os.close(sys.stdout.fileno())
