"""Paused sandboxes: nothing in them runs, and operations that need them resume them where that is allowed."""
import concurrent.futures
import math
import os
import signal
import time

import host_view
import time_scale
from living_sandbox import SandboxTest, init_of, moment

COUNTS = "while :; do echo x >> count; sleep 0.01; done"


class Pausing(SandboxTest):
    def counting(self, **fields):
        """Makes a sandbox in which a process counts."""
        sandbox = self.make(**fields)
        process = sandbox.start(COUNTS)
        self.wait_until_it_counts()
        return sandbox, process

    def wait_until_it_counts(self):
        self.assertTrue(host_view.wait_until(lambda: self.on_host("x >> count"), 10))

    def state_of(self, sandbox):
        """Returns the state in the list, which does not touch the sandbox itself."""
        page = self.client.send("GET", "/v1/sandboxes?limit=200").json
        return next(each["state"] for each in page["sandboxes"] if each["id"] == sandbox.id)

    def processor_time(self):
        """The processor time of the counting processes, in the kernel's ticks."""
        return sum(host_view.processor_ticks(pid) for pid in self.on_host("x >> count"))

    def test_paused_and_resumed(self):
        sandbox, process = self.counting(name="rests", timeout_seconds=600)
        before = sandbox.now()
        paused = sandbox.pause()
        self.assertLess(abs(time.time() - moment(paused["paused_at"])), 60)
        self.assertAlmostEqual(86400, moment(paused["ends_at"]) - moment(paused["paused_at"]), delta=2)
        self.assertEqual(1, paused["processes"])
        ticks = self.processor_time()
        time.sleep(1)
        self.assertLessEqual(self.processor_time() - ticks, 1)
        self.assertEqual(paused, sandbox.now())
        self.assertEqual(paused, sandbox.pause())
        self.assertEqual("running", process.now()["state"])
        resumed = self.client.send("POST", "/v1/sandboxes/rests/resume")
        self.assertEqual((200, "running", None), (resumed.status, resumed.json["state"], resumed.json["paused_at"]))
        self.assertGreater(moment(resumed.json["ends_at"]), moment(before["ends_at"]))
        self.assertAlmostEqual(600, moment(resumed.json["ends_at"]) - time.time(), delta=20)
        self.assertTrue(host_view.wait_until(lambda: self.processor_time() > ticks + 1, 20))
        self.assertEqual(200, sandbox.ask_to("resume").status)

    def test_what_needs_it_resumes_it(self):
        sandbox = self.make()
        reader = sandbox.start("read line; echo got $line; sleep 60", keep_stdin_open=True)
        on_terminal = sandbox.start("trap 'stty size' WINCH; while :; do sleep 0.05; done", pty={})
        for what, ask in (("process", lambda: sandbox.ask(["true"])),
                          ("stdin", lambda: reader.post("stdin", data="x\n")),
                          ("signal", lambda: reader.post("signal", signal="SIGCONT")),
                          ("resize", lambda: on_terminal.post("resize", columns=90, rows=20)),
                          ("list", lambda: sandbox.get("/workspace", "?list=true")),
                          ("write", lambda: sandbox.put("/workspace/a", b"b")),
                          ("read", lambda: sandbox.get("/workspace/a")),
                          ("remove", lambda: sandbox.remove("/workspace/a"))):
            with self.subTest(what):
                sandbox.pause()
                self.assertIn(ask().status, (200, 201, 204))
                self.assertEqual("running", sandbox.now()["state"])
        reader.says("got x")

    def test_what_does_not_need_it_leaves_it_alone(self):
        sandbox = self.make()
        process = sandbox.start("echo said; sleep 60")
        process.says("said")
        sandbox.pause()
        process.now()
        sandbox.processes()
        self.assertEqual(200, sandbox.client.send("GET", f"{process.path}/output").status)
        self.assertEqual(200, sandbox.change(metadata={"a": "b"}).status)
        self.assertEqual("paused", sandbox.now()["state"])

    def test_without_auto_resume_only_resume_does(self):
        sandbox = self.make(auto_resume=False)
        process = sandbox.start("sleep 60", keep_stdin_open=True)
        self.assertFalse(sandbox.pause()["auto_resume"])
        for ask in (lambda: sandbox.ask(["true"]), lambda: process.post("stdin", data="x"), lambda: process.post("signal", signal=15),
                    lambda: sandbox.get("/workspace", "?list=true"), lambda: sandbox.put("/workspace/a", b"b")):
            answer = ask()
            self.assert_problem(409, "sandbox_paused", answer, "paused")
            self.assertIn("resume", answer.json["remedy"])
        self.assertEqual("paused", sandbox.now()["state"])
        self.assertEqual(200, sandbox.ask_to("resume").status)
        self.assertEqual("42\n", sandbox.run("echo $((6*7))")["stdout"])

    def test_deadlines_stand_still(self):
        sandbox = self.make()
        seconds = math.ceil(time_scale.scaled(3))  # in which it is paused
        process = sandbox.start("sleep 60", timeout_seconds=seconds)
        sandbox.pause()
        time.sleep(seconds + 1)
        self.assertEqual("running", process.now()["state"])
        sandbox.ask_to("resume")
        self.assertTrue(host_view.wait_until(lambda: process.now()["state"] == "ended", seconds + 20))
        self.assertEqual("timeout_wall", process.now()["outcome"]["code"])

    def test_who_waits_for_a_process_goes_on_waiting(self):
        sandbox = self.make()

        def run():
            with self.server.client() as client:
                return client.post({"command": "touch up; until [ -e go ]; do sleep 0.01; done; echo over"}, f"{sandbox.path}/processes")

        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            answer = pool.submit(run)
            self.assertTrue(host_view.wait_until(lambda: sandbox.get("/workspace/up").status == 200, 20))
            sandbox.pause()
            time.sleep(0.5)
            self.assertFalse(answer.done())
            sandbox.put("/workspace/go", b"")
            self.assertEqual("over\n", answer.result().json["stdout"])

    def test_a_killed_process_ends_while_it_is_paused(self):
        sandbox, process = self.counting()
        sandbox.pause()
        self.assertEqual(204, self.client.send("DELETE", process.path).status)
        self.assertEqual(("ended", "SIGKILL"), (process.now()["state"], process.now()["signal"]))
        self.assertEqual("paused", sandbox.now()["state"])

    def test_deleted_while_it_is_paused(self):
        sandbox, _ = self.counting()
        sandbox.pause()
        began = time.monotonic()
        self.assertEqual(204, sandbox.delete().status)
        self.assertLess(time.monotonic() - began, time_scale.scaled(5))
        self.wait_until_gone("x >> count")
        ended = sandbox.now()
        self.assertEqual(("ended", "deleted", None), (ended["state"], ended["outcome"]["code"], ended["paused_at"]))
        for what in ("pause", "resume"):
            self.assert_problem(409, "sandbox_ended", sandbox.ask_to(what), "deleted")

    def test_bad_requests(self):
        sandbox = self.make()
        self.assertEqual(404, self.client.send("POST", "/v1/sandboxes/no-such-one/pause").status)
        self.assertEqual(404, self.client.send("POST", "/v1/sandboxes/no-such-one/resume").status)
        self.assertEqual(405, self.client.send("GET", f"{sandbox.path}/pause").status)
        self.assert_bad_field(self.client.post({"seconds": 1}, f"{sandbox.path}/pause"), "seconds")
        self.assertEqual(415, self.client.send("POST", f"{sandbox.path}/pause", b"{}", **{"Content-Type": "text/plain"}).status)
        of_a_page = {"Origin": "https://example.org"}
        self.assertEqual(415, self.client.send("POST", f"{sandbox.path}/pause", **of_a_page).status)
        self.assertEqual("running", sandbox.now()["state"])
        self.assertEqual(200, self.client.post({}, f"{sandbox.path}/pause").status)

    def test_idle_pauses_and_a_request_resumes(self):
        sandbox = self.make(idle_seconds=1, on_timeout="pause")
        for _ in range(2):
            self.assertTrue(host_view.wait_until(lambda: self.state_of(sandbox) == "paused", 20))
            self.assertEqual("42\n", sandbox.run("echo $((6*7))")["stdout"])

    def test_the_end_of_its_time_pauses_and_resumed_it_has_it_again(self):
        sandbox, _ = self.counting(timeout_seconds=2, on_timeout="pause")
        self.assertTrue(host_view.wait_until(lambda: self.state_of(sandbox) == "paused", 20))
        before = time.time()
        resumed = sandbox.ask_to("resume").json
        self.assertGreaterEqual(moment(resumed["ends_at"]), before + 1.9)
        self.assertLessEqual(moment(resumed["ends_at"]), time.time() + 2.1)
        self.assertTrue(host_view.wait_until(lambda: self.state_of(sandbox) == "paused", 20))

    def stop_init(self):
        """Stops the init of the jail in which a process counts: it answers nobody until it is continued."""
        init = init_of(self.on_host("x >> count")[0])
        os.kill(init, signal.SIGSTOP)
        return init

    def test_what_cannot_be_paused_is_told_and_goes_on(self):
        sandbox, _ = self.counting()
        init = self.stop_init()
        self.assert_problem(503, "not_paused", sandbox.ask_to("pause"), "go on")
        os.kill(init, signal.SIGCONT)
        self.assertEqual("running", sandbox.now()["state"])
        before = self.processor_time()
        self.assertTrue(host_view.wait_until(lambda: self.processor_time() > before, 20))
        sandbox.pause()

    def test_what_cannot_be_paused_ends_in_place_of_that(self):
        # Its init is stopped before that.
        seconds = math.ceil(time_scale.scaled(3))
        sandbox, _ = self.counting(timeout_seconds=seconds, on_timeout="pause")
        self.stop_init()
        self.assertEqual("lifetime", self.wait_until_ended(sandbox, seconds + 20)["outcome"]["code"])
        self.wait_until_gone("x >> count")

    def test_renewed_while_it_is_paused(self):
        sandbox = self.make(timeout_seconds=600)
        paused = sandbox.pause()
        self.assertEqual(paused["ends_at"], sandbox.change(timeout_seconds=60).json["ends_at"])
        resumed = sandbox.ask_to("resume").json
        self.assertAlmostEqual(60, moment(resumed["ends_at"]) - time.time(), delta=20)

    def test_everybody_at_once(self):
        sandbox, _ = self.counting()

        def ask(number):
            with self.server.client() as client:
                if number % 3 == 0:
                    return client.send("POST", f"{sandbox.path}/pause").status
                if number % 3 == 1:
                    return client.send("POST", f"{sandbox.path}/resume").status
                return client.post({"command": ["true"]}, f"{sandbox.path}/processes").status

        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            answers = [pool.submit(ask, number) for number in range(90)]
            deadline = time.monotonic() + time_scale.scaled(120)
            while not all(answer.done() for answer in answers) and time.monotonic() < deadline:
                sandbox.ask_to("resume")
                time.sleep(0.02)
            self.assertEqual({200}, {answer.result() for answer in answers})
        self.assertEqual("42\n", sandbox.run("echo $((6*7))")["stdout"])


class Bounds(SandboxTest):
    environment = {"JOBS_PATH": ":memory:", "SANDBOX_MAX_PAUSED_SECONDS": "1"}

    def test_it_is_not_kept_for_ever(self):
        sandbox = self.make()
        sandbox.start(["sleep", "5557"])
        sandbox.pause()
        ended = self.wait_until_ended(sandbox)
        self.assertEqual("lifetime", ended["outcome"]["code"])
        self.assertIn("paused", ended["outcome"]["cause"])
        self.wait_until_gone("5557")

