"""How agent-sandbox sandbox reaches its server: keys, sockets, TLS, and servers that are nowhere or end."""
import os
import shutil
import subprocess
import tempfile

import live_server
import time_scale
from sandbox_command import Command

KEY = "a-key-made-for-this-test"


class Elsewhere(Command):
    """Servers that are not there, or ask for a key, or are reached by a socket."""
    environment = {"JOBS_PATH": ":memory:", "API_KEYS": KEY}

    def test_keys(self):
        self.assertEqual("agent-sandbox: the server wants a key; put it into AGENT_SANDBOX_KEY\n", self.one_line("list"))
        self.assertEqual("agent-sandbox: the key in AGENT_SANDBOX_KEY is none of the server's\n",
                         self.one_line("list", AGENT_SANDBOX_KEY="wrong"))
        self.assertIn("ID", self.good("list", AGENT_SANDBOX_KEY=KEY))
        self.assertIn("AGENT_SANDBOX_KEY", self.one_line("list", AGENT_SANDBOX_KEY="a b", status=2))

    def test_no_server(self):
        error = self.one_line("list", status=125, AGENT_SANDBOX_URL="http://127.0.0.1:1")
        for part in ("http://127.0.0.1:1", "refused", "agent-sandbox serve", "AGENT_SANDBOX_URL"):
            self.assertIn(part, error)
        error = self.one_line("create", status=125, AGENT_SANDBOX_URL="unix:/nowhere/api.sock")
        self.assertIn("unix:/nowhere/api.sock", error)
        self.assertIn("No such file", error)
        self.assertIn("AGENT_SANDBOX_URL", self.one_line("list", status=2, AGENT_SANDBOX_URL="nonsense"))
        error = self.one_line("list", AGENT_SANDBOX_KEY=KEY, AGENT_SANDBOX_URL=self.url() + "/v1")
        self.assertTrue(error.endswith("no such path; without /v1 it is one. Hint: AGENT_SANDBOX_URL has the path /v1; leave it out\n"), error)
        self.assertNotIn("Hint", self.one_line("get", "nowhere", AGENT_SANDBOX_KEY=KEY))

    def test_a_server_without_tls(self):
        error = self.one_line("list", status=125, AGENT_SANDBOX_URL=self.url().replace("http", "https"))
        self.assertIn("a server that has no TLS is at http://", error)

    def test_proxies_are_not_asked(self):
        self.good("list", AGENT_SANDBOX_KEY=KEY, http_proxy="http://127.0.0.1:1", ALL_PROXY="http://127.0.0.1:1")

    def test_a_file_env_is_not_read(self):
        (self.directory / ".env").write_text("AGENT_SANDBOX_URL=http://127.0.0.1:1\n", encoding="utf-8")
        self.good("list", AGENT_SANDBOX_KEY=KEY)

    def test_a_unix_socket(self):
        directory = tempfile.mkdtemp(prefix="agent-sandbox-unix.")
        os.chmod(directory, 0o777)
        self.addCleanup(shutil.rmtree, directory, ignore_errors=True)
        server = live_server.LiveServer(environment={"JOBS_PATH": ":memory:", "API_HOST": f"unix:{directory}/api.sock"})
        self.addCleanup(server.stop)
        where = {"AGENT_SANDBOX_URL": f"unix:{directory}/api.sock"}
        sandbox = self.good("create", **where).strip()
        self.assertEqual((0, "42\n", ""), self.run_it("exec", sandbox, "--", "sh", "-c", "echo $((6*7))", **where))
        self.good("delete", sandbox, **where)

    def test_a_server_that_ends_meanwhile(self):
        server = live_server.LiveServer(environment={"JOBS_PATH": ":memory:"})
        self.addCleanup(server.stop)
        where = {"AGENT_SANDBOX_URL": f"http://127.0.0.1:{server.port}"}
        sandbox = self.good("create", **where).strip()
        process = self.start("exec", sandbox, "--", "sh", "-c", "echo begun; sleep 50", environment=self.variables(**where),
                             stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.read_until(process.stdout.fileno(), b"begun\n")
        server.kill()
        self.assertEqual(125, process.wait(time_scale.scaled(20)))
        self.assertRegex(process.stderr.read().decode(), r"\Aagent-sandbox: [^\n]+\n\Z")
