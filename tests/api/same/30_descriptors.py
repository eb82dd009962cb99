# Observes: open descriptors, the number of the next one, what children inherit.
import os
import subprocess
import sys
print(sorted(os.listdir("/proc/self/fd")), os.dup(0), os.open("/dev/null", os.O_RDONLY), os.pipe())
opened = []
for number in range(6, 1024):
    try:
        os.fstat(number)
        opened.append(number)
    except OSError:
        pass
print(opened)
sys.stdout.flush()
subprocess.run(["/bin/sh", "-c", "cd /proc/self/fd && echo *"], check=True)
subprocess.run([sys.executable, "-c", "import os; print(os.listdir('/proc/self/fd'))"], check=True)
subprocess.run(["/bin/sh", "-c", "cd /proc/self/fd && echo *"], close_fds=False, check=True)
made = []
try:
    while True:
        made.append(os.dup(0))
except OSError as error:
    print(error, len(made), made[-1])
