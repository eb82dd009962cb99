"""agent-sandbox jobs and agent-sandbox logs: what a server has run, shown, followed and cancelled."""
import json
import signal
import subprocess
import threading
import uuid

import host_view
import live_server
import task_server
import time_scale
from sandbox_command import CONTROLS, Command


class JobsCommand(Command):
    subcommand = []

    def job(self, code, **more):
        return self.execute(code, **more)["job_id"]

    def jobs_of(self, *arguments):
        return [job for page in self.good("jobs", *arguments, "--json").splitlines() for job in json.loads(page)["jobs"]]

    def begin(self, code, **more):
        """A job that runs until the test ends; its id, once the server knows it."""
        before = {job["job_id"] for job in self.jobs_of("--status", "running")}
        live_server.send_and_forget(self.server, code, **{"timeout_seconds": 60, "template": "none", **more})
        begun = []

        def is_there():
            begun[:] = [job["job_id"] for job in self.jobs_of("--status", "running") if job["job_id"] not in before]
            return begun
        self.assertTrue(host_view.wait_until(is_there, 20))
        self.addCleanup(self.run_it, "jobs", "cancel", begun[0])
        return begun[0]

    def follow(self, *arguments):
        return self.start("logs", "-f", *arguments, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def rest(self, process, status):
        out, error = process.communicate(timeout=time_scale.scaled(30))
        self.assertEqual(status, process.returncode, (out, error))
        return out, error.decode()


class List(JobsCommand):
    def test_a_table_for_people(self):
        first, second = self.job("pass"), self.job("exit 3", language="bash")
        for words in (["jobs"], ["jobs", "list"]):
            lines = self.good(*words).splitlines()
            self.assertEqual(["ID", "KIND", "STATUS", "LANGUAGE", "CREATED", "(UTC)", "TIME", "ERROR"], lines[0].split())
            self.assertRegex(lines[1], rf"\A{second}  code  error    bash      20\d\d-\d\d-\d\d \d\d:\d\d:\d\d  (\d+ ms|[\d.]+ s) +its exit status was not 0\Z")
            self.assertTrue(lines[2].startswith(f"{first}  code  success  python "), lines)

    def test_options(self):
        made = [self.job("pass", language="bash") for _ in range(3)]
        failed = self.job("exit 1", language="bash")
        self.assertEqual([failed], [job["job_id"] for job in self.jobs_of("--status", "error", "--limit", "1")])
        self.assertEqual([failed, *made[::-1]], [job["job_id"] for job in self.jobs_of("--limit", "4")])
        self.assertEqual([failed], [job["job_id"] for job in self.jobs_of("list", "--limit", "1")])
        self.assertEqual(2, len(self.good("jobs", "--limit", "1").splitlines()))

    def test_more_than_a_page(self):
        for _ in range(3):
            self.job("pass", language="bash")
        made = len(self.jobs_of("--limit", "10000"))
        while made < 205:
            self.job("pass", language="bash")
            made += 1
        listed = self.jobs_of("--limit", "203")
        self.assertEqual(203, len({job["job_id"] for job in listed}))
        self.assertEqual(204, len(self.good("jobs", "--limit", "203").splitlines()))

    def test_mistakes(self):
        self.assertIn("--status", self.run_it("jobs", "--status", "done")[2])
        for words in (["jobs", "--status", "done"], ["jobs", "show"], ["jobs", "cancel"], ["logs"], ["jobs", "erase", "x"],
                      ["jobs", "--limit", "0"], ["jobs", "--limit", "1", "show", "x"], ["logs", "x", "y"]):
            with self.subTest(words):
                status, out, error = self.run_it(*words)
                self.assertEqual((2, ""), (status, out), error)
                self.assertRegex(error, r"\Aagent-sandbox: [^\n]+\n[^\n]+ --help says more\.\n\Z")

    def test_no_server(self):
        self.assertIn("agent-sandbox serve", self.one_line("jobs", status=125, AGENT_SANDBOX_URL="http://127.0.0.1:1"))


class Show(JobsCommand):
    def test_a_program(self):
        job = self.job("open('a.txt', 'w').write('abc'); print('a\\033[2J'); raise SystemExit(3)", artifacts=["*.txt"])
        text = self.good("jobs", "show", job)
        self.assertNotRegex(text, CONTROLS)
        for line in (f"id: {job}", "kind: code", "status: error", "language: python", "cause: the program ended with exit status 3",
                     "exit status: 3", "standard output: 6 bytes", "standard error: 0 bytes", "artifacts: a.txt (3 bytes)"):
            self.assertIn(line + "\n", text)
        self.assertRegex(text, r"(?m)^created: 20\d\d-\d\d-\d\d \d\d:\d\d:\d\d UTC$")
        self.assertEqual(self.client.send("GET", f"/jobs/{job}").json, json.loads(self.good("jobs", "show", job, "--json")))

    def test_a_limit_that_was_met_comes_with_its_remedy(self):
        job = self.job("while True: pass", timeout_seconds=0.2)
        text = self.good("jobs", "show", job)
        self.assertIn("status: timeout\n", text)
        self.assertRegex(text, r"(?m)^remedy: raise --timeout, up to ")

    def test_one_that_runs(self):
        job = self.begin("import time; time.sleep(60)")
        text = self.good("jobs", "show", job)
        self.assertIn("status: running\n", text)
        self.assertNotIn("finished", text)

    def test_what_is_not_there(self):
        for words in (["jobs", "show", uuid.uuid4()], ["jobs", "show", "x/../../health"], ["jobs", "cancel", uuid.uuid4()]):
            with self.subTest(words):
                self.one_line(*words)


class ShortIds(JobsCommand):
    def test_six_characters_are_enough(self):
        job = self.job("print('short')")
        self.assertIn(f"id: {job}\n", self.good("jobs", "show", job[:6]))
        self.assertEqual("short\n", self.good("logs", job[:8]))
        self.assertEqual("short\n", self.good("logs", "-f", job[:20]))
        self.assertIn("job", self.one_line("jobs", "show", job[:5]))

    def test_one_that_runs_is_cancelled(self):
        job = self.begin("import time; time.sleep(60)")
        self.assertEqual("", self.good("jobs", "cancel", job[:8]))
        self.assertTrue(host_view.wait_until(lambda: self.client.send("GET", f"/jobs/{job}").json["status"] == "cancelled", 20))

    def test_a_sandbox_of_that_name_is_meant(self):
        job = self.job("print('of the job')")
        sandbox = self.good("sandbox", "create", "--name", job[:8]).strip()
        self.addCleanup(self.run_it, "sandbox", "delete", sandbox)
        self.assertEqual("", self.good("logs", job[:8]))


class Cancel(JobsCommand):
    def test_those_that_run_end(self):
        jobs = [self.begin("import time; time.sleep(60)") for _ in range(2)]
        self.assertEqual("", self.good("jobs", "cancel", *jobs))
        for job in jobs:
            self.assertTrue(host_view.wait_until(lambda: self.client.send("GET", f"/jobs/{job}").json["status"] == "cancelled", 20))

    def test_one_that_has_ended_keeps_no_other_from_it(self):
        ended, running = self.job("pass"), self.begin("import time; time.sleep(60)")
        self.assertRegex(self.one_line("jobs", "cancel", ended, running), "ended")
        self.assertTrue(host_view.wait_until(lambda: self.client.send("GET", f"/jobs/{running}").json["status"] == "cancelled", 20))


class Logs(JobsCommand):
    def test_both_streams_byte_by_byte(self):
        code = "import sys; sys.stdout.buffer.write(b'\\xff\\x00out\\n'); sys.stderr.write('err\\n')"
        job = self.job(code, output_encoding="base64")
        for words in (["logs", job], ["logs", "-f", job]):
            self.assertEqual((0, b"\xff\x00out\n", b"err\n"), self.bytes_of(*words))

    def test_the_latest_lines(self):
        job = self.job("print('1\\n2\\n3'); import sys; print('a\\nb', end='', file=sys.stderr)")
        for lines, expected in ((1, ("3\n", "b")), (2, ("2\n3\n", "a\nb")), (9, ("1\n2\n3\n", "a\nb"))):
            self.assertEqual((0, *expected), self.run_it("logs", "--tail", lines, job))

    def test_one_that_runs_is_followed_to_its_end(self):
        for encoding in ("utf-8", "base64"):
            with self.subTest(encoding):
                job = self.begin("import time\nn = 0\nwhile True: print('tick', n, flush=True); n += 1; time.sleep(0.05)",
                                 output_encoding=encoding)
                status, out, error = self.run_it("logs", job)
                self.assertEqual((0, ""), (status, out))
                self.assertRegex(error, r"\Aagent-sandbox: the job has not ended, [^\n]+\n\Z")
                process = self.follow(job)
                self.assertRegex(self.read_until(process.stdout.fileno(), b"\n"), rb"\Atick \d+\n")
                self.good("jobs", "cancel", job)
                out, error = self.rest(process, 0)
                self.assertRegex(error, r"\A(agent-sandbox: \d+ bytes of standard output came before or too fast; [^\n]+\n)?\Z")

    def test_ctrl_c_leaves_the_job_alone(self):
        job = self.begin("import time\nwhile True: print('tick', flush=True); time.sleep(0.05)")
        process = self.follow(job)
        self.read_until(process.stdout.fileno(), b"tick")
        process.send_signal(signal.SIGINT)
        self.assertEqual("", self.rest(process, 130)[1])
        self.assertEqual("running", self.client.send("GET", f"/jobs/{job}").json["status"])

    def test_nobody_reads(self):
        job = self.begin("import time\nwhile True: print('tick', flush=True); time.sleep(0.05)")
        process = self.follow(job)
        self.read_until(process.stdout.fileno(), b"tick")
        process.stdout.close()
        self.assertEqual(141, process.wait(time_scale.scaled(30)))

    def test_of_a_sandbox(self):
        name = str(uuid.uuid4())
        sandbox = self.good("sandbox", "create", "--name", name).strip()
        self.addCleanup(self.run_it, "sandbox", "delete", sandbox)
        self.assertEqual((0, "1\n2\n", ""), self.run_it("sandbox", "exec", sandbox, "--", "sh", "-c", "echo 1; echo 2"))
        for id in (sandbox, name):
            self.assertEqual("1\n2\n", self.good("logs", id))
        self.assertEqual("2\n", self.good("logs", "--tail", "1", sandbox))

    def test_what_is_not_there(self):
        self.assertIn("job", self.one_line("logs", uuid.uuid4()))
        for word in ("no-such-sandbox", "0123456"):
            self.assertEqual(f"agent-sandbox: no such job or sandbox: {word}\n", self.one_line("logs", word))

    def test_the_beginning_of_an_id_that_is_too_short(self):
        hint = ". Hint: an id may be cut to its first 6 characters, not to fewer\n"
        self.assertEqual(f"agent-sandbox: no such job or sandbox: 6d26{hint}", self.one_line("logs", "6d26"))
        for words in (("jobs", "show"), ("jobs", "cancel")):
            self.assertEqual(f"agent-sandbox: no such job: 6d26{hint}", self.one_line(*words, "6d26"))
            self.assertEqual("agent-sandbox: no such job: 6d26ab\n", self.one_line(*words, "6d26ab"))
            self.assertEqual("agent-sandbox: no such job: box\n", self.one_line(*words, "box"))

    def test_the_server_ends(self):
        server = live_server.LiveServer(environment={"JOBS_PATH": ":memory:"})
        self.addCleanup(server.stop)
        own, self.server = self.server, server
        try:
            job = self.begin("import time\nwhile True: print('tick', flush=True); time.sleep(0.05)")
            process = self.follow(job)
            self.read_until(process.stdout.fileno(), b"tick")
            server.kill()
            self.assertRegex(self.rest(process, 125)[1], r"\Aagent-sandbox: [^\n]+\n\Z")
        finally:
            self.server = own


class OfTasks(JobsCommand, task_server.TaskTest):
    records = (
        task_server.record("Solved at the second attempt", "import sys; print('so far'); sys.exit(1)", "print(40 + 2)"),
        task_server.record("Wait", f"import time; print('before', flush=True); time.sleep({time_scale.timeout(1.5)}); print('waited')"),
        task_server.record("Fails", "raise SystemExit(1)", "raise SystemExit(1)", "raise SystemExit(1)"),
    )

    def test_a_task_that_has_ended(self):
        job = self.solve("Solved at the second attempt")["job_id"]
        self.assertEqual("42\n", self.good("logs", job))
        text = self.good("jobs", "show", job)
        for line in ("kind: task", "status: completed", "attempts: 2", "output: 3 bytes"):
            self.assertIn(line + "\n", text)

    def test_a_task_that_failed(self):
        job = self.solve("Fails")["job_id"]
        status, out, error = self.run_it("logs", job)
        self.assertEqual((0, ""), (status, out))
        self.assertRegex(error, r"\Aagent-sandbox: [^\n]+\n\Z")

    def test_a_task_is_followed_in_words(self):
        answers = []
        thread = threading.Thread(target=lambda: answers.append(self.solve("Wait", self.server.client(), timeout_seconds=time_scale.timeout(5))))
        thread.start()
        self.addCleanup(thread.join)
        out, error = self.rest(self.follow(self.the_running_job()), 0)
        self.assertEqual(b"before\nwaited\n", out)
        self.assertIn("success", error)
        self.assertNotRegex(error, CONTROLS)
