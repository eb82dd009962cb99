"""/jobs: what is kept of past runs, for whom, how to end one that runs, and what is left after a crash."""
import concurrent.futures
import contextlib
import hashlib
import http.client
import os
import random
import sqlite3
import threading
import time
import uuid

import host_view
import live_server
import time_scale


class Jobs(live_server.ServerTest):
    environment = {"JOBS_PATH": ":memory:"}

    def test_a_job_is_the_answer_that_was_given(self):
        code = "print('ü'); import sys; sys.exit(3)"
        answer = self.execute(code)
        job = self.client.send("GET", f"/jobs/{answer['job_id']}").json
        self.assertEqual(answer, job["result"])
        self.assertEqual(("error", "python", hashlib.sha256(code.encode()).hexdigest(), answer["created_at"], None),
                         tuple(job[name] for name in ("status", "language", "code_sha256", "created_at", "error")))
        self.assertEqual(answer["execution_time_ms"], job["execution_time_ms"])
        self.assertGreaterEqual(job["finished_at"], job["created_at"])

    def test_pages_newest_first(self):
        made = [self.execute("pass")["job_id"] for _ in range(5)]
        seen, cursor = [], ""
        while len(seen) < 5:
            page = self.client.send("GET", f"/api/v1/jobs?limit=2{cursor}").json
            self.assertLessEqual(len(page["jobs"]), 2)
            self.assertTrue(all("result" not in job for job in page["jobs"]))
            seen += [job["job_id"] for job in page["jobs"]]
            cursor = f"&cursor={page['next_cursor']}"
        self.assertEqual(made[::-1], seen[:5])

    def test_by_status(self):
        failed = self.execute("import sys; sys.exit(9)")["job_id"]
        self.execute("pass")
        jobs = self.client.send("GET", "/jobs?status=error").json["jobs"]
        self.assertEqual(failed, jobs[0]["job_id"])
        self.assertEqual({"error"}, {job["status"] for job in jobs})

    def test_bad_parameters_are_named(self):
        for query, name in (("limit=0", "limit"), ("limit=201", "limit"), ("limit=1x", "limit"), ("cursor=x", "cursor"),
                            ("status=done", "status"), ("limit=1&limit=2", "limit"), ("page=2", "page")):
            with self.subTest(query):
                answer = self.client.send("GET", f"/jobs?{query}")
                self.assertEqual(400, answer.status)
                self.assertIn(name, answer.json["detail"])

    def test_unknown_parameters_are_named_on_every_path(self):
        for method, path in (("GET", f"/jobs/{uuid.uuid4()}"), ("DELETE", "/jobs/x"), ("GET", "/stats"), ("GET", "/metrics"),
                             ("GET", "/health"), ("GET", "/openapi.json"), ("DELETE", "/api/v1/lessons")):
            with self.subTest(path):
                answer = self.client.send(method, f"{path}?nonsense=1")
                self.assertEqual((400, '"nonsense": unknown parameter; none is known here'),
                                 (answer.status, answer.json["detail"]))

    def test_unknown_jobs(self):
        for method in ("GET", "DELETE"):
            for path in (f"/jobs/{uuid.uuid4()}", "/jobs/x", "/jobs/..", f"/api/v1/jobs/{uuid.uuid4()}"):
                self.assertEqual(404, self.client.send(method, path).status, path)

    def test_ids_cannot_be_guessed(self):
        ids = [uuid.UUID(self.execute("pass", template="none", language="bash")["job_id"]) for _ in range(64)]
        requests = [uuid.UUID(self.client.send("GET", "/health").headers["X-Request-Id"]) for _ in range(64)]
        for made in (ids, requests):
            self.assertEqual(64, len(set(made)))
            self.assertEqual({(4, uuid.RFC_4122)}, {(one.version, one.variant) for one in made})
            # 122 of the 128 bits are random: each is seen both ways.
            seen_set = seen_clear = 0
            for one in made:
                seen_set |= one.int
                seen_clear |= ~one.int & (1 << 128) - 1
            self.assertEqual(122, (seen_set & seen_clear).bit_count())
            # Neither the time nor a counter: sorted is not the order they were made in.
            self.assertNotEqual(sorted(made), made)

    def test_cancelling_ends_the_program_and_answers_its_caller(self):
        with concurrent.futures.ThreadPoolExecutor(1) as pool, self.server.client() as other:
            caller = pool.submit(other.execute, live_server.begins_and_stays("to-be-cancelled"), timeout_seconds=55)
            job = live_server.the_running_job(self.client)
            self.assertEqual("running", self.client.send("GET", f"/jobs/{job}").json["status"])
            self.assertTrue(self.server.wait_for_program("to-be-cancelled"))
            started = time.monotonic()
            answer = self.client.send("DELETE", f"/jobs/{job}")
            self.assertEqual((202, job), (answer.status, answer.json["job_id"]))
            result = caller.result(10)
            self.assertLess(time.monotonic() - started, 3)
        self.assertEqual((job, "cancelled", "begun\n"), (result["job_id"], result["status"], result["stdout"]))
        self.assertEqual("cancelled", self.client.send("GET", f"/jobs/{job}").json["status"])
        self.assertEqual(409, self.client.send("DELETE", f"/jobs/{job}").status)

    def signalled(self, job, number):
        return self.client.post({"signal": number}, f"/jobs/{job}/signal")

    def test_a_signal_reaches_the_program_and_answers_its_caller(self):
        code = ("import subprocess\ntry:\n  subprocess.run(['sleep', f'{47}.13'])\nexcept KeyboardInterrupt:\n  print('interrupted')")
        with concurrent.futures.ThreadPoolExecutor(1) as pool, self.server.client() as other:
            caller = pool.submit(other.execute, code, timeout_seconds=55)
            job = live_server.the_running_job(self.client)
            self.assertTrue(self.server.wait_for_program("47.13"))
            self.assertEqual(204, self.signalled(job, "SIGINT").status)
            result = caller.result(20)
        self.assertEqual((job, "success", "interrupted\n"), (result["job_id"], result["status"], result["stdout"]))
        answer = self.signalled(job, 2)
        self.assertEqual((409, "job_ended"), (answer.status, answer.json["code"]))

    def test_signals_that_are_none_and_jobs_that_are_none(self):
        for number in ("INT", 0, 65, "", 1.5, None):
            with self.subTest(number):
                answer = self.signalled(uuid.uuid4(), number)
                self.assertEqual(400, answer.status, answer)
                self.assertIn("signal: expected a name such as SIGTERM", answer.json["detail"])
        for job in (uuid.uuid4(), "none"):
            answer = self.signalled(job, "SIGINT")
            self.assertEqual((404, "no_such_job"), (answer.status, answer.json["code"]))

    def test_a_job_whose_client_left_is_kept_as_cancelled(self):
        client = self.server.client()
        client._connection.request("POST", "/execute", b'{"code": "import time; time.sleep(50)", "timeout_seconds": 55}',
                                   {"Content-Type": "application/json"})
        job = live_server.the_running_job(self.client)
        client.close()
        self.assertTrue(host_view.wait_until(
            lambda: self.client.send("GET", f"/jobs/{job}").json["status"] == "cancelled", 5))

    def test_refused_requests_are_no_jobs(self):
        before = self.client.send("GET", "/jobs").json["jobs"]
        self.client.post({"code": "x", "timeout_seconds": 0})
        self.client.post({"task": "x"})
        self.assertEqual(before, self.client.send("GET", "/jobs").json["jobs"])

    def test_head_and_methods(self):
        self.assertEqual((200, b""), (self.client.send("HEAD", "/jobs").status, self.client.send("HEAD", "/jobs").body))
        answer = self.client.send("DELETE", "/jobs")
        self.assertEqual((405, "GET, HEAD"), (answer.status, answer.headers["Allow"]))
        self.assertEqual(405, self.client.send("POST", f"/jobs/{uuid.uuid4()}").status)


