# Observes: a broken pipe is an exception, and the system's default kills where a child has it.
# Ends: killed SIGPIPE
import os
import signal
import subprocess
import sys
reader, writer = os.pipe()
os.close(reader)
try:
    os.write(writer, b"x")
except BrokenPipeError as error:
    print(error)
print(subprocess.run(["/bin/sh", "-c", "kill -PIPE $$; echo survived"], capture_output=True))
print(subprocess.run(["/bin/sh", "-c", "kill -PIPE $$; echo survived"], capture_output=True, restore_signals=False))
sys.stdout.flush()
signal.signal(signal.SIGPIPE, signal.SIG_DFL)
os.write(writer, b"x")
