# Observes: the deadline, with output before it.
# Ends: timeout
import time
print("flushed", flush=True)
print("not flushed")
time.sleep(100)
