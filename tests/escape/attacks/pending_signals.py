# Tries: to have more signals and timers waiting than its limit says; the kernel keeps each of them.
# Report: success; there are 1,024 of both together.
import ctypes
import platform
import signal

NUMBERS["timer_create"] = {"x86_64": 222, "aarch64": 107}[platform.machine()]
MOST = 1024
signal.pthread_sigmask(signal.SIG_BLOCK, range(signal.SIGRTMIN, signal.SIGRTMAX + 1))
# si_signo, si_errno and si_code of siginfo_t; -1 is SI_QUEUE, which is refused where there is no room.
info = (ctypes.c_int * 32)(signal.SIGRTMIN, 0, -1)
timer = ctypes.c_int()


def queue():
    return call("rt_sigqueueinfo", os.getpid(), int(signal.SIGRTMIN), ctypes.byref(info))[1]


def make_timer():
    return call("timer_create", 1, None, ctypes.byref(timer))[1]


def as_many(make, most):
    """How many there are when it is refused, and by which error; at most `most`."""
    for made in range(most):
        error = make()
        if error is not None:
            return made, error
    return most, None


signals, _ = as_many(queue, MOST // 2)
timers, no_timer = as_many(make_timer, 4 * MOST)
more, no_signal = as_many(queue, 4 * MOST)
notes.append(f"{signals} + {more} signals ({no_signal}), {timers} timers ({no_timer})")
if signals + more + timers > MOST or "EAGAIN" not in (no_timer, no_signal):
    escapes.append(f"{signals + more} signals and {timers} timers wait")
verdict()
