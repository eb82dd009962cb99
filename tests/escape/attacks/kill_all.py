# Tries: to kill and stop everything it may signal, and then to report success.
# Report: success; init is not among what it may kill.
import signal
import time
child = os.fork()
if child == 0:
    time.sleep(30)
    os._exit(0)
os.kill(-1, signal.SIGSTOP)
os.kill(-1, signal.SIGKILL)
os.waitpid(child, 0)
time.sleep(0.2)
notes.append("still here")
verdict()
