"""The agent inside another program: the example that is built beside it, with a model that plays a cassette."""
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

import host_view
import ordinary_user
import time_scale

PROJECT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("AGENT_SANDBOX_BUILD", ""))


class Agent(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        if obstacle := host_view.no_user_namespaces():
            raise unittest.SkipTest(f"no user namespaces: {obstacle}")
        # The directory must be readable for the user who runs the example, whoever owns the checkout.
        cls.directory = pathlib.Path(tempfile.mkdtemp(prefix="agent-sandbox-embed."))
        cls.addClassCleanup(shutil.rmtree, cls.directory)
        cls.directory.chmod(0o755)
        cls.program = cls.directory / "agent_example"
        shutil.copy(BUILD / "runtime" / "examples" / "agent_example", cls.program)
        cls.program.chmod(0o755)
        cls.cassette = cls.directory / "cassette.jsonl"
        shutil.copy(PROJECT / "runtime" / "llm" / "examples" / "fibonacci.jsonl", cls.cassette)
        cls.cassette.chmod(0o644)

    def run_example(self, *arguments, **environment):
        return subprocess.run([self.program, *arguments], capture_output=True, text=True, check=False, timeout=time_scale.scaled(60), cwd="/",
                              env={"PATH": os.environ["PATH"], **environment}, **ordinary_user.NOT_ROOT)

    def test_solves_a_task_and_says_what_happens(self):
        done = self.run_example("Calculate fibonacci(10)", REPLAY_CASSETTE=str(self.cassette))
        self.assertEqual((0, "55\n"), (done.returncode, done.stdout), done.stderr)
        said = [line.split(" ", 1)[0] for line in done.stderr.splitlines()]
        for event in ("generating", "token", "code", "executing", "execution_result", "critique", "retrying"):
            self.assertIn(event, said)
        self.assertEqual(2, said.count("execution_result"))

    def test_says_what_it_could_not_solve(self):
        done = self.run_example("Something else", REPLAY_CASSETTE=str(self.cassette))
        self.assertEqual((1, ""), (done.returncode, done.stdout))
        self.assertIn("not solved: replay: ", done.stderr)

    def test_says_what_to_set(self):
        done = self.run_example("Calculate fibonacci(10)")
        self.assertEqual((1, ""), (done.returncode, done.stdout))
        self.assertIn("GROQ_API_KEY", done.stderr)
