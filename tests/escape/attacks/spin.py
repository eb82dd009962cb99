# Tries: to use the processor for ever.
# Report: timeout.
# Expect: status=timeout last=spins
# Timeout: 4
print("spins", flush=True)
while True:
    pass
