# Tries: to take memory that no process owns: files in tmpfs, shared anonymous pages, a memfd.
# Report: the files meet their bound, or the jail is out_of_memory; never more than both limits together.
# Expect: status=success,out_of_memory
# Memory: 64
taken = 0
block = b"x" * (1 << 20)
for folder in ("/tmp", "/workspace", "/dev/shm"):
    if not os.access(folder, os.W_OK):
        continue
    for number in range(200):
        try:
            with open(f"{folder}/{number}", "wb") as file:
                file.write(block)
            taken += 1
        except OSError as error:
            notes.append(f"{folder}={errno.errorcode[error.errno]} after {number}")
            break
notes.append(f"files took {taken} MiB")
if taken > 256:
    escapes.append(f"files took {taken} MiB under a limit of 64")
try:
    descriptor = os.memfd_create("grow")
    for _ in range(1024):
        os.write(descriptor, block)
        taken += 1
    escapes.append("a memfd took 1 GiB")
except OSError as error:
    notes.append(f"memfd={errno.errorcode[error.errno]} at {taken}")
if taken > 320:
    escapes.append(f"{taken} MiB under a limit of 64")
verdict()
