"""The scale of the tests' deadlines: its sources, and what it applies to."""
import importlib
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

import time_scale

RINGS = pathlib.Path(__file__).resolve().parents[1] / "rings.py"


class TimeScale(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.build = pathlib.Path(folder.name, "release")

    def tearDown(self):
        importlib.reload(time_scale)

    def pretend(self, slowness, status=0):
        """Makes a build whose agent-sandbox measures this value."""
        program = self.build / "server" / "cli" / "agent-sandbox"
        program.parent.mkdir(parents=True, exist_ok=True)
        said = json.dumps({"description": "a host", "slowness": slowness})
        program.write_text(f"#!/bin/sh\n[ \"$*\" = 'doctor --speed --json' ] || exit 3\necho '{said}'\nexit {status}\n", encoding="utf-8")
        program.chmod(0o755)

    def scaled_by(self, scale):
        with mock.patch.dict(os.environ, {"JAIL_TEST_TIME_SCALE": scale}):
            return importlib.reload(time_scale)

    def test_a_slow_host_is_measured_within_bounds(self):
        for slowness, scale in ((0.4, 1), (1.0, 1), (1.2, 2), (9.3, 10), (57.0, 10)):
            self.pretend(slowness)
            self.assertEqual((scale, "host: a host"), time_scale.measured(self.build))

    def test_a_build_of_parts_is_measured_by_the_release_beside_it(self):
        self.pretend(3.0)
        self.assertEqual((3, "host: a host"), time_scale.measured(self.build.parent / "asan"))

    def test_without_the_program_nothing_is_measured(self):
        scale, why = time_scale.measured(self.build)
        self.assertEqual(1, scale)
        self.assertIn("not measured", why)

    def test_a_measurement_that_fails_is_no_scale(self):
        self.pretend(2.0, status=125)
        with self.assertRaises(RuntimeError):
            time_scale.measured(self.build)

    def test_who_is_heard_first(self):
        self.pretend(4.0)
        with mock.patch.dict(os.environ, {"JAIL_TEST_TIME_SCALE": "30"}):
            self.assertEqual({"JAIL_TEST_TIME_SCALE": "2.5"}, time_scale.for_ring(self.build, 2.5))
            self.assertEqual({}, time_scale.for_ring(self.build, None))
            del os.environ["JAIL_TEST_TIME_SCALE"]
            self.assertEqual({"JAIL_TEST_TIME_SCALE": "4"}, time_scale.for_ring(self.build, None))

    def test_what_grows_by_it(self):
        fast = self.scaled_by("1")
        self.assertEqual((60, 5, 20), (fast.scaled(60), fast.patience(5), fast.timeout(20)))
        slow = self.scaled_by("10")
        self.assertEqual((600, 40, 60, 60), (slow.scaled(60), slow.patience(5), slow.patience(60), slow.timeout(20)))
        emulated = self.scaled_by("30")
        self.assertEqual((1800, 150, 60), (emulated.scaled(60), emulated.patience(5), emulated.timeout(20)))
        self.assertEqual(1, self.scaled_by("0.1").SCALE)

    def ring(self, *arguments, **environment):
        (self.build / "test.sh").write_text('echo "by <$JAIL_TEST_TIME_SCALE>"\nexit 1\n', encoding="utf-8")
        (self.build / "CTestTestfile.cmake").write_text(
            f'add_test(t "sh" "{self.build}/test.sh")\nset_tests_properties(t PROPERTIES LABELS "x")\n', encoding="utf-8")
        finished = subprocess.run([sys.executable, RINGS, "ring", "--record", self.build / "record", "--name", "n", "--build", self.build,
                                   "--label", "x", *arguments], capture_output=True, text=True, check=True,
                                  env={"PATH": "/usr/bin:/bin", "PYTHONDONTWRITEBYTECODE": "1", **environment})
        return finished.stdout

    def test_the_tests_of_a_ring_are_told(self):
        self.pretend(2.2)
        self.assertIn("by <3>", self.ring())
        self.assertIn("deadlines 3 times as long; host: a host\n", self.ring())
        self.assertIn("by <7>", self.ring("--time-scale", "7"))
        self.assertIn("by <30>", self.ring(JAIL_TEST_TIME_SCALE="30"))
