"""Events over plain HTTP: POST /execute as a stream, and GET /jobs/{id} followed until its end."""
import base64
import contextlib
import http.client
import json
import os
import signal
import socket
import threading
import time

import host_view
import live_server
import task_server
import time_scale
from event_stream import NDJSON, SSE, Stream
from task_server import record

ENDS = ("complete", "error")
# Between the two a follower has to come.
GREETING = f"import time\nprint('one', flush=True)\ntime.sleep({time_scale.timeout(2)})\nprint('two')"


class LiveTest(live_server.ServerTest):
    environment = {"JOBS_PATH": ":memory:"}

    def stream(self, method, path, body=None, accept=SSE, **options):
        stream = Stream(self.server.port, method, path, body, accept, **options)
        self.addCleanup(stream.close)
        return stream

    def events_of(self, stream):
        """Returns all events, after checking what holds for every stream."""
        self.assertEqual((200, stream.accept), (stream.status, stream.headers["Content-Type"]))
        events = list(stream)
        self.assertEqual(list(range(1, len(events) + 1)), [event["seq"] for event in events])
        types = [event["type"] for event in events]
        self.assertEqual(1, sum(kind in ENDS for kind in types), types)
        self.assertIn(types[-1], ENDS)
        return events

    def execute_live(self, code, accept=SSE, path="/execute", **fields):
        fields.setdefault("timeout_seconds", time_scale.timeout(5))
        return self.events_of(self.stream("POST", path, {"code": code, **fields}, accept))

    @staticmethod
    def output(events, stream="stdout"):
        return "".join(event["data"] for event in events if event["type"] == stream)

    @staticmethod
    def data(events, kind):
        return next(event["data"] for event in events if event["type"] == kind)

    def run_beside(self, code, **fields):
        """Starts a job that another client waits for. Returns its id, and the list that gets that client's answer."""
        answers = []

        def run():
            with self.server.client() as client:
                answers.append(client.execute(code, **fields))

        thread = threading.Thread(target=run)
        thread.start()
        self.addCleanup(thread.join)
        return self.the_running_job(), answers, thread


