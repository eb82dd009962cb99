# Observes: a crash in C.
# Template: python
# Ends: killed SIGSEGV
import ctypes
import faulthandler
faulthandler.enable()
print("here", flush=True)


def crash():
    ctypes.string_at(8)


crash()
