"""Processes of the server that are killed at each phase, and descriptors that run out, while requests come: each is
answered by the outcome of its own program or by a plain refusal, and the service goes on."""
import collections
import concurrent.futures
import contextlib
import http.client
import os
import pathlib
import random
import signal
import socket
import tempfile
import threading
import time

import host_view
import live_server
import time_scale
from host_view import kill, name_of


class FaultTest(live_server.ServerTest):
    environment = {"SANDBOX_POOL_SIZE": "4", "JOBS_PATH": ":memory:"}

    def tearDown(self):
        """After every fault programs run, including warm ones, and nothing is left of the others."""
        for _ in range(3):
            self.assertEqual("42\n", self.execute("print(6*7)", timeout_seconds=30)["stdout"])
        self.wait_for(lambda: self.execute("print(6*7)", timeout_seconds=30)["warm"])
        self.assertIsNone(self.server.exit_status)
        self.wait_for(lambda: self.client.send("GET", "/health").json["runs"]["running"] == 0)
        self.wait_for(lambda: not [line for line in self.server.processes().values() if "for-long" in line])

    def named(self, name):
        return [pid for pid in self.server.processes() if name_of(pid) == name]

    def begin(self, **fields):
        """Starts a program that runs until it is killed; yields the list to which its answer is added."""
        # One that was killed may take a moment to go, and must not be taken for this one.
        self.wait_for(lambda: not [line for line in self.server.processes().values() if "for-long" in line])
        answers = []

        def run():
            with self.server.client() as client:
                answers.append(client.post({"code": live_server.begins_and_stays("for-long"), "timeout_seconds": 55, "args": ["x"], **fields}))

        thread = threading.Thread(target=run)
        thread.start()
        self.addCleanup(thread.join)
        # A program that has not begun yet would be run again by another jail.
        self.assertTrue(self.server.wait_for_program("for-long"), self.pools())
        return answers

    def expect_killed(self, answers):
        """The answer comes at once, and says that the program was killed."""
        self.assertTrue(host_view.wait_until(lambda: answers, 5), "no answer")
        self.assertEqual(200, answers[0].status, answers)
        result = answers[0].json
        self.assertEqual(("killed", False, None), (result["status"], result["success"], result["exit_code"]), result)


class KilledOnce(FaultTest):
    def test_init_of_a_program_that_runs(self):
        for template in ("none", "python"):
            if template == "python":
                self.wait_until_warm()
            waiting = set(self.named("jail-init"))
            answers = self.begin(template=template)
            guest = next(pid for pid, line in self.server.processes().items() if "for-long" in line)
            init = host_view.parent_of(guest)
            self.assertEqual("jail-init", name_of(init), waiting)
            kill([init])
            self.expect_killed(answers)

    def test_inits_that_wait(self):
        self.wait_until_warm(count=2)
        inits = self.named("jail-init")
        kill(inits)
        self.wait_for(lambda: not any(map(host_view.alive, inits)))
        for _ in range(4):
            self.assertEqual("42\n", self.execute("print(6*7)", timeout_seconds=30)["stdout"])

    def test_guests_that_wait(self):
        self.wait_until_warm(count=2)
        # Where more jails are being made, an init may have no guest yet.
        guests = {init: below for init in self.named("jail-init") if (below := list(host_view.descendants(init)))}
        kill([pid for below in guests.values() for pid in below])
        # Their inits see it, and end.
        self.wait_for(lambda: not any(host_view.alive(pid) for init, below in guests.items() for pid in (init, *below)))
        for _ in range(4):
            self.assertEqual("42\n", self.execute("print(6*7)", timeout_seconds=30)["stdout"])

    def test_host_of_a_template(self):
        self.wait_until_warm(count=2)
        answers = self.begin()
        below = [*self.named("jail-template"), *self.named("jail-init")]
        kill(self.named("jail-template"))
        self.expect_killed(answers)
        self.wait_for(lambda: not any(map(host_view.alive, below)))
        self.assertEqual("42\n", self.execute("print(6*7)", timeout_seconds=30)["stdout"])

    def test_zygote_that_holds_a_request(self):
        """A jail is requested from it, and does not come: another one runs the program."""
        self.wait_until_warm()
        zygotes = [pid for host in self.named("jail-template") for pid in host_view.descendants(host)
                   if name_of(pid) == "python3" and host_view.parent_of(pid) == host]
        self.assertTrue(zygotes)
        host_view.kill(zygotes, signal.SIGSTOP)
        answers = []

        def run():
            with self.server.client() as client:
                answers.append(client.execute("import sys; print(sys.argv[1])", args=["mine"], timeout_seconds=30))

        thread = threading.Thread(target=run)
        thread.start()
        self.addCleanup(thread.join)
        self.assertTrue(self.server.wait_until_running())
        time.sleep(0.2)
        self.assertEqual([], answers)
        kill(zygotes)
        self.assertTrue(host_view.wait_until(lambda: answers, 10), "no answer")
        self.assertEqual(("success", "mine\n"), (answers[0]["status"], answers[0]["stdout"]))


