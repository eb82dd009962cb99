"""agent-sandbox run, benchmark and lessons: exit statuses, streams, terminals."""
import json
import os
import pathlib
import pty
import re
import select
import signal
import subprocess
import tempfile
import time
import unittest

import host_view
import live_server
import ordinary_user
import task_server
import time_scale
from task_server import record

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "runtime/llm/examples"
SOLVED = "print(40 + 2)"
BROKEN = "raise ValueError('not yet \\x1b[2J')"
NASTY = "print('\\x1b]0;owned\\x07 \\x9b2J \\u202e done')"
ESCAPES = re.compile(r"\x1b\[[0-9;]*[mK]")

RECORDS = (
    record("Solved at once", SOLVED),
    record("Solved at the second attempt", BROKEN, SOLVED),
    record("Never solved", BROKEN, BROKEN, BROKEN),
    record("Nasty", NASTY),
    record("Tested", "def one(): return 1"),
    record("Read", "print(open('data.txt').read())"),
    record("Wait long", "import time; time.sleep(40)"),
    record("Draw", "open('plot.txt', 'w').write('drawn'); raise SystemExit(1)", "open('plot.txt', 'w').write('drawn well')"),
    record("Write a function fibonacci(n) that returns the n-th Fibonacci number", "def fibonacci(n):\n    return n"),
    record("Many lines", "def f(x):\n    # a comment\n    return 'text'\nprint(f(1))"),
)


