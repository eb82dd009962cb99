# Observes: standard input that nobody filled.
# Ends: error 1
import select
import sys
print(select.select([0], [], [], 0)[0], repr(sys.stdin.read()), sys.stdin.readlines(), list(sys.stdin))
print("asked", end=" ")
input("what? ")
