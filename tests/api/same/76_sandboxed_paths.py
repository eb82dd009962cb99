# Observes: writing where one may and where one may not, temporary files, links, locks, sizes.
import fcntl
import os
import pathlib
import shutil
import tempfile
for folder in ("/workspace", "/tmp", "/dev/shm", "/", "/etc", "/usr", os.path.dirname(os.__file__), "/proc", "/dev"):
    try:
        path = pathlib.Path(folder, "made")
        path.write_text("x")
        print(folder, oct(path.stat().st_mode), path.stat().st_uid)
        path.unlink()
    except OSError as error:
        print(folder, error)
with tempfile.TemporaryFile() as file, open(file.fileno(), "r+b", closefd=False) as same:
    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    fcntl.lockf(same, fcntl.LOCK_EX)
    os.ftruncate(file.fileno(), 1 << 20)
    print(os.fstat(file.fileno()).st_size, os.fstat(file.fileno()).st_blocks)
os.symlink("/etc/passwd", "link")
try:
    os.mkfifo("pipe")
except OSError as error:
    print(error)
print(os.readlink("link"), open("link").readline(), sorted(os.listdir(".")), shutil.disk_usage(".").total)
os.mkdir("deep")
os.chdir("deep")
print(os.getcwd(), os.path.exists("main.py"), __file__, os.readlink("/proc/self/cwd"))
os.rename("/workspace/main.py", "/workspace/renamed.py")


def fail():
    raise ValueError("with a source that has gone")


import traceback
try:
    fail()
except ValueError:
    traceback.print_exc()
