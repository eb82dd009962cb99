"""The bombs among the hostile programs of others (tests/escape/hostile.py), with limits held by cgroup v2."""
import os
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "escape"))
import hostile  # noqa: E402

PARENT = os.environ.get("JAIL_TEST_CGROUP")


@unittest.skipIf(PARENT is None, "JAIL_TEST_CGROUP names no cgroup v2 directory")
class Corpus(hostile.HostileTest):
    @classmethod
    def setUpClass(cls):
        place = pathlib.Path(PARENT, f"corpus-{os.getpid()}")
        place.mkdir()
        cls.arguments = ("--cgroup", str(place), "--require-cgroup")
        super().setUpClass()

    def test_warm(self):
        self.run_all(least=20, kind="resource")

    def test_cold(self):
        self.run_all(least=20, kind="resource", template="none")
