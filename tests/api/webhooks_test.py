"""Webhooks: events of sandboxes as a receiver of the test gets them, and what a hostile owner or receiver may try."""
import os
import stat
import time

import host_view
import live_server
import time_scale
from living_sandbox import Sandbox, SandboxTest
from webhook_receiver import Receiver, Webhook, WebhookTest, patch, post

LIFE = ["created", "process_started", "process_ended", "ended"]


def members(value, *names):
    return tuple(value[name] for name in names)


class Delivered(WebhookTest):
    def test_events_come_in_order_signed_and_as_they_are_stored(self):
        webhook = self.hook("/life", *LIFE, name="life")
        sandbox = self.make(name="told")
        sandbox.run(["sh", "-c", "exit 3"])
        self.receiver.wait_for("/life", 3, sandbox=sandbox.id)
        sandbox.put("/workspace/a", b"not asked for")
        sandbox.delete()
        came = self.receiver.wait_for("/life", 4, sandbox=sandbox.id)
        self.assertEqual(LIFE, [delivery.type for delivery in came])
        stored = self.client.send("GET", f"{sandbox.path}/events").json["events"]
        self.assertEqual([event for event in stored if event["kind"] in LIFE], [delivery.json["data"] for delivery in came])
        for delivery in came:
            self.assertEqual("application/json", delivery.headers["Content-Type"])
            self.assertTrue(delivery.is_signed_with(webhook.secret))
            self.assertFalse(delivery.is_signed_with("whsec_" + "A" * 32))
            self.assertLess(abs(time.time() - int(delivery.headers["webhook-timestamp"])), time_scale.scaled(60))
            message = delivery.json
            self.assertEqual(["id", "type", "timestamp", "sandbox_id", "data"], list(message))
            self.assertEqual((delivery.id, sandbox.id, message["data"]["at"]),
                             (message["id"], message["sandbox_id"], message["timestamp"]))
        self.assertEqual(4, len({delivery.id for delivery in came}))
        now = webhook.waits_until(lambda now: (now["last_try"] or {}).get("event") == "ended")
        self.assertEqual((True, 204, None), members(now["last_try"], "delivered", "status", "error"))
        self.assertEqual((0, None, None, 0), members(now, "failures", "failing_since", "next_try_at", "missed_events"))
        self.assertIn('agent_sandbox_webhook_tries_total{outcome="delivered"}',
                      self.client.send("GET", "/metrics").body.decode())

    def test_what_was_before_is_not_sent(self):
        before = self.make()
        self.hook("/later", "created")
        after = self.make()
        self.assertNotEqual(before.id, self.receiver.wait_for("/later", 1)[0].json["sandbox_id"])
        self.assertEqual(after.id, self.receiver.at("/later")[0].json["sandbox_id"])

    def test_the_secret_is_shown_once_and_logged_never(self):
        webhook = self.hook("/secret", name="s")
        self.assertEqual(webhook.path, webhook.location)
        self.assertEqual({name: value for name, value in webhook.made.items() if name != "secret"}, webhook.now())
        for answer in (self.client.send("GET", "/v1/webhooks"), webhook.change(name="t"), webhook.change(enabled=True)):
            self.assertEqual(200, answer.status)
            self.assertNotIn(webhook.secret.encode(), answer.body)
        self.assertNotIn(webhook.secret, "".join(self.server.log))
        self.assertIn(webhook.id, [each["id"] for each in self.client.send("GET", "/v1/webhooks").json["webhooks"]])

    def test_a_failed_try_comes_again_with_the_same_id(self):
        self.receiver.answer("/again", 500, 404)
        webhook = self.hook("/again")
        sandbox = self.make()
        came = self.receiver.wait_for("/again", 3, 30)
        self.assertEqual([sandbox.id] * 3, [delivery.json["sandbox_id"] for delivery in came])
        self.assertEqual((1, 1), (len({delivery.id for delivery in came}), len({delivery.body for delivery in came})))
        self.assertTrue(all(delivery.is_signed_with(webhook.secret) for delivery in came))
        webhook.waits_until(lambda now: now["failures"] == 0 and now["last_try"]["delivered"])

    def test_how_a_failure_is_told(self):
        self.receiver.answer("/told", *[503] * 100, Retry_After="3000")
        webhook = self.hook("/told")
        self.make()
        now = webhook.waits_until(lambda now: now["failures"] > 0)
        self.assertEqual((1, True), (now["failures"], now["enabled"]))
        self.assertEqual(("created", False, 503, "it answered 503"),
                         members(now["last_try"], "event", "delivered", "status", "error"))
        self.assertIsNotNone(now["failing_since"])
        # The next try is as late as the receiver asked for.
        self.assertGreater(now["next_try_at"], now["last_try"]["at"])
        self.assertEqual(1, len(self.receiver.at("/told")))
        # An owner who enables it again is believed at once.
        self.receiver.answer("/told")
        self.assertEqual(200, webhook.change(enabled=True).status)
        self.receiver.wait_for("/told", 2)

    def test_redirects_are_not_followed(self):
        self.receiver.answer("/moved", 307, Location=self.receiver.url("/elsewhere"))
        webhook = self.hook("/moved")
        self.assertEqual((307, False, "it answered 307, and redirects are not followed"),
                         members(webhook.test(), "status", "delivered", "error"))
        self.assertTrue(webhook.test()["delivered"])
        self.assertEqual([], self.receiver.at("/elsewhere"))

    def test_a_test_is_sent_once_and_counts_for_nothing(self):
        self.receiver.answer("/test", 500)
        webhook = self.hook("/test")
        self.assertEqual(("test", False, 500), members(webhook.test(), "event", "delivered", "status"))
        self.assertEqual(("test", True, 204, None),
                         members(webhook.test(), "event", "delivered", "status", "error"))
        first, second = self.receiver.at("/test")
        self.assertTrue(first.is_signed_with(webhook.secret) and second.is_signed_with(webhook.secret))
        self.assertNotEqual(first.id, second.id)
        self.assertEqual(("test", None, {}), members(second.json, "type", "sandbox_id", "data"))
        self.assertEqual((0, None), members(webhook.now(), "failures", "last_try"))
        answer = self.client.post({"a": 1}, f"{webhook.path}/test")
        self.assertEqual(400, answer.status, answer)

    def test_a_change_holds_for_what_comes(self):
        webhook = self.hook("/first", "created")
        self.make()
        self.receiver.wait_for("/first", 1)
        webhook.waits_until(lambda now: now["last_try"] is not None)
        changed = webhook.change(url=self.receiver.url("/second"), events=["process_ended"], name="n")
        self.assertEqual((self.receiver.url("/second"), ["process_ended"], "n"),
                         members(changed.json, "url", "events", "name"))
        self.make().run(["true"])
        came = self.receiver.wait_for("/second", 1)
        self.assertEqual("process_ended", came[0].type)
        self.assertTrue(came[0].is_signed_with(webhook.secret))

    def test_one_that_is_stopped_goes_on_where_it_was(self):
        webhook = self.hook("/stopped")
        stopped = webhook.change(enabled=False).json
        self.assertEqual((False, "its owner disabled it"), (stopped["enabled"], stopped["disabled_reason"]))
        witness = self.hook("/witness")
        ids = [self.make().id for _ in range(2)]
        self.receiver.wait_for("/witness", 2)
        self.assertEqual([], self.receiver.at("/stopped"))
        self.assertTrue(webhook.change(enabled=True).json["enabled"])
        self.assertEqual(ids, [delivery.json["sandbox_id"] for delivery in self.receiver.wait_for("/stopped", 2)])
        self.assertEqual([delivery.id for delivery in self.receiver.at("/witness")],
                         [delivery.id for delivery in self.receiver.at("/stopped")])
        self.assertEqual(204, witness.delete().status)

    def test_one_that_was_deleted_is_sent_nothing(self):
        webhook, witness = self.hook("/deleted"), self.hook("/left")
        self.assertEqual(204, webhook.delete().status)
        self.assertEqual([404] * 4, [answer.status for answer in (
            webhook.delete(), self.client.send("GET", webhook.path), webhook.change(name="x"),
            self.client.send("POST", f"{webhook.path}/test"))])
        self.make()
        self.receiver.wait_for("/left", 1)
        self.assertEqual([], self.receiver.at("/deleted"))
        self.assertEqual(witness.id, self.client.send("GET", witness.path).json["id"])

    def test_a_receiver_that_is_gone_is_left_alone(self):
        self.receiver.answer("/gone", 410)
        webhook = self.hook("/gone")
        first = self.make()
        now = webhook.waits_until(lambda now: not now["enabled"])
        self.assertEqual(("it answered 410 Gone", None), (now["disabled_reason"], now["next_try_at"]))
        # The receiver gets the missed events once it is back.
        second = self.make()
        webhook.change(enabled=True)
        self.assertEqual([first.id, first.id, second.id],
                         [delivery.json["sandbox_id"] for delivery in self.receiver.wait_for("/gone", 3)])

    def test_a_slow_receiver_keeps_nobody_else_waiting(self):
        self.receiver.silent.add("/silent")
        self.addCleanup(self.receiver.release)
        silent = [self.hook("/silent") for _ in range(5)]
        self.hook("/quick")
        sandboxes = [self.make().id for _ in range(3)]
        came = self.receiver.wait_for("/quick", 3)
        self.assertEqual(sandboxes, [delivery.json["sandbox_id"] for delivery in came])
        self.receiver.wait_for("/silent", 5)
        # None of them has got further, or an answer.
        self.assertEqual({sandboxes[0]}, {delivery.json["sandbox_id"] for delivery in self.receiver.at("/silent")})
        # Sends under way are cancelled.
        self.assertEqual([204] * 5, [webhook.delete().status for webhook in silent])

    def test_an_answer_is_not_read_to_its_end(self):
        def endless(_):
            return 200, {"Content-Type": "text/plain"}, (b"x" * 65536 for _ in range(16384))

        self.receiver.replies["/endless"] = endless
        webhook = self.hook("/endless")
        before = host_view.resident_bytes(self.server.pid)
        self.assertEqual((200, True), members(webhook.test(), "status", "delivered"))
        sandbox = self.make()
        came = self.receiver.wait_for("/endless", 2)
        self.assertEqual(sandbox.id, came[1].json["sandbox_id"])
        webhook.waits_until(lambda now: (now["last_try"] or {}).get("delivered"))
        self.assertLess(host_view.resident_bytes(self.server.pid) - before, 32 << 20)

    def test_an_owner_has_ten_at_most(self):
        had = len(self.client.send("GET", "/v1/webhooks").json["webhooks"])
        for _ in range(10 - had):
            self.hook("/many")
        answer = post(self.client, self.receiver.url("/many"))
        self.assertEqual((429, "caller_limit", 10, 10),
                         (answer.status, *(answer.json[name] for name in ("code", "limit", "used"))), answer)


