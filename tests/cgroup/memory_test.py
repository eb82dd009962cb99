"""What the attacks on memory cost the host under a limit by cgroup v2, which no process of theirs passes between two looks."""
import os
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "escape"))
import host_memory_test  # noqa: E402

PARENT = os.environ.get("JAIL_TEST_CGROUP")
# What the server keeps of a run is not in the cgroup, nor are the mounts of the jail.
OUTSIDE_MB = 16


@unittest.skipIf(PARENT is None, "JAIL_TEST_CGROUP names no cgroup v2 directory")
class HostMemoryUnderACgroup(host_memory_test.HostMemory):
    looks = 1  # on an emulated processor each takes seconds

    @classmethod
    def setUpClass(cls):
        place = pathlib.Path(PARENT, f"host-memory-{os.getpid()}")
        place.mkdir()
        cls.arguments = ("--cgroup", str(place), "--require-cgroup")
        super().setUpClass()

    def most(self, attack):
        return attack.memory + OUTSIDE_MB
