"""The client for asyncio against a running server, and both clients against one that answers badly."""
import asyncio
import contextlib
import io
import json
import os
import pathlib
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import time
import types
import unittest

import client_calls
import host_view
import live_server
import time_scale

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "server" / "clients" / "python"
sys.path.insert(0, str(FOLDER))
# pylint: disable=wrong-import-position
import agent_sandbox as clients

AT_ONCE = 50
NO_SANDBOX = types.SimpleNamespace(id="s", domain=None, access_token=None)
# The variable may be set for the person who runs the tests.
os.environ.pop("AGENT_SANDBOX_KEY", None)


class Waiting(live_server.ServerTest):
    environment = {"JOBS_PATH": ":memory:"}

    def run_with_client(self, test):
        """Runs `test(client)`, a coroutine function."""
        async def whole():
            async with clients.AsyncClient(f"http://127.0.0.1:{self.server.port}", answer_seconds=time_scale.scaled(60)) as client:
                return await test(client)

        return asyncio.run(whole())

    def test_fifty_programs_at_once(self):
        async def test(client):
            results = await asyncio.gather(*(client.execute(f"print({n})", timeout_seconds=60) for n in range(AT_ONCE)))
            self.assertEqual([f"{n}\n" for n in range(AT_ONCE)], [result.stdout for result in results])
            # All at once again, on the connections that are there.
            answers = await asyncio.gather(*(client.health() for _ in range(AT_ONCE)))
            self.assertEqual({"ok"}, {answer.status for answer in answers})

        self.run_with_client(test)

    def test_fifty_wait_at_the_same_time(self):
        """Each waits for the others, so none would end if fewer were asked for at once."""
        async def test(client):
            sandbox = await client.sandboxes.create(limits={"processes": 256})
            meet = f"touch {{}}; while [ $(ls | wc -l) -lt {AT_ONCE} ]; do sleep 0.02; done"
            results = await asyncio.gather(*(sandbox.run(meet.format(n), timeout_seconds=time_scale.scaled(60)) for n in range(AT_ONCE)))
            self.assertEqual({0}, {result.exit_code for result in results})
            await sandbox.delete()

        self.run_with_client(test)

    def test_a_cancelled_task_leaves(self):
        async def test(client):
            async with client.execute_stream("import time\nprint(1, flush=True)\ntime.sleep(50)", timeout_seconds=60) as events:
                job = (await events.__anext__()).data["job_id"]
                reading = asyncio.create_task(events.last())
                await asyncio.sleep(0)
                reading.cancel()
                with self.assertRaises(asyncio.CancelledError):
                    await reading
                return job

        job = self.run_with_client(test)
        self.assertTrue(host_view.wait_until(lambda: self.status_of(job) == "cancelled", 20))

    def test_a_call_that_takes_too_long_is_left(self):
        async def test(client):
            with self.assertRaises(clients.AnswerTimeout):
                await client.execute("import time; time.sleep(50)", timeout_seconds=60, answer_seconds=0.5)
            self.assertEqual("2\n", (await client.execute("print(2)", timeout_seconds=60)).stdout)
            page = await client.jobs.list(limit=2)
            return page.jobs[1].job_id

        job = self.run_with_client(test)
        self.assertTrue(host_view.wait_until(lambda: self.status_of(job) == "cancelled", 20))

    def test_a_sandbox(self):
        async def test(client):
            async with await client.sandboxes.create(name="waiting") as sandbox:
                await sandbox.files.write("/workspace/f", io.BytesIO(b"content"))
                pieces = [piece async for piece in sandbox.files.read_stream("/workspace/f")]
                self.assertEqual(b"content", b"".join(pieces))
                await sandbox.pause()
                self.assertEqual("content", (await sandbox.run("cat f")).stdout)
                async with sandbox.run_stream("echo first; exec cat", keep_stdin_open=True) as events:
                    process = await sandbox.processes.get((await events.__anext__()).data.pid)
                    self.assertEqual("first\n", (await events.__anext__()).data)
                    await process.write("second", close=True)
                    self.assertEqual(["second"], [event.data async for event in events if event.type == "stdout"])
                async with sandbox.files.watch() as changes:
                    self.assertEqual("watching", (await changes.__anext__()).type)
                    await sandbox.files.write("/workspace/g", b"")
                    async for change in changes:
                        if change.type in ("created", "moved") and change.data.path == "/workspace/g":
                            break
                async with sandbox.terminal() as terminal:
                    await terminal.write("exit 6\n")
                    async for _ in terminal:
                        pass
                self.assertEqual(6, terminal.exit.exit_code)
                self.assertEqual(["waiting"], [each.name async for each in client.sandboxes.iterate(state="running")])
                with self.assertRaises(clients.NotFound):
                    await sandbox.files.read("/workspace/none")
            with self.assertRaises(clients.Conflict):
                await sandbox.run("true")

        self.run_with_client(test)

    def test_an_upload_that_is_refused_meanwhile(self):
        async def test(client):
            async with await client.sandboxes.create(limits={"disk_mb": 16}) as sandbox:
                with self.assertRaises(clients.DiskFull):
                    await sandbox.files.write("/workspace/big", io.BytesIO(bytes(20 << 20)))
                with self.assertRaises(clients.DiskFull):
                    await sandbox.files.write("/workspace/big", bytes(20 << 20))
                self.assertEqual(1, (await sandbox.files.write("/workspace/small", b"x")).size)

        self.run_with_client(test)


