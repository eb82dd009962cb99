# Tries: to confuse who reads its output: the pipe made non-blocking and read back, streams that become a socket, a file
# and each other.
# Report: success; the output is what was written to the pipe.
import fcntl
import socket
saved = os.dup(1)
fcntl.fcntl(1, fcntl.F_SETFL, os.O_NONBLOCK)
try:
    for _ in range(40):
        os.write(1, b"n" * 8191 + b"\n")
except BlockingIOError:
    notes.append("the pipe was full")
fcntl.fcntl(1, fcntl.F_SETFL, 0)
ours, theirs = socket.socketpair()
os.dup2(theirs.fileno(), 2)
os.write(2, b"ESCAPED: came out of a socket\n")
with open("/tmp/out", "wb") as file:
    os.dup2(file.fileno(), 1)
    os.write(1, b"ESCAPED: came out of a file\n")
back = os.open(f"/proc/self/fd/{saved}", os.O_RDONLY | os.O_NONBLOCK)
os.close(back)
os.dup2(0, 2)
os.dup2(saved, 0)
os.dup2(0, 1)
try:
    os.write(2, b"ESCAPED: written to its input\n")
except OSError as error:
    notes.append(f"input={errno.errorcode[error.errno]}")
verdict()
