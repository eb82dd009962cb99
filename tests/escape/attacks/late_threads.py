# Tries: to add to its output and to change its end by daemon threads and by a child's threads, which go on when the main
# program has ended.
# Report: error with exit code 7, at once; nothing that comes later is there.
# Expect: status=error exit=7 last=main is done
# Within: 10
import threading
import time


parent = os.getpid()
main_is_done = threading.Event()


def late(is_child=False):
    if is_child:
        while os.getppid() == parent:
            time.sleep(0.01)
    else:
        main_is_done.wait()
    time.sleep(1)
    for _ in range(200):
        os.write(1, b"ESCAPED: a word from after the end\n")
        os.write(2, b"ESCAPED: a word from after the end\n")
        time.sleep(0.1)
    os._exit(0)


for _ in range(4):
    threading.Thread(target=late, daemon=True).start()
if os.fork() == 0:
    threading.Thread(target=late, args=(True,), daemon=True).start()
    late(True)
print("main is done", flush=True)
main_is_done.set()
sys.exit(7)
