# Observes: sockets of every family that is there, on the loopback and between processes.
import os
import socket
for family in ("AF_UNIX", "AF_INET", "AF_INET6", "AF_NETLINK", "AF_PACKET", "AF_VSOCK", "AF_ALG"):
    for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_RAW):
        try:
            socket.socket(getattr(socket, family), kind).close()
            print(family, kind, "made")
        except OSError as error:
            print(family, kind, error)
server = socket.create_server(("127.0.0.1", 0))
client = socket.create_connection(server.getsockname())
peer, address = server.accept()
peer.sendall(b"over loopback")
print(client.recv(100), address[0])
fixed = socket.create_server(("127.0.0.1", 8080))
print(fixed.getsockname())
one, other = socket.socketpair()
socket.send_fds(one, [b"x"], [0])
print(len(socket.recv_fds(other, 10, 2)[1]), one.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12) == other.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
abstract = socket.socket(socket.AF_UNIX)
abstract.bind("\0a-name")
abstract.listen()
again = socket.socket(socket.AF_UNIX)
try:
    again.bind("\0a-name")
except OSError as error:
    print(error)
print(os.path.exists("/proc/net/unix"), os.path.exists("/proc/self/net/unix"), socket.gethostname())
