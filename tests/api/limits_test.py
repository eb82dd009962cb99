"""Programs that exceed a limit. Each gets its status, and the next request is as quick as
the one before."""
import os
import shutil
import statistics
import subprocess
import tempfile
import time
import unittest

import host_view
import live_server
import ordinary_user
import time_scale


class Limits(live_server.ServerTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        if cls.server:
            with cls.server.client() as client:
                client.execute("pass")
                cls.baseline = statistics.median(cls.time_of(client) for _ in range(9))

    @staticmethod
    def time_of(client):
        started = time.monotonic()
        client.execute("print(6*7)")
        return time.monotonic() - started

    def tearDown(self):
        if self.server is None:
            return
        # A machine that is busy with something else slows requests down for a while: the best of some counts.
        with self.server.client() as client:
            took = []
            self.assertTrue(host_view.wait_until(lambda: took.append(self.time_of(client)) or took[-1] < 4 * self.baseline, 10),
                            f"baseline {self.baseline:.4f} s, now {took}")

    def test_endless_loop(self):
        result, seconds = self.seconds("while True: pass", timeout_seconds=0.5)
        self.assertEqual(("timeout", None), (result["status"], result["exit_code"]))
        self.assertGreater(seconds, 0.45)
        self.assertLess(seconds, 0.5 + time_scale.scaled(5))

    def test_sleep(self):
        deadline = time_scale.timeout(4)
        result, seconds = self.seconds("print('before', flush=True)\nimport time; time.sleep(100)", timeout_seconds=deadline)
        self.assertEqual(("timeout", "before\n"), (result["status"], result["stdout"]))
        self.assertLess(seconds, deadline + time_scale.scaled(5))

    def test_endless_loop_in_bash(self):
        self.assertEqual("timeout", self.execute("while :; do :; done", language="bash", timeout_seconds=0.5)["status"])

    def test_processor_time_of_children(self):
        result, seconds = self.seconds("import os\nfor _ in range(4):\n  if os.fork() == 0:\n    while True: pass\n"
                                       "for _ in range(4): os.wait()", timeout_seconds=1)
        self.assertEqual("timeout", result["status"])
        self.assertLess(seconds, 1 + time_scale.scaled(5))

    def test_exit_before_the_deadline_is_no_timeout(self):
        self.assertEqual("success", self.execute("import time; time.sleep(0.3)", timeout_seconds=5)["status"])

    def test_memory_by_small_steps(self):
        result, seconds = self.seconds("x = []\nwhile True: x.append(bytearray(1 << 20))", memory_limit_mb=64, timeout_seconds=20)
        self.assertEqual(("out_of_memory", None), (result["status"], result["exit_code"]), result)
        if result["limits"]["memory"] == "watchdog":  # the kernel does not say how many a cgroup's limit ended
            self.assertTrue(result["outcome"]["cause"].endswith(" MB of memory that they may have, in 1 process"), result)
        self.assertLess(seconds, 15)

    def test_memory_by_children(self):
        result = self.execute("import os, time\nfor _ in range(8):\n  if os.fork() == 0:\n"
                              "    x = bytearray(b'x') * (20 << 20); time.sleep(10); os._exit(0)\ntime.sleep(5)",
                              memory_limit_mb=64, timeout_seconds=15)
        self.assertEqual("out_of_memory", result["status"], result)

    def test_one_huge_allocation(self):
        result = self.execute("bytearray(10**10)")
        self.assertIn(result["status"], ("error", "out_of_memory"))
        if result["status"] == "error":
            self.assertIn("MemoryError", result["stderr"])

    def test_memory_below_the_limit_is_given(self):
        self.assertEqual("success", self.execute("x = bytearray(b'x') * (150 << 20)", memory_limit_mb=256, timeout_seconds=time_scale.timeout(5))["status"])

    def test_fork_bomb(self):
        result = self.execute("import os, time\nn = 0\ntry:\n  while n < 3000:\n    if os.fork() == 0: time.sleep(20); os._exit(0)\n"
                              "    n += 1\nexcept OSError: pass\nprint(n)", timeout_seconds=10)
        self.assertEqual("success", result["status"], result)
        self.assertLess(int(result["stdout"]), 512)
        self.assertGreater(int(result["stdout"]), 8)

    def test_fork_bomb_in_bash(self):
        # Every generation doubles; eleven of them are at most 2048 processes, should nothing bound them.
        result, seconds = self.seconds("b() { (($1 > 0)) && { b $(($1 - 1)) & b $(($1 - 1)) & wait; }; sleep 20; }; b 11",
                                       language="bash", timeout_seconds=2)
        self.assertIn(result["status"], ("timeout", "error", "out_of_memory"), result["status"])
        self.assertLess(seconds, 2 + time_scale.scaled(8))

    def test_output_flood(self):
        result = self.execute("import os\nfor _ in range(2000): os.write(1, b'x' * 65536)", timeout_seconds=20)
        self.assertEqual(("success", True, 1 << 20), (result["status"], result["stdout_truncated"], len(result["stdout"])))

    def test_endless_output(self):
        result, seconds = self.seconds("yes", language="bash", timeout_seconds=2)
        self.assertEqual(("timeout", True), (result["status"], result["stdout_truncated"]))
        self.assertLess(seconds, 2 + time_scale.scaled(5))

    def test_full_places(self):
        for place in ("/tmp", "."):
            result = self.execute("import errno\ntry:\n  with open('" + place + "/full', 'wb') as f:\n    while True: f.write(b'x' * 65536)\n"
                                  "except OSError as e: print(errno.errorcode[e.errno])", memory_limit_mb=512, timeout_seconds=20)
            self.assertEqual("success", result["status"], result)
            self.assertIn(result["stdout"], ("ENOSPC\n", "EFBIG\n"))

    def test_many_descriptors(self):
        result = self.execute("f = []\ntry:\n  while True: f.append(open('/dev/null'))\nexcept OSError as e: print(len(f) < 5000, e.errno)")
        self.assertEqual("True 24\n", result["stdout"], result)

    def test_system_call_of_another_architecture(self):
        result = self.execute("import ctypes\nctypes.CDLL(None).syscall(ctypes.c_long(0x40000000 | 39))\nprint('went on')")
        self.assertEqual(("violation", "SIGSYS", ""), (result["status"], result["signal"], result["stdout"]), result)


class ManyGroups(unittest.TestCase):
    """The groups of the user that runs a jail precede the sizes in /proc/PID/status."""

    def test_all_of_the_memory_is_there_and_no_more(self):
        if obstacle := host_view.no_user_namespaces():
            self.skipTest(obstacle)
        if os.geteuid() != 0:
            self.skipTest("only root puts a process into groups")
        directory = tempfile.mkdtemp(prefix="agent-sandbox-groups.")
        self.addCleanup(shutil.rmtree, directory)
        os.chmod(directory, 0o755)
        binary = shutil.copy(live_server.BINARY, directory)
        for megabytes, seconds, status in ((57, 0.5, 0), (70, 20, 137)):
            # Mapped files of the interpreter do not count: 57 MB and they are more than 64.
            code = f"import time\nblock = bytearray(b'x') * ({megabytes} << 20)\ntime.sleep({seconds})"
            for groups in (0, 100, 300, 2000):
                user = ordinary_user.AS_USER | {"extra_groups": range(70000, 70000 + groups)}
                done = subprocess.run([binary, "exec", "--rootfs", "host", "--cgroup", "none", "--memory", "64", "--timeout", "30", "-c", code],
                                      cwd="/", capture_output=True, text=True, timeout=time_scale.scaled(60), check=False,
                                      env={"PATH": os.environ["PATH"], "HOME": directory}, **user)
                self.assertEqual(status, done.returncode, (megabytes, groups, done.stderr))