class Owners(live_server.ServerTest):
    environment = {"JOBS_PATH": ":memory:", "API_KEYS": "first-key,second-key"}

    def test_a_job_is_its_keys_alone(self):
        first = self.server.client(**{"X-API-Key": "first-key"})
        second = self.server.client(Authorization="Bearer second-key")
        with first, second:
            job = first.execute("print(1)")["job_id"]
            self.assertEqual(200, first.send("GET", f"/jobs/{job}").status)
            for method in ("GET", "DELETE"):
                self.assertEqual(404, second.send(method, f"/jobs/{job}").status)
            self.assertEqual([job], [one["job_id"] for one in first.send("GET", "/jobs").json["jobs"]])
            self.assertEqual([], second.send("GET", "/jobs").json["jobs"])
            self.assertEqual(401, self.client.send("GET", f"/jobs/{job}").status)

    def test_nobody_else_cancels(self):
        with concurrent.futures.ThreadPoolExecutor(1) as pool, \
                self.server.client(**{"X-API-Key": "first-key"}) as first, \
                self.server.client(**{"X-API-Key": "first-key"}) as watching, \
                self.server.client(**{"X-API-Key": "second-key"}) as second:
            caller = pool.submit(first.execute, "import time; time.sleep(4); print('whole')", timeout_seconds=time_scale.timeout(20))
            job = live_server.the_running_job(watching)
            self.assertEqual(404, second.send("DELETE", f"/jobs/{job}").status)
            self.assertEqual(404, second.post({"signal": 9}, f"/jobs/{job}/signal").status)
            self.assertEqual("whole\n", caller.result(time_scale.scaled(20))["stdout"])


