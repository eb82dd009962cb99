"""A key does what its scopes say, at every route and through every tool, and nothing else."""
import re

import live_server
import time_scale
from living_sandbox import SandboxTest

SCOPES = ("execute", "sandboxes", "read", "metrics")
METHODS = {"get", "post", "put", "patch", "delete", "head", "options"}  # of the members of a path that are operations
NO_SANDBOX = "a" * 26
HANDSHAKE = {"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13",
             "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ=="}


class OfEachScope(SandboxTest):
    """Each key is named after its scope. All except `stranger` belong to one tenant."""
    @classmethod
    def setUpClass(cls):
        cls.environment = {"API_KEYS": ",".join((*SCOPES, "whole", "stranger")), "API_KEY_SCOPES": ",".join((*SCOPES, "all", "all")),
                           "API_KEY_TENANTS": "team," * 5 + "others", "SANDBOX_WEBHOOKS_ALLOW": "http://127.0.0.1:9",
                           **live_server.place_for_volumes(cls)}
        super().setUpClass()

    def assert_lacks(self, scope, answer):
        self.assert_problem(403, "missing_scope", answer)
        self.assertEqual(f'this key lacks the scope "{scope}"', answer.json["detail"])
        self.assertIn("API_KEY_SCOPES", answer.json["remedy"])


class Routes(OfEachScope):
    def scope_of(self, operation, document):
        """Returns the scope in the description; None: any key is enough, or none is needed."""
        ways = operation.get("security", document["security"])
        self.assertLessEqual({scheme for way in ways for scheme in way}, set(document["components"]["securitySchemes"]))
        named = {role for way in ways for roles in way.values() for role in roles}
        self.assertLessEqual(len(named), 1, operation["operationId"])
        return named.pop() if named else None

    def check(self, method, path, needed, key, answer):
        lacks = needed is not None and key != needed
        self.assertEqual(lacks, answer.status == 403, f"{key}: {method} {path}: {answer}")
        self.assertNotEqual(401, answer.status, f"{key}: {method} {path}")
        if not lacks or method == "HEAD":
            return
        if answer.headers["Content-Type"] == "application/problem+json":
            self.assert_lacks(needed, answer)
        else:
            self.assertTrue(path.startswith("/api/v1/"), path)
            self.assertIn(f'lacks the scope "{needed}"', answer.json["error"])

    def test_every_route_is_for_the_scope_that_its_description_names(self):
        clients = {scope: self.client_with(scope) for scope in SCOPES}
        asked = dict.fromkeys((*SCOPES, None), 0)
        document = self.client.send("GET", "/openapi.json").json
        for path, methods in document["paths"].items():
            filled = re.sub(r"\{[^}]*\}", NO_SANDBOX, path)
            for method in METHODS & set(methods):
                needed = self.scope_of(methods[method], document)
                asked[needed] += 1
                for key, client in clients.items():
                    # No route expects a list, so an allowed request does nothing.
                    answer = client.send(method.upper(), filled, b"[]" if method in ("post", "put", "patch") else None,
                                         **{"Content-Type": "application/json"})
                    self.check(method.upper(), path, needed, key, answer)
        self.assertTrue(all(asked[scope] >= 6 for scope in SCOPES) and sum(asked.values()) > 90, asked)

    def test_a_handshake_needs_the_scope_as_well(self):
        sandbox = self.make(self.client_with("sandboxes"))
        for path, needed in (("/stream", "execute"), ("/ws/stream", "execute"), (f"{sandbox.path}/terminal", "sandboxes"),
                             (f"{sandbox.path}/ports/8000/", "sandboxes"), (f"{sandbox.path}/tunnel?port=8000", "sandboxes")):
            for key in set(SCOPES) - {needed}:
                with self.subTest(f"{key}: {path}"):
                    self.assert_lacks(needed, self.client_with(key).send("GET", path, **HANDSHAKE))
        for key in set(SCOPES) - {"sandboxes"}:
            answer = self.client_with(key).send("GET", f"/api/v1/terminal/sandbox/{sandbox.id}/ws", **HANDSHAKE)
            self.assertEqual(403, answer.status, answer)
            self.assertIn('lacks the scope "sandboxes"', answer.json["error"])


