"""A real `agent-sandbox serve` on a free port, and plain HTTP to talk to it."""
import http.client
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time
import unittest

import host_view
import time_scale

BINARY = os.environ.get("AGENT_SANDBOX_BIN", "")
# The line with the server's address may be text or JSON; the port is the last number of an address.
LISTENING = re.compile(r"listening.*?[:\"\s](\d{2,5})\b(?!\.\d)", re.IGNORECASE)
LISTENING_UNIX = re.compile(r"listening on unix:([^\s\"]+)")


class DidNotStart(Exception):
    """Has the output of the server before its end."""


class LiveServer:
    # Makes a proxy for a port, through which all clients then go; see validating_proxy.py.
    make_proxy = None

    def __init__(self, *arguments, environment=None, binary=BINARY, port="0"):
        self.directory = tempfile.mkdtemp(prefix="agent-sandbox-api.")
        # Started as root the server works as another user.
        os.chmod(self.directory, 0o755)
        self.temporary = os.path.join(self.directory, "tmp")
        os.mkdir(self.temporary)
        os.chmod(self.temporary, 0o1777)
        self.log, self._listens, self._proxy = [], threading.Event(), None
        self.port, self.path = None, None  # one of them, once it listens
        self._process = subprocess.Popen(
            [binary, "serve", "--port", port, *arguments], cwd=self.directory, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", start_new_session=True,
            env={"PATH": os.environ["PATH"], "HOME": self.directory, "TMPDIR": self.temporary,
                 # The tests must see the same before and after somebody builds a root.
                 "SANDBOX_ROOTFS": os.environ.get("AGENT_SANDBOX_API_ROOT", "host"), **(environment or {})})
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        self._listens.wait(time_scale.scaled(20))
        if self.port is None and self.path is None:
            self._process.kill()
            self._process.wait()
            self._reader.join(time_scale.scaled(5))
            shutil.rmtree(self.directory, ignore_errors=True)
            raise DidNotStart("".join(self.log))

    def _read(self):
        for line in self._process.stdout:
            self.log.append(line)
            unix, tcp = LISTENING_UNIX.search(line), LISTENING.search(line)
            if unix and self.path is None:
                self.path = unix.group(1)
                self._listens.set()
            elif tcp and self.port is None and self.path is None:
                self.port = int(tcp.group(1))
                self._listens.set()
        self._listens.set()

    @property
    def pid(self):
        return self._process.pid

    @property
    def exit_status(self):
        return self._process.poll()

    def processes(self):
        return host_view.descendants(self.pid)

    def launcher(self):
        """The one process that the server starts before it listens."""
        return next((pid for pid in sorted(self.processes()) if host_view.parent_of(pid) == self.pid), None)

    def launchers(self):
        """The processes that make jails now. An init has their name until it sets its own, but another parent."""
        return [pid for pid in self.processes() if host_view.name_of(pid) == "jail-launcher" and host_view.parent_of(pid) == self.pid]

    def wait_until_running(self, count=1, seconds=10):
        """Waits until this many programs have their place; jails that wait in pools do not count."""
        with self.client() as client:
            return host_view.wait_until(
                lambda: client.send("GET", "/health").json["runs"]["running"] >= count, seconds)

    def wait_until_draining(self, seconds=10):
        """Waits until the server says that it stops. It may close an idle connection just before, so each question has one of its own."""
        def is_draining():
            try:
                with self.client() as client:
                    return client.send("GET", "/health").status == 503
            except (OSError, http.client.HTTPException):
                return False
        return host_view.wait_until(is_draining, seconds)

    def wait_for_program(self, word, seconds=20):
        """Waits until a process below the server has `word` in its command line."""
        return host_view.wait_until(lambda: any(word in line for line in self.processes().values()), seconds)

    def kill(self):
        self._process.kill()
        self._process.wait()

    def stop(self):
        """Ends the server as an operator would. Returns its exit status."""
        if self._proxy:
            self._proxy.stop()
            self._proxy = None
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGTERM)
            try:
                self._process.wait(time_scale.scaled(15))
            except subprocess.TimeoutExpired:
                self.kill()
                raise
        self._reader.join(time_scale.scaled(5))
        self._process.stdout.close()
        shutil.rmtree(self.directory, ignore_errors=True)
        return self._process.returncode

    def client(self, **headers):
        if self.path:
            return Client(None, headers, connection=UnixConnection(self.path))
        if LiveServer.make_proxy is None:
            return Client(self.port, headers)
        if self._proxy is None:
            self._proxy = LiveServer.make_proxy(self.port)
        return self._proxy.client(headers)


