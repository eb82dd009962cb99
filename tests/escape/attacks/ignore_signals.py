# Tries: to outlive its deadline by ignoring every signal, in four processes.
# Report: timeout; no process is left.
# Expect: status=timeout last=ignores
# Timeout: 4
import signal
import time
for number in range(1, 65):
    try:
        signal.signal(number, signal.SIG_IGN)
    except (OSError, ValueError):
        pass
os.fork()
os.fork()
print("ignores", flush=True)
while True:
    time.sleep(1)
