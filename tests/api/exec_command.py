"""What suites of agent-sandbox exec share that need no server: a directory of their own, and commands that end with the test."""
import pathlib
import tempfile
import unittest

import host_view


class ExecTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        if obstacle := host_view.no_user_namespaces():
            raise unittest.SkipTest(f"no user namespaces for this user: {obstacle}")

    def setUp(self):
        directory = tempfile.TemporaryDirectory(prefix="agent-sandbox-exec.")
        self.addCleanup(directory.cleanup)
        self.directory = pathlib.Path(directory.name)
