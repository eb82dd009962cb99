"""The API on a Unix socket: who may connect, what may be at its path, and what is left there."""
import asyncio
import concurrent.futures
import json
import os
import pathlib
import shutil
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import unittest

import host_view
import live_server
import time_scale

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "server" / "clients" / "python"))
# pylint: disable=wrong-import-position
import agent_sandbox as clients

try:
    import debian_websockets as websockets
except ImportError:
    websockets = None

KEY = "a-key-made-for-this-test"


class UnixSocket(live_server.ServerTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.server.stop()

    def setUp(self):
        if self.obstacle:
            self.skipTest(f"no user namespaces for this user: {self.obstacle}")
        # Started as root the server works as another user, and that one makes the file.
        self.directory = tempfile.mkdtemp(prefix="agent-sandbox-unix.")
        os.chmod(self.directory, 0o777)
        self.addCleanup(shutil.rmtree, self.directory, ignore_errors=True)
        self.path = os.path.join(self.directory, "api.sock")

    def start(self, *arguments, **environment):
        server = live_server.LiveServer(*arguments, environment={
            "JOBS_PATH": ":memory:", "API_HOST": f"unix:{self.path}", **environment})
        self.addCleanup(server.stop)
        return server

    def refusal(self, **environment):
        with self.assertRaises(live_server.DidNotStart) as refused:
            self.start(**environment).stop()
        return str(refused.exception)

    def curl(self, *arguments):
        return subprocess.run(["curl", "-sS", "--unix-socket", self.path, *arguments], capture_output=True, text=True,
                              timeout=time_scale.scaled(60), check=True).stdout

    def test_execute(self):
        server = self.start()
        self.assertEqual(self.path, server.path)
        with server.client() as client:
            for _ in range(3):
                self.assertEqual("42\n", client.execute("print(6*7)")["stdout"])
            self.assertEqual(3, len(client.send("GET", "/jobs").json["jobs"]))

    def test_by_flag_and_without_a_port(self):
        server = live_server.LiveServer("--host", f"unix:{self.path}", environment={"JOBS_PATH": ":memory:"})
        self.addCleanup(server.stop)
        self.assertIn(f"listening on unix:{self.path}\n", "".join(server.log))
        inodes = host_view.what_is_open(server.pid)
        for table in ("/proc/net/tcp", "/proc/net/tcp6"):
            for line in pathlib.Path(table).read_text(encoding="ascii").splitlines()[1:]:
                self.assertNotIn(f"socket:[{line.split()[9]}]", inodes)

    @unittest.skipUnless(shutil.which("curl"), "curl is missing")
    def test_curl(self):
        self.start()
        answer = json.loads(self.curl("http://localhost/execute", "--json", '{"code": "print(6*7)"}'))
        self.assertEqual("42\n", answer["stdout"])

    @unittest.skipUnless(shutil.which("curl"), "curl is missing")
    def test_any_host_name(self):
        self.start()
        self.assertEqual("ok", json.loads(self.curl("http://anything.example/health"))["status"])

    @unittest.skipUnless(websockets, "python3-websockets is missing")
    def test_stream(self):
        self.start()

        async def talk():
            events = []
            async with websockets.unix_connect(self.path, uri="ws://localhost/stream") as stream:
                await stream.send(json.dumps({"code": "print(6*7)"}))
                async for message in stream:
                    events.append(json.loads(message))
            return events

        events = asyncio.run(talk())
        self.assertEqual(["connected", "started", "stdout", "execution_result", "complete"],
                         [event["type"] for event in events])

    def test_client_that_goes_away(self):
        server = self.start()
        with server.client() as client:
            leaving = server.client()
            with concurrent.futures.ThreadPoolExecutor(1) as pool:
                gone = pool.submit(leaving.post, {"code": "import time; time.sleep(30)", "timeout_seconds": 40})
                self.assertTrue(server.wait_until_running())
                leaving.socket.shutdown(socket.SHUT_RDWR)
                self.assertIsNotNone(gone.exception())
            self.assertTrue(host_view.wait_until(
                lambda: client.send("GET", "/jobs").json["jobs"][0]["status"] == "cancelled", 10))

    def test_permissions(self):
        old = os.umask(0)
        self.addCleanup(os.umask, old)
        for given, mode in (({}, 0o600), ({"API_SOCKET_MODE": "0660"}, 0o660), ({"API_SOCKET_MODE": "666"}, 0o666)):
            with self.subTest(mode=oct(mode)):
                server = self.start(**given)
                entry = os.lstat(self.path)
                self.assertEqual(stat.S_IFSOCK | mode, entry.st_mode)
                self.assertEqual(os.stat(f"/proc/{server.pid}").st_uid, entry.st_uid)
                self.assertEqual(0, server.stop())

    @unittest.skipIf(os.geteuid() != 0, "only root can become a third user")
    def test_others_cannot_connect(self):
        self.start()
        program = f"import socket; socket.socket(socket.AF_UNIX).connect({self.path!r})"
        tried = subprocess.run(["/usr/bin/python3", "-c", program], user=60802, group=60802, extra_groups=[],
                               capture_output=True, text=True, timeout=time_scale.scaled(20), check=False)
        self.assertIn("PermissionError", tried.stderr)

    def test_keys_are_asked_for_where_there_are_some(self):
        server = self.start(API_KEYS=KEY)
        with server.client() as client:
            self.assertEqual(401, client.post({"code": "pass"}).status)
        with server.client(**{"X-API-Key": KEY}) as client:
            self.assertEqual("42\n", client.execute("print(6*7)")["stdout"])

    def test_stale_file_is_replaced(self):
        server = self.start()
        server.kill()
        self.assertTrue(stat.S_ISSOCK(os.lstat(self.path).st_mode))
        with self.start().client() as client:
            self.assertEqual("42\n", client.execute("print(6*7)")["stdout"])

    def test_taken(self):
        server = self.start()
        said = self.refusal()
        self.assertIn(self.path, said)
        self.assertIn("another process listens there", said)
        with server.client() as client:
            self.assertEqual("42\n", client.execute("print(6*7)")["stdout"])

    def test_what_is_no_socket_is_left_alone(self):
        pathlib.Path(self.path).write_text("precious", encoding="utf-8")
        os.chmod(self.path, 0o666)
        said = self.refusal()
        self.assertIn(self.path, said)
        self.assertIn("no socket", said)
        self.assertEqual("precious", pathlib.Path(self.path).read_text(encoding="utf-8"))

    def test_path_that_is_too_long(self):
        said = self.refusal(API_HOST=f"unix:/{'x' * 107}")
        self.assertIn("API_HOST", said)
        self.assertIn("107 bytes", said)

    def test_mode_that_is_none(self):
        self.assertIn("API_SOCKET_MODE", self.refusal(API_SOCKET_MODE="0700"))

    def test_removed_at_the_end(self):
        server = self.start()
        self.assertTrue(os.path.exists(self.path))
        self.assertEqual(0, server.stop())
        self.assertFalse(os.path.lexists(self.path))

    def test_file_of_somebody_else_stays(self):
        server = self.start()
        os.rename(self.path, self.path + ".old")
        pathlib.Path(self.path).write_text("another's", encoding="utf-8")
        self.assertEqual(0, server.stop())
        self.assertEqual("another's", pathlib.Path(self.path).read_text(encoding="utf-8"))

    def test_drain(self):
        seconds = min(time_scale.scaled(6), 40)  # in which the server is asked to end, and others are refused
        server = self.start(DRAIN_SECONDS="60")
        with concurrent.futures.ThreadPoolExecutor(1) as pool, server.client() as client:
            running = pool.submit(client.execute, f"import time; time.sleep({seconds}); print('whole')", timeout_seconds=60)
            self.assertTrue(server.wait_until_running())
            os.kill(server.pid, signal.SIGTERM)
            self.assertTrue(server.wait_until_draining())
            with server.client() as other:
                self.assertEqual(503, other.post({"code": "pass"}).status)
            self.assertEqual("whole\n", running.result()["stdout"])
        self.assertTrue(host_view.wait_until(lambda: server.exit_status == 0, 5))
        self.assertFalse(os.path.lexists(self.path))


class PythonClient(live_server.ServerTest):
    def test_a_client_of_a_path(self):
        with tempfile.TemporaryDirectory(prefix="agent-sandbox-unix.") as folder:
            os.chmod(folder, 0o777)
            server = live_server.LiveServer("--host", f"unix:{folder}/s", environment={"JOBS_PATH": ":memory:"})
            self.addCleanup(server.stop)
            with clients.Client(f"unix:{server.path}") as client, client.sandboxes.create() as sandbox:
                self.assertEqual("hi\n", sandbox.run("echo hi").stdout)
                with self.assertRaises(clients.InvalidAddress):
                    sandbox.port_url(80)
