# Tries: to outlive its deadline by stopping itself, so that it uses no processor time.
# Report: timeout; no process is left.
# Expect: status=timeout last=stops
# Timeout: 4
import signal
print("stops", flush=True)
os.kill(os.getpid(), signal.SIGSTOP)
import time
time.sleep(60)
