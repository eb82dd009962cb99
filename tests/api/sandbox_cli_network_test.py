"""agent-sandbox sandbox exec says what the sandbox's network refused to a command that failed."""
from sandbox_command import Command

PREFIX = "agent-sandbox: network: "


class WithNetwork(Command):
    environment = {**Command.environment, "SANDBOX_NETWORK_ENABLED": "true", "SANDBOX_NETWORK_ALLOW": "*.example.org:443"}

    def told(self, sandbox, *command):
        """Returns the lines about the network after a command that fails."""
        status, _, error = self.exec(sandbox, *command)
        self.assertNotEqual(0, status, error)
        return [line.removeprefix(PREFIX) for line in error.splitlines() if line.startswith(PREFIX)]

    def test_a_destination_that_no_rule_names(self):
        sandbox = self.make("--allow", "a.example.org:443")
        refused = "evil.test:443: the sandbox may not reach it; sandbox change --allow names what it may"
        for _ in range(2):  # the server counts the second refusal and tells the first
            self.assertEqual([refused], self.told(sandbox, "curl", "-sS", "https://evil.test/"))
        both = "curl -sS https://second.test/; curl -sS https://third.test/; exit 1"
        self.assertEqual({"second.test:443", "third.test:443"},
                         {line.split(": ")[0] for line in self.told(sandbox, "sh", "-c", both)} - {"evil.test:443"})

    def test_a_command_that_failed_by_itself(self):
        sandbox = self.make("--allow", "a.example.org:443")
        self.assertEqual([], self.told(sandbox, "sh", "-c", "echo 403 Forbidden >&2; exit 1"))

    def test_a_sandbox_without_network(self):
        reaches_nothing = "the sandbox reaches nothing; sandbox change --allow HOST:PORT lets it"
        self.assertEqual([reaches_nothing], self.told(self.make(), "curl", "-sS", "https://example.org/"))
