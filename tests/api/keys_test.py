"""Who may send requests, and when the server refuses to start."""
import os
import pathlib
import subprocess
import tempfile
import unittest

import host_view
import live_server
import ordinary_user
import time_scale

KEY = "a-key-made-for-this-test"


class Keys(live_server.ServerTest):
    environment = {"API_KEYS": f"another-key,{KEY}"}

    def status(self, path="/execute", **headers):
        with self.server.client(**headers) as client:
            return client.post({"code": "print(6*7)"}, path)

    def test_without_a_key(self):
        answer = self.status()
        self.assertEqual(401, answer.status, answer)
        self.assertRegex(answer.headers["Content-Type"], "^application/problem\\+json")
        self.assertIn("WWW-Authenticate", answer.headers)

    def test_wrong_keys(self):
        for value in ("", "x", KEY[:-1], KEY + "x", KEY.upper(), "another-key," + KEY):
            with self.subTest(value):
                self.assertEqual(401, self.status(Authorization=f"Bearer {value}").status)
                self.assertEqual(401, self.status(**{"X-API-Key": value}).status)
        self.assertEqual(401, self.status(Authorization=KEY).status)
        self.assertEqual(401, self.status(Authorization=f"Basic {KEY}").status)
        self.assertEqual(401, self.status(path=f"/execute?api_key={KEY}").status)

    def test_right_keys(self):
        for headers in ({"Authorization": f"Bearer {KEY}"}, {"X-API-Key": KEY}, {"Authorization": f"bearer {KEY}"},
                        {"X-API-Key": "another-key"}):
            with self.subTest(headers):
                answer = self.status(**headers)
                self.assertEqual((200, "42\n"), (answer.status, answer.json.get("stdout")))

    def test_second_path_asks_too(self):
        self.assertEqual(401, self.status("/api/v1/execute").status)

    def test_key_is_asked_for_before_the_body_is_judged(self):
        with self.server.client() as client:
            self.assertEqual(401, client.post(b"{").status)

    def test_keys_are_in_no_log_and_no_answer(self):
        for level, log_format in (("info", "text"), ("debug", "json")):
            server = live_server.LiveServer(environment={**self.environment, "LOG_LEVEL": level, "LOG_FORMAT": log_format})
            self.addCleanup(server.stop)
            with server.client() as client:
                answers = [client.send(method, path, body, **headers) for method, path, body, headers in (
                    ("POST", "/execute", b'{"code": "print(1)"}', {"Content-Type": "application/json", "X-API-Key": KEY}),
                    ("POST", "/execute", b"{", {"Content-Type": "application/json", "Authorization": f"Bearer {KEY}"}),
                    ("POST", "/execute", b"{}", {"Content-Type": f"text/{KEY}", "X-API-Key": KEY}),
                    ("GET", "/jobs", None, {"X-API-Key": KEY}), ("GET", f"/jobs?key={KEY}", None, {"X-API-Key": KEY}),
                    ("GET", f"/none?key={KEY}", None, {"Authorization": KEY}), ("GET", "/stats", None, {"X-API-Key": KEY}),
                    ("GET", "/metrics", None, {"X-API-Key": KEY}), ("GET", "/health", None, {"X-API-Key": KEY}),
                    ("GET", "/stream", None, {"X-API-Key": KEY}), ("BREW", "/execute", None, {"X-API-Key": KEY}))]
            self.assertEqual([200, 400, 415, 200, 400, 401, 200, 200, 200, 426, 405], [answer.status for answer in answers])
            server.stop()
            said = "".join(server.log) + "".join(str(answer.headers) + answer.body.decode() for answer in answers)
            self.assertGreater(said.count("request_id"), 10)
            self.assertNotIn(KEY, said)
            self.assertNotIn("another-key", said)


