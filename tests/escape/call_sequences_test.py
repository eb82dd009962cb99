"""Random sequences of the system calls that a jail has (call_sequences.cc), in cold and warm jails, several at once. Whatever
they do, the host is as before, the server and its launcher go on, the next program runs, and each run ends as its program says.

  JAIL_TEST_SEQUENCES=SECONDS  how long each half of it takes, cold and warm (default: 8)
  JAIL_TEST_SEED=NUMBER        the seed of the first jail, as a failed run has printed it; each further jail has the next one
"""
import base64
import concurrent.futures
import contextlib
import dataclasses
import itertools
import json
import os
import pathlib
import platform
import random
import re
import socket
import subprocess
import sys
import tempfile
import time
import unittest
import zlib

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "api"))
import attacks_test  # noqa: E402
import host_view  # noqa: E402
import live_server  # noqa: E402
import loosened_test  # noqa: E402
import time_scale  # noqa: E402

POLICY = pathlib.Path(__file__).resolve().parents[2] / "policies" / "default.json"
GENERATOR = pathlib.Path(os.environ.get("AGENT_SANDBOX_BUILD", ""), "tests/escape/call_sequences")
SECONDS = float(os.environ.get("JAIL_TEST_SEQUENCES", "8"))
SEED = int(os.environ.get("JAIL_TEST_SEED") or random.SystemRandom().randrange(1 << 32))
AT_ONCE = 6
# Between the seeds of cold and of warm jails.
FURTHER = 1 << 20
# One jail is used for so long, and then a new one.
SECONDS_OF_A_JAIL = 12
MEMORY_MB = 128
# Kernel memory that may grow: files in memory and the kernel's own objects, which other programs affect less than
# MemAvailable. Pools may hold more jails than before.
KERNEL_MEMORY = ("Shmem", "SUnreclaim", "KernelStack", "PageTables")
KEPT_MB = 192
# The server's descriptors for a waiting jail: a pidfd, its channel, its streams and its working directory, with some to
# spare.
DESCRIPTORS_OF_A_JAIL = 8
RUN_IT = """
import os, sys
os.chmod("call_sequences", 0o755)
os.execv("./call_sequences", ["call_sequences", *sys.argv[1:]])
"""
# The same for a program that gets one file and no arguments.
RUN_CARRIED = """
import base64, os, zlib
with open("/tmp/call_sequences", "wb") as file:
    file.write(zlib.decompress(base64.b64decode(%r)))
os.chmod("/tmp/call_sequences", 0o755)
os.execv("/tmp/call_sequences", ["call_sequences", *%r])
"""
# Other possible ends of a run before its program's: a sequence fills memory now and then.
OTHER_ENDS = ("out_of_memory",)


def allowed_calls(policy):
    return {name for rule in policy["rules"] if rule["decision"] == "allow" for name in rule["syscalls"]}


def described_calls():
    listed = subprocess.run([GENERATOR, "--list"], capture_output=True, text=True, check=True).stdout.split()
    assert len(listed) == len(set(listed)), "a call is described twice"
    return set(listed)


def not_described(policy):
    return sorted(allowed_calls(policy) ^ described_calls())


@dataclasses.dataclass
class Run:
    """One jail, and the status with which its program is told to end."""
    seed: int

    @property
    def exit_code(self):
        return 3 + self.seed % 100

    def arguments(self, bait, seconds):
        return [str(self.seed), f"{seconds:.1f}", str(self.exit_code), str(bait.port), bait.name, bait.path, str(bait.pid)]

    def is_true(self, report):
        """Returns whether the report is true: the program's own end, or what its limits allow."""
        if report["status"] == "error":
            return (report["exit_code"], report["signal"]) == (self.exit_code, None)
        return report["status"] in OTHER_ENDS and report["exit_code"] is None


