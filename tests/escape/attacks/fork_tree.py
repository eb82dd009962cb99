# Tries: a fork bomb in which every process forks, eleven generations deep (2048 at most).
# Report: success; the processes that could not be made are not there, and none outlives the run.
import time
made = os.open("/tmp/made", os.O_CREAT | os.O_WRONLY | os.O_APPEND)
first = os.getpid()
for _ in range(11):
    try:
        os.fork()
        os.write(made, b".")
    except OSError:
        pass
if os.getpid() != first:
    time.sleep(30)
    os._exit(0)
time.sleep(0.5)
visible = sum(name.isdigit() for name in os.listdir("/proc"))
notes.append(f"processes={visible}")
if visible > 512:
    escapes.append(f"{visible} processes at once")
verdict()
