# Observes: sys.exit below finally, with handlers at exit in their order, threads that live on, a raised one in a handler.
# Ends: error 7
import atexit
import sys
import threading
import time


def report(text):
    print(text, threading.current_thread().name, threading.main_thread().is_alive(), flush=True)


def fail():
    raise LookupError("in a handler")


atexit.register(report, "registered first")
atexit.register(fail)
atexit.register(report, "registered last")
gone = atexit.register(report, "taken back")
atexit.unregister(gone)
atexit.register(report, "again")


def outlive():
    late.wait()
    time.sleep(0.05)
    print("the thread ends", flush=True)


late = threading.Event()
threading.Thread(target=outlive).start()
threading.Thread(target=time.sleep, args=(30,), daemon=True).start()
threading._register_atexit(late.set)  # which is called after the next one
threading._register_atexit(report, "threading's own")
try:
    sys.exit(7)
finally:
    report("finally")
