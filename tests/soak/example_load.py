"""Clients of the examples: good ones, whose answers are checked, and beside them those that leave, wait and fail."""
import collections
import http.client
import itertools
import random
import socket
import subprocess
import threading

import ordinary_user

ENDLESS = "while True: pass"
SLEEPER = "import time\nprint('begun', flush=True)\ntime.sleep(3)\n"
FAT = "block = []\nwhile True: block.append(bytearray(1 << 20))"
LOUD = "while True: print('x' * 10_000)"
CHILDREN = "import subprocess\nprint(subprocess.run(['/usr/bin/echo', 'from a child'], capture_output=True, text=True).stdout)"


class Load:
    """Runs during the `with` block. `counts` is by kind of request, `wrong` are failures in words."""

    def __init__(self, places):
        self.places = places
        self.counts, self.wrong = collections.Counter(), []
        self._stop = threading.Event()
        self._workers = [threading.Thread(target=self._repeat, args=(work,)) for work in self._works()]

    def __enter__(self):
        for worker in self._workers:
            worker.start()
        return self

    def __exit__(self, *_):
        self._stop.set()
        for worker in self._workers:
            worker.join()

    def _works(self):
        for name, talk in (("daemon", self.places.to_daemon), ("service", self.places.to_service), ("httpd", self.places.to_httpd)):
            yield from (self._good(name, talk), self._good(name, talk), self._bad(name, talk), self._leaving(name))
        yield self._converting()
        yield self._restarting()

    def _repeat(self, work):
        for step in work:
            if self._stop.wait(step):
                return

    def _note(self, name, is_right, what=""):
        self.counts[name] += 1
        if not is_right:
            self.wrong.append(f"{name}: {what}"[:300])

    def _good(self, name, talk):
        for number in itertools.count():
            try:
                answer = talk(f"print({number} * 7)")
                self._note(f"{name}, good", answer == (f"{number * 7}\n", "exited 0"), answer)
            except (OSError, http.client.HTTPException) as error:
                self._note(f"{name}, good", False, repr(error))
            yield random.uniform(0, 0.1)

    def _bad(self, name, talk):
        ends = {ENDLESS: ("timed out",), FAT: ("out of memory", "exited 1", "timed out"), CHILDREN: ("exited 0",), "1/0": ("exited 1",),
                "import os\nos.kill(os.getpid(), 9)": ("signaled 9",)}
        for program, wanted in itertools.cycle(ends.items()):
            try:
                _, ended = talk(program)
                self._note(f"{name}, bad", ended in wanted, f"{program!r} {ended}")
            except (OSError, http.client.HTTPException) as error:
                self._note(f"{name}, bad", False, repr(error))
            yield random.uniform(0, 0.5)

    def _leaving(self, name):
        """Leaves while the program prints, sleeps or has not even begun."""
        for program in itertools.cycle((SLEEPER, LOUD, None)):
            try:
                with self.places.half_asked(name, program):
                    yield random.uniform(0, 1)
                self._note(f"{name}, left", True)
            except OSError as error:
                self._note(f"{name}, left", False, repr(error))
            yield 0

    def _converting(self):
        for kind, wanted in itertools.cycle((("good", 0), ("socket", 1), ("flood", 1), ("child", 1))):
            status, said = self.places.convert(kind)
            self._note(f"converter, {kind}", status == wanted, said)
            yield 0.2

    def _restarting(self):
        while True:
            yield 20
            self.places.restart_httpd()
            self.counts["httpd, graceful restart"] += 1


class Places:
    """The addresses of the examples, and a client for each: sends a program, returns its output and its end."""

    def __init__(self, daemon, service, httpd, converter, outputs):
        self.daemon, self.service, self.httpd = daemon, service, httpd
        self._converter, self._outputs = converter, outputs

    def to_daemon(self, program):
        with self.half_asked("daemon", program) as client, client.makefile("rb") as answer:
            printed, _, ended = answer.read().decode().rpartition("jail: ")
        return printed, ended.strip()

    def to_service(self, program):
        with self.half_asked("service", program) as client, client.makefile("rb") as answer:
            head, _, body = answer.read().decode().partition("\r\n\r\n")
        if not head.startswith("HTTP/1.1 200"):
            return head, body
        chunks, _, trailer = body.rpartition("0\r\nJail-Ended: ")
        printed = "".join(chunks.split("\r\n")[1::2])
        return printed, trailer.strip()

    def to_httpd(self, program):
        _, ended, printed = self.httpd.ask("/run", program)
        return printed, ended

    def half_asked(self, name, program):
        """A connection whose answer nobody has read yet; with `program` None it has sent only a part of a request."""
        if name == "daemon":
            client = socket.socket(socket.AF_UNIX)
            client.settimeout(60)
            client.connect(self.daemon.place)
            if program is not None:
                client.sendall(program.encode())
                client.shutdown(socket.SHUT_WR)
            return client
        port = int(self.service.place) if name == "service" else self.httpd.port
        client = socket.create_connection(("127.0.0.1", port), 60)
        size = 1000 if program is None else len(program)
        client.sendall(f"POST /run HTTP/1.1\r\nHost: x\r\nContent-Length: {size}\r\n\r\n{program or ''}".encode())
        return client

    def convert(self, kind):
        output = self._outputs / "output.png"
        output.unlink(missing_ok=True)
        done = subprocess.run([*self._converter(kind, output)], capture_output=True, text=True, errors="replace", check=False, timeout=120,
                              cwd="/", env=self.daemon.environment, **ordinary_user.NOT_ROOT)
        return done.returncode, done.stderr[-300:]

    def restart_httpd(self):
        self.httpd.restart()
