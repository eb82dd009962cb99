# Observes: a call of another architecture, x32, which the policy answers with death.
# Ends: violation SIGSYS
import ctypes
print("calls", flush=True)
ctypes.CDLL(None).syscall(ctypes.c_long(0x40000000 | 39))
