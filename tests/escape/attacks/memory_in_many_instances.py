# Tries: to have many epoll instances watch files under numbers that these do not have any more.
# Report: out_of_memory; the watches of all instances count.
# Expect: status=out_of_memory last=watches
# Memory: 64
# Timeout: 40
import select
import time

print("watches", flush=True)
watched = [os.eventfd(0) for _ in range(6)]
instances = [select.epoll() for _ in range(200)]
for file in watched:
    for number in range(400, 900):
        os.dup2(file, number)
        for instance in instances:
            instance.register(number, select.EPOLLIN)
    os.closerange(400, 900)
time.sleep(1)
print("ESCAPED: 600,000 watches live under a limit of 64 MiB", flush=True)
