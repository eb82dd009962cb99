# Tries: to make device nodes for the disk, kernel memory and a terminal, and to open what /dev has.
# Report: success; no node is made and /dev has nothing but null, zero, full, random, urandom.
import stat
for folder in ("/tmp", "/workspace", "/dev/shm"):
    for label, mode, major, minor in (("disk", stat.S_IFBLK, 254, 0), ("sda", stat.S_IFBLK, 8, 0), ("mem", stat.S_IFCHR, 1, 1),
                                      ("kmsg", stat.S_IFCHR, 1, 11), ("tty", stat.S_IFCHR, 5, 0), ("fuse", stat.S_IFCHR, 10, 229)):
        if os.path.isdir(folder):
            must_raise(f"mknod {label} in {folder}", lambda: os.mknod(f"{folder}/{label}", mode | 0o666, os.makedev(major, minor)))
harmless = {os.makedev(1, minor) for minor in (3, 5, 7, 8, 9)}
for folder, _, names in os.walk("/dev"):
    for name in names:
        path = os.path.join(folder, name)
        found = os.lstat(path)
        if (stat.S_ISCHR(found.st_mode) or stat.S_ISBLK(found.st_mode)) and found.st_rdev not in harmless:
            must_raise(f"open {path}", lambda: os.open(path, os.O_RDWR | os.O_NONBLOCK))
for path in ("/dev/kvm", "/dev/mem", "/dev/kmsg", "/dev/fuse", "/dev/net/tun", "/dev/vda", "/dev/vsock", "/dev/ptmx", "/dev/tty"):
    must_raise(f"open {path}", lambda: os.open(path, os.O_RDWR | os.O_NONBLOCK))
verdict()
