# Observes: the memory limit.
# Ends: out_of_memory
import time
print("grows", flush=True)
kept = []
for _ in range(300):
    kept.append(bytearray(b"x") * (4 << 20))
    time.sleep(0.005)
print("never")