class Bait:
    """Objects on the host that sequences try to reach, and whether they did."""

    def __init__(self, directory):
        self.tcp = socket.create_server(("127.0.0.1", 0))
        self.port = self.tcp.getsockname()[1]
        self.name = f"bait-{os.getpid()}-{self.port}"
        self.local = socket.socket(socket.AF_UNIX)
        self.local.bind("\0" + self.name)
        self.local.listen()
        self.directory = pathlib.Path(directory, "bait")
        self.directory.mkdir()
        self.path = str(self.directory / "marker")
        pathlib.Path(self.path).write_text("the host's", encoding="utf-8")
        self.process = subprocess.Popen(["sleep", "3600"], start_new_session=True)
        self.pid = self.process.pid
        self._before = self._marker()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.tcp.close()
        self.local.close()

    def _marker(self):
        found = os.stat(self.path)
        return (sorted(os.listdir(self.directory)), pathlib.Path(self.path).read_text(encoding="utf-8"), found.st_mode, found.st_mtime_ns,
                found.st_ctime_ns, os.sched_getaffinity(self.pid), os.getpriority(os.PRIO_PROCESS, self.pid), os.getsid(self.pid))

    def taken(self):
        """Returns what somebody has reached."""
        taken = [] if self.process.poll() is None else ["the process on the host was killed"]
        for listener, name in ((self.tcp, "the port of the host"), (self.local, "the abstract socket of the host")):
            listener.setblocking(False)
            with contextlib.suppress(BlockingIOError):
                listener.accept()[0].close()
                taken.append(f"somebody came through to {name}")
        if not taken and self._marker() != self._before:
            taken.append(f"the host's file or process has changed: {self._before} is now {self._marker()}")
        return taken


def kernel_mb():
    text = pathlib.Path("/proc/meminfo").read_text(encoding="ascii")
    return sum(int(re.search(rf"^{name}: +(\d+) kB$", text, re.MULTILINE).group(1)) for name in KERNEL_MEMORY) >> 10


class Totals:
    """The sum of the generators' reports."""

    def __init__(self):
        self.made, self.returned, self.figures, self.ends = {}, {}, {}, {}

    def add(self, report):
        end = report["status"] if report["status"] != "error" else "by themselves"
        self.ends[end] = self.ends.get(end, 0) + 1
        for name, made, returned in re.findall(r"^call (\w+) made (\d+) returned (\d+)$", report["stderr"], re.MULTILINE):
            self.made[name] = self.made.get(name, 0) + int(made)
            self.returned[name] = self.returned.get(name, 0) + int(returned)
        for line in re.findall(r"^(episodes .*)$", report["stderr"], re.MULTILINE):
            words = line.split()
            for name, number in zip(words[::2], words[1::2]):
                self.figures[name] = self.figures.get(name, 0) + int(number)

    def __str__(self):
        never = sorted(name for name, returned in self.returned.items() if not returned)
        figures = ", ".join(f"{name} {number}" for name, number in self.figures.items())
        return f"jails ended: {self.ends}; {figures}; of {len(self.made)} calls never done: {' '.join(never)}"


