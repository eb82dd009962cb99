"""The calendar clock of the host jumps: what lives goes on for as long as it was promised, whatever the calendar says."""
import time

import host_view
import live_server
import sandbox_ledger_test
import set_clock
import time_scale
from living_sandbox import moment
from return_place import ReturnTest

HOUR, DAY = 3600, 86400
JUMPS = (DAY, -DAY, 3650 * DAY, -3650 * DAY, 0)


class Jumps(sandbox_ledger_test.LedgerTest):
    @classmethod
    def setUpClass(cls):
        try:
            cls.clock = set_clock.SetClock()
        except OSError as error:
            raise cls.skipTest(cls, str(error))  # pylint: disable=raise-missing-from
        cls.addClassCleanup(cls.clock.remove)
        cls.environment = {**sandbox_ledger_test.LedgerTest.environment, **cls.clock.environment}
        super().setUpClass()

    def setUp(self):
        self.clock.set(0)
        super().setUp()

    def left(self, sandbox):
        """The seconds to its end, by what the server says."""
        return moment(sandbox.now()["ends_at"]) - self.clock.now()

    def test_what_lives_goes_on(self):
        sandbox, other = self.make(timeout_seconds=HOUR, idle_seconds=HOUR // 2), self.make()
        paused = self.make(timeout_seconds=HOUR)
        paused.put("/workspace/kept", b"kept")
        paused.pause()
        runs = sandbox.start(["sleep", "5701"], timeout_seconds=HOUR // 4)
        self.write_to(sandbox, 2)
        self.write_to(other)
        for offset in JUMPS:
            self.clock.set(offset)
            self.go_on(5)
            self.assertEqual("running", runs.now()["state"], offset)
            self.assertEqual(("running", "paused"), (sandbox.now()["state"], paused.now()["state"]), offset)
            self.assertTrue(HOUR - 300 < self.left(sandbox) <= HOUR + 1, (offset, self.left(sandbox)))
            self.assertEqual("success", self.execute("print(1)")["status"])
        self.assertEqual(b"kept", paused.get("/workspace/kept").body)
        self.assertTrue(HOUR - 300 < self.left(paused) <= HOUR + 1, self.left(paused))
        numbers = [event["number"] for event in self.client.send("GET", f"{sandbox.path}/events?limit=500").json["events"]]
        self.assertEqual(sorted(set(numbers)), numbers)
        self.assertEqual(204, runs.delete().status)
        self.finish(sandbox, other, paused)

    def test_what_is_over_soon_is_over_as_soon(self):
        for offset in JUMPS:
            self.clock.set(0)
            began = time.monotonic()
            short, idle = self.make(timeout_seconds=2), self.make(idle_seconds=2)
            other = self.make()
            late = other.start(["sleep", "5702"], timeout_seconds=2)
            self.clock.set(offset)
            self.assertEqual("timeout_wall", late.ended()["outcome"]["code"])
            for sandbox, code in ((short, "lifetime"), (idle, "idle")):
                self.wait_until_ended(sandbox)
                self.assert_ended(sandbox, code)
            self.assertTrue(2 <= time.monotonic() - began < time_scale.scaled(15), offset)
            result = self.execute("import time\ntime.sleep(20)", timeout_seconds=0.5)
            self.assertEqual("timeout", result["status"], offset)
            other.delete()


class NextServer(ReturnTest):
    def setUp(self):
        super().setUp()
        try:
            self.clock = set_clock.SetClock()
        except OSError as error:
            self.skipTest(str(error))
        self.addCleanup(self.clock.remove)
        self.environment |= self.clock.environment

    def left(self, sandbox):
        return moment(sandbox.now()["ends_at"]) - self.clock.now()

    def test_a_clock_that_was_set_while_a_server_ran_costs_nobody_time(self):
        """Also where the server is killed: it has taken note of the new time."""
        for offset, how in ((DAY, "kill"), (-DAY, "kill"), (DAY, "stop")):
            with self.subTest(offset=offset, how=how):
                self.clock.set(0)
                self.start()
                made, paused, other = (self.make(timeout_seconds=HOUR) for _ in range(3))
                made.put("/workspace/kept", b"kept")
                paused.pause()
                self.clock.set(offset)
                # Each look at what they use begins with a look at the clock.
                self.assertTrue(host_view.wait_until(lambda made=made: self.was_looked_at(made), 40))
                # The answer to this comes once all is stored that was kept before.
                self.assertEqual(200, other.change(metadata={"a": "b"}).status)
                self.end(how)
                self.start()
                again = self.again(made)
                self.assertEqual(("running", "paused"), (again.now()["state"], self.again(paused).now()["state"]))
                self.assertTrue(HOUR - 300 < self.left(again) <= HOUR + 1, self.left(again))
                self.assertEqual(b"kept", again.get("/workspace/kept").body)
                for sandbox in (again, self.again(paused), self.again(other)):
                    self.assertEqual(204, sandbox.delete().status)
                self.end("stop")

    def test_a_pause_that_two_servers_saw_counts_once(self):
        """A sandbox that has lived for half an hour of the two hours that its operator allows has an hour and a half."""
        def next_server(hours):
            if self.server:
                self.end("stop")
            self.clock.set(int(hours * HOUR))
            self.start(SANDBOX_MAX_LIFETIME_SECONDS=str(2 * HOUR))

        next_server(0)
        made = self.make(timeout_seconds=HOUR)
        next_server(0.5)
        self.again(made).pause()
        next_server(1.5)
        self.assertEqual("paused", self.again(made).now()["state"])
        next_server(2.5)
        again = self.again(made)
        self.assertEqual(200, again.ask_to("resume").status)
        self.assertEqual(200, again.change(timeout_seconds=2 * HOUR).status)
        self.assertTrue(1.5 * HOUR - 300 < self.left(again) <= 1.5 * HOUR + 1, self.left(again))

    def was_looked_at(self, sandbox):
        samples = sandbox.client.send("GET", f"{sandbox.path}/metrics").json["samples"]
        return any(abs(moment(sample["at"]) - self.clock.now()) < 300 for sample in samples)


if __name__ == "__main__":
    live_server.unittest.main()
