"""The server and the command line over cgroups: which they take, what they refuse, what they leave.
JAIL_TEST_CGROUP names a directory that this user may write; without it everything is skipped."""
import json
import os
import pathlib
import subprocess
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "api"))
import live_server  # noqa: E402
import living_sandbox  # noqa: E402
import time_scale  # noqa: E402

BINARY = os.environ["AGENT_SANDBOX_BIN"]
PARENT = os.environ.get("JAIL_TEST_CGROUP")
BY_CGROUP = {"memory": "cgroup", "pids": "cgroup", "cpu": "cgroup"}


def leaves(place):
    return sorted(path.name for path in place.glob("jail-*"))


def until(condition, seconds=5):
    deadline = time.monotonic() + time_scale.scaled(seconds)
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.05)
    return condition()


def execute(*arguments):
    # These programs end by themselves, so they need patience on an emulated processor, like those of run_code() below.
    return subprocess.run([BINARY, "exec", "--timeout", "50", *arguments], capture_output=True, text=True, check=False,
                          stdin=subprocess.DEVNULL, timeout=time_scale.scaled(30))


@unittest.skipIf(PARENT is None, "JAIL_TEST_CGROUP names no cgroup v2 directory")
class Served(unittest.TestCase):
    made = 0

    def setUp(self):
        Served.made += 1
        self.place = pathlib.Path(PARENT, f"served-{os.getpid()}-{Served.made}")
        self.place.mkdir()

    def serve(self, *arguments, **environment):
        # Where leaves are counted, none may belong to waiting jails.
        server = live_server.LiveServer("--cgroup", str(self.place), *arguments,
                                        environment={"SANDBOX_POOL_SIZE": "0", **environment})
        self.addCleanup(server.stop)
        return server

    def run_code(self, server, code, **fields):
        with server.client() as client:
            return client.execute(code, timeout_seconds=50, **fields)

    def test_limits_are_named_everywhere(self):
        server = self.serve("--require-cgroup")
        self.assertIn(str(self.place), "".join(server.log))
        result = self.run_code(server, "print(42)")
        self.assertEqual(("42\n", BY_CGROUP), (result["stdout"], result["limits"]))
        with server.client() as client:
            self.assertEqual(BY_CGROUP, client.send("GET", "/health").json["limits"])
        # Idle, it keeps no leaf; stopped, none but the one that it was in itself.
        self.assertTrue(until(lambda: not leaves(self.place)), leaves(self.place))
        self.assertEqual(0, server.stop())
        self.assertEqual([], leaves(self.place))

    def test_root_gives_the_cgroup_to_whom_it_becomes(self):
        if os.geteuid() != 0:
            self.skipTest("only root becomes somebody else")
        server = self.serve()
        user = os.stat(f"/proc/{server.pid}").st_uid
        self.assertNotEqual(0, user)
        for name in ("", "cgroup.procs", "cgroup.subtree_control", "cgroup.threads", "supervisor"):
            self.assertEqual(user, (self.place / name).stat().st_uid, name)
        # The server's own limits stay out of its reach.
        self.assertEqual(0, (self.place / "memory.max").stat().st_uid)
        self.assertEqual(BY_CGROUP, self.run_code(server, "print(1)")["limits"])

    def test_memory_limit_is_the_kernels(self):
        server = self.serve()
        result = self.run_code(server, "blocks = []\nwhile True: blocks.append(b'x' * (1 << 20))",
                               memory_limit_mb=64)
        self.assertEqual("out_of_memory", result["status"], result)
        self.assertLessEqual(result["memory_peak_mb"], 64)
        self.assertGreaterEqual(result["memory_peak_mb"], 64 * 0.95)

    def test_jails_that_wait_have_a_leaf_each_and_the_limit_of_their_request(self):
        server = self.serve(SANDBOX_POOL_SIZE="2")
        with server.client() as client:
            self.assertTrue(until(lambda: client.send("GET", "/health").json["pools"]["python"]["warm"] >= 2))
        self.assertGreaterEqual(len(leaves(self.place)), 2)
        result = self.run_code(server, "blocks = []\nwhile True: blocks.append(b'x' * (1 << 20))",
                               memory_limit_mb=64)
        self.assertEqual(("out_of_memory", True, BY_CGROUP),
                         (result["status"], result["warm"], result["limits"]), result)
        self.assertLessEqual(result["memory_peak_mb"], 64)
        self.assertEqual(0, server.stop())
        self.assertTrue(until(lambda: not leaves(self.place)), leaves(self.place))

    def test_memory_of_a_paused_sandbox_goes_to_swap(self):
        server = self.serve()
        with server.client() as client:
            sandbox = living_sandbox.Sandbox(client, client.post({"limits": {"memory_mb": 256}}, "/v1/sandboxes").json)
            process = sandbox.start(["python3", "-c", "import hashlib, random, time, os\n"
                                     "held = random.Random(7).randbytes(1000) * 80_000\n"
                                     "print(hashlib.sha256(held).hexdigest(), flush=True)\n"
                                     "while not os.path.exists('go'): time.sleep(0.1)\n"
                                     "print(hashlib.sha256(held).hexdigest(), flush=True)"])
            self.assertTrue(until(lambda: "\n" in process.text(), 60), process.now())
            before = process.text()
            sandbox.pause()

            def events():
                return client.send("GET", sandbox.path + "/events?kind=memory_given_back").json["events"]

            self.assertTrue(until(events, 60))
            told = events()[0]["detail"]
            self.assertGreater(told["before_bytes"], 80_000_000)
            self.assertLess(told["after_bytes"], 20_000_000)
            self.assertGreater(told["swapped_bytes"], 60_000_000)
            # A running sandbox gets no more of the swap.
            [leaf] = [leaf for leaf in self.place.glob("jail-*")
                      if int((leaf / "memory.swap.current").read_text(encoding="ascii")) > 0]
            self.assertEqual("0\n", (leaf / "memory.swap.max").read_text(encoding="ascii"))
            self.assertEqual(200, sandbox.ask_to("resume").status)
            sandbox.put("/workspace/go", b"")
            self.assertTrue(until(lambda: process.text() == before * 2, 60), process.text())

    def test_limits_of_a_sandbox_are_changed_in_its_leaf(self):
        server = self.serve(SANDBOX_CPU_LIMIT="2")
        with server.client() as client:
            made = client.post({"limits": {"memory_mb": 256, "processes": 30, "cpu": 0.5}}, "/v1/sandboxes").json
            self.assertEqual((0.5, BY_CGROUP), (made["limits"]["cpu"], made["enforced_by"]))
            sandbox = living_sandbox.Sandbox(client, made)
            [leaf] = self.place.glob("jail-*")

            def held():
                return tuple((leaf / name).read_text(encoding="ascii").strip() for name in ("memory.max", "pids.max", "cpu.max"))

            self.assertEqual((str(256 << 20), "31", "50000 100000"), held())
            process = sandbox.start(["python3", "-c", "import os\nprint('ready', flush=True)\ninput()\nn = 0\n"
                                     "try:\n    while n < 200:\n        if os.fork() == 0: os.read(0, 1); os._exit(0)\n        n += 1\n"
                                     "except BlockingIOError: pass\nprint(n, flush=True)\nos.killpg(0, 9)"], keep_stdin_open=True)
            self.assertTrue(until(lambda: "ready" in process.text(), 60), process.now())
            # One that runs already has more processes too: the kernel counts those of the leaf.
            changed = sandbox.change(limits={"memory_mb": 512, "processes": 60, "cpu": 1.5})
            self.assertEqual(200, changed.status, changed)
            self.assertEqual(1.5, changed.json["limits"]["cpu"])
            self.assertEqual((str(512 << 20), "61", "150000 100000"), held())
            process.post("stdin", data="\n")
            self.assertTrue(until(lambda: "59\n" in process.text(), 60), process.text())
            self.assertEqual(400, sandbox.change(limits={"cpu": 2.1, "processes": 10}).status)
            self.assertEqual((str(512 << 20), "61", "150000 100000"), held())
            self.assertTrue(until(lambda: (leaf / "pids.current").read_text(encoding="ascii") == "1\n", 60))
            lowered = sandbox.change(limits={"memory_mb": 128, "processes": 10, "cpu": 0.25})
            self.assertEqual(200, lowered.status, lowered)
            self.assertEqual((str(128 << 20), "11", "25000 100000"), held())
            spun = sandbox.run(["python3", "-c", "import time\nend = time.monotonic() + 5\nwhile time.monotonic() < end: pass\nprint(time.process_time())"])
            self.assertLess(float(spun["stdout"]), 2.5)
            full = sandbox.start(["python3", "-c", "held = b'x' * (90 << 20)\nprint('ready', flush=True)\ninput()"], keep_stdin_open=True)
            self.assertTrue(until(lambda: "ready" in full.text(), 60), full.now())
            refused = sandbox.change(limits={"memory_mb": 64})
            self.assertEqual((409, "limit_in_use"), (refused.status, refused.json["code"]), refused)
            self.assertEqual(str(128 << 20), held()[0])

    def test_share_of_the_processor(self):
        server = self.serve(SANDBOX_CPU_LIMIT="0.3")
        result = self.run_code(server, "import time\nend = time.monotonic() + 5\n"
                                       "while time.monotonic() < end: pass")
        self.assertEqual("success", result["status"], result)
        self.assertLess(result["cpu_time_ms"], 0.5 * result["execution_time_ms"])

    def test_a_launcher_that_was_killed_is_replaced_with_the_cgroup(self):
        server = self.serve()
        self.run_code(server, "print(1)")
        os.kill(server.launcher(), 9)
        self.assertEqual(BY_CGROUP, self.run_code(server, "print(2)")["limits"])

    def test_nothing_is_left_of_a_server_that_was_killed(self):
        first = self.serve()
        for _ in range(3):
            live_server.send_and_forget(first, "import time; time.sleep(50)", timeout_seconds=50)
        self.assertTrue(until(lambda: len(leaves(self.place)) == 3), leaves(self.place))
        first.kill()
        self.assertEqual(3, len(leaves(self.place)))
        # Their jails end without the server; the next one removes what they were in.
        second = self.serve()
        self.assertEqual(BY_CGROUP, self.run_code(second, "print(1)")["limits"])
        self.assertTrue(until(lambda: not leaves(self.place)), leaves(self.place))

    def test_exec_beside_a_server_shares_its_cgroup(self):
        self.serve()
        done = execute("--cgroup", str(self.place), "--json", "-c", "print(42)")
        if os.geteuid() == 0:  # the server became somebody else; root may join it there
            self.assertEqual(0, done.returncode, done.stderr)
        self.assertEqual(BY_CGROUP, json.loads(done.stdout)["limits"])
        self.assertTrue(until(lambda: not leaves(self.place)), leaves(self.place))

    def test_a_configured_cgroup_with_others_in_it_is_refused_by_name(self):
        sleeper = subprocess.Popen(["sleep", "600"])
        self.addCleanup(sleeper.wait)
        self.addCleanup(sleeper.kill)
        (self.place / "cgroup.procs").write_text(str(sleeper.pid), encoding="ascii")
        done = execute("--cgroup", str(self.place), "-c", "print(1)")
        self.assertEqual(2, done.returncode)
        self.assertIn(f"{self.place}: other processes are in it, such as {sleeper.pid} (sleep)",
                      done.stderr)
        self.assertFalse((self.place / "supervisor").exists())
        with self.assertRaisesRegex(live_server.DidNotStart, "other processes are in it"):
            self.serve()

    def test_require_cgroup_refuses_with_the_reason(self):
        done = execute("--require-cgroup", "--cgroup", "none", "-c", "print(1)")
        self.assertEqual(125, done.returncode)
        self.assertIn("SANDBOX_REQUIRE_CGROUP or --require-cgroup is set: no cgroup is wanted by configuration", done.stderr)
        done = execute("--cgroup", "none", "--json", "-c", "print(1)")
        self.assertEqual("watchdog", json.loads(done.stdout)["limits"]["memory"])


if __name__ == "__main__":
    unittest.main()
