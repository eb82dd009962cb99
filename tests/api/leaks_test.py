"""Hundreds of requests leave nothing behind on the host. There is one server; the programs are of every kind
that ends in a way of its own."""
import concurrent.futures
import contextlib
import json
import os
import socket

import host_view
import live_server
import time_scale
from server_snapshot import Snapshot, assert_nothing_left, settled

MEBIBYTE = 1 << 20
PROGRAMS = (
    ("success", {"code": "print(6*7)"}),
    ("success", {"code": "echo $((6*7))", "language": "bash"}),
    ("success", {"code": "open('file', 'w').write('x' * 10**6); open('/tmp/file', 'w').write('x')"}),
    ("success", {"code": "import os, time\nif os.fork() == 0: os.setsid(); time.sleep(60)"}),
    ("success", {"code": "import sys; print(len(sys.stdin.read()))", "stdin": "x" * 100_000}),
    ("success", {"code": "print('x' * 2000000)"}),
    ("error", {"code": "import sys; sys.exit(3)"}),
    ("killed", {"code": "import os; os.abort()"}),
    ("timeout", {"code": "while True: pass", "timeout_seconds": 0.15}),
    ("out_of_memory", {"code": "x = []\nwhile True: x.append(bytearray(b'x') * (1 << 20))", "memory_limit_mb": 48}),
)


class Leaks(live_server.ServerTest):
    """Each program has a jail of its own, by execve."""

    # Stored results are no leak; from the warm-up on, the server has as many of them in memory as it keeps.
    environment = {"JOBS_PATH": ":memory:", "JOBS_KEPT": "20", "SANDBOX_POOL_SIZE": "0"}

    def run_all(self, programs):
        with self.server.client() as client:
            for status, request in programs:
                answer = client.post({"timeout_seconds": time_scale.timeout(5), **request})
                self.assertEqual((200, status), (answer.status, answer.json.get("status")), (request, answer))

    def sequential(self):
        quick = PROGRAMS[:8]
        self.run_all(quick[number % len(quick)] for number in range(190))
        self.run_all(PROGRAMS[8:] * 5)

    def concurrent(self):
        # Eight memory limits at once would measure the machine; the quick programs measure the server.
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            for run in [pool.submit(self.run_all, [PROGRAMS[(number + first) % 8] for number in range(100)])
                        for first in range(8)]:
                run.result()

    def abandoned(self):
        """Runs clients that leave in the middle of a run and in the middle of a request."""
        for _ in range(20):
            client = self.server.client()
            client._connection.request("POST", "/execute", b'{"code": "import time; time.sleep(20)", "timeout_seconds": 30}',
                                       {"Content-Type": "application/json"})
            client.close()
            client = self.server.client()
            client._connection.connect()
            client.socket.sendall(b"POST /execute HTTP/1.1\r\nContent-Length: 100\r\n")
            client.close()

    def wait_until_idle(self):
        host_view.wait_until(lambda: len(self.server.processes()) <= 1, 5)

    def assert_nothing_left(self, work):
        self.run_all(PROGRAMS * 2)  # warm-up: pools and allocators reach their size
        self.client.close()
        self.wait_until_idle()
        before = Snapshot(self.server)
        resident = host_view.resident_bytes(self.server.pid)
        work()
        after = settled(self.server, before)
        self.assertEqual(before.launcher, after.launcher)
        assert_nothing_left(self, before, after)
        self.assertLess(host_view.resident_bytes(self.server.pid), 1.5 * resident + 24 * MEBIBYTE)

    def test_one_after_the_other(self):
        self.assert_nothing_left(self.sequential)

    def test_eight_at_once(self):
        self.assert_nothing_left(self.concurrent)

    def test_abandoned(self):
        self.assert_nothing_left(self.abandoned)

    def test_control_what_is_left_is_seen(self):
        before = Snapshot(self.server)
        path = os.path.join(self.server.temporary, "left")
        with open(path, "w", encoding="utf-8"):
            self.assertNotEqual(before.files, Snapshot(self.server).files)
        os.unlink(path)
        # Jails that are given up meanwhile close some descriptors, but fewer than are opened here.
        with contextlib.ExitStack() as connections:
            for _ in range(100):
                connections.enter_context(socket.create_connection(("127.0.0.1", self.server.port)))
            host_view.wait_until(lambda: host_view.open_descriptors(self.server.pid) > before.server_descriptors, 5)
            self.assertGreater(Snapshot(self.server).server_descriptors, before.server_descriptors)


class LargeBodies(live_server.ServerTest):
    environment = {"JOBS_PATH": ":memory:", "SANDBOX_POOL_SIZE": "0"}

    def test_their_memory_is_given_back_once_the_server_is_idle(self):
        if host_view.has_sanitizer(self.server.pid):
            self.skipTest("its allocator keeps what was freed")
        self.execute("pass")
        before = host_view.resident_bytes(self.server.pid)
        body = json.dumps({"code": "pass", "files": {str(number): "x" * (1 << 19) for number in range(14)},
                           "timeout_seconds": 60}).encode()

        def send(_):
            with self.server.client() as client:
                return client.post(body).status

        with concurrent.futures.ThreadPoolExecutor(12) as pool:
            self.assertEqual({200}, set(pool.map(send, range(36))))
        self.assertTrue(host_view.wait_until(lambda: host_view.resident_bytes(self.server.pid) < before + 32 * MEBIBYTE, 10),
                        (before, host_view.resident_bytes(self.server.pid)))


class WarmLeaks(live_server.SteadyPools, Leaks):
    """Jails come from pools that always keep the same number."""

    environment = {**Leaks.environment, "SANDBOX_POOL_SIZE": "4"}
    JAILS = 4

    def wait_until_idle(self):
        """Waits until pools are full and the processes of runs are gone."""
        self.assertTrue(host_view.wait_until(self.pools_are_full, 10))
        jails = 2 * self.JAILS
        # A jail that waits is an init and, of Python, a guest; beside them a launcher and the
        # zygote with its host.
        at_rest = jails + 4 + 3
        self.assertTrue(host_view.wait_until(lambda: len(self.server.processes()) <= at_rest, 10), self.server.processes())

    def test_its_jails_are_warm(self):
        self.wait_until_idle()
        with self.server.client() as client:
            self.assertTrue(client.execute("pass")["warm"])
