# Tries: to be called late: it dies by the signal that the kernel sends to whoever uses up its processor time.
# Report: killed by SIGXCPU, which is what happened.
# Expect: status=killed signal=SIGXCPU last=CPU time limit exceeded
import signal
signal.signal(signal.SIGXCPU, signal.SIG_DFL)
print("CPU time limit exceeded", flush=True)
os.kill(os.getpid(), signal.SIGXCPU)
