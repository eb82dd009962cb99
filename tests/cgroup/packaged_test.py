"""The units of the packages, as they are installed, under a real systemd as process 1.
Must be run as root in the virtual machine (`vm --as systemd`), whose files are all in memory."""
import os
import pathlib
import pwd
import shutil
import subprocess
import sys
import time
import unittest

import units_test
from units_test import BY_CGROUP, USER, as_user, run, until

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "api"))
import live_server  # noqa: E402

DEPLOY = pathlib.Path(__file__).resolve().parents[2] / "server/deploy"
PORT = 8000
USERS_PORT = 8001
STATE = pathlib.Path("/var/lib/agent-sandbox")
ROOT = STATE / "root-that-was-built"
# The machine is emulated, and fifty times slower than any that a service is meant for.
PATIENCE = "[Service]\nTimeoutStartSec=600\nWatchdogSec=600\nTimeoutStopSec=600\n"


def install():
    """Installs these where the packages do; the ring deploy checks that."""
    # A copy: below a /usr that jails see, where no root was built, nothing can be mounted.
    shutil.copy(os.environ["AGENT_SANDBOX_BIN"], "/usr/bin/agent-sandbox")
    shutil.copytree(DEPLOY / "etc", "/etc/agent-sandbox")
    subprocess.run(["bash", DEPLOY / "debian/postinst", "configure"], check=True)
    for unit, place in (("agent-sandbox.service", "system"), ("agent-sandbox-user.service", "user")):
        units = pathlib.Path("/usr/lib/systemd", place)
        shutil.copy(DEPLOY / unit, units / "agent-sandbox.service")
        (units / "agent-sandbox.service.d").mkdir()
        (units / "agent-sandbox.service.d/slow.conf").write_text(PATIENCE, encoding="ascii")


class Service:
    def __init__(self, port, *prefix):
        self.port = port
        self.control = (*prefix, "systemctl", *(["--user"] if prefix else []))

    def do(self, verb):
        """Returns its exit status and output, with the unit's log when that is not 0."""
        done = run(*self.control, verb, "agent-sandbox")
        said = done.stdout + done.stderr
        if done.returncode != 0:
            said += self.journal()
        return done.returncode, said

    @staticmethod
    def journal():
        return run("journalctl", "--no-pager", "--lines=50", "--output=cat").stdout

    def shows(self, *names):
        lines = run(*self.control, "show", f"--property={','.join(names)}", "agent-sandbox").stdout.splitlines()
        return dict(line.split("=", 1) for line in lines)

    def client(self):
        return live_server.Client(self.port)

    def run_code(self, code, **fields):
        with self.client() as client:
            answer = client.post({"code": code, "timeout_seconds": 50, **fields})
        if answer.status != 200:
            raise AssertionError(f"{answer}\n{self.journal()}")
        return answer.json


@unittest.skipUnless(units_test.IN_THE_MACHINE, "process 1 is not the virtual machine's systemd")
class Packaged(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        # The root has the form that `sudo rootfs/build` leaves. Its place and the service's state must work together.
        ROOT.mkdir(parents=True)
        (ROOT / "mark").write_text("built", encoding="ascii")
        install()
        assert run("systemctl", "daemon-reload").returncode == 0

    def started(self, service):
        self.addCleanup(service.do, "stop")
        status, said = service.do("start")
        self.assertEqual(0, status, said)
        return service

    def test_the_system_service(self):
        service = self.started(Service(PORT))
        shown = service.shows("ActiveState", "SubState", "Delegate", "MainPID", "ControlGroup")
        self.assertEqual(("active", "running", "yes"), (shown["ActiveState"], shown["SubState"], shown["Delegate"]))
        owner = os.stat(f"/proc/{shown['MainPID']}").st_uid
        self.assertEqual(pwd.getpwnam("agent-sandbox").pw_uid, owner)
        result = service.run_code("import os; print(os.getuid(), 6 * 7)")
        self.assertEqual((0, BY_CGROUP), (result["exit_code"], result["limits"]), result)
        self.assertTrue(result["stdout"].endswith(" 42\n"), result)
        self.assertEqual("out_of_memory", service.run_code("x = [b'x' * 65536 for _ in range(9999)]", memory_limit_mb=64)["status"])
        self.assertEqual("active", service.shows("ActiveState")["ActiveState"])

        # A job outlives the service: its state directory is where it says.
        job = f"/jobs/{service.run_code('print(1)')['job_id']}"
        self.assertEqual(owner, (STATE / "server/jobs.sqlite").stat().st_uid)
        status, said = service.do("restart")
        self.assertEqual(0, status, said)
        with service.client() as client:
            self.assertEqual("1\n", client.send("GET", job).json["result"]["stdout"])

        group = pathlib.Path("/sys/fs/cgroup" + shown["ControlGroup"])
        status, said = service.do("stop")
        self.assertEqual((0, "success"), (status, service.shows("Result")["Result"]), said)
        self.assertTrue(until(lambda: not group.exists()), list(group.glob("*")))
        # Nobody else's files have been moved or changed their owner.
        self.assertEqual((0, "built"), (ROOT.stat().st_uid, (ROOT / "mark").read_text(encoding="ascii")))
        self.assertFalse(STATE.is_symlink())

    def test_it_is_started_again_after_a_crash(self):
        service = self.started(Service(PORT))
        before = service.shows("MainPID")["MainPID"]
        os.kill(int(before), 9)

        def is_another():
            shown = service.shows("MainPID", "ActiveState")
            return shown["MainPID"] != before and shown["ActiveState"] == "active"

        self.assertTrue(until(is_another, 60), service.shows("MainPID", "ActiveState"))
        self.assertEqual("42\n", service.run_code("print(42)")["stdout"])

    def test_a_users_service(self):
        self.assertEqual(0, run("systemctl", "start", f"user@{USER}.service").returncode)
        home = pathlib.Path(pwd.getpwuid(USER).pw_dir)
        settings = home / ".config/agent-sandbox"
        settings.mkdir(parents=True, exist_ok=True)
        (settings / "environment").write_text(f"API_PORT={USERS_PORT}\n", encoding="ascii")
        for path in (home, home / ".config", settings):
            os.chown(path, USER, USER)
        self.assertEqual(0, run(*as_user(USER), "systemctl", "--user", "daemon-reload").returncode)
        service = self.started(Service(USERS_PORT, *as_user(USER)))
        result = service.run_code("print(42)")
        self.assertEqual(("42\n", BY_CGROUP), (result["stdout"], result["limits"]))
        status, said = service.do("stop")
        self.assertEqual((0, "success"), (status, service.shows("Result")["Result"]), said)


if __name__ == "__main__":
    unittest.main()
