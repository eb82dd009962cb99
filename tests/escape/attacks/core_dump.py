# Tries: to have the host's core handler run with its content.
# Report: killed by SIGSEGV; the runner finds no core file where it started the jail.
# Expect: status=killed signal=SIGSEGV last=crashes
import resource
for wanted in (resource.RLIM_INFINITY, 1 << 30):
    try:
        resource.setrlimit(resource.RLIMIT_CORE, (wanted, wanted))
        print("ESCAPED: the core limit was raised")
    except (OSError, ValueError):
        pass
print("crashes", flush=True)
ctypes.string_at(8)
