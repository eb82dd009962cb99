"""The proxy under test, as its own process, and its surroundings."""
import collections
import hashlib
import http.server
import os
import pathlib
import socket
import struct
import subprocess
import threading
import time
import unittest

BUILD = pathlib.Path(os.environ.get("AGENT_SANDBOX_BUILD", ""))
PROGRAM = BUILD / "tests" / "unit" / "egress" / "egress_stand"
ALLOWED = "allowed.test"
PATIENCE = 60  # seconds for what takes a few milliseconds

Decision = collections.namedtuple("Decision", "event jail destination address allowed reason sent received dropped")


class Stand:
    """In `with Stand(rules) as stand`, stand.port is the port at which the first jail's programs find the proxy."""

    def __init__(self, rules, addresses=(), limits=None, **options):
        arguments = [str(PROGRAM)]
        for rule in rules:
            arguments += ["--rule", rule]
        for address in addresses:
            arguments += ["--address", address]
        for name, value in options.items():
            arguments += [f"--{name}", str(value)]
        self.process = subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                        preexec_fn=limits)
        self.ports = [int(port) for port in self.process.stdout.readline().split()[1:]]
        self.pid = int(self.process.stdout.readline().split()[1])
        self.port = self.ports[0]
        self.lines, self.changed = [], threading.Condition()
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.wait(PATIENCE)
        self.reader.join()
        self.process.stdout.close()

    def read(self):
        for line in self.process.stdout:
            with self.changed:
                self.lines.append(line.rstrip("\n"))
                self.changed.notify_all()

    def say(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def wait_for(self, condition):
        """Returns the result of `condition` for the lines so far, once it is true."""
        with self.changed:
            if not self.changed.wait_for(lambda: condition(self.lines), PATIENCE):
                raise AssertionError(f"waited in vain; {self.lines[-20:]}")
            return condition(self.lines)

    def decisions(self, count, event="decided"):
        """Returns the first `count` decisions, once they are there."""
        def found(lines):
            parts = [Decision(*line.split("\t")) for line in lines if "\t" in line]
            of_event = [decision for decision in parts if decision.event == event]
            return of_event[:count] if len(of_event) >= count else []
        return self.wait_for(found)

    def processor_seconds(self):
        fields = pathlib.Path(f"/proc/{self.pid}/stat").read_text(encoding="ascii").rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def status(self, name):
        for line in pathlib.Path(f"/proc/{self.pid}/status").read_text(encoding="ascii").splitlines():
            if line.startswith(name + ":"):
                return line.split()[1]
        raise AssertionError(f"no {name}")

    def connect(self, jail=0):
        return socket.create_connection(("127.0.0.1", self.ports[jail]), PATIENCE)

    def ask(self, request, jail=0):
        """Returns the whole answer, up to its end."""
        with self.connect(jail) as client:
            client.sendall(request)
            return read_all(client)

    def tunnel(self, destination, jail=0):
        """Returns a socket that leads to the destination."""
        client = self.connect(jail)
        client.sendall(f"CONNECT {destination} HTTP/1.1\r\n\r\n".encode())
        head = b""
        while b"\r\n\r\n" not in head:
            piece = client.recv(1)
            if not piece:
                break
            head += piece
        if not head.startswith(b"HTTP/1.1 200 "):
            client.close()
            raise ConnectionError(head.decode("latin-1"))
        return client


def read_all(client):
    pieces = []
    while piece := client.recv(1 << 16):
        pieces.append(piece)
    return b"".join(pieces)


class Handler(http.server.BaseHTTPRequestHandler):
    """GET answers with the request, POST with the digest of its body, /to?URL redirects, /big?N sends N bytes."""
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        path, _, query = self.path.partition("?")
        if path == "/to":
            self.send_response(302)
            self.send_header("Location", query)
            self.send_header("Content-Length", "0")
            self.end_headers()
        elif path == "/big":
            self.send_response(200)
            self.send_header("Content-Length", query)
            self.end_headers()
            for _ in range(int(query) >> 16):
                self.wfile.write(bytes(1 << 16))
        else:
            self.answer(f"{self.command} {self.path}\n{self.headers}".encode())

    def do_POST(self):
        digest, left = hashlib.sha256(), int(self.headers["Content-Length"])
        while left:
            piece = self.rfile.read(min(left, 1 << 16))
            digest.update(piece)
            left -= len(piece)
        self.answer(digest.hexdigest().encode())

    def answer(self, body):
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 512

    def handle_error(self, *_):
        """Clients here may leave at any time."""


class WebServer:
    def __init__(self, host="127.0.0.1"):
        self.server = Server((host, 0), Handler)
        self.port = self.server.server_port
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()


class RawServer:
    """Handles each connection by `serve(socket)`, in a thread of its own."""

    def __init__(self, serve):
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=512)
        self.port = self.listener.getsockname()[1]
        self.serve = serve
        threading.Thread(target=self.run, daemon=True).start()

    def run(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.run_one, args=(client,), daemon=True).start()

    def run_one(self, client):
        with client:
            try:
                self.serve(client)
            except OSError:
                pass

    def close(self):
        self.listener.close()


def eventually(condition):
    end = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > end:
            raise AssertionError("waited in vain")
        time.sleep(0.01)


class EgressTest(unittest.TestCase):
    """Has a web server that may be reached, and proxies that end with their test."""

    @classmethod
    def setUpClass(cls):
        cls.web = WebServer()
        cls.addClassCleanup(cls.web.close)

    def stand(self, rules=(), addresses=(f"{ALLOWED}=127.0.0.1",), **options):
        stand = Stand(rules, addresses, **options)
        self.addCleanup(stand.__exit__)
        return stand

    def allowing(self, port=None, **options):
        port = port or self.web.port
        return self.stand([f"{ALLOWED}:{port}", f"127.0.0.1:{port}"], **options)

    def raw(self, serve):
        server = RawServer(serve)
        self.addCleanup(server.close)
        return server

    def connect_status(self, stand, destination):
        return stand.ask(f"CONNECT {destination} HTTP/1.1\r\n\r\n".encode()).split(b" ")[1:2]

    @staticmethod
    def socks(host, port, command=1):
        return b"\x05\x01\x00\x05" + bytes([command]) + b"\x00\x03" + bytes([len(host)]) + host.encode() + struct.pack(">H", port)
