"""Changes to limits and to the network of living sandboxes together: both or neither, one change after the other."""
import concurrent.futures
import json
import os
import signal

import live_server
from living_sandbox import SandboxTest, init_of

RULES = ["example.org:443"]
# Takes the port of the way out, fills /workspace to 1 MB below its size, and takes all that a larger one gives it.
GRABS = """
import os, socket
port = socket.create_server(('127.0.0.1', 3128))
file = os.open('/workspace/big', os.O_CREAT | os.O_RDWR)
piece = b'x' * (256 << 10)
while (there := os.fstatvfs(file)).f_bavail * there.f_frsize > 1 << 20:
    os.write(file, piece)
print('there', flush=True)
while True:
    try:
        os.write(file, piece)
    except OSError:
        pass
"""
TAKES_PORT = "import socket, time\nport = socket.create_server(('127.0.0.1', 3128))\nprint('there', flush=True)\n"
SHOWS_LIMITS = "import resource\nprint(resource.getrlimit(resource.RLIMIT_NPROC), resource.getrlimit(resource.RLIMIT_FSIZE), flush=True)\n"


class Changes(SandboxTest):
    environment = {**SandboxTest.environment, "SANDBOX_NETWORK_ENABLED": "true", "SANDBOX_NETWORK_ALLOW": ",".join(RULES)}

    def ask(self, sandbox, **fields):
        with self.server.client() as client:
            return client.send("PATCH", sandbox.path, json.dumps(fields).encode(), **{"Content-Type": "application/json"})

    def test_a_guest_gains_nothing_by_a_refused_change(self):
        sandbox = self.make(limits={"memory_mb": 256, "processes": 20, "disk_mb": 32})
        process = sandbox.start(["python3", "-c", GRABS])
        process.says("there\n")
        limits = sandbox.now()["limits"]
        for _ in range(5):
            answer = sandbox.change(limits={"memory_mb": 512, "disk_mb": 64, "processes": 40}, network={"allow": RULES})
            self.assert_problem(409, "port_in_use", answer, "network", "3128")
            self.assertEqual((limits, "none"), (sandbox.now()["limits"], sandbox.now()["network"]))
        self.assertEqual("32\n", sandbox.run("df -B1M --output=size /workspace | tail -1 | xargs")["stdout"])

    def test_a_refused_change_leaves_limits_of_processes(self):
        sandbox = self.make(limits={"processes": 100})
        process = sandbox.start(["python3", "-c", TAKES_PORT + SHOWS_LIMITS + "input()\n" + SHOWS_LIMITS], keep_stdin_open=True)
        process.says("there\n")
        answer = sandbox.change(limits={"processes": 8, "disk_mb": 4}, network={"allow": RULES})
        self.assert_problem(409, "port_in_use", answer, "network", "3128")
        process.post("stdin", data="\n", close=True)
        process.ended()
        _, first, second = process.text().splitlines()
        self.assertEqual(first, second)

    def test_the_network_is_as_it_was_where_limits_are_refused(self):
        for network in ("none", {"allow": RULES}):
            for other in ("none", {"allow": RULES}):
                with self.subTest(before=network, wanted=other):
                    sandbox = self.make(network=network, limits={"memory_mb": 128})
                    sandbox.run("head -c 20M /dev/zero > /workspace/file")
                    answer = sandbox.change(limits={"disk_mb": 10}, network=other)
                    self.assert_problem(409, "limit_in_use", answer, "disk_mb")
                    self.assertEqual((network, 64), (sandbox.now()["network"], sandbox.now()["limits"]["disk_mb"]))
                    answer = sandbox.change(limits={"disk_mb": 30}, network=other)
                    self.assertEqual((200, other, 30), (answer.status, answer.json["network"], answer.json["limits"]["disk_mb"]), answer)
                    tries = "import socket\nprint(socket.socket().connect_ex(('127.0.0.1', 3128)) == 0)"
                    self.assertEqual(f"{other != 'none'}\n", sandbox.python(tries)["stdout"])

    def test_no_change_takes_back_another_one(self):
        sandbox = self.make(limits={"memory_mb": 256})
        sandbox.start(["python3", "-c", TAKES_PORT + "time.sleep(600)"]).says("there\n")
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            for _ in range(20):
                self.assertEqual(200, sandbox.change(limits={"memory_mb": 256}).status)
                refused = pool.submit(self.ask, sandbox, limits={"memory_mb": 300}, network={"allow": RULES})
                made = pool.submit(self.ask, sandbox, limits={"memory_mb": 400})
                self.assertEqual((409, 200), (refused.result().status, made.result().status))
                self.assertEqual(400, sandbox.now()["limits"]["memory_mb"])

    def test_an_init_that_is_silent(self):
        sandbox = self.make(metadata={"a": "b"})
        sandbox.start(["sleep", "654.321"])
        init = init_of(self.started_on_host("654.321"))
        os.kill(init, signal.SIGSTOP)
        self.addCleanup(os.kill, init, signal.SIGCONT)
        answer = sandbox.change(limits={"processes": 40}, metadata={"c": "d"})
        self.assert_problem(503, "too_slow", answer, "limits: they are set", "not confirmed")
        self.assertEqual((40, {"c": "d"}), (sandbox.now()["limits"]["processes"], sandbox.now()["metadata"]))
        os.kill(init, signal.SIGCONT)
        self.assertEqual(200, sandbox.change(limits={"processes": 50}).status)

    def test_ports_that_no_server_can_be_reached_at(self):
        for fields, words in (({"ports": [3129]}, "ports: 3129"), ({"ports": [80, 3128], "network": {"allow": RULES}}, "ports: 3128")):
            self.assert_problem(400, "bad_request", self.client.post(fields, "/v1/sandboxes"), words)
        self.assertEqual(3128, self.make(ports=[3128]).now()["ports"][0]["port"])


if __name__ == "__main__":
    live_server.main()
