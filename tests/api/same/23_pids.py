# Observes: numbers of processes: its own, its parent's, its children's in order, who is whose parent.
import os
print(os.getpid(), os.getppid(), os.getpgrp(), os.getsid(0), os.getpgid(0))
sys_gettid = __import__("threading").get_native_id()
print(sys_gettid == os.getpid(), sorted(int(name) for name in os.listdir("/proc/self/task")))
for generation in range(3):
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(writer, f"{os.getpid()} {os.getppid()} {os.getpgrp()} {os.getsid(0)}".encode())
        os._exit(generation)
    print(child, os.read(reader, 100), os.waitpid(child, 0)[1])
    os.close(reader)
    os.close(writer)
