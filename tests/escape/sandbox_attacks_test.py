"""The attacks in sandboxes that live, over HTTP: in each the attacker is the second process. The first one and a
sandbox of another tenant go on as they were."""
import contextlib
import os
import pathlib
import re
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "api"))
import attacks_test  # noqa: E402
import host_view  # noqa: E402
import time_scale  # noqa: E402
from living_sandbox import Sandbox, SandboxTest  # noqa: E402

KEYS = ("the-attackers-key", "the-neighbours-key")
# What these leave on the host is reached by descriptors or a terminal that agent-sandbox exec inherits.
CONTEXTS = {name: context for name, context in attacks_test.CONTEXTS.items()
            if name not in ("inherited_descriptors", "leftover_environment", "terminal_injection")}
# Changes a file and tells its number, again and again.
COUNTER = """
import time
for number in range(10**9):
    with open('/workspace/count', 'w') as file: file.write('%09d' % number * 100)
    print(number, flush=True)
    time.sleep(0.01)
"""
STATUS_OF = {"success": "success", "exit_status": "error", "timeout_wall": "timeout", "timeout_cpu": "timeout",
             "out_of_memory": "out_of_memory", "signal": "killed", "killed": "killed", "policy_violation": "violation"}
# What an attack finds in a sandbox, and in no other jail, as it is promised: terminals of its own, and the processes of
# the same sandbox, of which number 2 is the first.
FINDS = {"old_root": r"ESCAPED: /dev/pts is mounted writable\n",
         "read_init": r"ESCAPED: (?:(?:readlink |list )?2/\w+ succeeded [^;]*(?:; |\n))+"}


class SandboxAttacks(SandboxTest):
    environment = {"JOBS_PATH": ":memory:", "API_KEYS": ",".join(KEYS), "SANDBOX_POOL_SIZE": "0"}
    check_report = attacks_test.Attacks.check_report

    def setUp(self):
        super().setUp()
        folder = tempfile.TemporaryDirectory(prefix="escape.")
        self.addCleanup(folder.cleanup)
        self.directory = folder.name
        self.owner, self.other = (self.client_with(key) for key in KEYS)
        self.neighbour = self.make(self.other)
        self.counter = self.neighbour.start(["python3", "-c", COUNTER])
        self.counter.says("1\n")

    def attack(self, attack):
        if obstacle := attack.obstacle():
            self.skipTest(obstacle)
        mounts = host_view.mounts()
        sandbox = self.make(self.owner, limits={"memory_mb": attack.memory})
        sandbox.start(["sleep", "5811"])
        with CONTEXTS.get(attack.name, lambda test: contextlib.nullcontext([]))(self) as arguments:
            started = time.monotonic()
            report = self.run_second(sandbox, attack, arguments)
            self.assertLess(time.monotonic() - started, time_scale.scaled(attack.within), "it took too long")
            if attack.name in FINDS:
                self.assertTrue(re.fullmatch(FINDS[attack.name], report["stdout"]), report["stdout"])
            else:
                self.check_report(attack, report)
            self.check_neighbour()
            # Daemons live on until then.
            sandbox.delete()
            self.wait_until_gone("5811")
        self.assertEqual(mounts, host_view.mounts())
        self.assertEqual([], os.listdir(self.directory), "files were left on the host")
        self.assertEqual("42\n", self.make(self.owner).python("print(6*7)")["stdout"])

    def run_second(self, sandbox, attack, arguments):
        """The attack as a process of the sandbox; returns what POST /execute would report of it."""
        program = f"/workspace/{attack.path.name}"
        self.assertEqual(201, sandbox.put(program, attack.program().encode()).status)
        interpreter = {"python": "python3", "bash": "bash"}[attack.language]
        answer = sandbox.ask([interpreter, program, *arguments], timeout_seconds=attack.timeout)
        self.assertEqual(200, answer.status, answer)
        process = answer.json
        code = process["outcome"]["code"]
        if code == "cancelled":
            code = self.wait_until_ended(sandbox)["outcome"]["code"]
        return {**process, "status": STATUS_OF[code]}

    def check_neighbour(self, seconds=20):
        """It is not held up, and has what it wrote."""
        content = self.neighbour.get("/workspace/count").body
        self.assertRegex(content, rb"\A(?:(\d{9})\1{99})?\Z", "the file of the neighbour was changed")
        at = len(self.counter.text())
        self.assertTrue(host_view.wait_until(lambda: len(self.counter.text()) > at, seconds), "the neighbour stands still")
        numbers = self.counter.text().splitlines()[:-1]
        self.assertEqual([str(int(numbers[0]) + at) for at in range(len(numbers))], numbers)

    def test_control_a_neighbour_that_is_disturbed_is_seen(self):
        self.check_neighbour()
        self.assertEqual(204, self.counter.delete().status)
        with self.assertRaisesRegex(AssertionError, "stands still"):
            self.check_neighbour(seconds=1)
        self.neighbour.put("/workspace/count", b"000000001" * 99 + b"000000002")
        with self.assertRaisesRegex(AssertionError, "was changed"):
            self.check_neighbour()


for each in attacks_test.ALL:
    setattr(SandboxAttacks, f"test_{each.name}", lambda test, attack=each: test.attack(attack))
