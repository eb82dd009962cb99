# Observes: KeyboardInterrupt that nobody catches ends the process by SIGINT, after atexit.
# Ends: killed SIGINT
import atexit
import os
import signal
atexit.register(print, "at exit")
try:
    os.kill(os.getpid(), signal.SIGINT)
    while True:
        pass
except KeyboardInterrupt as error:
    print("caught", repr(error))
print("not flushed", end="")


def inner():
    signal.raise_signal(signal.SIGINT)


inner()
