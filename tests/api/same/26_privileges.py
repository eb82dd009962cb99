# Observes: capabilities, no_new_privs, process controls and what the kernel told libc at execve.
import ctypes
import os
libc = ctypes.CDLL(None, use_errno=True)
for line in open("/proc/self/status"):
    if line.startswith(("Cap", "NoNewPrivs", "Seccomp", "Speculation", "Groups")):
        print(line, end="")
# pdeathsig dumpable keepcaps timing seccomp tsc securebits timerslack mce subreaper no_new_privs thp io_flusher
for option in (3, 7, 13, 21, 27, 30, 34, 39, 42, 58):
    print(option, libc.prctl(option, 0, 0, 0, 0), ctypes.get_errno())
for option in (2, 25, 37):
    answer = ctypes.c_int(-1)
    print(option, libc.prctl(option, ctypes.byref(answer), 0, 0, 0), answer.value)
name = ctypes.create_string_buffer(16)
print(libc.prctl(16, name, 0, 0, 0), name.value)
for capability in (0, 7, 21, 40):
    print(capability, libc.prctl(23, capability, 0, 0, 0))
libc.getauxval.restype = ctypes.c_ulong
print([libc.getauxval(kind) for kind in (6, 11, 12, 13, 14, 17, 23)])  # page size, ids, clock, secure
libc.getauxval.restype = ctypes.c_char_p
print(libc.getauxval(31), libc.getauxval(15))
print(os.access("/", os.W_OK), os.access("/usr", os.W_OK), os.access("/workspace", os.W_OK), os.access("/workspace/main.py", os.R_OK))
print(libc.personality(0xffffffff), ctypes.get_errno())
