"""WS /v1/sandboxes/{id}/terminal with Debian's python3-websockets."""
import asyncio
import collections
import contextlib
import math
import random

import host_view
import time_scale
from sandbox_terminal import Terminal, TerminalTest, websockets


class Shell(TerminalTest):
    def test_a_shell_in_the_working_directory(self):
        sandbox = self.make(working_directory="/tmp", env={"PS1": "ready> "})

        async def talk():
            async with self.open(sandbox, columns=100, rows=30) as terminal:
                await terminal.type("echo $((6*7)) $TERM; pwd; stty size; shopt -q login_shell && echo of a login\n")
                await terminal.until(b"42 xterm-256color\r\n/tmp\r\n30 100\r\nof a login\r\n")
                await terminal.say(type="resize", columns=120, rows=40)
                await terminal.type("stty size\n")
                await terminal.until(b"40 120\r\n")
                await terminal.type("exit 9\n")
                return await terminal.end(), terminal.socket.close_code

        end, code = asyncio.run(talk())
        self.assertEqual(("exit", 9, None, True, "ended"),
                         (end["type"], end["exit_code"], end["signal"], end["pty"], end["state"]))
        self.assertEqual("exit_status", end["outcome"]["code"], end)
        self.assertEqual(1000, code)

    def test_jobs_are_controlled(self):
        sandbox = self.make()

        async def talk():
            async with self.open(sandbox) as terminal:
                await terminal.type("sleep 1000\n")
                await terminal.until(b"sleep 1000\r\n")
                await asyncio.to_thread(host_view.wait_until, lambda: self.on_host("sleep"), 10)
                await terminal.type(b"\x03")
                await terminal.type("echo status $?\n")
                await terminal.until(b"status 130\r\n")

        asyncio.run(talk())

    def test_a_command_and_a_signal(self):
        sandbox = self.make()

        async def talk():
            command = "trap 'echo got it; exit 3' TERM; echo a+b; while :; do sleep 0.05; done"
            async with self.open(sandbox, command=command) as terminal:
                await terminal.until(b"a+b\r\n")
                await terminal.say(type="signal", signal="SIGTERM")
                await terminal.until(b"got it\r\n")
                return await terminal.end()

        self.assertEqual(3, asyncio.run(talk())["exit_code"])

    def test_bytes_are_passed_as_they_are_both_ways(self):
        sandbox = self.make()
        typed = random.Random(1).randbytes(400_000)

        async def talk():
            command = "stty raw -echo; echo ready; head -c 400000 > typed; head -c 3000000 /dev/urandom | tee printed"
            async with self.open(sandbox, command=command) as terminal:
                await terminal.until(b"ready\n")
                for begin in range(0, len(typed), 7001):
                    await terminal.type(typed[begin:begin + 7001])
                await terminal.end()
                return terminal.shown

        shown = asyncio.run(talk())
        self.assertEqual(typed, sandbox.get("/workspace/typed").body)
        self.assertEqual(sandbox.get("/workspace/printed").body, shown)

    def test_descendants_keep_it_open_no_longer_than_its_process(self):
        sandbox = self.make()

        async def talk():
            async with self.open(sandbox, command="trap '' HUP; yes & exit 5") as terminal:
                return await terminal.end()

        self.assertEqual(5, asyncio.run(talk())["exit_code"])

    def test_how_a_killed_one_ended(self):
        sandbox = self.make()

        async def talk():
            async with self.open(sandbox, command="sleep 1000") as terminal:
                await terminal.say(type="signal", signal=9, group=True)
                return await terminal.end()

        end = asyncio.run(talk())
        self.assertEqual((None, "SIGKILL", "signal"), (end["exit_code"], end["signal"], end["outcome"]["code"]))

    def test_the_end_of_the_sandbox_ends_it(self):
        sandbox = self.make()

        async def talk():
            async with self.open(sandbox, command="echo here; sleep 1000") as terminal:
                await terminal.until(b"here")
                await asyncio.to_thread(sandbox.delete)
                return await terminal.end()

        self.assertEqual("exit", asyncio.run(talk())["type"])