class LeavesNoZombie(FaultTest):
    """Their owner still holds their descriptors, and is idle."""

    environment = {**FaultTest.environment, "SANDBOX_NETWORK_ENABLED": "true", "SANDBOX_NETWORK_ALLOW": "127.0.0.1:1"}

    def check(self, found):
        self.wait_until_warm()
        # Another test may have killed the proxy; this starts a new one.
        self.execute("pass", network={"allow": ["127.0.0.1:1"]}, timeout_seconds=30)
        self.wait_for(found)
        killed = found()
        kill(killed)
        self.wait_for(lambda: not any(pathlib.Path(f"/proc/{pid}").exists() for pid in killed))
        self.wait_for(lambda: [pid for pid in self.server.processes() if not host_view.alive(pid)] == [])

    def test_launcher(self):
        self.check(self.server.launchers)

    def test_proxy(self):
        self.check(lambda: self.named("jail-egress"))

    def test_resolver(self):
        self.check(lambda: self.named("jail-lookup"))


class Stopped(FaultTest):
    """Stopped, as by a debugger or for lack of a processor: it takes orders and does nothing."""

    def stop(self, pids):
        self.assertTrue(pids)
        kill(pids, signal.SIGSTOP)
        self.addCleanup(kill, pids)

    def zygotes(self):
        return [pid for host in self.named("jail-template") for pid in host_view.descendants(host)
                if name_of(pid) == "python3" and host_view.parent_of(pid) == host]


class Hung(Stopped):
    def check_programs_run_and_a_new_zygote_comes(self, stopped):
        before = self.pools()["python"]["zygotes"]
        self.stop(stopped)

        def run(number):
            with self.server.client() as client:
                return client.execute(f"print({number})", timeout_seconds=30)
        with concurrent.futures.ThreadPoolExecutor(8) as callers:
            answers = list(callers.map(run, range(16)))
        self.assertEqual([("success", f"{number}\n") for number in range(16)],
                         [(answer["status"], answer["stdout"]) for answer in answers])
        self.assertTrue(host_view.wait_until(lambda: self.pools()["python"]["zygotes"] > before, 30))
        self.wait_until_warm()
        self.assertTrue(self.execute("print(1)")["warm"])

    def test_zygote(self):
        self.wait_until_warm()
        self.wait_for(self.zygotes)  # one that was just started has no name yet
        self.check_programs_run_and_a_new_zygote_comes(self.zygotes())

    def test_host_of_a_template(self):
        self.wait_until_warm()
        self.check_programs_run_and_a_new_zygote_comes(self.named("jail-template"))


class HungLauncher(Stopped):
    """Uses a server of its own: processes that a launcher has made outlive it, and are then no descendants of the
    server."""

    def test_launcher(self):
        """No jail can be made. That is no answer about the program, which never ran."""
        self.wait_for(self.server.launchers)  # one that was just started has no name yet
        launchers = self.server.launchers()
        self.stop(launchers)
        with self.server.client() as client:
            answer = client.post({"code": "print(1)", "template": "none", "timeout_seconds": 1})
        kill(launchers)
        self.assertEqual((503, "1"), (answer.status, answer.headers.get("retry-after")), answer)
        self.assertIn("could not be started in time", answer.json["detail"])