@unittest.skipUnless(platform.machine() == "x86_64", "the generator makes calls of another architecture")
class CallSequences(live_server.ServerTest):
    environment = {"JOBS_PATH": ":memory:"}

    def setUp(self):
        super().setUp()
        folder = tempfile.TemporaryDirectory(prefix="escape.")
        self.addCleanup(folder.cleanup)
        self.directory = folder.name
        self.bait = Bait(folder.name)
        self.addCleanup(self.bait.__exit__)

    def run_cold(self, run, seconds):
        program = pathlib.Path(self.directory, "run.py")
        with tempfile.TemporaryDirectory(dir=self.directory) as folder:
            done = subprocess.run(
                [attacks_test.BINARY, "exec", program, "--language", "python", "--file", f"{GENERATOR}:call_sequences", "--rootfs", "host",
                 "--timeout", str(time_scale.timeout(seconds + 20)), "--memory", str(MEMORY_MB), "--json", "--", *run.arguments(self.bait, seconds)],
                stdin=subprocess.DEVNULL, capture_output=True, cwd=folder, check=False, timeout=time_scale.scaled(seconds + 60))
            self.assertNotIn(done.returncode, (2, 125), done.stderr[-2000:])
            report = json.loads(done.stdout)
            self.assertEqual([], os.listdir(folder), "files were left where the jail was started")
        expected = {"error": run.exit_code, "out_of_memory": 137}.get(report["status"])
        self.assertEqual(expected, done.returncode, report)
        return report

    def run_warm(self, run, seconds):
        files = {"call_sequences": {"base64": base64.b64encode(GENERATOR.read_bytes()).decode()}}
        with self.server.client() as client:
            report = client.execute(RUN_IT, template="python", files=files, args=run.arguments(self.bait, seconds), memory_limit_mb=MEMORY_MB,
                                    timeout_seconds=time_scale.timeout(seconds + 20))
        self.assertTrue(report["warm"], report)
        return report

    def check_report(self, run, report):
        shown = {**report, "stdout": report["stdout"][-300:], "stderr": report["stderr"][-300:]}
        self.assertTrue(run.is_true(report), f"seed {run.seed}: {shown}")

    def many_at_once(self, start, first):
        """Runs jails one after the other in each place until the time is over, each with the next seed."""
        totals, seeds, until = Totals(), itertools.count(first), time.monotonic() + SECONDS

        def one_place(_):
            while (left := until - time.monotonic()) > 1:
                run = Run(next(seeds))
                report = start(run, min(left, SECONDS_OF_A_JAIL))
                self.check_report(run, report)
                totals.add(report)

        with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as places:
            list(places.map(one_place, range(AT_ONCE)))
        print(totals, flush=True)
        return totals

    def state_of_host(self):
        """Orphans would be children of this process."""
        return {"mounts": host_view.mounts(),
                "children": sorted(pid for pid in host_view.descendants(os.getpid()) if host_view.parent_of(pid) == os.getpid())}

    def spare_descriptors(self):
        """The server's descriptors beyond those of waiting jails, of which there come to be more under load."""
        waiting = sum(pool["warm"] for pool in self.pools().values())
        return host_view.open_descriptors(self.server.pid) - DESCRIPTORS_OF_A_JAIL * waiting

    def check_host(self, before, launcher, descriptors, kernel):
        self.assertEqual([], self.bait.taken())
        self.assertTrue(host_view.wait_until(lambda: self.state_of_host() == before, 5), (before, self.state_of_host()))
        self.assertIsNone(self.server.exit_status)
        self.assertEqual(launcher, self.server.launcher(), "the launcher is another one")
        for template in ("none", "python"):
            self.assertEqual("42\n", self.execute("print(6*7)", template=template)["stdout"])
        left = [line for line in host_view.descendants(os.getpid()).values() if "call_sequences" in line]
        self.assertEqual([], left)
        self.assertTrue(host_view.wait_until(lambda: self.spare_descriptors() <= descriptors + 32, 30), host_view.what_is_open(self.server.pid))
        self.assertTrue(host_view.wait_until(lambda: kernel_mb() <= kernel + KEPT_MB, 20), f"the kernel held {kernel} MB and holds {kernel_mb()} MB")

    def look(self, start, first):
        self.wait_until_warm()
        pathlib.Path(self.directory, "run.py").write_text(RUN_IT, encoding="utf-8")
        print(f"seed {SEED}; again: JAIL_TEST_SEED={SEED} JAIL_TEST_SEQUENCES={SECONDS:g}", flush=True)
        before, launcher = self.state_of_host(), self.server.launcher()
        descriptors, kernel = self.spare_descriptors(), kernel_mb()
        totals = self.many_at_once(start, first)
        self.client.close()  # the server does not wait for so long; the next request opens another connection
        self.check_host(before, launcher, descriptors, kernel)
        # All calls were made, most of them do something, and most jails came to their own end.
        self.assertEqual(described_calls(), set(totals.made))
        self.assertGreaterEqual(totals.ends.get("by themselves", 0), 0.5 * sum(totals.ends.values()), totals)
        self.assertEqual([], sorted(name for name, made in totals.made.items() if not made), "calls that were never made")
        self.assertGreaterEqual(sum(1 for returned in totals.returned.values() if returned), 0.75 * len(totals.made), totals)

    def test_in_cold_jails(self):
        self.look(self.run_cold, SEED)

    def test_in_warm_jails(self):
        self.look(self.run_warm, SEED + FURTHER)

    def test_every_call_that_a_jail_has_is_described(self):
        policy = json.loads(POLICY.read_text(encoding="utf-8"))
        self.assertEqual([], not_described(policy))
        print(f"{len(described_calls())} of {len(allowed_calls(policy))} calls are described", flush=True)

    def test_control_a_call_without_a_description_is_found(self):
        policy = json.loads(POLICY.read_text(encoding="utf-8"))
        policy["rules"].append({"syscalls": ["io_uring_setup"], "decision": "allow", "why": "Let through to see who notices."})
        self.assertEqual(["io_uring_setup"], not_described(policy))

    def test_control_a_report_that_is_forged_is_found(self):
        run = Run(7)
        honest = {"status": "error", "exit_code": run.exit_code, "signal": None}
        self.assertTrue(run.is_true(honest))
        for lie in ({"exit_code": 0}, {"status": "success", "exit_code": 0}, {"status": "killed", "exit_code": None, "signal": "SIGKILL"},
                    {"status": "out_of_memory"}, {"status": "timeout", "exit_code": None}, {"signal": "SIGKILL"}):
            self.assertFalse(run.is_true({**honest, **lie}), lie)

    def test_control_an_episode_chooses_the_same_again(self):
        """The use of its choices depends on what its calls return, and some of that on the time."""
        first, again, other = ([self.choices(seed, number) for number in range(8)] for seed in (SEED, SEED, SEED + 1))
        self.assertEqual(first, again)
        self.assertNotEqual(first, other)
        self.assertTrue(all(len(episode) > 10 for episode in first), first)

    def choices(self, seed, number):
        return subprocess.run([GENERATOR, "--choices", str(seed), str(number)], capture_output=True, text=True, check=True).stdout.split()


