# Tries: to keep memory in what was sent and is never read: over Unix sockets in many processes, and over TCP.
# Report: out_of_memory; what waits in sockets counts.
# Expect: status=out_of_memory last=sends
# Memory: 128
# Beyond: 128
# Timeout: 20
import socket
import time

print("sends", flush=True)
filled, fill_up = os.pipe()


def fill_unix():
    kept = []
    try:
        while True:
            kept.append(socket.socketpair())
            for one in kept[-1]:
                fill(one)
    except OSError:
        os.write(fill_up, b"x")
        time.sleep(60)


def fill_tcp():
    kept, listener = [], socket.create_server(("127.0.0.1", 0))
    try:
        while True:
            kept.append(socket.create_connection(listener.getsockname()))
            kept.append(listener.accept()[0])
            for one in kept[-2:]:
                fill(one)
    except OSError:
        os.write(fill_up, b"x")
        time.sleep(60)


for work in [fill_tcp] + 10 * [fill_unix]:
    if os.fork() == 0:
        work()
        os._exit(0)
for _ in range(11):
    os.read(filled, 1)
time.sleep(2)
print("ESCAPED: eleven processes keep what they sent under a limit of 128 MiB", flush=True)
