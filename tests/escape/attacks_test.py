"""One attack a method. Each file of attacks/ is a guest that tries something; its header says what, and
by its `Expect:` line what the report must say. Contexts below give it something to attack on the host
and look afterwards whether it came through."""
import contextlib
import json
import os
import pathlib
import platform
import pty
import re
import select
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest
import uuid

import host_view
import time_scale

ATTACKS = pathlib.Path(__file__).resolve().parent / "attacks"
BINARY = os.environ.get("AGENT_SANDBOX_BIN", "")
PRELUDE = ATTACKS / "prelude.py"


class Attack:
    def __init__(self, path):
        self.path, self.text = path, path.read_text(encoding="utf-8")
        self.name = path.stem
        self.language = {".py": "python", ".sh": "bash"}[path.suffix]
        self.timeout = float(self._field("Timeout", "10"))
        self.memory = int(self._field("Memory", "256"))
        # What the host may lose beyond that: what is filled between two looks of the watchdog.
        self.beyond = int(self._field("Beyond", "64"))
        self.within = float(self._field("Within", str(self.timeout + 10)))
        self.machine = self._field("Machine", platform.machine())
        self.controlled = self._field("Control", None) is not None
        expect = self._field("Expect", "")
        last = re.search(r"\blast=(.*)$", expect)
        self.last = last.group(1) if last else None
        words = dict(word.split("=", 1) for word in expect[:last.start() if last else None].split())
        self.statuses = words.get("status", "success").split(",")
        self.signal = words.get("signal")
        self.exit_code = int(words.get("exit", 0))
        self.truncated = words.get("stdout") == "truncated"

    def _field(self, name, default):
        found = re.search(rf"^# {name}: *(.*)$", self.text, re.MULTILINE)
        return found.group(1) if found else default

    def obstacle(self):
        """Returns why it cannot be made on this host, or None."""
        if self.machine != platform.machine():
            return f"for {self.machine} only"
        return host_view.no_32_bit_entry() if self.name == "int80" else None

    def longest(self):
        """The seconds that it may take in all. Its deadline is the same on each host; how soon the end follows is not."""
        return self.timeout + time_scale.scaled(self.within - self.timeout)

    def program(self):
        return (PRELUDE.read_text(encoding="utf-8") if self.language == "python" else "") + self.text


# --- what stands on the host for an attack to reach: each yields the guest's arguments

@contextlib.contextmanager
def host_listeners(test):
    with contextlib.ExitStack() as stack:
        tcp = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        port = tcp.getsockname()[1]
        udp = stack.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
        udp.bind(("127.0.0.1", port))
        abstract, path = f"escape-{uuid.uuid4()}", f"{test.directory}/socket"
        listeners = [tcp]
        for address in ("\0" + abstract, path):
            listener = stack.enter_context(socket.socket(socket.AF_UNIX))
            listener.bind(address)
            listener.listen()
            listeners.append(listener)
        yield [str(port), abstract, path]
        ready, _, _ = select.select([*listeners, udp], [], [], 0)
        test.assertEqual([], [listener.getsockname() for listener in ready], "somebody came through")
        os.unlink(path)


@contextlib.contextmanager
def host_victims(test):
    with subprocess.Popen(["sleep", "60"], start_new_session=True) as victim:
        try:
            yield [str(victim.pid), str(os.getpid()), str(os.getppid())]
            test.assertIsNone(victim.poll(), "the victim on the host was killed")
        finally:
            victim.kill()


@contextlib.contextmanager
def host_secret(test):
    path = pathlib.Path(test.directory, f"secret-{uuid.uuid4()}")
    path.write_text("the host's", encoding="utf-8")
    yield [str(path)]
    test.assertEqual("the host's", path.read_text(encoding="utf-8"))
    path.unlink()


@contextlib.contextmanager
def host_files_unchanged(test):
    def state():
        return {path: (found.st_mtime_ns, found.st_size, found.st_mode, found.st_ino)
                for path in ("/etc/passwd", "/etc/hosts", "/usr/bin/env", os.path.realpath("/usr/bin/python3"))
                if os.path.exists(path) for found in [os.stat(path)]}
    before = state()
    yield []
    test.assertEqual(before, state())
    for folder in ("/", "/etc", "/usr", "/usr/bin", "/usr/lib", "/tmp"):
        test.assertFalse(os.path.exists(f"{folder}/escape-probe"), folder)


