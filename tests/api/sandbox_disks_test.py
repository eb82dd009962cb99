"""Sandboxes whose /workspace is a directory of the host: work that is larger than memory, its bound, and what is left."""
import contextlib
import json
import os
import pathlib
import resource
import shutil
import subprocess
import tempfile
import unittest

import host_view
import live_server
from living_sandbox import Sandbox, SandboxTest

MB = 1 << 20


class DiskTest(SandboxTest):
    """A server with a place for disks, which outlives it."""
    max_disk_mb = 400

    @classmethod
    def setUpClass(cls):
        cls.place = pathlib.Path(tempfile.mkdtemp(prefix="agent-sandbox-disks."))
        cls.place.chmod(0o1777)
        cls.addClassCleanup(shutil.rmtree, cls.place, True)
        cls.environment = {"JOBS_PATH": ":memory:", "SANDBOX_DISK_PATH": str(cls.place / "disks"),
                           "SANDBOX_MAX_DISK_MB": str(cls.max_disk_mb), "SANDBOX_DISK_RESERVE_MB": "100"}
        super().setUpClass()

    def on_disk(self, disk_mb=100, **fields):
        limits = {"memory_mb": 128, "disk_mb": disk_mb, **fields.pop("limits", {})}
        return self.make(disk_kind="directory", limits=limits, **fields)

    @classmethod
    def directories(cls):
        """Those of sandboxes that live, and what waits to be removed."""
        found = []
        for server in (cls.place / "disks").iterdir():
            with contextlib.suppress(FileNotFoundError):  # the server's directory was removed meanwhile
                found += [path for path in server.iterdir() if path.name != "removed"]
                found += (server / "removed").glob("*")
        return found

    def nothing_is_left(self, seconds=120):
        self.assertTrue(host_view.wait_until(lambda: not self.directories(), seconds), self.directories())

    def ends_full(self, sandbox, seconds=120):
        """Waits for its end; returns its outcome."""
        self.assertTrue(host_view.wait_until(lambda: sandbox.now()["state"] == "ended", seconds), sandbox.now())
        outcome = sandbox.now()["outcome"]
        self.assertEqual("disk_full", outcome["code"], outcome)
        return outcome


