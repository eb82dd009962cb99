# Observes: reading standard input by lines, bytes, input() and to the end of file.
import os
import sys
print(repr(input("prompt> ")))
print(repr(sys.stdin.readline()), repr(sys.stdin.read(4)), sys.stdin.encoding)
print(repr(sys.stdin.buffer.readline()))
for line in sys.stdin:
    print(repr(line))
    if "stop" in line:
        break
print(repr(sys.stdin.read()), repr(sys.stdin.read()), os.read(0, 10))
try:
    input()
except EOFError as error:
    print(type(error), error)
