"""Living sandboxes on a server of the test, and the operations on them."""
import datetime
import json
import pathlib
import urllib.parse

import event_stream
import host_view
import live_server
import time_scale


def moment(text):
    """Converts a time of an answer to seconds."""
    return datetime.datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()


def init_of(pid):
    """The init of the jail in which the process `pid` of the host runs."""
    while pid is not None and pathlib.Path(f"/proc/{pid}/comm").read_text(encoding="utf-8").strip() != "jail-init":
        pid = host_view.parent_of(pid)
    return pid


class Process:
    """A process that was started in the background."""

    def __init__(self, sandbox, started):
        self.sandbox, self.pid = sandbox, started["pid"]
        self.path = f"{sandbox.path}/processes/{self.pid}"

    def now(self):
        answer = self.sandbox.client.send("GET", self.path)
        if answer.status != 200:
            raise AssertionError(f"expected 200: {answer}")
        return answer.json

    def ended(self, seconds=20):
        """Returns its details once it has ended."""
        if not host_view.wait_until(lambda: self.now()["state"] == "ended", seconds):
            raise AssertionError(f"it does not end: {self.now()}")
        return self.now()

    def post(self, what, **body):
        return self.sandbox.client.post(body, f"{self.path}/{what}")

    def output(self, start=0, encoding="utf-8"):
        answer = self.sandbox.client.send("GET", f"{self.path}/output?from={start}&encoding={encoding}")
        if answer.status != 200:
            raise AssertionError(f"expected 200: {answer}")
        return answer.json

    def text(self, start=0):
        """Returns the kept output of both its streams."""
        return "".join(piece["data"] for piece in self.output(start)["pieces"])

    def says(self, text, seconds=20):
        """Waits until `text` is in its output."""
        if not host_view.wait_until(lambda: text in self.text(), seconds):
            raise AssertionError(f"it does not say {text!r}: {self.output()}")

    def delete(self):
        return self.sandbox.client.send("DELETE", self.path)


class Sandbox:
    """A sandbox that was made; `client` is its owner's."""

    def __init__(self, client, made):
        self.client, self.made, self.id = client, made, made["id"]
        self.path = f"/v1/sandboxes/{self.id}"

    def now(self):
        answer = self.client.send("GET", self.path)
        if answer.status != 200:
            raise AssertionError(f"expected 200: {answer}")
        return answer.json

    def change(self, **fields):
        return self.client.send("PATCH", self.path, json.dumps(fields).encode(), **{"Content-Type": "application/json"})

    def delete(self):
        return self.client.send("DELETE", self.path)

    def ask_to(self, what):
        return self.client.send("POST", f"{self.path}/{what}")

    def pause(self):
        answer = self.ask_to("pause")
        if (answer.status, answer.json.get("state")) != (200, "paused"):
            raise AssertionError(f"expected 200 and paused: {answer}")
        return answer.json

    # Processes: `command` is a list of arguments, or a script for bash.

    def ask(self, command, **fields):
        return self.client.post({"command": command, **fields}, f"{self.path}/processes")

    def run(self, command, **fields):
        """Runs a process in the foreground; returns it with its output."""
        answer = self.ask(command, **{"timeout_seconds": time_scale.scaled(60), **fields})
        if answer.status != 200:
            raise AssertionError(f"expected 200: {answer}")
        return answer.json

    def python(self, code, *arguments, **fields):
        return self.run(["python3", "-c", code, *arguments], **fields)

    def start(self, command, **fields):
        answer = self.ask(command, background=True, **fields)
        if answer.status != 201:
            raise AssertionError(f"expected 201: {answer}")
        return Process(self, answer.json)

    def processes(self):
        return self.client.send("GET", f"{self.path}/processes").json["processes"]

    # Files: `path` is absolute, and encoded here.

    def file_path(self, path):
        return f"{self.path}/files/{urllib.parse.quote(path.lstrip('/'))}"

    def get(self, path, query="", **headers):
        return self.client.send("GET", self.file_path(path) + query, **headers)

    def put(self, path, body, query="", **headers):
        return self.client.send("PUT", self.file_path(path) + query, body,
                                **{"Content-Type": "application/octet-stream", **headers})

    def remove(self, path, query=""):
        return self.client.send("DELETE", self.file_path(path) + query)

    def act(self, path, **fields):
        return self.client.post(fields, self.file_path(path))


class SandboxTest(live_server.ServerTest):
    environment = {"JOBS_PATH": ":memory:"}

    def make(self, client=None, **fields):
        """A sandbox that is deleted when the test is over."""
        client = client or self.client
        answer = client.post(fields, "/v1/sandboxes")
        self.assertEqual(201, answer.status, answer)
        sandbox = Sandbox(client, answer.json)
        self.addCleanup(sandbox.delete)
        return sandbox

    def client_with(self, key):
        client = self.server.client(**{"X-API-Key": key})
        self.addCleanup(client.close)
        return client

    def stream(self, method, path, body=None, accept=event_stream.SSE, **headers):
        stream = event_stream.Stream(self.server.port, method, path, body, accept, **headers)
        self.addCleanup(stream.close)
        return stream

    def events_of(self, stream):
        """Returns all events, after checking what holds for every stream of a process."""
        self.assertEqual((200, stream.accept), (stream.status, stream.headers["Content-Type"]))
        events = list(stream)
        self.assertEqual(list(range(1, len(events) + 1)), [event["seq"] for event in events])
        types = [event["type"] for event in events]
        self.assertEqual((1, "exit"), (types.count("exit"), types[-1]))
        return events

    @staticmethod
    def said(events, *streams):
        return "".join(event["data"] for event in events if event["type"] in (streams or ("stdout", "stderr")))

    def assert_problem(self, status, code, answer, *fragments):
        self.assertEqual((status, "application/problem+json"), (answer.status, answer.headers["Content-Type"]), answer)
        self.assertEqual(code, answer.json["code"], answer)
        for fragment in fragments:
            self.assertIn(fragment, answer.json["detail"])

    def assert_bad_field(self, answer, *fragments):
        """Expects one of the codes for an invalid field."""
        self.assertIn(answer.json.get("code"), ("bad_request", "bad_json", "unknown_field", "missing_field", "out_of_range"), answer)
        self.assert_problem(400, answer.json["code"], answer, *fragments)

    def on_host(self, word):
        """The server's processes whose command line has `word` in it, as the host numbers them."""
        return [pid for pid, line in self.server.processes().items() if word in line]

    def started_on_host(self, word):
        """The one process that `on_host()` finds, once it is there: a process has no command line while execve(2) replaces its program."""
        found = []

        def is_there():
            found[:] = self.on_host(word)
            return len(found) == 1

        self.wait_for(is_there)
        return found[0]

    def wait_until_gone(self, word, seconds=10):
        self.assertTrue(host_view.wait_until(lambda: not self.on_host(word), seconds), self.on_host(word))

    def wait_until_ended(self, sandbox, seconds=20):
        """Waits without asking for the sandbox itself, which would keep it from being idle. Returns its details."""
        def has_ended():
            page = sandbox.client.send("GET", "/v1/sandboxes?state=ended&limit=200").json
            return sandbox.id in [each["id"] for each in page["sandboxes"]]

        self.assertTrue(host_view.wait_until(has_ended, seconds), "it goes on")
        return sandbox.now()
