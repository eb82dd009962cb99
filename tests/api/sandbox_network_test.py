"""The destinations that a living sandbox may reach, immediate changes to them, and a guest's attempts against that."""
import concurrent.futures
import json
import os
import pathlib
import socketserver
import threading

import host_view
from living_sandbox import SandboxTest

# A guest that opens tunnels with CONNECT. `reach` answers with the status line; with a socket that stays open, its first bytes are read.
GUEST = """
import socket, sys

def reach(to, timeout=60):
    guest = socket.create_connection(("127.0.0.1", 3128), timeout=timeout)
    guest.sendall(f"CONNECT {to} HTTP/1.1\\r\\n\\r\\n".encode())
    answer = b""
    while b"\\r\\n\\r\\n" not in answer:
        got = guest.recv(4096)
        if not got:
            break
        answer += got
    return guest, answer.split(b"\\r\\n")[0].decode()

def status(to):
    try:
        guest, line = reach(to)
    except OSError as error:
        return type(error).__name__
    guest.close()
    return line.split()[1] if line else "nothing"
"""


class Echo(socketserver.BaseRequestHandler):
    def handle(self):
        self.server.come.append(self.client_address)
        try:
            while data := self.request.recv(4096):
                self.request.sendall(data)
        except OSError:
            pass
        self.server.gone.append(self.client_address)


class Site(socketserver.ThreadingTCPServer):
    """Sends back what it gets, on a port of the host's loopback interface."""
    daemon_threads = True
    request_queue_size = 128

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Echo)
        self.come, self.gone = [], []
        self.port = self.server_address[1]
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def stop(self):
        self.shutdown()
        self.server_close()


def connections_to(port):
    """Returns this host's connections to 127.0.0.1:port that are open or being opened, according to the kernel."""
    lines = pathlib.Path("/proc/net/tcp").read_text(encoding="ascii").splitlines()[1:]
    return [line for line in lines if line.split()[2].endswith(f":{port:04X}") and line.split()[3] in ("01", "02")]


class Sites(SandboxTest):
    """Two sites on the host that sandboxes may reach."""

    @classmethod
    def setUpClass(cls):
        cls.site, cls.other = Site(), Site()
        cls.addClassCleanup(cls.site.stop)
        cls.addClassCleanup(cls.other.stop)
        cls.to_site, cls.to_other = ([f"localhost:{site.port}", f"127.0.0.0/8:{site.port}"] for site in (cls.site, cls.other))
        cls.environment = {**SandboxTest.environment, "SANDBOX_NETWORK_ENABLED": "true",
                           "SANDBOX_NETWORK_ALLOW": ",".join([*cls.to_site, *cls.to_other, "*.example.org:443"])}
        super().setUpClass()

    def allow(self, sandbox, rules):
        """Changes what it may reach, and checks that the change is shown."""
        network = {"allow": rules} if rules else "none"
        answer = sandbox.change(network=network)
        self.assertEqual((200, network), (answer.status, answer.json.get("network")), answer)
        self.assertEqual(network, sandbox.now()["network"])

    def status(self, sandbox, site, host="localhost"):
        return sandbox.python(GUEST + f"print(status('{host}:{site.port}'))")["stdout"].strip()

    def holding(self, sandbox, site):
        """Starts a process that has a connection open until that is cut."""
        process = sandbox.start(["python3", "-uc", GUEST + f"""
guest, line = reach("localhost:{site.port}", None)
print(line.split()[1])
try:
    while True:
        guest.sendall(b"x" * 1000)
        if not guest.recv(4096):
            print("ended")
            break
except ConnectionResetError:
    print("cut")
"""])
        process.says("200\n")
        return process


