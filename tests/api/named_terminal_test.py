"""WS /api/v1/terminal/sandbox/{name}/ws: a shell in messages of text, with Debian's python3-websockets."""
import asyncio
import json

import sandbox_terminal
import time_scale

try:
    import debian_websockets as websockets
except ImportError:
    websockets = None


class Terminal(sandbox_terminal.Terminal):
    """A terminal whose output comes as text messages."""

    def __init__(self, socket):
        super().__init__(socket)
        self.shown = ""

    async def take(self):
        message = json.loads(await asyncio.wait_for(self.socket.recv(), time_scale.scaled(30)))
        if message["type"] == "output":
            self.shown += message["data"]
        else:
            self.messages.append(message)

    async def end(self):
        """Reads on to the end; returns the messages that were not output."""
        await super().end()
        return self.messages


class NamedTerminal(sandbox_terminal.TerminalTest):
    def open(self, name, **headers):
        address = f"ws://127.0.0.1:{self.server.port}/api/v1/terminal/sandbox/{name}/ws"
        return websockets.connect(address, max_size=None, open_timeout=time_scale.scaled(10), close_timeout=1, extra_headers=headers)

    def talk(self, name, conversation):
        async def connected():
            async with self.open(name) as socket:
                return await conversation(Terminal(socket))

        return asyncio.run(connected())

    def test_a_shell_to_its_exit(self):
        self.make(name="shell")

        async def conversation(terminal):
            await terminal.say(type="init", cols=100, rows=30)
            await terminal.say(type="input", data="stty size; echo $((6*7)) gr\u00fc\u00dfe\n")
            await terminal.until("30 100\r\n42 gr\u00fc\u00dfe\r\n")
            await terminal.say(type="resize", cols=120, rows=40)
            await terminal.say(type="input", data="stty size; printf '\\377\\n'\n")
            await terminal.until("40 120\r\n\ufffd\r\n")
            await terminal.say(type="input", data="exit 9\n")
            return await terminal.end(), terminal.socket.close_code

        messages, code = self.talk("shell", conversation)
        self.assertEqual([{"type": "ready"}, {"type": "exit", "code": 9}, {"type": "closed"}], messages)
        self.assertEqual(1000, code)

    def test_a_client_that_says_goodbye_ends_its_shell(self):
        self.make(name="polite")

        async def conversation(terminal):
            await terminal.say(type="input", data="exec sleep 54321\n")
            await terminal.until("54321")
            await terminal.say(type="close")
            return await terminal.end()

        self.assertEqual([{"type": "ready"}, {"type": "closed"}], self.talk("polite", conversation))
        self.wait_until_gone("54321", 20)

    def test_messages_that_are_none(self):
        self.make(name="strict")
        for message, fragment in ((b"bytes", "text"), ("no json", ""), ("[]", ""), ('{"type":"signal"}', "type: "), ("{}", "type: "),
                                  ('{"type":"input","data":1}', "data: "), ('{"type":"resize","cols":0,"rows":1}', "cols: "),
                                  ('{"type":"init","cols":80,"rows":1001}', "rows: "), ('{"type":"close","x":1}', "x"), ('{"type":"init","columns":80}', "columns"),
                                  ("x" * (256 * 1024 + 1), "262144")):
            async def conversation(terminal, message=message):
                await terminal.socket.send(message)
                return await terminal.end()

            with self.subTest(str(message)[:40]):
                messages = self.talk("strict", conversation)
                self.assertEqual(["ready", "error", "closed"], [each["type"] for each in messages])
                self.assertIn(fragment, messages[1]["error"])

    def test_characters_are_whole_however_the_output_is_cut(self):
        self.make(name="flood")

        async def conversation(terminal):
            await terminal.say(type="input", data="stty -echo; yes gr\u00fc\u00dfe | head -n 300000; echo end-$((6*7))\n")
            await terminal.until("gr\u00fc\u00dfe\r\n")
            whole = 1
            while "end-42" not in terminal.shown:
                await terminal.take()
            lines = terminal.shown.split("\r\n")
            whole += lines.count("gr\u00fc\u00dfe")
            await terminal.say(type="input", data="exit\n")
            return whole, await terminal.end()

        whole, messages = self.talk("flood", conversation)
        self.assertEqual(300000, whole)
        self.assertEqual("exit", messages[-2]["type"])

    def test_who_is_refused_before(self):
        self.make(name="guarded")

        async def connect(name, **headers):
            async with self.open(name, **headers):
                pass

        for name, headers, status in (("none-of-it", {}, 404), ("guarded", {"Origin": "http://evil.example"}, 403)):
            with self.assertRaises(websockets.InvalidStatusCode) as raised:
                asyncio.run(connect(name, **headers))
            self.assertEqual(status, raised.exception.status_code)
        answer = self.client.send("GET", "/api/v1/terminal/sandbox/guarded/ws")
        self.assertEqual((426, "500"), (answer.status, answer.json["code"]))
