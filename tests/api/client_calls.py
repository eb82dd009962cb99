"""Checks the requests of a client library against the description of the interface: each operation, and each field
of it."""
import contextlib
import http.server
import json
import re
import socket
import threading
import urllib.parse

# Operations for which a client has no method, and why.
LEFT_OUT = {
    "stream": "the events of execute come over plain HTTP as well",
    "wsStream": "the same",
    "healthz": "health, under the name that probes ask for",
    "root": "where openapi() asks",
    **dict.fromkeys(("enterPort", "askPort", "postToPort", "putToPort", "patchAtPort", "deleteAtPort"),
                    "a server in a sandbox, which speaks as it likes; port_url says where it is"),
    "openTunnel": "the same by TCP; tunnel_url says where it is",
    "mcp": "for clients of MCP",
    "sandboxMcp": "for clients of MCP",
}
LEFT_OUT_TAGS = {"named sandboxes": "the same sandboxes in the terms of other systems, for their clients"}
# Parameters that no method has, and why.
LEFT_OUT_PARAMETERS = {
    "follow": "`Accept` asks for the same",
    "expires": "of signed URLs, which are whole as they are given",
}
# The argument for a parameter of that name; all other parameters get a text.
BY_NAME = {
    "path": "/x", "move_to": "/y", "port": 1, "pid": 1, "columns": 1, "rows": 1, "timeout_seconds": 1, "answer_seconds": 60,
    "files": {"a": "b"}, "limits": {}, "recursive": True, "start": 1, "end": 2, "keep_stdin_open": True, "close": True, "group": True,
    "limit": 1, "depth": 1,
}
METHODS = ("get", "put", "post", "patch", "delete")
REFUSED = {"type": "about:blank", "title": "I'm a teapot", "status": 418, "code": "teapot", "detail": "all is refused here"}


def value_for(name):
    return BY_NAME.get(name, "x")


class Recorder:
    """A server that refuses every request, and records it."""

    def __init__(self):
        requests = self.requests = []

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version, wbufsize = "HTTP/1.1", -1

            def answer(self):
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                is_json = self.headers.get("Content-Type") == "application/json"
                requests.append((self.command.lower(), self.path, json.loads(body) if is_json else None))
                answer = json.dumps(REFUSED).encode()
                self.send_response(REFUSED["status"])
                self.send_header("Content-Type", "application/problem+json")
                self.send_header("Content-Length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            do_GET = do_PUT = do_POST = do_PATCH = do_DELETE = answer

            def log_message(self, *_):
                pass

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def stop(self):
        self._server.shutdown()
        self._server.server_close()


class RefusesAtOnce:
    """A server that refuses uploads as soon as they begin, and reads on as long as they go on."""

    def __init__(self):
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self):
        body = json.dumps({"status": 507, "code": "disk_full", "detail": "full"}).encode()
        head = f"HTTP/1.1 507 Full\r\nConnection: close\r\nContent-Length: {len(body)}\r\n\r\n".encode()
        with contextlib.suppress(OSError):  # the listener is closed in the end
            while True:
                connection, _ = self._listener.accept()
                with connection, contextlib.suppress(ConnectionError):
                    connection.recv(65536)
                    connection.sendall(head + body)
                    while connection.recv(1 << 20):
                        pass

    def stop(self):
        self._listener.close()


