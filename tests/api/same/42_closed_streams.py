# Observes: streams closed, replaced and detached; printing goes on where it can.
import io
import os
import sys
sys.stdout.close()
try:
    print("to nobody")
except ValueError as error:
    sys.stderr.write(f"{error}\n")
sys.stdout = io.TextIOWrapper(open(os.dup(2), "wb"), line_buffering=True)
print("to standard error", sys.__stdout__.closed, sys.__stdout__)
sys.stdin.close()
try:
    input()
except ValueError as error:
    print(error)
sys.stdout = None
print("nothing at all")
sys.stderr = None
raise SystemExit(0)
