"""Servers of TCP inside a sandbox, each on a port of its own. What became of a connection of `watch` is a line of the file `ends`."""
import hashlib
import pathlib
import select
import socket
import socketserver
import struct
import threading

ECHO, FLOOD, BREAK, SINK, SOURCE, STORE, DEAF, WATCH = range(7001, 7009)
PATTERN = bytes(range(256)) * 256


def echo(connection):
    """Sends back what comes, and "bye" behind its end."""
    while piece := connection.recv(65536):
        connection.sendall(piece)
    connection.sendall(b"bye")


def flood(connection):
    """Sends bytes without end. The file `stuck` is there once the client takes none."""
    while True:
        if not select.select([], [connection], [], 1)[1]:
            pathlib.Path("stuck").touch()
        connection.sendall(PATTERN)


def break_off(connection):
    connection.sendall(b"about to break")
    connection.recv(1)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def sink(connection):
    """Answers with the number and the digest of all bytes, after the client's end."""
    count, digest = 0, hashlib.sha256()
    while piece := connection.recv(65536):
        count += len(piece)
        digest.update(piece)
    connection.sendall(f"{count} {digest.hexdigest()}".encode())


def source(connection):
    """Sends as many bytes as the line that comes says, and ends."""
    left = int(connection.makefile("rb").readline())
    while left > 0:
        connection.sendall(PATTERN[:left])
        left -= len(PATTERN)


def store(connection):
    """PING, SET and GET, in Redis's protocol."""
    lines, kept = connection.makefile("rb"), {}
    while head := lines.readline():
        words = [lines.read(int(lines.readline()[1:]) + 2)[:-2] for _ in range(int(head[1:]))]
        if words[0] == b"PING":
            connection.sendall(b"+PONG\r\n")
        elif words[0] == b"SET":
            kept[words[1]] = words[2]
            connection.sendall(b"+OK\r\n")
        else:
            value = kept.get(words[1])
            connection.sendall(b"$-1\r\n" if value is None else b"$%d\r\n%s\r\n" % (len(value), value))


def deaf(connection):
    threading.Event().wait()
    connection.close()


def watch(connection):
    connection.sendall(b"watching")
    try:
        while connection.recv(65536):
            pass
        end = "end"
    except ConnectionResetError:
        end = "reset"
    with open("ends", "a", encoding="ascii") as file:
        file.write(f"{end}\n")


def serve(port, talk):
    class Handler(socketserver.BaseRequestHandler):
        def handle(self):
            try:
                talk(self.request)
            except OSError:
                pass
            finally:
                self.request.close()

    class Server(socketserver.ThreadingTCPServer):
        allow_reuse_address = True
        daemon_threads = True
        request_queue_size = 64

        def shutdown_request(self, request):
            request.close()

    threading.Thread(target=Server(("127.0.0.1", port), Handler).serve_forever).start()


for number, talk in ((ECHO, echo), (FLOOD, flood), (BREAK, break_off), (SINK, sink), (SOURCE, source), (STORE, store), (DEAF, deaf),
                     (WATCH, watch)):
    serve(number, talk)
print("listens", flush=True)
