"""The service from systemd's view: its notifications, and valid units."""
import contextlib
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import tempfile
import time

import host_view
import live_server
import time_scale

DEPLOY = pathlib.Path(__file__).resolve().parents[2] / "server" / "deploy"


class Systemd(live_server.ServerTest):
    environment = {"JOBS_PATH": ":memory:"}

    def listen(self, address):
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.addCleanup(listener.close)
        listener.bind(address)
        listener.settimeout(time_scale.scaled(10))
        return listener

    def start(self, **environment):
        server = live_server.LiveServer(environment={"JOBS_PATH": ":memory:", **environment})
        self.addCleanup(server.stop)
        return server

    def test_ready_alive_stopping(self):
        directory = tempfile.mkdtemp(prefix="agent-sandbox-notify.")
        self.addCleanup(shutil.rmtree, directory)
        os.chmod(directory, 0o755)
        path = os.path.join(directory, "notify")
        listener = self.listen(path)
        os.chmod(path, 0o666)
        server = self.start(NOTIFY_SOCKET=path, WATCHDOG_USEC="400000")
        came = [listener.recv(100).decode() for _ in range(6)]
        self.assertEqual({"READY=1", "WATCHDOG=1"}, set(came))
        self.assertEqual(1, came.count("READY=1"))
        began = time.monotonic()
        # Notifications come every 0.2 s; those that came while this process had no processor are read at once, and do not count.
        listener.settimeout(0)
        with contextlib.suppress(BlockingIOError):
            while True:
                listener.recv(100)
        listener.settimeout(time_scale.scaled(10))
        for _ in range(10):
            self.assertEqual(b"WATCHDOG=1", listener.recv(100))
        self.assertGreater(time.monotonic() - began, 1.2)
        os.kill(server.pid, signal.SIGTERM)
        while listener.recv(100) != b"STOPPING=1":
            pass
        self.assertTrue(host_view.wait_until(lambda: server.exit_status == 0, 5))

    def test_abstract_socket(self):
        name = f"agent-sandbox-test-{os.getpid()}"
        listener = self.listen("\0" + name)
        self.start(NOTIFY_SOCKET="@" + name)
        self.assertEqual(b"READY=1", listener.recv(100))

    def test_somebody_elses_watchdog_is_left_alone(self):
        name = f"agent-sandbox-other-{os.getpid()}"
        listener = self.listen("\0" + name)
        self.start(NOTIFY_SOCKET="@" + name, WATCHDOG_USEC="100000", WATCHDOG_PID="1")
        self.assertEqual(b"READY=1", listener.recv(100))
        listener.settimeout(0.5)
        with self.assertRaises(TimeoutError):
            listener.recv(100)

    def test_nobody_listens(self):
        with self.start(NOTIFY_SOCKET="/proc/none/notify", WATCHDOG_USEC="100000").client() as client:
            self.assertEqual("1\n", client.execute("print(1)")["stdout"])

    def verify(self, unit, *arguments, change=("", "")):
        text = (DEPLOY / unit).read_text(encoding="utf-8")
        for command in ("/usr/bin/agent-sandbox", "%h/.local/bin/agent-sandbox"):
            text = text.replace(f"ExecStart={command}", f"ExecStart={live_server.BINARY}")
        with tempfile.TemporaryDirectory() as directory:
            path = pathlib.Path(directory, unit)
            path.write_text(text.replace(*change), encoding="utf-8")
            return subprocess.run(["systemd-analyze", *arguments, "verify", "--man=no", path], capture_output=True, text=True,
                                  check=False, env={**os.environ, "XDG_RUNTIME_DIR": directory, "SYSTEMD_LOG_LEVEL": "warning"})

    def test_units_are_valid(self):
        if shutil.which("systemd-analyze") is None:
            self.skipTest("systemd-analyze is missing")
        for unit, arguments in (("agent-sandbox.service", ()), ("agent-sandbox-user.service", ("--user",))):
            with self.subTest(unit):
                finished = self.verify(unit, *arguments)
                ours = [line for line in finished.stderr.splitlines() if unit in line]
                self.assertEqual((0, []), (finished.returncode, ours), finished.stderr)
        broken = self.verify("agent-sandbox.service", change=("Delegate=yes", "Delegat=yes"))
        self.assertIn("Delegat", broken.stderr)
