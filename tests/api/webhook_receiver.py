"""Webhooks as tests make them, and a receiver that answers as the test says."""
import base64
import hashlib
import hmac
import http.server
import json
import threading

import host_view
from living_sandbox import SandboxTest


def signature(secret, identity, timestamp, body):
    """Signs as the specification Standard Webhooks says, in an independent implementation."""
    assert secret.startswith("whsec_"), secret
    key = base64.b64decode(secret.removeprefix("whsec_"), validate=True)
    digest = hmac.new(key, f"{identity}.{timestamp}.".encode() + body, hashlib.sha256).digest()
    return "v1," + base64.b64encode(digest).decode()


class Delivery:
    """One request, as it came."""

    def __init__(self, method, path, headers, body):
        self.method, self.path, self.headers, self.body = method, path, headers, body

    @property
    def json(self):
        return json.loads(self.body)

    @property
    def id(self):
        return self.headers["webhook-id"]

    @property
    def type(self):
        return self.json["type"]

    def is_signed_with(self, secret):
        expected = signature(secret, self.id, self.headers["webhook-timestamp"], self.body)
        return hmac.compare_digest(expected, self.headers["webhook-signature"])


class Receiver:
    """Answers each request by the entry for its path in `replies`: a function of the Delivery, which gives a status and
    headers, or 204. A request to a path in `silent` gets no answer until release()."""

    def __init__(self):
        self.replies, self.silent = {}, set()
        self._deliveries, self._lock, self._released = [], threading.Lock(), threading.Event()
        owner = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                delivery = Delivery(self.command, self.path, self.headers, body)
                with owner._lock:
                    owner._deliveries.append(delivery)
                    released = owner._released
                if self.path in owner.silent:
                    released.wait()
                    self.close_connection = True
                    return
                status, headers, content = owner.replies.get(self.path, lambda _: (204, {}, None))(delivery)
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                if content is None:
                    self.send_header("Content-Length", "0")
                self.end_headers()
                try:
                    for piece in content or ():
                        self.wfile.write(piece)
                except OSError:
                    pass
                if content is not None:
                    self.close_connection = True

            do_GET = do_POST

            def log_message(self, *_):
                pass

        class Server(http.server.ThreadingHTTPServer):
            request_queue_size = 128

            def handle_error(self, *_):
                pass  # a connection that the server has broken off

        self._server = Server(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)
        self._thread.start()
        self.port = self._server.server_address[1]

    def url(self, path, host="127.0.0.1"):
        return f"http://{host}:{self.port}{path}"

    def at(self, path, sandbox=None):
        """Returns the deliveries to that path so far, for all sandboxes or for the one with that id."""
        with self._lock:
            return [delivery for delivery in self._deliveries
                    if delivery.path == path and sandbox in (None, delivery.json["sandbox_id"])]

    def wait_for(self, path, count, seconds=20, sandbox=None):
        """Waits for the first `count` deliveries to that path."""
        if not host_view.wait_until(lambda: len(self.at(path, sandbox)) >= count, seconds):
            raise AssertionError(f"expected {count}: {[delivery.body for delivery in self.at(path)]}")
        return self.at(path, sandbox)[:count]

    def answer(self, path, *statuses, **headers):
        """Gives each of these answers once, and 204 after that."""
        left = list(statuses)

        def reply(_):
            return (left.pop(0) if left else 204), {name.replace("_", "-"): value for name, value in headers.items()}, None

        self.replies[path] = reply

    def release(self):
        self._released.set()

    def hold(self):
        """Gives no answer to new requests for these paths, until release() is called."""
        self._released = threading.Event()

    def close(self):
        self.release()
        self._server.shutdown()
        self._server.server_close()


def post(client, url, events=("created",), **fields):
    return client.post({"url": url, "events": list(events), **fields}, "/v1/webhooks")


def patch(client, path, **fields):
    return client.send("PATCH", path, json.dumps(fields).encode(), **{"Content-Type": "application/json"})


class Webhook:
    """A webhook that was made; `client` is its owner's."""

    def __init__(self, client, url, *events, **fields):
        answer = post(client, url, events or ("created",), **fields)
        if answer.status != 201:
            raise AssertionError(f"expected 201: {answer}")
        self.client, self.made, self.id, self.secret = client, answer.json, answer.json["id"], answer.json["secret"]
        self.path = f"/v1/webhooks/{self.id}"
        self.location = answer.headers["Location"]

    def now(self):
        answer = self.client.send("GET", self.path)
        if answer.status != 200:
            raise AssertionError(f"expected 200: {answer}")
        return answer.json

    def waits_until(self, condition, seconds=20):
        """Returns its state once the condition holds."""
        if not host_view.wait_until(lambda: condition(self.now()), seconds):
            raise AssertionError(f"it stays so: {self.now()}")
        return self.now()

    def change(self, **fields):
        return patch(self.client, self.path, **fields)

    def delete(self):
        return self.client.send("DELETE", self.path)

    def test(self):
        answer = self.client.send("POST", f"{self.path}/test")
        if answer.status != 200:
            raise AssertionError(f"expected 200: {answer}")
        return answer.json


class WebhookTest(SandboxTest):
    """Allows receivers, by their address, before the server of the class starts."""

    settings = {}

    @classmethod
    def setUpClass(cls):
        cls.receiver = Receiver()
        cls.addClassCleanup(cls.receiver.close)
        cls.environment = {"JOBS_PATH": ":memory:", "SANDBOX_WEBHOOKS_ALLOW": ",".join(cls.allowed()), **cls.settings}
        super().setUpClass()

    @classmethod
    def allowed(cls):
        return [f"http://127.0.0.1:{cls.receiver.port}"]

    def hook(self, path, *events, client=None, **fields):
        webhook = Webhook(client or self.client, self.receiver.url(path), *events, **fields)
        self.addCleanup(webhook.delete)
        return webhook
