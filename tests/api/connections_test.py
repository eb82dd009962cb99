"""HTTP itself: connections that are kept, broken, slow or hostile; a client that leaves; the end of the server."""
import concurrent.futures
import json
import os
import pathlib
import signal
import socket
import time

import host_view
import live_server
import time_scale


def raw(port, request, timeout=10.0):
    """Returns everything that comes back for `request`, until the server closes or nothing comes for a while."""
    with socket.create_connection(("127.0.0.1", port), time_scale.scaled(timeout)) as connection:
        answer = b""
        try:
            connection.sendall(request)
            while chunk := connection.recv(65536):
                answer += chunk
        except (TimeoutError, ConnectionError):
            pass
    return answer


BODY = json.dumps({"code": "print(6*7)"}).encode()
HEAD = b"POST /execute HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"


class Connections(live_server.ServerTest):
    def test_keep_alive(self):
        self.execute("pass")
        connection = self.client.socket
        for _ in range(10):
            self.execute("pass")
        self.assertIs(connection, self.client.socket)

    def test_connection_close(self):
        answer = raw(self.server.port, HEAD + b"Connection: close\r\nContent-Length: %d\r\n\r\n" % len(BODY) + BODY)
        self.assertRegex(answer, rb"^HTTP/1.1 200 ")
        self.assertIn(b'42\\n', answer)

    def test_chunked_body(self):
        chunks = b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in (BODY[:7], BODY[7:])) + b"0\r\n\r\n"
        answer = raw(self.server.port, HEAD + b"Connection: close\r\nTransfer-Encoding: chunked\r\n\r\n" + chunks)
        self.assertRegex(answer, rb"^HTTP/1.1 200 ")

    def test_two_requests_at_once_on_one_connection(self):
        one = HEAD + b"Content-Length: %d\r\n\r\n" % len(BODY) + BODY
        last = HEAD + b"Connection: close\r\nContent-Length: %d\r\n\r\n" % len(BODY) + BODY
        self.assertEqual(2, raw(self.server.port, one + last).count(b"HTTP/1.1 200 "))

    def test_smuggling(self):
        both = HEAD + b"Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET /health HTTP/1.1\r\n\r\n"
        twice = HEAD + b"Content-Length: 4\r\nContent-Length: 40\r\n\r\n" + b"x" * 40
        for request in (both, twice, HEAD + b"Content-Length: -1\r\n\r\n", HEAD + b"Content-Length: 4x\r\n\r\nxxxx",
                        HEAD + b"Transfer-Encoding: chunked, gzip\r\n\r\n", HEAD + b"X : y\r\n\r\n"):
            with self.subTest(request):
                answer = raw(self.server.port, request, 5)
                self.assertRegex(answer, rb"^HTTP/1.1 4\d\d |^$")
                self.assertLessEqual(answer.count(b"HTTP/1.1 "), 1, answer)

    def test_headers_past_the_bound(self):
        for extra in (b"X-Long: " + b"x" * 100_000 + b"\r\n", b"".join(b"X-%d: y\r\n" % n for n in range(20_000))):
            answer = raw(self.server.port, HEAD + extra + b"\r\n", 5)
            self.assertRegex(answer, rb"^HTTP/1.1 4(?:31|00|13) |^$")

    def test_large_body_is_refused_before_it_is_read(self):
        answer = raw(self.server.port, HEAD + b"Content-Length: 1000000000\r\n\r\n", 5)
        self.assertRegex(answer, rb"^HTTP/1.1 413 ")

    def test_a_client_that_wants_tls_is_answered_before_it_waits(self):
        hello = b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(500)
        answer = raw(self.server.port, hello, 5)
        self.assertTrue(answer.startswith(b"HTTP/1.1 400 "), answer)
        self.assertIn(b"this port speaks HTTP without TLS: use http://", answer)

    def test_expect_continue(self):
        with socket.create_connection(("127.0.0.1", self.server.port), time_scale.scaled(10)) as connection:
            connection.sendall(HEAD + b"Connection: close\r\nExpect: 100-continue\r\nContent-Length: %d\r\n\r\n" % len(BODY))
            time.sleep(0.2)
            connection.sendall(BODY)
            answer = b""
            while chunk := connection.recv(65536):
                answer += chunk
        self.assertIn(b"HTTP/1.1 200 ", answer)

    def test_rubbish(self):
        for request in (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + os.urandom(64), b"\r\n\r\n", b"GET\r\n\r\n",
                        b"GET /health HTTP/9.9\r\n\r\n", b"\0" * 100, b"G" * 70_000):
            raw(self.server.port, request, 2)
        self.assertEqual("success", self.execute("pass")["status"])

    def test_slow_clients_do_not_keep_others_waiting(self):
        slow = [socket.create_connection(("127.0.0.1", self.server.port), 10) for _ in range(50)]
        for connection in slow:
            connection.sendall(HEAD)
        _, seconds = self.seconds("print(1)")
        for connection in slow:
            connection.close()
        self.assertLess(seconds, 5)

    def test_many_clients_at_once(self):
        def one(number):
            with self.server.client() as client:
                return client.execute(f"print({number} * 2)")["stdout"]
        with concurrent.futures.ThreadPoolExecutor(32) as pool:
            answers = list(pool.map(one, range(64)))
        self.assertEqual([f"{number * 2}\n" for number in range(64)], answers)

    def test_client_that_leaves_cancels_its_run(self):
        word = f"cancelled-{os.getpid()}-{time.monotonic_ns()}"
        client = self.server.client()
        client._connection.request("POST", "/execute", json.dumps(
            {"code": "import time; time.sleep(50)", "args": [word], "timeout_seconds": 55}),
            {"Content-Type": "application/json"})
        self.assertTrue(host_view.wait_until(lambda: self.guests(word), 10), "the guest does not run")
        client.close()
        self.assertTrue(host_view.wait_until(lambda: not self.guests(word), 5), "the guest runs on")
        with self.server.client() as other:
            self.assertTrue(host_view.wait_until(
                lambda: other.send("GET", "/health").json["runs"]["running"] == 0, 5), "it keeps its place")

    def guests(self, word):
        return [pid for pid, line in self.server.processes().items() if word in line]


    def test_a_head_that_does_not_come_is_not_waited_for(self):
        with socket.create_connection(("127.0.0.1", self.server.port), 30) as silent, \
                socket.create_connection(("127.0.0.1", self.server.port), 30) as trickling:
            began, sent = time.monotonic(), 0
            request = HEAD + b"X: " + b"y" * 10_000
            trickling.settimeout(0.5)
            answer = None
            while answer is None and time.monotonic() - began < 20:
                trickling.sendall(request[sent:sent + 1])
                sent += 1
                try:
                    answer = trickling.recv(65536)
                except TimeoutError:
                    pass
            self.assertRegex(answer, rb"^HTTP/1.1 408 ")
            self.assertGreater(sent, 10)
            self.assertAlmostEqual(10, time.monotonic() - began, delta=3)
            self.assertEqual(b"", silent.recv(100))
            self.assertLess(time.monotonic() - began, 14)


