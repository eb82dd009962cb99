"""What belongs to one key does not exist for another, on any route that names one thing."""
import json
import uuid

import live_server
from living_sandbox import SandboxTest

NO_SANDBOX = "a" * 26
# What is named there belongs to nobody.
OF_THE_SERVER = ("/v1/templates/", "/api/v1/config/", "/api/v1/pool/", "/api/v1/telemetry/")


class Strangers(SandboxTest):
    @classmethod
    def setUpClass(cls):
        cls.environment = {"API_KEYS": "first-key,second-key", "SANDBOX_WEBHOOKS_ALLOW": "http://127.0.0.1:9",
                           **live_server.place_for_volumes(cls)}
        super().setUpClass()

    # What a request needs to be valid; otherwise the answer would say nothing about the named thing.
    NEEDS = {
        ("POST", "/processes"): {"command": ["true"]}, ("POST", "/stdin"): {"data": "x"}, ("POST", "/signal"): {"signal": 9},
        ("POST", "/resize"): {"columns": 80, "rows": 24}, ("POST", "/files/{path}"): {"make_directory": True},
        ("POST", "/sign"): {"path": "/workspace/x", "method": "GET"}, ("GET", "/search"): "?query=x",
        ("POST", "/mcp"): {"jsonrpc": "2.0", "id": 1, "method": "ping"}, ("GET", "/files/{path}"): "?list=true",
        ("GET", "/api/v1/sandbox/files/{id}"): "?path=/workspace", ("DELETE", "/api/v1/sandbox/files/{id}"): "?path=/workspace/x",
        ("GET", "/download"): "?path=/workspace/x", ("POST", "/upload"): None, ("PATCH", "/v1/webhooks/{id}"): {"name": "x"}}

    def routes(self, pid):
        """Yields each described route that names one thing: method, path with {id}, body."""
        parameters = {"{name}": "{id}", "{pid}": str(pid), "{port}": "8000", "{path}": "workspace/x"}
        for path, methods in self.client.send("GET", "/openapi.json").json["paths"].items():
            if "{" not in path or path.startswith(OF_THE_SERVER):
                continue
            for method in {name.upper() for name in methods} & {"GET", "POST", "PUT", "PATCH", "DELETE"}:
                needs = next((what for (verb, end), what in self.NEEDS.items() if verb == method and path.endswith(end)), {})
                filled = path
                for name, value in parameters.items():
                    filled = filled.replace(name, value)
                yield method, filled + (needs if isinstance(needs, str) else ""), {} if isinstance(needs, str) else needs

    def test_of_another_key_it_is_not_there_on_any_route(self):
        first, stranger = self.client_with("first-key"), self.client_with("second-key")
        mine = self.make(first, name="mine")
        pid = mine.start(["sleep", "50"]).pid
        job = first.post({"code": "print(1)"}).json["job_id"]
        webhook = first.post({"url": "http://127.0.0.1:9/", "events": ["ended"]}, "/v1/webhooks").json["id"]
        volume = first.post({"name": "mine", "size_mb": 1}, "/v1/volumes").json["id"]
        # For each part of a path: what exists for its own key, under all its names, and what exists for nobody.
        things = {"/jobs/": [job, str(uuid.uuid4())], "/lessons/": ["1", "2"], "/webhooks/": [webhook, "none"],
                  "/volumes/": [volume, "mine", "none"],
                  "sandbox": [mine.id, "mine", NO_SANDBOX, "nobody"]}
        asked = dict.fromkeys(things, 0)
        for method, path, body in self.routes(pid):
            with self.subTest(f"{method} {path}"):
                kind = next(part for part in things if part in path)
                asked[kind] += 1
                said = []
                for whose in things[kind]:
                    answer = stranger.send(method, path.replace("{id}", whose), None if method == "GET" else json.dumps(body).encode(),
                                           **{"Content-Type": "application/json", "Accept": "application/json, text/event-stream"})
                    self.assertEqual(404, answer.status, answer)
                    said.append(answer.body.decode().replace(whose, ""))
                self.assertEqual(1, len(set(said)), said)
                self.assertEqual(401, self.client.send(method, path.replace("{id}", things[kind][0])).status)
        self.assertGreaterEqual(asked["sandbox"], 40)
        self.assertEqual((6, 2, 5, 3), tuple(asked[kind] for kind in ("/jobs/", "/lessons/", "/webhooks/", "/volumes/")))
        self.assertEqual([], stranger.send("GET", "/v1/volumes").json["volumes"])
        self.assertEqual(([], [], []), (stranger.send("GET", "/v1/sandboxes?state=running").json["sandboxes"],
                                        stranger.send("GET", "/jobs").json["jobs"], stranger.send("GET", "/v1/webhooks").json["webhooks"]))
        # The requests have changed nothing.
        self.assertEqual(("running", 1), tuple(mine.now()[name] for name in ("state", "processes")))
        self.assertEqual(200, first.send("GET", f"/jobs/{job}").status)
        self.assertEqual("", first.send("GET", f"/v1/webhooks/{webhook}").json["name"])
