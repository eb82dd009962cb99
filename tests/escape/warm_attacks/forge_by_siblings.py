# Tries: to forge its result by a child that becomes its sibling (CLONE_PARENT), whose end its parent would see, and by
# children that run the end of the program too.
# Report: error with exit code 7.
# Expect: status=error exit=7 last=leaves
import sys
SIGCHLD, CLONE_PARENT = 17, 0x8000
for flags in (CLONE_PARENT | SIGCHLD, CLONE_PARENT):
    result, error = call("clone", flags, 0, 0, 0, 0)
    if result == 0:
        os._exit(0)
for _ in range(3):
    if os.fork() == 0:
        sys.exit(0)  # by the way of the main program
import time
time.sleep(0.3)
print("leaves", flush=True)
sys.exit(7)
