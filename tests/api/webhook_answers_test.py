"""Webhooks: what a hostile receiver may answer at the cost of others."""
import threading

from webhook_receiver import WebhookTest


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
