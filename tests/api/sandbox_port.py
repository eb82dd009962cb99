"""A sandbox with a server in it (port_guest.py), and requests to that server."""
import math
import pathlib
import socket

import host_view
import time_scale
from living_sandbox import SandboxTest

GUEST = (pathlib.Path(__file__).resolve().parent / "port_guest.py").read_bytes()
DOMAIN = "sandboxes.test"
PORT = 8000
COOKIE = "agent_sandbox_port"


def lines_of(told, name):
    return [line.split(": ", 1)[1] for line in told["lines"] if line.lower().startswith(f"{name.lower()}: ")]


class PortTest(SandboxTest):
    environment = {**SandboxTest.environment, "SANDBOX_PORTS_DOMAIN": DOMAIN, "SANDBOX_PORTS_TIMEOUT_SECONDS": f"{math.ceil(time_scale.scaled(10))}"}

    def setUp(self):
        super().setUp()
        self.sandbox = self.with_server()

    def with_server(self, client=None, address="127.0.0.1", **fields):
        return self.serve_in(self.make(client, **fields), address)

    def serve_in(self, sandbox, address="127.0.0.1"):
        self.assertIn(sandbox.put("/workspace/port_guest.py", GUEST).status, (200, 201))
        sandbox.start(["python3", "port_guest.py", str(PORT), address]).says("listens")
        return sandbox

    def path(self, rest="/echo", sandbox=None, port=PORT):
        return f"{(sandbox or self.sandbox).path}/ports/{port}{rest}"

    def name(self, sandbox=None, port=PORT):
        return f"{port}-{(sandbox or self.sandbox).id}.{DOMAIN}"

    def ask(self, rest="/echo", method="GET", body=None, client=None, **headers):
        return (client or self.client).send(method, self.path(rest), body, **headers)

    def echo(self, rest="/echo", method="GET", body=None, **headers):
        answer = self.ask(rest, method, body, **headers)
        self.assertEqual(200, answer.status, answer)
        return answer.json

    def by_name(self, rest="/echo", method="GET", body=None, client=None, **headers):
        return (client or self.client).send(method, rest, body, **{"Host": self.name(), **headers})

    def raw(self, answer, rest="/raw", method="GET"):
        return self.ask(f"{rest}?{answer.encode('latin-1').hex()}", method)

    def assert_little_memory(self):
        most = (240 if host_view.has_sanitizer(self.server.pid) else 120) << 20
        self.assertLess(host_view.resident_bytes(self.server.pid), most)

    def talk(self, request, seconds=20):
        """Returns the server's answer to these bytes, until it ends the connection."""
        with socket.create_connection(("127.0.0.1", self.server.port)) as connection:
            connection.settimeout(time_scale.scaled(seconds))
            connection.sendall(request.encode("latin-1"))
            return b"".join(iter(lambda: connection.recv(65536), b"")).decode("latin-1")