class Idle(live_server.ServerTest):
    environment = {"API_IDLE_SECONDS": "2"}

    def test_a_connection_is_kept_as_long_as_is_configured(self):
        with socket.create_connection(("127.0.0.1", self.server.port), time_scale.scaled(30)) as connection:
            began = time.monotonic()
            connection.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
            self.assertRegex(connection.recv(65536), rb"^HTTP/1.1 200 ")
            self.assertEqual(b"", connection.recv(100))
            took = time.monotonic() - began
        self.assertGreater(took, 1.5)
        self.assertLess(took, time_scale.scaled(10))


class Floods(live_server.ServerTest):
    """More connections than allowed, from one peer and from all together."""

    environment = {"API_MAX_CONNECTIONS": "12", "API_MAX_CONNECTIONS_PER_PEER": "8"}

    def setUp(self):
        super().setUp()
        # The connections of the previous test count until the server has seen their end.
        self.assertTrue(host_view.wait_until(lambda: self.held() == 0, 10), self.held())

    def open(self, count, peer):
        connections = [socket.create_connection(("127.0.0.1", self.server.port), 10, (peer, 0)) for _ in range(count)]
        for connection in connections:
            self.addCleanup(connection.close)
        return connections

    def held(self):
        """Connections that the server has not closed yet: established, or closed by the other side alone."""
        rows = [line.split() for line in pathlib.Path("/proc/net/tcp").read_text(encoding="ascii").splitlines()[1:]]
        return sum(row[1].endswith(f":{self.server.port:04X}") and row[3] in ("01", "08") for row in rows)

    def ask(self, connection):
        """Returns the status, or 0 where the connection was closed without an answer."""
        try:
            connection.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
            return int((connection.recv(65536).split() + [b"", b"0"])[1])
        except OSError:
            return 0

    def close_all(self, connections):
        for connection in connections:
            connection.close()
        self.assertTrue(host_view.wait_until(lambda: self.ask(self.open(1, "127.0.0.9")[0]) == 200, 10))

    def test_one_peer_leaves_room_for_others(self):
        greedy = self.open(30, "127.0.0.2")
        statuses = [self.ask(connection) for connection in greedy]
        self.assertEqual([200] * 8 + [429] * 22, statuses)
        other = self.open(1, "127.0.0.3")[0]
        self.assertEqual(200, self.ask(other))
        greedy[0].close()
        self.assertTrue(host_view.wait_until(lambda: self.ask(self.open(1, "127.0.0.2")[0]) == 200, 5), "it has room again")
        self.close_all([*greedy, other])

    def test_all_together_are_bounded(self):
        connections = [connection for peer in range(20, 26) for connection in self.open(3, f"127.0.0.{peer}")]
        statuses = [self.ask(connection) for connection in connections]
        self.assertEqual([200] * 12 + [503] * 6, statuses)
        self.close_all(connections)

    def test_a_flood_ends_with_the_flood(self):
        flood = self.open(300, "127.0.0.4")
        # Connections beyond the 64 that get an answer are closed at once.
        self.assertTrue(host_view.wait_until(lambda: self.held() <= 8 + 64, 5), self.held())
        self.assertEqual(200, self.ask(self.open(1, "127.0.0.5")[0]))
        self.close_all(flood)
        self.assertTrue(host_view.wait_until(lambda: self.held() <= 2, 10), self.held())
        with self.server.client() as client:
            rejected = client.send("GET", "/stats").json["rejected"]
            self.assertGreaterEqual(rejected["peer"], 22)


