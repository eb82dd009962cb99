# Tries: to be called out of memory: it holds most of what it may, says so, and kills itself as the kernel would.
# Report: killed by SIGKILL, which is what happened.
# Expect: status=killed signal=SIGKILL last=Out of memory: Killed process
import signal
import time
held = bytearray(150 << 20)
for place in range(0, len(held), 4096):
    held[place] = 1
time.sleep(0.1)
print("MemoryError\nOut of memory: Killed process", flush=True)
os.kill(os.getpid(), signal.SIGKILL)
