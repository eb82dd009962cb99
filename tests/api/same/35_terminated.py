# Observes: the default action of a signal, with output that was not flushed.
# Ends: killed SIGTERM
import os
import signal
print("flushed", flush=True)
print("lost")
print(signal.getsignal(signal.SIGTERM))
os.kill(os.getpid(), signal.SIGTERM)
