"""The counting of `./dev test` itself: a failure, a skip or a missing test that it did not see would
make every other ring worthless."""
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

TESTS = pathlib.Path(__file__).resolve().parents[1]
RINGS = TESTS / "rings.py"
GOOGLETEST_SKIP = "[ RUN      ] A.B\nfile.cc:3: Skipped\nno cgroup here\n\n[  SKIPPED ] A.B (0 ms)\n"


class Counting(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.record = self.folder / "record"
        self.declared = []

    def declare(self, name, command, **properties):
        self.declared.append(f'add_test({name} {command})\nset_tests_properties({name} PROPERTIES LABELS "x"'
                             + "".join(f' {key} "{value}"' for key, value in properties.items()) + ")\n")

    def declare_shell(self, name, script, **properties):
        path = self.folder / f"{name}.sh"
        path.write_text(script, encoding="utf-8")
        self.declare(name, f'"sh" "{path}"', **properties)

    def declare_suite(self, name, source):
        path = self.folder / f"{name}_test.py"
        path.write_text("import unittest\nclass T(unittest.TestCase):\n" + source, encoding="utf-8")
        self.declare(name, f'"{sys.executable}" "{TESTS / "suite.py"}" "{name}" "{path}"', SKIP_RETURN_CODE=77)

    def rings(self, *arguments, require=""):
        return subprocess.run([sys.executable, RINGS, *arguments], capture_output=True, text=True, check=False,
                              env={"PATH": "/usr/bin:/bin", "REQUIRE": require, "PYTHONDONTWRITEBYTECODE": "1"})

    def ring(self, label="x", require=""):
        (self.folder / "CTestTestfile.cmake").write_text("".join(self.declared), encoding="utf-8")
        finished = self.rings("ring", "--record", self.record, "--name", "n", "--build", self.folder, "--label", label,
                              require=require)
        self.assertEqual(0, finished.returncode, finished.stderr)
        return self.closing()

    def closing(self):
        finished = self.rings("close", "--record", self.record)
        line = finished.stdout.splitlines()[-1]
        self.assertEqual("0 failed" not in line, finished.returncode != 0, finished.stdout)
        return line, finished.stdout

    def declare_binary(self, name, tests, status):
        """A stand-in for a binary of GoogleTest: it writes a report, and ends."""
        report = json.dumps({"testsuites": [{"name": "S", "testsuite": tests}]})
        self.declare_shell(name, f"cat >\"${{GTEST_OUTPUT#json:}}{name}.json\" <<'END'\n{report}\nEND\nexit {status}", LABELS="unit")

    def test_each_test_of_a_binary_counts(self):
        run = {"name": "T", "status": "RUN", "result": "COMPLETED"}
        skipped = {**run, "name": "U", "result": "SKIPPED", "skipped": [{"message": "no cgroup here\n"}]}
        failed = {**run, "name": "V", "failures": [{"failure": "file.cc:3\nwrong"}]}
        self.declare_binary("mixed", [run, skipped, failed, {**run, "status": "NOTRUN"}], 1)
        line, text = self.ring("unit")
        self.assertEqual("1 passed, 1 failed, 1 skipped", line)
        self.assertIn("FAILED [n] mixed.S.V: wrong", text)
        self.assertIn("SKIPPED [n] mixed.S.U: no cgroup here", text)

    def test_a_binary_that_fails_after_its_tests_is_a_failure(self):
        """A stand-in for a binary that a sanitizer ends."""
        run = {"name": "T", "status": "RUN", "result": "COMPLETED"}
        self.declare_binary("first", [{**run, "failures": [{"failure": "wrong"}]}], 1)
        self.declare_binary("second", [run], 1)
        self.assertEqual("1 passed, 2 failed, 0 skipped", self.ring("unit")[0])

    def test_a_binary_without_a_report_is_a_failure(self):
        self.declare_shell("crashed", "exit 139", LABELS="unit")
        self.assertEqual("0 passed, 1 failed, 0 skipped", self.ring("unit")[0])

    def test_what_was_left_out_is_named_last(self):
        self.rings("skip", "--record", self.record, "--name", "fuzz", "--ring", "fuzz", "--reason", "no time", "--left-out")
        self.rings("skip", "--record", self.record, "--name", "systemd", "--ring", "systemd", "--reason", "no machine")
        finished = self.rings("close", "--record", self.record)
        self.assertEqual(["0 passed, 0 failed, 2 skipped", "left out for want of time: fuzz"], finished.stdout.splitlines()[-2:])
        self.assertEqual(0, finished.returncode)

    def test_plain_tests(self):
        self.declare_shell("good", "exit 0")
        self.declare_shell("bad", "echo the reason; exit 3")
        line, text = self.ring()
        self.assertEqual("1 passed, 1 failed, 0 skipped", line)
        self.assertIn("FAILED [n] bad: the reason", text)

    def test_skips_have_reasons(self):
        self.declare_shell("skipped", f"cat <<'E'\n{GOOGLETEST_SKIP}E\n", SKIP_REGULAR_EXPRESSION=r"\\[  SKIPPED \\]")
        line, text = self.ring()
        self.assertEqual("0 passed, 0 failed, 1 skipped", line)
        self.assertIn("SKIPPED [n] skipped: no cgroup here", text)

    def test_required_skips_fail(self):
        self.declare_shell("skipped", f"cat <<'E'\n{GOOGLETEST_SKIP}E\n", SKIP_REGULAR_EXPRESSION=r"\\[  SKIPPED \\]")
        self.assertEqual("0 passed, 1 failed, 0 skipped", self.ring(require="x")[0])

    def test_requirement_names_a_ring(self):
        self.declare_suite("s", "    @unittest.skip('why')\n    def test_a(self): pass\n")
        (self.folder / "CTestTestfile.cmake").write_text("".join(self.declared), encoding="utf-8")
        for require, expected in (("y", "0 failed, 1 skipped"), ("y, x", "1 failed, 0 skipped")):
            self.record.unlink(missing_ok=True)
            self.assertIn(expected, self.ring(require=require)[0])

    def test_suites_count_their_methods(self):
        self.declare_suite("s", "    def test_a(self): pass\n    def test_b(self): self.fail('b is wrong')\n"
                                "    def test_c(self): self.skipTest('no c')\n"
                                "    def test_d(self):\n        for n in range(3):\n"
                                "            with self.subTest(n): self.assertNotEqual(1, n)\n")
        line, text = self.ring()
        self.assertEqual("1 passed, 2 failed, 1 skipped", line)
        self.assertIn("FAILED [n] s.test_b: AssertionError: b is wrong", text)
        self.assertIn("SKIPPED [n] s.test_c: no c", text)

    def test_patterns_choose_methods(self):
        self.declare_suite("s", "    def test_one(self): pass\n    def test_two(self): pass\n    def test_three(self): pass\n")

        def run(*patterns):
            return subprocess.run([sys.executable, TESTS / "suite.py", "s", self.folder / "s_test.py", *patterns],
                                  capture_output=True, text=True, check=False)

        for patterns, passed in (((), 3), (("T.test_t",), 2), (("one", "two"), 2), (("T.",), 3)):
            self.assertIn(f"{passed} passed, 0 failed, 0 skipped", run(*patterns).stdout, patterns)
        refused = run("one", "test_tow")
        self.assertEqual((2, ""), (refused.returncode, refused.stdout), "nothing runs")
        self.assertRegex(refused.stderr, "^s_test.py: no test matches 'test_tow'; near: .*test_two.*\n$")

    def test_suite_that_breaks_fails(self):
        self.declare_suite("s", "    def test_a(self): import os; os._exit(0 if __name__ == 'x' else 5)\n")
        self.declare_suite("t", "    @classmethod\n    def setUpClass(cls): raise OSError('no server')\n    def test_a(self): pass\n")
        self.declare_suite("u", "    pass\n")
        self.declare("v", f'"{sys.executable}" "{TESTS / "suite.py"}" "v" "{self.folder}/absent_test.py"')
        self.assertEqual("0 passed, 4 failed, 0 skipped", self.ring()[0])

    def test_suite_that_is_killed_after_its_report_fails(self):
        self.declare_suite("s", "    def test_a(self):\n        import atexit, os, signal\n"
                                "        atexit.register(lambda: os.kill(os.getpid(), signal.SIGKILL))\n")
        self.assertIn("1 failed", self.ring()[0])

    def test_missing_binary_fails(self):
        self.declare("gone", '"/nonexistent/program"')
        self.assertEqual("0 passed, 1 failed, 0 skipped", self.ring()[0])

    def test_time_out_fails(self):
        self.declare_shell("slow", "sleep 20", TIMEOUT=1)
        self.assertEqual("0 passed, 1 failed, 0 skipped", self.ring()[0])

    def test_ring_without_tests_fails(self):
        self.declare_shell("good", "exit 0")
        self.assertEqual("0 passed, 1 failed, 0 skipped", self.ring(label="other")[0])

    def test_nothing_at_all_fails(self):
        self.assertEqual("0 passed, 1 failed, 0 skipped", self.closing()[0])

    def command(self, script):
        self.record.unlink(missing_ok=True)
        self.rings("command", "--record", self.record, "--name", "n", "--", "sh", "-c", script)
        return self.closing()[0]

    def test_commands(self):
        self.assertEqual("1 passed, 0 failed, 0 skipped", self.command("echo fine"))
        self.assertEqual("0 passed, 1 failed, 0 skipped", self.command("exit 3"))
        self.assertEqual("5 passed, 2 failed, 1 skipped", self.command("echo 5 passed, 2 failed, 1 skipped; exit 1"))
        self.assertEqual("5 passed, 1 failed, 0 skipped", self.command("echo 5 passed, 0 failed; exit 1"))

    def test_commands_name_what_failed(self):
        self.rings("command", "--record", self.record, "--name", "n", "--", "sh", "-c",
                   "echo FAILED one: why; echo more; echo 5 passed, 2 failed; exit 1")
        line, text = self.closing()
        self.assertEqual("5 passed, 2 failed, 0 skipped", line)
        self.assertIn("FAILED [n] one: why\n", text)
        self.assertIn("FAILED [n] n: 5 passed, 2 failed\n", text)

    def test_record_is_what_close_adds_up(self):
        self.record.write_text("".join(json.dumps({"name": "n", "passed": 2, "failed": [["a", "b"]], "skipped": [], "seconds": 1})
                                       + "\n" for _ in range(3)), encoding="utf-8")
        self.assertEqual("6 passed, 3 failed, 0 skipped", self.closing()[0])
