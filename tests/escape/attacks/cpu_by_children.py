# Tries: to use more processor time than its limit by children that each stay below.
# Report: timeout.
# Expect: status=timeout last=burns
# Timeout: 4
print("burns", flush=True)
while True:
    child = os.fork()
    if child == 0:
        for _ in range(10 ** 6):
            pass
        os._exit(0)
    os.waitpid(child, 0)
