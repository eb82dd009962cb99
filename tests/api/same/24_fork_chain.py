# Observes: chains of forks, each with output of its own, orphans, and what wait says of each.
import os
import sys
import time


def chain(depth):
    if depth == 0:
        return
    print("depth", depth, flush=True)
    child = os.fork()
    if child == 0:
        chain(depth - 1)
        sys.stdout.flush()
        os._exit(depth)
    print(depth, os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)


chain(4)
reader, writer = os.pipe()
if os.fork() == 0:
    parent = os.getpid()
    if os.fork() == 0:
        while os.getppid() == parent:
            time.sleep(0.001)
        os.write(writer, f"orphan below {os.getppid()}".encode())
        os._exit(0)
    os._exit(0)
print(os.waitstatus_to_exitcode(os.wait()[1]))
print(os.read(reader, 100))
try:
    os.wait()
except ChildProcessError as error:
    print(error)
child = os.fork()
if child == 0:
    os.kill(os.getpid(), 9)
status = os.waitpid(child, 0)[1]
print(os.WIFSIGNALED(status), os.WTERMSIG(status), os.WCOREDUMP(status))
print("buffered once", end=" ")
child = os.fork()
if child == 0:
    sys.exit(0)
os.waitpid(child, 0)
print("and twice")
