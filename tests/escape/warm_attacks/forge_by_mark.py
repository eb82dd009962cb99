# Tries: to have init take the end of a child, or of a thread of one, for the program's, by the mark with which a program's own
# exit_group() is announced to init; and to be reported as a success before it has ended.
# Report: error with exit code 7, which is how the program ends.
# Expect: status=error exit=7 last=leaves
# Within: 8
import threading
MARK = 0x6A61696C20656E64
EXIT, EXIT_GROUP = {"x86_64": (60, 231), "aarch64": (93, 94)}[platform.machine()]


def end(status):
    LIBC.syscall(ctypes.c_long(EXIT_GROUP), ctypes.c_long(status), ctypes.c_ulong(MARK))


def child(action):
    pid = os.fork()
    if pid == 0:
        action()
        os._exit(99)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0


def by_thread():
    threading.Thread(target=end, args=(0,)).start()
    while True:
        pass


def without_its_first_thread():
    threading.Thread(target=lambda: (os.sched_yield(), end(0))).start()
    LIBC.syscall(ctypes.c_long(EXIT), ctypes.c_long(0))


for _ in range(20):
    child(lambda: end(0))
child(by_thread)
child(without_its_first_thread)
# A grandchild, which init has to reap.
if os.fork() == 0:
    if os.fork() == 0:
        end(0)
    os._exit(0)
os.wait()
# exit() takes no mark, nor does any other call.
child(lambda: LIBC.syscall(ctypes.c_long(EXIT), ctypes.c_long(0), ctypes.c_ulong(MARK)))
print("leaves", flush=True)
end(7)