class Files(live_server.KeptJobsTest):
    def test_jobs_outlive_their_server(self):
        server = self.start()
        with server.client() as client:
            result = client.execute("print(6*7)")
        self.assertEqual(0, server.stop())
        with self.start().client() as client:
            self.assertEqual(result, client.send("GET", f"/jobs/{result['job_id']}").json["result"])

    def test_neither_programs_nor_keys_are_in_the_file(self):
        server = self.start(API_KEYS="a-key-nobody-may-read")
        with server.client(**{"X-API-Key": "a-key-nobody-may-read"}) as client:
            client.execute("x = 'a-program-nobody-may-read'; print('printed')")
        server.stop()
        self.assertEqual(0o600, os.stat(self.path).st_mode & 0o777)
        with open(self.path, "rb") as file:
            content = file.read()
        self.assertIn(b"printed", content)
        self.assertNotIn(b"nobody-may-read", content)

    def test_only_so_many_are_kept(self):
        with self.start(JOBS_KEPT="3").client() as client:
            made = [client.execute("pass")["job_id"] for _ in range(6)]
            kept = [job["job_id"] for job in client.send("GET", "/jobs").json["jobs"]]
            self.assertEqual(made[:2:-1], kept)
            self.assertEqual(404, client.send("GET", f"/jobs/{made[0]}").status)

    def test_only_so_much_is_kept(self):
        with self.start(JOBS_MAX_MB="2").client() as client:
            for _ in range(6):
                client.execute("print('x' * 700_000)")
            self.assertEqual(2, len(client.send("GET", "/jobs").json["jobs"]))

    def test_a_second_server_is_refused(self):
        self.start()
        with self.assertRaises(live_server.DidNotStart) as refused:
            live_server.LiveServer(environment={"JOBS_PATH": self.path})
        self.assertIn("another server", str(refused.exception))
        self.assertIn(self.path, str(refused.exception))

    def test_a_file_that_is_no_database_is_refused_and_left(self):
        with open(self.path, "wb") as file:
            file.write(b"notes of somebody\n" * 1000)
        os.chmod(self.path, 0o666)
        with self.assertRaises(live_server.DidNotStart) as refused:
            live_server.LiveServer(environment={"JOBS_PATH": self.path})
        self.assertIn(self.path, str(refused.exception))
        self.assertEqual(18_000, os.stat(self.path).st_size)

    def test_bytes_of_a_damaged_file_do_not_reach_the_terminal(self):
        """SQLite's message about a damaged schema contains names from the file."""
        with contextlib.closing(sqlite3.connect(self.path)) as database:
            database.execute("CREATE TABLE 'a\x1b]0;title\x07\u009b2Jz' (x)")
            database.execute("PRAGMA writable_schema=ON")
            database.execute("UPDATE sqlite_schema SET sql = 'CREATE TABLE'")
            database.commit()
        os.chmod(self.path, 0o666)
        with self.assertRaises(live_server.DidNotStart) as refused:
            live_server.LiveServer(environment={"JOBS_PATH": self.path})
        said = str(refused.exception)
        self.assertIn("malformed database schema (a", said)
        self.assertNotRegex(said, "[\\x00-\\x08\\x0b-\\x1f\\x7f-\\x9f]")

    def test_a_device_is_no_place_for_jobs(self):
        with self.assertRaises(live_server.DidNotStart) as refused:
            live_server.LiveServer(environment={"JOBS_PATH": "/dev/full"})
        self.assertIn("jobs in /dev/full: it is not a regular file. Hint: set JOBS_PATH", str(refused.exception))

    def test_a_bad_path_is_named(self):
        for path in ("relative/file", "/"):
            with self.assertRaises(live_server.DidNotStart) as refused:
                live_server.LiveServer(environment={"JOBS_PATH": path})
            self.assertIn("JOBS_PATH", str(refused.exception))

    def test_without_a_place_jobs_are_kept_in_memory(self):
        server = live_server.LiveServer(environment={"HOME": "/proc/none"})
        self.addCleanup(server.stop)
        with server.client() as client:
            job = client.execute("print(1)")["job_id"]
            self.assertEqual(200, client.send("GET", f"/jobs/{job}").status)
        self.assertTrue(any("kept in memory" in line for line in server.log), server.log)

    def test_killed_at_any_moment_nothing_that_was_answered_is_lost(self):
        rounds = random.Random(7)
        answered = {}
        for number in range(6):
            server = self.start(JOBS_DURABLE="true")
            stop = threading.Event()
            with concurrent.futures.ThreadPoolExecutor(6) as pool:
                enough = len(answered) + 5
                hammers = [pool.submit(self.hammer, server, stop, answered) for _ in range(6)]
                # Every other server is killed early, when a slow host may not have answered anything.
                answers = number % 2 == 0 or host_view.wait_until(lambda: len(answered) >= enough, 20)
                time.sleep(0.15 + rounds.random() * 0.5)
                server.kill()
                stop.set()
                concurrent.futures.wait(hammers, 20)
            for hammer in hammers:
                hammer.result()
            self.assertTrue(answers)
        server = self.start()
        jobs, cursor = [], ""
        with server.client() as client:
            while cursor is not None:
                page = client.send("GET", f"/jobs?limit=200{cursor}").json
                jobs += page["jobs"]
                cursor = f"&cursor={page['next_cursor']}" if page["next_cursor"] else None
        states = {job["job_id"]: job["status"] for job in jobs}
        self.assertNotIn("running", states.values())
        self.assertIn("failed", states.values(), "nothing was running at any of the kills: the test proves nothing")
        for job in jobs:
            if job["status"] == "failed":
                self.assertIn("server ended", job["error"])
                self.assertIsNotNone(job["finished_at"])
        self.assertEqual(answered, {job: states.get(job) for job in answered})
        self.assertGreater(len(answered), 10)
        server.stop()
        with sqlite3.connect(self.path) as database:
            self.assertEqual([("ok",)], database.execute("PRAGMA integrity_check").fetchall())

    @staticmethod
    def hammer(server, stop, answered):
        while not stop.is_set():
            try:
                with server.client() as client:
                    while not stop.is_set():
                        result = client.execute("import time; time.sleep(0.05)")
                        answered[result["job_id"]] = result["status"]
            except (OSError, http.client.HTTPException):
                time.sleep(0.01)