class KilledUnderLoad(FaultTest):
    def load(self, fault, seconds):
        """The answers that came back while `fault()` was repeated, by kind."""
        seen, wrong, stop = collections.Counter(), [], threading.Event()

        def run(worker):
            with self.server.client() as client:
                for number in range(100_000):
                    if stop.is_set():
                        return
                    word = f"{worker}-{number}"
                    answer = client.post({"code": f"import sys\nprint('{word}')\nsys.exit(7)", "timeout_seconds": 30,
                                          "template": "none" if number % 3 == 0 else "python"})
                    kind = self.kind(answer, word)
                    seen[kind] += 1
                    if kind == "wrong":
                        wrong.append(answer)

        threads = [threading.Thread(target=run, args=(worker,)) for worker in range(6)]
        for thread in threads:
            thread.start()
        try:
            started = time.monotonic()
            # On a slow or busy host it takes longer until some programs end by themselves between two faults.
            while (past := time.monotonic() - started) < seconds or (seen["its own"] <= 10 and past < time_scale.patience(20)):
                fault()
                before = seen["its own"]
                time.sleep(0.2)
                host_view.wait_until(lambda before=before: seen["its own"] > before, 5)
        finally:
            stop.set()
            for thread in threads:
                thread.join()
        self.assertEqual([], wrong)
        self.assertGreater(seen["its own"], 10, seen)
        return seen

    @staticmethod
    def kind(answer, word):
        if answer.status in (500, 503):
            # What was killed is noticed, and not waited for.
            is_right = answer.json["status"] == answer.status and "could not be started in time" not in answer.json["detail"]
            return "refused" if is_right else "wrong"
        result = answer.json
        ended = (answer.status, result.get("status"), result.get("exit_code"), result.get("stdout"))
        if ended == (200, "error", 7, f"{word}\n"):
            return "its own"
        return "killed" if ended[:3] == (200, "killed", None) and ended[3] in ("", f"{word}\n") else "wrong"

    def test_inits(self):
        rounds = random.Random(1)
        seen = self.load(lambda: kill(rounds.sample(inits, 1) if (inits := self.named("jail-init")) else []), 3)
        self.assertLess(seen["refused"], seen["its own"], seen)

    def test_hosts(self):
        self.load(lambda: kill(self.named("jail-template")), 2)

    def test_launchers(self):
        self.load(lambda: kill(self.server.launchers()), 2)

    def test_everything_below_the_server(self):
        self.load(lambda: kill(self.server.processes()), 2)


class FewDescriptors(live_server.ServerTest):
    """A server whose limit of descriptors is always too low."""

    LIMIT = 100
    SETTINGS = {"SANDBOX_POOL_SIZE": "0", "JOBS_PATH": ":memory:"}

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        if cls.obstacle:
            return
        cls.folder = tempfile.TemporaryDirectory()
        os.chmod(cls.folder.name, 0o755)
        few = pathlib.Path(cls.folder.name, "few")
        few.write_text(f'#!/bin/sh\nulimit -n {cls.LIMIT}\nexec {live_server.BINARY} "$@"\n', encoding="utf-8")
        few.chmod(0o755)
        cls.server.stop()
        cls.server = live_server.LiveServer(binary=str(few), environment=cls.SETTINGS)

    @classmethod
    def tearDownClass(cls):
        super().tearDownClass()
        if cls.server:
            cls.folder.cleanup()


