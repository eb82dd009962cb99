# Tries: to fill memory in a thread whose process's first thread has left, so that the process's own files show none.
# Report: out_of_memory.
# Expect: status=out_of_memory last=fills
# Memory: 64
import threading
import time

BLOCK = 8 << 20


def fill():
    time.sleep(0.3)
    print("fills", flush=True)
    kept = []
    for _ in range(40):
        kept.append(ctypes.create_string_buffer(BLOCK))
        ctypes.memset(kept[-1], 1, BLOCK)
        time.sleep(0.02)
    print("ESCAPED: 320 MiB under a limit of 64", flush=True)
    os._exit(0)


threading.Thread(target=fill).start()
exit_of_one_thread = {"x86_64": 60, "aarch64": 93}[platform.machine()]
LIBC.syscall(ctypes.c_long(exit_of_one_thread), ctypes.c_long(0))