class Refused(WebhookTest):
    @classmethod
    def allowed(cls):
        # Names that lead to this host, one with its address and one without.
        cls.named = Receiver()
        cls.addClassCleanup(cls.named.close)
        cls.private = Receiver()
        cls.addClassCleanup(cls.private.close)
        return [*super().allowed(), "hooks.example.org:443", "*.below.example.org:8443",
                f"http://localhost:{cls.named.port}", f"http://127.0.0.1:{cls.named.port}",
                f"http://localhost:{cls.private.port}", f"localhost:{cls.named.port}"]

    def test_urls(self):
        port = self.receiver.port
        for url in ("", "x", "ftp://127.0.0.1/", f"127.0.0.1:{port}/", "http://", "http:///x",
                    f"http://user@127.0.0.1:{port}/", f"http://user:password@127.0.0.1:{port}/", f"http://127.0.0.1:{port}@evil.example/",
                    f"http://127.0.0.1:{port}\\@evil.example/", f"http://127.0.0.1:{port}#@evil.example/", f"http://127.0.0.1:{port}/ x",
                    f"http://127.0.0.1:{port}/\r\nHost: evil", f"http://127.0.0.1:{port}/ä", f"http://0x7f.1:{port}/",
                    f"http://2130706433:{port}/", f"http://127.1:{port}/", f"http://0177.0.0.1:{port}/",
                    f"http://127.0.0.1:{port}/" + "x" * 2048):
            answer = post(self.client, url)
            self.assertEqual(400, answer.status, (url, answer))
            self.assertTrue(answer.json["detail"].startswith("url: expected"), answer)
        for url in (f"https://127.0.0.1:{port}/", "http://127.0.0.1/", f"http://127.0.0.2:{port}/", f"http://localhost:{port}/",
                    f"http://[::1]:{port}/", f"http://[::ffff:127.0.0.2]:{port}/", "http://hooks.example.org:443/", "https://example.org/",
                    "https://below.example.org:8443/", "http://169.254.169.254/latest/meta-data/", "https://10.0.0.1/"):
            answer = post(self.client, url)
            self.assertEqual(400, answer.status, (url, answer))
            self.assertIn("beyond what the operator allows (SANDBOX_WEBHOOKS_ALLOW)", answer.json["detail"])
        for url in ("https://hooks.example.org/a?b=c", "https://a.below.example.org:8443"):
            answer = post(self.client, url)
            self.assertEqual(201, answer.status, (url, answer))
            path = f"/v1/webhooks/{answer.json['id']}"
            self.assertEqual(400, patch(self.client, path, url="https://example.org/").status)
            self.assertEqual(url, self.client.send("GET", path).json["url"])
            self.assertEqual(204, self.client.send("DELETE", path).status)

    def test_fields(self):
        url = self.receiver.url("/")
        for body, word in (({"events": ["created"]}, "url: expected"), ({"url": url}, "events: expected"),
                           ({"url": url, "events": []}, "events: expected"), ({"url": url, "events": "created"}, "events: expected"),
                           ({"url": url, "events": ["created", "made"]}, "process_ended"), ({"url": url, "events": [1]}, "process_ended"),
                           ({"url": url, "events": ["created", "created"]}, "each kind once"),
                           ({"url": url, "events": ["created"], "name": "x" * 101}, "name: expected"),
                           ({"url": url, "events": ["created"], "enabled": True}, "enabled"),
                           ({"url": url, "events": ["created"], "secret": "whsec_mine"}, "secret"), ({"url": 1, "events": ["created"]}, "url: expected")):
            answer = self.client.post(body, "/v1/webhooks")
            self.assertEqual(400, answer.status, answer)
            self.assertIn(word, answer.json["detail"])
        webhook = self.hook("/")
        for body in ({"enabled": "no"}, {"events": []}, {"secret": "x"}, {"url": ""}):
            self.assertEqual(400, webhook.change(**body).status, body)

    def test_a_name_that_leads_to_a_private_address(self):
        # The address of a name is known only when the connection is made.
        webhook = Webhook(self.client, self.private.url("/private", host="localhost"))
        self.addCleanup(webhook.delete)
        told = webhook.test()
        self.assertEqual((False, None), (told["delivered"], told["status"]))
        self.assertIn("SANDBOX_WEBHOOKS_ALLOW", told["error"])
        self.make()
        now = webhook.waits_until(lambda now: now["failures"] > 0)
        self.assertIn("an address that may not be connected to", now["last_try"]["error"])
        self.assertEqual([], self.private.at("/private"))

    def test_a_name_whose_private_address_is_allowed(self):
        webhook = Webhook(self.client, self.named.url("/named", host="localhost"))
        self.addCleanup(webhook.delete)
        self.assertTrue(webhook.test()["delivered"])
        self.assertEqual(f"localhost:{self.named.port}", self.named.at("/named")[0].headers["Host"])

    def test_https_is_not_spoken_to_who_does_not_speak_it(self):
        webhook = Webhook(self.client, f"https://localhost:{self.named.port}/tls")
        self.addCleanup(webhook.delete)
        self.assertEqual((False, None), members(webhook.test(), "delivered", "status"))
        self.assertEqual([], self.named.at("/tls"))

    def test_a_receiver_that_says_nothing_is_not_waited_for(self):
        self.receiver.silent.add("/nothing")
        self.addCleanup(self.receiver.release)
        webhook = self.hook("/nothing")
        began = time.monotonic()
        told = webhook.test()
        self.assertEqual((False, None), (told["delivered"], told["status"]))
        self.assertIn("no answer in time", told["error"])
        self.assertLess(time.monotonic() - began, time_scale.scaled(30))


