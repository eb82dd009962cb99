# Tries: to pass the memory limit by many processes of which each stays inside.
# Report: out_of_memory; the sum counts.
# Expect: status=out_of_memory last=grows
# Memory: 64
import time
print("grows", flush=True)
filled, fill = os.pipe()
for _ in range(10):
    if os.fork() == 0:
        kept = bytearray(os.urandom(4096)) * (30 << 8)  # 30 MiB
        os.write(fill, b"x")
        time.sleep(60)
        os._exit(0)
for _ in range(10):
    os.read(filled, 1)
print("ESCAPED: ten times 30 MiB live under a limit of 64", flush=True)