@unittest.skipUnless(platform.machine() == "x86_64", "the generator makes calls of another architecture")
class Planted(attacks_test.Ring):
    """In a jail that lacks a protection the sequences reach what stands on the host, and that is noticed."""

    def in_loosened_jail(self, run, bait, loosening):
        carried = base64.b64encode(zlib.compress(GENERATOR.read_bytes())).decode()
        program = pathlib.Path(self.directory, "program.py")
        program.write_text(RUN_CARRIED % (carried, run.arguments(bait, 5)), encoding="utf-8")
        command = [loosened_test.LOOSENED_JAIL, *loosening, "--language", "python", "--timeout", 30, "--memory", MEMORY_MB, program]
        status, output, complaint = self.start(list(map(str, command)), time_scale.scaled(60))
        self.assertEqual(0, status, complaint)
        self.assertTrue(run.is_true(json.loads(output)), output[-1000:])
        return bait.taken()

    def test_control_a_network_of_the_host_is_noticed(self):
        steps = next(each.steps for each in loosened_test.LOOSENINGS if each.protection == "network namespace")
        loosening = [word for step in steps for word in ("--leave-out", step)]
        with Bait(self.directory) as bait:
            self.assertEqual([], self.in_loosened_jail(Run(SEED), bait, []))
            # Each jail gets there more often than not.
            tries = (self.in_loosened_jail(Run(SEED + n), bait, [*loosening, "--share", "net"]) for n in range(8))
            taken = next((taken for taken in tries if taken), [])
            self.assertRegex(" ".join(taken), "somebody came through to the (port|abstract)")