class Disks(DiskTest):
    def test_work_that_is_larger_than_memory(self):
        sandbox = self.on_disk(300)
        made = sandbox.now()
        self.assertEqual(("directory", 300), (made["disk_kind"], made["limits"]["disk_mb"]))
        sandbox.run("head -c 200000000 /dev/zero > large; cp /usr/bin/true run && ./run && sha256sum large > sum && sha256sum -c sum")
        self.assertEqual("running", sandbox.now()["state"])
        answer = sandbox.get("/workspace/large", Range="bytes=199999990-")
        self.assertEqual((206, bytes(10)), (answer.status, answer.body))

    def test_its_directory_is_its_servers_alone_and_goes_with_it(self):
        self.nothing_is_left()
        sandbox = self.on_disk()
        directory, = self.directories()
        self.assertEqual((0o700, 0o700), (directory.stat().st_mode & 0o7777, directory.parent.stat().st_mode & 0o7777))
        sandbox.run("mkdir -p a/b; echo text > a/b/c; ln -s / link; chmod 0 a/b a; chmod 0 /workspace")
        self.assertEqual(204, sandbox.delete().status)
        self.nothing_is_left()
        self.assertEqual("deleted", sandbox.now()["outcome"]["code"])

    def test_files_and_archives(self):
        sandbox = self.on_disk()
        self.assertEqual(201, sandbox.put("/workspace/d/file", b"text").status)
        self.assertEqual(b"text", sandbox.get("/workspace/d/file").body)
        self.assertEqual("text", sandbox.run("cat d/file && echo more >> d/file")["stdout"])
        self.assertEqual(["/workspace/d", "/workspace/d/file"],
                         [entry["path"] for entry in sandbox.get("/workspace", "?list&depth=3").json["entries"]])
        archive = sandbox.get("/workspace/d", Accept="application/x-tar")
        self.assertEqual(200, archive.status)
        answer = sandbox.put("/workspace/copy", archive.body, **{"Content-Type": "application/x-tar"})
        self.assertIn(answer.status, (200, 201), answer)
        self.assertEqual(b"textmore\n", sandbox.get("/workspace/copy/file").body)
        self.assertEqual(204, sandbox.remove("/workspace/d", "?recursive=true").status)
        self.assertEqual("copy\n", sandbox.run("ls")["stdout"])

    def test_it_pauses_and_goes_on(self):
        sandbox = self.on_disk()
        sandbox.run("echo kept > file")
        sandbox.pause()
        self.assertEqual("kept\n", sandbox.run("cat file")["stdout"])

    def test_its_use_is_told(self):
        sandbox = self.on_disk(64)
        sandbox.run("head -c 20000000 /dev/zero > file; sync file")
        def now():
            return sandbox.client.send("GET", f"{sandbox.path}/metrics").json
        self.assertTrue(host_view.wait_until(lambda: now()["now"]["workspace_bytes"] >= 20_000_000, 20), now())
        self.assertEqual((64 * MB, 64 * MB), tuple(now()["limits"][name] for name in ("workspace_bytes", "tmp_bytes")))
        self.assertLess(now()["now"]["workspace_bytes"], 22_000_000)

    def test_other_sandboxes_have_memory(self):
        self.nothing_is_left()
        sandbox = self.make()
        made = sandbox.now()
        self.assertEqual("memory", made["disk_kind"])
        self.assertIn("tmpfs", sandbox.run("stat -f -c %T /workspace")["stdout"])
        self.assertEqual([], self.directories())

    def test_requests_that_are_none(self):
        for fields, detail in (({"disk_kind": "directory", "limits": {"disk_mb": 401}}, "disk_mb"),
                               ({"limits": {"disk_mb": 1025}}, "disk_mb"),
                               ({"disk_kind": "tape"}, "disk_kind: expected")):
            answer = self.client.post(fields, "/v1/sandboxes")
            self.assertEqual(400, answer.status, answer)
            self.assertIn("disk", answer.json["detail"])

    def test_what_its_owner_writes_is_bounded(self):
        sandbox = self.on_disk(8)
        self.assertEqual(201, sandbox.put("/workspace/fits", bytes(4 * MB)).status)
        answer = sandbox.put("/workspace/does_not", bytes(6 * MB))
        self.assertEqual((507, "disk_full"), (answer.status, answer.json["code"]), answer)
        self.assertEqual(8, answer.json["limit"])
        self.assertEqual("fits\n", sandbox.run("ls")["stdout"])
        self.assertEqual("running", sandbox.now()["state"])

    def test_what_does_not_fit_takes_nothing(self):
        sandbox = self.on_disk(8)
        for _ in range(2):
            with self.server.client() as client:  # the server does not wait for the rest of such a body
                answer = Sandbox(client, sandbox.made).put("/workspace/large", bytes(30 * MB))
            self.assertRegex(answer.json["detail"],
                             r"\Awrite /workspace/large: it does not fit on the disk of the sandbox: 0(\.\d+)? of 8 MB are used\Z")
        self.assertEqual(201, sandbox.put("/workspace/fits", bytes(7 * MB)).status)

    def test_what_was_removed_makes_room_at_once(self):
        sandbox = self.on_disk(16)
        self.assertEqual(201, sandbox.put("/workspace/a", bytes(10 * MB)).status)
        for _ in range(3):
            answer = sandbox.put("/workspace/a", bytes(5 * MB))
            self.assertLess(answer.status, 300, answer)
        sandbox.run("head -c 9000000 /dev/zero > b; sync b; rm b")
        self.assertEqual(204, sandbox.remove("/workspace/a").status)
        self.assertEqual(201, sandbox.put("/workspace/c", bytes(14 * MB)).status)
        self.assertEqual(507, sandbox.put("/workspace/d", bytes(14 * MB)).status)


