"""What a sandbox may reach is put back, with its secrets, where its limits are refused after the network was opened."""
import shutil
import unittest

import live_server
from secret_sandbox import OTHER_VALUE, SecretsTest

LARGEST_DISK_MB = 1 << 20


@unittest.skipIf(shutil.disk_usage("/tmp").free >> 20 >= LARGEST_DISK_MB, "the host's disk has room for every sandbox")
class PutBack(SecretsTest):
    @classmethod
    def setUpClass(cls):
        cls.more_environment = {**live_server.place_for_volumes(cls), "SANDBOX_MAX_DISK_MB": str(LARGEST_DISK_MB)}
        super().setUpClass()

    def refused(self, sandbox, network):
        def shown():
            now = sandbox.now()
            return now["network"], now["limits"], now["metadata"]
        before = shown()
        # The host's disk is asked last.
        answer = sandbox.change(limits={"disk_mb": LARGEST_DISK_MB, "memory_mb": 200}, network=network, metadata={"a": "b"})
        self.assert_problem(503, "host_exhausted", answer, "disk_mb")
        self.assertEqual(before, shown())

    def test_secrets(self):
        sandbox = self.make_with(disk_kind="directory", limits={"disk_mb": 20})
        for network in (self.network(self.secret(value=OTHER_VALUE)), {"allow": [self.place]}, "none",
                        self.network(self.secret(site=self.other), allow=[f"localhost:{self.other.port}"])):
            with self.subTest(network):
                self.refused(sandbox, network)
                self.site.requests.clear()
                self.ask(sandbox, f"ask('/{self.place}/a')")
                self.assert_came(self.site.requests[-1])

    def test_no_network(self):
        sandbox = self.make(disk_kind="directory", limits={"disk_mb": 20})
        self.refused(sandbox, self.network())
        tries = "import socket\nfor port in (3128, 3129): print(socket.socket().connect_ex(('127.0.0.1', port)) == 0)"
        self.assertEqual("False\nFalse\n", sandbox.python(tries)["stdout"])
        answer = sandbox.change(limits={"disk_mb": 30}, network=self.network())
        self.assertEqual((200, 30), (answer.status, answer.json["limits"]["disk_mb"]), answer)
        answer = sandbox.change(limits={"disk_mb": 40}, network={"allow": [self.place]})
        self.assertEqual((200, {"allow": [self.place]}), (answer.status, answer.json["network"]), answer)
        self.assertEqual("True\nFalse\n", sandbox.python(tries)["stdout"])


if __name__ == "__main__":
    live_server.main()
