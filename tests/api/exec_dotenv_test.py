"""agent-sandbox exec in a directory whose .env is another program's, and where limits come from that the command line does not say."""
import os
import subprocess

import live_server
import time_scale
from exec_command import ExecTest


class Dotenv(ExecTest):
    def exec(self, *arguments, **environment):
        done = subprocess.run([live_server.BINARY, "exec", "--rootfs", "host", *arguments], cwd=self.directory, text=True, capture_output=True,
                              stdin=subprocess.DEVNULL, timeout=time_scale.scaled(60), check=False,
                              env={"PATH": os.environ["PATH"], "HOME": str(self.directory), **environment})
        return done.returncode, done.stdout, done.stderr

    def write(self, text):
        path = self.directory / ".env"
        path.write_text(text, encoding="utf-8")
        path.chmod(0o644)

    def test_another_programs_stops_nothing(self):
        for text in ("API_PORT=abc\nLLM_PROVIDER=none\n", "no assignment\n", 'KEY="-----BEGIN\nabc\n-----END"\n', "API_PROT=8000\n"):
            with self.subTest(text):
                self.write(text)
                self.assertEqual((0, "1\n", ""), self.exec("-c", "print(1)"))

    def test_what_is_for_programs_counts_and_is_named(self):
        self.write("SANDBOX_MEMORY_LIMIT_MB=lots\n")
        status, _, error = self.exec("-c", "print(1)")
        self.assertEqual(125, status)
        self.assertIn("SANDBOX_MEMORY_LIMIT_MB in .env", error)

    def test_a_limit_says_where_it_comes_from(self):
        self.write("SANDBOX_TIMEOUT_SECONDS=0.3\n")
        sleeps = ("-c", "import time; time.sleep(50)")
        says = "agent-sandbox: the program did not end within the 0.3 s that it may run{}; raise --timeout, up to 86400\n"
        self.assertEqual((124, "", says.format(", by SANDBOX_TIMEOUT_SECONDS in .env")), self.exec(*sleeps))
        self.assertEqual((124, "", says.format(", by SANDBOX_TIMEOUT_SECONDS in the environment")), self.exec(*sleeps, SANDBOX_TIMEOUT_SECONDS="0.3"))
        self.assertEqual((124, "", says.format("")), self.exec("--timeout", "0.3", *sleeps))