def place_for_volumes(suite):
    """The settings of a server that has volumes, for a class of tests, with whose end their place goes. Volumes need
    records in a file."""
    place = tempfile.mkdtemp(prefix="agent-sandbox-volumes.")
    # Started as root the server works as another user.
    os.chmod(place, 0o1777)
    suite.addClassCleanup(shutil.rmtree, place, True)
    return {"SANDBOX_DISK_PATH": os.path.join(place, "disks"), "SANDBOX_DISK_RESERVE_MB": "100",
            "JOBS_PATH": os.path.join(place, "jobs.sqlite")}


class Answer:
    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, headers, body

    @property
    def json(self):
        return json.loads(self.body)

    def __repr__(self):
        return f"{self.status} {self.body[:600]!r}"


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("localhost", timeout=time_scale.scaled(60))
        self._path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._path)


class Client:
    """One keep-alive connection."""

    def __init__(self, port, headers=None, host="127.0.0.1", timeout=time_scale.scaled(60), connection=None):
        self._connection = connection or http.client.HTTPConnection(host, port, timeout=timeout)
        self._headers = headers or {}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self._connection.close()

    @property
    def socket(self):
        return self._connection.sock

    def begin(self, method, path, body=None, **headers):
        """Sends a request, for callers that do not wait for the answer."""
        self._connection.request(method, path, body, {**self._headers, **headers})

    def send(self, method, path, body=None, **headers):
        self.begin(method, path, body, **headers)
        response = self._connection.getresponse()
        return Answer(response.status, response.headers, response.read())

    def post(self, body, path="/execute", **headers):
        """`body` is a value to be sent as JSON, or bytes to be sent as they are."""
        if not isinstance(body, bytes):
            body = json.dumps(body).encode()
        return self.send("POST", path, body, **{"Content-Type": "application/json", **headers})

    def execute(self, code, **fields):
        if time_scale.SCALE > 1:
            fields.setdefault("timeout_seconds", time_scale.timeout(5))  # which is the default on a fast host
        answer = self.post({"code": code, **fields})
        if answer.status != 200:
            raise AssertionError(f"expected 200: {answer}")
        return answer.json


def send_and_forget(server, code, **fields):
    """A request that runs while the test goes on; the server may die before it answers."""
    def send():
        try:
            with server.client() as client:
                client.execute(code, **fields)
        except (OSError, http.client.HTTPException):
            return

    threading.Thread(target=send, daemon=True).start()


def the_running_job(client):
    """The id of the one job that runs."""
    ids = []

    def found():
        ids[:] = [job["job_id"] for job in client.send("GET", "/jobs?status=running").json["jobs"]]
        return len(ids) == 1

    if not host_view.wait_until(found, 10):
        raise AssertionError(f"expected one running job: {ids}")
    return ids[0]


def begins_and_stays(word):
    """A program that says "begun" and then executes another one with `word` among its arguments. A test that sees that process knows
    that "begun" was said, and that the program runs for the server too."""
    return ("import os\nprint('begun', flush=True)\n"
            f"os.execv('/usr/bin/python3', ['python3', '-c', 'import time; time.sleep(50)', {word!r}])")


# Prints 250 MiB, which takes a tenth of a second with a reader.
FLOOD = "import os\nfor i in range(4000): os.write(1, b'x' * 65536)\n"


