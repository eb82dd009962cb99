# Observes: the bound on processes and threads, from below and at it.
import os
import resource
import sys
import threading
import time
made = []
for _ in range(200):
    try:
        child = os.fork()
    except OSError as error:
        print(error)
        break
    if child == 0:
        time.sleep(10)
        os._exit(0)
    made.append(child)
print(len(made), resource.getrlimit(resource.RLIMIT_NPROC))
for child in made:
    os.kill(child, 9)
    os.waitpid(child, 0)
threads = []
try:
    for _ in range(200):
        threads.append(threading.Thread(target=time.sleep, args=(10,), daemon=True))
        threads[-1].start()
except RuntimeError as error:
    print(error, len(threads) - 1)
sys.stdout.flush()
os._exit(0)