class Shortage(FewDescriptors):
    def test_descriptors_for_runs(self):
        self.assertEqual("42\n", self.execute("print(6*7)")["stdout"])
        self.wait_for(lambda: len(self.server.processes()) == 1)
        before = host_view.open_descriptors(self.server.pid)

        def run(_):
            with self.server.client() as client:
                return client.post({"code": "import time\ntime.sleep(0.3)\nprint(6*7)", "timeout_seconds": 20})

        statuses = collections.Counter()
        for _ in range(3):
            with concurrent.futures.ThreadPoolExecutor(32) as threads:
                for answer in threads.map(run, range(32)):
                    statuses[answer.status] += 1
                    if answer.status == 200:
                        self.assertEqual("42\n", answer.json["stdout"], answer)
                    else:
                        # No limit of the server is met: 32 requests fit into its places and its queue.
                        self.assertEqual((503, "host_exhausted"), (answer.status, answer.json["code"]), answer)
                        self.assertRegex(answer.headers["Content-Type"], "^application/problem\\+json")
        self.assertGreater(statuses[200], 0, statuses)
        self.assertGreater(statuses[503], 0, statuses)
        self.wait_for(lambda: "Too many open files" in "".join(self.server.log))
        for _ in range(3):
            self.assertEqual("42\n", self.execute("print(6*7)")["stdout"])
        self.wait_for(lambda: len(self.server.processes()) == 1)
        self.wait_for(lambda: host_view.open_descriptors(self.server.pid) <= before)

    def test_descriptors_for_connections(self):
        """New clients wait, connected ones are served, and the server does not spin."""
        self.execute("pass")
        with contextlib.ExitStack() as stack:
            for _ in range(2 * self.LIMIT):
                stack.enter_context(socket.create_connection(("127.0.0.1", self.server.port), time_scale.scaled(10)))
            before = self.processor_seconds()
            time.sleep(1)
            self.assertLess(self.processor_seconds() - before, 0.5, "it spins")
            self.assertEqual(200, self.client.send("GET", "/health").status)
        # Closed connections hold descriptors until the server has seen their end.
        self.wait_for(lambda: host_view.open_descriptors(self.server.pid) < self.LIMIT // 2)
        with self.server.client() as late:
            self.assertEqual("42\n", late.execute("print(6*7)")["stdout"])

    def processor_seconds(self):
        fields = pathlib.Path(f"/proc/{self.server.pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class ShortageBetweenTemplates(FewDescriptors):
    """The limit is enough for the burst of one template or of the other, but not for the first one's waiting jails
    and the second's burst."""

    LIMIT = 256
    SETTINGS = {"SANDBOX_POOL_SIZE": "32", "JOBS_PATH": ":memory:"}

    def burst(self, count, **fields):
        def run(_):
            with self.server.client() as client:
                return client.post({"timeout_seconds": 20, **fields})

        with concurrent.futures.ThreadPoolExecutor(count) as threads:
            return list(threads.map(run, range(count)))

    def test_jails_that_wait_for_nobody_are_given_up(self):
        self.wait_until_warm(count=30)
        for _ in range(4):
            for answer in self.burst(12, language="bash", template="bash", code="sleep 0.3; echo $((6*7))"):
                self.assertEqual((200, "42\n"), (answer.status, answer.json.get("stdout")), answer)
        self.assertLess(self.pools()["python"]["warm"], 30)
        # The other way round works too: nothing was lost for good.
        for _ in range(2):
            for answer in self.burst(12, code="import time\ntime.sleep(0.3)\nprint(6*7)"):
                self.assertEqual((200, "42\n"), (answer.status, answer.json.get("stdout")), answer)


class KilledServer(live_server.ServerTest):
    """Kills the server at any moment of its life; the next one starts where it was."""

    def test_at_any_moment(self):
        rounds = random.Random(3)
        for _ in range(6):
            server = live_server.LiveServer(environment={"SANDBOX_POOL_SIZE": "4", "JOBS_PATH": ":memory:"})
            self.addCleanup(server.stop)
            for number in range(8):
                live_server.send_and_forget(server, "import os, time\nos.fork()\ntime.sleep(50)", timeout_seconds=55,
                                            template=("none", "python")[number % 2])
            # The moments range from the start of the first zygote to programs that all run.
            time.sleep(rounds.random() * 0.6)
            below = server.processes()
            server.kill()
            self.assertTrue(host_view.wait_until(lambda: not [pid for pid in below if host_view.alive(pid)], 10),
                            {pid: line for pid, line in below.items() if host_view.alive(pid)})
        self.assertEqual("42\n", self.execute("print(6*7)")["stdout"])

    def test_control_a_request_to_a_killed_server_has_no_answer(self):
        server = live_server.LiveServer()
        self.addCleanup(server.stop)
        with server.client() as client:
            client.execute("pass")
            server.kill()
            with self.assertRaises((OSError, http.client.HTTPException)):
                client.execute("pass")
