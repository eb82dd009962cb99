"""The attacks on resources, eight at once in warm jails, with limits held by cgroup v2."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "escape"))
import at_once  # noqa: E402
import own_cgroup  # noqa: E402
import warm_test  # noqa: E402

ON_RESOURCES = ("memory_", "fork_", "thread_", "fill_", "cpu_", "spin", "many_descriptors", "output_flood", "raise_limits")


# On a machine with little memory this limit would end one of the attacks before the cgroup does.
WATCHES = pathlib.Path("/proc/sys/fs/epoll/max_user_watches")


@own_cgroup.needed
class AttacksAtOnce(at_once.AttacksAtOnce):
    @classmethod
    def setUpClass(cls):
        cls.addClassCleanup(WATCHES.write_text, WATCHES.read_text(encoding="ascii"), encoding="ascii")
        WATCHES.write_text("10000000", encoding="ascii")
        cls.arguments = own_cgroup.arguments("attacks")
        super().setUpClass()

    def test_warm(self):
        self.wait_until_warm()
        attacks = [attack for attack in at_once.WARM if attack.name.startswith(ON_RESOURCES)]
        self.assertGreaterEqual(len(attacks), 20)
        self.all_at_once(warm_test.WarmAttacks, attacks, 1)