class Network(Sites):
    def test_loopback_is_its_own_where_no_rule_names_it(self):
        sandbox = self.make(network={"allow": ["a.example.org:443"]})
        shown = "import os; print(os.environ['no_proxy'], os.environ['NO_PROXY'])"
        self.assertEqual("localhost,127.0.0.1,::1 localhost,127.0.0.1,::1\n", sandbox.python(shown)["stdout"])
        self.allow(sandbox, self.to_site)
        self.assertEqual("::1 ::1\n", sandbox.python(shown)["stdout"])

    def test_narrowed(self):
        sandbox = self.make(network={"allow": self.to_site + self.to_other})
        cut, stays = self.holding(sandbox, self.site), self.holding(sandbox, self.other)
        self.allow(sandbox, self.to_other)
        self.assertEqual([], connections_to(self.site.port))
        cut.says("cut\n")
        self.assertEqual("403", self.status(sandbox, self.site))
        self.assertEqual("200", self.status(sandbox, self.other))
        self.assertEqual(("running", "200\n"), (stays.now()["state"], stays.text()))

    def test_widened(self):
        sandbox = self.make(network={"allow": self.to_site})
        stays = self.holding(sandbox, self.site)
        self.assertEqual("403", self.status(sandbox, self.other))
        self.allow(sandbox, self.to_site + self.to_other)
        self.assertEqual("200", self.status(sandbox, self.other))
        self.assertEqual(("running", "200\n"), (stays.now()["state"], stays.text()))

    def test_given_and_taken(self):
        sandbox = self.make()
        variables = "import os; print(sorted(name for name in os.environ if 'proxy' in name.lower()))"
        self.assertEqual(("none", "[]\n"), (sandbox.now()["network"], sandbox.python(variables)["stdout"]))
        self.assertEqual("ConnectionRefusedError", self.status(sandbox, self.site))
        for _ in range(3):
            self.allow(sandbox, self.to_site)
            self.assertIn("http_proxy", sandbox.python(variables)["stdout"])
            self.assertEqual(("200", "403"), (self.status(sandbox, self.site), self.status(sandbox, self.other)))
            process = self.holding(sandbox, self.site)
            self.allow(sandbox, None)
            self.assertEqual([], connections_to(self.site.port))
            process.says("cut\n")
            self.assertEqual("ConnectionRefusedError", self.status(sandbox, self.site))
            self.assertEqual("[]\n", sandbox.python(variables)["stdout"])

    def test_paused(self):
        for network in ({"allow": self.to_site}, "none"):
            with self.subTest(network):
                sandbox = self.make(network=network)
                held = self.holding(sandbox, self.site) if network != "none" else None
                sandbox.pause()
                self.allow(sandbox, self.to_other)
                self.assertEqual([], connections_to(self.site.port))
                self.assertEqual("paused", sandbox.now()["state"])
                self.assertEqual(200, sandbox.ask_to("resume").status)
                if held:
                    held.says("cut\n")
                self.assertEqual(("403", "200"), (self.status(sandbox, self.site), self.status(sandbox, self.other)))

    def test_its_port_is_in_use(self):
        sandbox = self.make(name="taken", metadata={"a": "b"})
        process = sandbox.start(["python3", "-uc", "import socket; s = socket.create_server(('127.0.0.1', 3128)); print('there'); s.accept()"])
        process.says("there\n")
        answer = sandbox.change(network={"allow": self.to_site}, metadata={})
        self.assert_problem(409, "port_in_use", answer, "network", "3128")
        self.assertIn("ask again", answer.json["remedy"])
        self.assertEqual(("none", {"a": "b"}), (sandbox.now()["network"], sandbox.now()["metadata"]))
        process.post("signal", signal="SIGKILL")
        process.ended()
        self.allow(sandbox, self.to_site)
        self.assertEqual("200", self.status(sandbox, self.site))

    def test_within_what_the_operator_allows(self):
        sandbox = self.make(network={"allow": self.to_site})
        for network, says in (({"allow": [self.to_site[0], "evil.test:443"]}, "network: allow[1]: evil.test:443 is beyond what the operator allows"),
                              ({"allow": ["0.0.0.0/0:443"]}, "network: allow[0]"), ({"allow": []}, "network"), ("all", "network"),
                              ({"allow": ["a.example.org:443"] * 65}, "at most 64"), (None, "network")):
            with self.subTest(network):
                self.assert_bad_field(sandbox.change(network=network), says)
        self.assertEqual({"allow": self.to_site}, sandbox.now()["network"])
        self.assertEqual("200", self.status(sandbox, self.site))

    def test_one_that_has_ended(self):
        sandbox = self.make(network={"allow": self.to_site})
        self.holding(sandbox, self.site)
        self.assertEqual(204, sandbox.delete().status)
        self.assertTrue(host_view.wait_until(lambda: not connections_to(self.site.port), 10))
        self.assert_problem(409, "sandbox_ended", sandbox.change(network="none"))
        self.assertEqual({"allow": self.to_site}, sandbox.now()["network"])

    def test_a_lost_proxy_is_replaced(self):
        sandbox = self.make(network={"allow": self.to_site})
        process = self.holding(sandbox, self.site)
        proxy = next(pid for pid, line in self.server.processes().items() if "jail-egress" in line)
        os.kill(proxy, 9)
        process.ended()
        self.assertTrue(host_view.wait_until(lambda: not host_view.alive(proxy), 10))
        self.assertEqual("ConnectionRefusedError", self.status(sandbox, self.site))
        self.allow(sandbox, self.to_site)
        self.assertEqual("200", self.status(sandbox, self.site))

    def test_who_asked_is_told(self):
        sandbox = self.make()
        request = "6f9619ff-8b86-4d01-b42d-00c04fc964ff"
        answer = self.client.send("PATCH", sandbox.path, b'{"network": {"allow": ["a.example.org:443"]}}',
                                  **{"Content-Type": "application/json", "X-Request-ID": request})
        self.assertEqual(200, answer.status, answer)
        events = self.client.send("GET", f"{sandbox.path}/events?kind=changed").json["events"]
        self.assertEqual([(request, {"network": ["a.example.org:443"]})], [(event["request_id"], event["detail"]) for event in events])

    def test_the_way_out_is_no_port_of_the_sandbox(self):
        sandbox = self.make()
        self.allow(sandbox, self.to_site)
        self.assertEqual(403, self.client.send("GET", f"{sandbox.path}/ports/3128/").status)


