# Observes: threads, forks and errors in functions that run at the exit, while the interpreter is whole, and an error of theirs.
import atexit
import os
import subprocess
import threading


def at_exit():
    thread = threading.Thread(target=print, args=("in a thread",))
    try:
        thread.start()
        thread.join()
    except RuntimeError as error:
        print(error)
    child = os.fork()
    if child == 0:
        print("in a fork", flush=True)
        os._exit(0)
    os.waitpid(child, 0)
    print(subprocess.run(["echo", "in a process"], capture_output=True, text=True, check=True).stdout, flush=True)


atexit.register(lambda: 1 / 0)
atexit.register(at_exit)
threading._register_atexit(lambda: print("threads end", flush=True))
threading._register_atexit(lambda: [][0])
