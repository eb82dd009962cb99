# Observes: whom /proc shows: the program alone, and its children by their numbers.
import os
import subprocess
print(sorted(os.listdir("/proc")))
child = subprocess.Popen(["/bin/sleep", "5"])
print(len([name for name in os.listdir("/proc") if name.isdigit()]))
child.kill()
print(child.wait())
for pid in (1, 2, 3, 4):
    try:
        print(pid, open(f"/proc/{pid}/comm").read())
    except OSError as error:
        print(pid, error)
print(os.path.exists("/proc/1"), os.path.exists("/proc/self/task"), os.path.exists("/proc/cpuinfo"), os.path.exists("/proc/meminfo"))
