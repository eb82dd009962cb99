"""The attacks, eight at once, with limits held by cgroup v2: once those on resources in warm jails, and all of them

  JAIL_TEST_ATTACKS=ROUNDS  so often, warm and cold
"""
import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "escape"))
import at_once  # noqa: E402
import own_cgroup  # noqa: E402
import warm_test  # noqa: E402

ON_RESOURCES = ("memory_", "fork_", "thread_", "fill_", "cpu_", "spin", "many_descriptors", "output_flood", "raise_limits")

ROUNDS = int(os.environ.get("JAIL_TEST_ATTACKS", "0"))

# In a machine of little memory it ends one of the attacks before the cgroup does.
WATCHES = pathlib.Path("/proc/sys/fs/epoll/max_user_watches")


@own_cgroup.needed
class AttacksAtOnce(at_once.AttacksAtOnce):
    @classmethod
    def setUpClass(cls):
        cls.addClassCleanup(WATCHES.write_text, WATCHES.read_text(encoding="ascii"), encoding="ascii")
        WATCHES.write_text("10000000", encoding="ascii")
        cls.arguments = own_cgroup.arguments("attacks")
        super().setUpClass()

    def test_on_resources(self):
        if ROUNDS > 0:
            self.skipTest("they are among all attacks, which are run")
        self.wait_until_warm()
        attacks = [attack for attack in at_once.WARM if attack.name.startswith(ON_RESOURCES)]
        self.assertGreaterEqual(len(attacks), 20)
        self.all_at_once(warm_test.WarmAttacks, attacks, 1)

    def test_warm(self):
        self.repeated(warm_test.WarmAttacks, at_once.WARM)

    def test_cold(self):
        class BelowACgroup(at_once.ColdAttack):
            options = own_cgroup.arguments("cold")

        self.repeated(BelowACgroup, at_once.COLD)

    def repeated(self, runner, attacks):
        if ROUNDS == 0:
            self.skipTest("JAIL_TEST_ATTACKS says no number of rounds; `./dev test --full` does")
        self.wait_until_warm()
        self.all_at_once(runner, attacks, ROUNDS)
