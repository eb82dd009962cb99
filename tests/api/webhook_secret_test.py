"""A new secret for a webhook: which secrets sign messages before, after and meanwhile."""
import time

import host_view
import live_server
from living_sandbox import moment
from webhook_receiver import Receiver, Webhook, WebhookTest, signature


def replace(webhook, client=None, **fields):
    return (client or webhook.client).post(fields, f"{webhook.path}/secret") if fields else \
        (client or webhook.client).send("POST", f"{webhook.path}/secret")


def signed_by(delivery):
    """The signatures of a delivery, as they stand in its header."""
    return delivery.headers["webhook-signature"].split(" ")


def signatures(delivery, *secrets):
    return [signature(secret, delivery.id, delivery.headers["webhook-timestamp"], delivery.body) for secret in secrets]


class Replaced(WebhookTest):
    def last_of(self, webhook, path):
        """Returns the last test message of the webhook, as it came."""
        count = len(self.receiver.at(path))
        self.assertTrue(webhook.test()["delivered"])
        return self.receiver.wait_for(path, count + 1)[-1]

    def test_both_sign_for_a_day(self):
        webhook = self.hook("/day")
        self.assertIsNone(webhook.made["previous_secret_until"])
        answer = replace(webhook)
        self.assertEqual(200, answer.status, answer)
        new = answer.json["secret"]
        self.assertNotEqual(webhook.secret, new)
        self.assertAlmostEqual(86400, moment(answer.json["previous_secret_until"]) - time.time(), delta=60)
        now = webhook.now()
        self.assertEqual({name: value for name, value in answer.json.items() if name != "secret"}, now)
        delivery = self.last_of(webhook, "/day")
        self.assertEqual(signatures(delivery, new, webhook.secret), signed_by(delivery))
        # The same holds for events.
        self.make()
        event = next(each for each in self.receiver.wait_for("/day", 2) if each.type == "created")
        self.assertEqual(signatures(event, new, webhook.secret), signed_by(event))
        log = "".join(self.server.log)
        self.assertNotIn(new, log)
        self.assertNotIn(webhook.secret, log)

    def test_one_that_leaked_signs_no_more(self):
        webhook = self.hook("/leaked")
        answer = replace(webhook, previous_seconds=0)
        self.assertIsNone(answer.json["previous_secret_until"])
        delivery = self.last_of(webhook, "/leaked")
        self.assertEqual(signatures(delivery, answer.json["secret"]), signed_by(delivery))

    def test_the_time_of_the_old_one_ends(self):
        webhook = self.hook("/ends")
        new = replace(webhook, previous_seconds=0.2).json["secret"]
        webhook.waits_until(lambda now: now["previous_secret_until"] is None)
        delivery = self.last_of(webhook, "/ends")
        self.assertEqual(signatures(delivery, new), signed_by(delivery))

    def test_the_third_ends_the_first(self):
        webhook = self.hook("/third")
        second, third = (replace(webhook).json["secret"] for _ in range(2))
        delivery = self.last_of(webhook, "/third")
        self.assertEqual(signatures(delivery, third, second), signed_by(delivery))

    def test_a_try_that_failed_comes_again_signed_by_both(self):
        self.receiver.answer("/again", *[503] * 1000)
        webhook = self.hook("/again")
        self.make()
        first = self.receiver.wait_for("/again", 1)[0]
        self.assertEqual(signatures(first, webhook.secret), signed_by(first))
        new = replace(webhook).json["secret"]
        self.assertTrue(host_view.wait_until(lambda: len(signed_by(self.receiver.at("/again")[-1])) == 2, 30))
        again = self.receiver.at("/again")[-1]
        self.assertEqual((first.id, signatures(again, new, webhook.secret)), (again.id, signed_by(again)))

    def test_fields(self):
        webhook = self.hook("/fields")
        for fields, word in (({"previous_seconds": -1}, "previous_seconds"), ({"previous_seconds": 604801}, "previous_seconds"),
                             ({"previous_seconds": "1"}, "previous_seconds"), ({"secret": "whsec_x"}, "secret")):
            answer = replace(webhook, **fields)
            self.assertEqual(400, answer.status, answer)
            self.assertIn(word, answer.json["detail"])
        delivery = self.last_of(webhook, "/fields")
        self.assertEqual(signatures(delivery, webhook.secret), signed_by(delivery))
        self.assertEqual(404, self.client.send("POST", "/v1/webhooks/none/secret").status)


class OfAnother(WebhookTest):
    settings = {"API_KEYS": "first-key,second-key"}

    def test_a_secret_is_its_keys_alone(self):
        first, second = self.client_with("first-key"), self.client_with("second-key")
        webhook = self.hook("/first", client=first)
        answer = replace(webhook, second)
        self.assertEqual(404, answer.status)
        self.assertNotIn(b"whsec_", answer.body)
        self.assertIsNone(webhook.now()["previous_secret_until"])


class Kept(live_server.KeptJobsTest):
    def test_both_are_known_to_the_next_server(self):
        receiver = Receiver()
        self.addCleanup(receiver.close)
        allowed = {"SANDBOX_WEBHOOKS_ALLOW": f"http://127.0.0.1:{receiver.port}"}
        server = self.start(**allowed)
        with server.client() as client:
            webhook = Webhook(client, receiver.url("/kept"))
            changed = replace(webhook).json
            server.kill()
        with self.start(**allowed).client() as client:
            self.assertEqual(changed["previous_secret_until"], client.send("GET", webhook.path).json["previous_secret_until"])
            self.assertTrue(client.send("POST", f"{webhook.path}/test").json["delivered"])
            delivery = receiver.wait_for("/kept", 1)[-1]
            self.assertEqual(signatures(delivery, changed["secret"], webhook.secret), signed_by(delivery))