class ServerTest(unittest.TestCase):
    """One server for all methods of a class."""

    server, obstacle = None, None
    arguments, environment = (), {}

    @classmethod
    def setUpClass(cls):
        host_view.become_subreaper()
        if not os.access(BINARY, os.X_OK):
            raise AssertionError(f"AGENT_SANDBOX_BIN names no program: {BINARY!r}")
        cls.obstacle = host_view.no_user_namespaces()
        if cls.obstacle is None:
            cls.server = LiveServer(*cls.arguments, environment=cls.environment)

    @classmethod
    def tearDownClass(cls):
        if cls.server:
            cls.server.stop()

    def setUp(self):
        if self.obstacle:
            self.skipTest(f"no user namespaces for this user: {self.obstacle}")
        self.client = self.server.client()
        self.addCleanup(self.client.close)

    def execute(self, code, **fields):
        return self.client.execute(code, **fields)

    def pools(self):
        return self.client.send("GET", "/health").json["pools"]

    def the_running_job(self):
        return the_running_job(self.client)

    def status_of(self, job):
        return self.client.send("GET", f"/jobs/{job}").json["status"]

    def check_flood_waits_for_its_reader(self, before):
        """FLOOD runs for time_scale.timeout(6) seconds at most, for a client that reads nothing; `before`: what the server had resident then."""
        job = self.the_running_job()
        time.sleep(2)
        self.assertEqual("running", self.status_of(job))
        most = (64 if host_view.has_sanitizer(self.server.pid) else 32) << 20
        self.assertLess(host_view.resident_bytes(self.server.pid) - before, most)
        self.assertTrue(host_view.wait_until(lambda: self.status_of(job) == "timeout", 60), self.status_of(job))

    def wait_for(self, condition, seconds=20):
        self.assertTrue(host_view.wait_until(condition, seconds), self.pools())

    def wait_until_warm(self, name="python", count=1):
        self.wait_for(lambda: self.pools()[name]["warm"] >= count)

    def seconds(self, code, **fields):
        """The answer and how long it took to come."""
        started = time.monotonic()
        result = self.execute(code, **fields)
        return result, time.monotonic() - started


class SteadyPools:
    """For a ServerTest: pools of Python and of bash that always keep JAILS each."""

    JAILS = 2

    @classmethod
    def setUpClass(cls):
        folder = tempfile.mkdtemp(prefix="agent-sandbox-templates.")
        cls.addClassCleanup(shutil.rmtree, folder)
        os.chmod(folder, 0o755)
        pool = dict.fromkeys(("least", "usual", "most"), cls.JAILS)
        for language, warmth in (("python", "forked"), ("bash", "prepared")):
            path = pathlib.Path(folder, f"{language}.json")
            path.write_text(json.dumps({"name": language, "language": language, "warmth": warmth, "pool": pool}), encoding="utf-8")
            path.chmod(0o644)
        cls.environment = {**cls.environment, "SANDBOX_TEMPLATES_DIR": folder}
        super().setUpClass()

    def pools_are_full(self):
        """Uses a connection of its own, since other tests count descriptors."""
        with self.server.client() as client:
            pools = client.send("GET", "/health").json["pools"].values()
        return all((pool["warm"], pool["leased"], pool["refilling"]) == (pool["target"], 0, 0) for pool in pools)


class KeptJobsTest(ServerTest):
    """Servers of their own, with a file that this user and the server's may write."""

    environment = {"JOBS_PATH": ":memory:"}

    def setUp(self):
        super().setUp()
        self.directory = tempfile.mkdtemp(prefix="agent-sandbox-kept.")
        self.addCleanup(shutil.rmtree, self.directory, ignore_errors=True)
        os.chmod(self.directory, 0o1777)
        self.path = os.path.join(self.directory, "jobs.sqlite")

    def start(self, **environment):
        server = LiveServer(environment={"JOBS_PATH": self.path, **environment})
        self.addCleanup(server.stop)
        return server
