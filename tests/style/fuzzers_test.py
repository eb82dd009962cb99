"""`tests/fuzz/run.py` with stand-ins for its targets: what it must treat as a failure, and what it then prints."""
import pathlib
import subprocess
import sys
import tempfile
import unittest

RUN = pathlib.Path(__file__).resolve().parents[1] / "fuzz" / "run.py"
FINDS = 'prefix=$(printf "%s\\n" "$@" | sed -n "s/^-artifact_prefix=//p"); echo input >"${prefix}crash-1"\n' \
        'echo "FOUND: it broke"; echo "Test unit written to ${prefix}crash-1"; exit 77\n'
FIGURES = 'echo "#9 DONE cov: 12 ft: 34 corp: 5/6b"; echo "stat::average_exec_per_sec:     78"\n'


class Fuzzers(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.build = pathlib.Path(folder.name)
        (self.build / "tests" / "fuzz").mkdir(parents=True)

    def stand_in(self, target, planted, otherwise):
        path = self.build / "tests" / "fuzz" / f"fuzz_{target}"
        path.write_text(f'#!/bin/sh\nif [ -n "$FUZZ_PLANTED" ]; then\n{planted}\nelse\n{otherwise}\nfi\n',
                        encoding="utf-8")
        path.chmod(0o755)

    def run_on(self, *targets):
        command = [sys.executable, RUN, "--build", self.build, "--seconds", "1", *targets]
        finished = subprocess.run(command, capture_output=True, text=True, check=False)
        lines = finished.stdout.splitlines()
        self.assertTrue(lines, finished.stderr)
        return finished.returncode, finished.stdout, lines[-1]

    def test_all_is_well(self):
        self.stand_in("http", FINDS, FIGURES)
        status, output, last = self.run_on("http")
        self.assertEqual((0, "2 passed, 0 failed"), (status, last))
        self.assertIn("78 a second, coverage 12 edges", output)
        self.assertFalse((self.build / "findings" / "http-crash-1").exists())

    def test_a_finding_is_kept_and_can_be_run_again(self):
        self.stand_in("http", FINDS, FINDS)
        status, output, last = self.run_on("http")
        kept = (self.build / "findings" / "http-crash-1").resolve()
        self.assertEqual((1, "1 passed, 1 failed"), (status, last))
        self.assertTrue(kept.exists())
        self.assertIn(f"fuzz_http {kept}", output)
        self.assertIn("FAILED http: status 77, FOUND: it broke; its input in Base64: aW5wdXQK\n", output)

    def test_a_planted_fault_that_is_not_noticed(self):
        for planted in ("exit 0", "echo no sanitizer here; exit 1"):
            self.stand_in("http", planted, FIGURES)
            self.assertEqual((1, "1 passed, 1 failed"), self.run_on("http")[::2], planted)

    def test_a_target_that_is_not_built(self):
        self.stand_in("http", FINDS, FIGURES)
        status, _, last = self.run_on("http", "pool")
        self.assertEqual((1, "2 passed, 2 failed"), (status, last))
