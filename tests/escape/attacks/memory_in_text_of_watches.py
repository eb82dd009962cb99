# Tries: to have the kernel keep text about every watch of an epoll instance for each file of /proc that is open.
# Report: out_of_memory; open files of /proc count as the text that they may have.
# Expect: status=out_of_memory last=opens
# Memory: 128
# Timeout: 40
import select
import time

instance = select.epoll()
watched = [os.eventfd(0) for _ in range(8)]  # more watches of one instance end the program before
for file in watched:
    for number in range(400, 900):
        os.dup2(file, number)
        instance.register(number, select.EPOLLIN)
    os.closerange(400, 900)
print("opens", flush=True)
kept = []
for _ in range(400):
    kept.append(os.open(f"/proc/self/fdinfo/{instance.fileno()}", os.O_RDONLY))
    os.read(kept[-1], 100)
time.sleep(1)
print("ESCAPED: 400 texts of 512 KB each are kept under a limit of 128 MiB", flush=True)
