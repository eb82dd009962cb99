"""Living sandboxes: created, listed, changed, and ended in every way."""
import contextlib
import http.client
import math
import os
import signal
import threading
import time

import host_view
import live_server
import time_scale
from event_stream import NDJSON, Stream
from living_sandbox import Sandbox, SandboxTest, init_of, moment

FIELDS = {"id", "name", "access_token", "domain", "state", "outcome", "template", "metadata", "working_directory", "created_at", "ends_at",
          "ended_at", "paused_at", "idle_seconds", "on_timeout", "auto_resume", "disk_kind", "warm", "limits", "enforced_by", "network", "volumes",
          "ports", "processes"}
NO_SANDBOX = "a" * 26


def lifetime(sandbox):
    return moment(sandbox["ends_at"]) - moment(sandbox["created_at"])


class Making(SandboxTest):
    def test_defaults(self):
        made = self.make().made
        self.assertEqual(FIELDS, set(made))
        self.assertRegex(made["id"], "^[a-z2-7]{26}$")
        self.assertEqual((None, "running", None, None, {}, "/workspace", None, None, None, "delete", True, "none", 0),
                         tuple(made[name] for name in (
                             "name", "state", "outcome", "template", "metadata", "working_directory", "ended_at", "paused_at",
                             "idle_seconds", "on_timeout", "auto_resume", "network", "processes")))
        self.assertEqual((256, 128, 64), tuple(made["limits"][name] for name in ("memory_mb", "processes", "disk_mb")))
        self.assertEqual({"memory", "pids", "cpu"}, set(made["enforced_by"]))
        self.assertRegex(made["created_at"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$")
        self.assertLess(abs(time.time() - moment(made["created_at"])), 60)
        self.assertAlmostEqual(3600, lifetime(made), delta=0.1)

    def test_with_everything(self):
        asked = {"template": "bash", "name": "with-everything", "env": {"GREETING": "grüß = dich"},
                 "working_directory": "/tmp",
                 "metadata": {"of": "everything"}, "limits": {"memory_mb": 100, "processes": 20, "disk_mb": 8},
                 "timeout_seconds": 600, "idle_seconds": 500, "on_timeout": "pause", "auto_resume": False, "network": "none"}
        answer = self.client.post(asked, "/v1/sandboxes")
        self.assertEqual(201, answer.status, answer)
        sandbox = Sandbox(self.client, answer.json)
        self.addCleanup(sandbox.delete)
        self.assertEqual(f"/v1/sandboxes/{sandbox.id}", answer.headers["Location"])
        for name in ("template", "name", "working_directory", "metadata", "idle_seconds", "on_timeout", "auto_resume", "network"):
            self.assertEqual(asked[name], answer.json[name], name)
        self.assertEqual(asked["limits"], {name: answer.json["limits"][name] for name in asked["limits"]})
        self.assertAlmostEqual(600, lifetime(answer.json), delta=0.1)
        self.assertEqual("/tmp\ngrüß = dich\n", sandbox.run('pwd; echo "$GREETING"')["stdout"])
        blocks = sandbox.run("stat -f -c '%b %S' /workspace /tmp")["stdout"].split()
        self.assertEqual([8 << 20] * 2, [int(blocks[at]) * int(blocks[at + 1]) for at in (0, 2)])

    def test_a_working_directory_is_made(self):
        sandbox = self.make(working_directory="/workspace/a/b")
        self.assertEqual("/workspace/a/b\n0\n", sandbox.run("pwd; ls | wc -l")["stdout"])
        self.assertEqual("made\n", sandbox.run("echo made > file; cat file")["stdout"])
        self.assertEqual("/usr/bin\n", self.make(working_directory="/usr/bin").run("pwd")["stdout"])

    def test_a_working_directory_that_cannot_be_made(self):
        for directory in ("/nosuch", "/etc/passwd", "/usr/bin/env/below"):
            with self.subTest(directory):
                answer = self.client.post({"working_directory": directory, "name": "nowhere"}, "/v1/sandboxes")
                self.assertEqual((400, "bad_request"), (answer.status, answer.json["code"]), answer)
                self.assertIn(f"working_directory: {directory} is no directory", answer.json["detail"])
                # Nobody was told of it, and it is not among those that ended.
                self.assert_problem(404, "no_such_sandbox", self.client.send("GET", "/v1/sandboxes/nowhere"), "nowhere")
        self.make(name="nowhere")  # none of them keeps the name

    def test_the_name_and_the_id_name_the_same(self):
        sandbox = self.make(name="by-name")
        by_name = self.client.send("GET", "/v1/sandboxes/by-name")
        self.assertEqual((200, sandbox.now()), (by_name.status, by_name.json))
        ran = self.client.post({"command": "echo $((6*7))"}, "/v1/sandboxes/by-name/processes")
        self.assertEqual((200, "42\n"), (ran.status, ran.json["stdout"]))

    def test_a_name_is_taken_while_its_sandbox_lives(self):
        first = self.make(name="taken")
        self.assert_problem(409, "name_taken", self.client.post({"name": "taken"}, "/v1/sandboxes"), "taken")
        self.assertEqual(204, first.delete().status)
        second = self.make(name="taken")
        self.assertEqual(second.id, self.client.send("GET", "/v1/sandboxes/taken").json["id"])
        self.assertEqual("ended", first.now()["state"])

    def test_a_name_stands_for_the_latest_that_ended_where_none_lives(self):
        first = self.make(name="late")
        first.delete()
        second = self.make(name="late")
        path = "/v1/sandboxes/late"
        second.delete()
        self.assertEqual(second.id, self.client.send("GET", path).json["id"])
        events = self.client.send("GET", path + "/events").json["events"]
        self.assertEqual(("created", "ended"), (events[0]["kind"], events[-1]["kind"]))
        self.assertEqual(200, self.client.send("GET", path + "/logs").status)
        refused = self.client.post({"command": "true"}, path + "/processes")
        self.assert_problem(409, "sandbox_ended", refused)
        self.assertRegex(refused.json["detail"], r"\Asandbox late ended at \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC: it was deleted\Z")
        for kept in (second, first):
            self.assertEqual(kept.id, self.client.send("GET", path).json["id"])
            self.assertEqual(204, self.client.send("DELETE", path).status)
        self.assert_problem(404, "no_such_sandbox", self.client.send("GET", path), "no such sandbox: late")

    def test_what_is_not_there_is_named(self):
        for name, shown in ((NO_SANDBOX, NO_SANDBOX), ("x" * 200, "x" * 80), ("box%3A%2Fapp", "box:/app")):
            answer = self.client.send("GET", f"/v1/sandboxes/{name}")
            self.assert_problem(404, "no_such_sandbox", answer)
            self.assertEqual(f"no such sandbox: {shown}", answer.json["detail"])

    def test_a_process_says_that_its_sandbox_took_it_along(self):
        for cause, end in (("the sandbox was deleted", lambda sandbox: sandbox.delete()),
                           ("the sandbox's time was over", lambda sandbox: sandbox.change(timeout_seconds=1))):
            with self.subTest(cause):
                sandbox = self.make()
                stream = Stream(self.server.port, "POST", f"{sandbox.path}/processes", {"command": "echo ready; exec sleep 50"}, NDJSON)
                self.addCleanup(stream.close)
                events = iter(stream)
                while next(events)["type"] != "stdout":
                    pass
                end(sandbox)
                last = list(events)[-1]
                self.assertEqual(("exit", "cancelled", cause), (last["type"], last["data"]["outcome"]["code"], last["data"]["outcome"]["cause"]))
                ended = [event for event in self.client.send("GET", sandbox.path + "/events").json["events"] if event["kind"] == "process_ended"]
                self.assertEqual(cause, ended[0]["detail"]["outcome"]["cause"])

    def test_what_is_refused(self):
        for fragment, fields in (
                ("nonsense", {"nonsense": 1}), ("template", {"template": "nothing"}), ("template", {"template": None}),
                ("name", {"name": ""}), ("name", {"name": "Large"}), ("name", {"name": "x" * 51}),
                ("name", {"name": NO_SANDBOX}),
                ("name", {"name": None}), ("env", {"env": ["A"]}), ("env", {"env": {"A=B": "1"}}),
                ("env", {"env": {"A": 1}}),
                ("working_directory", {"working_directory": "relative"}),
                ("working_directory", {"working_directory": "/a\0b"}),
                ("metadata", {"metadata": {"a": 1}}), ("metadata", {"metadata": {"": "x"}}),
                ("metadata", {"metadata": {"x" * 65: "x"}}), ("metadata", {"metadata": {"a": "x" * 1025}}),
                ("metadata", {"metadata": {str(number): "" for number in range(33)}}),
                ("limits", {"limits": 1}), ("nonsense", {"limits": {"nonsense": 1}}),
                ("memory_mb", {"limits": {"memory_mb": 31}}),
                ("memory_mb", {"limits": {"memory_mb": 2049}}), ("memory_mb", {"limits": {"memory_mb": None}}),
                ("processes", {"limits": {"processes": 0}}), ("processes", {"limits": {"processes": 1025}}),
                ("disk_mb", {"limits": {"disk_mb": 0}}), ("disk_mb", {"limits": {"disk_mb": 1025}}),
                ("timeout_seconds", {"timeout_seconds": 0}), ("timeout_seconds", {"timeout_seconds": 86401}),
                ("timeout_seconds", {"timeout_seconds": "1"}), ("idle_seconds", {"idle_seconds": 0}),
                ("idle_seconds", {"idle_seconds": 86401}), ("on_timeout", {"on_timeout": "stop"}),
                ("auto_resume", {"auto_resume": "yes"}),
                ("network", {"network": {"allow": ["example.org:443"]}})):
            with self.subTest(fields):
                self.assert_bad_field(self.client.post(fields, "/v1/sandboxes"), fragment)
        for fields, limit, used in (({"limits": {"memory_mb": 2049}}, 2048, 2049), ({"timeout_seconds": 86401}, 86400, 86401),
                                    ({"limits": {"disk_mb": 0}}, 1, 0)):
            problem = self.client.post(fields, "/v1/sandboxes").json
            self.assertEqual(("out_of_range", limit, used), (problem["code"], problem.get("limit"), problem.get("used")), problem)
        self.assertEqual([], self.client.send("GET", "/v1/sandboxes?state=running").json["sandboxes"])

    def test_for_ever_is_the_longest(self):
        self.assertAlmostEqual(86400, lifetime(self.make(timeout_seconds=None, idle_seconds=None).made), delta=0.1)

    def test_bounds_that_are_allowed(self):
        for fields in ({"name": "x"}, {"name": "0-" + "x" * 48}, {"limits": {"memory_mb": 32}}, {"limits": {}},
                       {"timeout_seconds": 1},
                       {"limits": {"disk_mb": 1}}, {"metadata": {"x" * 64: "y" * 1024}}, {"idle_seconds": 86400}):
            with self.subTest(fields):
                self.make(**fields)


class Listing(SandboxTest):
    def ids(self, query=""):
        return [sandbox["id"] for sandbox in self.client.send("GET", f"/v1/sandboxes{query}").json["sandboxes"]]

    def test_newest_first_and_in_pages(self):
        made = [self.make(metadata={"run": "pages"}).id for _ in range(7)]
        seen, cursor, sizes = [], "", []
        while cursor is not None:
            page = self.client.send("GET", f"/v1/sandboxes?metadata=run:pages&limit=3{cursor}").json
            sizes.append(len(page["sandboxes"]))
            seen += [sandbox["id"] for sandbox in page["sandboxes"]]
            cursor = page["next_cursor"] and f"&cursor={page['next_cursor']}"
        self.assertEqual((made[::-1], [3, 3, 1]), (seen, sizes))

    def test_a_page_goes_on_where_it_ended_whatever_happened_since(self):
        made = [self.make(metadata={"run": "meanwhile"}) for _ in range(4)]
        page = self.client.send("GET", "/v1/sandboxes?metadata=run:meanwhile&limit=2").json
        made[3].delete()
        made[3].delete()
        self.make(metadata={"run": "meanwhile"})
        rest = self.ids(f"?metadata=run:meanwhile&limit=2&cursor={page['next_cursor']}")
        self.assertEqual([made[1].id, made[0].id], rest)

    def test_filters(self):
        red, blue = self.make(metadata={"colour": "red", "of": "a:b"}), self.make(metadata={"colour": "blue"})
        blue.delete()
        self.assertEqual([red.id], self.ids("?metadata=colour:red"))
        self.assertEqual([red.id], self.ids("?metadata=of:a:b"))
        self.assertEqual([], self.ids("?metadata=colour:re"))
        self.assertEqual([], self.ids("?metadata=colour:red&state=ended"))
        self.assertEqual([blue.id], self.ids("?metadata=colour:blue&state=ended"))
        self.assertIn(red.id, self.ids("?state=running"))
        self.assertNotIn(blue.id, self.ids("?state=running"))
        self.assertEqual([], self.ids("?metadata=colour:red&state=paused"))
        red.pause()
        self.assertEqual([red.id], self.ids("?metadata=colour:red&state=paused"))
        self.assertEqual([], self.ids("?metadata=colour:red&state=running"))

    def test_an_item_is_what_get_answers(self):
        sandbox = self.make(metadata={"run": "item"})
        shown = {name: value for name, value in sandbox.now().items() if name != "access_token"}
        self.assertEqual([shown], self.client.send("GET", "/v1/sandboxes?metadata=run:item").json["sandboxes"])

    def test_bad_parameters(self):
        for query, fragment in (("limit=0", "limit"), ("limit=201", "limit"), ("limit=x", "limit"),
                                ("state=asleep", "state"),
                                ("metadata=colour", "metadata"), ("cursor=nonsense%21", "cursor"),
                                ("nonsense=1", "nonsense")):
            with self.subTest(query):
                self.assert_bad_field(self.client.send("GET", f"/v1/sandboxes?{query}"), fragment)


class Changing(SandboxTest):
    def test_what_is_changed_and_what_stays(self):
        sandbox = self.make(metadata={"a": "1"}, idle_seconds=1000)
        answer = sandbox.change(timeout_seconds=100)
        self.assertEqual(200, answer.status, answer)
        self.assertAlmostEqual(100, moment(answer.json["ends_at"]) - time.time(), delta=30)
        self.assertEqual(({"a": "1"}, 1000), (answer.json["metadata"], answer.json["idle_seconds"]))
        self.assertEqual({"b": "2"}, sandbox.change(metadata={"b": "2"}).json["metadata"])
        self.assertIsNone(sandbox.change(idle_seconds=None).json["idle_seconds"])
        self.assertEqual(answer.json["ends_at"], sandbox.now()["ends_at"])
        self.assertEqual(200, sandbox.change().status)

    def test_what_is_refused(self):
        sandbox = self.make()
        for fields in ({"nonsense": 1}, {"name": "x"}, {"timeout_seconds": 0}, {"timeout_seconds": 86401},
                       {"idle_seconds": 0},
                       {"metadata": {"a": 1}}, {"metadata": None}):
            with self.subTest(fields):
                self.assert_bad_field(sandbox.change(**fields), next(iter(fields)))
        self.assertEqual(sandbox.made, sandbox.now())

    def test_a_shorter_lifetime_ends_it(self):
        sandbox = self.make()
        self.assertEqual(200, sandbox.change(timeout_seconds=1).status)
        self.assertEqual("lifetime", self.wait_until_ended(sandbox)["outcome"]["code"])

    def test_a_longer_lifetime_keeps_it(self):
        seconds = math.ceil(time_scale.scaled(3))  # in which it is changed
        sandbox = self.make(timeout_seconds=seconds)
        self.assertEqual(200, sandbox.change(timeout_seconds=100).status)
        time.sleep(seconds + 1)
        self.assertEqual("running", sandbox.now()["state"])

    def test_deleted_then_forgotten(self):
        sandbox = self.make(metadata={"kept": "yes"})
        process = sandbox.start(["sleep", "5555"])
        self.assertEqual(1, sandbox.now()["processes"])
        self.assertEqual(204, sandbox.delete().status)
        self.assertEqual([], self.on_host("5555"))
        ended = sandbox.now()
        self.assertEqual(("ended", "deleted", {"kept": "yes"}, 0),
                         (ended["state"], ended["outcome"]["code"], ended["metadata"],
                                                                    ended["processes"]))
        self.assertLessEqual(moment(ended["created_at"]), moment(ended["ended_at"]))
        for answer in (sandbox.ask(["true"]), sandbox.change(timeout_seconds=5), sandbox.get("/workspace/x"),
                       process.post("signal", signal=9),
                       sandbox.put("/workspace/x", b""), process.post("stdin", data="x")):
            self.assert_problem(409, "sandbox_ended", answer, "deleted")
        self.assertEqual([204, 404, 404], [sandbox.delete().status, sandbox.delete().status,
                                           self.client.send("GET", sandbox.path).status])


class Ending(SandboxTest):
    def test_lifetime(self):
        seconds = math.ceil(time_scale.scaled(3))  # in which a process is started
        sandbox = self.make(timeout_seconds=seconds)
        process = sandbox.start(["sleep", "5551"])
        answer = sandbox.ask(["sleep", "5552"])
        self.assertIn(answer.status, (200, 409), answer)
        ended = self.wait_until_ended(sandbox, seconds + 20)
        self.assertEqual(("lifetime", seconds), (ended["outcome"]["code"], ended["outcome"]["limit"]))
        self.assertGreaterEqual(moment(ended["ended_at"]) - moment(ended["ends_at"]), -0.1)
        self.assertEqual([], self.on_host("555"))
        self.assert_problem(409, "sandbox_ended", process.post("signal", signal=9))

    def test_idle(self):
        sandbox = self.make(idle_seconds=1)
        ended = self.wait_until_ended(sandbox)
        self.assertEqual(("idle", 1), (ended["outcome"]["code"], ended["outcome"]["limit"]))
        self.assertGreaterEqual(moment(ended["ended_at"]) - moment(ended["created_at"]), 0.9)

    def test_not_idle_while_a_process_runs(self):
        idle = math.ceil(time_scale.scaled(3))  # in which the process is started
        sandbox = self.make(idle_seconds=idle)
        sandbox.start(["sleep", f"{idle + 2}"])
        ended = self.wait_until_ended(sandbox, 2 * idle + 20)
        self.assertEqual("idle", ended["outcome"]["code"])
        self.assertGreaterEqual(moment(ended["ended_at"]) - moment(ended["created_at"]), 2 * idle + 1.9)

    def test_not_idle_while_it_is_asked(self):
        idle = math.ceil(time_scale.scaled(3))  # in which it is asked again
        sandbox = self.make(idle_seconds=idle)
        until = time.monotonic() + 2 * idle
        while time.monotonic() < until:
            sandbox.get("/workspace", "?list=true")
            time.sleep(0.3)
        self.assertEqual("running", sandbox.now()["state"])

    def test_out_of_memory_is_told(self):
        sandbox = self.make(limits={"memory_mb": 64})
        answer = sandbox.ask(["python3", "-c", "x = []\nwhile True: x.append(bytearray(b'x') * (1 << 20))"],
                             timeout_seconds=50)
        self.assertEqual((200, "out_of_memory"), (answer.status, answer.json["outcome"]["code"]), answer)
        self.assertEqual(64, answer.json["outcome"]["limit"])
        after = sandbox.now()
        if after["state"] == "ended":
            self.assertEqual(("out_of_memory", 64), (after["outcome"]["code"], after["outcome"]["limit"]))
            self.assert_problem(409, "sandbox_ended", sandbox.ask(["true"]), "memory")
        else:
            self.assertEqual("42\n", sandbox.run("echo $((6*7))")["stdout"])

    def test_memory_is_that_of_all_processes_together(self):
        sandbox = self.make(limits={"memory_mb": 100})
        hold = ["python3", "-uc", "import time\nx = bytearray(b'x') * (60 << 20)\nprint('holds')\ntime.sleep(50)"]
        first = sandbox.start(hold)
        first.says("holds")
        sandbox.start(hold)

        def is_told():
            listed = self.client.send("GET", f"{sandbox.path}/processes")
            ends = listed.json["processes"] if listed.status == 200 else [sandbox.now()]  # which has ended
            return "out_of_memory" in [each["outcome"]["code"] for each in ends if each["outcome"]]

        self.assertTrue(host_view.wait_until(is_told, 20), sandbox.now())

    def test_processes_are_counted_together(self):
        sandbox = self.make(limits={"processes": 12})
        ran = sandbox.python("import os, time\nfor number in range(40):\n    if os.fork() == 0: time.sleep(3); os._exit(0)")
        self.assertIn("BlockingIOError", ran["stderr"])
        self.assertEqual("42\n", sandbox.run("echo $((6*7))")["stdout"])

    def test_a_killed_init_ends_its_sandbox_and_no_other(self):
        doomed, other = self.make(), self.make()
        for sandbox, word in ((doomed, "5561"), (other, "5562")):
            sandbox.start(["sleep", word])
        answers = []
        beside = Sandbox(self.server.client(), doomed.made)
        self.addCleanup(beside.client.close)
        waiting = threading.Thread(target=lambda: answers.append(beside.ask(["sleep", "5563"])))
        waiting.start()
        self.wait_for(lambda: self.on_host("5563"))
        os.kill(init_of(self.started_on_host("5561")), signal.SIGKILL)
        waiting.join()
        self.assertIn((answers[0].status, answers[0].json.get("code") or answers[0].json["outcome"]["code"]),
                      ((200, "killed"), (409, "sandbox_ended")), answers)
        self.assertTrue(host_view.wait_until(lambda: doomed.now()["state"] == "ended", 10), doomed.now())
        self.assertEqual("killed", doomed.now()["outcome"]["code"])
        self.wait_until_gone("5561")
        self.assert_problem(409, "sandbox_ended", doomed.ask(["true"]))
        self.assertEqual((1, "42\n"), (other.now()["processes"], other.run("echo $((6*7))")["stdout"]))
        self.assertEqual(1, len(self.on_host("5562")))


class Leaks(SandboxTest):
    environment = {"JOBS_PATH": ":memory:", "SANDBOX_POOL_SIZE": "0"}

    def test_nothing_is_left_of_fifty(self):
        self.make().delete()
        before = host_view.open_descriptors(self.server.pid), len(self.server.processes()), len(host_view.mounts())
        for number in range(50):
            sandbox = self.make()
            sandbox.start(["sleep", "5571"])
            sandbox.put("/workspace/x", b"x" * 100_000)
            if number % 2:
                sandbox.run("cat /workspace/x")
            sandbox.delete()
        self.wait_until_gone("5571")
        self.wait_for(lambda: host_view.open_descriptors(self.server.pid) <= before[0])
        self.wait_for(lambda: len(self.server.processes()) <= before[1])
        self.assertEqual(before[2], len(host_view.mounts()))


class Bounds(SandboxTest):
    environment = {"JOBS_PATH": ":memory:", "SANDBOX_MAX_LIVING": "3", "SANDBOX_MAX_LIFETIME_SECONDS": "60"}

    def test_too_many(self):
        living = [self.make() for _ in range(3)]
        answer = self.client.post({}, "/v1/sandboxes")
        self.assert_problem(503, "busy", answer)
        self.assertIn("Retry-After", answer.headers)
        living[0].delete()
        self.make()

    def test_the_operators_longest_lifetime(self):
        self.assert_bad_field(self.client.post({"timeout_seconds": 61}, "/v1/sandboxes"), "1 .. 60")
        self.assertAlmostEqual(60, lifetime(self.make().made), delta=0.1)
        self.assertAlmostEqual(60, lifetime(self.make(timeout_seconds=None).made), delta=0.1)


class TwoKeys(SandboxTest):
    environment = {"JOBS_PATH": ":memory:", "API_KEYS": "first-key,second-key"}

    def test_each_key_has_its_own_names(self):
        first, second = (self.make(self.client_with(key), name="same") for key in ("first-key", "second-key"))
        for sandbox in (first, second):
            self.assertEqual(sandbox.id, sandbox.client.send("GET", "/v1/sandboxes/same").json["id"])
        first.delete()
        self.assertEqual("ended", first.client.send("GET", "/v1/sandboxes/same").json["state"])
        self.assertEqual("running", second.client.send("GET", "/v1/sandboxes/same").json["state"])
        alone = self.make(self.client_with("first-key"), name="alone")
        alone.delete()
        answer = second.client.post({"command": "true"}, "/v1/sandboxes/alone/processes")
        self.assert_problem(404, "no_such_sandbox", answer, "no such sandbox: alone")


class ServerEnds(SandboxTest):
    environment = {"JOBS_PATH": ":memory:", "DRAIN_SECONDS": "1"}

    def a_server(self):
        server = live_server.LiveServer(environment=self.environment)
        self.addCleanup(lambda: server.exit_status is not None or server.stop())
        client = server.client()
        self.addCleanup(client.close)
        return server, Sandbox(client, client.post({}, "/v1/sandboxes").json)

    def test_no_process_is_left(self):
        server, sandbox = self.a_server()
        sandbox.start(["setsid", "sleep", "5581"])
        sandbox.run("setsid sleep 5582 & disown")
        stream = Stream(server.port, "POST", f"{sandbox.path}/processes", {"command": "echo ready; sleep 5583"}, NDJSON)
        self.addCleanup(stream.close)
        events = iter(stream)
        while next(events)["type"] != "stdout":
            pass
        below = server.processes()
        began = time.monotonic()
        self.assertEqual(0, server.stop())
        self.assertLess(time.monotonic() - began, time_scale.scaled(15))
        # The kernel needs a moment for the process that was killed last.
        self.assertTrue(host_view.wait_until(lambda: not any(map(host_view.alive, below)), 10),
                        {pid: line for pid, line in below.items() if host_view.alive(pid)})
        with contextlib.suppress(http.client.IncompleteRead, ConnectionError):
            last = list(events)[-1]
            self.assertEqual(("error", "stopping"), (last["type"], last["data"]["code"]))

    def test_no_process_is_left_after_sigkill(self):
        server, sandbox = self.a_server()
        sandbox.start(["setsid", "sleep", "5591"])
        self.assertTrue(host_view.wait_until(lambda: "sleep 5591" in server.processes().values(), 10))
        below = server.processes()
        server.kill()
        self.assertTrue(host_view.wait_until(lambda: not any(map(host_view.alive, below)), 10),
                        {pid: line for pid, line in below.items() if host_view.alive(pid)})
