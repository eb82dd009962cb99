"""A sandbox with servers of TCP in it (tunnel_guest.py), and tunnels to them with Debian's python3-websockets."""
import asyncio
import contextlib
import json
import pathlib

import time_scale
from living_sandbox import SandboxTest

try:
    import debian_websockets as websockets
except ImportError:
    websockets = None

GUEST = (pathlib.Path(__file__).resolve().parent / "tunnel_guest.py").read_bytes()
ECHO, FLOOD, BREAK, SINK, SOURCE, STORE, DEAF, WATCH = range(7001, 7009)
PATTERN = bytes(range(256)) * 256
HANDSHAKE = {"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Key": "MDEyMzQ1Njc4OWFiY2RlZg==", "Sec-WebSocket-Version": "13"}


def pattern(size):
    """The first `size` bytes that the guest's source sends."""
    return PATTERN * (size // len(PATTERN)) + PATTERN[:size % len(PATTERN)]


def serve_in(sandbox):
    if (answer := sandbox.put("/workspace/tunnel_guest.py", GUEST)).status not in (200, 201):
        raise AssertionError(answer)
    sandbox.start(["python3", "tunnel_guest.py"]).says("listens")
    return sandbox


class TunnelTest(SandboxTest):
    def setUp(self):
        super().setUp()
        if websockets is None:
            self.skipTest("python3-websockets is missing")

    def with_servers(self, client=None, **fields):
        return serve_in(self.make(client, **fields))

    def path(self, sandbox, port, more=""):
        return f"{sandbox.path}/tunnel?port={port}{more}"

    def ask(self, sandbox, port, more="", client=None, **headers):
        """A handshake whose answer is no WebSocket."""
        return (client or self.client).send("GET", self.path(sandbox, port, more), **{**HANDSHAKE, **headers})

    @contextlib.asynccontextmanager
    async def open(self, sandbox, port, more="", **options):
        async with websockets.connect(f"ws://127.0.0.1:{self.server.port}{self.path(sandbox, port, more)}", max_size=None,
                                      compression=None, ping_interval=None, open_timeout=time_scale.scaled(20), close_timeout=2,
                                      **options) as socket:
            yield Tunnel(socket)


class Tunnel:
    def __init__(self, socket):
        self.socket, self.seen, self.has_ended = socket, b"", False

    async def end(self):
        await self.socket.send(json.dumps({"type": "end"}))

    async def take(self):
        """Takes one message."""
        message = await asyncio.wait_for(self.socket.recv(), time_scale.scaled(30))
        if isinstance(message, str):
            if json.loads(message) != {"type": "end"} or self.has_ended:
                raise AssertionError(message)
            self.has_ended = True
        elif self.has_ended:
            raise AssertionError("bytes come behind the end")
        else:
            self.seen += message

    async def until(self, count):
        while len(self.seen) < count:
            await self.take()
        taken, self.seen = self.seen[:count], self.seen[count:]
        return taken

    async def rest(self):
        """Returns what comes up to the end that the server inside makes."""
        while not self.has_ended:
            await self.take()
        return self.seen

    async def send_without_end(self):
        with contextlib.suppress(websockets.ConnectionClosed):
            while True:
                await self.socket.send(b"x" * 65536)
                # A send that does not block keeps the event loop: nothing would be read, the last message neither.
                await asyncio.sleep(0)

    async def closed(self):
        """Returns the code and the reason of its end."""
        try:
            while True:
                await self.take()
        except websockets.ConnectionClosed as closed:
            return closed.code, closed.reason
