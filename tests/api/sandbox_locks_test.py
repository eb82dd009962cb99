"""A guest that holds the locks of its files and directories makes only its owner wait."""
import contextlib
import statistics
import threading
import time

import time_scale
from living_sandbox import SandboxTest

# Sixty threads write to one file, and one that removes names of it waits for them with the lock of the directory.
HOLDS_LOCKS = """
import os, threading
os.makedirs("/workspace/held", exist_ok=True)
block = bytes(40 << 20)
file = os.open("/workspace/held/file", os.O_RDWR | os.O_CREAT, 0o644)
os.pwrite(file, block, 0)
print("holds", flush=True)
def write():
    while True: os.pwrite(file, block, 0)
def remove():
    while True:
        os.link("/workspace/held/file", "/workspace/held/other")
        os.unlink("/workspace/held/other")
for work in [write] * 60 + [remove]: threading.Thread(target=work).start()
"""


class Locks(SandboxTest):
    @contextlib.contextmanager
    def asking(self, path, body=None):
        """Lets two clients send requests all the time meanwhile."""
        over = threading.Event()

        def ask():
            with self.server.client() as client:
                while not over.is_set():
                    client.send("GET", path) if body is None else client.post(body, path)

        threads = [threading.Thread(target=ask) for _ in range(2)]
        for thread in threads:
            thread.start()
        try:
            yield
        finally:
            over.set()
            for thread in threads:
                thread.join()

    def wait_of_another(self):
        time.sleep(0.02)
        begin = time.monotonic()
        self.assertEqual(200, self.client.send("GET", "/health").status)
        return time.monotonic() - begin

    def test_the_server_answers_others(self):
        held = self.make(limits={"memory_mb": 256, "disk_mb": 64})
        for what, path, body in (("looking", f"{held.file_path('/workspace/held/none')}", None),
                                 ("starting", f"{held.path}/processes", {"command": ["/workspace/held/none"]})):
            with self.subTest(what):
                guest = held.start(["python3", "-c", HOLDS_LOCKS])
                guest.says("holds")
                with self.asking(path, body):
                    waits = [self.wait_of_another() for _ in range(40)]
                self.assertLess(statistics.median(waits), time_scale.scaled(0.1))
                guest.post("signal", signal=9)
                guest.ended()
