# Tries: to have somebody else run what it writes over the code that was preloaded into its interpreter, its descriptors
# to init and its end among them.
# Report: error with exit code 37, which is what it ended with; nobody but itself executes its memory.
# Expect: status=error exit=37
LIBC.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
READ_WRITE_EXECUTE = 7
RETURN_ZERO = bytes.fromhex("31c0c3") + b"\x90" * 13  # at each place where a function may begin
lines = [line.split(maxsplit=5) for line in open("/proc/self/maps")]
code = [line for line in lines if len(line) == 6 and line[5].startswith("/memfd:jail-zygote") and "x" in line[1]]
if len(code) != 1:
    escapes.append(f"the library has {len(code)} mappings with code, this attack is of another time")
for bounds, *_ in code:
    low, high = (int(part, 16) for part in bounds.split("-"))
    if LIBC.mprotect(low, high - low, READ_WRITE_EXECUTE) != 0:
        notes.append("it stays as it is")
        continue
    ctypes.memmove(low, RETURN_ZERO * ((high - low) // len(RETURN_ZERO)), high - low)
    notes.append(f"{high - low} bytes of code are written over")
verdict()
sys.stdout.flush()
LIBC.syscall(231, 37)  # exit_group
