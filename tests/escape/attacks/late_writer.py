# Tries: to add to the output, or to keep the caller waiting, by a child that holds the pipes after the end.
# Report: success at once; the child's late word is not there.
# Within: 10
import time
parent = os.getpid()
if os.fork() == 0:
    while os.getppid() == parent:
        time.sleep(0.01)
    time.sleep(1)
    os.write(1, b"ESCAPED: a word from after the end\n")
    time.sleep(30)
    os._exit(0)
notes.append("left a child behind")
verdict()
