"""`agent-sandbox doctor` on this very host: its findings agree with the host's own files."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

import host_view
import live_server
import time_scale

# These checks measure anew each time.
TIMED = ("speed", "self test")
FIGURES = {"page_touched": "page touched", "page_copied": "page copied", "fork": "fork", "context_switch": "context switch",
           "system_call": "system call"}
NAMES = ["kernel", "user namespaces", "seccomp", "landlock", "warm pools", "speed", "cgroup v2", "core dumps", "overlayfs", "vsock", "ptrace",
         "bpf", "io_uring", "modules", "swap", "KSM", "SMT", "processor", "root", "users", "self test"]
RISKY_MODULES = {"af_key", "algif_aead", "algif_skcipher", "can_bcm", "can_isotp", "dccp", "esp4", "esp6", "kafs", "n_gsm", "n_hdlc", "rds",
                 "rxrpc", "sctp", "smc", "tipc"}


def content(path):
    try:
        return pathlib.Path(path).read_text(encoding="ascii", errors="replace").strip()
    except OSError:
        return None


class Doctor(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        host_view.become_subreaper()
        cls.before = host_view.mounts()
        cls.json = cls.run_doctor("--json")
        cls.text = cls.run_doctor()
        cls.report = json.loads(cls.json.stdout)
        cls.checks = {check["name"]: check for check in cls.report["checks"]}

    @staticmethod
    def run_doctor(*arguments, **environment):
        with tempfile.TemporaryDirectory(prefix="agent-sandbox-doctor.") as folder:
            os.chmod(folder, 0o755)
            return subprocess.run([live_server.BINARY, "doctor", *arguments], capture_output=True, text=True, check=False, timeout=time_scale.scaled(60),
                                  cwd=folder, env={"PATH": os.environ["PATH"], "HOME": folder, "SANDBOX_ROOTFS": "host", **environment})

    def is_noticed(self, name, noticed):
        check = self.checks[name]
        self.assertEqual("note" if noticed else "ok", check["state"], check)
        self.assertTrue(check["found"])
        self.assertEqual(noticed, bool(check["advice"]), check)

    def test_every_check_is_there_in_order(self):
        self.assertEqual(NAMES, [check["name"] for check in self.report["checks"]])
        for check in self.report["checks"]:
            self.assertEqual({"name", "state", "found", "advice"}, set(check))
            self.assertIn(check["state"], ("ok", "note", "missing"))

    def test_exit_status_and_last_line_say_whether_jails_run(self):
        run = all(check["state"] != "missing" for check in self.report["checks"])
        self.assertEqual(run, self.report["jails_run"])
        for finished in (self.json, self.text):
            self.assertEqual((0 if run else 1, ""), (finished.returncode, finished.stderr))
        self.assertEqual("Jails can run here." if run else "Jails cannot run here.", self.text.stdout.splitlines()[-1])
        self.assertEqual(host_view.no_user_namespaces() is None, self.checks["user namespaces"]["state"] == "ok")

    def test_text_is_a_line_for_each_check_and_one_for_its_advice(self):
        lines = iter(self.text.stdout.splitlines()[1:])
        for check in self.report["checks"]:
            line = next(lines)
            self.assertEqual((check["state"], check["name"]), (line[:9].strip(), line[9:27].strip()))
            if check["name"] not in TIMED:
                self.assertEqual(check["found"], line[27:])
            if check["advice"]:
                self.assertEqual(" " * 27 + check["advice"], next(lines))
        self.assertEqual(2, len(list(lines)))

    def test_landlock(self):
        version = host_view.landlock_version()
        self.is_noticed("landlock", version == 0)
        if version:
            self.assertIn(f"ABI {version}: holds each program's files", self.checks["landlock"]["found"])
            self.assertEqual(version < 6, "not signals" in self.checks["landlock"]["found"])

    def test_an_interpreter_that_is_not_shown(self):
        """The python3 in /usr belongs to no package; the test has a mount namespace of its own."""
        with tempfile.TemporaryDirectory(prefix="agent-sandbox-doctor.") as folder:
            os.chmod(folder, 0o755)
            for name in ("own", "local/bin"):
                pathlib.Path(folder, name).mkdir(parents=True)
            shutil.copy("/usr/bin/env", pathlib.Path(folder, "local/bin/python3"))
            pathlib.Path(folder, "own/python3").symlink_to("/usr/local/bin/python3")
            unshare = ["unshare", "--mount", *([] if os.geteuid() == 0 else ["--user", "--map-current-user", "--keep-caps"])]
            for command, status in (("doctor", 1), ("exec -c pass", 125)):
                with self.subTest(command):
                    script = f"mount --bind {folder}/local /usr/local && mount --bind {folder}/own /usr/bin && exec {live_server.BINARY} {command}"
                    done = subprocess.run([*unshare, "/bin/sh", "-c", script], capture_output=True, text=True, check=False,
                                          timeout=time_scale.scaled(60), cwd=folder,
                                          env={"PATH": os.environ["PATH"], "HOME": folder, "SANDBOX_ROOTFS": "host"})
                    self.assertEqual(status, done.returncode, done)
                    self.assertIn("it has no /usr/bin/python3 (/usr/local/bin/python3 is not shown to programs: no package brought it)",
                                  done.stdout + done.stderr)

    def test_swap(self):
        swaps = [line.split()[0] for line in (content("/proc/swaps") or "").splitlines()[1:]]
        self.is_noticed("swap", bool(swaps))
        for place in swaps:
            self.assertIn(place, self.checks["swap"]["found"])

    def test_same_page_merging(self):
        self.is_noticed("KSM", content("/sys/kernel/mm/ksm/run") == "1")

    def test_smt(self):
        self.is_noticed("SMT", content("/sys/devices/system/cpu/smt/active") == "1")

    def test_ptrace(self):
        self.is_noticed("ptrace", content("/proc/sys/kernel/yama/ptrace_scope") in (None, "0"))

    def test_core_pattern(self):
        pattern = content("/proc/sys/kernel/core_pattern")
        self.is_noticed("core dumps", pattern.startswith("|"))
        self.assertIn(pattern, self.checks["core dumps"]["found"])

    def test_bpf_and_io_uring(self):
        self.is_noticed("bpf", content("/proc/sys/kernel/unprivileged_bpf_disabled") == "0")
        self.is_noticed("io_uring", False)

    def test_modules(self):
        loaded = {line.split()[0] for line in (content("/proc/modules") or "").splitlines()} & RISKY_MODULES
        self.is_noticed("modules", bool(loaded))
        if loaded:
            self.assertTrue(self.checks["modules"]["found"].endswith(": " + ", ".join(sorted(loaded))))

    def test_processor(self):
        files = list(pathlib.Path("/sys/devices/system/cpu/vulnerabilities").glob("*"))
        open_to = sorted(file.name for file in files if "Vulnerable" in content(file))
        if files:
            self.is_noticed("processor", bool(open_to))
        self.assertIn(", ".join(open_to), self.checks["processor"]["found"])

    def test_vsock(self):
        tried = subprocess.run(["/usr/bin/python3", "-c", "import socket; socket.socket(40, socket.SOCK_STREAM)"],
                               capture_output=True, check=False)
        self.is_noticed("vsock", tried.returncode == 0)

    def test_overlay(self):
        script = ("mount -t tmpfs t /tmp && mkdir -p /tmp/a /tmp/b/c /tmp/d && "
                  "mount -t overlay o -o ro,lowerdir=/tmp/a:/tmp/b /tmp/d && test -d /tmp/d/c")
        tried = subprocess.run(["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", script], capture_output=True, text=True,
                               check=False)
        self.assertEqual("missing" if tried.returncode else "ok", self.checks["overlayfs"]["state"], tried.stderr)

    def test_trying_leaves_nothing_behind(self):
        self.assertEqual(self.before, host_view.mounts())
        self.assertEqual({}, host_view.left_behind())

    def assert_is_this_host(self, speed):
        names = re.findall(r"^model name\t: (.*)$", content("/proc/cpuinfo"), re.MULTILINE)
        self.assertEqual(names[0] if names else "a processor without a name", speed["processor"])
        self.assertEqual((os.cpu_count(), os.uname().release), (speed["processors"], speed["kernel"]))
        self.assertEqual(set(FIGURES), set(speed["microseconds"]))
        for figure in (*speed["microseconds"].values(), speed["slowness"]):
            self.assertGreater(figure, 0)

    def assert_line_tells(self, line, speed):
        for name, words in FIGURES.items():
            self.assertRegex(line, rf"[ ;:,]{words} [0-9.]+[,;]")
            shown = float(re.search(rf"{words} ([0-9.]+)", line).group(1))
            self.assertAlmostEqual(speed["microseconds"][name], shown, delta=max(0.006, shown / 100))

    def test_speed_is_a_check_and_an_object(self):
        speed = self.report["host_speed"]
        self.assert_is_this_host(speed)
        self.assert_line_tells(speed["description"], speed)
        self.assertEqual({"name": "speed", "state": "ok", "found": speed["description"], "advice": ""}, self.checks["speed"])
        self.assertIn("microseconds: page touched ", self.text.stdout)

    def test_speed_alone(self):
        text = self.run_doctor("--speed")
        self.assertEqual((0, ""), (text.returncode, text.stderr))
        self.assertRegex(text.stdout, r"^host: .+, \d+ processors?, Linux .+; microseconds: .+\n$")
        self.assertEqual(1, text.stdout.count("\n"))
        machine = self.run_doctor("--speed", "--json")
        self.assertEqual((0, ""), (machine.returncode, machine.stderr))
        speed = json.loads(machine.stdout)
        self.assertEqual(set(self.report["host_speed"]), set(speed))
        self.assert_is_this_host(speed)
        self.assert_line_tells(speed["description"], speed)
        self.assertEqual({}, host_view.left_behind())

    def test_speed_alone_asks_for_no_configuration_and_no_root(self):
        finished = self.run_doctor("--speed", "--rootfs", "/no/such/place", API_PORT="many")
        self.assertEqual((0, ""), (finished.returncode, finished.stderr))

    def test_bad_configuration_is_a_check_of_its_own(self):
        finished = self.run_doctor("--json", API_PORT="many")
        checks = {check["name"]: check for check in json.loads(finished.stdout)["checks"]}
        self.assertEqual((1, "missing"), (finished.returncode, checks["configuration"]["state"]))
        self.assertIn("API_PORT", checks["configuration"]["found"])
