# Tries: to look killed by the memory limit, or by a signal, by its exit status alone.
# Report: error with exit code 137 and no signal.
# Expect: status=error exit=137 last=leaves
print("leaves", flush=True)
os._exit(137)
