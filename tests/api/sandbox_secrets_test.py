"""Secrets of living sandboxes: the gateway adds them to requests for their hosts, and no program in a sandbox ever sees them."""
import json
import os
import pathlib
import shutil
import subprocess
import unittest

import host_view
import live_server
import time_scale
from living_sandbox import Sandbox
from secret_sandbox import ASK, MARK, OTHER_VALUE, VALUE, SecretsTest
from secret_upstream import BIG


class Secrets(SecretsTest):
    def test_header_is_added_and_never_seen(self):
        sandbox = self.make_with()
        shown = {"allow": [self.place], "secrets": [{"host": "localhost", "port": self.site.port, "header": "Authorization"}]}
        self.assertEqual(shown, sandbox.made["network"])
        self.assertEqual(shown, sandbox.now()["network"])
        told = json.loads(self.ask(sandbox, f"print(ask('/{self.place}/a/..//b?c=d%20e', headers={{'X-Own': 'of the program'}}).read().decode())"))
        self.assertEqual(("GET", "/a/..//b?c=d%20e"), (told["method"], told["path"]))
        (request,) = self.site.requests
        self.assert_came(request)
        headers = {name.lower(): value for name, value in request["headers"]}
        self.assertEqual((self.place, "of the program"), (headers["host"], headers["x-own"]))
        # By curl, and in a process of a shell.
        said = sandbox.run(f'curl -sS -H "Authorization: of the program" "$SANDBOX_SECRETS_URL/{self.place}/c"; env; cat /proc/*/environ | tr "\\0" "\\n"')
        self.assertEqual("", said["stderr"].replace("cat: /proc/1/environ: Permission denied\n", ""))
        self.assertIn('"path": "/c"', said["stdout"])
        self.assertNotIn(MARK, said["stdout"])
        self.assert_came(self.site.requests[-1])

    def test_headers_of_the_program_do_not_stand_beside(self):
        sandbox = self.make_with(self.secret(), self.secret("X-Api_Key", OTHER_VALUE))
        self.ask(sandbox, f"""ask('/{self.place}/', headers={{'authorization': 'mine', 'x-api-key': 'mine', 'X_Api_Key': 'mine', 'Cookie': 'kept',
            'Proxy-Authorization': 'mine', 'TE': 'trailers', 'Keep-Alive': 'timeout=1', 'Upgrade': 'h2c'}})""")
        (request,) = self.site.requests
        self.assert_came(request)
        self.assert_came(request, "x-api_key", OTHER_VALUE)
        self.assertEqual(["accept-encoding", "authorization", "cookie", "host", "user-agent", "x-api_key"],
                         sorted(name.lower() for name, _ in request["headers"]))

    def test_methods_and_bodies(self):
        sandbox = self.make_with()
        for method in ("POST", "PUT", "PATCH", "DELETE"):
            self.ask(sandbox, f"ask('/{self.place}/m', method='{method}', data=b'0123456789' * 20000, headers={{'Content-Type': 'text/x'}})")
            request = self.site.requests[-1]
            self.assertEqual((method, b"0123456789" * 20000), (request["method"], request["body"]))
            self.assertIn(("Content-Type", "text/x"), request["headers"])
            self.assert_came(request)
        self.assertEqual("yes b''", self.ask(sandbox, f"answer = ask('/{self.place}/m', method='HEAD'); print(answer.headers['x-of-host'], answer.read())"))
        self.ask(sandbox, f"ask('/{self.place}/m', method='POST')")
        self.assertEqual(b"", self.site.requests[-1]["body"])
        # curl waits for 100 before it sends a large body.
        said = sandbox.run(f'head -c 2000000 /dev/zero | curl -sS --data-binary @- "$SANDBOX_SECRETS_URL/{self.place}/large"')
        self.assertEqual("", said["stderr"])
        self.assertEqual(2000000, len(self.site.requests[-1]["body"]))

    def test_replies_come_whole_or_are_seen_to_be_cut(self):
        sandbox = self.make_with()
        self.assertEqual(f"{BIG} True", self.ask(sandbox, f"got = ask('/{self.place}/big').read(); print(len(got), got == bytes(range(256)) * ({BIG} // 256))"))
        self.assertEqual("cut", self.ask(sandbox, f"""
import http.client
try:
    ask('/{self.place}/cut').read()
    print('whole')
except (http.client.IncompleteRead, ConnectionResetError):
    print('cut')"""))

    def test_events_come_as_they_are_sent(self):
        sandbox = self.make_with()
        self.site.ends_stream.clear()
        process = sandbox.start(["python3", "-uc", ASK + f"""
for line in ask('/{self.place}/stream'):
    print(line.decode().strip())
print('whole')"""])
        process.says("data: 0\n")
        self.site.next_event.release()
        process.says("data: 1\n")
        self.assertNotIn("data: 2", process.text())
        self.site.ends_stream.set()
        self.site.next_event.release()
        process.says("whole\n")

    def test_redirects_are_the_programs(self):
        sandbox = self.make_with()
        said = self.ask(sandbox, f"answer = ask('/{self.place}/redirect'); print(answer.status, answer.headers['location'])")
        self.assertEqual(f"302 https://127.0.0.1:{self.site.port}/elsewhere", said)
        self.assertEqual(["/redirect"], [request["path"] for request in self.site.requests])

    def test_a_program_that_goes_ends_the_request(self):
        sandbox = self.make_with()
        self.site.gone.clear()
        process = sandbox.start(["python3", "-uc", ASK + f"ask('/{self.place}/silent')"])
        self.wait_for(lambda: self.site.requests)
        process.post("signal", signal="SIGKILL")
        self.wait_for(lambda: self.site.gone == [True])

    def test_what_is_cut_by_a_change(self):
        sandbox = self.make_with(allow=[self.place, f"localhost:{self.other.port}"])
        self.site.ends_stream.clear()

        def begin():
            process = sandbox.start(["python3", "-uc", ASK + f"""
import http.client
try:
    for line in ask('/{self.place}/stream'):
        print(line.decode().strip())
    print('whole')
except (http.client.IncompleteRead, ConnectionError):
    print('cut')"""])
            process.says("data: 0\n")
            return process

        stays = begin()
        more = self.network(self.secret(), self.secret("X-Key"), allow=[self.place, f"localhost:{self.other.port}"])
        more["secrets"][1]["port"] = self.other.port
        self.assertEqual(200, sandbox.change(network=more).status)
        self.site.next_event.release()
        stays.says("data: 1\n")
        # A later value, another secret, no secret, and no network.
        for network in (self.network(self.secret(value=OTHER_VALUE)), self.network(self.secret("X-Key")), {"allow": [self.place]}):
            sandbox.change(network=self.network())
            process = begin()
            self.assertEqual(200, sandbox.change(network=network).status)
            process.says("cut\n")
        stays.says("cut\n")
        self.assertEqual({"allow": [self.place]}, sandbox.now()["network"])
        refused = "import socket\ntry: socket.create_connection(('127.0.0.1', 3129))\nexcept OSError as error: print(type(error).__name__)"
        self.assertEqual("ConnectionRefusedError\n", sandbox.python(refused)["stdout"])
        self.assertEqual("None\n", sandbox.python("import os; print(os.environ.get('SANDBOX_SECRETS_URL'))")["stdout"])
        for value in (VALUE, OTHER_VALUE):
            self.assertEqual(200, sandbox.change(network=self.network(self.secret(value=value))).status)
            self.ask(sandbox, f"ask('/{self.place}/again')")
            self.assert_came(self.site.requests[-1], value=value)
        self.assertEqual("none", sandbox.change(network="none").json["network"])

    def test_port_that_a_program_has(self):
        sandbox = self.make(network={"allow": [self.place]})
        process = sandbox.start(["python3", "-uc", """
import socket, time
server = socket.create_server(("127.0.0.1", 3129))
print("listens")
time.sleep(600)"""])
        process.says("listens")
        answer = sandbox.change(network=self.network())
        self.assert_problem(409, "port_in_use", answer, "3129")
        self.assertEqual({"allow": [self.place]}, sandbox.now()["network"])

    def test_a_rule_for_loopback_leads_no_program_astray(self):
        allow = [self.place, f"127.0.0.0/8:{self.other.port}"]
        sandbox = self.make_with(self.secret(site=self.other, host="127.0.0.1"), allow=allow)
        # Both spellings of loopback are the proxy's now.
        said = sandbox.run(f'curl -sS --noproxy "*" "http://127.0.0.1:3129/127.0.0.1:{self.other.port}/x"')
        self.assertIn('"path": "/x"', said["stdout"], said)
        self.assert_came(self.other.requests[-1])

    def test_events_and_use(self):
        sandbox = self.make_with()
        self.ask(sandbox, f"ask('/{self.place}/'); print(ask('/api.invalid/').status)")

        def events(kind):
            found = self.client.send("GET", f"{sandbox.path}/events?limit=200").json["events"]
            return [event["detail"] for event in found if event["kind"] == kind]

        self.wait_for(lambda: events("egress_ended") and events("egress_refused"))
        (allowed,) = events("egress_allowed")
        self.assertEqual((self.place, "127.0.0.1", "with the secret header Authorization"),
                         (allowed["destination"], allowed["address"], allowed["reason"]))
        (refused,) = events("egress_refused")
        self.assertEqual(("api.invalid", "gateway for secrets: no secret belongs to it"), (refused["destination"], refused["reason"]))
        (created,) = events("created")
        self.assertEqual([{"host": "localhost", "port": self.site.port, "header": "Authorization"}], created["secrets"])
        use = self.client.send("GET", f"{sandbox.path}/metrics").json["network"]
        self.assertEqual((1, 1), (use["connections"], use["refused"]))
        self.assertGreater(use["received_bytes"], 0)

    def test_name_that_leads_nowhere(self):
        sandbox = self.make_with({"host": "API.invalid.", "header": "X-Key", "value": VALUE}, allow=["api.invalid:443"])
        self.assertEqual([{"host": "api.invalid", "port": 443, "header": "X-Key"}], sandbox.made["network"]["secrets"])
        said = self.ask(sandbox, "answer = ask('/api.invalid/x'); print(answer.status, answer.headers['proxy-status'], answer.read().decode())")
        self.assertIn("502 agent-sandbox; error=dns_error", said)
        self.assertIn("api.invalid:443: its name leads to no address", said)

    def test_bounds_of_a_sandbox(self):
        sandbox = self.make_with()
        said = sandbox.python(f"""
import socket
held = []
for _ in range(40):
    one = socket.create_connection(("127.0.0.1", 3129), timeout=60)
    one.sendall(b"GET /")
    held.append(one)
ended = 0
for one in held[16:]:
    try:
        ended += one.recv(1) == b""
    except ConnectionError:
        ended += 1
print(ended)
for one in held[:16]:
    one.sendall(b"{self.place}/held HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n")
print({{one.recv(12) for one in held[:16]}})
""")
        self.assertEqual(("", "24\n{b'HTTP/1.1 200'}\n"), (said["stderr"], said["stdout"]))


