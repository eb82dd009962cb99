# Tries: to answer more than once: children that come back from the fork into the rest of the program, and end as it does
# but with other words and another status, before their parent and after it.
# Report: error with exit code 7; what a child returns is nobody's answer.
# Expect: status=error exit=7 last=the parent leaves
import time
parent = os.getpid()
first = os.fork()
if first == 0:
    print("CONTAINED: a child was the first to end", flush=True)
    sys.exit(0)
if os.fork() == 0:
    while os.getppid() == parent:
        time.sleep(0.01)
    time.sleep(1)
    print("ESCAPED: a child answers after its parent", flush=True)
    sys.exit(0)
os.waitpid(first, 0)
print("the parent leaves", flush=True)
sys.exit(7)
