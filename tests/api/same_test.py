"""A warm run is a cold run: every program of same/ and same/sources.py both ways, byte by byte. What a
program may not look at, since it differs from one cold run to the next, says same/README.md."""
import json
import os
import pathlib
import re
import sys
import unittest

import live_server
import time_scale

PROGRAMS = pathlib.Path(__file__).resolve().parent / "same"
sys.path.insert(0, str(PROGRAMS))
import sources  # noqa: E402

COMPARED = ("status", "exit_code", "signal", "stdout", "stderr", "stdout_truncated", "stderr_truncated", "artifacts",
            "artifacts_skipped")
# The address of an object and the number of a thread differ between two cold runs, too.
ADDRESS = re.compile(r"\b0x[0-9a-f]{6,16}\b")
# Variables that the interpreter or libc reads once, before the program's first line: a request that brings one may
# have to be run cold to be the same. So may any, where modules of others were imported before.
READ_AT_START = re.compile(r"PYTHON|LD_|LC_|LANG|MALLOC_|GLIBC_|(HOME|TZ|PATH|OMP_NUM_THREADS|MPLBACKEND)$")
ANY = re.compile("")


def without_addresses(value):
    return ADDRESS.sub("0x...", value) if isinstance(value, str) else value


def differences(one, other):
    """Returns the differences that a user would see: a line for each field, with where it begins to differ."""
    found = []
    for name in COMPARED:
        first, second = without_addresses(one[name]), without_addresses(other[name])
        if first == second:
            continue
        if isinstance(first, str) and isinstance(second, str):
            at = len(os.path.commonprefix([first, second]))
            line = first.count("\n", 0, at) + 1
            start = max(first.rfind("\n", 0, at) + 1, at - 200)
            first, second = first[start:at + 300], second[start:at + 300]
            name += f" from line {line}"
        found.append(f"{name}:\n  {first!r}\n  {second!r}")
    return found


class Program:
    def __init__(self, name, ends, request, templates=("python", "data"), needs=None):
        self.name, self.ends, self.request = name, ends, request
        self.templates, self.needs = templates, needs

    @classmethod
    def read(cls, path):
        text = path.read_text(encoding="utf-8")

        def field(name, default):
            found = re.search(rf"^(?:#|//) {name}: *(.*)$", text, re.MULTILINE)
            return found.group(1).strip() if found else default

        language, templates = {".py": ("python", "python data"), ".js": ("javascript", "javascript"),
                               ".ts": ("typescript", "typescript"), ".sh": ("bash", "bash")}[path.suffix]
        extra = path.with_suffix(".json")
        request = {"code": text, "language": language,
                   **(json.loads(extra.read_text(encoding="utf-8")) if extra.exists() else {})}
        return cls(path.stem, field("Ends", "success"), request,
                   tuple(field("Template", templates).split()), field("Needs", None))

    def wrong_end(self, answer):
        """Returns why the program may not end like this, cold or warm, or None."""
        detail = {"error": answer["exit_code"], "killed": answer["signal"], "violation": answer["signal"]}
        ended = " ".join(str(word) for word in (answer["status"], detail.get(answer["status"])) if word is not None)
        return None if ended in self.ends.split(" or ") else f"{ended}, not {self.ends}: {answer['stderr'][-1500:]}"


ALL = [Program.read(path) for path in sorted(PROGRAMS.glob("[0-9]*")) if path.suffix != ".json"]
ALL += [Program(*each) for each in sources.requests()]


