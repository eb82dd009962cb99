"""The libraries of the built root are newer than those of most hosts: the shipped suites of tasks can be solved with them, too."""
import json
import pathlib
import subprocess
import tempfile
import unittest

import built_root

SUITES = built_root.PROJECT / "runtime" / "benchmark" / "suites"


def text_of(lines):
    return "\n".join(lines) + "\n"


class Solutions(built_root.RootTest):
    def solve(self, task):
        """Runs the reference solution with its tests. What went wrong; empty where it passes."""
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            arguments = []
            for path, lines in {**task.get("files", {}), "main.py": [*task["solution"], "", "", *task["tests"]]}.items():
                (folder / path).write_text(text_of(lines), encoding="utf-8")
                if path != "main.py":
                    arguments += ["--file", f"{folder / path}:{path}"]
            done = subprocess.run([built_root.BINARY, "exec", "--rootfs", self.root, "--timeout", "60", "--memory", "512", *arguments,
                                   folder / "main.py"], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
        return "" if done.returncode == 0 else f"{task['id']}: {done.returncode}: {done.stderr}"

    def check(self, suite):
        tasks = json.loads((SUITES / f"{suite}.json").read_text(encoding="utf-8"))["tasks"]
        self.assertTrue(tasks)
        self.assertEqual([], [said for said in map(self.solve, tasks) if said])


for path in sorted(SUITES.glob("*.json")):
    setattr(Solutions, f"test_{path.stem}", lambda self, suite=path.stem: self.check(suite))


if __name__ == "__main__":
    unittest.main()
