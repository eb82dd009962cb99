"""What owners of webhooks can take from the server and from one another, and how a full disk, an operator and the
end of the server affect them."""
import concurrent.futures
import contextlib
import socket
import sqlite3

import host_view
import live_server
import time_scale
from living_sandbox import Sandbox
from webhook_receiver import Receiver, Webhook, WebhookTest, patch


class Tests:
    """Tests of webhooks that their receiver leaves without an answer, each on a connection of its own."""

    def __init__(self, server, receiver, path):
        self.server, self.receiver, self.path = server, receiver, path
        self._threads = concurrent.futures.ThreadPoolExecutor(128)

    def close(self):
        self.receiver.release()
        self._threads.shutdown()

    def ask(self, webhook):
        def answer():
            with self.server.client() as client:
                return client.send("POST", f"{webhook.path}/test")

        return self._threads.submit(answer)

    def begin(self, webhook):
        """Waits until the receiver has it; returns a function that gets its answer."""
        came = len(self.receiver.at(self.path))
        answer = self.ask(webhook)
        self.receiver.wait_for(self.path, came + 1)
        return answer


class HeldTest(WebhookTest):
    def hold(self, path):
        """Tests that the receiver leaves without an answer until the method ends."""
        self.receiver.hold()
        self.receiver.silent.add(path)
        tests = Tests(self.server, self.receiver, path)
        self.addCleanup(tests.close)
        return tests


class OneKey(HeldTest):
    def test_a_test_ends_with_its_webhook(self):
        tests = self.hold("/tested")
        webhook = Webhook(self.client, self.receiver.url("/tested"))
        answer = tests.begin(webhook)
        self.assertEqual(204, webhook.delete().status)
        self.assertEqual(404, answer.result(time_scale.scaled(30)).status)

    def test_a_caller_has_two_tests_at_once(self):
        tests = self.hold("/two")
        first, second, third = [self.hook("/two") for _ in range(2)] + [self.hook("/answers")]
        under_way = [tests.begin(webhook) for webhook in (first, second)]
        for webhook in (first, third):
            answer = self.client.send("POST", f"{webhook.path}/test")
            self.assert_problem(429, "caller_limit", answer, "tests of this caller's webhooks are under way")
            self.assertEqual((2, 2), (answer.json["limit"], answer.json["used"]))
        self.assertEqual([204, 204], [webhook.delete().status for webhook in (first, second)])
        self.assertEqual([404, 404], [answer.result(time_scale.scaled(30)).status for answer in under_way])
        self.assertTrue(third.test()["delivered"])

    def test_who_hangs_up_gives_the_turn_back(self):
        self.hold("/hung_up")
        webhook, other = self.hook("/hung_up"), self.hook("/answers_too")
        for count in (2, 4):
            for i in range(count - 2, count):
                with contextlib.closing(socket.create_connection(("127.0.0.1", self.server.port))) as connection:
                    connection.sendall(f"POST {webhook.path}/test HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n".encode())
                    self.receiver.wait_for("/hung_up", i + 1)
            self.wait_for(lambda: self.client.send("POST", f"{other.path}/test").status == 200)


class Changes(HeldTest):
    def test_changes_leave_nothing_behind(self):
        # A try that waits for a turn holds events, and each change begins anew.
        tests = self.hold("/full")
        self.receiver.silent.add("/changed")
        webhook = self.hook("/changed", "url_signed")
        self.assertEqual(200, webhook.change(enabled=False).status)
        sandbox = self.make()
        for _ in range(100):
            self.assertEqual(200, sandbox.client.post({"path": "/" + "\x01" * 4095}, f"{sandbox.path}/sign").status)
        for _ in range(64):
            taker = Webhook(self.client, self.receiver.url("/full"))
            tests.begin(taker)
            self.assertEqual(204, taker.delete().status)
        before = host_view.resident_bytes(self.server.pid)
        for _ in range(200):
            self.assertEqual(200, webhook.change(enabled=True).status)
            # The coroutine of the webhook has read the store by then.
            self.assertEqual(200, self.client.send("GET", f"{sandbox.path}/events?limit=100").status)
        most = (128 if host_view.has_sanitizer(self.server.pid) else 64) << 20
        self.assertLess(host_view.resident_bytes(self.server.pid) - before, most)


