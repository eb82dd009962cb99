# Tries: to type into the terminal that the runner gave as standard input (TIOCSTI, TIOCLINUX, a new
# controlling terminal). The runner sees nothing typed.
# Report: success; every ioctl is refused.
import fcntl
TIOCSTI, TIOCLINUX, TIOCSCTTY, TIOCSETD, TIOCCONS = 0x5412, 0x541C, 0x540E, 0x5423, 0x541D
for descriptor in (0, 1, 2):
    for letter in b"id\n":
        must_raise(f"TIOCSTI on {descriptor}", lambda: fcntl.ioctl(descriptor, TIOCSTI, bytes([letter])))
    must_raise(f"TIOCLINUX on {descriptor}", lambda: fcntl.ioctl(descriptor, TIOCLINUX, b"\3"))
    must_raise(f"TIOCSETD on {descriptor}", lambda: fcntl.ioctl(descriptor, TIOCSETD, (0).to_bytes(4, "little")))
    must_raise(f"TIOCCONS on {descriptor}", lambda: fcntl.ioctl(descriptor, TIOCCONS, 0))
    # The high half of the command is no part of it for the kernel, and must be none for the filter.
    number = {"x86_64": 16, "aarch64": 29}[platform.machine()]
    letter = ctypes.create_string_buffer(b"#")
    ctypes.set_errno(0)
    if LIBC.syscall(ctypes.c_long(number), ctypes.c_long(descriptor), ctypes.c_long((1 << 32) | TIOCSTI), letter) == 0:
        escapes.append(f"TIOCSTI with high bits on {descriptor}")
must_raise("open /dev/tty", lambda: os.open("/dev/tty", os.O_RDWR))
verdict()
