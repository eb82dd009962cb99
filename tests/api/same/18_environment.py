# Observes: the whole environment, from Python, from C, from /proc and in children.
import ctypes
import os
import pathlib
import subprocess
import sys
print(list(os.environ.items()))
print(pathlib.Path("/proc/self/environ").read_bytes())
libc = ctypes.CDLL(None)
libc.getenv.restype = ctypes.c_char_p
print([libc.getenv(name.encode()) for name in os.environ], libc.getenv(b"NOT_THERE"))
os.environ["ADDED"] = "here"
os.putenv("PUT", "there")
del os.environ["TMPDIR"]
print(libc.getenv(b"ADDED"), libc.getenv(b"PUT"), libc.getenv(b"TMPDIR"), "PUT" in os.environ)
sys.stdout.flush()
subprocess.run(["/usr/bin/env"], check=True)
print(sorted(name for name in os.environ if "PYTHON" in name or name.startswith("_")), os.path.expanduser("~"), os.environ is os.environ)
