# Observes: the three standard streams as objects and as descriptors.
import fcntl
import io
import os
import stat
import sys
for stream in (sys.stdin, sys.stdout, sys.stderr):
    print(stream.name, stream.mode, stream.encoding, stream.errors, stream.newlines, stream.line_buffering, stream.write_through,
          stream.isatty(), stream.fileno(), stream.readable(), stream.writable(), stream.seekable(), stream.closed)
    print(type(stream.buffer).__name__, type(stream.buffer.raw).__name__, stream.buffer.raw.mode, stream.buffer.raw.closefd, repr(stream),
          repr(stream.buffer))
for descriptor in range(3):
    found = os.fstat(descriptor)
    print(descriptor, stat.filemode(found.st_mode), found.st_uid, found.st_gid, found.st_nlink, os.get_inheritable(descriptor),
          os.get_blocking(descriptor), fcntl.fcntl(descriptor, fcntl.F_GETFL), os.isatty(descriptor),
          os.readlink(f"/proc/self/fd/{descriptor}").split(":")[0])
    try:
        print(fcntl.fcntl(descriptor, 1032))  # F_GETPIPE_SZ
    except OSError as error:
        print(error)
    print(open(f"/proc/self/fdinfo/{descriptor}").read().splitlines()[:2])
print(len({os.fstat(descriptor).st_ino for descriptor in range(3)}), io.DEFAULT_BUFFER_SIZE)
print(sorted(os.listdir("/proc/self/fd")))
