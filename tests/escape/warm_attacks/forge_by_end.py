# Tries: to forge its result while it ends: everything that runs after the last line is replaced by code of its own, in
# the program, in its child and in a thread.
# Report: error with exit code 9, by the first exception; nothing that is printed later changes it.
# Expect: status=error exit=9 last=at exit
import atexit
import io
import threading


class Stream(io.TextIOWrapper):
    def flush(self):
        super().flush()
        raise KeyboardInterrupt


class Leaving(SystemExit):
    @property
    def code(self):
        threading._shutdown = atexit._run_exitfuncs = lambda: (_ for _ in ()).throw(SystemExit(0))
        return 9

    @code.setter
    def code(self, value):
        pass


atexit.register(lambda: os.write(1, b"at exit\n"))
sys.modules.pop("threading")
sys.excepthook = sys.unraisablehook = None
raise Leaving(0)