class EightKeys(WebhookTest):
    keys = [f"key-{i}" for i in range(8)]
    settings = {"API_KEYS": ",".join(keys), "SANDBOX_MAX_LIVING": "16"}

    def test_seven_cannot_keep_the_eighth_waiting(self):
        self.receiver.silent.add("/silent")
        self.addCleanup(self.receiver.release)
        clients = [self.client_with(key) for key in self.keys]
        sandboxes = [self.make(client) for client in clients]
        silent = [self.hook("/silent", "file_written", client=client) for client in clients[:-1] for _ in range(10)]
        self.hook("/quick", "file_written", client=clients[-1])
        for sandbox in sandboxes[:-1]:
            sandbox.put("/workspace/a", b"x")
        # None of these has been given up by the time the eighth has got all its events.
        self.receiver.wait_for("/silent", 64)
        for _ in range(5):
            sandboxes[-1].put("/workspace/a", b"x")
        self.receiver.wait_for("/quick", 5)
        self.assertEqual([0] * 7, [webhook.now()["failures"] for webhook in silent[::10]])


class Kept(live_server.KeptJobsTest):
    def setUp(self):
        super().setUp()
        self.receiver = Receiver()
        self.addCleanup(self.receiver.close)
        self.allowed = {"SANDBOX_WEBHOOKS_ALLOW": f"http://127.0.0.1:{self.receiver.port}"}

    def in_the_file(self, *statements):
        with contextlib.closing(sqlite3.connect(self.path)) as file, file:
            for statement in statements:
                file.execute(statement)

    def test_what_the_disk_does_not_take_has_not_changed(self):
        server = self.start(**self.allowed)
        with server.client() as client:
            webhook = Webhook(client, self.receiver.url("/disk"), name="before")
        self.assertEqual(0, server.stop())
        self.in_the_file(*(f"CREATE TRIGGER no_{what} BEFORE {what} ON webhooks BEGIN SELECT RAISE(ABORT, 'no space'); END"
                           for what in ("UPDATE", "DELETE")))
        server = self.start(**self.allowed)
        with server.client() as client:
            for change in ({"name": "after"}, {"url": self.receiver.url("/elsewhere")}, {"enabled": False}):
                self.assertEqual(500, patch(client, webhook.path, **change).status)
            self.assertEqual(500, client.send("DELETE", webhook.path).status)
            now = client.send("GET", webhook.path).json
            self.assertEqual(("before", self.receiver.url("/disk"), True), (now["name"], now["url"], now["enabled"]))
            client.post({}, "/v1/sandboxes")
            self.receiver.wait_for("/disk", 1)
        server.stop()
        self.in_the_file("DROP TRIGGER no_UPDATE", "DROP TRIGGER no_DELETE")
        server = self.start(**self.allowed)
        with server.client() as client:
            self.assertEqual("after", patch(client, webhook.path, name="after").json["name"])
            self.assertEqual(204, client.send("DELETE", webhook.path).status)
        server.kill()
        with self.start(**self.allowed).client() as client:
            self.assertEqual(404, client.send("GET", webhook.path).status)

    def test_one_whose_key_was_taken_away_waits_for_it(self):
        self.receiver.silent.add("/mine")
        both = {**self.allowed, "API_KEYS": "mine,theirs"}
        server = self.start(**both)
        with server.client(**{"X-API-Key": "mine"}) as client:
            webhook = Webhook(client, self.receiver.url("/mine"))
            sandbox = Sandbox(client, client.post({}, "/v1/sandboxes").json)
            self.receiver.wait_for("/mine", 1)
        self.assertEqual(0, server.stop())
        self.receiver.silent.clear()
        came = len(self.receiver.at("/mine"))
        server = self.start(**self.allowed, API_KEYS="theirs")
        with server.client(**{"X-API-Key": "theirs"}) as client:
            Webhook(client, self.receiver.url("/theirs"))
            client.post({}, "/v1/sandboxes")
            self.receiver.wait_for("/theirs", 1)
        self.assertEqual(0, server.stop())
        self.assertEqual(came, len(self.receiver.at("/mine")))
        # Without keys everybody sees the webhook, and why nothing is sent.
        server = self.start(**self.allowed)
        with server.client() as client:
            now = client.send("GET", webhook.path).json
            self.assertFalse(now["enabled"])
            self.assertIn("API_KEYS", now["disabled_reason"])
        self.assertEqual(0, server.stop())
        server = self.start(**both)
        with server.client(**{"X-API-Key": "mine"}) as client:
            self.assertEqual((True, None), tuple(client.send("GET", webhook.path).json[name] for name in ("enabled", "disabled_reason")))
            again = self.receiver.wait_for("/mine", came + 1)[came]
            self.assertEqual(("created", sandbox.id), (again.type, again.json["sandbox_id"]))

    def test_the_end_of_the_server_breaks_tests_off(self):
        self.receiver.silent.add("/draining")
        server = self.start(**self.allowed)
        tests = Tests(server, self.receiver, "/draining")
        self.addCleanup(tests.close)
        with server.client() as client:
            answer = tests.begin(Webhook(client, self.receiver.url("/draining")))
        self.assertEqual(0, server.stop())
        told = answer.result(time_scale.scaled(30))
        self.assertEqual((503, "stopping"), (told.status, told.json["code"]), told)
