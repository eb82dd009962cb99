"""agent-sandbox webhook, with a receiver that gets what is sent."""
import json
import re

import live_server
import sandbox_command
from webhook_receiver import Receiver

SECRET = re.compile(r"\Awhsec_[A-Za-z0-9+/=]+\Z")


class Webhooks(sandbox_command.Command):
    subcommand = ["webhook"]

    @classmethod
    def setUpClass(cls):
        cls.receiver = Receiver()
        cls.addClassCleanup(cls.receiver.close)
        cls.environment = {**sandbox_command.Command.environment, "SANDBOX_WEBHOOKS_ALLOW": f"http://127.0.0.1:{cls.receiver.port}"}
        super().setUpClass()

    def url_of(self, path):
        return f"http://127.0.0.1:{self.receiver.port}{path}"

    def create(self, path, *arguments):
        """Makes one; returns its id and its secret."""
        lines = self.good("create", self.url_of(path), *arguments).splitlines()
        names, values = zip(*(line.split(": ", 1) for line in lines))
        self.assertEqual(("id", "secret"), names)
        self.assertRegex(values[0], r"\A[a-z2-7]{26}\Z")
        self.assertRegex(values[1], SECRET)
        self.addCleanup(self.run_it, "delete", values[0])
        return values

    def make_sandbox(self):
        answer = self.client.post({}, "/v1/sandboxes")
        self.assertEqual(201, answer.status, answer)
        self.client.send("DELETE", f"/v1/sandboxes/{answer.json['id']}")
        return answer.json["id"]

    def test_a_life(self):
        webhook, secret = self.create("/life", "--event", "created", "--event", "ended", "--name", "life")
        sandbox = self.make_sandbox()
        came = self.receiver.wait_for("/life", 2, sandbox=sandbox)
        self.assertEqual(["created", "ended"], [delivery.type for delivery in came])
        self.assertTrue(all(delivery.is_signed_with(secret) for delivery in came))
        shown = self.good("get", webhook)
        for line in (f"id: {webhook}", "name: life", f"url: {self.url_of('/life')}", "events: created,ended", "state: enabled"):
            self.assertIn(line + "\n", shown)
        self.assertNotIn("secret", shown)
        listed = self.good("list")
        self.assertIn(webhook, listed)
        self.assertNotIn(secret, listed)
        self.assertEqual("", self.good("delete", webhook))
        self.assertIn(f"no such webhook: {webhook}", self.one_line("get", webhook))

    def test_a_change(self):
        webhook, secret = self.create("/before", "--event", "created")
        shown = self.good("change", webhook, "--url", self.url_of("/after"), "--event", "ended", "--name", "later")
        for line in (f"url: {self.url_of('/after')}", "events: ended", "name: later"):
            self.assertIn(line + "\n", shown)
        sandbox = self.make_sandbox()
        self.assertTrue(self.receiver.wait_for("/after", 1, sandbox=sandbox)[0].is_signed_with(secret))
        self.assertEqual([], [each for each in self.receiver.at("/before") if each.json["sandbox_id"] == sandbox])
        self.assertIn("state: disabled\n", self.good("change", webhook, "--disable"))
        self.assertIn("disabled", self.good("list"))
        self.assertIn("state: enabled\n", self.good("change", webhook, "--enable", "--name", ""))
        self.assertNotIn("name:", self.good("get", webhook))

    def test_a_test(self):
        webhook, secret = self.create("/test", "--event", "ended")
        self.assertEqual("delivered, status 204\n", self.good("test", webhook))
        delivery = self.receiver.at("/test")[0]
        self.assertEqual("test", delivery.type)
        self.assertTrue(delivery.is_signed_with(secret))
        self.receiver.replies["/test"] = lambda _: (500, {}, None)
        status, out, error = self.run_it("test", webhook)
        self.assertEqual((1, ""), (status, error))
        self.assertRegex(out, r"\Anot delivered: [^\n]*500[^\n]*\n\Z")
        status, out, error = self.run_it("test", webhook, "--json")
        self.assertEqual((1, False, 500, ""), (status, json.loads(out)["delivered"], json.loads(out)["status"], error))

    def test_another_secret(self):
        webhook, secret = self.create("/secret", "--event", "ended")
        other = self.good("secret", webhook, "--previous", "0").strip()
        self.assertRegex(other, SECRET)
        self.assertNotEqual(secret, other)
        self.good("test", webhook)
        delivery = self.receiver.at("/secret")[-1]
        self.assertTrue(delivery.is_signed_with(other))
        self.assertFalse(delivery.is_signed_with(secret))
        third = json.loads(self.good("secret", webhook, "--previous", "1h", "--json"))
        self.assertRegex(third["secret"], SECRET)
        self.assertIsNotNone(third["previous_secret_until"])
        self.assertIn("old secret signs until: ", self.good("get", webhook))

    def test_json(self):
        made = json.loads(self.good("create", self.url_of("/json"), "--event", "ended", "--json"))
        self.addCleanup(self.run_it, "delete", made["id"])
        self.assertRegex(made.pop("secret"), SECRET)
        self.assertEqual(made, json.loads(self.good("get", made["id"], "--json")))
        self.assertIn(made, json.loads(self.good("list", "--json"))["webhooks"])
        self.assertFalse(json.loads(self.good("change", made["id"], "--disable", "--json"))["enabled"])

    def test_a_table_fits_the_terminal(self):
        for number in range(3):
            self.create(f"/{'wide' * 40}/{number}", "--event", "created", "--event", "process_started", "--event", "ended", "--name", "n" * 90)
        lines = self.good("list").splitlines()
        self.assertEqual(["ID", "STATE", "URL", "LAST", "TRY", "(UTC)", "EVENTS", "NAME"], lines[0].split())
        self.assertGreater(max(map(len, lines)), 200)

    def test_refusals_in_words_of_the_command_line(self):
        self.assertIn("URL: ", self.one_line("create", "https://elsewhere.example/", "--event", "ended"))
        self.assertIn("SANDBOX_WEBHOOKS_ALLOW", self.one_line("create", "https://elsewhere.example/", "--event", "ended"))
        self.assertIn("URL: the server expects a URL", self.one_line("create", "nonsense", "--event", "ended"))
        self.assertIn("--event: the server expects kinds of events: created", self.one_line("create", self.url_of("/"), "--event", "nosuch"))
        self.assertIn("--event: the server expects each kind once", self.one_line("create", self.url_of("/"), "--event", "ended", "--event", "ended"))
        webhook, _ = self.create("/refused", "--event", "ended")
        self.assertIn("--url: ", self.one_line("change", webhook, "--url", "ftp://x"))
        for words in (["get"], ["test"], ["secret"], ["change", "--enable"], ["delete"]):
            self.assertIn("no such webhook: nosuch", self.one_line(words[0], "nosuch", *words[1:]))
        # One that is not there does not keep the others from being deleted.
        status, _, error = self.run_it("delete", "nosuch", webhook)
        self.assertEqual((1, 1), (status, error.count("\n")))
        self.assertIn("no such webhook", self.one_line("get", webhook))
        self.assertIn("no server at", self.one_line("list", status=125, AGENT_SANDBOX_URL="http://127.0.0.1:1"))


class Off(sandbox_command.Command):
    subcommand = ["webhook"]

    def test_the_operator_allows_none(self):
        self.assertIn("SANDBOX_WEBHOOKS_ALLOW", self.one_line("create", "https://example.org/", "--event", "ended"))


if __name__ == "__main__":
    live_server.main()
