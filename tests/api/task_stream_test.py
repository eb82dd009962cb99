"""WS /stream with `task`: all events, as they happen, in order."""
import asyncio
import contextlib
import json
import time

import host_view
import live_server
import task_server
from task_server import record

try:
    import debian_websockets as websockets
except ImportError:
    websockets = None

SOLVED = "print(40 + 2)"
BROKEN = "import sys\nprint('so far')\nprint('no', file=sys.stderr)\nsys.exit(1)"
ENDS = ("complete", "error")


class Streams(task_server.TaskTest):
    records = (
        record("Solved at once", SOLVED),
        record("Solved at the second attempt", BROKEN, SOLVED),
        record("Never solved", BROKEN, BROKEN, BROKEN),
        record("Print without end", "while True: print('x' * 1000)", "pass"),
        record("Wait long", "import time; time.sleep(40)"),
        record("Several at once", SOLVED, BROKEN),
    )

    def setUp(self):
        super().setUp()
        if websockets is None:
            self.skipTest("python3-websockets is missing")

    def connect(self):
        return websockets.connect(f"ws://127.0.0.1:{self.server.port}/stream", max_size=None)

    async def _talk(self, request):
        events = []
        async with self.connect() as stream:
            await stream.send(json.dumps(request))
            with contextlib.suppress(websockets.ConnectionClosed):
                while True:
                    events.append(json.loads(await asyncio.wait_for(stream.recv(), 60)))
        return events, stream.close_code

    def talk(self, task, **fields):
        events, code = asyncio.run(self._talk({"task": task, **fields}))
        self.assertEqual(list(range(1, len(events) + 1)), [event["seq"] for event in events])
        types = [event["type"] for event in events]
        self.assertEqual(1, sum(kind in ENDS for kind in types), types)
        self.assertIn(types[-1], ENDS)
        self.assertEqual(["connected", "started"], types[:2])
        return events, code

    @staticmethod
    def order(events, leave_out=("token", "stdout", "stderr", "heartbeat")):
        return [event["type"] for event in events if event["type"] not in leave_out]

    @staticmethod
    def only(events, kind):
        return [event["data"] for event in events if event["type"] == kind]

    def test_solved_at_once(self):
        events, code = self.talk("Solved at once")
        self.assertEqual(1000, code)
        self.assertEqual(["connected", "started", "generating", "code", "executing", "execution_result", "complete"],
                         self.order(events))
        [started] = self.only(events, "started")
        self.assertEqual("task", started["kind"])
        [complete] = self.only(events, "complete")
        self.assertEqual((started["job_id"], "completed", True, "42\n"),
                         tuple(complete[name] for name in ("job_id", "status", "success", "output")))
        self.assertEqual("42\n", "".join(self.only(events, "stdout")))
        self.assertIn("print", "".join(self.only(events, "token")))
        self.assertEqual(complete, self.client.send("GET", f"/jobs/{started['job_id']}").json["result"])

    def test_a_second_attempt(self):
        events, _ = self.talk("Solved at the second attempt")
        self.assertEqual(["connected", "started", "generating", "code", "executing", "execution_result", "critiquing",
                          "critique", "retrying", "generating", "code", "executing", "execution_result", "complete"],
                         [kind for kind, before in zip(self.order(events), [None, *self.order(events)])
                          if not kind == before == "generating"])
        self.assertEqual(["error", "success"], [result["status"] for result in self.only(events, "execution_result")])
        self.assertEqual("it is wrong", self.only(events, "critique")[0]["diagnosis"])
        self.assertEqual({"attempt": 2, "of": 3}, self.only(events, "retrying")[0])
        self.assertEqual("so far\n42\n", "".join(self.only(events, "stdout")))
        self.assertEqual("no\n", "".join(self.only(events, "stderr")))

    def test_never_solved_is_complete_too(self):
        events, code = self.talk("Never solved", max_attempts=2)
        self.assertEqual(1000, code)
        [complete] = self.only(events, "complete")
        self.assertEqual(("failed", False, 2), (complete["status"], complete["success"], len(complete["history"])))

    def test_candidates(self):
        events, _ = self.talk("Several at once", candidates=2, max_attempts=1)
        self.assertEqual({0, 1}, {code["candidate"] for code in self.only(events, "code")})
        self.assertTrue(self.only(events, "complete")[0]["success"])

    def test_a_bad_request_is_one_error(self):
        events, code = asyncio.run(self._talk({"task": "x", "max_attempts": 0}))
        self.assertEqual(["connected", "error"], [event["type"] for event in events])
        self.assertEqual(1008, code)
        self.assertIn("max_attempts", events[-1]["data"]["detail"])

    def test_closing_cancels(self):
        async def leave():
            async with self.connect() as stream:
                await stream.send(json.dumps({"task": "Wait long", "timeout_seconds": 50}))
                while json.loads(await asyncio.wait_for(stream.recv(), 30))["type"] != "executing":
                    pass
                await asyncio.sleep(0.3)

        asyncio.run(leave())
        self.assertTrue(host_view.wait_until(
            lambda: self.client.send("GET", "/jobs?status=cancelled").json["jobs"], 10))
        self.assertTrue(host_view.wait_until(
            lambda: self.client.send("GET", "/health").json["runs"]["running"] == 0, 10))

    def test_a_client_that_does_not_read_takes_no_memory(self):
        async def stall():
            async with websockets.connect(f"ws://127.0.0.1:{self.server.port}/stream", max_size=None, max_queue=1,
                                          read_limit=2048, ping_interval=None) as stream:
                await stream.send(json.dumps({"task": "Print without end", "timeout_seconds": 6, "max_attempts": 1}))
                while json.loads(await asyncio.wait_for(stream.recv(), 30))["type"] != "stdout":
                    pass
                before = self.resident_kb()
                time.sleep(4)  # nothing is read meanwhile
                self.assertLess(self.resident_kb() - before, 48 << 10)
                kinds = []
                with contextlib.suppress(websockets.ConnectionClosed):
                    while True:
                        kinds.append(json.loads(await asyncio.wait_for(stream.recv(), 60))["type"])
                self.assertEqual("complete", kinds[-1])

        asyncio.run(stall())

    def resident_kb(self):
        with open(f"/proc/{self.server.pid}/status", encoding="utf-8") as file:
            return next(int(line.split()[1]) for line in file if line.startswith("VmRSS"))


class Failing(live_server.ServerTest):
    """A model that answers nothing useful: the stream still ends once."""

    @classmethod
    def setUpClass(cls):
        cls.model = task_server.SlowModel(lambda body: (0, "I would rather not."))
        cls.environment = {"JOBS_PATH": ":memory:", **cls.model.environment}
        super().setUpClass()

    @classmethod
    def tearDownClass(cls):
        super().tearDownClass()
        cls.model.stop()

    def test_no_program_comes(self):
        if websockets is None:
            self.skipTest("python3-websockets is missing")

        async def talk():
            async with websockets.connect(f"ws://127.0.0.1:{self.server.port}/ws/stream", max_size=None) as stream:
                await stream.send(json.dumps({"task": "x"}))
                events = []
                with contextlib.suppress(websockets.ConnectionClosed):
                    while True:
                        events.append(json.loads(await asyncio.wait_for(stream.recv(), 60)))
                return events

        events = asyncio.run(talk())
        self.assertEqual(1, sum(event["type"] in ENDS for event in events))
        self.assertEqual("complete", events[-1]["type"])
        self.assertEqual("failed", events[-1]["data"]["status"])
        self.assertTrue(events[-1]["data"]["error"])
