"""aimock from npm on a free port, and `llm_ask` that asks it as each provider."""
import concurrent.futures
import http.client
import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import time
import unittest

import host_view
import time_scale

HERE = pathlib.Path(__file__).resolve().parent
NODE_MODULES = pathlib.Path(os.environ.get("AGENT_SANDBOX_BUILD", "/nonexistent")).parent / "npm-llm" / "node_modules"
ASK = os.environ.get("LLM_ASK", "")
KEY = "test-key-0123456789abcdef"
# The paths of each provider on the mock.
BASES = {"openai": "/v1", "groq": "/openai/v1", "openrouter": "/api/v1", "cerebras": "/v1", "anthropic": "",
         "google": "/v1beta", "ollama": ""}


def obstacle(package="aimock", entry=".bin/llmock", min_node=(20, 15)):
    """The reason why `package` cannot be used here; None: it can. `entry` is a file of it."""
    node = shutil.which("node")
    if node is None:
        return "node is missing (Debian: nodejs)"
    said = subprocess.run([node, "--version"], capture_output=True, text=True, check=False).stdout
    version = tuple(int(part) for part in re.findall(r"\d+", said)[:2])
    if version < min_node:
        return f"node is {said.strip()}, and {package} needs {min_node[0]}.{min_node[1]}"
    if not (NODE_MODULES / entry).exists():
        return f"{package} is not in {NODE_MODULES}; ./dev test installs it"
    return None


class Mock:
    def __init__(self, fixtures=HERE / "fixtures"):
        self._held = host_view.held_port()
        self.port = self._held.getsockname()[1]
        self._log = tempfile.TemporaryFile()
        self._process = subprocess.Popen(
            [NODE_MODULES / ".bin" / "llmock", "-p", str(self.port), "-f", str(fixtures), "--log-level", "warn",
             "--strict"], stdin=subprocess.DEVNULL, stdout=self._log, stderr=subprocess.STDOUT,
            env={"PATH": os.environ["PATH"], "AIMOCK_API_KEYS": KEY})
        deadline = time.monotonic() + time_scale.scaled(30)
        while not self._answers():
            if self._process.poll() is not None or time.monotonic() > deadline:
                self.stop()
                self._log.seek(0)
                raise AssertionError(f"aimock does not answer: {self._log.read()[-2000:]!r}")
            time.sleep(0.05)

    def _answers(self):
        try:
            return self.send("GET", "/__aimock/journal")[0] == 200
        except OSError:
            return False

    def send(self, method, path, body=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=time_scale.scaled(10))
        try:
            connection.request(method, path, None if body is None else json.dumps(body),
                               {"Authorization": f"Bearer {KEY}", "Content-Type": "application/json"})
            response = connection.getresponse()
            return response.status, response.read()
        finally:
            connection.close()

    def misbehave(self, **faults):
        status, body = self.send("POST", "/__aimock/chaos", faults)
        if status >= 300:
            raise AssertionError(body)

    def behave(self):
        self.send("DELETE", "/__aimock/chaos")

    def last_request(self):
        """The journal's entry of the last request to the mock."""
        return json.loads(self.send("GET", "/__aimock/journal")[1])[-1]

    def stop(self):
        self._process.terminate()
        try:
            self._process.wait(time_scale.scaled(5))
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._held.close()


class MockTest(unittest.TestCase):
    """One mock a class."""

    @classmethod
    def setUpClass(cls):
        why = obstacle()
        if why:
            raise unittest.SkipTest(why)
        cls.mock = Mock()
        cls.addClassCleanup(cls.mock.stop)
        directory = tempfile.TemporaryDirectory()
        cls.addClassCleanup(directory.cleanup)
        cls.directory = directory.name  # without an .env of the person who runs the tests

    def setUp(self):
        self.addCleanup(self.mock.behave)

    def ask(self, provider, request, key=KEY, **environment):
        """The outcome as llm_ask prints it. A key in any of its output fails the test."""
        name = provider.upper()
        done = subprocess.run(
            [ASK, json.dumps({"deadline_ms": 8000, **request})], cwd=self.directory, capture_output=True, text=True,
            timeout=time_scale.scaled(60), check=False, stdin=subprocess.DEVNULL,
            env={"PATH": os.environ["PATH"], "HOME": self.directory, "LLM_PROVIDER": provider, f"{name}_API_KEY": key,
                 f"{name}_BASE_URL": f"http://127.0.0.1:{self.mock.port}{BASES[provider]}", **environment})
        self.assertEqual((0, ""), (done.returncode, done.stderr), provider)
        self.assertNotIn(key, done.stdout)
        return json.loads(done.stdout)

    def each(self, request, **options):
        """Runs as every provider; the outcome says which."""
        for provider in BASES:
            yield provider, self.ask(provider, request, **options)

    def each_beside_others(self, request, **options):
        """The same, three at a time, for answers that are waited for. More would slow each other's start on a slow
        host."""
        with concurrent.futures.ThreadPoolExecutor(3) as pool:
            return list(zip(BASES, pool.map(lambda provider: self.ask(provider, request, **options), BASES)))

    def assert_failed(self, provider, outcome, fault, status, *words):
        self.assertEqual((fault, status, provider),
                         tuple(outcome.get(key) for key in ("fault", "status", "provider")), outcome)
        self.assertTrue(outcome["message"].startswith(provider + ": "), outcome)
        for word in words:
            self.assertIn(word, outcome["message"])
