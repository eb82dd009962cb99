"""WS /stream with third-party clients: Debian's python3-websockets, and `ws` from npm."""
import asyncio
import base64
import contextlib
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import time

import host_view
import live_server
import time_scale

try:
    import debian_websockets as websockets
except ImportError:
    websockets = None

HERE = pathlib.Path(__file__).resolve().parent
NODE_MODULES = pathlib.Path(os.environ.get("AGENT_SANDBOX_BUILD", "/nonexistent")).parent / "npm" / "node_modules"
ENDS = ("complete", "error")


class StreamTest(live_server.ServerTest):
    environment = {"JOBS_PATH": ":memory:"}

    def setUp(self):
        super().setUp()
        if websockets is None:
            self.skipTest("python3-websockets is missing")

    def connect(self, path="/stream", port=None, **options):
        return websockets.connect(f"ws://127.0.0.1:{port or self.server.port}{path}", max_size=None, **options)

    async def _talk(self, request, path, options):
        events = []
        async with self.connect(path, **options) as stream:
            # One that is too large is refused before all of it was sent.
            with contextlib.suppress(websockets.ConnectionClosed):
                if request is not None:
                    await stream.send(request if isinstance(request, (str, bytes)) else json.dumps(request))
            with contextlib.suppress(websockets.ConnectionClosed):
                while True:
                    events.append(json.loads(await asyncio.wait_for(stream.recv(), time_scale.scaled(60))) | {"came": time.monotonic()})
        return events, stream.close_code

    def talk(self, request, path="/stream", **options):
        """All events of a stream, after checking what holds for every stream."""
        events, code = asyncio.run(self._talk(request, path, options))
        self.assertEqual(list(range(1, len(events) + 1)), [event["seq"] for event in events])
        for event in events:
            self.assertEqual({"type", "data", "timestamp", "seq", "came"}, set(event))
            self.assertRegex(event["timestamp"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$")
        types = [event["type"] for event in events]
        self.assertEqual(1, sum(kind in ENDS for kind in types), types)
        self.assertIn(types[-1], ENDS)
        self.assertEqual("connected", types[0])
        return events, code

    def run_code(self, code, **fields):
        fields.setdefault("timeout_seconds", time_scale.timeout(5))
        events, close = self.talk({"code": code, **fields})
        self.assertEqual(1000, close)
        self.assertEqual(["started", "execution_result", "complete"],
                         [event["type"] for event in events[1:] if event["type"] not in ("stdout", "stderr")])
        return events

    @staticmethod
    def output(events, stream="stdout"):
        return "".join(event["data"] for event in events if event["type"] == stream)

    def result(self, events):
        return next(event["data"] for event in events if event["type"] == "execution_result")


class Programs(StreamTest):
    def test_a_program_from_start_to_end(self):
        events = self.run_code("import sys; print('out'); print('err', file=sys.stderr); sys.exit(3)")
        result = self.result(events)
        self.assertEqual(("out\n", "err\n"), (self.output(events), self.output(events, "stderr")))
        self.assertEqual(("out\n", "err\n", 3, "error"), tuple(
            result[name] for name in ("stdout", "stderr", "exit_code", "status")))
        started = next(event["data"] for event in events if event["type"] == "started")
        self.assertEqual({"job_id": result["job_id"], "language": "python", "output_encoding": "utf-8"}, started)
        self.assertEqual({"job_id": result["job_id"], "status": "error", "success": False}, events[-1]["data"])
        self.assertEqual(result, self.client.send("GET", f"/jobs/{result['job_id']}").json["result"])

    def test_output_comes_while_the_program_runs(self):
        # The output is so slow that a busy host does not merge two pieces.
        events = self.run_code("import time\nfor i in range(4):\n  print(i, flush=True); time.sleep(1)", timeout_seconds=20)
        came = [event["came"] for event in events if event["type"] == "stdout"]
        self.assertEqual(4, len(came))
        self.assertGreater(events[-1]["came"] - came[0], 1.2)

    def test_characters_are_not_cut(self):
        text = "aüß€😀\u0800\U00010000z"
        events = self.run_code("import os, time\nfor b in " + repr(text.encode()) +
                               ":\n  os.write(1, bytes([b])); time.sleep(0.1)", timeout_seconds=20)
        self.assertEqual(text, self.output(events))
        self.assertGreater(sum(event["type"] == "stdout" for event in events), 4)

    def test_what_is_no_text_comes_as_in_the_result(self):
        events = self.run_code("import os, time\nfor part in (b'a\\xf0\\x9f', b'\\x98b', b'\\xff\\xe2\\x82', b''):\n"
                               "  os.write(1, part); time.sleep(0.05)")
        self.assertEqual(self.result(events)["stdout"], self.output(events))
        self.assertEqual("a\ufffdb\ufffd\ufffd", self.output(events))

    def test_base64_is_untouched(self):
        events = self.run_code("import os, time\nfor i in range(256): os.write(1, bytes([i]))\ntime.sleep(0.1); os.write(1, b'x')",
                               output_encoding="base64")
        parts = [base64.b64decode(event["data"]) for event in events if event["type"] == "stdout"]
        self.assertEqual(bytes(range(256)) + b"x", b"".join(parts))

    def test_live_output_is_whole_and_the_result_is_capped(self):
        events = self.run_code("import os\nfor i in range(200): os.write(1, bytes([97 + i % 26]) * 65536)", timeout_seconds=30)
        self.assertEqual("".join(chr(97 + i % 26) * 65536 for i in range(200)), self.output(events))
        result = self.result(events)
        self.assertEqual((1 << 20, True), (len(result["stdout"]), result["stdout_truncated"]))

    def test_every_path(self):
        for path in ("/stream", "/ws/stream", "/api/v1/stream"):
            events, _ = self.talk({"code": "print(1)"}, path)
            self.assertEqual("1\n", self.output(events))

    def test_timeout_is_a_result(self):
        # After 15 s of silence there would be a heartbeat as well.
        events = self.run_code("print('x', flush=True)\nwhile True: pass", timeout_seconds=min(time_scale.scaled(4), 10))
        self.assertEqual(("x\n", "timeout"), (self.output(events), events[-1]["data"]["status"]))


class Clients(StreamTest):
    def test_leaving_cancels(self):
        async def leave():
            async with self.connect() as stream:
                await stream.send(json.dumps({"code": "import time; time.sleep(50)", "timeout_seconds": 55}))
                while json.loads(await stream.recv())["type"] != "started":
                    pass
                return await asyncio.to_thread(self.the_running_job)

        job = asyncio.run(leave())
        self.assertTrue(host_view.wait_until(lambda: self.status_of(job) == "cancelled", 3), self.status_of(job))

    def test_vanishing_cancels(self):
        async def vanish():
            stream = await self.connect()
            await stream.send(json.dumps({"code": "import time; time.sleep(50)", "timeout_seconds": 55}))
            job = await asyncio.to_thread(self.the_running_job)
            stream.transport.abort()
            return job

        job = asyncio.run(vanish())
        self.assertTrue(host_view.wait_until(lambda: self.status_of(job) == "cancelled", 3), self.status_of(job))

    def test_delete_cancels(self):
        async def cancelled():
            async with self.connect() as stream:
                await stream.send(json.dumps({"code": "import time; time.sleep(50)", "timeout_seconds": 55}))
                job = await asyncio.to_thread(self.the_running_job)
                await asyncio.to_thread(self.client.send, "DELETE", f"/jobs/{job}")
                return [json.loads(message) async for message in stream][-1]

        self.assertEqual("cancelled", asyncio.run(cancelled())["data"]["status"])

    def test_a_client_that_does_not_read_slows_the_program(self):
        before = host_view.resident_bytes(self.server.pid)
        with socket.create_connection(("127.0.0.1", self.server.port), time_scale.scaled(10)) as connection:
            connection.sendall(b"GET /stream HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
                               b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n")
            self.assertIn(b"101", connection.recv(65536))
            request = json.dumps({"code": live_server.FLOOD,
                                  "timeout_seconds": time_scale.timeout(6)}).encode()
            connection.sendall(bytes([0x81, 0x80 | len(request), 0, 0, 0, 0]) + request if len(request) < 126 else
                               bytes([0x81, 0xFE]) + len(request).to_bytes(2, "big") + bytes(4) + request)
            self.check_flood_waits_for_its_reader(before)

    def test_a_slow_client_gets_everything(self):
        async def slow():
            parts = []
            async with self.connect(max_queue=1, read_limit=4096) as stream:
                await stream.send(json.dumps({"code": "import os\nfor i in range(400): os.write(1, b'%07d\\n' % i * 8192)",
                                              "timeout_seconds": 30}))
                async for message in stream:
                    event = json.loads(message)
                    if event["type"] == "stdout":
                        parts.append(event["data"])
                        await asyncio.sleep(0.003)
            return "".join(parts), event

        output, last = asyncio.run(slow())
        self.assertEqual("".join(f"{i:07}\n" * 8192 for i in range(400)), output)
        self.assertEqual("success", last["data"]["status"])

    def test_bad_requests_end_with_a_problem(self):
        for request, status, part in (("nonsense", 400, "body"), ('{"code": ""}', 400, "code"), (b"\xff", 400, "body"),
                                      ('{"code": "x", "extra": 1}', 400, "extra"), ('{"task": "x"}', 424, "API_KEY")):
            with self.subTest(request):
                events, code = self.talk(request)
                self.assertEqual(("error", status, 1008), (events[-1]["type"], events[-1]["data"]["status"], code))
                self.assertIn(part, events[-1]["data"]["detail"])
                self.assertEqual(2, len(events))

    def test_a_second_request_ends_the_first(self):
        async def twice():
            async with self.connect() as stream:
                await stream.send(json.dumps({"code": "import time; time.sleep(50)", "timeout_seconds": 55}))
                job = await asyncio.to_thread(self.the_running_job)
                await stream.send('{"code": "print(1)"}')
                events = []
                with contextlib.suppress(websockets.ConnectionClosed):
                    while True:
                        events.append(json.loads(await stream.recv()))
                return job, events

        job, events = asyncio.run(twice())
        self.assertEqual(["error"], [event["type"] for event in events if event["type"] in ENDS])
        self.assertTrue(host_view.wait_until(lambda: self.status_of(job) == "cancelled", 3))

    def test_a_request_that_is_too_large(self):
        events, code = self.talk('{"code": "' + "x" * (17 << 20) + '"}')
        self.assertEqual((413, 1009), (events[-1]["data"]["status"], code))

    def test_pages_of_other_sites_are_refused(self):
        # Another port of this host is another site: pages of any program there must not get in.
        for origin in ("https://evil.example", "null", "http://localhost.evil.example", "http://127.0.0.1.evil.example:8000",
                       "http://localhost:3000", f"http://localhost:{self.server.port}", "http://[::1]:9",
                       f"http://127.0.0.1:{self.server.port}:x.evil.example"):
            with self.subTest(origin), self.assertRaises(websockets.InvalidStatusCode) as refused:
                self.talk({"code": "print(1)"}, origin=origin)
            self.assertEqual(403, refused.exception.status_code)
        events, _ = self.talk({"code": "print(1)"}, origin=f"http://127.0.0.1:{self.server.port}")
        self.assertEqual("1\n", self.output(events))

    def test_plain_http_is_told(self):
        answer = self.client.send("GET", "/stream")
        self.assertEqual((426, "websocket"), (answer.status, answer.headers["Upgrade"]))
        self.assertEqual(405, self.client.post({"code": "x"}, "/stream").status)

    def test_other_names_are_refused(self):
        answer = self.client.send("GET", "/stream", Host="evil.example", Connection="Upgrade", Upgrade="websocket")
        self.assertEqual(421, answer.status)

    def test_a_client_from_npm(self):
        node = shutil.which("node")
        if node is None or not (NODE_MODULES / "ws").is_dir():
            self.skipTest(f"node, or ws in {NODE_MODULES}, is missing; ./dev test installs the latter")
        finished = subprocess.run([node, HERE / "stream_client.cjs", str(NODE_MODULES), f"ws://127.0.0.1:{self.server.port}/stream"],
                                  capture_output=True, text=True, check=False, timeout=time_scale.scaled(60))
        self.assertEqual((0, ""), (finished.returncode, finished.stderr))
        seen = json.loads(finished.stdout)
        self.assertEqual(["connected", "started", "stdout", "execution_result", "complete"], seen["types"])
        self.assertEqual(("grüße\n", 1000), (seen["stdout"], seen["code"]))
        # The job of a client that left by closing its socket.
        self.assertTrue(host_view.wait_until(lambda: self.status_of(seen["left"]) == "cancelled", 3))


class Frames(StreamTest):
    """Frames that no proper client sends."""

    def handshake(self):
        connection = socket.create_connection(("127.0.0.1", self.server.port), time_scale.scaled(10))
        self.addCleanup(connection.close)
        connection.sendall(b"GET /stream HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
                           b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n")
        self.assertIn(b" 101 ", connection.recv(65536))
        return connection

    def test_handshakes_that_break_the_rules(self):
        upgrade = b"GET /stream HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
        key, own = b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n", b"Origin: http://localhost:%d\r\n" % self.server.port
        for name, lines, status, word in (
                ("no key", b"", b"400", b"Sec-WebSocket-Key"), ("no base64", b"Sec-WebSocket-Key: x\r\n", b"400", b"Sec-WebSocket-Key"),
                ("a short key", b"Sec-WebSocket-Key: AAAA\r\n", b"400", b"Sec-WebSocket-Key"), ("two keys", key + key, b"400", b"Sec-WebSocket-Key"),
                ("two origins", key + own + b"Origin: http://other.example\r\n", b"400", b"Origin")):
            with self.subTest(name), socket.create_connection(("127.0.0.1", self.server.port), time_scale.scaled(10)) as connection:
                connection.sendall(upgrade + lines + b"\r\n")
                answer = connection.recv(65536)
                self.assertEqual(status, answer.split(b" ")[1], answer)
                self.assertIn(word, answer)

    def test_a_message_that_its_header_says_is_too_long_is_refused_before_it_comes(self):
        connection = self.handshake()
        connection.sendall(b"\x81\xff" + (1 << 62).to_bytes(8, "big") + bytes(4) + b"{")
        connection.settimeout(time_scale.scaled(5))
        received = b""
        while chunk := connection.recv(65536):
            received += chunk
        self.assertIn(b"\x88\x02" + (1009).to_bytes(2, "big"), received)

    def test_frames_that_break_the_rules_end_the_connection(self):
        long = bytes(4) + b"x" * 200
        for name, frame in {
                "not masked": b"\x81\x02{}", "reserved bit": b"\xc1\x82" + bytes(4) + b"{}", "unknown kind": b"\x83\x82" + bytes(4) + b"{}",
                "a control frame in pieces": b"\x09\x80" + bytes(4), "a long control frame": b"\x89\xfe\x00\xc8" + long,
                "a continuation of nothing": b"\x80\x82" + bytes(4) + b"{}", "no UTF-8": b"\x81\x82" + bytes(4) + b"\xff\xfe",
                "a code that is none": b"\x88\x82" + bytes(4) + b"\x00\x01"}.items():
            with self.subTest(name):
                connection = self.handshake()
                connection.sendall(frame)
                connection.settimeout(time_scale.scaled(8))
                with contextlib.suppress(ConnectionResetError):
                    while connection.recv(65536):
                        pass
        self.assertEqual("1\n", self.output(self.run_code("print(1)")))

    def test_a_length_that_is_announced_takes_no_memory(self):
        before = host_view.resident_bytes(self.server.pid)
        for size in (1 << 62, (1 << 64) - 1, 17 << 20, 1 << 32):
            self.handshake().sendall(b"\x81\xff" + size.to_bytes(8, "big") + bytes(4) + b"x" * 1000)
        time.sleep(0.5)
        most = (64 if host_view.has_sanitizer(self.server.pid) else 16) << 20
        self.assertLess(host_view.resident_bytes(self.server.pid) - before, most)
        self.assertEqual("1\n", self.output(self.run_code("print(1)")))


class Keys(StreamTest):
    environment = {"JOBS_PATH": ":memory:", "API_KEYS": "the-key"}

    def test_the_key_stands_in_a_header(self):
        for options in ({}, {"extra_headers": {"X-API-Key": "no"}}):
            with self.assertRaises(websockets.InvalidStatusCode) as refused:
                self.talk({"code": "print(1)"}, **options)
            self.assertEqual(401, refused.exception.status_code)
        with self.assertRaises(websockets.InvalidStatusCode):
            self.talk({"code": "print(1)"}, "/stream?key=the-key&api_key=the-key&token=the-key")
        for headers in ({"X-API-Key": "the-key"}, {"Authorization": "Bearer the-key"}):
            events, _ = self.talk({"code": "print(1)"}, extra_headers=headers)
            self.assertEqual("1\n", self.output(events))


class Stopping(StreamTest):
    def start(self):
        server = live_server.LiveServer(environment=self.environment)
        self.addCleanup(server.stop)
        return server

    def after_sigterm(self, request):
        server = self.start()

        async def talk():
            async with self.connect(port=server.port) as stream:
                if request:
                    await stream.send(json.dumps(request))
                first = json.loads(await stream.recv())
                while request and first["type"] != "stdout":
                    first = json.loads(await stream.recv())
                os.kill(server.pid, signal.SIGTERM)
                with contextlib.suppress(websockets.ConnectionClosed):
                    while True:
                        first = json.loads(await stream.recv())
                return first, stream.close_code

        began = time.monotonic()
        last, code = asyncio.run(talk())
        self.assertTrue(host_view.wait_until(lambda: server.exit_status is not None, 10), "it goes on")
        self.assertEqual(0, server.exit_status)
        return last, code, time.monotonic() - began

    def test_a_stream_that_asked_for_nothing_yet_is_told(self):
        last, code, took = self.after_sigterm(None)
        self.assertEqual(("error", 503, 1001), (last["type"], last["data"]["status"], code))
        self.assertLess(took, time_scale.scaled(5))

    def test_a_program_that_runs_is_finished(self):
        last, code, _ = self.after_sigterm({"code": "print(1, flush=True); import time; time.sleep(1); print(2)"})
        self.assertEqual(("complete", "success", 1000), (last["type"], last["data"]["status"], code))


class Busy(StreamTest):
    environment = {"JOBS_PATH": ":memory:", "SANDBOX_MAX_RUNNING": "1", "SANDBOX_MAX_QUEUED": "0"}

    def test_a_client_is_told_to_come_again(self):
        async def second_beside_first():
            async with self.connect() as first:
                await first.send(json.dumps({"code": "import time; print('runs', flush=True); time.sleep(50)", "timeout_seconds": 55}))
                while json.loads(await first.recv())["type"] != "stdout":
                    pass
                return await self._talk({"code": "print(1)"}, "/stream", {})

        events, code = asyncio.run(second_beside_first())
        self.assertEqual(("error", 503, 1013), (events[-1]["type"], events[-1]["data"]["status"], code))