class OnTheCommandLine(SecretsTest):
    """`sandbox create --secret`: the value comes from a file, from standard input or from a variable."""

    def command(self, *arguments, text="", **variables):
        environment = {"PATH": os.environ["PATH"], "HOME": self.server.directory, "AGENT_SANDBOX_URL": f"http://127.0.0.1:{self.server.port}", **variables}
        return subprocess.run([live_server.BINARY, "sandbox", *arguments], env=environment, input=text, capture_output=True, text=True,
                              timeout=time_scale.scaled(60), check=False)

    def test_values_come_from_files_and_variables(self):
        file = self.authority.directory / "value.txt"
        file.write_text(VALUE + "\n", encoding="ascii")
        name = f"localhost:{self.site.port}"
        done = self.command("create", "--allow", self.place, "--secret", f"{name}:Authorization=@{file}", "--secret", f"{name}:X-Key=env:KEY",
                            "--secret", f"{name}:X-Input=@-", text=OTHER_VALUE, KEY="kIpQ7 of a variable")
        self.assertEqual((0, ""), (done.returncode, done.stderr))
        sandbox = Sandbox(self.client, self.client.send("GET", f"/v1/sandboxes/{done.stdout.strip()}").json)
        self.addCleanup(sandbox.delete)
        self.ask(sandbox, f"ask('/{self.place}/x')")
        for header, value in (("authorization", VALUE), ("x-key", "kIpQ7 of a variable"), ("x-input", OTHER_VALUE)):
            self.assert_came(self.site.requests[-1], header, value)
        shown = self.command("get", sandbox.id).stdout
        self.assertIn(f"{self.place}, secret Authorization for {self.place}, secret X-Key for {self.place}", shown)
        self.assertNotIn(MARK, shown)
        self.assertEqual(0, self.command("change", sandbox.id, "--allow", self.place, "--secret", f"{name}:X-Key=env:KEY", KEY=OTHER_VALUE).returncode)
        self.ask(sandbox, f"ask('/{self.place}/y')")
        self.assert_came(self.site.requests[-1], "x-key", OTHER_VALUE)
        self.assertNotIn("authorization", [header.lower() for header, _ in self.site.requests[-1]["headers"]])

    def test_mistakes_do_not_repeat_a_value(self):
        for source, variables in ((VALUE, {}), ("env:KEY", {}), ("env:KEY", {"KEY": MARK + "\n"}), ("env:KEY", {"KEY": MARK + "é"}), ("@/nowhere/at/all", {}),
                                  (f"@{self.authority.directory}", {}), ("@-", {})):
            done = self.command("create", "--allow", self.place, "--secret", f"localhost:{self.site.port}:Authorization={source}", **variables)
            with self.subTest(source=source):
                self.assertEqual((2, ""), (done.returncode, done.stdout), done)
                self.assertIn("--secret: ", done.stderr)
                self.assertNotIn(MARK, done.stderr)


