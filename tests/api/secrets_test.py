"""The server's secrets (its environment, its keys, its callers' headers) are in no process of a jail and
not in the launcher that makes them: neither a guest nor the host finds it there."""
import concurrent.futures
import os
import re
import uuid

import host_view
import live_server

# Secrets of one run share a prefix, so that a program can look for them without holding one itself.
PREFIX = f"mark{uuid.uuid4().hex[:12]}"
ENVIRONMENT, KEY, HEADER, PLANTED = (f"{PREFIX}{letter}{uuid.uuid4().hex[:20]}" for letter in "abcd")
LARGEST_REGION = 1 << 30
PATTERN = re.compile(rf"{PREFIX}[abcd][0-9a-f]{{20}}".encode())

SEARCH = r"""
import os, re, sys
pattern = re.compile((sys.argv[1] + "[abcd][0-9a-f]{20}").encode())
found, read = set(), 0
def look(where, text):
    found.update((where, match.decode()) for match in pattern.findall(text))
def memory(pid):
    global read
    try:
        maps = open(f"/proc/{pid}/maps").read().splitlines()
        with open(f"/proc/{pid}/mem", "rb", buffering=0) as mem:
            for line in maps:
                if line.split()[1].startswith("r") and "[v" not in line:
                    low, high = (int(part, 16) for part in line.split()[0].split("-"))
                    try:
                        mem.seek(low)
                        look(f"{pid} mem", mem.read(min(high - low, 64 << 20)) or b"")
                        read += 1
                    except (OSError, ValueError, OverflowError):
                        pass
    except OSError:
        pass
for folder, folders, names in os.walk("/proc"):
    folders[:] = [name for name in folders if name not in ("map_files",)]
    for name in names:
        if name not in ("mem", "pagemap", "kcore", "kmsg"):
            try:
                descriptor = os.open(os.path.join(folder, name), os.O_RDONLY | os.O_NONBLOCK)
                try:
                    look(os.path.join(folder, name), os.read(descriptor, 1 << 20))
                finally:
                    os.close(descriptor)
            except OSError:
                pass
for name in os.listdir("/proc"):
    if name.isdigit():
        memory(name)
for top in ("/workspace", "/tmp", "/etc", "/run", "/var", "/dev"):
    for folder, _, names in os.walk(top):
        for name in names:
            try:
                descriptor = os.open(os.path.join(folder, name), os.O_RDONLY | os.O_NONBLOCK)
                look(os.path.join(folder, name), os.read(descriptor, 1 << 16))
                os.close(descriptor)
            except OSError:
                pass
print("regions", read)
for where, word in sorted(found):
    print("found", word[len(sys.argv[1])], where)
"""


def secrets_in(pid):
    """Returns (secrets in the memory and environment of a process, number of readable regions)."""
    found, regions = set(), 0
    for name in ("environ", "cmdline"):
        with open(f"/proc/{pid}/{name}", "rb") as file:
            found.update(PATTERN.findall(file.read()))
    with open(f"/proc/{pid}/maps", encoding="utf-8") as maps, open(f"/proc/{pid}/mem", "rb", buffering=0) as memory:
        for line in maps:
            if not line.split()[1].startswith("r") or "[v" in line:
                continue
            low, high = (int(part, 16) for part in line.split()[0].split("-"))
            if high - low > LARGEST_REGION:
                continue  # address space that a sanitizer reserves: terabytes, and no heap
            try:
                memory.seek(low)
                found.update(PATTERN.findall(memory.read(high - low)))
                regions += 1
            except (OSError, ValueError, OverflowError):
                continue
    return {word.decode() for word in found}, regions


class Secrets(live_server.ServerTest):
    environment = {"API_KEYS": KEY, "GROQ_API_KEY": ENVIRONMENT, "OPENAI_API_KEY": ENVIRONMENT}

    def setUp(self):
        super().setUp()
        self.client.close()
        self.client = self.server.client(Authorization=f"Bearer {KEY}", **{"X-Customer": HEADER})
        self.addCleanup(self.client.close)
        for _ in range(5):
            self.execute("pass")

    def search(self, **fields):
        result = self.execute(SEARCH, args=[PREFIX], timeout_seconds=40, memory_limit_mb=1024, **fields)
        self.assertEqual("success", result["status"], result)
        return result["stdout"].splitlines()

    def test_guest_finds_nothing(self):
        regions, *found = self.search()
        self.assertGreater(int(regions.split()[1]), 10, "it could not even read its own memory")
        self.assertEqual([], found)

    def test_control_guest_finds_what_it_was_given(self):
        _, *found = self.search(env={"PLANTED": PLANTED})
        self.assertTrue(any(line.startswith("found d /proc/") for line in found), found)
        self.assertTrue(any(line.startswith("found d") and line.endswith(" mem") for line in found), found)

    def test_host_finds_nothing_in_launcher_and_jails(self):
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            running = pool.submit(self.execute, "import time; print('up', flush=True); time.sleep(8)", timeout_seconds=20,
                                  args=["looked-at"])
            self.assertTrue(host_view.wait_until(
                lambda: any("looked-at" in line for line in self.server.processes().values()), 10), self.server.processes())
            try:
                self.look_below_the_server()
            finally:
                running.result()

    def look_below_the_server(self):
        looked, closed = 0, []
        for pid, line in self.server.processes().items():
            try:
                found, regions = secrets_in(pid)
            except PermissionError:
                closed.append(line)
                continue
            except (FileNotFoundError, ProcessLookupError):
                continue
            self.assertEqual(set(), found, f"{pid} {line}")
            if not regions and not host_view.alive(pid):
                continue  # it ended while it was looked at
            self.assertGreater(regions, 0, line)
            looked += 1
        if os.geteuid() == 0:
            self.assertEqual([], closed, "root may read them all")
            self.assertGreaterEqual(looked, 3)
        elif not looked:
            self.skipTest(f"this user may read none of {closed}")

    def test_control_host_finds_them_in_the_server(self):
        try:
            found, _ = secrets_in(self.server.pid)
        except PermissionError as error:
            self.skipTest(f"this user may not read the server's memory: {error}")
        self.assertIn(KEY, found)

    def test_command_lines_hold_no_secret(self):
        for pid in (self.server.pid, *self.server.processes()):
            self.assertNotIn(PREFIX, host_view.command_line(pid))