class Scripted:
    """A server that says to each connection in turn what it is told to, as soon as a request has come, and then ends it unless it
    is to stay. What it has nothing to say to it leaves open."""

    def __init__(self, *answers, tls=None, stays=()):
        self.requests, self._answers, self._stays, self._tls = [], list(answers), stays, tls
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self._open = []
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self):
        with contextlib.suppress(OSError):  # the listener is closed in the end
            for number, answer in enumerate(self._answers):
                connection, _ = self._listener.accept()
                connection = self._tls.wrap_socket(connection, server_side=True) if self._tls else connection
                self._open.append(connection)
                for part in [answer] if isinstance(answer, bytes) else answer:
                    self.requests.append(connection.recv(65536))
                    connection.sendall(part)
                if number not in self._stays:
                    connection.close()

    def close(self):
        self._listener.close()
        for connection in self._open:
            connection.close()


def answer(body, *headers, status="200 OK"):
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    return "\r\n".join([f"HTTP/1.1 {status}", f"Content-Length: {len(content)}", *headers, "", ""]).encode() + content


def chunked(*chunks, status="200 OK"):
    whole = b"".join(b"%x;note=1\r\n%b\r\n" % (len(chunk), chunk) for chunk in chunks)
    return f"HTTP/1.1 {status}\r\nTransfer-Encoding: chunked\r\n\r\n".encode() + whole


def event(kind, content):
    return json.dumps({"type": kind, "data": content, "timestamp": "2026-11-21T20:16:00.123Z", "seq": 1}).encode() + b"\n"


OK = {"status": "ok"}
LAST_CHUNK = b"0\r\nTrailer: x\r\n\r\n"