class TwoKeys(WebhookTest):
    settings = {"API_KEYS": "first-key,second-key"}

    def test_a_webhook_is_its_keys_alone(self):
        first, second = self.client_with("first-key"), self.client_with("second-key")
        webhook = self.hook("/first", client=first)
        own = self.hook("/second", client=second)
        self.assertEqual([own.id], [each["id"] for each in second.send("GET", "/v1/webhooks").json["webhooks"]])
        answers = [second.send("GET", webhook.path), patch(second, webhook.path, name="x"), patch(second, webhook.path, enabled=False),
                   second.send("DELETE", webhook.path), second.send("POST", f"{webhook.path}/test")]
        none = [second.send("GET", "/v1/webhooks/none"), patch(second, "/v1/webhooks/none", name="x"),
                patch(second, "/v1/webhooks/none", enabled=False), second.send("DELETE", "/v1/webhooks/none"),
                second.send("POST", "/v1/webhooks/none/test")]
        self.assertEqual([404] * 5, [answer.status for answer in answers])
        self.assertEqual([answer.json["detail"] for answer in none], [answer.json["detail"] for answer in answers])
        self.assertEqual(401, self.client.send("GET", "/v1/webhooks").status)
        # Another owner gets no events of these either.
        theirs = self.make(second)
        self.assertEqual(theirs.id, self.receiver.wait_for("/second", 1)[0].json["sandbox_id"])
        mine = self.make(first)
        self.assertEqual(mine.id, self.receiver.wait_for("/first", 1)[0].json["sandbox_id"])
        self.assertEqual("", webhook.now()["name"])

    def test_a_key_that_has_ten_takes_none_of_anothers(self):
        first, second = self.client_with("first-key"), self.client_with("second-key")
        for _ in range(10):
            self.hook("/full", client=first)
        self.assertEqual(429, post(first, self.receiver.url("/full")).status)
        self.hook("/room", client=second)


