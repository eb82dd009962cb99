"""What later clients of /api/v1/sandbox send, the server in a sandbox below /sandbox, pools, configuration and telemetry."""
import living_sandbox
from named_sandboxes_test import NamedTest

SERVER = ("import http.server, sys\n"
          "class Handler(http.server.BaseHTTPRequestHandler):\n"
          "    def answer(self):\n"
          "        body = self.rfile.read(int(self.headers.get('Content-Length', 0)))\n"
          "        text = f\"{self.command} {self.path} {body.decode()} {self.headers.get('X-Forwarded-Prefix')} {self.server.server_port}\".encode()\n"
          "        self.send_response(200)\n"
          "        self.send_header('Content-Length', str(len(text)))\n"
          "        self.end_headers()\n"
          "        self.wfile.write(text)\n"
          "    do_GET = do_POST = do_DELETE = answer\n"
          "    def log_message(self, *_): pass\n"
          "server = http.server.HTTPServer(('127.0.0.1', int(sys.argv[1])), Handler)\n"
          "print('listens', flush=True)\n"
          "server.serve_forever()\n")


class LaterClients(NamedTest):
    def at_v1(self, name):
        return self.client.send("GET", f"/v1/sandboxes/{name}").json

    def lives(self, name):
        seen = self.at_v1(name)
        return living_sandbox.moment(seen["ends_at"]) - living_sandbox.moment(seen["created_at"])

    def test_they_count_in_seconds(self):
        seen = self.made("later", template="python", envVars={"COLOUR": "blue"}, metadata={"team": "red"}, timeout=300, idle_timeout=120,
                         autoPause=True, autoResume=False, port=9000, app="shop")
        self.assertEqual(("python", 5, 2, "scaledown", [9000], "shop"),
                         tuple(seen[name] for name in ("environment", "timeout", "idle_timeout", "idle_policy", "ports", "app")))
        at_v1 = self.at_v1("later")
        self.assertEqual(({"team": "red", "app": "shop"}, "pause", False), tuple(at_v1[name] for name in ("metadata", "on_timeout", "auto_resume")))
        self.assertEqual("blue\n", self.run_in("later", "echo $COLOUR")["output"])
        self.assertAlmostEqual(300, self.lives("later"), delta=5)

    def test_their_defaults(self):
        seen = self.made("plain", template="none")
        self.assertEqual((30, None), (seen["timeout"], seen["idle_timeout"]))
        self.made("endless", template="none", timeout=-1, idle_timeout=-1)
        self.assertAlmostEqual(86400, self.lives("endless"), delta=5)
        self.assertEqual(60, self.made("earlier", environment="none")["timeout"])

    def test_what_they_may_not(self):
        for fields, *words in (({"timeout": 86401}, "timeout: expected an integer -1 .. 86400 seconds"), ({"timeout": -2}, "timeout: "),
                               ({"idle_timeout": 3001}, "idle_timeout: ", "3000 seconds"), ({"timeout": "60"}, "timeout: "),
                               ({"port": 65536}, "port: "), ({"port": "80"}, "port: "), ({"envVars": {"A": 1}}, "envVars: "),
                               ({"metadata": {"A": 1}}, "metadata: "), ({"autoPause": "yes"}, "autoPause: "), ({"autoResume": "yes"}, "autoResume: "),
                               ({"template": "nosuch"}, "template: "), ({"cmd": "sleep"}, "cmd: "), ({"args": ["1"]}, "args: ")):
            self.refused(400, self.create(name="wrong", **{"template": "none", **fields}), *words)
        self.refused(404, self.client.send("GET", "/api/v1/sandbox/wrong"))


class Proxy(NamedTest):
    def serve(self, name, port):
        sandbox = living_sandbox.Sandbox(self.client, self.client.send("GET", f"/v1/sandboxes/{name}").json)
        sandbox.put("/workspace/server.py", SERVER.encode())
        sandbox.start(["python3", "server.py", str(port)]).says("listens")

    def test_the_usual_port_and_the_first_that_is_declared(self):
        for name, ports, port in (("usual", None, 8080), ("declared", [9001, 9002], 9001)):
            self.made(name, ports=ports)
            self.serve(name, port)
            answer = self.client.send("GET", f"/sandbox/{name}/a/b?c=d")
            self.assertEqual((200, f"GET /a/b?c=d  /sandbox/{name} {port}"), (answer.status, answer.body.decode()))
            self.assertEqual(f"POST / text /sandbox/{name} {port}", self.client.send("POST", f"/sandbox/{name}/", b"text").body.decode())
            self.assertEqual(f"DELETE /x  /sandbox/{name} {port}", self.client.send("DELETE", f"/sandbox/{name}/x").body.decode())
            answer = self.client.send("GET", f"/sandbox/{name}")
            self.assertEqual((308, f"/sandbox/{name}/"), (answer.status, answer.headers["Location"]))

    def test_nobody_is_there(self):
        self.made("silent")
        self.assertEqual(502, self.client.send("GET", "/sandbox/silent/").status)
        self.assertEqual(404, self.client.send("GET", "/sandbox/nobody/").status)


class Keys(NamedTest):
    environment = {"API_KEYS": "first-key,second-key"}

    def test_a_key_or_the_token_opens_it(self):
        mine, other = self.client_with("first-key"), self.client_with("second-key")
        self.made("closed", mine)
        token = mine.send("GET", "/v1/sandboxes/closed").json["access_token"]
        self.assertEqual(401, self.client.send("GET", "/sandbox/closed/").status)
        self.assertEqual(404, other.send("GET", "/sandbox/closed/").status)
        self.assertEqual(502, mine.send("GET", "/sandbox/closed/").status)
        self.assertEqual(502, self.client.send("GET", f"/sandbox/{mine.send('GET', '/v1/sandboxes/closed').json['id']}/", **{"X-Access-Token": token}).status)


