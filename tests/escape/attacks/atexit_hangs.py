# Tries: to have ended with success and to hold on to its jail: hooks, a thread and an object that never let go.
# Report: timeout; nothing is left.
# Expect: status=timeout last=in the hook
# Timeout: 4
import atexit
import threading
import time


class Lingering:
    def __del__(self):
        while True:
            pass


def hook():
    print("in the hook", flush=True)
    while True:
        time.sleep(1)


held = Lingering()
held.itself = held
atexit.register(hook)
threading.Thread(target=time.sleep, args=(0.2,)).start()
sys.exit(0)
