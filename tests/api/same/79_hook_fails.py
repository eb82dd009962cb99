# Observes: an excepthook that fails itself.
# Ends: error 1
import sys


def hook(*_):
    raise TypeError("in the hook")


sys.excepthook = hook
raise ValueError("to the hook")
