# Tries: to fail and to be called a success, by poisoning whatever could report it: the ways to exit, to print, to
# serialise, the streams, the hooks, the modules and the builtins.
# Report: error with exit code 1, from an exception that nobody caught.
# Expect: status=error exit=1 last=raises
import atexit
import builtins
import gc
import io
import json
import pickle
import signal
import struct
import threading
import traceback
print("raises", flush=True)
leave = os._exit


def lie(*_, **__):
    return "success"


for module, names in ((json, ("dumps", "dump", "JSONEncoder")), (pickle, ("dumps", "dump")), (struct, ("pack",)),
                      (traceback, ("format_exc", "print_exc", "print_exception", "format_exception")),
                      (threading, ("_shutdown", "excepthook")), (gc, ("collect", "freeze")), (atexit, ("register", "unregister")),
                      (os, ("write", "_exit", "abort", "kill", "dup2", "close")), (sys, ("exit", "displayhook"))):
    for name in names:
        setattr(module, name, lie)
sys.excepthook = sys.unraisablehook = lambda *_: None
sys.stdout = sys.stderr = sys.__stdout__ = sys.__stderr__ = io.StringIO("success")
sys.last_value = sys.last_traceback = None
for name in ("_io", "posix", "signal", "os", "__main__"):
    sys.modules[name] = None
builtins.SystemExit = builtins.BaseException = builtins.Exception = ValueError
builtins.print = builtins.exit = builtins.quit = builtins.repr = lie
sys.setrecursionlimit(100)
sys.settrace(lambda *_: None)
signal.signal = lie
raise ValueError("nobody says so")
