"""A suite that no CMakeLists.txt names would pass for ever, since nothing runs it."""
import json
import os
import pathlib
import subprocess
import unittest

import tree


def suites(root):
    return {path for path in tree.files(root) if path.name.endswith("_test.py") and path.is_relative_to(root / "tests")}


def words_that_run(build):
    """Every word of every command that ctest runs in this build."""
    shown = subprocess.run(["ctest", "--test-dir", build, "--show-only=json-v1"], capture_output=True, text=True, check=True).stdout
    return {word for test in json.loads(shown)["tests"] for word in test.get("command", [])}


class Suites(unittest.TestCase):
    def test_each_one_is_run(self):
        run = words_that_run(os.environ["AGENT_SANDBOX_BUILD"])
        found = suites(tree.PROJECT)
        self.assertIn(pathlib.Path(__file__).resolve(), found, "control")
        self.assertEqual([], [str(path.relative_to(tree.PROJECT)) for path in sorted(found) if str(path) not in run])


if __name__ == "__main__":
    unittest.main()