class HangUp(TerminalTest):
    def test_who_leaves_hangs_up(self):
        sandbox = self.make()

        async def talk():
            command = "trap 'echo hung up > /workspace/seen; exit' HUP; echo here; while :; do sleep 0.05; done"
            async with self.open(sandbox, command=command) as terminal:
                await terminal.until(b"here")

        asyncio.run(talk())
        self.assertTrue(host_view.wait_until(lambda: sandbox.get("/workspace/seen").body == b"hung up\n", 10))
        self.assertTrue(host_view.wait_until(lambda: sandbox.now()["processes"] == 0, 10))

    def test_what_ignores_it_is_killed_after_a_grace(self):
        sandbox = self.make()

        async def talk():
            async with self.open(sandbox, command="trap '' HUP; echo here; exec sleep 1001") as terminal:
                await terminal.until(b"here")
            await asyncio.sleep(0)

        asyncio.run(talk())
        self.wait_until_gone("1001", 30)
        # The server learns that it is gone a moment later.
        self.wait_for(lambda: sandbox.now()["processes"] == 0)
        (process,) = sandbox.processes()
        self.assertEqual(("SIGKILL", "cancelled"), (process["signal"], process["outcome"]["code"]))

    def test_an_open_one_keeps_the_sandbox_from_being_idle(self):
        idle = math.ceil(time_scale.scaled(3))  # in which the terminal is opened
        sandbox = self.make(idle_seconds=idle)

        async def talk():
            async with self.open(sandbox) as terminal:
                await asyncio.sleep(idle + 1)
                await terminal.type("echo $((20+3))\n")
                await terminal.until(b"23\r\n")

        asyncio.run(talk())
        self.assertEqual("idle", self.wait_until_ended(sandbox, idle + 20)["outcome"]["code"])


class Attach(TerminalTest):
    def test_one_that_runs(self):
        sandbox = self.make()
        process = sandbox.start(["bash", "-c", "echo first; read line; echo \"heard $line\"; sleep 1002"],
                                pty={"columns": 80, "rows": 24})
        process.says("first")

        async def talk():
            async with self.open(sandbox, pid=process.pid, columns=90, rows=20) as terminal:
                await terminal.until(b"first\r\n")
                await terminal.type("hello\n")
                await terminal.until(b"heard hello\r\n")

        asyncio.run(talk())
        self.assertEqual("running", process.now()["state"])

    def test_one_that_has_ended(self):
        sandbox = self.make()
        process = sandbox.start(["bash", "-c", "echo last words; exit 6"], pty={"columns": 80, "rows": 24})
        process.ended()

        async def talk():
            async with self.open(sandbox, pid=process.pid) as terminal:
                end = await terminal.end()
                return terminal.shown, end

        shown, end = asyncio.run(talk())
        self.assertEqual((b"last words\r\n", 6), (shown, end["exit_code"]))

    def test_several_at_once_type_into_one(self):
        sandbox = self.make()
        process = sandbox.start(["bash", "-c", "stty -echo; echo ready; head -n 400 > /workspace/typed"], pty={"columns": 80, "rows": 24})
        process.says("ready")

        async def talk(word):
            async with self.open(sandbox, pid=process.pid) as terminal:
                for _ in range(100):
                    await terminal.type(f"{word}\n")
                await terminal.end()

        async def talk_all():
            await asyncio.gather(*(talk(word * 8) for word in "abcd"))

        asyncio.run(talk_all())
        lines = sandbox.get("/workspace/typed").body.decode().split()
        self.assertEqual({word * 8: 100 for word in "abcd"}, collections.Counter(lines))

    def test_what_cannot_be_attached_to(self):
        sandbox = self.make()
        process = sandbox.start(["sleep", "1000"])
        self.assertEqual(409, self.refusal(sandbox, pid=process.pid))
        self.assertEqual(404, self.refusal(sandbox, pid=99999))
        self.assertEqual(400, self.refusal(sandbox, pid=process.pid, command="ls"))