class Same(live_server.ServerTest):
    maxDiff = None
    cold_answers = {}

    def run_as(self, program, template):
        # A program that ends by itself gets a longer deadline on a slow host. One whose deadline is tested gets what it needs there
        # to come so far.
        own = program.request.get("timeout_seconds", 5)
        deadline = min(own * max(1, time_scale.SCALE / 3), time_scale.MOST_TIMEOUT) if "timeout" in program.ends else time_scale.timeout(own)
        answer = self.client.post({**program.request, "timeout_seconds": deadline, "template": template})
        self.assertEqual(200, answer.status, answer)
        return answer.json

    def need(self, program):
        if program.needs:
            found = self.execute(f"import {program.needs}", template="none", timeout_seconds=60)
            if found["status"] != "success":
                self.skipTest(f"the host's python3 has no {program.needs}")

    def need_template(self, name, language="python"):
        answer = self.client.post({"code": "0", "language": language, "template": name, "timeout_seconds": 60})
        if answer.status == 400 and name != "python":
            self.skipTest(f"no template {name} here: {answer.json['detail']}")
        self.wait_until_warm(name)

    def cold(self, program):
        """Returns the cold answer; two of them must be the same, or the comparison would prove nothing."""
        if program.name in self.cold_answers:
            return self.cold_answers[program.name]
        self.need(program)
        first, second = self.run_as(program, "none"), self.run_as(program, "none")
        self.assertIs(False, first["warm"])
        self.assertIsNone(program.wrong_end(first))
        self.assertEqual([], differences(first, second), "two cold runs differ")
        self.cold_answers[program.name] = first
        return first

    def compare(self, program, template):
        self.need_template(template, program.request.get("language", "python"))
        cold, warm = self.cold(program), self.run_as(program, template)
        read_before = READ_AT_START if template == "python" else ANY
        if not any(read_before.match(name) for name in program.request.get("env", ())):
            self.assertIs(True, warm["warm"], "the jail was not warm")
        different = differences(cold, warm)
        self.assertEqual([], different, "cold first, then warm:\n" + "\n".join(different))


class Fresh(live_server.ServerTest):
    """Values that must never be the same."""

    RUNS = 20

    def draw(self, code, template, **fields):
        drawn = []
        for _ in range(self.RUNS):
            result = self.execute(code, template=template, **fields)
            self.assertEqual(("success", True), (result["status"], result["warm"]), result["stderr"])
            drawn.append(result["stdout"])
        return drawn

    def each_differs(self, code, template, **fields):
        lines = [text.splitlines() for text in self.draw(code, template, **fields)]
        self.assertGreater(len(lines[0]), 0)
        for number, values in enumerate(zip(*lines, strict=True)):
            self.assertEqual(self.RUNS, len(set(values)), f"value {number} was drawn twice: {values}")

    STANDARD = """
import os, random, secrets, ssl, tempfile, uuid
print(random.random())
print(random.Random().random())
print(random.SystemRandom().random())
print(random.getrandbits(64))
print(uuid.uuid4())
print(uuid.uuid1().clock_seq, uuid.uuid1())
print(os.urandom(16))
print(os.getrandom(16))
print(secrets.token_hex())
print(ssl.RAND_bytes(16))
print(tempfile.mktemp())
print(os.path.basename(tempfile.mkdtemp()))
print(next(tempfile._get_candidate_names()))
print(open("/dev/urandom", "rb").read(16))
child = os.fork()
if child == 0:
    print(random.random(), flush=True)
    os._exit(0)
os.waitpid(child, 0)
"""

    def test_warm_unless_told(self):
        # A server that has just been started runs programs cold until its first zygote is there; who names a template waits.
        self.execute("pass", template="python", timeout_seconds=60)
        self.assertEqual((True, "42\n"), tuple(self.execute("print(6*7)")[name] for name in ("warm", "stdout")))
        self.assertEqual((False, "42\n"), tuple(self.execute("print(6*7)", template="none")[name] for name in ("warm", "stdout")))

    def test_randomness_is_fresh(self):
        self.each_differs(self.STANDARD, "python")

    def test_randomness_is_fresh_where_it_was_imported_before(self):
        self.need_data()
        self.each_differs(self.STANDARD, "data")

    def test_randomness_of_numpy_is_fresh(self):
        self.need_data()
        self.each_differs("""
import numpy
print(numpy.random.rand())
print(numpy.random.default_rng().random())
print(numpy.random.RandomState().rand())
print(numpy.random.randint(0, 1 << 62))
print(numpy.random.get_state()[1][:4])
print(numpy.random.permutation(1000)[:8])
import pandas
print(pandas.DataFrame({"a": range(100000)}).sample(3).a.tolist())
""", "data", timeout_seconds=30, memory_limit_mb=1024)

    def test_warm_programs_do_not_meet(self):
        """Each of these leaves something in every place that it can, and looks for what others left."""
        code = """
import builtins, gc, os, resource, signal, sys
print([getattr(builtins, "left", 0), os.environ.get("LEFT"), len(sys.argv), "left" in sys.modules, os.umask(0o077) == 0o022,
       signal.getsignal(signal.SIGUSR1), gc.isenabled(), sys.getrecursionlimit(), resource.getrlimit(resource.RLIMIT_NOFILE),
       sorted(os.listdir("/tmp") + os.listdir(".") + os.listdir("/dev/shm")), os.nice(0)])
builtins.left, os.environ["LEFT"], sys.modules["left"] = 1, "1", sys
signal.signal(signal.SIGUSR1, signal.SIG_IGN)
gc.disable()
sys.setrecursionlimit(77777)
resource.setrlimit(resource.RLIMIT_NOFILE, (50, 50))
os.nice(5)
open("/tmp/left", "w"), open("left", "w"), open("/dev/shm/left2", "w")
print.__self__.print = None
"""
        self.assertEqual(1, len(set(self.draw(code, "python"))))

    def need_data(self):
        answer = self.client.post({"code": "pass", "template": "data", "timeout_seconds": 60})
        if answer.status == 400:
            self.skipTest(f"no template data here: {answer.json['detail']}")


