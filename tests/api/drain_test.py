"""SIGTERM: accepted requests are answered, later ones are told that the server stops, and then the server ends."""
import concurrent.futures
import contextlib
import http.client
import os
import signal
import threading
import time

import host_view
import live_server
import time_scale


class Drain(live_server.ServerTest):
    environment = {"JOBS_PATH": ":memory:"}

    def start(self, **environment):
        server = live_server.LiveServer(environment={"JOBS_PATH": ":memory:", **environment})
        self.addCleanup(server.stop)
        return server

    def ended(self, server, seconds):
        self.assertTrue(host_view.wait_until(lambda: server.exit_status is not None, seconds), "it goes on")
        return server.exit_status

    def test_under_load_nothing_that_was_accepted_is_lost(self):
        for pause in (0.3, 0.8):
            server = self.start()
            answers, lost, terminated = [], [], threading.Event()

            def hammer(number, server=server, answers=answers, lost=lost, terminated=terminated):
                resets = 0
                while True:
                    is_kept = False
                    try:
                        with server.client() as client:
                            while True:
                                answer = client.post({"code": f"import time; time.sleep(0.05); print({number})"})
                                answers.append((number, answer))
                                is_kept = True
                                if answer.status == 503:
                                    return
                                if answer.headers["Connection"] == "close":
                                    break
                    except ConnectionRefusedError:
                        if not terminated.is_set():
                            lost.append("refused before the signal")
                        return
                    except (OSError, http.client.HTTPException) as error:
                        # An idle connection may be closed while the next request is on its way: that one was not accepted.
                        if is_kept and terminated.is_set():
                            continue
                        # Nor was one whose connection only the kernel had accepted when the listener ended: the next is refused.
                        resets += 1
                        if resets > 1 or not terminated.is_set() or not isinstance(error, (ConnectionResetError, BrokenPipeError)):
                            lost.append(repr(error))
                            return

            with concurrent.futures.ThreadPoolExecutor(8) as pool:
                hammers = [pool.submit(hammer, number) for number in range(8)]
                time.sleep(pause)
                # At least one of them was answered before.
                self.assertTrue(host_view.wait_until(lambda answers=answers: answers, 20))
                terminated.set()
                os.kill(server.pid, signal.SIGTERM)
                for one in hammers:
                    one.result()
            self.assertEqual(0, self.ended(server, 10))
            self.assertEqual([], lost)
            self.assertGreater(len(answers), 8)
            answered = sum(answer.status == 200 for _, answer in answers)
            self.assertTrue(host_view.wait_until(lambda server=server: answered == sum(" info run " in line for line in server.log), 5),
                            "a program has run, and nobody was told")
            for number, answer in answers:
                self.assertIn(answer.status, (200, 503), answer)
                if answer.status == 200:
                    self.assertEqual(("success", f"{number}\n"), (answer.json["status"], answer.json["stdout"]))
                else:
                    self.assertEqual("5", answer.headers["Retry-After"])
                    self.assertIn("stopping", answer.json["detail"])

    def test_what_waits_for_a_place_is_run_too(self):
        server = self.start()
        with concurrent.futures.ThreadPoolExecutor(40) as pool:
            def run(number):
                with server.client() as client:
                    return client.execute(f"import time; time.sleep(0.5); print({number})", timeout_seconds=30)["stdout"]

            runs = [pool.submit(run, number) for number in range(40)]
            with server.client() as client:
                self.assertTrue(host_view.wait_until(
                    lambda: client.send("GET", "/health").json["runs"]["queued"] > 0, 10), "nobody had to wait")
                self.assertTrue(host_view.wait_until(
                    lambda: client.send("GET", "/health").json["runs"]["total"] == 40, 10))
            os.kill(server.pid, signal.SIGTERM)
            self.assertEqual([f"{number}\n" for number in range(40)], [run.result() for run in runs])
        self.assertEqual(0, self.ended(server, 10))

    def test_a_load_balancer_sees_it(self):
        server = self.start()
        with concurrent.futures.ThreadPoolExecutor(1) as pool, server.client() as client:
            # It goes on while all of this is asked, on a busy host too.
            running = pool.submit(client.execute, "import time; time.sleep(4); print('whole')", timeout_seconds=20)
            self.assertTrue(server.wait_until_running())
            os.kill(server.pid, signal.SIGTERM)
            self.assertTrue(server.wait_until_draining())
            with server.client() as other:
                answer = other.send("GET", "/health")
                self.assertEqual(("draining", "5"), (answer.json["status"], answer.headers["Retry-After"]))
                self.assertEqual(503, other.post({"code": "pass"}).status)
                # A client may wait for a result by polling it.
                self.assertEqual(1, len(other.send("GET", "/jobs?status=running").json["jobs"]))
                self.assertIn("agent_sandbox_draining 1", other.send("GET", "/metrics").body.decode())
            self.assertEqual("whole\n", running.result(10)["stdout"])
        self.assertEqual(0, self.ended(server, 5))

    def test_a_terminal_that_is_closed_ends_it_like_this(self):
        """Both the shell and the kernel send SIGHUP."""
        server = self.start()
        with concurrent.futures.ThreadPoolExecutor(1) as pool, server.client() as client:
            running = pool.submit(client.execute, "import time; time.sleep(4); print('whole')", timeout_seconds=time_scale.timeout(20))
            self.assertTrue(server.wait_until_running())
            for _ in range(2):
                os.kill(server.pid, signal.SIGHUP)
                time.sleep(0.1)
            self.assertEqual("whole\n", running.result(time_scale.scaled(20))["stdout"])
        self.assertEqual(0, self.ended(server, 5))

    def test_it_ends_as_soon_as_it_is_idle(self):
        server = self.start(DRAIN_SECONDS="3600", API_IDLE_SECONDS="3600")
        with server.client() as kept:
            kept.execute("pass")
            os.kill(server.pid, signal.SIGTERM)
            self.assertEqual(0, self.ended(server, 10))

    def test_past_the_deadline_programs_are_cancelled_and_answered(self):
        server = self.start(DRAIN_SECONDS="0.5")
        with concurrent.futures.ThreadPoolExecutor(1) as pool, server.client() as client:
            running = pool.submit(client.execute, live_server.begins_and_stays("to-be-cancelled"), timeout_seconds=55)
            self.assertTrue(server.wait_for_program("to-be-cancelled"))
            os.kill(server.pid, signal.SIGTERM)
            result = running.result(15)  # Unless told otherwise, the server would wait for 20 s.
        self.assertEqual(("cancelled", "begun\n"), (result["status"], result["stdout"]))
        self.assertEqual(0, self.ended(server, 5))

    def test_past_the_deadline_whoever_comes_hears_so_or_is_refused(self):
        server = self.start(DRAIN_SECONDS="3")
        with concurrent.futures.ThreadPoolExecutor(7) as pool, server.client() as client:
            running = pool.submit(client.execute, "import time; time.sleep(50)", timeout_seconds=55)
            self.assertTrue(server.wait_until_running())
            os.kill(server.pid, signal.SIGTERM)

            def come_until_refused():
                statuses, resets = set(), 0
                with contextlib.suppress(ConnectionRefusedError):
                    while resets < 2:
                        try:
                            with server.client() as late:
                                statuses.add(late.post({"code": "pass"}).status)
                        except (ConnectionResetError, BrokenPipeError):
                            # The kernel had accepted the connection between the last look at the backlog and the end of
                            # the listener: the next one is refused.
                            resets += 1
                return statuses, resets

            late = [pool.submit(come_until_refused) for _ in range(6)]
            self.assertEqual("cancelled", running.result()["status"])
            heard = set()
            for one in late:
                statuses, resets = one.result()
                # Requests from before the signal was seen have run.
                self.assertLessEqual(statuses, {200, 503})
                self.assertLess(resets, 2, "a connection was reset, and the next one was not refused")
                heard |= statuses
            self.assertIn(503, heard)
        self.assertEqual(0, self.ended(server, 5))

    def test_a_bad_deadline_is_named(self):
        with self.assertRaises(live_server.DidNotStart) as refused:
            live_server.LiveServer(environment={"DRAIN_SECONDS": "-1"})
        self.assertIn("DRAIN_SECONDS", str(refused.exception))
