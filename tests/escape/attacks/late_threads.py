# Tries: to add to its output and to change its end by daemon threads and by a child's threads, which go on when the main
# program has ended.
# Report: error with exit code 7, at once; nothing that comes later is there.
# Expect: status=error exit=7 last=main is done
# Within: 5
import threading
import time


def late():
    time.sleep(1)
    for _ in range(20):
        os.write(1, b"ESCAPED: a word from after the end\n")
        os.write(2, b"ESCAPED: a word from after the end\n")
        time.sleep(0.1)
    os._exit(0)


for _ in range(4):
    threading.Thread(target=late, daemon=True).start()
if os.fork() == 0:
    threading.Thread(target=late, daemon=True).start()
    late()
print("main is done", flush=True)
sys.exit(7)
