# Tries: to fill the host's process table. It bounds itself at 3000, so that a broken jail does no harm.
# Report: success; fork fails long before the bound, and no process outlives the run.
import time
alive = 0
for _ in range(3000):
    try:
        child = os.fork()
    except OSError as error:
        notes.append(f"fork={errno.errorcode[error.errno]}")
        break
    if child == 0:
        time.sleep(30)
        os._exit(0)
    alive += 1
notes.append(f"processes={alive}")
if alive > 512:  # four times the default limit of a jail
    escapes.append(f"{alive} processes at once")
verdict()
