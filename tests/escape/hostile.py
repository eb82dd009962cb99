"""Third-party hostile programs, where they are available: a folder with run_hostile.py and the set `public`, named by
AGENT_SANDBOX_HOSTILE or lying beside the project."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "api"))
import live_server  # noqa: E402
import time_scale  # noqa: E402

BESIDE = pathlib.Path(__file__).resolve().parents[3] / "shared" / "hostile"
CORPUS = pathlib.Path(os.environ.get("AGENT_SANDBOX_HOSTILE", BESIDE))
# The largest factor for their deadlines, and the longest deadline that one of them has, in seconds.
MOST_SCALE = 6
LONGEST = 20
# CPython ends with SIGABRT where a daemon thread holds the lock of standard output while the interpreter ends ("Fatal Python
# error: _enter_buffered_busy"). What this program tries is judged by the requests that follow it.
MAY_ABORT = "proto_late_thread.py"


def scale(clients):
    """The factor for each deadline: clients that keep the processors busy share them with the program that is watched.

    So does other work that the host has at the moment. Programs that hang use theirs up, so a slow host makes them twice as
    long only, and an emulated processor by all it is slower.
    """
    slow = 1 if time_scale.SCALE < time_scale.MOST_MEASURED / 2 else 2
    slower = time_scale.SCALE if time_scale.SCALE > time_scale.MOST_MEASURED else slow
    shared = max(1, clients / (2 * os.cpu_count())) * max(1, os.getloadavg()[0] / os.cpu_count())
    return min(slower * shared, MOST_SCALE)


class HostileTest(live_server.ServerTest):
    @classmethod
    def setUpClass(cls):
        with tempfile.NamedTemporaryFile("w", suffix=".json", encoding="utf-8") as config:
            json.dump({"ceilings": {"timeout_seconds": LONGEST * MOST_SCALE}}, config)
            config.flush()
            cls.arguments = (*cls.arguments, "--config", config.name)
            super().setUpClass()

    def setUp(self):
        if not os.access(CORPUS / "run_hostile.py", os.R_OK):
            self.skipTest(f"no hostile programs at {CORPUS}; name their folder by AGENT_SANDBOX_HOSTILE")
        super().setUp()

    def run_all(self, least, clients=1, kind=None, **extra):
        """All of them, or those of a kind, of which there are `least` or more; `extra` goes into each request."""
        rows = pathlib.Path(self.server.temporary, "rows.json")
        command = [sys.executable, str(CORPUS / "run_hostile.py"), f"http://127.0.0.1:{self.server.port}", "public", "--json", str(rows),
                   "--jobs", str(clients), "--scale", str(scale(clients)), "--extra", json.dumps(extra), *(["--kind", kind] if kind else [])]
        finished = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        self.assertIn(finished.returncode, (0, 1), finished.stdout[-20000:])
        results = json.loads(rows.read_text(encoding="utf-8"))
        passed, failed = ([row for row in results if row["result"] == word] for word in ("PASS", "FAIL"))
        unexplained = [row for row in failed if (row["file"], row["status"]) != (MAY_ABORT, "killed")]
        self.assertEqual([], unexplained, finished.stdout[-20000:])
        self.assertGreaterEqual(len(passed), least, finished.stdout[-20000:])
        # A wrong answer to one of the clients counts as one failure more.
        self.assertEqual(f"{len(passed)} passed, {len(failed)} failed", finished.stdout.strip().splitlines()[-1],
                         finished.stdout[-20000:])
        self.assertIsNone(self.server.exit_status)
