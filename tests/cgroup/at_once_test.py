"""The attacks on resources, eight at once in warm jails, with limits held by cgroup v2."""
import os
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "escape"))
import at_once  # noqa: E402
import warm_test  # noqa: E402

PARENT = os.environ.get("JAIL_TEST_CGROUP")
ON_RESOURCES = ("memory_", "fork_", "thread_", "fill_", "cpu_", "spin", "many_descriptors", "output_flood", "raise_limits")


# In a machine of little memory it ends one of the attacks before the cgroup does.
WATCHES = pathlib.Path("/proc/sys/fs/epoll/max_user_watches")


@unittest.skipIf(PARENT is None, "JAIL_TEST_CGROUP names no cgroup v2 directory")
class AttacksAtOnce(at_once.AttacksAtOnce):
    @classmethod
    def setUpClass(cls):
        cls.place = pathlib.Path(PARENT, f"attacks-{os.getpid()}")
        cls.place.mkdir()
        cls.addClassCleanup(WATCHES.write_text, WATCHES.read_text(encoding="ascii"), encoding="ascii")
        WATCHES.write_text("10000000", encoding="ascii")
        cls.arguments = ("--cgroup", str(cls.place), "--require-cgroup")
        super().setUpClass()

    def test_warm(self):
        self.wait_until_warm()
        attacks = [attack for attack in at_once.WARM if attack.name.startswith(ON_RESOURCES)]
        self.assertGreaterEqual(len(attacks), 20)
        self.all_at_once(warm_test.WarmAttacks, attacks, 1)
