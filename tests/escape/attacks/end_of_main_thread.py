# Tries: to answer twice: its main thread ends by itself with status 0, and the program goes on in another thread.
# Report: error with exit code 7, which is how the whole process ends.
# Expect: status=error exit=7 last=the second end
import threading
import time


def go_on():
    time.sleep(0.7)
    os.write(1, b"the second end\n")
    os._exit(7)


threading.Thread(target=go_on).start()
exit_of_one_thread = {"x86_64": 60, "aarch64": 93}[platform.machine()]
LIBC.syscall(ctypes.c_long(exit_of_one_thread), ctypes.c_long(0))