class Starting(live_server.ServerTest):
    def refuses(self, *arguments, **environment):
        with self.assertRaises(live_server.DidNotStart) as refused:
            live_server.LiveServer(*arguments, environment=environment).stop()
        return str(refused.exception)

    def test_open_address_without_a_key(self):
        for host in ("0.0.0.0", "::"):
            with self.subTest(host):
                self.assertRegex(self.refuses("--host", host), "(?i)key")
        self.assertRegex(self.refuses(API_HOST="0.0.0.0"), "(?i)key")

    def test_open_address_with_a_key(self):
        server = live_server.LiveServer("--host", "0.0.0.0", environment={"API_KEYS": KEY})
        try:
            with server.client(**{"X-API-Key": KEY}) as client:
                self.assertEqual("42\n", client.execute("print(6*7)")["stdout"])
        finally:
            server.stop()

    def test_bad_values_name_themselves(self):
        for name, value in (("API_PORT", "many"), ("SANDBOX_TIMEOUT_SECONDS", "-1"), ("SANDBOX_MEMORY_LIMIT_MB", "lots"),
                            ("SANDBOX_NETWORK_ENABLED", "true"), ("SANDBOX_TIMEOUT_SECONDS", "61")):
            with self.subTest(name):
                process = subprocess.run([live_server.BINARY, "serve", *([] if name == "API_PORT" else ["--port", "0"])],
                                         env={"PATH": os.environ["PATH"], name: value}, capture_output=True, text=True,
                                         timeout=time_scale.scaled(20), check=False, cwd=tempfile.gettempdir())
                self.assertNotEqual(0, process.returncode)
                self.assertIn(name, process.stderr + process.stdout)
                self.assertEqual(1, len((process.stderr + process.stdout).strip().splitlines()), process.stderr)

    def test_a_bad_key_is_not_repeated(self):
        for value in ("s3cret word", "s3cret,,", "s3cret\x7f"):
            said = self.refuses(API_KEYS=value)
            self.assertIn("API_KEYS", said)
            self.assertNotIn("s3cret", said)

    def test_unknown_key_in_the_file(self):
        with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
            os.chmod(file.name, 0o644)
            file.write('{"prot": 8000}')
            file.flush()
            self.assertIn("prot", self.refuses("--config", file.name))

    def test_taken_port(self):
        said = ""
        try:
            live_server.LiveServer(port=str(self.server.port)).stop()
        except live_server.DidNotStart as refused:
            said = str(refused)
        self.assertRegex(said, rf"\A[^\n]*port {self.server.port}: Address already in use[^\n]*choose another with API_PORT or --port\n\Z")

    @unittest.skipIf(int(pathlib.Path("/proc/sys/net/ipv4/ip_unprivileged_port_start").read_text(encoding="ascii")) <= 80, "anybody may have port 80")
    def test_a_low_port(self):
        with ordinary_user.within_reach(live_server.BINARY) as folder:
            done = subprocess.run([folder / "agent-sandbox", "serve", "--port", "80"], env={"PATH": os.environ["PATH"]}, text=True,
                                  capture_output=True, timeout=time_scale.scaled(20), check=False, cwd="/", **ordinary_user.NOT_ROOT)
        self.assertRegex(done.stderr, r"\A[^\n]*port 80: Permission denied[^\n]*low ports are for root[^\n]*\n\Z")

    def test_a_ceiling_of_the_network_alone(self):
        server = live_server.LiveServer(environment={"SANDBOX_NETWORK_ALLOW": "pypi.org:443", "JOBS_PATH": ":memory:"})
        server.stop()
        self.assertTrue(any("SANDBOX_NETWORK_ALLOW is set but SANDBOX_NETWORK_ENABLED is not" in line for line in server.log), server.log)

    def test_default_address_is_loopback(self):
        listening = [line.split()[1] for line in open("/proc/net/tcp", encoding="ascii").read().splitlines()[1:]
                     if line.split()[3] == "0A"]
        mine = [address for address in listening if int(address.split(":")[1], 16) == self.server.port]
        self.assertEqual([f"0100007F:{self.server.port:04X}"], mine)

    def test_refusing_leaves_nothing_behind(self):
        def others():
            """Excludes the processes of this class's server, which may still be filling its pools."""
            below = set(host_view.descendants(os.getpid()))
            return below - set(self.server.processes())

        before = others()
        self.refuses("--host", "0.0.0.0")
        self.assertTrue(host_view.wait_until(lambda: others() <= before, 5), others() - before)
