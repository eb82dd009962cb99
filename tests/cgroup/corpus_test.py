"""The bombs among the hostile programs of others (tests/escape/hostile.py), with limits held by cgroup v2."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "escape"))
import hostile  # noqa: E402
import own_cgroup  # noqa: E402


@own_cgroup.needed
class Corpus(hostile.HostileTest):
    @classmethod
    def setUpClass(cls):
        cls.arguments = own_cgroup.arguments("corpus")
        super().setUpClass()

    def test_warm(self):
        self.run_all(least=20, kind="resource")

    def test_cold(self):
        self.run_all(least=20, kind="resource", template="none")
