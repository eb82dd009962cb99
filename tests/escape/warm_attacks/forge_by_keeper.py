# Tries: to delay or forge its end by what shares its jail unseen: finds it by signals, stops it, writes over all memory
# that it could run on, lets it go on, kills it, and ends.
# Report: error with exit code 7, as soon as the program ends.
# Expect: status=error exit=7 last=leaves
# Within: 8
import signal
found = []
for pid in range(2, 32769):
    try:
        if pid != os.getpid():
            os.kill(pid, 0)
            found.append(pid)
    except OSError:
        pass
for number in (signal.SIGSTOP, signal.SIGCONT, signal.SIGSEGV, signal.SIGUSR1, signal.SIGSTOP):
    for pid in found:
        os.kill(pid, number)
for pid in found:
    # Every signal so far was one of this program's own user's: what is left is to die late.
    if os.fork() == 0:
        os.kill(pid, signal.SIGSTOP)
        os._exit(0)
print("leaves", flush=True)
os._exit(7)
