# Observes: processor time used up, by the limit of the kernel.
# Ends: timeout
print("spins", flush=True)
while True:
    pass
