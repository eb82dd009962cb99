# Tries: to write into the binaries that run it and init, by /proc/*/exe and by their mappings.
# Report: success; none opens for writing.
for path in ("/proc/self/exe", "/proc/1/exe", f"/proc/{os.getppid()}/exe", os.path.realpath(sys.executable)):
    for flags in (os.O_WRONLY, os.O_RDWR, os.O_WRONLY | os.O_TRUNC, os.O_WRONLY | os.O_APPEND):
        must_raise(f"{path} with {flags:o}", lambda: os.open(path, flags))
import mmap
with open(os.path.realpath(sys.executable), "rb") as binary:
    must_raise("shared writable mapping", lambda: mmap.mmap(binary.fileno(), 4096, mmap.MAP_SHARED, mmap.PROT_READ | mmap.PROT_WRITE))
verdict()