class Disabled(WebhookTest):
    settings = {"SANDBOX_WEBHOOKS_RETRY_SECONDS": "1"}

    def test_one_that_fails_for_long_is_disabled_and_says_so(self):
        self.receiver.answer("/down", *[500] * 1000)
        webhook, witness = self.hook("/down"), self.hook("/up")
        first = self.make()
        now = webhook.waits_until(lambda now: not now["enabled"])
        self.assertEqual("no try succeeded for 1 s, the last one: it answered 500", now["disabled_reason"])
        self.assertGreaterEqual(now["failures"], 2)
        came = len(self.receiver.at("/down"))
        self.assertEqual(now["failures"], came)
        second = self.make()
        self.receiver.wait_for("/up", 2)
        self.assertEqual(came, len(self.receiver.at("/down")))
        # A thread reads what the server has written.
        self.assertTrue(host_view.wait_until(lambda: any(webhook.id in line and "webhook disabled" in line for line in self.server.log), 10),
                        self.server.log)
        # No event of that time is lost.
        self.receiver.answer("/down")
        self.assertEqual((True, 0, None), members(webhook.change(enabled=True).json, "enabled", "failures", "disabled_reason"))
        again = self.receiver.wait_for("/down", came + 2)[came:]
        self.assertEqual([first.id, second.id], [delivery.json["sandbox_id"] for delivery in again])
        self.assertTrue(witness.now()["enabled"])