class Pools(NamedTest):
    def test_what_waits(self):
        pools = {pool["name"]: pool for pool in self.done(self.client.send("GET", "/api/v1/pool"))["items"]}
        self.assertEqual(set(self.client.send("GET", "/stats").json["pools"]), set(pools))
        shown = self.done(self.client.send("GET", "/api/v1/pool/sandbox/python"))
        self.assertEqual(set(pools["python"]), set(shown))
        self.assertGreaterEqual(shown["size"], 1)
        self.refused(404, self.client.send("GET", "/api/v1/pool/sandbox/nosuch"), "no such pool: nosuch")
        self.refused(403, self.client.send("DELETE", "/api/v1/pool/python"), "SANDBOX_POOL_SIZE")
        self.refused(404, self.client.send("DELETE", "/api/v1/pool/nosuch"), "no such pool: nosuch")

    def test_configuration(self):
        templates = self.done(self.client.send("GET", "/api/v1/config/templates"))["items"]
        self.assertEqual([one["name"] for one in self.client.send("GET", "/v1/templates").json["templates"]], [one["name"] for one in templates])
        self.assertEqual({"size", "minSize", "maxSize"}, set(templates[0]["pool"]))
        seen = self.done(self.client.send("GET", "/api/v1/config/runtime"))
        self.assertEqual({"timeout": 60, "idle_timeout": 10, "workdir": "/workspace", "memory_limit": "1024Mi"}, seen["defaults"])
        self.assertEqual(1440, seen["limits"]["timeout"])
        self.refused(404, self.client.send("GET", "/api/v1/config/blueprint"), "no pod")
        self.refused(404, self.client.send("GET", "/api/v1/config/nosuch"), "no such configuration: nosuch")
        for kind, status, word in (("templates", 403, "SANDBOX_TEMPLATES_DIR"), ("runtime", 403, "operator"), ("blueprint", 404, "no pod")):
            self.refused(status, self.client.post({}, f"/api/v1/config/{kind}"), word)

    def test_telemetry(self):
        self.assertIs(False, self.done(self.client.send("GET", "/api/v1/telemetry/status"))["enabled"])
        for kind in ("summary", "timeseries", "by_user", "durations", "logs"):
            self.refused(404, self.client.send("GET", f"/api/v1/telemetry/{kind}?from=2026-01-01T00:00:00Z&to=2026-01-02T00:00:00Z"), "GET /metrics")
        self.refused(404, self.client.send("GET", "/api/v1/telemetry/nosuch"), "no such telemetry: nosuch")


class AtV1(NamedTest):
    def test_declared_ports(self):
        made = self.made("ports", ports=[8080, 9000])
        self.assertEqual([8080, 9000], made["ports"])
        path = f"/v1/sandboxes/{made['id']}/ports"
        self.assertEqual([{"port": 8080, "path": f"{path}/8080/", "host": None}, {"port": 9000, "path": f"{path}/9000/", "host": None}],
                         self.client.send("GET", "/v1/sandboxes/ports").json["ports"])
        sandbox = self.make(ports=[5000])
        self.assertEqual([5000], [one["port"] for one in sandbox.now()["ports"]])
        sandbox.delete()
        self.assertEqual([5000], [one["port"] for one in sandbox.now()["ports"]])
        self.assertEqual([], self.make().now()["ports"])
        for ports in (8000, [0], [65536], ["80"], [1.5], [80, 80], list(range(1, 66))):
            self.assertEqual(400, self.client.post({"ports": ports}, "/v1/sandboxes").status, ports)

    def test_what_a_new_sandbox_has_elsewhere(self):
        for name, word in (("args", "/processes"), ("cmd", "/processes"), ("command", "/processes"), ("image", "/v1/templates")):
            answer = self.client.post({name: ["x"]}, "/v1/sandboxes")
            self.assertEqual((400, "unknown_field"), (answer.status, answer.json["code"]))
            self.assertIn(word, answer.json["detail"])

    def test_found_by_several_entries_of_metadata(self):
        for team, colour in (("a", "red"), ("a", "blue"), ("b", "red")):
            self.make(metadata={"team": team, "a colour": colour})
        def found(query):
            answer = self.client.send("GET", f"/v1/sandboxes?state=running&{query}")
            self.assertEqual(200, answer.status, answer)
            return sorted((one["metadata"]["team"], one["metadata"]["a colour"]) for one in answer.json["sandboxes"])
        self.assertEqual([("a", "blue"), ("a", "red")], found("metadata.team=a"))
        self.assertEqual([("a", "red")], found("metadata.team=a&metadata.a%20colour=red"))
        self.assertEqual([("b", "red")], found("metadata=team:b&metadata.a+colour=red"))
        self.assertEqual([], found("metadata.nosuch=a"))
        for query in ("metadata.team=a&metadata.team=b", "metadata.%zz=a", "metadat.team=a"):
            self.assertEqual(400, self.client.send("GET", f"/v1/sandboxes?{query}").status, query)

    def test_one_template(self):
        templates = self.client.send("GET", "/v1/templates").json["templates"]
        shown = self.client.send("GET", f"/v1/templates/{templates[0]['name']}").json
        self.assertEqual({**templates[0], "ready": 0}, {**shown, "ready": 0})
        answer = self.client.send("GET", "/v1/templates/nosuch")
        self.assertEqual((404, "no_such_template"), (answer.status, answer.json["code"]))


if __name__ == "__main__":
    living_sandbox.live_server.main()