class Description:
    """/openapi.json, as far as it is needed here."""

    def __init__(self, document):
        self.document = document
        self.operations = {}  # by id: method, pattern of the path, parameters behind the ?, fields of the body
        for path, item in document["paths"].items():
            if path.startswith("/api/v1/"):
                continue  # copies, and other systems' paths
            for method in METHODS:
                if operation := item.get(method):
                    self.operations[operation["operationId"]] = (method, path, *self._named(item, operation))

    def wanted(self):
        """The ids of operations for which a client has a method."""
        tags = {operation["operationId"]: operation["tags"] for item in self.document["paths"].values()
                for method, operation in item.items() if method in METHODS}
        return {name for name in self.operations if name not in LEFT_OUT and not LEFT_OUT_TAGS.keys() & set(tags[name])}

    def operation_of(self, method, path):
        """The id of a request's operation. A path without braces has precedence over one with braces."""
        fitting = [name for name, (its_method, pattern, *_) in self.operations.items()
                   if its_method == method and self._fits(path, pattern)]
        return min(fitting, key=lambda name: self.operations[name][1].count("{"), default=None)

    def resolved(self, value):
        while "$ref" in value:
            found = self.document
            for part in value["$ref"].removeprefix("#/").split("/"):
                found = found[part]
            value = found
        return value

    def schema(self, *path):
        """The members of a schema below components, or of one in it by `path`."""
        found = self.resolved(self.document["components"]["schemas"][path[0]])
        for part in path[1:]:
            found = self.resolved(found[part])
        return set(found["properties"])

    def answer(self, operation):
        """The members of an operation's answer with 200."""
        method, path, *_ = self.operations[operation]
        content = self.document["paths"][path][method]["responses"]["200"]["content"]
        return self.resolved(content["application/json"]["schema"])["properties"]

    def _named(self, item, operation):
        parameters = [self.resolved(each) for each in (*item.get("parameters", ()), *operation.get("parameters", ()))]
        query = {each["name"] for each in parameters if each["in"] == "query"} - LEFT_OUT_PARAMETERS.keys()
        schema = self.resolved(operation.get("requestBody", {})).get("content", {}).get("application/json", {}).get("schema", {})
        fields = set()
        for each in schema.get("oneOf", [schema]):
            fields |= self.resolved(each).get("properties", {}).keys()
        return query, fields

    @staticmethod
    def _fits(path, pattern):
        regular = re.sub(r"\\{path\\}", ".+", re.escape(pattern))
        return re.fullmatch(re.sub(r"\\{[^}]*\\}", "[^/]+", regular), path) is not None


def assert_all_is_asked_for(test, description, requests):
    """`requests` are those that a Recorder has of a client, each of whose methods was called with each of its
    parameters."""
    seen = {}
    for method, target, body in requests:
        parts = urllib.parse.urlsplit(target)
        name = description.operation_of(method, parts.path)
        test.assertIsNotNone(name, f"no operation: {method} {target}")
        query, fields = seen.setdefault(name, (set(), set()))
        query.update(urllib.parse.parse_qs(parts.query, keep_blank_values=True).keys() - LEFT_OUT_PARAMETERS.keys())
        fields.update(body or {})
    test.assertEqual(description.wanted(), seen.keys())
    for name, (query, fields) in seen.items():
        with test.subTest(name):
            test.assertEqual(description.operations[name][2:], (query, fields))


def assert_nothing_is_left_out_in_vain(test, description):
    test.assertLessEqual(LEFT_OUT.keys(), description.operations.keys())
    tags = {tag for item in description.document["paths"].values() for method, operation in item.items() if method in METHODS
            for tag in operation["tags"]}
    test.assertLessEqual(LEFT_OUT_TAGS.keys(), tags)


# The schema, or the part of one, for types of answers whose name the description does not have.
ELSEWHERE = {
    "Artifact": ("RunResult", "properties", "artifacts", "items"),
    "NetworkDecision": ("RunResult", "properties", "network", "items"),
    "SkippedArtifact": ("RunResult", "properties", "artifacts_skipped", "items"),
    "Timings": ("RunResult", "properties", "timings_us"),
    "Vote": ("Attempt", "properties", "votes", "items"),
    "BenchmarkTask": ("BenchmarkReport", "properties", "tasks", "items"),
    "Lesson": ("LessonPage", "properties", "lessons", "items"),
    "SandboxDetails": ("Sandbox",),
    "SandboxLimits": ("Sandbox", "properties", "limits"),
    "MetricLimits": ("SandboxMetrics", "properties", "limits"),
    "NetworkUse": ("SandboxMetrics", "properties", "network"),
    "SandboxPort": ("Sandbox", "properties", "ports", "items"),
    "SandboxVolume": ("Sandbox", "properties", "volumes", "items"),
    "VolumeUser": ("Volume", "properties", "sandboxes", "items"),
    "ProcessDetails": ("Process",),
    "OutputPiece": ("ProcessOutput", "properties", "pieces", "items"),
}
# The whole answers of operations, which have no name of their own in the description.
ANSWERS = {"SearchResult": "searchFiles", "SignedUrl": "signFileUrl", "Erased": "eraseLesson", "WebhookList": "listWebhooks",
           "ProcessList": "listProcesses", "TemplateList": "listTemplates"}


def members_of(description, name):
    """The members that the description gives the type `name` of an answer."""
    if name in ANSWERS:
        return set(description.answer(ANSWERS[name]))
    if name == "SearchMatch":
        return set(description.answer("searchFiles")["matches"]["items"]["properties"])
    if name == "Critique":
        one_of = description.document["components"]["schemas"]["Attempt"]["properties"]["critique"]["oneOf"]
        return set(one_of[0]["properties"])
    return description.schema(*ELSEWHERE.get(name, (name,)))
