# Observes: uncaught errors of a program that has imported some of what errors are printed with, in threads, too, and at the exit.
# Ends: error 1
# Template: python
import atexit
import enum
import re
import sys
import threading


class Color(enum.Enum):
    RED = re.compile("r")


def fail():
    atexit.register(lambda: print("traceback" in sys.modules, enum.Enum is sys.modules["enum"].Enum, Color.RED, flush=True))
    atexit.register(lambda: 1 / 0)
    try:
        undefined_nmae
    except NameError as error:
        raise ValueError("größe", Color.RED.value) from error


undefined_name = 1
thread = threading.Thread(target=fail)
thread.start()
thread.join()
fail()