class NothingIsKept(SecretsTest):
    """The value is in no file, log, event, answer and process but the server's memory."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        if cls.server:
            cls.server.stop()
            cls.server = None

    def setUp(self):
        self.server, self.client = None, None
        if self.obstacle:
            self.skipTest(f"no user namespaces for this user: {self.obstacle}")
        self.directory = pathlib.Path(self.authority.directory) / "state"
        self.directory.mkdir()
        self.directory.chmod(0o777)
        self.addCleanup(shutil.rmtree, self.directory)
        self.site.requests.clear()

    def begin(self):
        self.server = live_server.LiveServer(environment={**self.environment, "JOBS_PATH": str(self.directory / "jobs.db")})
        self.client = self.server.client()

    def end(self):
        """Ends the server; returns all that it wrote, in files and in its log."""
        self.client.close()
        kept = b"".join(path.read_bytes() for place in (self.directory, pathlib.Path(self.server.directory))
                        for path in place.rglob("*") if path.is_file())
        server = self.server
        self.assertEqual(0, server.stop())
        kept += b"".join(path.read_bytes() for path in self.directory.rglob("*") if path.is_file())
        return kept + "".join(server.log).encode()

    def test_nothing_is_kept(self):
        self.begin()
        answer = self.client.post({"network": self.network()}, "/v1/sandboxes", **{"Idempotency-Key": "the-only-one"})
        self.assertEqual(201, answer.status, answer)
        sandbox = Sandbox(self.client, answer.json)
        self.ask(sandbox, f"ask('/{self.place}/x'); ask('/nowhere/x')")
        self.assert_came(self.site.requests[-1])
        self.client.post({"network": {**self.network(), "more": VALUE}}, "/v1/sandboxes")
        self.assertEqual(200, sandbox.change(network=self.network(self.secret(value=OTHER_VALUE))).status)
        sleeper = sandbox.start(["sleep", "600"])
        shown = [self.client.send("GET", path) for path in (
            sandbox.path, "/v1/sandboxes", f"{sandbox.path}/events?limit=200", f"{sandbox.path}/metrics", f"{sandbox.path}/processes", f"{sandbox.path}/logs",
            "/metrics", "/health", "/stats", f"{sandbox.path}/processes/{sleeper.pid}")]
        self.assertNotIn(MARK, repr(shown))
        self.assertTrue(self.server.wait_for_program("sleep"))
        inside = {pid: line for pid, line in self.server.processes().items()}
        self.assertTrue(any("sleep" in line for line in inside.values()))
        for pid in inside:
            for name in ("environ", "cmdline"):
                try:
                    self.assertNotIn(MARK.encode(), pathlib.Path(f"/proc/{pid}/{name}").read_bytes())
                except (PermissionError, ProcessLookupError, FileNotFoundError):
                    pass
        kept = self.end()
        self.assertIn(self.place.encode(), kept)
        self.assertNotIn(MARK.encode(), kept)
        # A later server knows the sandbox as ended, and nothing of its secrets.
        self.begin()
        later = self.client.send("GET", sandbox.path).json
        self.assertEqual(("ended", {"allow": [self.place]}), (later["state"], later["network"]))
        self.assertNotIn(MARK.encode(), self.end())

    def test_server_ends_while_requests_are_under_way(self):
        self.begin()
        answer = self.client.post({"network": self.network()}, "/v1/sandboxes")
        sandbox = Sandbox(self.client, answer.json)
        self.site.gone.clear()
        sandbox.start(["python3", "-uc", ASK + f"ask('/{self.place}/silent')"])
        self.assertTrue(host_view.wait_until(lambda: self.site.requests, 20))
        self.end()
        self.assertTrue(host_view.wait_until(lambda: self.site.gone == [True], 20), self.site.gone)


if __name__ == "__main__":
    os.umask(0o022)
    unittest.main()
