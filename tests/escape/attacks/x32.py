# Tries: the x32 numbers of system calls, which pass a filter that only compares with the usual ones.
# Report: violation, signal SIGSYS, no exit code; nothing after the call is printed.
# Expect: status=violation signal=SIGSYS last=about to call
# Machine: x86_64
print("about to call", flush=True)
result = LIBC.syscall(ctypes.c_long(0x40000000 | NUMBERS["getpid"]))
print(f"ESCAPED: the x32 getpid went on and said {result}", flush=True)
