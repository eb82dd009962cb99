"""A measuring program that stays: one command in, one line of JSON out."""
import json
import os
import subprocess

# The same environment for everything that is measured: a variable such as PYTHONUNBUFFERED would make each print()
# slower.
ENVIRONMENT = {"PATH": os.environ.get("PATH", "/usr/bin:/bin"), "LANG": "C.UTF-8", "HOME": "/tmp"}


class Failed(Exception):
    """The message of a program that did not return figures."""


class Worker:
    def __init__(self, *command):
        self.name = os.path.basename(command[0])
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                         env=ENVIRONMENT)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    @property
    def pid(self):
        return self._process.pid

    def ask(self, *words, separator=" "):
        line = ""
        if self._process.poll() is None:
            self._process.stdin.write(separator.join(str(word) for word in words) + "\n")
            self._process.stdin.flush()
            line = self._process.stdout.readline()
        if not line:
            raise Failed(f"{self.name} ended with {self._process.wait()}")
        answer = json.loads(line)
        if "error" in answer:
            raise Failed(f"{self.name}: {answer['error']}")
        return answer

    def close(self):
        try:
            self._process.stdin.close()
        except BrokenPipeError:
            pass  # it has ended before its stdin did
        self._process.stdout.close()
        self._process.wait()
