# Observes: variables of the request, also such as Python and libc read at their own start.
import locale
import os
import pathlib
import subprocess
import sys
import tempfile
import time
print(list(os.environ.items()))
print(pathlib.Path("/proc/self/environ").read_bytes())
print(time.tzname, time.localtime(0).tm_hour, tempfile.gettempdir(), os.path.expanduser("~/x"))
print(sys.flags, sys.dont_write_bytecode, sys.path, locale.getpreferredencoding(), sys.stdout.encoding, sys.stdout.write_through)
print(hash("abc") == hash("abc"), sys.warnoptions)
sys.stdout.flush()
subprocess.run(["/bin/sh", "-c", "echo $GREETING $TZ; exec /usr/bin/env"], check=True)