class Programs(LiveTest):
    def test_a_program_from_start_to_end(self):
        for accept in (SSE, NDJSON):
            for path in ("/execute", "/api/v1/execute"):
                events = self.execute_live("import sys; print('out'); print('err', file=sys.stderr); sys.exit(3)", accept, path)
                self.assertEqual(["started", "execution_result", "complete"],
                                 [event["type"] for event in events if event["type"] not in ("stdout", "stderr")])
                self.assertEqual(("out\n", "err\n"), (self.output(events), self.output(events, "stderr")))
                result = self.data(events, "execution_result")
                self.assertEqual(("out\n", "err\n", 3, "error"), tuple(
                    result[name] for name in ("stdout", "stderr", "exit_code", "status")))
                self.assertEqual({"job_id": result["job_id"], "language": "python", "output_encoding": "utf-8"}, events[0]["data"])
                self.assertEqual({"job_id": result["job_id"], "status": "error", "success": False}, events[-1]["data"])
                self.assertEqual(result, self.client.send("GET", f"/jobs/{result['job_id']}").json["result"])

    def test_the_result_is_the_one_that_is_answered_otherwise(self):
        plain = self.execute("print(6*7)")
        live = self.data(self.execute_live("print(6*7)"), "execution_result")
        self.assertEqual(plain.keys(), live.keys())
        for name in ("status", "stdout", "stderr", "exit_code", "outcome", "limits", "template"):
            self.assertEqual(plain[name], live[name])

    def test_output_comes_while_the_program_runs(self):
        stream = self.stream("POST", "/execute", {"code": "import time; print('one', flush=True); time.sleep(50)", "timeout_seconds": 55})
        events = iter(stream)
        job = next(events)["data"]["job_id"]
        printed = next(events)
        self.assertEqual(("stdout", "one\n"), (printed["type"], printed["data"]))
        self.assertEqual("running", self.status_of(job))

    def test_who_does_not_ask_for_events_is_answered_as_ever(self):
        for accept in ("*/*", "application/json", "application/json, text/event-stream", "text/event-stream;q=0"):
            answer = self.client.post({"code": "print(1)"}, Accept=accept)
            self.assertEqual((200, "application/json"), (answer.status, answer.headers["Content-Type"]))
            self.assertIn("Content-Length", answer.headers)
            self.assertEqual("1\n", answer.json["stdout"])

    def test_a_bad_request_is_a_problem(self):
        for body in ({"code": ""}, {"code": "x", "more": 1}, {}):
            stream = self.stream("POST", "/execute", body)
            self.assertEqual((400, "application/problem+json"), (stream.status, stream.headers["Content-Type"]))
            stream.response.read()
        self.assertEqual(424, self.stream("POST", "/execute", {"task": "x"}).status)

    def test_the_connection_is_kept(self):
        connection = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=60)
        self.addCleanup(connection.close)
        self.events_of(self.stream("POST", "/execute", {"code": "print(1)"}, connection=connection))
        before = connection.sock
        self.events_of(self.stream("POST", "/execute", {"code": "print(2)"}, NDJSON, connection=connection))
        self.assertIsNotNone(before)
        self.assertIs(before, connection.sock)

    def test_without_chunks_for_http_1_0(self):
        body = json.dumps({"code": "print(6*7)"}).encode()
        with socket.create_connection(("127.0.0.1", self.server.port), 30) as connection:
            connection.sendall(b"POST /execute HTTP/1.0\r\nContent-Type: application/json\r\nAccept: application/x-ndjson\r\n"
                               b"Content-Length: %d\r\n\r\n" % len(body) + body)
            answer = b""
            while piece := connection.recv(65536):
                answer += piece
        head, _, body = answer.partition(b"\r\n\r\n")
        self.assertNotIn(b"transfer-encoding", head.lower())
        self.assertEqual("complete", json.loads(body.splitlines()[-1])["type"])

    def test_characters_are_not_cut_and_base64_is_untouched(self):
        text = "aüß€😀z"
        code = f"import os, time\nfor b in {text.encode()!r}:\n  os.write(1, bytes([b])); time.sleep(0.01)"
        self.assertEqual(text, self.output(self.execute_live(code)))
        events = self.execute_live(code, output_encoding="base64")
        self.assertEqual(text.encode(), b"".join(
            base64.b64decode(event["data"]) for event in events if event["type"] == "stdout"))

    def test_what_became_of_the_program_is_a_result(self):
        events = self.execute_live("print('x', flush=True)\nwhile True: pass", timeout_seconds=time_scale.timeout(4))
        self.assertEqual(("x\n", "timeout"), (self.output(events), events[-1]["data"]["status"]))

    def test_a_client_that_leaves_cancels_its_program(self):
        stream = self.stream("POST", "/execute", {"code": "import time; time.sleep(50)", "timeout_seconds": 55})
        job = next(iter(stream))["data"]["job_id"]
        stream.leave()
        self.assertTrue(host_view.wait_until(lambda: self.status_of(job) == "cancelled", 10), self.status_of(job))

    def test_delete_cancels_it(self):
        stream = self.stream("POST", "/execute", {"code": "import time; time.sleep(50)", "timeout_seconds": 55}, NDJSON)
        events = iter(stream)
        job = next(events)["data"]["job_id"]
        self.assertEqual(202, self.client.send("DELETE", f"/jobs/{job}").status)
        self.assertEqual("cancelled", list(events)[-1]["data"]["status"])

    def test_a_client_that_does_not_read_slows_the_program(self):
        before = host_view.resident_bytes(self.server.pid)
        body = json.dumps({"code": live_server.FLOOD, "timeout_seconds": time_scale.timeout(6)}).encode()
        with socket.create_connection(("127.0.0.1", self.server.port), 10) as connection:
            connection.sendall(b"POST /execute HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                               b"Accept: text/event-stream\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
            self.check_flood_waits_for_its_reader(before)

    def test_a_slow_client_gets_everything(self):
        stream = self.stream("POST", "/execute", {"code": "import os\nfor i in range(400): os.write(1, b'%07d\\n' % i * 8192)",
                                                  "timeout_seconds": 30})
        parts = []
        for event in stream:
            if event["type"] == "stdout":
                parts.append(event["data"])
                time.sleep(0.002)
        self.assertEqual("".join(f"{i:07}\n" * 8192 for i in range(400)), "".join(parts))


class Followers(LiveTest):
    def test_a_job_is_followed_to_its_end(self):
        for accept in (SSE, NDJSON):
            # The program prints nothing before somebody follows.
            job, answers, thread = self.run_beside(f"import time\ntime.sleep({time_scale.timeout(2)})\nprint('ü', flush=True)\nprint('two')",
                                                   timeout_seconds=time_scale.timeout(20))
            stream = self.stream("GET", f"/api/v1/jobs/{job}", accept=accept)
            events = self.events_of(stream)
            thread.join()
            self.assertEqual({"job_id": job, "language": "python", "output_encoding": "utf-8"}, events[0]["data"])
            self.assertEqual("ü\ntwo\n", self.output(events))
            self.assertEqual("complete", events[-1]["type"])
            self.assertEqual(self.client.send("GET", f"/jobs/{job}").json, events[-1]["data"])
            self.assertEqual(answers[0], events[-1]["data"]["result"])
            self.assertEqual(["end"] if accept == SSE else [], stream.ids)

    def test_a_job_that_has_ended_is_its_last_event(self):
        job = self.execute("print(1)")["job_id"]
        events = self.events_of(self.stream("GET", f"/jobs/{job}"))
        self.assertEqual([self.client.send("GET", f"/jobs/{job}").json], [event["data"] for event in events])

    def test_who_comes_again_after_the_end_is_sent_away(self):
        job = self.execute("print(1)")["job_id"]
        stream = self.stream("GET", f"/jobs/{job}", **{"Last-Event-ID": "end"})
        self.assertEqual((204, b""), (stream.status, stream.response.read()))
        self.assertNotIn("Content-Length", stream.headers)
        self.assertEqual(200, self.stream("GET", f"/jobs/{job}", **{"Last-Event-ID": "other"}).status)

    def test_a_job_that_is_not_there(self):
        for job in ("x", "6ba7b810-9dad-11d1-80b4-00c04fd430c8"):
            stream = self.stream("GET", f"/jobs/{job}")
            self.assertEqual((404, "application/problem+json"), (stream.status, stream.headers["Content-Type"]))

    def test_head_is_answered_at_once(self):
        job, _, _ = self.run_beside("import time; time.sleep(50)", timeout_seconds=55)
        stream = self.stream("HEAD", f"/jobs/{job}")
        self.assertEqual((200, SSE, b""), (stream.status, stream.headers["Content-Type"], stream.response.read()))
        self.assertEqual("running", self.status_of(job))
        self.assertEqual(202, self.client.send("DELETE", f"/jobs/{job}").status)

    def test_followers_come_and_leave_and_the_program_goes_on(self):
        job, answers, thread = self.run_beside(f"import time\nfor i in range(10): print(i, flush=True); time.sleep({time_scale.timeout(0.15)})")
        for _ in range(3):
            stream = self.stream("GET", f"/jobs/{job}")
            next(iter(stream))
            stream.leave()
        staying = [self.stream("GET", f"/jobs/{job}") for _ in range(3)]
        ends = [self.events_of(stream)[-1]["data"] for stream in staying]
        thread.join()
        self.assertEqual("success", answers[0]["status"])
        self.assertEqual([answers[0]] * 3, [end["result"] for end in ends])

    def test_a_program_that_is_watched_over_a_stream_is_followed_too(self):
        stream = self.stream("POST", "/execute", {"code": GREETING, "timeout_seconds": time_scale.timeout(20)})
        events = iter(stream)
        job = next(events)["data"]["job_id"]
        following = self.events_of(self.stream("GET", f"/jobs/{job}"))
        self.assertEqual("two\n", self.output(following)[-4:])
        self.assertEqual("one\ntwo\n", self.output(list(events)))

    def test_a_cancelled_job_ends_its_followers(self):
        job, _, _ = self.run_beside(f"import time; time.sleep({time_scale.timeout(2)}); print('ü', flush=True); time.sleep(50)",
                                    timeout_seconds=time_scale.MOST_TIMEOUT)
        events = iter(self.stream("GET", f"/jobs/{job}"))
        self.assertEqual("started", next(events)["type"])
        # Output comes while the program runs.
        printed = next(events)
        self.assertEqual(("stdout", "ü\n"), (printed["type"], printed["data"]))
        self.assertEqual("running", self.status_of(job))
        self.assertEqual(202, self.client.send("DELETE", f"/jobs/{job}").status)
        self.assertEqual("cancelled", list(events)[-1]["data"]["status"])

    def test_a_follower_that_does_not_read_slows_nobody_and_takes_no_memory(self):
        job, answers, thread = self.run_beside(
            f"import os, time\ntime.sleep({time_scale.timeout(1)})\nfor i in range(1000): os.write(1, b'x' * 65536)", timeout_seconds=30)
        before = host_view.resident_bytes(self.server.pid)
        with socket.create_connection(("127.0.0.1", self.server.port), 10) as connection:
            connection.sendall(b"GET /jobs/%s HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n\r\n" % job.encode())
            thread.join()
            most = (64 if host_view.has_sanitizer(self.server.pid) else 32) << 20
            self.assertLess(host_view.resident_bytes(self.server.pid) - before, most)
            self.assertEqual("success", answers[0]["status"])
            answer = b""
            connection.settimeout(time_scale.scaled(10))
            with contextlib.suppress(TimeoutError):
                while b"\n0\r\n\r\n" not in answer[-100:]:
                    answer += connection.recv(1 << 20)
        events = [json.loads(line[6:]) for line in answer.replace(b"\r", b"").split(b"\n")
                  if line.startswith(b"data: ") and line.endswith(b"}")]
        self.assertEqual("complete", events[-1]["type"])
        # Events that were left out have numbers.
        self.assertGreater(events[-1]["seq"], len(events))


class Bounds(LiveTest):
    environment = {"JOBS_PATH": ":memory:", "API_KEYS": "first-key,second-key", "API_KEY_CONCURRENCY": "1"}

    def test_what_is_refused_before_it_starts_has_its_status(self):
        first = {"X-API-Key": "first-key"}
        holding = self.stream("POST", "/execute", {"code": "import time; time.sleep(20)", "timeout_seconds": 30}, **first)
        job = next(iter(holding))["data"]["job_id"]
        refused = self.stream("POST", "/execute", {"code": "print(1)"}, **first)
        self.assertEqual((429, "application/problem+json"), (refused.status, refused.headers["Content-Type"]))
        self.assertEqual("1", refused.headers["Retry-After"])
        told = json.loads(refused.response.read())
        self.assertEqual(("caller_limit", 1, 1), (told["code"], told["limit"], told["used"]))
        # Another key cannot tell that the job exists, nor can a client without one.
        self.assertEqual(404, self.stream("GET", f"/jobs/{job}", **{"X-API-Key": "second-key"}).status)
        self.assertEqual(401, self.stream("GET", f"/jobs/{job}").status)
        self.assertEqual(200, self.stream("GET", f"/jobs/{job}", **first).status)


class Ending(LiveTest):
    def test_what_goes_on_when_the_server_stops_is_told_to_its_end(self):
        server = live_server.LiveServer(environment={"JOBS_PATH": ":memory:"})
        self.addCleanup(server.stop)
        stream = Stream(server.port, "POST", "/execute", {"code": "import time; time.sleep(1); print('end')"}, NDJSON)
        events = iter(stream)
        job = next(events)["data"]["job_id"]
        following = Stream(server.port, "GET", f"/jobs/{job}")
        os.kill(server.pid, signal.SIGTERM)
        self.assertEqual("complete", list(events)[-1]["type"])
        self.assertEqual("end\n", list(following)[-1]["data"]["result"]["stdout"])
        stream.close()
        following.close()


class Tasks(LiveTest, task_server.TaskTest):
    records = (
        record("Solved at the second attempt", "import sys; print('so far'); sys.exit(1)", "print(40 + 2)"),
        record("Wait", f"import time; time.sleep({time_scale.timeout(1.5)}); print('waited')"),
    )

    def test_a_task_step_by_step(self):
        events = self.events_of(self.stream("POST", "/execute", {"task": "Solved at the second attempt"}))
        types = [event["type"] for event in events if event["type"] not in ("token", "stdout", "stderr")]
        attempt = ["generating", "code", "executing", "execution_result"]
        self.assertEqual(["started", *attempt, "critiquing", "critique", "retrying", *attempt, "complete"], types)
        result = events[-1]["data"]
        self.assertEqual(("completed", "42\n"), (result["status"], result["output"]))
        self.assertEqual(result, self.client.send("GET", f"/jobs/{result['job_id']}").json["result"])

    def test_a_task_is_followed(self):
        answers = []
        thread = threading.Thread(target=lambda: answers.append(self.solve("Wait", self.server.client(), timeout_seconds=time_scale.timeout(5))))
        thread.start()
        job = self.the_running_job()
        events = self.events_of(self.stream("GET", f"/jobs/{job}"))
        thread.join()
        self.assertEqual({"job_id": job, "kind": "task"}, events[0]["data"])
        self.assertIn("execution_result", [event["type"] for event in events])
        self.assertEqual(answers[0], events[-1]["data"]["result"])
