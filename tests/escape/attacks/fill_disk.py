# Tries: to fill every place it can write to, with bytes and with a sparse file past the size limit.
# Report: success; each place has a bound that is met in time.
# Memory: 512
import signal
import time
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
block = b"x" * (1 << 20)
for folder in ("/tmp", "/workspace", "/dev/shm"):
    if not os.access(folder, os.W_OK):
        continue
    count = 0
    try:
        while count < 1024:
            with open(f"{folder}/full-{count}", "wb") as file:
                file.write(block)
            count += 1
        escapes.append(f"{folder} took 1 GiB")
    except OSError as error:
        notes.append(f"{folder}={errno.errorcode[error.errno]} after {count} MiB")
    for number in range(count):
        os.unlink(f"{folder}/full-{number}")
    os.unlink(f"{folder}/full-{count}")
    must_raise(f"sparse in {folder}", lambda: os.truncate(os.open(f"{folder}/sparse", os.O_CREAT | os.O_RDWR), 1 << 50))
verdict()