class Answers(unittest.TestCase):
    """The results of both clients for every answer of a server, or of a proxy in front of it."""

    def scripted(self, *answers, **options):
        server = Scripted(*answers, **options)
        self.addCleanup(server.close)
        return server

    def outcomes(self, answers, ask, stays=(), **options):
        """The result or exception of `ask(client)`, for the blocking client and for the other one, each with a
        server of its own."""
        def attempt(work):
            try:
                return work()
            except clients.SandboxError as error:
                return error

        async def waiting(url):
            async with clients.AsyncClient(url, **options) as client:
                return await asyncio.wait_for(self.waited(ask(client)), time_scale.scaled(30))

        def blocking(url):
            with clients.Client(url, **options) as client:
                outcome = ask(client)
                return list(outcome) if hasattr(outcome, "__next__") else outcome

        urls = [f"http://127.0.0.1:{self.scripted(*answers, stays=stays).port}" for _ in range(2)]
        return attempt(lambda: blocking(urls[0])), attempt(lambda: asyncio.run(waiting(urls[1])))

    @staticmethod
    async def waited(outcome):
        return [each async for each in outcome] if hasattr(outcome, "__anext__") else await outcome

    def assert_both(self, kind, words, answers, ask=lambda client: client.health(), **options):
        for outcome in self.outcomes(answers, ask, **options):
            self.assertIs(kind, type(outcome), outcome)
            self.assertIn(words, str(outcome))
            yield outcome

    def assert_all_fail(self, *arguments, **options):
        self.assertEqual(2, len(list(self.assert_both(*arguments, **options))))

    def test_framing(self):
        whole = json.dumps(OK).encode()
        for text in (answer(OK), b"HTTP/1.1 100 Continue\r\n\r\n" + answer(OK), chunked(whole[:3], whole[3:]) + LAST_CHUNK,
                     b"HTTP/1.1 200 OK\r\n\r\n" + whole, b"HTTP/1.0 200 OK\nContent-Length: %d\n\n" % len(whole) + whole):
            with self.subTest(text):
                for outcome in self.outcomes([text], lambda client: client.health()):
                    self.assertEqual("ok", outcome.status)

    def test_what_breaks_off(self):
        for text in (b"", b"HTTP/1.1 200 OK\r\nContent-Le", answer(OK)[:-1], chunked(b"{"), chunked(b"{}")):
            with self.subTest(text):
                self.assert_all_fail(clients.ConnectionFailed, "", [text])

    def test_what_is_no_answer(self):
        for text in (b"SSH-2.0-x\r\n\r\n", answer(b"<html>"), answer(b"[]"), b"HTTP/1.1 200 OK\r\n" + b"X: y" * 20000,
                     b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n", answer({"no": "status"})):
            with self.subTest(text[:60]):
                self.assert_all_fail(clients.UnexpectedAnswer, "", [text])

    def test_silence(self):
        self.assert_all_fail(clients.AnswerTimeout, "0.2 s", [answer(OK)[:20]], stays=(0,), answer_seconds=0.2)

    def test_refusals(self):
        problem = {"title": "Too Many Requests", "status": 429, "code": "rate_limit", "detail": "d", "limit": 5, "used": 6, "remedy": "wait"}
        text = answer(problem, "Retry-After: 7", "X-Request-Id: r", status="429 Too Many Requests")
        for error in self.assert_both(clients.TooManyRequests, "429 rate_limit: d (wait)", [text]):
            self.assertEqual((7, 5, 6, "wait", "r", problem), (error.retry_after_seconds, error.limit, error.used, error.remedy,
                                                               error.request_id, error.problem))
        self.assert_all_fail(clients.ServerFailure, "502 : <html>", [answer(b"<html>", status="502 Bad Gateway")])
        self.assert_all_fail(clients.ApiError, "308", [answer(b"", "Location: /x", status="308 Permanent Redirect")])

    def test_streams_that_break_off(self):
        half = chunked(event("started", {"job_id": "j"}), event("heartbeat", {}))
        for text in (half, half + LAST_CHUNK):
            self.assert_all_fail(clients.BrokenStream, "", [text], ask=lambda client: client.execute_stream("1"))

    def test_an_error_among_the_events(self):
        problem = {"title": "Service Unavailable", "status": 503, "code": "stopping", "detail": "d"}
        self.assert_all_fail(clients.Unavailable, "503 stopping: d", [chunked(event("error", problem)) + LAST_CHUNK],
                             ask=lambda client: client.execute_stream("1"))

    def test_an_endless_upload_that_is_refused(self):
        server = client_calls.RefusesAtOnce()
        self.addCleanup(server.stop)

        def blocks():
            while True:
                yield bytes(65536)

        async def waiting():
            async def more():
                for block in blocks():
                    yield block

            async with clients.AsyncClient(server.url) as client:
                await clients.AsyncSandbox(client._session, NO_SANDBOX).files.write("/x", more())

        with clients.Client(server.url) as client, self.assertRaises(clients.DiskFull):
            clients.Sandbox(client._session, NO_SANDBOX).files.write("/x", blocks())
        with self.assertRaises(clients.DiskFull):
            asyncio.run(waiting())

    def test_a_connection_that_was_closed_meanwhile(self):
        """A request that is safe to repeat is sent again on another connection. Any other one fails, and is not sent
        twice."""
        server = self.scripted([answer(OK), b""], answer(OK), [answer(OK), b""])
        with clients.Client(f"http://127.0.0.1:{server.port}") as client:
            self.assertEqual(["ok", "ok"], [client.health().status for _ in range(2)])
            self.assertEqual(3, len(server.requests))
            client.health()
            with self.assertRaises(clients.ConnectionFailed):
                client.execute("1")
            self.assertEqual([b"GET", b"GET", b"GET", b"GET", b"POST"], [request.split()[0] for request in server.requests])

    def test_nobody_is_there(self):
        with host_view.held_port() as held:
            with self.assertRaisesRegex(clients.ConnectionFailed, "127.0.0.1"):
                clients.Client(f"http://127.0.0.1:{held.getsockname()[1]}").health()
        with self.assertRaises(clients.ConnectionFailed):
            asyncio.run(clients.AsyncClient("unix:/nonexistent/socket").health())

    def test_addresses(self):
        for url in ("localhost:8000", "http://", "http://a:b@c", "http://a?b", "http://a:x", "ftp://a", "unix:relative"):
            with self.subTest(url), self.assertRaisesRegex(clients.InvalidAddress, "expected"):
                clients.Client(url)
        with self.assertRaisesRegex(clients.InvalidAddress, "blanks"):
            clients.Client(key="a\r\nX: y")
        server = self.scripted(answer(OK))
        os.environ["AGENT_SANDBOX_URL"] = f"http://localhost:{server.port}/prefix/"
        self.addCleanup(os.environ.pop, "AGENT_SANDBOX_URL")
        with clients.Client() as client:
            client.health()
        self.assertTrue(server.requests[0].startswith(b"GET /prefix/health HTTP/1.1\r\nHost: localhost:%d\r\n" % server.port), server.requests)

    def test_tls(self):
        with tempfile.TemporaryDirectory() as folder:
            made = subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=localhost", "-addext",
                                   "subjectAltName=DNS:localhost", "-keyout", f"{folder}/key", "-out", f"{folder}/cert"],
                                  capture_output=True, text=True, check=False)
            self.assertEqual(0, made.returncode, made.stderr)
            its = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
            its.load_cert_chain(f"{folder}/cert", f"{folder}/key")
            trusts = ssl.create_default_context(cafile=f"{folder}/cert")
            server = self.scripted([answer(OK), answer(OK)], [answer(OK), answer(OK)], tls=its)

            async def waiting():
                async with clients.AsyncClient(f"https://localhost:{server.port}", tls=trusts) as client:
                    return [(await client.health()).status for _ in range(2)]

            with clients.Client(f"https://localhost:{server.port}", tls=trusts) as client:
                self.assertEqual(["ok", "ok"], [client.health().status for _ in range(2)])
            self.assertEqual(["ok", "ok"], asyncio.run(waiting()))
            unknown = self.scripted(b"", tls=its)
            with self.assertRaisesRegex(clients.ConnectionFailed, "certificate"):
                clients.Client(f"https://localhost:{unknown.port}").health()

    def test_idle_connections_are_not_used_for_ever(self):
        server = self.scripted(answer(OK), answer(OK), stays=(0, 1))
        with clients.Client(f"http://127.0.0.1:{server.port}") as client:
            client.health()
            idle = client._session._idle
            idle.append((time.monotonic() - 60, idle.pop()[1]))
            client.health()
        self.assertEqual(2, len(server.requests))
