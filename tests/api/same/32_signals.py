# Observes: dispositions and masks, and signals of every kind delivered to the program.
import os
import signal
import threading
import time
print([(number, repr(signal.getsignal(number))) for number in sorted(signal.valid_signals())])
print(signal.getsignal(signal.SIGINT) is signal.default_int_handler, signal.pthread_sigmask(signal.SIG_BLOCK, []), signal.sigpending())
print(signal.set_wakeup_fd(-1), signal.getitimer(signal.ITIMER_REAL), signal.alarm(0))
heard = []
for number in (signal.SIGUSR1, signal.SIGALRM, signal.SIGTERM, signal.SIGCHLD, signal.SIGVTALRM, signal.SIGRTMIN):
    print(signal.signal(number, lambda number, frame: heard.append((signal.Signals(number).name if number < 32 else number, frame.f_code.co_name))))
os.kill(os.getpid(), signal.SIGUSR1)
signal.raise_signal(signal.SIGTERM)
signal.pthread_kill(threading.main_thread().ident, signal.SIGUSR1)
signal.pthread_kill(threading.get_ident(), signal.SIGRTMIN)
print(heard)
del heard[:]
signal.setitimer(signal.ITIMER_REAL, 0.02)
while not heard:
    time.sleep(0.001)
signal.setitimer(signal.ITIMER_VIRTUAL, 0.01)
while len(heard) < 2:
    pass
print(heard)
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])
os.kill(os.getpid(), signal.SIGUSR1)
print(signal.sigpending(), signal.sigwait([signal.SIGUSR1]), signal.sigtimedwait([signal.SIGUSR1], 0))
worker = threading.Thread(target=lambda: signal.pthread_kill(threading.main_thread().ident, signal.SIGTERM))
worker.start()
worker.join()
time.sleep(0.01)
print(heard[-1])
os.kill(0, signal.SIGTERM)
os.killpg(os.getpgrp(), signal.SIGTERM)
print(len(heard))
print(open("/proc/self/status").read().split("SigPnd")[1].split("CapInh")[0])
