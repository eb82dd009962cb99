# Tries: to fill the memory of whoever reads its output with 64 MiB.
# Report: success; at most the cap arrives, flagged, and the program gets to its end.
# Expect: status=success stdout=truncated
block = b"x" * 65536
for _ in range(1024):
    os.write(1, block)
