"""The units that agent-sandbox asks for, or is started in, under a real systemd as process 1.
Must be run as root in the virtual machine (`vm --as systemd`)."""
import json
import os
import pathlib
import subprocess
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "api"))
import live_server  # noqa: E402
import time_scale  # noqa: E402

BINARY = os.environ["AGENT_SANDBOX_BIN"]
BY_CGROUP = {"memory": "cgroup", "pids": "cgroup", "cpu": "cgroup"}
USER = 1000  # has a systemd of his own here; the next number has none
IN_THE_MACHINE = os.path.exists("/run/vm") and pathlib.Path("/proc/1/comm").read_text(encoding="ascii") == "systemd\n"


def as_user(uid):
    return ["setpriv", f"--reuid={uid}", f"--regid={uid}", "--clear-groups", "--", "env",
            f"XDG_RUNTIME_DIR=/run/user/{uid}"]


def run(*command):
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd="/",
                          stdin=subprocess.DEVNULL, timeout=time_scale.scaled(60))


def units():
    return run("systemctl", "list-units", "--all", "--plain", "--no-legend", "agent-sandbox*").stdout


def until(condition, seconds=5):
    deadline = time.monotonic() + time_scale.scaled(seconds)
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.1)
    return condition()


@unittest.skipUnless(IN_THE_MACHINE, "process 1 is not the virtual machine's systemd")
class Units(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        started = run("systemctl", "start", f"user@{USER}.service")
        assert started.returncode == 0, run("systemctl", "status", f"user@{USER}.service").stdout

    def check_exec(self, *prefix):
        done = run(*prefix, BINARY, "exec", "--json", "-c", "print(42)")
        self.assertEqual(0, done.returncode, done.stdout + done.stderr)
        result = json.loads(done.stdout)
        self.assertEqual(("42\n", BY_CGROUP), (result["stdout"], result["limits"]), done.stderr)

    def origin(self, *prefix):
        report = json.loads(run(*prefix, BINARY, "doctor", "--json").stdout)
        return next(check["found"] for check in report["checks"] if check["name"] == "cgroup v2")

    def test_exec_as_root_gets_a_scope_of_the_system(self):
        self.check_exec()
        self.assertRegex(self.origin(), r"^/sys/fs/cgroup/system.slice/agent-sandbox-\d+\.scope \(systemd\)")
        self.assertTrue(until(lambda: units() == ""), units())

    def test_exec_as_a_user_gets_a_scope_of_his_own_systemd(self):
        self.check_exec(*as_user(USER))
        self.assertRegex(self.origin(*as_user(USER)),
                         rf"user@{USER}\.service/app\.slice/agent-sandbox-\d+\.scope \(systemd\)")

    def test_a_user_without_systemd_is_told(self):
        other = as_user(USER + 1)
        found = self.origin(*other)
        self.assertIn("systemd did not delegate it", found)
        self.assertIn(f"/run/user/{USER + 1}/systemd/private", found)
        done = run(*other, BINARY, "exec", "--require-cgroup", "-c", "1")
        self.assertEqual(125, done.returncode)
        self.assertIn("--require-cgroup", done.stderr)
        self.assertIn("Delegate=yes", done.stderr)
        done = run(*other, BINARY, "exec", "--json", "-c", "print(1)")
        self.assertEqual("watchdog", json.loads(done.stdout)["limits"]["memory"], done.stderr)

    def test_a_service_with_delegate_uses_its_own(self):
        for settings in ([], ["--property=User=1000", "--property=Group=1000"]):
            prefix = ["systemd-run", "--quiet", "--wait", "--pipe", "--collect",
                      "--property=Delegate=yes", *settings]
            with self.subTest(settings=settings):
                self.check_exec(*prefix)
                self.assertRegex(self.origin(*prefix), r"/run-u\d+\.service \(own\)$")

    def test_a_users_service_with_delegate_uses_its_own_when_told(self):
        # A user's systemd leaves no mark on what it delegates, so somebody has to say it.
        prefix = [*as_user(USER), "systemd-run", "--user", "--quiet", "--wait", "--pipe", "--collect",
                  "--property=Delegate=yes", "--setenv=SANDBOX_CGROUP=own"]
        self.check_exec(*prefix)
        self.assertRegex(self.origin(*prefix), r"app\.slice/run-u\d+\.service \(configured\)$")

    def test_serve_as_root(self):
        server = live_server.LiveServer("--require-cgroup")
        self.addCleanup(server.stop)
        scope = f"agent-sandbox-{server.pid}.scope"
        shown = run("systemctl", "show", "--property=Delegate,ActiveState,TasksMax", scope).stdout
        self.assertEqual({"Delegate=yes", "ActiveState=active", "TasksMax=infinity"}, set(shown.split()))
        place = pathlib.Path("/sys/fs/cgroup/system.slice", scope)
        self.assertEqual(os.stat(f"/proc/{server.pid}").st_uid, place.stat().st_uid)
        self.assertNotEqual(0, place.stat().st_uid)
        with server.client() as client:
            self.assertEqual(BY_CGROUP, client.execute("print(1)", timeout_seconds=50)["limits"])
        self.assertEqual(0, server.stop())
        self.assertTrue(until(lambda: not place.exists()), units())

    def test_a_killed_server_leaves_no_unit(self):
        server = live_server.LiveServer("--require-cgroup")
        self.addCleanup(server.stop)
        place = pathlib.Path(f"/sys/fs/cgroup/system.slice/agent-sandbox-{server.pid}.scope")
        live_server.send_and_forget(server, "import time; time.sleep(50)", timeout_seconds=50)
        self.assertTrue(until(lambda: list(place.glob("jail-*"))))
        server.kill()
        self.assertTrue(until(lambda: not place.exists(), 20), list(place.glob("jail-*")))


if __name__ == "__main__":
    unittest.main()