class Command(unittest.TestCase):
    def setUp(self):
        if reason := host_view.no_user_namespaces():
            self.skipTest(f"no user namespaces for this user: {reason}")
        self.cassette = task_server.Cassette(*RECORDS)
        self.addCleanup(self.cassette.remove)
        directory = tempfile.TemporaryDirectory(prefix="agent-sandbox-run.")
        self.addCleanup(directory.cleanup)
        self.directory = directory.name
        os.chmod(self.directory, 0o777)

    def environment(self, **more):
        return {"PATH": os.environ["PATH"], "HOME": self.directory, "SANDBOX_ROOTFS": "host", "TERM": "xterm",
                "LESSONS_PATH": os.path.join(self.directory, "lessons.sqlite"), **self.cassette.environment, **more}

    def start(self, *arguments, environment=None, **streams):
        return subprocess.Popen([live_server.BINARY, *arguments], cwd=self.directory,
                                env=environment or self.environment(), **streams)

    def run_it(self, *arguments, input=None, **more):
        finished = subprocess.run(
            [live_server.BINARY, *arguments], cwd=self.directory, env=self.environment(**more), input=input,
            capture_output=True, timeout=time_scale.scaled(120), check=False)
        return finished.returncode, finished.stdout.decode(), finished.stderr.decode()

    def write(self, name, text):
        path = os.path.join(self.directory, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(path, 0o644)
        return path


class Run(Command):
    def test_solved(self):
        status, out, progress = self.run_it("run", "Solved at once")
        self.assertEqual((0, "42\n"), (status, out), progress)
        self.assertIn("attempt 1 of 3", progress)
        self.assertIn(SOLVED, progress)
        self.assertIn("solved (1 attempt", progress)
        self.assertNotIn("\x1b", progress)

    def test_a_second_attempt(self):
        status, out, progress = self.run_it("run", "Solved at the second attempt", "-v")
        self.assertEqual((0, "42\n"), (status, out), progress)
        self.assertLess(progress.index("attempt 1 of 3"), progress.index("attempt 2 of 3"))
        self.assertIn("ValueError: not yet", progress)
        self.assertIn("it is wrong", progress)

    def test_not_solved(self):
        status, out, progress = self.run_it("run", "Never solved", "-a", "2")
        self.assertEqual((1, ""), (status, out))
        self.assertIn("not solved (2 attempts", progress)

    def test_json_is_what_execute_answers(self):
        status, out, progress = self.run_it("run", "Never solved", "-a", "1", "--json")
        result = json.loads(out)
        self.assertEqual((1, False, 1, ""), (status, result["success"], len(result["history"]), progress))
        self.assertIn("\x1b[2J", result["history"][0]["execution_result"]["stderr"])
        server = live_server.LiveServer(environment={"JOBS_PATH": ":memory:", **self.cassette.environment})
        self.addCleanup(server.stop)
        with server.client() as client:
            self.assertEqual(set(client.post({"task": "Solved at once"}).json), set(result))

    def test_nothing_moves_the_cursor(self):
        for arguments in (["-v"], []):
            status, out, progress = self.run_it("run", "Nasty", *arguments)
            self.assertEqual(0, status, progress)
            for text in (out, progress):
                self.assertNotRegex(text, "[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e]")
            self.assertIn("done", out)

    def test_tests_and_files(self):
        tests = self.write("tests.py", "assert one() == 1\n")
        self.assertEqual(0, self.run_it("run", "Tested", "--tests", tests)[0])
        self.write("tests.py", "assert one() == 2\n")
        self.assertEqual(1, self.run_it("run", "Tested", "--tests", tests, "-a", "1")[0])
        source = self.write("source.txt", "from a file")
        status, out, progress = self.run_it("run", "Read", "--file", f"{source}:data.txt")
        self.assertEqual((0, "from a file\n"), (status, out), progress)

    def test_artifacts_of_the_program_that_solves_it(self):
        os.chmod(self.directory, 0o755)
        status, _, progress = self.run_it("run", "Draw", "--artifact", "*.txt:plots", LESSONS="off")
        self.assertEqual(0, status, progress)
        self.assertIn('wrote "plots/plot.txt", 10 bytes', progress)
        with open(os.path.join(self.directory, "plots", "plot.txt"), encoding="utf-8") as file:
            self.assertEqual("drawn well", file.read())
        status, _, progress = self.run_it("run", "Draw", "--artifact", "*.txt:plots", LESSONS="off")
        self.assertEqual(125, status)
        self.assertIn("--overwrite replaces it", progress)
        self.assertEqual(0, self.run_it("run", "Draw", "--artifact", "*.txt:plots", "--overwrite", LESSONS="off")[0])
        self.assertEqual(2, self.run_it("run", "Draw", "--artifact", "*.txt")[0])

    def test_the_task_may_come_from_standard_input(self):
        status, out, progress = self.run_it("run", "-", input=b"Solved at once\n")
        self.assertEqual((0, "42\n"), (status, out), progress)
        self.assertEqual(2, self.run_it("run", "-", input=b"\n")[0])

    def test_a_trace_is_written(self):
        path = os.path.join(self.directory, "trace.html")
        self.assertEqual(0, self.run_it("run", "Solved at the second attempt", "--trace", path)[0])
        with open(path, encoding="utf-8") as file:
            page = file.read()
        self.assertIn("<!doctype html>", page.lower())
        self.assertIn("ValueError", page)
        self.assertNotIn("<script", page)
        self.assertNotIn("\x1b", page)
        self.assertEqual(2, self.run_it("run", "Solved at once", "--trace", "/nowhere/x.html")[0])

    def test_usage(self):
        for arguments in (["run"], ["run", "t", "-a", "0"], ["run", "t", "--tests", "/nowhere"],
                          ["run", "t", "--file", "/nowhere"], ["run", "t", "u"], ["lessons"]):
            with self.subTest(arguments):
                self.assertEqual(2, self.run_it(*arguments)[0])

    def test_a_file_that_cannot_be_read_is_told_with_its_option(self):
        self.assertIn("agent-sandbox: --tests: open /nowhere: ", self.run_it("run", "t", "--tests", "/nowhere")[2])

    def test_a_program_in_place_of_a_task(self):
        path = self.write("program.py", "print(1)")
        hint = f"agent-sandbox: the task is the name of a file; agent-sandbox exec {path} runs that file\n"
        self.assertIn(hint, self.run_it("run", path)[2])
        self.assertNotIn("the name of a file", self.run_it("run", "nowhere.py")[2])

    def test_recorded_answers_are_told_and_are_for_their_task_alone(self):
        status, out, said = self.run_it("run", "Solved at once")
        self.assertEqual((0, "42\n"), (status, out))
        self.assertIn("agent-sandbox: the answers are recorded (REPLAY_CASSETTE); no model reads the task\n", said)
        status, out, said = self.run_it("run", "Solved at onces")
        self.assertEqual((1, ""), (status, out), said)
        self.assertIn("the cassette has no task that this prompt is about", said)
        self.assertEqual(1, self.run_it("lessons", "list")[1].count("task: "))
        self.assertEqual("", self.run_it("run", "Solved at once", "--json")[2])

    def test_without_a_provider(self):
        status, out, error = self.run_it("run", "t", LLM_PROVIDER="", REPLAY_CASSETTE="")
        self.assertEqual((125, ""), (status, out))
        self.assertIn("GROQ_API_KEY", error)
        status, _, error = self.run_it("run", "t", "--provider", "openai")
        self.assertEqual(125, status)
        self.assertIn("OPENAI_API_KEY", error)
        self.assertEqual(125, self.run_it("run", "t", REPLAY_CASSETTE="/nowhere")[0])

    def test_interrupted(self):
        process = self.start("run", "Wait long", "--timeout", "60", stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.stderr.close)
        seen = b""
        while b"time.sleep(40)" not in seen:
            ready, _, _ = select.select([process.stderr], [], [], 30)
            self.assertTrue(ready, seen)
            piece = os.read(process.stderr.fileno(), 4096)
            self.assertTrue(piece, seen)
            seen += piece
        time.sleep(0.5)
        process.send_signal(signal.SIGINT)
        self.assertEqual(130, process.wait(time_scale.scaled(20)))
        self.assertIn(b"cancelled", process.stderr.read())
        self.assertTrue(host_view.wait_until(lambda: not host_view.descendants(process.pid), 5))


class ShippedAnswers(Command):
    """What server/docs/tasks.md shows without a key of a provider."""

    def setUp(self):
        super().setUp()
        self.examples = self.enterContext(ordinary_user.within_reach(*EXAMPLES.iterdir()))

    def test_each_task_is_solved(self):
        for name, task, options, printed in (
                ("fibonacci", "Calculate fibonacci(10)", [], "55"),
                ("fibonacci", "Calculate fibonacci(10)", ["--candidates", "2"], "55"),
                ("swarm", "Print the first ten primes", ["--swarm"], "2 3 5 7 11 13 17 19 23 29"),
                ("tests", "Write is_palindrome(text)", ["--tests", str(self.examples / "palindrome_tests.py")], "")):
            with self.subTest(task, options=options):
                status, out, said = self.run_it("run", task, *options, REPLAY_CASSETTE=str(self.examples / f"{name}.jsonl"))
                self.assertEqual((0, printed), (status, out.strip()), said)

    def test_a_picture_comes_out(self):
        if not list(pathlib.Path("/usr/lib/python3/dist-packages").glob("matplotlib")):
            self.skipTest("no matplotlib in /usr")
        self.write("numbers.csv", "1\n4\n9\n")
        status, out, said = self.run_it("run", "Plot the file", "--file", "numbers.csv", "--artifact", "*.png:plots",
                                        "--timeout", f"{time_scale.scaled(10):.0f}", REPLAY_CASSETTE=str(self.examples / "plot.jsonl"))
        self.assertEqual((0, "plot.png shows 3 numbers\n"), (status, out), said)
        self.assertEqual(b"\x89PNG", (pathlib.Path(self.directory) / "plots/plot.png").read_bytes()[:4])

    def test_all_of_them_are_tried_here(self):
        self.assertEqual(["fibonacci", "plot", "swarm", "tests"], sorted(path.stem for path in EXAMPLES.glob("*.jsonl")))


class Slow(Command):
    def test_interrupted_while_the_model_thinks(self):
        model = task_server.SlowModel(lambda body: (30, "{}"))
        self.addCleanup(model.stop)
        environment = self.environment(**model.environment, REPLAY_CASSETTE="")
        process = self.start("run", "anything", environment=environment, stdout=subprocess.DEVNULL,
                             stderr=subprocess.DEVNULL)
        self.assertTrue(host_view.wait_until(lambda: model.waiting == 1, 20))
        started = time.monotonic()
        process.send_signal(signal.SIGINT)
        self.assertEqual(130, process.wait(time_scale.scaled(20)))
        self.assertLess(time.monotonic() - started, 5)
        self.assertTrue(host_view.wait_until(lambda: model.left == 1, 5))


class Terminal(Command):
    def on_terminal(self, *arguments, **more):
        """Returns the output on a terminal, both streams together."""
        master, slave = pty.openpty()
        process = self.start(*arguments, environment=self.environment(**more), stdin=slave, stdout=slave, stderr=slave)
        os.close(slave)
        seen = b""
        try:
            while piece := os.read(master, 4096):
                seen += piece
        except OSError:  # the other end is closed
            pass
        finally:
            os.close(master)
        return process.wait(time_scale.scaled(30)), seen.decode()

    def test_live(self):
        status, seen = self.on_terminal("run", "Many lines")
        self.assertEqual(0, status, seen)
        self.assertIn("\r\x1b[K", seen)
        self.assertRegex(seen, "[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏]")
        self.assertIn("\x1b[35mdef\x1b[0m", seen)
        self.assertIn("\x1b[2m# a comment\x1b[0m", seen)
        self.assertIn("\x1b[32m'text'\x1b[0m", seen)
        self.assertTrue(ESCAPES.sub("", seen).replace("\r\n", "\n").endswith("text\n"), seen)

    def test_no_color(self):
        status, seen = self.on_terminal("run", "Many lines", NO_COLOR="1")
        self.assertEqual(0, status, seen)
        self.assertNotRegex(seen, r"\x1b\[[0-9;]*m")
        self.assertIn("\r\x1b[K", seen)

    def test_a_dumb_terminal_gets_lines(self):
        status, seen = self.on_terminal("run", "Many lines", TERM="dumb")
        self.assertEqual(0, status, seen)
        self.assertNotIn("\x1b", seen)

    def test_what_guests_write_is_tamed(self):
        status, seen = self.on_terminal("run", "Nasty", "-v")
        self.assertEqual(0, status, seen)
        self.assertNotRegex(ESCAPES.sub("", seen), "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e]")


class Learning(Command):
    def test_lessons_are_listed_and_erased(self):
        self.assertEqual((0, "", "agent-sandbox: no lesson is kept yet\n"), self.run_it("lessons", "list"))
        self.assertEqual(0, self.run_it("run", "Solved at the second attempt")[0])
        status, out, _ = self.run_it("lessons", "list")
        self.assertEqual(0, status)
        self.assertIn("task: Solved at the second attempt", out)
        self.assertNotIn("\x1b", out)
        [lesson] = json.loads(self.run_it("lessons", "list", "--json")[1])["lessons"]
        self.assertEqual(2, self.run_it("lessons", "erase", "no-such-id")[0])
        self.assertEqual((0, "1 erased\n", ""), self.run_it("lessons", "erase", lesson["id"]))
        self.assertEqual((0, "0 erased\n", ""), self.run_it("lessons", "erase", "--all"))

    def test_switched_off(self):
        self.assertEqual(0, self.run_it("run", "Solved at the second attempt", "--no-lessons")[0])
        self.assertEqual("", self.run_it("lessons", "list")[1])
        self.assertEqual(125, self.run_it("lessons", "list", LESSONS="off")[0])


class Benchmarks(Command):
    def test_a_suite_that_the_cassette_does_not_know(self):
        status, out, progress = self.run_it("benchmark", "--suite", "strings", "--limit", "1", "--json")
        self.assertEqual((125, 0), (status, json.loads(out)["solved"]), progress)
        self.assertIn("no program was run: replay: the cassette has no task", progress)

    def test_a_suite_whose_programs_run(self):
        status, out, progress = self.run_it("benchmark", "--limit", "1", "--json")
        report = json.loads(out)
        self.assertEqual((0, "quick", 1, 0), (status, report["suite"], report["run"], report["solved"]), progress)
        status, out, _ = self.run_it("benchmark", "--limit", "1", "--markdown")
        self.assertEqual(0, status)
        self.assertIn("|", out)
        self.assertIn("pass@1", self.run_it("benchmark", "--limit", "1")[1])

    def test_without_any_answer_it_has_failed(self):
        other = task_server.Cassette(record("A task that no suite has", SOLVED))
        self.addCleanup(other.remove)
        status, out, progress = self.run_it("benchmark", "--limit", "1", "--json", **other.environment)
        self.assertEqual((125, 0), (status, json.loads(out)["solved"]), progress)
        self.assertIn("agent-sandbox: no program was run: replay: the cassette has no task", progress)

    def test_a_suite_that_is_none(self):
        status, _, error = self.run_it("benchmark", "--suite", "/nowhere")
        self.assertEqual(2, status)
        self.assertIn("--suite", error)