class TheEnd(live_server.ServerTest):
    """Each test has a server of its own, since it ends it."""

    def setUp(self):
        super().setUp()
        self.mine = live_server.LiveServer()
        self.addCleanup(self.mine.stop)

    def run_for_long(self):
        client = self.mine.client()
        self.addCleanup(client.close)
        client._connection.request("POST", "/execute", json.dumps(
            {"code": "import os\nfor _ in range(3): os.fork()\nimport time; time.sleep(50)", "timeout_seconds": 55,
             "args": ["for-long"]}), {"Content-Type": "application/json"})
        self.assertTrue(host_view.wait_until(lambda: self.for_long() >= 8, 10), self.mine.processes())

    def for_long(self):
        return sum("for-long" in line for line in self.mine.processes().values())

    def left(self, below):
        return {pid: line for pid, line in below.items() if host_view.alive(pid)}

    def test_killed_server_takes_its_jails_along(self):
        self.run_for_long()
        below = self.mine.processes()
        self.mine.kill()
        self.assertTrue(host_view.wait_until(lambda: not self.left(below), 5), self.left(below))

    def test_terminated_server_answers_what_runs(self):
        with concurrent.futures.ThreadPoolExecutor(1) as pool, self.mine.client() as client:
            running = pool.submit(client.execute, "import time; time.sleep(4); print('finished')", timeout_seconds=time_scale.timeout(20))
            self.assertTrue(self.mine.wait_until_running())
            os.kill(self.mine.pid, signal.SIGTERM)
            self.assertEqual("finished\n", running.result()["stdout"])
        self.assertTrue(host_view.wait_until(lambda: self.mine.exit_status is not None, 5), "it goes on")
        self.assertEqual(0, self.mine.exit_status)

    def test_second_signal_ends_it_at_once(self):
        self.run_for_long()
        below = self.mine.processes()
        os.kill(self.mine.pid, signal.SIGTERM)
        # Two signals count as one if both come before the first is seen.
        self.assertTrue(self.mine.wait_until_draining(), "it does not drain")
        os.kill(self.mine.pid, signal.SIGTERM)
        self.assertTrue(host_view.wait_until(lambda: self.mine.exit_status is not None, 5), "it goes on")
        self.assertTrue(host_view.wait_until(lambda: not self.left(below), 5), self.left(below))

    def test_idle_server_ends_cleanly(self):
        self.assertEqual(0, self.mine.stop())

    def test_killed_launcher_is_our_own_fault_and_said_so(self):
        launcher = self.mine.launcher()
        self.assertIsNotNone(launcher)
        os.kill(launcher, signal.SIGKILL)
        with self.mine.client() as client:
            answer = client.post({"code": "print(1)"})
        self.assertIn(answer.status, (200, 500, 503), answer)
        if answer.status != 200:
            self.assertRegex(answer.headers["Content-Type"], "^application/problem\\+json")
