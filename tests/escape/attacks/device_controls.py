# Tries: the commands of ioctl that no program needs, on what it has: sockets, files, folders, its own pidfd.
# Report: success; each is refused, whatever the descriptor is.
import fcntl
import socket
FIOASYNC, FIOSETOWN, SIOCSPGRP, SIOCGIFCONF, SIOCGIFFLAGS, SIOCGSTAMP = 0x5452, 0x8901, 0x8902, 0x8912, 0x8913, 0x8906
FIBMAP, FIGETBSZ, FS_IOC_GETFLAGS, FICLONE, FIFREEZE, FITRIM, FS_IOC_SETFLAGS = 1, 2, 0x80086601, 0x40049409, 0xC0045877, 0xC0185879, 0x40086602
pidfd, _ = call("pidfd_open", os.getpid(), 0)
with socket.socket() as inet, socket.socket(socket.AF_UNIX) as local, open("/tmp/own", "w+b") as own:
    for label, descriptor in (("inet", inet.fileno()), ("unix", local.fileno()), ("file", own.fileno()), ("input", 0),
                              ("folder", os.open("/", os.O_RDONLY)), ("program", os.open("/proc/self/exe", os.O_RDONLY)), ("pidfd", pidfd)):
        for command in (FIOASYNC, FIOSETOWN, SIOCSPGRP, SIOCGIFCONF, SIOCGIFFLAGS, SIOCGSTAMP, FIBMAP, FIGETBSZ, FS_IOC_GETFLAGS,
                        FICLONE, FIFREEZE, FITRIM, FS_IOC_SETFLAGS, *range(0xFF01, 0xFF0C)):
            must_raise(f"{command:#x} of {label}", lambda: fcntl.ioctl(descriptor, command, bytes(64)))
verdict()
