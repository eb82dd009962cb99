"""Connections to a sandbox while it is paused: terminals, watches and connections to servers inside."""
import asyncio
import http.client

import host_view
import time_scale
from sandbox_port import PortTest
from sandbox_terminal import TerminalTest
from sandbox_watch import WatchTest


class Terminals(TerminalTest):
    def test_typing_resumes(self):
        sandbox = self.make()

        async def talk():
            async with self.open(sandbox, command="while read line; do echo \"heard $line\"; done") as terminal:
                await terminal.type("one\n")
                await terminal.until(b"heard one\r\n")
                for word in ("two", "three"):
                    await asyncio.to_thread(sandbox.pause)
                    await terminal.type(f"{word}\n")
                    await terminal.until(f"heard {word}\r\n".encode())
                    self.assertEqual("running", sandbox.now()["state"])

        asyncio.run(talk())

    def test_what_is_typed_waits_where_typing_does_not_resume(self):
        sandbox = self.make(auto_resume=False)

        async def talk():
            async with self.open(sandbox, command="stty -echo; echo ready; read line; echo \"heard $line\"") as terminal:
                await terminal.until(b"ready\r\n")
                await asyncio.to_thread(sandbox.pause)
                await terminal.type("patience\n")
                await (await terminal.socket.ping())
                self.assertEqual("paused", sandbox.now()["state"])
                await asyncio.to_thread(sandbox.ask_to, "resume")
                await terminal.until(b"heard patience\r\n")
                self.assertEqual(0, (await terminal.end())["exit_code"])

        asyncio.run(talk())

    def test_deleted_while_it_is_paused(self):
        sandbox = self.make()

        async def talk():
            async with self.open(sandbox, command="echo ready; sleep 1000") as terminal:
                await terminal.until(b"ready\r\n")
                await asyncio.to_thread(sandbox.pause)
                await asyncio.to_thread(sandbox.delete)
                return await terminal.end()

        end = asyncio.run(talk())
        self.assertEqual("exit", end["type"], end)


class Watches(WatchTest):
    def test_a_watch_neither_resumes_nor_ends(self):
        sandbox = self.make(auto_resume=False)
        stream = self.watch(sandbox)
        sandbox.start("while :; do echo x > /workspace/f; rm /workspace/f; done")
        self.until(stream, "/workspace/f")
        sandbox.pause()
        self.assertEqual("paused", sandbox.now()["state"])
        self.assertEqual(200, sandbox.ask_to("resume").status)
        sandbox.run("echo > /workspace/after")
        self.until(stream, "/workspace/after")


class Ports(PortTest):
    def stream(self, *_):
        connection = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=time_scale.scaled(60))
        self.addCleanup(connection.close)
        connection.request("GET", self.path("/stream"))
        answer = connection.getresponse()
        self.assertEqual(b"first\n", answer.read1())
        return answer

    def test_an_answer_goes_on_where_it_was(self):
        answer = self.stream()
        for _ in range(3):
            self.sandbox.pause()
            self.assertEqual("paused", self.sandbox.now()["state"])
            self.assertEqual(200, self.sandbox.ask_to("resume").status)
        self.assertEqual(b"gone", self.ask("/go").body)
        self.assertEqual(b"second\n", answer.read())

    def test_a_request_resumes_whoever_has_one_open(self):
        answer = self.stream()
        self.sandbox.pause()
        self.assertEqual(b"gone", self.ask("/go").body)
        self.assertEqual("running", self.sandbox.now()["state"])
        self.assertEqual(b"second\n", answer.read())

    def test_connections_end_with_one_that_is_deleted(self):
        answer = self.stream()
        self.sandbox.pause()
        self.sandbox.delete()
        with self.assertRaises((http.client.IncompleteRead, ConnectionError)):
            answer.read()
        self.assertTrue(host_view.wait_until(lambda: not self.on_host("port_guest.py"), 10))
