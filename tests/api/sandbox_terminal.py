"""Opens terminals in a sandbox with Debian's python3-websockets."""
import asyncio
import contextlib
import json
import urllib.parse

import living_sandbox
import time_scale

try:
    import debian_websockets as websockets
except ImportError:
    websockets = None


class Terminal:
    """One connection: the output of the terminal, and the messages that came as text."""

    def __init__(self, socket):
        self.socket, self.shown, self.messages = socket, b"", []

    async def type(self, text):
        await self.socket.send(text.encode() if isinstance(text, str) else text)

    async def say(self, **message):
        await self.socket.send(json.dumps(message))

    async def take(self):
        message = await asyncio.wait_for(self.socket.recv(), time_scale.scaled(30))
        if isinstance(message, bytes):
            self.shown += message
        else:
            self.messages.append(json.loads(message))

    async def until(self, text):
        """Reads until the terminal shows `text`, and returns its output up to there."""
        while text not in self.shown:
            try:
                await self.take()
            except websockets.ConnectionClosed as closed:
                raise AssertionError(f"{text!r} is not in {self.shown!r}; {self.messages}") from closed
        seen, self.shown = self.shown.split(text, 1)
        return seen + text

    async def end(self):
        """Reads to the end; returns the last message."""
        with contextlib.suppress(websockets.ConnectionClosed):
            while True:
                await self.take()
        return self.messages[-1] if self.messages else None


class TerminalTest(living_sandbox.SandboxTest):
    def setUp(self):
        super().setUp()
        if websockets is None:
            self.skipTest("python3-websockets is missing")

    def address(self, sandbox, **query):
        return f"ws://127.0.0.1:{self.server.port}{sandbox.path}/terminal?{urllib.parse.urlencode(query)}"

    @contextlib.asynccontextmanager
    async def open(self, sandbox, **query):
        async with websockets.connect(self.address(sandbox, **query), max_size=None, open_timeout=time_scale.scaled(10), close_timeout=1) as socket:
            yield Terminal(socket)

    def refusal(self, sandbox, **query):
        async def connect():
            async with self.open(sandbox, **query):
                pass

        with self.assertRaises(websockets.InvalidStatusCode) as raised:
            asyncio.run(connect())
        return raised.exception.status_code
