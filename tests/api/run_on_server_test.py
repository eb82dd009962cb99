"""agent-sandbox run --server: a task that a server solves, with the streams and exit statuses that it has here."""
import json
import signal
import subprocess

import host_view
import task_server
import time_scale
from sandbox_command import CONTROLS, Command


class OnServer(Command, task_server.TaskTest):
    subcommand = ["run"]
    records = (
        task_server.record("Solved at the second attempt", "import sys; print('so far'); sys.exit(1)", "print(40 + 2)"),
        task_server.record("Fails", *["raise SystemExit(1)"] * 3),
        task_server.record("Reads and writes", "open('out.txt', 'wb').write(open('in.txt', 'rb').read()); print('done')"),
        task_server.record("Tested", "answer = 42"),
        task_server.record("Waits", "import time; print('begun', flush=True); time.sleep(50)"),
    )

    def there(self, *arguments, **more):
        return self.run_it("--server", self.url(), *arguments, **more)

    def test_progress_and_output(self):
        status, out, error = self.there("Solved at the second attempt")
        self.assertEqual((0, "42\n"), (status, out), error)
        for word in ("attempt 1\n", "attempt 2\n", "error, exit status 1", "solved (2 attempts"):
            self.assertIn(word, error)
        self.assertNotRegex(error, CONTROLS)
        self.assertIn("attempt 1 of 2", self.there("-a", "2", "Solved at the second attempt")[2])

    def test_one_that_is_not_solved(self):
        status, out, error = self.there("Fails")
        self.assertEqual((1, ""), (status, out))
        self.assertIn("not solved (3 attempts", error)

    def test_json_is_what_the_server_answers(self):
        status, out, error = self.there("--json", "Solved at the second attempt")
        self.assertEqual((0, ""), (status, error))
        result = json.loads(out)
        self.assertEqual(result, self.client.send("GET", f"/jobs/{result['job_id']}").json["result"])

    def test_files_artifacts_and_a_trace(self):
        (self.directory / "in.txt").write_bytes(b"\xff\x00in")
        status, out, error = self.there("Reads and writes", "--file", "in.txt", "--artifact", "out.txt:kept", "--trace", "trace.html")
        self.assertEqual((0, "done\n"), (status, out), error)
        self.assertIn('wrote "kept/out.txt"', error)
        self.assertEqual(b"\xff\x00in", (self.directory / "kept/out.txt").read_bytes())
        self.assertIn("Reads and writes", (self.directory / "trace.html").read_text(encoding="utf-8"))

    def test_tests_decide(self):
        (self.directory / "tests.py").write_text("assert answer == 43", encoding="utf-8")
        self.assertEqual(1, self.there("-a", "1", "--tests", "tests.py", "Tested")[0])
        (self.directory / "tests.py").write_text("assert answer == 42", encoding="utf-8")
        self.assertEqual(0, self.there("-a", "1", "--tests", "tests.py", "Tested")[0])

    def test_ctrl_c_ends_the_task(self):
        process = self.start("--server", self.url(), "-v", "--timeout", "60", "Waits", stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.read_until(process.stderr.fileno(), b"begun")
        job = self.the_running_job()
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=time_scale.scaled(20))
        self.assertEqual(130, process.returncode)
        self.assertTrue(host_view.wait_until(lambda: self.status_of(job) == "cancelled", 20))

    def test_what_is_refused(self):
        status, _, error = self.there("--provider", "nobody", "Fails")
        self.assertEqual(125, status)
        self.assertIn("provider", error)
        for words, expected in ((["--rootfs", "host"], "--rootfs"), (["--cgroup", "none"], "--cgroup"), (["--user", "root"], "--user")):
            status, out, error = self.there(*words, "Fails")
            self.assertEqual((2, ""), (status, out))
            self.assertTrue(error.startswith(f"agent-sandbox: {expected} cannot be used with --server"), error)
        self.assertEqual(125, self.run_it("--server", "http://127.0.0.1:1", "Fails")[0])
