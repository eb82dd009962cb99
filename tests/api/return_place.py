"""Servers that follow one another in one place, as tests of what a restart brings back need them."""
import os
import pathlib
import shutil
import signal
import tempfile
import unittest

import host_view
import live_server
from living_sandbox import Sandbox

KEYS = "first-key,second-key"


class ReturnTest(unittest.TestCase):
    """Servers that follow one another on one file of jobs and one place for disks."""

    def setUp(self):
        self.place = pathlib.Path(tempfile.mkdtemp(prefix="agent-sandbox-return."))
        self.place.chmod(0o1777)
        self.addCleanup(shutil.rmtree, self.place, True)
        self.environment = {"JOBS_PATH": str(self.place / "jobs.sqlite"), "SANDBOX_DISK_PATH": str(self.place / "disks"), "SANDBOX_MAX_DISK_MB": "400",
                            "SANDBOX_DISK_RESERVE_MB": "100", "SANDBOX_POOL_SIZE": "0", "API_KEYS": KEYS}
        self.server = None

    def start(self, *arguments, **environment):
        self.server = live_server.LiveServer(*arguments, environment={**self.environment, **environment})
        self.addCleanup(self.server.stop)
        self.client = self.client_with("first-key")
        return self.server

    def client_with(self, key):
        client = self.server.client(**{"X-API-Key": key})
        self.addCleanup(client.close)
        return client

    def end(self, how):
        """Ends the server as an operator or as the kernel would."""
        if how == "kill":
            self.server.kill()
        elif how == "interrupt":
            # Ctrl-C: all processes of the terminal get it.
            os.killpg(self.server.pid, signal.SIGINT)
            self.assertTrue(host_view.wait_until(lambda: self.server.exit_status is not None, 15), self.server.log)
            self.server.stop()
        else:
            self.assertEqual(0, self.server.stop(), self.server.log)

    def make(self, disk_kind="directory", disk_mb=50, **fields):
        answer = self.client.post({"disk_kind": disk_kind, "limits": {"memory_mb": 128, "disk_mb": disk_mb}, **fields}, "/v1/sandboxes")
        self.assertEqual(201, answer.status, answer)
        return Sandbox(self.client, answer.json)

    def again(self, sandbox):
        """The same sandbox, asked of the server that is there now."""
        return Sandbox(self.client, sandbox.made)

    def events(self, sandbox):
        return self.client.send("GET", f"{sandbox.path}/events?limit=500").json["events"]

    def kinds(self, sandbox):
        return [event["kind"] for event in self.events(sandbox)]

    def used(self, sandbox):
        return self.client.send("GET", f"{sandbox.path}/metrics").json["now"]["workspace_bytes"]

    def disks(self):
        """The directories of sandboxes, without what waits to be removed."""
        return sorted(path.name for server in (self.place / "disks").iterdir() for path in server.glob("disk-*"))

    def wait_for_disks(self, count):
        self.assertTrue(host_view.wait_until(lambda: len(self.disks()) == count, 30), self.disks())
