# Tries: to have an epoll instance watch many files under one number after the other.
# Report: out_of_memory; watches count, whatever number they were added under.
# Expect: status=out_of_memory last=watches
# Memory: 40
# Timeout: 40
import select
import time

print("watches", flush=True)
instance = select.epoll()
watched = [os.eventfd(0) for _ in range(450)]
for file in watched:
    for number in range(500, 1000):
        os.dup2(file, number)
        instance.register(number, select.EPOLLIN)
    os.closerange(500, 1000)
time.sleep(1)
print("ESCAPED: 225,000 watches live under a limit of 40 MiB", flush=True)
