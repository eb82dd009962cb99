# Observes: threads: identities, names, locks, locals, results, an unjoined one at the end.
import ctypes
import os
import queue
import threading
import time
main = threading.main_thread()
print(main is threading.current_thread(), main.name, main.daemon, main.native_id == os.getpid(), main.ident == threading.get_ident())
print(threading.stack_size(), threading.TIMEOUT_MAX, threading.active_count(), threading.gettrace())
libc = ctypes.CDLL(None)
libc.pthread_self.restype = ctypes.c_ulong
print(libc.pthread_self() == threading.get_ident(), libc.gettid() == threading.get_native_id())
attributes = ctypes.create_string_buffer(256)
address, size = ctypes.c_void_p(), ctypes.c_size_t()
print(libc.pthread_getattr_np(ctypes.c_ulong(libc.pthread_self()), attributes),
      libc.pthread_attr_getstack(attributes, ctypes.byref(address), ctypes.byref(size)),
      abs(size.value - (8 << 20)) < 1 << 20)
total, lock, results = 0, threading.RLock(), queue.Queue()


def add(number):
    global total
    for _ in range(2000):
        with lock, lock:
            total += 1
    results.put((number, threading.current_thread().name, threading.get_native_id() != os.getpid()))


workers = [threading.Thread(target=add, args=(number,)) for number in range(8)]
for worker in workers:
    worker.start()
print(threading.active_count() >= 1, len(os.listdir("/proc/self/task")) >= 1)
for worker in workers:
    worker.join()
print(total, sorted(results.get() for _ in workers), threading.active_count())
barrier, event, local = threading.Barrier(3), threading.Event(), threading.local()
for number in range(2):
    threading.Thread(target=barrier.wait).start()
barrier.wait()
timer = threading.Timer(0.01, event.set)
timer.start()
print(event.wait(5), timer.name, hasattr(local, "x"))
semaphore = threading.BoundedSemaphore(1)
print(semaphore.acquire(), semaphore.acquire(timeout=0.01), lock)
late = threading.Event()
threading._register_atexit(late.set)
threading.Thread(target=lambda: (late.wait(), time.sleep(0.02), print("the last word"))).start()
threading.Thread(target=lambda: time.sleep(60), daemon=True).start()
print("main is done")
