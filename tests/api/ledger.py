"""A thread that keeps changing files in a sandbox, and a record of the changes that the server has acknowledged."""
import collections
import http.client
import io
import itertools
import random
import tarfile
import threading

import time_scale
from living_sandbox import Sandbox

# It writes single bytes, so that a kill can leave a part of the content.
APPENDER = "dd bs=1 status=none"
APPEND = ["sh", "-c", f'exec {APPENDER} >> "$1"', "sh"]


def files_below(sandbox, directory):
    """Name to content, of all files there."""
    answer = sandbox.get(directory, "?tar=true")
    if answer.status != 200:
        raise AssertionError(f"expected 200: {answer}")
    with tarfile.open(fileobj=io.BytesIO(answer.body)) as tar:
        return {info.name: tar.extractfile(info).read() for info in tar if info.isreg()}


class Writer(threading.Thread):
    """Writes, appends to, moves and removes files in a directory of its own, one operation after the other. `files`
    is what must be there by what was acknowledged. What was refused has changed nothing; what broke off is looked
    up, and must be what the operation may have come to."""

    def __init__(self, server, sandbox, seed, max_bytes=40_000, runs_commands=True):
        super().__init__(daemon=True)
        self.client = server.client()
        self.sandbox = Sandbox(self.client, sandbox.made)
        self.directory = f"/workspace/of-{seed}"
        self.files, self.acknowledged = {}, 0
        self.refusals, self.cut_short = collections.Counter(), collections.Counter()
        self.failure = None  # what no fault explains
        self._random, self._is_over = random.Random(seed), threading.Event()
        self._max_bytes, self._runs_commands = max_bytes, runs_commands
        answer = self.sandbox.act(self.directory, make_directory=True)
        if answer.status != 201:
            raise AssertionError(f"expected 201: {answer}")

    def run(self):
        try:
            for number in itertools.count():
                if self._is_over.is_set() or "sandbox_ended" in self.refusals:
                    return
                self._one(number)
        except (OSError, http.client.HTTPException):
            self.cut_short["connection"] += 1
        except Exception as failure:  # pylint: disable=broad-exception-caught # finish() raises it
            self.failure = failure
        finally:
            self.client.close()

    def finish(self):
        """Stops the thread. Nothing is written any more afterwards."""
        self._is_over.set()
        self.join(time_scale.scaled(60))
        if self.is_alive():
            raise AssertionError(f"an operation has no answer: {self.directory}")
        if self.failure:
            raise self.failure

    @property
    def goes_on(self):
        return self.is_alive()

    def check(self, sandbox):
        """Checks that every acknowledged file is there byte for byte, and no other."""
        found = files_below(sandbox, self.directory)
        if found != self.files:
            wrong = {name: tuple(None if content is None else (len(content), content[:16]) for content in pair)
                     for name in sorted(found.keys() | self.files.keys())
                     if (pair := (self.files.get(name), found.get(name)))[0] != pair[1]}
            raise AssertionError(f"in {self.directory}, expected and found: {wrong}")

    def _one(self, number):
        name = f"{self._random.randrange(20)}"
        content = self._content(number)
        chosen = self._random.randrange(10)
        if chosen < 5 or name not in self.files:
            self._note(self.sandbox.put(self._path(name), content), lambda: self.files.update({name: content}))
        elif chosen < 7 and self._runs_commands:
            self._append(name, content[:10_000])
        elif chosen < 9:
            to = f"{self._random.randrange(20)}"
            self._note(self.sandbox.act(self._path(name), move_to=self._path(to)),
                       lambda: self.files.update({to: self.files.pop(name)}))
        else:
            self._note(self.sandbox.remove(self._path(name)), lambda: self.files.pop(name))

    def _content(self, number):
        """Never returns the same twice. It consists of letters, as a command needs a text."""
        line = f"{self.directory} {number} {self._random.random()}\n".encode()
        return (line * (self._max_bytes // len(line)))[:self._random.randrange(self._max_bytes)]

    def _path(self, name):
        return f"{self.directory}/{name}"

    def _note(self, answer, done):
        if answer.status < 300:
            self.acknowledged += 1
            done()
        else:
            self.refusals[answer.json["code"]] += 1

    def _append(self, name, content):
        """Appends by a command, whose success the guest's own shell reports."""
        answer = self.sandbox.ask([*APPEND, self._path(name)], stdin=content.decode())
        if answer.status != 200:
            self._note(answer, lambda: None)
        elif answer.json["exit_code"] == 0:
            self._note(answer, lambda: self.files.update({name: self.files[name] + content}))
        else:
            self.cut_short[answer.json["outcome"]["code"]] += 1
            self._look_up(name, self.files[name], content)

    def _look_up(self, name, before, appended):
        answer = self.sandbox.get(self._path(name))
        if answer.status != 200:
            self._note(answer, lambda: None)
            return
        if not answer.body.startswith(before) or not (before + appended).startswith(answer.body):
            raise AssertionError(f"{self._path(name)} is neither what it was nor a part of what was appended")
        self.files[name] = answer.body
