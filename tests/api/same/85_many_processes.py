# Observes: the bound on processes and threads. One process fewer is not seen: in a warm jail the
# bound counts the one that keeps the guest's memory.
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
most, _ = resource.getrlimit(resource.RLIMIT_NPROC)
print(len(made) in (most - 2, most - 3), most)
for child in made:
    os.kill(child, 9)
    os.waitpid(child, 0)
threads = []
try:
    for _ in range(200):
        threads.append(threading.Thread(target=time.sleep, args=(10,), daemon=True))
        threads[-1].start()
except RuntimeError as error:
    print(error, len(threads) - 1 in (most - 2, most - 3))
sys.stdout.flush()
os._exit(0)