class FewEvents(WebhookTest):
    settings = {"SANDBOX_EVENTS_KEPT": "10"}

    def test_what_the_store_dropped_is_said_to_be_missed(self):
        webhook = self.hook("/few", "file_written")
        self.assertEqual(200, webhook.change(enabled=False).status)
        sandbox = self.make()
        for _ in range(40):
            sandbox.put("/workspace/a", b"x")
        webhook.change(enabled=True)
        now = webhook.waits_until(lambda now: now["missed_events"] > 0 and now["last_try"] is not None)
        self.assertGreaterEqual(now["missed_events"], 20)
        self.assertTrue(now["enabled"])


class Off(SandboxTest):
    def test_without_a_word_of_the_operator_there_are_none(self):
        answer = post(self.client, "https://example.org/")
        self.assert_problem(403, "webhooks_off", answer, "SANDBOX_WEBHOOKS_ALLOW")
        self.assertEqual([], self.client.send("GET", "/v1/webhooks").json["webhooks"])


class WithoutEvents(WebhookTest):
    settings = {"SANDBOX_EVENTS_KEPT": "0"}

    def test_without_events_there_are_none(self):
        self.assert_problem(403, "webhooks_off", post(self.client, self.receiver.url("/")), "SANDBOX_EVENTS_KEPT")


