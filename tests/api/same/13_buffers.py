# Observes: the order in which mixed and unflushed output arrives.
import ctypes
import os
import sys
libc = ctypes.CDLL(None)
print("text, unflushed", end="|")
os.write(1, b"by descriptor|")
libc.printf(b"by C stdio|")
sys.stdout.buffer.write(b"by the buffer|")
sys.stderr.write("error stream without newline")
sys.stdout.flush()
sys.stdout.buffer.raw.write(b"raw|")
libc.puts(b"second line of C")
print("x" * 9000, end="")
os.write(1, b"<after 9000>")
print("last", end="")
