# Tries: to fill the host's thread table. It bounds itself at 3000.
# Report: success; a thread cannot be made long before the bound.
import threading
gate = threading.Event()
threading.stack_size(64 << 10)
alive = 0
for _ in range(3000):
    try:
        threading.Thread(target=gate.wait, daemon=True).start()
    except (RuntimeError, OSError) as error:
        notes.append(f"thread={error}")
        break
    alive += 1
notes.append(f"threads={alive}")
if alive > 512:
    escapes.append(f"{alive} threads at once")
verdict()
sys.stdout.flush()
os._exit(0)
