# Tries: to hide epoll instances, each of which watches many descriptors, in the queue of a socket.
# Report: out_of_memory; descriptors in flight count.
# Expect: status=out_of_memory last=sends
# Memory: 48
# Timeout: 40
import array
import select
import socket
import time

print("sends", flush=True)
watched = [os.eventfd(0) for _ in range(900)]
sockets = [socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)]
sent = 0
while sent < 800:
    with select.epoll() as instance:
        for one in watched:
            instance.register(one, select.EPOLLIN)
        try:
            sockets[-1][0].sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [instance.fileno()]))],
                                   socket.MSG_DONTWAIT)
            sent += 1
        except BlockingIOError:
            sockets.append(socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM))
time.sleep(1)
print("ESCAPED: 800 hidden instances with 900 watches each live under a limit of 48 MiB", flush=True)
