"""The cost of the memory attacks to the host under a limit by cgroup v2, which none of their processes can exceed
between two looks."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "escape"))
import host_memory_test  # noqa: E402
import own_cgroup  # noqa: E402

# The server's own memory for a run is not in the cgroup, nor are the mounts of the jail.
OUTSIDE_MB = 16


@own_cgroup.needed
class HostMemoryUnderACgroup(host_memory_test.HostMemory):
    looks = 1  # on an emulated processor each takes seconds

    @classmethod
    def setUpClass(cls):
        cls.arguments = own_cgroup.arguments("host-memory")
        super().setUpClass()

    def most(self, attack):
        return attack.memory + OUTSIDE_MB
