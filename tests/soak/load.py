"""Clients of a soak: each runs in a thread until it is told to stop, and counts what it saw."""
import collections
import hashlib
import http.client
import json
import random
import threading
import time

GOOD = (
    {"code": "print(6*7)"},
    {"code": "import json, statistics; print(int(statistics.mean([40, 44])))"},
    {"code": "echo $((6*7))", "language": "bash"},
    {"code": "import sys; sys.stdout.write(sys.stdin.read().strip())", "stdin": "42\n"},
)
BOMBS = (
    {"code": "import os\nwhile True:\n    try: os.fork()\n    except OSError: pass", "timeout_seconds": 0.5},
    {"code": ":(){ :|:& };:", "language": "bash", "timeout_seconds": 0.5},
    {"code": "import threading, time\nwhile True: threading.Thread(target=time.sleep, args=(9,)).start()", "timeout_seconds": 0.5},
    {"code": "x = []\nwhile True: x.append(bytearray(b'x') * (1 << 20))", "memory_limit_mb": 64},
    {"code": "f = open('/tmp/f', 'wb')\nwhile True: f.write(b'x' * (1 << 20))", "memory_limit_mb": 96},
    {"code": "import os\ni = 0\nwhile True:\n    open(f'/tmp/{i}', 'w').close()\n    i += 1"},
    {"code": "import os\nwhile True:\n    os.mkdir('d')\n    os.chdir('d')", "timeout_seconds": 0.5},
    {"code": "while True: print('x' * 65536)", "timeout_seconds": 0.5},
    {"code": "while True: pass", "timeout_seconds": 0.3},
    {"code": "import socket\nkept = []\nwhile True: kept.append(socket.socketpair())"},
    {"code": "import os, time\nfor _ in range(20):\n    if os.fork() == 0:\n        os.setsid()\n        time.sleep(60)"},
    {"code": "import os, signal\nos.kill(os.getpid(), signal.SIGSTOP)", "timeout_seconds": 0.3},
)
NONSENSE = (
    b"", b"{", b"[]", b'{"code": 7}', b'{"code": "x", "no_such_field": 1}', b'{"code": "x", "timeout_seconds": 1e999}',
    b'{"code": "\\ud800"}', b"[" * 5000, b'{"code": "' + b"x" * (2 << 20) + b'"}',
)
SLEEPER = {"code": "import time; print('here', flush=True); time.sleep(20)", "timeout_seconds": 30}
SLEEPER_SHA256 = hashlib.sha256(SLEEPER["code"].encode()).hexdigest()


def begin(client, request):
    """Sends a request and does not wait for the answer."""
    client._connection.request("POST", "/execute", json.dumps(request).encode(), {"Content-Type": "application/json"})


class Load:
    """Starts the clients when it is entered and stops them when it is left."""

    def __init__(self, server):
        self._server = server
        self._stop = threading.Event()
        self._lock = threading.Lock()
        self._times, self.counts, self.wrong = [], collections.Counter(), []
        self._threads = [threading.Thread(target=self._client, args=(work,))
                         for work in (self._good, self._good, self._bomb, self._cancel, self._leave, self._nonsense)]

    def __enter__(self):
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self._stop.set()
        for thread in self._threads:
            thread.join()

    def take_times(self):
        """Seconds that good programs took since the last call."""
        with self._lock:
            taken, self._times = self._times, []
        return taken

    def _client(self, work):
        dice = random.Random(work.__name__)
        while not self._stop.is_set():
            try:
                work(dice)
            except (OSError, http.client.HTTPException) as error:
                self._note_wrong(f"{work.__name__}: {error!r}")
                self._stop.wait(1)

    def _note_wrong(self, text):
        with self._lock:
            self.wrong.append(text[:500])

    def _count(self, name):
        with self._lock:
            self.counts[name] += 1

    def _good(self, dice):
        with self._server.client() as client:
            for _ in range(50):
                if self._stop.wait(dice.uniform(0, 0.1)):
                    return
                started = time.monotonic()
                answer = client.post(dice.choice(GOOD))
                took = time.monotonic() - started
                self._count("good")
                with self._lock:
                    self._times.append(took)
                if answer.status != 200 or answer.json["status"] != "success" or answer.json["stdout"].strip() != "42":
                    self._note_wrong(f"good: {answer}")

    def _bomb(self, dice):
        with self._server.client() as client:
            answer = client.post(dice.choice(BOMBS))
            self._count("bomb")
            if answer.status != 200:
                self._note_wrong(f"bomb: {answer}")
        self._stop.wait(dice.uniform(0, 0.4))

    def _cancel(self, dice):
        """Acts as an operator: finds the job by its program, and cancels it. Its own client gets an answer."""
        with self._server.client() as sender, self._server.client() as operator:
            begin(sender, SLEEPER)
            self._stop.wait(dice.uniform(0, 0.5))
            jobs = operator.send("GET", "/jobs?status=running&limit=200").json["jobs"]
            found = [job["job_id"] for job in jobs if job["code_sha256"] == SLEEPER_SHA256]
            if not found:
                return  # it has not begun; its client leaves
            answer = operator.send("DELETE", f"/jobs/{dice.choice(found)}")
            self._count("cancel")
            if answer.status not in (202, 404, 409):
                self._note_wrong(f"cancel: {answer}")

    def _leave(self, dice):
        with self._server.client() as client:
            if dice.random() < 0.5:
                begin(client, SLEEPER)
            else:
                client._connection.connect()
                client.socket.sendall(b"POST /execute HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n")
            self._stop.wait(dice.uniform(0, 0.5))
            self._count("leave")

    def _nonsense(self, dice):
        with self._server.client() as client:
            answer = client.post(dice.choice(NONSENSE))
            self._count("nonsense")
            if not 400 <= answer.status < 500:
                self._note_wrong(f"nonsense: {answer}")
        self._stop.wait(dice.uniform(0, 0.3))
