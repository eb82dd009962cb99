# Tries: to look as if it had ended, by closing its streams while it runs on.
# Report: error with exit code 7, which comes after the streams were gone.
# Expect: status=error exit=7 last=closes
import time
os.write(1, b"closes\n")
for descriptor in range(3):
    os.close(descriptor)
time.sleep(1)
os._exit(7)