class Bounds(DiskTest):
    """Each ends the sandbox, and nothing but it."""

    def ended_by(self, script, disk_mb=32, **fields):
        neighbour, sandbox = self.on_disk(), self.on_disk(disk_mb, **fields)
        sandbox.start(["python3", "-c", script] if "\n" in script else script)
        outcome = self.ends_full(sandbox)
        self.assertEqual("running", neighbour.now()["state"])
        self.assertEqual(204, neighbour.delete().status)
        self.nothing_is_left()
        return outcome

    def test_many_files(self):
        outcome = self.ended_by("for i in $(seq 1000); do head -c 1000000 /dev/zero > $i; done; sleep 1000")
        self.assertEqual(32, outcome["limit"])
        self.assertGreater(outcome["used"], 32)
        self.assertLess(outcome["used"], 400)
        self.assertIn("limits.disk_mb", outcome["remedy"])

    def test_one_file_is_bounded_by_the_kernel(self):
        sandbox = self.on_disk(32)
        done = sandbox.run("head -c 100000000 /dev/zero > file; stat -c %s file")
        self.assertEqual(str(32 * MB), done["stdout"].strip())
        self.assertNotEqual("", done["stderr"])

    def test_allocated_and_never_written(self):
        self.ended_by("for i in 1 2 3 4; do fallocate -l 20000000 $i || exit; done; sleep 1000")

    def test_files_without_a_name(self):
        self.ended_by("""
import os, time
held = []
for _ in range(8):
    held.append(os.open("/workspace", os.O_TMPFILE | os.O_RDWR))
    os.write(held[-1], bytes(8_000_000))
time.sleep(1000)
""")

    def test_files_that_are_only_mapped(self):
        self.ended_by("""
import mmap, os, time
held = []
for _ in range(8):
    with open("/workspace/file", "wb+") as file:
        file.write(bytes(8_000_000))
        file.flush()
        time.sleep(0.3)
        held.append(mmap.mmap(file.fileno(), 8_000_000))
    os.unlink("/workspace/file")
time.sleep(1000)
""")

    def test_written_by_way_of_memory(self):
        self.ended_by("""
import mmap, time
for i in range(4):
    with open(f"/workspace/{i}", "wb+") as file:
        file.truncate(20_000_000)
        memory = mmap.mmap(file.fileno(), 20_000_000)
        for at in range(0, 20_000_000, 4096): memory[at] = 1
time.sleep(1000)
""", limits={"memory_mb": 256})

    def test_holes_take_nothing(self):
        sandbox = self.on_disk(32)
        sandbox.run("for i in 1 2 3 4 5 6; do truncate -s 30M $i; done; sleep 2")
        self.assertEqual("running", sandbox.now()["state"])

    def test_files_of_nothing(self):
        outcome = self.ended_by("""
import os, time
for d in range(100):
    os.mkdir(f"/workspace/{d}")
    for i in range(1000): os.close(os.open(f"/workspace/{d}/{i}", os.O_CREAT | os.O_WRONLY))
time.sleep(1000)
""", disk_mb=300)
        self.assertIn("65536 files", outcome["cause"])

    def test_a_tree_that_is_too_deep_and_shut(self):
        outcome = self.ended_by("""
import os, time
for _ in range(2000):
    os.mkdir("d" * 100)
    os.chdir("d" * 100)
    os.chmod("..", 0o100)
time.sleep(1000)
""")
        self.assertIn("deep", outcome["cause"])

    def test_a_process_that_keeps_itself_from_being_read(self):
        outcome = self.ended_by("""
import ctypes, os, time
ctypes.CDLL(None).prctl(4, 0, 0, 0, 0)  # PR_SET_DUMPABLE
for i in range(2):
    held = os.open("/workspace/file", os.O_CREAT | os.O_RDWR)
    os.unlink("/workspace/file")
time.sleep(1000)
""")
        self.assertIn("could not be counted: a process kept itself from being read", outcome["cause"])

    def test_a_program_that_nobody_may_read(self):
        outcome = self.ended_by("cp /bin/sleep s && chmod 111 s && exec ./s 1000")
        self.assertIn("could not be counted", outcome["cause"])

    def test_programs_that_start_and_end_all_the_time_are_counted(self):
        sandbox = self.on_disk(32)
        sandbox.run("for i in $(seq 400); do echo $i > file; cat file > copy; done & "
                    "for i in $(seq 400); do echo $i > file2; cat file2 > copy2; done; wait")
        self.assertEqual("running", sandbox.now()["state"])

    def test_more_mappings_than_can_be_read(self):
        """Its neighbour's bound is held meanwhile."""
        neighbour, sandbox = self.on_disk(32), self.on_disk(32, limits={"memory_mb": 400})
        sandbox.start(["python3", "-c", """
import mmap, os, time
name = "\\n" * 250
for _ in range(150):
    os.mkdir(name)
    os.chdir(name)
file = os.open("f", os.O_CREAT | os.O_RDWR)
os.ftruncate(file, 8192)
held = [mmap.mmap(file, 4096, prot=mmap.PROT_READ, offset=4096 * (i % 2)) for i in range(400)]
for _ in range(20):
    if os.fork() == 0: break
time.sleep(1000)
"""])
        neighbour.start("for i in $(seq 1000); do head -c 1000000 /dev/zero > $i; done; sleep 1000")
        self.assertLess(self.ends_full(neighbour)["used"], 200)
        outcome = self.ends_full(sandbox)
        self.assertIn("could not be counted: there was too much to read", outcome["cause"])

    def test_a_program_without_a_name(self):
        """A process that executes a file keeps it, though it has neither a name nor a descriptor."""
        self.ended_by("for i in 1 2 3 4; do cp /bin/sleep s; head -c 12000000 /dev/zero >> s; ./s 1000 & "
                      "until [ \"$(readlink /proc/$!/exe)\" = /workspace/s ]; do :; done; rm s; done; wait")

    def test_names_that_are_exchanged(self):
        """A tree that never stays where it is hides nothing for long."""
        self.ended_by("""
import os, threading
os.makedirs("/workspace/a/x"); os.mkdir("/workspace/b")
def move():
    while True:
        os.rename("/workspace/a/x", "/workspace/b/x")
        os.rename("/workspace/b/x", "/workspace/a/x")
threading.Thread(target=move, daemon=True).start()
number = 0
while True:
    for place in ("a", "b"):
        try:
            with open(f"/workspace/{place}/x/{number}", "wb") as file: file.write(bytes(100_000))
            number += 1
        except FileNotFoundError: pass
""")

    def test_links_lead_nowhere(self):
        with tempfile.TemporaryDirectory(prefix="agent-sandbox-outside.") as outside:
            os.chmod(outside, 0o777)
            kept = pathlib.Path(outside) / "kept"
            kept.write_text("kept", encoding="utf-8")
            kept.chmod(0o666)
            sandbox = self.on_disk()
            sandbox.run(f"ln -s {outside} link; ln -s {outside}/kept file; mkdir d; ln -s ../../../../.. d/up; "
                        f"cat {outside}/kept /workspace/link/kept; mknod device c 1 1; mkfifo fifo")
            self.assertEqual(404, sandbox.get("/workspace/file").status)
            self.assertEqual(204, sandbox.delete().status)
            self.nothing_is_left()
            self.assertEqual("kept", kept.read_text(encoding="utf-8"))


