"""agent-sandbox sandbox watch, and events --follow: the events that they print, and how they end."""
import json
import signal
import subprocess

import live_server
import time_scale
from sandbox_command import CONTROLS, Command


class Follow(Command):
    def setUp(self):
        super().setUp()
        self.sandbox = self.make()

    def follow(self, *arguments, environment=None):
        return self.start(*arguments, environment=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def watch(self, *arguments, directory="/workspace"):
        """Returns a command that is known to watch."""
        process = self.follow("watch", self.sandbox, *arguments)
        self.read_until(process.stderr.fileno(), f"agent-sandbox: watching {directory}\n".encode())
        return process

    def rest(self, process, status):
        """Returns its output and errors until it ends."""
        out, error = process.communicate(timeout=time_scale.scaled(30))
        self.assertEqual(status, process.returncode, (out, error))
        return out.decode(), error.decode()

    def inside(self, script):
        self.assertEqual((0, "", ""), self.exec(self.sandbox, "sh", "-c", script))

    def check_interrupt(self, process):
        process.send_signal(signal.SIGINT)
        return self.rest(process, 130)


class Watch(Follow):
    def test_what_happens_is_printed(self):
        process = self.watch()
        self.inside("mkdir d; touch d/unseen; mv d e; rm -r e; touch last")
        seen = self.read_until(process.stdout.fileno(), b"created     /workspace/last\n").decode()
        self.assertEqual(["created     /workspace/d/", "moved       /workspace/d -> /workspace/e/",
                          "removed     /workspace/e/", "created     /workspace/last"], seen.splitlines()[:4])
        self.assertEqual("", self.check_interrupt(process)[1])

    def test_recursive(self):
        self.inside("mkdir -p deep/er")
        process = self.watch("/workspace/deep", "--recursive", directory="/workspace/deep")
        self.inside("touch beside deep/er/file")
        seen = self.read_until(process.stdout.fileno(), b"created     /workspace/deep/er/file\n")
        self.assertNotIn(b"beside", seen)
        self.check_interrupt(process)

    def test_json(self):
        process = self.follow("watch", self.sandbox, "--json")
        self.read_until(process.stdout.fileno(), b"\n")
        self.inside("touch 'a b'")
        seen = self.read_until(process.stdout.fileno(), b"\n").splitlines()
        event = json.loads(seen[0])
        self.assertEqual(("created", {"path": "/workspace/a b", "directory": False}), (event["type"], event["data"]))
        self.assertEqual(204, self.client.send("DELETE", f"/v1/sandboxes/{self.sandbox}").status)
        out, error = self.rest(process, 0)
        self.assertEqual(("end", {"reason": "sandbox_ended"}), tuple(json.loads(out.splitlines()[-1])[name] for name in ("type", "data")))
        self.assertEqual("agent-sandbox: the sandbox has ended\n", error)

    def test_the_sandbox_ends(self):
        process = self.watch()
        self.good("delete", self.sandbox)
        self.assertEqual(("", "agent-sandbox: the sandbox has ended\n"), self.rest(process, 0))

    def test_the_directory_goes(self):
        self.inside("mkdir d")
        process = self.watch("/workspace/d", directory="/workspace/d")
        self.inside("rmdir d")
        self.assertIn("agent-sandbox: the directory is not there any more\n", self.rest(process, 0)[1])

    def test_the_server_ends(self):
        server = live_server.LiveServer(environment={"JOBS_PATH": ":memory:"})
        self.addCleanup(server.stop)
        where = {"AGENT_SANDBOX_URL": f"http://127.0.0.1:{server.port}"}
        sandbox = self.good("create", **where).strip()
        process = self.follow("watch", sandbox, environment=self.variables(**where))
        self.read_until(process.stderr.fileno(), b"watching")
        server.kill()
        self.assertRegex(self.rest(process, 125)[1], r"\n?agent-sandbox: [^\n]+\n\Z")

    def test_no_name_moves_the_cursor(self):
        process = self.watch()
        self.inside("touch \"$(printf 'a\\033[2J\\r\\nb')\"; touch last")
        seen = self.read_until(process.stdout.fileno(), b"created     /workspace/last\n").decode()
        self.assertNotRegex(seen, CONTROLS)
        for line in seen.splitlines():
            self.assertRegex(line, r"^(created|attributes|written) +/workspace/")

    def test_nobody_reads(self):
        process = self.watch()
        process.stdout.close()
        self.inside("touch a")
        self.assertEqual(141, process.wait(time_scale.scaled(30)))

    def test_what_is_not_there(self):
        self.one_line("watch", "no-such-sandbox")
        self.assertIn("no such", self.one_line("watch", self.sandbox, "/workspace/none").lower())
        self.one_line("watch", self.sandbox, "/etc/passwd")
        self.assertIn("no such", self.one_line("watch", self.sandbox, "none").lower())


class Events(Follow):
    def test_what_happens_is_printed(self):
        process = self.follow("events", self.sandbox, "--follow")
        self.read_until(process.stdout.fileno(), b"\n")
        self.exec(self.sandbox, "sh", "-c", "exit 3", "\x1b[2J")
        seen = self.read_until(process.stdout.fileno(), b"process_ended").decode()
        self.assertRegex(seen, r"(?m)^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d  process_started  pid \d+ /usr/bin/sh -c exit 3")
        self.assertNotRegex(seen, CONTROLS)
        self.good("delete", self.sandbox)
        out, error = self.rest(process, 0)
        self.assertRegex(out, r"(?m)^\S+ \S+  ended            deleted: ")
        self.assertEqual("agent-sandbox: the sandbox has ended\n", error)

    def test_json_and_interrupt(self):
        process = self.follow("events", self.sandbox, "-f", "--json")
        event = json.loads(self.read_until(process.stdout.fileno(), b"\n").splitlines()[0])
        self.assertEqual(("event", "created", self.sandbox), (event["type"], event["data"]["kind"], event["data"]["sandbox_id"]))
        self.assertEqual("", self.check_interrupt(process)[1])

    def test_of_one_that_has_ended(self):
        self.good("delete", self.sandbox)
        status, out, error = self.run_it("events", self.sandbox, "--follow")
        self.assertEqual((0, "agent-sandbox: the sandbox has ended\n"), (status, error))
        self.assertRegex(out, r"  created\n(.*\n)*.*  ended  ")
        self.one_line("events", "no-such-sandbox", "--follow")
