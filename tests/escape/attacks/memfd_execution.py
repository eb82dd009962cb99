# Tries: to run a program that lies in no file system: from a memfd, by its descriptor, by its name under /proc.
# Report: success; there is no such file, and nothing is executed by a descriptor.
# Control: this program says ESCAPED outside of a jail.
import subprocess
text = open(os.path.realpath("/usr/bin/env"), "rb").read()
try:
    opened = os.memfd_create("program", 0)
except OSError as error:
    notes.append(f"memfd_create={errno.errorcode[error.errno]}")
else:
    escapes.append("memfd_create made a file")
    os.write(opened, text)
    done = subprocess.run([f"/proc/self/fd/{opened}"], pass_fds=[opened], capture_output=True, check=False)
    if done.returncode == 0:
        escapes.append("a memfd was executed")
must_fail("memfd_secret", "memfd_secret", 0)
opened = os.open(os.path.realpath("/usr/bin/env"), os.O_RDONLY)
number = {"x86_64": 322, "aarch64": 281}[platform.machine()]
child = os.fork()
if child == 0:
    arguments = (ctypes.c_char_p * 2)(b"env", None)
    os.dup2(os.open("/dev/null", os.O_WRONLY), 1)
    LIBC.syscall(ctypes.c_long(number), ctypes.c_long(opened), b"", arguments, None, ctypes.c_long(0x1000))
    os._exit(42)
if os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) != 42:
    escapes.append("execveat succeeded")
verdict()
