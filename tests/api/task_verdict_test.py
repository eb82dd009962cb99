"""A program whose tests did not pass is no success, whatever way out it takes; one whose tests end
the process themselves is."""
import unittest

import task_server
from task_server import record

WRONG = "def f(n): return 1\n"
RIGHT = "def f(n): return 2 * n\n"

# Each leaves a file where the judge might import it, and dies so that the judge would.
SHADOW = """
import os
for name in ("signal", "select", "traceback", "linecache"):
    with open(name + ".py", "w") as file:
        file.write("import os\\nos._exit(0)\\n")
"""
FORGERIES = {
    "a module in the judge's way, dead in its tests": (
        SHADOW + "def f(n): os.kill(os.getpid(), 11)\n", "assert f(3) == 6"),
    "a module in the judge's way, dead before its tests": (
        SHADOW + "os.kill(os.getpid(), 11)\n", "assert f(3) == 6"),
    "an exit that hides where it came from": (
        "class Exit(SystemExit):\n"
        "    @property\n"
        "    def __traceback__(self):\n"
        "        class Trace: tb_next = None\n"
        "        return Trace\n"
        "def f(n): raise Exit(0)\n", "assert f(3) == 6"),
    "sys.exit as the function that is tested": (
        "import sys\nf = sys.exit\n", "assert f() == 6"),
    "sys.exit in what is returned": (
        "import sys\ndef f(n): return map(sys.exit, [0])\n", "assert list(f(3)) == [6]"),
    "sys.exit as an iterator": (
        "import sys\ndef f(n): return iter(sys.exit, 1)\n", "for each in f(3):\n    assert each == 6"),
    "tests that are skipped as a module's": (
        "__name__ = 'module'\n" + WRONG,
        "import unittest\n"
        "class T(unittest.TestCase):\n"
        "    def test(self): self.assertEqual(f(3), 6)\n"
        "if __name__ == '__main__':\n"
        "    unittest.main()\n"),
    "os._exit": ("import os\ndef f(n): os._exit(0)\n", "assert f(3) == 6"),
    "an exit hook": ("import atexit, os\natexit.register(os._exit, 0)\n" + WRONG, "assert f(3) == 6"),
    "another program in its place": (
        "import os\ndef f(n): os.execv('/bin/true', ['true'])\n", "assert f(3) == 6"),
}
ENDINGS = {
    "unittest": "import unittest\n"
                "class T(unittest.TestCase):\n"
                "    def test(self): self.assertEqual(f(3), 6)\n"
                "if __name__ == '__main__':\n"
                "    unittest.main()\n",
    "sys.exit": "import sys\ndef main():\n    assert f(3) == 6\n    return 0\nsys.exit(main())\n",
    "sys.exit in a function": "import sys\ndef main():\n    assert f(3) == 6\n    sys.exit()\nmain()\n",
    "exit": "from sys import exit\nassert f(3) == 6\nexit(0)\n",
    "SystemExit": "if f(3) == 6:\n    raise SystemExit\nassert False\n",
}
STREAMS = {
    "wrapped": "import io, sys\nsys.stdout = io.TextIOWrapper(sys.stdout.buffer, encoding='utf-8')\n",
    "detached": "import io, sys\nsys.stdout = io.TextIOWrapper(sys.stdout.detach(), encoding='utf-8')\n",
}


class Verdicts(task_server.TaskTest):
    records = (
        *(record(f"Forge: {name}.", code) for name, (code, _) in FORGERIES.items()),
        *(record(f"Ends with {name}.", RIGHT) for name in ENDINGS),
        *(record(f"Has standard output {name}.", code + "print('said')\n" + RIGHT) for name, code in STREAMS.items()),
    )

    def test_no_way_out_is_a_success(self):
        for name, (_, tests) in FORGERIES.items():
            with self.subTest(name):
                solved = self.solve(f"Forge: {name}.", tests=tests, max_attempts=1)
                self.assertEqual("failed", solved["status"], solved)
                self.assertNotEqual("success", solved["history"][0]["execution_result"]["status"])

    def test_tests_may_end_the_process(self):
        for name, tests in ENDINGS.items():
            with self.subTest(name):
                solved = self.solve(f"Ends with {name}.", tests=tests, max_attempts=1)
                self.assertEqual("completed", solved["status"], solved)

    def test_what_a_program_said_is_its_output_whatever_it_did_to_the_stream(self):
        for name in STREAMS:
            with self.subTest(name):
                solved = self.solve(f"Has standard output {name}.", tests="assert f(3) == 6", max_attempts=1)
                self.assertEqual("completed", solved["status"], solved)
                self.assertEqual("said\n", solved["output"])


if __name__ == "__main__":
    unittest.main()
