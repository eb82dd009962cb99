"""A server with a place for volumes, which outlives it, as tests of volumes need it."""
import pathlib
import shutil
import tempfile

import host_view
from living_sandbox import SandboxTest

MB = 1 << 20


class VolumeTest(SandboxTest):
    """A server with a place for volumes, which outlives it."""
    more_environment = {}

    @classmethod
    def setUpClass(cls):
        cls.place = pathlib.Path(tempfile.mkdtemp(prefix="agent-sandbox-volumes."))
        cls.place.chmod(0o1777)
        cls.addClassCleanup(shutil.rmtree, cls.place, True)
        cls.environment = {"JOBS_PATH": str(cls.place / "jobs" / "jobs.sqlite"), "SANDBOX_DISK_PATH": str(cls.place / "disks"),
                           "SANDBOX_MAX_DISK_MB": "400", "SANDBOX_DISK_RESERVE_MB": "100", **cls.more_environment}
        (cls.place / "jobs").mkdir()
        (cls.place / "jobs").chmod(0o777)
        super().setUpClass()

    def volume(self, name, client=None, **fields):
        answer = (client or self.client).post({"name": name, **fields}, "/v1/volumes")
        self.assertEqual(201, answer.status, answer)
        return answer.json

    def with_volumes(self, *volumes, client=None, **fields):
        """A sandbox; each volume is NAME:PATH or NAME:PATH:ro."""
        return self.make(client, volumes=self.mounts(*volumes), **fields)

    @staticmethod
    def mounts(*volumes):
        parts = (volume.split(":") for volume in volumes)
        return [{"volume": name, "path": path, **({"read_only": True} if rest else {})} for name, path, *rest in parts]

    def refused(self, *volumes, client=None):
        return (client or self.client).post({"volumes": self.mounts(*volumes)}, "/v1/sandboxes")

    def shown(self, name, client=None):
        answer = (client or self.client).send("GET", f"/v1/volumes/{name}")
        self.assertEqual(200, answer.status, answer)
        return answer.json

    def remove(self, name, client=None):
        return (client or self.client).send("DELETE", f"/v1/volumes/{name}")

    @classmethod
    def kept(cls):
        """The directories of volumes on the host, by the names that these have: their ids."""
        place = cls.place / "disks" / "volumes"
        return sorted(path.name for path in place.iterdir()) if place.exists() else []

    @classmethod
    def left(cls):
        """What waits to be removed, and what is half made."""
        return [path for server in (cls.place / "disks").glob("server-*") for path in server.iterdir() if path.name != "removed"] + \
               [path for server in (cls.place / "disks").glob("server-*") for path in (server / "removed").glob("*")]

    def nothing_is_left(self, seconds=30):
        self.assertTrue(host_view.wait_until(lambda: not self.left(), seconds), self.left())