class Attacked(Sites):
    FLOOD = GUEST + """
import threading
def flood(to):
    while True:
        try:
            guest, line = reach(to)
            while line.split()[1:2] == ["200"] and guest.recv(4096):
                pass
        except OSError:
            pass
for _ in range(4):
    threading.Thread(target=flood, args=[sys.argv[1]]).start()
"""

    def test_a_flood_across_many_changes(self):
        sandbox = self.make(network={"allow": self.to_site}, limits={"memory_mb": 128})
        flood = sandbox.start(["python3", "-c", self.FLOOD, f"localhost:{self.site.port}"])
        for times in range(100):
            if times % 20 == 0:
                self.assertTrue(host_view.wait_until(lambda: connections_to(self.site.port), 20), "nobody floods")
            for rules in (self.to_other if times % 2 else None, self.to_site):
                network = {"allow": rules} if rules else "none"
                answer = sandbox.change(network=network)
                self.assertEqual((200, network), (answer.status, answer.json.get("network")), answer)
                if rules != self.to_site:
                    self.assertEqual([], connections_to(self.site.port), times)
        self.assertEqual("running", flood.now()["state"])

    def test_changes_that_race(self):
        """Many changes at once: each is answered, and the last one to be done is shown and holds."""
        sandbox = self.make()
        wanted = [None, self.to_site, self.to_other, self.to_site + self.to_other]

        def change(number):
            with self.server.client() as client:
                rules = wanted[number % 4]
                body = json.dumps({"network": {"allow": rules} if rules else "none"}).encode()
                return client.send("PATCH", sandbox.path, body, **{"Content-Type": "application/json"}).status

        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            self.assertEqual({200}, set(pool.map(change, range(200))))
        network = sandbox.now()["network"]
        rules = [] if network == "none" else network["allow"]
        no_way = "ConnectionRefusedError" if not rules else "403"
        self.assertEqual(["200" if set(part) <= set(rules) else no_way for part in (self.to_site, self.to_other)],
                         [self.status(sandbox, site) for site in (self.site, self.other)])

    def test_a_guest_that_fights_for_the_port(self):
        """The guest may keep the port, and with it its own network, to itself; nobody waits for it, and nothing is
        opened."""
        sandbox = self.make()
        fighter = sandbox.start(["python3", "-uc", """
import socket
print("fights")
while True:
    try:
        with socket.create_server(("127.0.0.1", 3128)):
            pass
    except OSError:
        pass
"""])
        fighter.says("fights\n")
        for times in range(100):
            answer = sandbox.change(network={"allow": self.to_site})
            self.assertIn(answer.status, (200, 409), answer)
            shown = sandbox.now()["network"]
            self.assertEqual({"allow": self.to_site} if answer.status == 200 else "none", shown)
            self.allow(sandbox, None)


