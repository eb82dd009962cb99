"""Webhooks: what a hostile receiver may answer, and an owner who cancels sends at the expense of others."""
import select
import threading

import host_view
from webhook_receiver import Webhook, WebhookTest


class Answers(WebhookTest):
    def told(self, path):
        told = self.hook(path).test()
        return told["status"], told["delivered"], told["error"]

    def test_a_head_is_an_answer_whose_body_does_not_come(self):
        ended = threading.Event()
        self.addCleanup(ended.set)
        self.receiver.replies["/head"] = lambda _: (200, {"Content-Length": "5"}, iter(ended.wait, True))
        self.assertEqual((200, True, None), self.told("/head"))

    def test_a_head_of_many_lines_is_a_failure(self):
        self.receiver.replies["/lines"] = lambda _: (200, {f"X-{number}": "" for number in range(150)}, None)
        status, delivered, error = self.told("/lines")
        self.assertEqual((None, False), (status, delivered))
        self.assertIn("the head of the reply is larger than 16384 bytes or has more than 100 lines", error)


class LookupsLeftBehind(WebhookTest):
    settings = {"API_KEYS": "first-key,second-key"}

    @classmethod
    def allowed(cls):
        return [f"http://localhost:{cls.receiver.port}", f"http://127.0.0.1:{cls.receiver.port}"]

    def breaks_off(self, webhook, count):
        """Leaves while a test is sent; returns False where the server had not yet noticed the end of the previous
        one."""
        with self.client_with("first-key") as leaving:
            leaving.begin("POST", f"{webhook.path}/test")
            host_view.wait_until(lambda: self.has_come(count) or select.select([leaving.socket], [], [], 0)[0], 20)
            return self.has_come(count)

    def has_come(self, count):
        return len(self.receiver.at("/named")) >= count

    def test_an_owner_that_breaks_off_many_sends_to_a_name_is_refused(self):
        first, second = self.client_with("first-key"), self.client_with("second-key")
        named, other = (Webhook(client, self.receiver.url(path, host="localhost"))
                        for client, path in ((first, "/named"), (second, "/quick")))
        self.addCleanup(named.delete)
        self.addCleanup(other.delete)
        by_address = self.hook("/address", client=first)
        self.receiver.silent.add("/named")
        self.addCleanup(self.receiver.release)
        for number in range(16):
            self.assertTrue(host_view.wait_until(lambda: self.breaks_off(named, number + 1), 20))
        self.assertEqual(200, named.change(url=self.receiver.url("/quick", host="localhost")).status)
        # A send that was not cancelled does not count, so this may be repeated until all of them have been noted.
        self.assertTrue(host_view.wait_until(lambda: first.send("POST", f"{named.path}/test").json.get("delivered") is False, 20))
        told = named.test()
        self.assertEqual((None, False), (told["status"], told["delivered"]))
        self.assertIn("too many sends of yours were broken off", told["error"])
        self.assertTrue(by_address.test()["delivered"])
        self.assertTrue(other.test()["delivered"])