# The same files as in attacks/shared_pages.py, as pages that the kernel has in memory.
SHARED_FILES = """
import ctypes, hashlib, os, sys
for path in sorted({os.path.realpath(path) for path in (sys.executable, "/bin/sh", "/usr/lib/os-release", os.__file__, ctypes.__file__) if os.path.exists(path)}):
    print(path, hashlib.sha256(open(path, "rb").read()).hexdigest())
"""


@contextlib.contextmanager
def shared_files_unchanged(test):
    """As the host and another jail see them."""
    environment = {"PATH": os.environ["PATH"], "HOME": test.directory}
    if getattr(test, "server", None):
        environment["SANDBOX_ROOTFS"] = "host"  # as that server's

    def seen():
        return [subprocess.run(command, capture_output=True, text=True, check=True, timeout=60, env=environment, cwd="/").stdout
                for command in ([sys.executable, "-c", SHARED_FILES], [BINARY, "exec", "-c", SHARED_FILES])]
    before = seen()
    test.assertTrue(all(lines.count("\n") >= 4 for lines in before), before)
    yield []
    test.assertEqual(before, seen())


@contextlib.contextmanager
def host_word(test):
    word = f"left-behind-{uuid.uuid4()}"
    yield [word]
    # A killed process exists until it gets a processor on which to end.
    host_view.wait_until(lambda: not host_view.processes_with(word), 2)
    test.assertEqual([], host_view.processes_with(word), "the daemon lives on")


@contextlib.contextmanager
def host_descriptor(test):
    with open(f"{test.directory}/open", "wb+") as file:
        os.set_inheritable(file.fileno(), True)
        test.passed_descriptors = [file.fileno()]
        yield []
    os.unlink(file.name)


@contextlib.contextmanager
def host_environment(test):
    test.environment.update(ESCAPE_PROBE="x", GROQ_API_KEY="ESCAPE_PROBE", LD_ESCAPE="ESCAPE_PROBE")
    yield []


@contextlib.contextmanager
def host_terminal(test):
    ours, theirs = pty.openpty()
    test.standard_input = theirs
    try:
        yield []
        os.set_blocking(theirs, False)
        with test.assertRaises(BlockingIOError, msg="something was typed into the terminal"):
            os.read(theirs, 100)
    finally:
        os.close(ours)
        os.close(theirs)


CONTEXTS = {
    "host_loopback": host_listeners, "shell_network": host_listeners, "host_processes": host_victims,
    "old_root": host_secret, "own_files": host_secret, "write_root": host_files_unchanged,
    "shared_pages": shared_files_unchanged, "daemon": host_word, "inherited_descriptors": host_descriptor,
    "leftover_environment": host_environment, "terminal_injection": host_terminal,
}


class Ring(unittest.TestCase):
    obstacle = None

    @classmethod
    def setUpClass(cls):
        host_view.become_subreaper()
        cls.obstacle = host_view.no_user_namespaces()

    def setUp(self):
        self.assertTrue(os.access(BINARY, os.X_OK), f"AGENT_SANDBOX_BIN names no program: {BINARY!r}")
        if self.obstacle:
            self.skipTest(f"no user namespaces for this user: {self.obstacle}")
        folder = tempfile.TemporaryDirectory(prefix="escape.")
        self.addCleanup(folder.cleanup)
        self.directory = folder.name
        self.passed_descriptors, self.standard_input = [], subprocess.DEVNULL
        self.environment = {"PATH": os.environ["PATH"], "HOME": self.directory, "LANG": "C.UTF-8"}

    def start(self, command, seconds):
        """Runs `command`; one that hangs fails the test and leaves nothing behind."""
        with subprocess.Popen(command, cwd=self.directory, env=self.environment, stdin=self.standard_input,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
                              pass_fds=self.passed_descriptors) as process:
            try:
                output, complaint = process.communicate(timeout=seconds)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                output, complaint = process.communicate()
                self.fail(f"still running after {seconds} s: {output[-300:]!r} {complaint[-300:]!r}")
        return process.returncode, output, complaint.decode(errors="replace")