class Told(Sites):
    """Connections among the events of a sandbox."""

    def events(self, sandbox, kind=None):
        query = f"?limit=1000&kind={kind}" if kind else "?limit=1000"
        answer = self.client.send("GET", f"{sandbox.path}/events{query}")
        self.assertEqual(200, answer.status, answer)
        return answer.json["events"]

    def details(self, sandbox, kind, count=1):
        """Returns the details of the events of that kind, once they cover this many connections."""
        def found():
            return [event["detail"] for event in self.events(sandbox, kind)]
        self.assertTrue(host_view.wait_until(lambda: sum(detail["connections"] for detail in found()) >= count, 20), found())
        return found()

    def test_what_a_connection_was_and_carried(self):
        sandbox = self.make(network={"allow": self.to_site})
        sandbox.python(GUEST + f"""
import time
guest, line = reach("localhost:{self.site.port}")
guest.sendall(b"x" * 1000)
got = 0
while got < 1000:
    got += len(guest.recv(4096))
time.sleep(0.3)
guest.close()
print(status("evil.test:443"))
""")
        destination = f"localhost:{self.site.port}"
        allowed, ended, refused = (self.details(sandbox, kind)[0] for kind in ("egress_allowed", "egress_ended", "egress_refused"))
        self.assertEqual({"destination": destination, "address": "127.0.0.1", "reason": destination, "connections": 1}, allowed)
        seconds = ended.pop("seconds")
        self.assertGreaterEqual(seconds, 0.3)
        self.assertEqual({"destination": destination, "address": "127.0.0.1", "reason": None, "connections": 1,
                          "sent_bytes": 1000, "received_bytes": 1000}, ended)
        self.assertEqual({"destination": "evil.test:443", "address": None, "reason": "no rule names it", "connections": 1}, refused)
        self.assertEqual({"connections": 1, "refused": 1, "sent_bytes": 1000, "received_bytes": 1000},
                         self.client.send("GET", f"{sandbox.path}/metrics").json["network"])
        audit = self.client.send("GET", f"/v1/audit?sandbox={sandbox.id}&kind=egress_refused").json["events"]
        self.assertEqual([(sandbox.id, None, refused)], [(event["sandbox_id"], event["request_id"], event["detail"]) for event in audit])

    def test_one_that_was_cut_says_so(self):
        sandbox = self.make(network={"allow": self.to_site})
        process = self.holding(sandbox, self.site)
        self.allow(sandbox, self.to_other)
        process.ended()
        self.assertEqual("no rule names it any more", self.details(sandbox, "egress_ended")[0]["reason"])

    def test_of_others_nothing_is_told(self):
        mine, yours = self.make(network={"allow": self.to_site}), self.make(network={"allow": self.to_site})
        self.assertEqual("200", self.status(mine, self.site))
        self.details(mine, "egress_ended")
        self.assertEqual(["created"], [event["kind"] for event in self.events(yours)])
        # The connections of a program without a sandbox are only in the log.
        result = self.execute("print(1)", network={"allow": self.to_site})
        self.assertEqual("1\n", result["stdout"])

    def test_a_flood_drops_no_other_event(self):
        sandbox = self.make(network={"allow": self.to_site}, limits={"memory_mb": 128})
        count = 3000
        sandbox.python(GUEST + f"""
for number in range({count}):
    status(f"{{number % 1000}}.evil.test:443" if number % 2 else "evil.test:443")
""", timeout_seconds=600)
        self.assertEqual("200", self.status(sandbox, self.site))
        refused = self.details(sandbox, "egress_refused", count)
        self.assertEqual(count, sum(detail["connections"] for detail in refused))
        self.assertLess(len(refused), 600)
        self.assertEqual(1, len(self.details(sandbox, "egress_ended")))
        kinds = [event["kind"] for event in self.events(sandbox) if not event["kind"].startswith("egress")]
        self.assertEqual(["created", "process_started"], kinds[:2])


class Off(SandboxTest):
    def test_the_operator_has_to_allow_it(self):
        sandbox = self.make()
        self.assert_bad_field(sandbox.change(network={"allow": ["pypi.org:443"]}), "network: this server gives programs no network")
        self.assertEqual(200, sandbox.change(network="none").status)
