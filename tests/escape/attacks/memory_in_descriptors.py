# Tries: to keep memory in descriptors: in full pipes of many processes, and in epoll instances that watch all others.
# Report: out_of_memory; both count.
# Expect: status=out_of_memory last=watches
# Memory: 128
# Timeout: 20
import select
import time

PR_SET_DUMPABLE = 4
print("watches", flush=True)
filled, fill_up = os.pipe()


def watch():
    LIBC.prctl(PR_SET_DUMPABLE, 0)  # from here on nobody reads what this process has open
    instances, watched = [], []
    try:
        while len(instances) < 480:
            instances.append(select.epoll())
        while True:
            watched.append(os.eventfd(0))
    except OSError:
        pass
    for instance in instances:
        for one in watched:
            instance.register(one, select.EPOLLIN)
    os.write(fill_up, b"x")
    time.sleep(60)


def fill_pipes():
    kept = []
    try:
        while True:
            kept.append(os.pipe())
            os.set_blocking(kept[-1][1], False)
            try:
                while True:
                    os.write(kept[-1][1], b"x" * 65536)
            except BlockingIOError:
                pass
    except OSError:
        os.write(fill_up, b"x")
        time.sleep(60)


for work in 8 * [watch] + 4 * [fill_pipes]:
    if os.fork() == 0:
        work()
        os._exit(0)
for _ in range(12):
    os.read(filled, 1)
time.sleep(2)
print("ESCAPED: twelve processes keep what they have under a limit of 128 MiB", flush=True)