class Ends(DiskTest):
    def test_a_server_that_is_killed_leaves_nothing_to_the_next(self):
        server = live_server.LiveServer(environment=self.environment)
        self.addCleanup(server.stop)
        with server.client() as client:
            answer = client.post({"disk_kind": "directory", "limits": {"disk_mb": 50}}, "/v1/sandboxes")
            self.assertEqual(201, answer.status, answer)
            path = f"/v1/sandboxes/{answer.json['id']}/processes"
            done = client.post({"command": "mkdir -p a/b && head -c 1000000 /dev/zero > a/b/c && chmod 0 a/b a; ls"}, path)
            self.assertEqual("a\n", done.json["stdout"], done)
        mine = self.on_disk()
        mine.run("echo mine > file")
        self.assertEqual(2, len(self.directories()))
        server.kill()
        next_server = live_server.LiveServer(environment=self.environment)
        self.addCleanup(next_server.stop)
        self.assertTrue(host_view.wait_until(lambda: len(self.directories()) == 1, 30), self.directories())
        self.assertEqual("mine\n", mine.run("cat file")["stdout"])

    def test_a_server_that_ends_leaves_nothing(self):
        server = live_server.LiveServer(environment=self.environment)
        self.addCleanup(server.stop)
        before = self.directories()
        with server.client() as client:
            self.assertEqual(201, client.post({"disk_kind": "directory", "limits": {"disk_mb": 50}}, "/v1/sandboxes").status)
        self.assertEqual(0, server.stop())
        self.assertEqual(before, self.directories())
        self.assertEqual(1, len(list((self.place / "disks").iterdir())))

    def test_a_place_that_cannot_be_had(self):
        for path in ("/proc/disks", "/usr"):
            with self.assertRaises(live_server.DidNotStart) as raised:
                live_server.LiveServer(environment={**self.environment, "SANDBOX_DISK_PATH": path})
            self.assertIn(f"SANDBOX_DISK_PATH: use {path} for the disks of sandboxes", str(raised.exception))
            self.assertIn("set it to a directory of this user's own", str(raised.exception))

    @unittest.skipUnless(os.geteuid() == 0, "a range of users is root's to give")
    def test_users_of_their_own_are_refused_beside_it(self):
        with self.assertRaises(live_server.DidNotStart) as raised:
            live_server.LiveServer(environment={**self.environment, "SANDBOX_USERS": "1879048192:1000"})
        self.assertIn("SANDBOX_DISK_PATH: each sandbox has a user of its own", str(raised.exception))

    def test_a_lack_of_descriptors_ends_no_watch(self):
        server = live_server.LiveServer(environment=self.environment)
        self.addCleanup(server.stop)
        with server.client() as client:
            answer = client.post({"disk_kind": "directory", "limits": {"disk_mb": 32}}, "/v1/sandboxes")
            path = f"/v1/sandboxes/{answer.json['id']}"
            # It waits for a while before it writes.
            script = "until [ -e go ]; do sleep 0.1; done; for i in $(seq 100); do head -c 1000000 /dev/zero > $i; done; sleep 1000"
            self.assertEqual(201, client.post({"command": script, "background": True}, f"{path}/processes").status)
            hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
            owner = os.stat(f"/proc/{server.pid}")
            as_owner = {"user": owner.st_uid, "group": owner.st_gid, "extra_groups": []} if os.geteuid() == 0 else {}
            def allow(descriptors):
                subprocess.run(("prlimit", f"--pid={server.pid}", f"--nofile={descriptors}:"), check=True, **as_owner)
            allow(3)
            self.assertTrue(host_view.wait_until(lambda: "lacks descriptors" in "".join(server.log), 30), server.log)
            allow(hard)
            self.assertEqual("running", client.send("GET", path).json["state"])
            self.assertEqual(201, client.send("PUT", f"{path}/files/workspace/go", b"go").status)
            self.assertTrue(host_view.wait_until(lambda: client.send("GET", path).json["state"] == "ended", 30))
            self.assertEqual("disk_full", client.send("GET", path).json["outcome"]["code"])

    def test_a_host_that_is_about_to_be_full(self):
        status = os.statvfs(self.place)
        reserve = str(status.f_bavail * status.f_frsize // MB + 1000)
        server = live_server.LiveServer(environment={**self.environment, "SANDBOX_DISK_RESERVE_MB": reserve})
        self.addCleanup(server.stop)
        with server.client() as client:
            answer = client.post({"disk_kind": "directory", "limits": {"disk_mb": 50}}, "/v1/sandboxes")
            self.assertEqual((503, "host_exhausted"), (answer.status, answer.json["code"]), answer)

    def test_without_a_place_there_is_memory_alone(self):
        server = live_server.LiveServer(environment={"JOBS_PATH": ":memory:"})
        self.addCleanup(server.stop)
        with server.client() as client:
            answer = client.post({"disk_kind": "directory"}, "/v1/sandboxes")
            self.assertEqual(400, answer.status, answer)
            self.assertIn("memory", answer.json["detail"])
            schema = client.send("GET", "/openapi.json").json
            self.assertIn('"disk_kind"', json.dumps(schema))


if __name__ == "__main__":
    live_server.main()
