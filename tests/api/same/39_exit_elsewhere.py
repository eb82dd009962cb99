# Observes: SystemExit in a thread, in a handler at exit, in a destructor; errors that nobody can raise.
import atexit
import sys
import threading


class Loud:
    def __del__(self):
        raise ValueError("in a destructor")


def leave():
    sys.exit(5)


worker = threading.Thread(target=leave)
worker.start()
worker.join()
worker = threading.Thread(target=lambda: 1 / 0, name="dividing")
worker.start()
worker.join()
Loud()
sys.unraisablehook = lambda unraisable: print("hook", unraisable.exc_value, unraisable.err_msg)
Loud()
threading.excepthook = lambda arguments: print("thread hook", arguments.exc_type, arguments.thread.name)
worker = threading.Thread(target=lambda: 1 / 0, name="dividing")
worker.start()
worker.join()
atexit.register(leave)
print("the end")
