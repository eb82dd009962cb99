# Tries: to take down whoever would report or serve the next request: every signal to every group, to init, with values,
# by pidfd; and memory, descriptors and processes used up while it does so.
# Report: success; it can signal nobody but itself.
import signal
for number in range(1, 65):
    if number not in (9, 19, 32, 33):
        try:
            signal.signal(number, signal.SIG_IGN)
        except (OSError, ValueError):
            pass
for number in (1, 2, 9, 15, 17, 19, 20, 34, 64):
    for pid in (1, os.getppid(), -2147483648):
        try:
            os.kill(pid, number)
            notes.append(f"kill {pid} {number} had no effect")
        except OSError as error:
            notes.append(f"kill {pid} {number}={errno.errorcode[error.errno]}")
descriptor, error = call("pidfd_open", 1, 0)
if error is None:
    for number in (9, 15, 19):
        call("pidfd_send_signal", descriptor, number, None, 0)
must_fail("pidfd_getfd", "pidfd_getfd", descriptor, 0, 0)
opened = []
try:
    while True:
        opened.append(os.dup(0))
except OSError:
    pass
for each in opened:
    os.close(each)
verdict()
