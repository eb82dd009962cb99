"""agent-sandbox sandbox, and other commands that are a client of a real server, as a test runs them."""
import json
import os
import pathlib
import re
import select
import subprocess
import tempfile
import time

import host_view
import live_server
import time_scale

# Everything that moves the cursor, except line feeds.
CONTROLS = "[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e]"
IDS = re.compile(r"\A[a-z2-7]{26}\n\Z")


class Command(live_server.ServerTest):
    environment = {"JOBS_PATH": ":memory:"}
    # What stands before the arguments that a test gives.
    subcommand = ["sandbox"]

    def setUp(self):
        super().setUp()
        directory = tempfile.TemporaryDirectory(prefix="agent-sandbox-cli.")
        self.addCleanup(directory.cleanup)
        self.directory = pathlib.Path(directory.name)

    def url(self):
        return f"http://127.0.0.1:{self.server.port}"

    def variables(self, **more):
        return {"PATH": os.environ["PATH"], "HOME": str(self.directory), "AGENT_SANDBOX_URL": self.url(), "TERM": "xterm", **more}

    def start(self, *arguments, environment=None, **streams):
        process = subprocess.Popen([live_server.BINARY, *self.subcommand, *map(str, arguments)], cwd=self.directory,
                                   env=environment or self.variables(), **streams)
        self.addCleanup(self.end, process)
        return process

    @staticmethod
    def end(process):
        if process.poll() is None:
            process.kill()
            process.wait()
        for stream in (process.stdin, process.stdout, process.stderr):
            if stream:
                stream.close()

    def bytes_of(self, *arguments, input=b"", **more):
        finished = subprocess.run([live_server.BINARY, *self.subcommand, *map(str, arguments)], cwd=self.directory,
                                  env=self.variables(**more), input=input, capture_output=True,
                                  timeout=time_scale.scaled(120), check=False)
        return finished.returncode, finished.stdout, finished.stderr

    def run_it(self, *arguments, **more):
        status, out, error = self.bytes_of(*arguments, **more)
        return status, out.decode(), error.decode()

    def good(self, *arguments, **more):
        status, out, error = self.run_it(*arguments, **more)
        self.assertEqual((0, ""), (status, error), out)
        return out

    def one_line(self, *arguments, status=1, **more):
        """The message of a command that fails."""
        found, out, error = self.run_it(*arguments, **more)
        self.assertEqual((status, ""), (found, out), error)
        self.assertRegex(error, r"\Aagent-sandbox: [^\n]+\n\Z")
        return error

    def make(self, *arguments):
        sandbox = self.good("create", *arguments)
        self.assertRegex(sandbox, IDS)
        self.addCleanup(self.run_it, "delete", sandbox.strip())
        return sandbox.strip()

    def exec(self, sandbox, *command, **more):
        return self.run_it("exec", sandbox, "--", *command, **more)

    def running(self, sandbox):
        return [process for process in json.loads(self.good("ps", sandbox, "--json"))["processes"] if process["state"] == "running"]

    def wait_until_idle(self, sandbox):
        self.assertTrue(host_view.wait_until(lambda: not self.running(sandbox), 20), self.running(sandbox))

    def read_until(self, descriptor, mark, seconds=30.0):
        seen, deadline = b"", time.monotonic() + time_scale.patience(seconds)
        while mark not in seen:
            ready, _, _ = select.select([descriptor], [], [], max(0.0, deadline - time.monotonic()))
            self.assertTrue(ready, seen)
            piece = os.read(descriptor, 65536)
            self.assertTrue(piece, seen)
            seen += piece
        return seen