class Used(OfEachScope):
    def test_each_key_does_what_it_is_for(self):
        ran = self.client_with("execute").execute("print(6 * 7)")
        self.assertEqual("42\n", ran["stdout"])
        sandbox = self.make(self.client_with("sandboxes"), name="shared")
        self.assertEqual("in\n", sandbox.run("echo in")["stdout"])
        self.assertEqual(201, sandbox.put("/workspace/x", b"text").status)
        self.assertIn(b"agent_sandbox_", self.client_with("metrics").send("GET", "/metrics").body)
        # Every key of a tenant that may read can read what the tenant owns.
        reader = self.client_with("read")
        self.assertEqual(ran["job_id"], reader.send("GET", f"/jobs/{ran['job_id']}").json["job_id"])
        self.assertEqual(b"text", reader.send("GET", sandbox.file_path("/workspace/x")).body)
        self.assertIn(sandbox.id, [each["id"] for each in reader.send("GET", "/v1/sandboxes").json["sandboxes"]])
        stranger = self.client_with("stranger")
        self.assertEqual(404, stranger.send("GET", f"/jobs/{ran['job_id']}").status)
        self.assertEqual(404, stranger.send("GET", sandbox.path).status)

    def test_a_key_that_reads_gets_no_secret_that_does_more(self):
        sandbox = self.make(self.client_with("sandboxes"))
        reader, whole = self.client_with("read"), self.client_with("whole")
        token = whole.send("GET", sandbox.path).json["access_token"]
        self.assertEqual(sandbox.made["access_token"], token)
        self.assertIsNone(reader.send("GET", sandbox.path).json["access_token"])
        port = f"{sandbox.path}/ports/8000/"
        self.assert_lacks("sandboxes", reader.send("GET", port))
        for client in (reader, self.client):
            # The token opens it as before; no server listens there.
            self.assert_problem(502, "port_closed", client.send("GET", port, **{"X-Access-Token": token}))
        self.assert_lacks("sandboxes", reader.post({"path": "/workspace/x"}, f"{sandbox.path}/sign"))

    def test_a_key_that_reads_resumes_nothing(self):
        sandbox = self.make(self.client_with("sandboxes"))
        self.assertEqual(201, sandbox.put("/workspace/x", b"text").status)
        self.assertEqual(200, sandbox.client.post({}, f"{sandbox.path}/pause").status)
        reader = self.client_with("read")
        self.assert_problem(409, "sandbox_paused", reader.send("GET", sandbox.file_path("/workspace/x")))
        self.assertEqual("paused", reader.send("GET", sandbox.path).json["state"])
        # A key that may change the sandbox resumes it by its request, and the other one can read then.
        self.assertEqual("in\n", sandbox.run("echo in")["stdout"])
        self.assertEqual(b"text", reader.send("GET", sandbox.file_path("/workspace/x")).body)

    def test_figures_of_the_whole_server_are_for_those_who_measure(self):
        for key in SCOPES:
            with self.subTest(key):
                self.assertEqual(key == "metrics", "runs" in self.client_with(key).send("GET", "/health").json)
        for key in ("read", "whole"):
            with self.subTest(key):
                templates = self.client_with(key).send("GET", "/v1/templates").json["templates"]
                self.assertEqual({key == "whole"}, {"ready" in each for each in templates})
        self.make(self.client_with("sandboxes"))
        for key in SCOPES:
            with self.subTest(key):
                told = self.client_with(key).send("GET", "/api/v1/ratelimit").json["data"]["sandboxes"]["used"]
                self.assertEqual(key == "read", told is not None)

    def test_a_signed_url_is_for_its_operation_whichever_key_is_shown(self):
        sandbox = self.make(self.client_with("sandboxes"))
        signed = sandbox.client.post({"path": "/workspace/x", "operation": "write"}, f"{sandbox.path}/sign").json["url"]
        target = "/" + signed.split("/", 3)[3]
        for client in (self.client, self.client_with("metrics"), self.client_with("read")):
            answer = client.send("PUT", target, b"text", **{"Content-Type": "application/octet-stream"})
            self.assertIn(answer.status, (200, 201), answer)
        self.assertEqual(401, self.client_with("whole").send("GET", target).status)

    def test_tools_of_models_need_the_scope_of_what_they_do(self):
        def call(key, name, path="/mcp", **arguments):
            message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": name, "arguments": arguments}}
            return self.client_with(key).post(message, path, Accept="application/json, text/event-stream").json["result"]

        sandbox = self.make(self.client_with("sandboxes"))
        for key in SCOPES:
            for name, needed, arguments in (("execute_code", "execute", {"code": "print(1)", "timeout_seconds": time_scale.timeout(5)}),
                                            ("run_command", "sandboxes", {"sandbox": sandbox.id, "command": ["true"]}),
                                            ("run_code", "sandboxes", {"sandbox": sandbox.id, "code": "pass"}),
                                            ("list_files", "read", {"sandbox": sandbox.id})):
                with self.subTest(f"{key}: {name}"):
                    result = call(key, name, **arguments)
                    self.assertEqual(key != needed, result["isError"], result)
                    if key != needed:
                        self.assertIn(f'lacks the scope "{needed}"', result["content"][0]["text"])
        inner = call("read", "sandboxExecutor", sandbox_name=sandbox.id, tool_name="run_command", arguments={"command": ["true"]})
        self.assertIn('lacks the scope "sandboxes"', inner["content"][0]["text"])
        one = call("read", "run_command", f"/sandbox/{sandbox.id}/mcp", command=["true"])
        self.assertIn('lacks the scope "sandboxes"', one["content"][0]["text"])


class Settings(live_server.ServerTest):
    def refuses(self, **environment):
        with self.assertRaises(live_server.DidNotStart) as refused:
            live_server.LiveServer(environment=environment).stop()
        return str(refused.exception)

    def test_what_is_not_understood_stops_the_start(self):
        for name, value, words in (("API_KEY_SCOPES", "all,red", "execute, sandboxes, read and metrics"),
                                   ("API_KEY_SCOPES", "all", "one for each key"), ("API_KEY_TENANTS", "a,b,c", "one for each key"),
                                   ("API_KEY_TENANTS", "a,b c", "letters, digits")):
            with self.subTest(f"{name}={value}"):
                said = self.refuses(API_KEYS="s3cret-one,s3cret-two", **{name: value})
                self.assertIn(name, said)
                self.assertIn(words, said)
                self.assertNotIn("s3cret", said)

    def test_a_key_is_for_one_thing(self):
        said = self.refuses(API_KEYS="s3cret-one,s3cret-one", API_KEY_SCOPES="read,all")
        self.assertIn("API_KEYS: keys 1 and 2", said)
        self.assertNotIn("s3cret", said)