class Comparison(unittest.TestCase):
    """The comparison itself can fail."""

    ANSWER = {"status": "success", "exit_code": 0, "signal": None, "stdout": "a\nb 0x7f00aa00bb00\n", "stderr": "",
              "stdout_truncated": False, "stderr_truncated": False, "artifacts": [], "artifacts_skipped": []}

    def test_each_field_counts(self):
        others = {"status": "error", "exit_code": 1, "signal": "SIGINT", "stdout": "a\nb", "stderr": " ", "stdout_truncated": True,
                  "stderr_truncated": True, "artifacts": [{"path": "a"}], "artifacts_skipped": [{"path": "a"}]}
        self.assertEqual(set(COMPARED), set(others))
        for name, value in others.items():
            self.assertEqual(1, len(differences(self.ANSWER, {**self.ANSWER, name: value})), name)

    def test_the_same_is_the_same(self):
        self.assertEqual([], differences(self.ANSWER, dict(self.ANSWER)))

    def test_only_addresses_are_taken_out(self):
        self.assertEqual([], differences(self.ANSWER, {**self.ANSWER, "stdout": "a\nb 0x55ffeeddccaa\n"}))
        for text in ("a\nb 0x7f00aa00bb00 \n", "a\nb 140737488355328\n", "a\nb 0x7f\n", "a\nb 0X7F00AA00BB00\n", "A\nb 0x7f00aa00bb00\n",
                     "a\nb 0x7f00aa00bb00", "a\r\nb 0x7f00aa00bb00\n"):
            self.assertEqual(1, len(differences(self.ANSWER, {**self.ANSWER, "stdout": text})), text)

    def test_it_says_where(self):
        found, = differences(self.ANSWER, {**self.ANSWER, "stdout": "a\nc 0x7f00aa00bb00\n"})
        self.assertIn("stdout from line 2", found)
        self.assertIn("'c 0x", found)

    def test_ends_are_read(self):
        program = Program("p", "error 3", {})
        self.assertIsNone(program.wrong_end({**self.ANSWER, "status": "error", "exit_code": 3}))
        self.assertIn("error 4", program.wrong_end({**self.ANSWER, "status": "error", "exit_code": 4}))
        self.assertIn("success", program.wrong_end(self.ANSWER))
        self.assertIsNone(Program("p", "error 1 or error 3", {}).wrong_end({**self.ANSWER, "status": "error", "exit_code": 3}))
        self.assertIsNone(Program("p", "killed SIGINT", {}).wrong_end({**self.ANSWER, "status": "killed", "signal": "SIGINT"}))
        self.assertIsNotNone(Program("p", "killed SIGINT", {}).wrong_end({**self.ANSWER, "status": "killed", "signal": "SIGTERM"}))

    def test_every_program_says_what_it_observes(self):
        self.assertGreater(len(ALL), 200)
        self.assertEqual(len(ALL), len({program.name for program in ALL}))
        for path in PROGRAMS.glob("[0-9]*.[pj][ys]"):
            self.assertRegex(path.read_text(encoding="utf-8"), r"(?m)^(#|//) Observes: \w", path.name)


def cold_test(program):
    def test(self):
        self.cold(program)
    return test


def warm_test(program, template):
    def test(self):
        self.compare(program, template)
    return test


for each in ALL:
    setattr(Same, f"test_cold_{each.name}", cold_test(each))
    for kind in each.templates:
        setattr(Same, f"test_{kind}_{each.name}", warm_test(each, kind))