class Refusals(TerminalTest):
    def test_before_the_upgrade(self):
        sandbox = self.make()
        for query in ({"columns": 0}, {"rows": 1001}, {"columns": "many"}, {"command": ""}, {"size": 3}):
            with self.subTest(query=query):
                self.assertEqual(400, self.refusal(sandbox, **query))
        answer = self.client.send("GET", f"{sandbox.path}/terminal")
        self.assertEqual(426, answer.status)
        sandbox.delete()
        self.assertEqual(409, self.refusal(sandbox))
        sandbox.path = "/v1/sandboxes/nobody"
        self.assertEqual(404, self.refusal(sandbox))

    def test_messages_that_are_none(self):
        sandbox = self.make()
        messages = ["", "[]", "{", '{"type": "exit"}', '{"columns": 3, "rows": 3}', '{"type": "resize"}',
                    '{"type": "resize", "columns": 0, "rows": 1}', '{"type": "resize", "columns": 1, "rows": 1, "x": 1}',
                    '{"type": "signal", "signal": "SIGNOT"}', '{"type": 3}', "\0", '{"type":' * 2000]

        async def talk(message):
            async with self.open(sandbox, command="sleep 1000") as terminal:
                # One that is too large is refused before all of it was sent.
                with contextlib.suppress(websockets.ConnectionClosed):
                    await terminal.socket.send(message)
                return await terminal.end(), terminal.socket.close_code

        for message in messages:
            with self.subTest(message=message[:60]):
                end, code = asyncio.run(talk(message))
                self.assertEqual(("error", 400, 1008), (end["type"], end["problem"]["status"], code))
        end, code = asyncio.run(talk("x" * (1 << 20)))
        self.assertEqual(1009, code)
        self.assertTrue(host_view.wait_until(lambda: sandbox.now()["processes"] == 0, 20))


class Owners(TerminalTest):
    environment = {"JOBS_PATH": ":memory:", "API_KEYS": "first-key,second-key"}

    def test_of_another_key_it_is_not_there(self):
        mine = self.make(self.client_with("first-key"))

        async def connect(key):
            async with websockets.connect(self.address(mine), open_timeout=time_scale.scaled(10), extra_headers={"X-API-Key": key}) as socket:
                await socket.send("exit 4\n".encode())
                return await Terminal(socket).end()

        self.assertEqual(4, asyncio.run(connect("first-key"))["exit_code"])
        for key, status in (("second-key", 404), ("none", 401)):
            with self.assertRaises(websockets.InvalidStatusCode) as raised:
                asyncio.run(connect(key))
            self.assertEqual(status, raised.exception.status_code)


class Bounds(TerminalTest):
    def test_a_client_that_does_not_read_slows_the_guest(self):
        sandbox = self.make()

        async def talk():
            async with websockets.connect(self.address(sandbox, command="echo $$; exec yes"), max_queue=1, read_limit=1024,
                                          open_timeout=time_scale.scaled(10), close_timeout=1, ping_interval=None) as socket:
                terminal = Terminal(socket)
                await terminal.until(b"y\r\n")
                # The program stops once the buffers on the way are full.
                printed = [0]
                while len(printed) < 3 or printed[-1] != printed[-3]:
                    await asyncio.sleep(0.5)
                    (process,) = sandbox.processes()
                    printed.append(process["output_to"])
                    self.assertLess(printed[-1], 64 << 20)
                seen = 0
                while seen < 1 << 20:
                    seen += len(await asyncio.wait_for(socket.recv(), time_scale.scaled(30)))
                self.assertEqual([], terminal.messages)

        asyncio.run(talk())

    def test_a_guest_that_does_not_read_slows_the_client(self):
        sandbox = self.make()
        piece = b"x" * (64 << 10)

        async def talk():
            command = "stty raw -echo; echo here; read -r -N 1 line; sleep 1000"
            async with self.open(sandbox, command=command) as terminal:
                await terminal.until(b"here")
                sent = 0
                with contextlib.suppress(asyncio.TimeoutError):
                    while sent < 64 << 20:
                        await asyncio.wait_for(terminal.type(piece), 1)
                        sent += len(piece)
                self.assertLess(sent, 32 << 20)
                # The messages behind it wait as well; others are answered.
                self.assertEqual("running", sandbox.now()["state"])

        with contextlib.suppress(websockets.ConnectionClosed):
            asyncio.run(talk())
        self.assertTrue(host_view.wait_until(lambda: sandbox.now()["processes"] == 0, 60))

    def test_a_flood_of_sizes(self):
        sandbox = self.make()

        async def talk():
            async with self.open(sandbox) as terminal:
                for number in range(5000):
                    await terminal.say(type="resize", columns=1 + number % 1000, rows=1 + number % 500)
                await terminal.say(type="resize", columns=77, rows=33)
                await terminal.type("stty size\n")
                await terminal.until(b"33 77\r\n")

        asyncio.run(talk())