class Attacks(Ring):
    def attack(self, attack):
        if obstacle := attack.obstacle():
            self.skipTest(obstacle)
        mounts = host_view.mounts()
        with CONTEXTS.get(attack.name, lambda test: contextlib.nullcontext([]))(self) as arguments:
            report = self.run_in_jail(attack, arguments)
            self.check_report(attack, report)
            self.assertEqual({}, self.processes_left_by_attack(arguments), "processes outlive the run")
        self.assertEqual(mounts, host_view.mounts())
        self.assertEqual([f"{attack.name}{attack.path.suffix}"], os.listdir(self.directory),
                         "files were left where the jail was started")

    def processes_left_by_attack(self, arguments):
        victims = {int(word) for word in arguments if word.isdigit()}
        host_view.wait_until(lambda: not set(host_view.descendants(os.getpid())) - victims, 2)
        return {pid: line for pid, line in host_view.descendants(os.getpid()).items() if pid not in victims}

    def run_in_jail(self, attack, arguments):
        program = pathlib.Path(self.directory, attack.path.name)
        program.write_text(attack.program(), encoding="utf-8")
        command = [BINARY, "exec", str(program), "--language", attack.language, "--timeout", str(attack.timeout),
                   "--memory", str(attack.memory), "--json", *(["--", *arguments] if arguments else [])]
        started = time.monotonic()
        status, output, complaint = self.start(command, attack.timeout + time_scale.scaled(20))
        seconds = time.monotonic() - started
        self.assertNotIn(status, (2, 125), f"agent-sandbox failed: {complaint}")
        self.assertLess(seconds, attack.longest(), "it took too long")
        return json.loads(output)

    def check_report(self, attack, report):
        shown = json.dumps({**report, "stdout": report["stdout"][-2000:], "stderr": report["stderr"][-2000:]},
                           indent=1)
        self.assertNotIn("ESCAPED", report["stdout"], shown)
        self.assertIn(report["status"], attack.statuses, shown)
        by_itself = report["status"] in ("success", "error")
        self.assertEqual(attack.exit_code if by_itself else None, report["exit_code"], shown)
        if by_itself or attack.signal:
            self.assertEqual(attack.signal, report["signal"], shown)
        self.assertEqual(attack.truncated, report["stdout_truncated"], shown)
        last = (report["stdout"].splitlines() or [""])[-1]
        if attack.truncated:
            self.assertEqual(1 << 20, len(report["stdout"]))
        elif attack.last is not None:
            self.assertEqual(attack.last, last, shown)
        elif by_itself:
            self.assertRegex(last, "^CONTAINED: ", shown)


class Controls(Ring):
    """The same programs outside of a jail say ESCAPED: what they look for is there to be found. Only
    those that harm nobody are started so."""

    def test_control_harmless_programs_escape_unconfined(self):
        controlled = [attack for attack in ALL if attack.controlled]
        self.assertGreaterEqual(len(controlled), 3)
        for attack in controlled:
            with self.subTest(attack.name):
                self.assertIn("ESCAPED", self.unconfined(attack))

    def unconfined(self, attack):
        program = pathlib.Path(self.directory, attack.path.name)
        program.write_text(attack.program(), encoding="utf-8")
        output = ""
        try:
            with CONTEXTS.get(attack.name, lambda test: contextlib.nullcontext([]))(self) as arguments:
                _, text, complaint = self.start([sys.executable, str(program), *arguments], 30)
                output = text.decode() + complaint
        except AssertionError:
            pass  # the context saw that somebody came through, as it must here
        return output

    def test_control_expectations_are_read(self):
        attack = Attack(ATTACKS / "int80.py")
        self.assertEqual((["violation"], "SIGSYS", "about to call"), (attack.statuses, attack.signal, attack.last))
        self.assertEqual(7, Attack(ATTACKS / "forge_status.py").exit_code)

    def test_control_every_attack_says_what_it_tries(self):
        for attack in ALL:
            self.assertRegex(attack.text, r"(?m)^# Tries: \w", attack.name)
            self.assertRegex(attack.text, r"(?m)^# Report: \w", attack.name)


ALL = [Attack(path) for path in sorted(ATTACKS.iterdir()) if path != PRELUDE and path.suffix in (".py", ".sh")]
for each in ALL:
    setattr(Attacks, f"test_{each.name}", lambda test, attack=each: test.attack(attack))
