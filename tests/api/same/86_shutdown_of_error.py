# Observes: what still works in a finalizer that runs after an uncaught error: the error, forks, threads where they are refused
# and do not hang, and an error of its own.
# Ends: error 1
import builtins
import os
import sys
import threading


class Last:
    def attempt(self, what, action):
        try:
            print(what, action(), flush=True)
        except BaseException as error:
            print(what, type(error).__name__, error, flush=True)

    def __del__(self):
        self.attempt("names", lambda: [getattr(sys, name, "") is None for name in ("last_exc", "last_value", "path_hooks", "meta_path", "argv")])
        if hasattr(builtins, "PythonFinalizationError"):
            self.attempt("thread", lambda: threading.Thread(target=int).start())
            self.attempt("fork", os.fork)
        raise ValueError("ignored")


def fail():
    local = Last()
    raise KeyError("uncaught", type(local).__name__)


fail()