class Restart(live_server.KeptJobsTest):
    def setUp(self):
        super().setUp()
        self.receiver = Receiver()
        self.addCleanup(self.receiver.close)
        self.allowed = {"SANDBOX_WEBHOOKS_ALLOW": f"http://127.0.0.1:{self.receiver.port}"}

    def told(self, path):
        return [(each.type, each.json["sandbox_id"]) for each in self.receiver.at(path)]

    def test_what_was_not_delivered_goes_on_after_a_kill(self):
        self.receiver.answer("/kept", 204, *[503] * 1000)
        server = self.start(**self.allowed)
        with server.client() as client:
            webhook = Webhook(client, self.receiver.url("/kept"), "created", "ended", name="n")
            first = Sandbox(client, client.post({}, "/v1/sandboxes").json)
            self.receiver.wait_for("/kept", 1)
            second = Sandbox(client, client.post({}, "/v1/sandboxes").json)
            now = webhook.waits_until(lambda now: now["failures"] > 0)
            # A query of the store waits until everything before it is written.
            self.assertEqual(200, client.send("GET", f"{second.path}/events").status)
            server.kill()
        self.receiver.answer("/kept")
        with self.start(**self.allowed).client() as client:
            kept = client.send("GET", webhook.path).json
            same = ("id", "name", "url", "events", "created_at")
            self.assertEqual([now[name] for name in same], [kept[name] for name in same])
            # The events of the second sandbox are sent again, with the same ids, and then the ends of both. The event
            # of the first one was delivered.
            told = [("created", first.id), ("created", second.id), ("ended", first.id), ("ended", second.id)]
            self.assertTrue(host_view.wait_until(lambda: told[-1] in self.told("/kept"), 20), self.told("/kept"))
            self.assertEqual(told, list(dict.fromkeys(self.told("/kept"))))
            came = self.receiver.at("/kept")
            self.assertEqual((1, 4), (self.told("/kept").count(told[0]), len({each.id for each in came})))
            self.assertGreaterEqual(self.told("/kept").count(told[1]), 2)
            self.assertTrue(all(each.is_signed_with(webhook.secret) for each in came))

    def test_what_is_left_at_the_end_goes_on_and_is_not_waited_for(self):
        self.receiver.silent.add("/slow")
        server = self.start(**self.allowed)
        with server.client() as client:
            webhook = Webhook(client, self.receiver.url("/slow"), "created", "ended")
            sandbox = Sandbox(client, client.post({}, "/v1/sandboxes").json)
            self.receiver.wait_for("/slow", 1)
        began = time.monotonic()
        self.assertEqual(0, server.stop())
        # A try takes 10 s.
        self.assertLess(time.monotonic() - began, time_scale.scaled(8))
        self.receiver.silent.clear()
        self.start(**self.allowed)
        again = self.receiver.wait_for("/slow", 3)
        self.assertEqual(again[0].id, again[1].id)
        self.assertEqual(("ended", sandbox.id), (again[2].type, again[2].json["sandbox_id"]))
        self.assertTrue(again[2].is_signed_with(webhook.secret))

    def test_one_that_the_operator_does_not_allow_any_more(self):
        server = self.start(**self.allowed)
        with server.client() as client:
            webhook = Webhook(client, self.receiver.url("/was"))
        self.assertEqual(0, server.stop())
        for environment in ({}, {"SANDBOX_WEBHOOKS_ALLOW": "hooks.example.org:443"}):
            server = self.start(**environment)
            with server.client() as client:
                now = client.send("GET", webhook.path).json
                self.assertFalse(now["enabled"])
                self.assertIn("SANDBOX_WEBHOOKS_ALLOW", now["disabled_reason"])
                self.assertIn(client.send("POST", f"{webhook.path}/test").status, (400, 403))
                made = client.post({}, "/v1/sandboxes").json
            self.assertEqual(0, server.stop())
        server = self.start(**self.allowed)
        with server.client() as client:
            self.assertTrue(client.send("GET", webhook.path).json["enabled"])
            came = self.receiver.wait_for("/was", 2)
            self.assertEqual(made["id"], came[1].json["sandbox_id"])
            self.assertEqual(204, client.send("DELETE", webhook.path).status)
        self.assertEqual(0, server.stop())
        with self.start(**self.allowed).client() as client:
            self.assertEqual([], client.send("GET", "/v1/webhooks").json["webhooks"])

    def test_secrets_are_in_a_file_of_the_servers_own(self):
        server = self.start(**self.allowed)
        with server.client() as client:
            webhook = Webhook(client, self.receiver.url("/mode"))
            self.assertEqual(0o600, stat.S_IMODE(os.stat(self.path).st_mode))
            self.assertEqual(204, webhook.delete().status)
