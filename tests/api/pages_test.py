"""What a page in somebody's browser may try against a server on that machine: it has no key, but it is inside."""
import json

import live_server

REBOUND = ("evil.example", "evil.example:8000", "localhost.evil.example", "127.0.0.1.evil.example", "127.0.0.1.nip.io", "10.0.0.1",
           "0.0.0.0", "[::2]", "[::1].evil.example", "localhost, evil.example", "localhost@evil.example", "", "127.1", "0x7f000001")
BODY = json.dumps({"code": "print(6*7)"}).encode()


class Pages(live_server.ServerTest):
    environment = {"JOBS_PATH": ":memory:"}

    def allows_nobody(self, answer):
        given = [name for name in answer.headers if name.lower().startswith("access-control-")]
        self.assertEqual([], given, answer)

    def test_a_name_that_was_rebound_is_refused(self):
        for host in REBOUND:
            with self.subTest(host):
                for method, path in (("GET", "/health"), ("GET", "/jobs"), ("GET", "/openapi.json"), ("GET", "/stream"), ("GET", "/none")):
                    self.assertEqual(421, self.client.send(method, path, Host=host).status, path)
                answer = self.client.post(BODY, Host=host)
                self.assertEqual(421, answer.status)
                self.assertIn("Host", answer.json["detail"])
        self.assertEqual(0, self.client.send("GET", "/stats").json["runs"]["total"])

    def test_control_local_names_are_served(self):
        for host in ("localhost", "LocalHost:1", "127.0.0.1", "127.9.9.9:80", "[::1]:8000"):
            self.assertEqual(200, self.client.send("GET", "/health", Host=host).status, host)

    def test_a_preflight_is_not_answered(self):
        for path in ("/execute", "/api/v1/execute", "/jobs", "/jobs/x", "/health"):
            for method in ("POST", "GET", "DELETE"):
                answer = self.client.send("OPTIONS", path, Origin="https://evil.example", **{
                    "Access-Control-Request-Method": method, "Access-Control-Request-Headers": "content-type, x-api-key",
                    "Access-Control-Request-Private-Network": "true"})
                self.assertEqual(405, answer.status, path)
                self.allows_nobody(answer)

    def test_no_answer_is_for_other_sites(self):
        for origin in ("https://evil.example", "null", "http://localhost:3000", f"http://127.0.0.1:{self.server.port}"):
            for answer in (self.client.send("GET", "/health", Origin=origin), self.client.send("GET", "/jobs", Origin=origin),
                           self.client.send("GET", "/none", Origin=origin), self.client.post(BODY, Origin=origin),
                           self.client.post(b"{", Origin=origin)):
                self.allows_nobody(answer)
                self.assertEqual("nosniff", answer.headers["X-Content-Type-Options"])
                self.assertEqual("no-store", answer.headers["Cache-Control"])

    def test_what_a_form_can_send_is_not_read(self):
        before = self.client.send("GET", "/stats").json["runs"]["total"]
        for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "text/plain; application/json",
                     "text/plain;charset=application/json", "application/json, text/plain", "application/csp-report", "", " "):
            with self.subTest(kind):
                self.assertEqual(415, self.client.post(BODY, Origin="https://evil.example", **{"Content-Type": kind}).status)
        self.assertEqual(415, self.client.send("POST", "/execute", BODY).status)
        self.assertEqual(before, self.client.send("GET", "/stats").json["runs"]["total"])

    def test_reading_changes_nothing(self):
        job = self.execute("pass")["job_id"]
        for method in ("GET", "HEAD"):
            for path in ("/execute", "/stream", f"/jobs/{job}"):
                self.client.send(method, path + "?code=print(1)&_method=DELETE", **{"X-HTTP-Method-Override": "DELETE"})
        self.assertEqual(1, len([one for one in self.client.send("GET", "/jobs").json["jobs"] if one["job_id"] == job]))


class Allowed(live_server.ServerTest):
    environment = {"JOBS_PATH": ":memory:", "API_ALLOWED_HOSTS": "sandbox.example,Other.example"}

    def test_names_that_were_allowed_are_served_and_no_others(self):
        for host, status in (("sandbox.example", 200), ("SANDBOX.example:443", 200), ("other.example", 200), ("localhost", 200),
                             ("a.sandbox.example", 421), ("sandbox.example.evil", 421), ("sandbox.exampl", 421)):
            self.assertEqual(status, self.client.send("GET", "/health", Host=host).status, host)
