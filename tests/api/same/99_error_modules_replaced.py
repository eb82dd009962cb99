# Observes: an uncaught error of a program that has put something in the place of what errors are printed with, or of who prints them.
# Template: python
import atexit
import os
import sys


def in_the_place_of_a_module():
    sys.modules["textwrap"] = type(sys)("textwrap")


def in_the_place_of_all_modules():
    sys.modules = {}


def in_the_place_of_both_hooks():
    def hook(*error):
        print(error[1], "traceback" in sys.modules, flush=True)
    sys.excepthook = sys.__excepthook__ = hook


def no_stream():
    atexit.register(lambda: print([name in sys.modules for name in ("traceback", "linecache", "ast", "collections")], flush=True))
    sys.stderr = None


def fail(prepare):
    prepare()
    return len(prepare.__name__) + 1 / 0


for case in (in_the_place_of_a_module, in_the_place_of_all_modules, in_the_place_of_both_hooks, no_stream):
    print(case.__name__, flush=True)
    if os.fork() == 0:
        fail(case)
    print(os.wait()[1], flush=True)
