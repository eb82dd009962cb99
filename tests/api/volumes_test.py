"""Volumes: directories that outlive sandboxes, written to by one of them or read by many."""
import concurrent.futures
import json
import os
import pathlib
import shutil
import tempfile
import threading
import unittest

import host_view
import live_server
from living_sandbox import Sandbox, SandboxTest
from sandbox_command import Command

MB = 1 << 20


class VolumeTest(SandboxTest):
    """A server with a place for volumes, which outlives it."""
    more_environment = {}

    @classmethod
    def setUpClass(cls):
        cls.place = pathlib.Path(tempfile.mkdtemp(prefix="agent-sandbox-volumes."))
        cls.place.chmod(0o1777)
        cls.addClassCleanup(shutil.rmtree, cls.place, True)
        cls.environment = {"JOBS_PATH": str(cls.place / "jobs" / "jobs.sqlite"), "SANDBOX_DISK_PATH": str(cls.place / "disks"),
                           "SANDBOX_MAX_DISK_MB": "400", "SANDBOX_DISK_RESERVE_MB": "100", **cls.more_environment}
        (cls.place / "jobs").mkdir()
        (cls.place / "jobs").chmod(0o777)
        super().setUpClass()

    def volume(self, name, client=None, **fields):
        answer = (client or self.client).post({"name": name, **fields}, "/v1/volumes")
        self.assertEqual(201, answer.status, answer)
        return answer.json

    def with_volumes(self, *volumes, client=None, **fields):
        """A sandbox; each volume is NAME:PATH or NAME:PATH:ro."""
        return self.make(client, volumes=self.mounts(*volumes), **fields)

    @staticmethod
    def mounts(*volumes):
        parts = (volume.split(":") for volume in volumes)
        return [{"volume": name, "path": path, **({"read_only": True} if rest else {})} for name, path, *rest in parts]

    def refused(self, *volumes, client=None):
        return (client or self.client).post({"volumes": self.mounts(*volumes)}, "/v1/sandboxes")

    def shown(self, name, client=None):
        answer = (client or self.client).send("GET", f"/v1/volumes/{name}")
        self.assertEqual(200, answer.status, answer)
        return answer.json

    def remove(self, name, client=None):
        return (client or self.client).send("DELETE", f"/v1/volumes/{name}")

    @classmethod
    def kept(cls):
        """The directories of volumes on the host, by the names that these have: their ids."""
        place = cls.place / "disks" / "volumes"
        return sorted(path.name for path in place.iterdir()) if place.exists() else []

    @classmethod
    def left(cls):
        """What waits to be removed, and what is half made."""
        return [path for server in (cls.place / "disks").glob("server-*") for path in server.iterdir() if path.name != "removed"] + \
               [path for server in (cls.place / "disks").glob("server-*") for path in (server / "removed").glob("*")]

    def nothing_is_left(self, seconds=30):
        self.assertTrue(host_view.wait_until(lambda: not self.left(), seconds), self.left())


class Volumes(VolumeTest):
    def test_what_is_in_one_outlives_its_sandbox(self):
        made = self.volume("kept", size_mb=50)
        self.assertEqual(("kept", 50, 0, []), (made["name"], made["size_mb"], made["used_bytes"], made["sandboxes"]))
        first = self.with_volumes("kept:/data")
        first.run("mkdir -p /data/a/b && echo text > /data/a/b/c && ln -s b /data/a/link && cp /usr/bin/true /data/run && /data/run")
        self.assertEqual([{"volume": "kept", "path": "/data", "read_only": False}], first.now()["volumes"])
        self.assertEqual([{"id": first.id, "path": "/data", "read_only": False}], self.shown("kept")["sandboxes"])
        self.assertEqual(204, first.delete().status)
        self.assertEqual([], self.shown("kept")["sandboxes"])
        second = self.with_volumes(f"{made['id']}:/other/place")
        self.assertEqual("text\n", second.run("cat /other/place/a/link/c")["stdout"])
        self.assertEqual([{"volume": "kept", "path": "/other/place", "read_only": False}], second.now()["volumes"])
        self.assertEqual(made, {**self.shown(made["id"]), "used_bytes": 0, "files": 0, "sandboxes": []})
        second.delete()
        self.assertTrue(host_view.wait_until(lambda: self.shown("kept")["used_bytes"] > 0, 10))

    def test_its_directory_is_its_servers_alone_and_goes_when_it_is_deleted(self):
        made = self.volume("gone", size_mb=10)
        directory = self.place / "disks" / "volumes" / made["id"]
        self.assertEqual((0o700, 0o700), (directory.stat().st_mode & 0o7777, directory.parent.stat().st_mode & 0o7777))
        sandbox = self.with_volumes("gone:/data")
        sandbox.run("mkdir -p /data/a/b; touch /data/a/b/c; chmod 0 /data/a/b /data/a /data")
        self.assert_problem(409, "volume_in_use", self.remove("gone"), sandbox.id)
        sandbox.delete()
        self.assertEqual(204, self.remove("gone").status)
        self.assertFalse(directory.exists())
        self.assert_problem(404, "no_such_volume", self.remove("gone"))
        self.assert_problem(404, "no_such_volume", self.client.send("GET", f"/v1/volumes/{made['id']}"))
        self.nothing_is_left()

    def test_who_shuts_it_can_use_it_again(self):
        self.volume("shut", size_mb=10)
        first = self.with_volumes("shut:/data")
        first.run("echo text > /data/file; chmod 0 /data")
        first.delete()
        self.assertEqual("text\n", self.with_volumes("shut:/data").run("cat /data/file")["stdout"])

    def test_one_writes_and_nobody_else_has_it(self):
        self.volume("one", size_mb=10)
        writer = self.with_volumes("one:/data")
        self.assert_problem(409, "volume_in_use", self.refused("one:/data"), "volumes[0]: volume: one", writer.id)
        self.assert_problem(409, "volume_in_use", self.refused("one:/data:ro"), writer.id)
        writer.pause()
        self.assert_problem(409, "volume_in_use", self.refused("one:/data:ro"), writer.id)
        self.assertEqual(204, writer.delete().status)
        reader = self.with_volumes("one:/data:ro")
        self.assert_problem(409, "volume_in_use", self.refused("one:/data"), reader.id, "read")
        reader.delete()
        self.with_volumes("one:/data").delete()

    def test_of_many_at_once_one_gets_it(self):
        def at_once(path, fields):
            def ask(_):
                with self.server.client() as client:
                    return client.post(fields, path)
            with concurrent.futures.ThreadPoolExecutor(8) as pool:
                return list(pool.map(ask, range(8)))
        made = at_once("/v1/volumes", {"name": "race", "size_mb": 10})
        self.assertEqual([201] + [409] * 7, sorted(answer.status for answer in made), made)
        sandboxes = at_once("/v1/sandboxes", {"volumes": self.mounts("race:/data")})
        self.assertEqual([201] + [409] * 7, sorted(answer.status for answer in sandboxes), sandboxes)
        winner, = (answer.json["id"] for answer in sandboxes if answer.status == 201)
        self.assertEqual([winner], [one["id"] for one in self.shown("race")["sandboxes"]])
        self.assertEqual(204, Sandbox(self.client, {"id": winner}).delete().status)
        self.with_volumes("race:/data")

    def test_with_a_template(self):
        self.volume("template", size_mb=10)
        sandbox = self.with_volumes("template:/data", template="python")
        sandbox.python("open('/data/file', 'w').write('text')")
        sandbox.delete()
        reader = self.with_volumes("template:/data:ro", template="data")
        self.assertEqual("text\n", reader.python("print(open('/data/file').read())")["stdout"])

    def test_a_sandbox_that_ends_by_itself_releases_it(self):
        self.volume("ends", size_mb=10)
        for fields in ({"timeout_seconds": 1}, {"idle_seconds": 1}):
            sandbox = self.with_volumes("ends:/data", **fields)
            self.wait_until_ended(sandbox)
            self.assertEqual([], self.shown("ends")["sandboxes"])
        sandbox = self.with_volumes("ends:/data", limits={"memory_mb": 32})
        sandbox.start(["python3", "-c", "held = [bytes([1]) * 1000000 for _ in range(1000)]"])
        self.wait_until_ended(sandbox)
        self.assertEqual([], self.shown("ends")["sandboxes"])

    def test_many_read_and_none_can_write(self):
        self.volume("many", size_mb=10)
        writer = self.with_volumes("many:/data")
        writer.run("echo text > /data/file; cp /usr/bin/true /data/run")
        writer.delete()
        readers = [self.with_volumes("many:/data:ro") for _ in range(3)]
        script = ("cat /data/file; /data/run && echo runs; touch /data/file; echo more >> /data/file; rm -f /data/file; mkdir /data/d; "
                  "chmod 777 /data; mount -o remount,rw /data; unshare -Ur mount -o remount,rw /data; grep ' /data ' /proc/self/mountinfo")
        for reader in readers:
            done = reader.run(script)
            self.assertEqual("text\nruns\n", done["stdout"].partition("runs\n")[0] + "runs\n")
            for flag in (" ro,", "nosuid", "nodev"):
                self.assertIn(flag, done["stdout"])
            self.assertIn("Read-only file system", done["stderr"])
            self.assertEqual(b"text\n", reader.get("/data/file").body)
            self.assertEqual(403, reader.put("/data/new", b"x").status)
            self.assertEqual(403, reader.remove("/data/file").status)
        self.assertEqual(3, len(self.shown("many")["sandboxes"]))
        self.assertTrue(all(one["read_only"] for one in self.shown("many")["sandboxes"]))
        self.assertEqual("text\n", readers[0].run("cat /data/file")["stdout"])

    def test_a_create_that_fails_takes_none(self):
        self.volume("free", size_mb=10)
        self.assert_problem(404, "no_such_volume", self.refused("free:/data", "nobody:/other"), "volumes[1]: volume")
        answer = self.client.post({"volumes": self.mounts("free:/data"), "disk_kind": "directory",
                                   "limits": {"disk_mb": 400}, "network": {"allow": ["example.org:443"]}}, "/v1/sandboxes")
        self.assertGreaterEqual(answer.status, 400)
        self.assertEqual([], self.shown("free")["sandboxes"])
        self.with_volumes("free:/data").delete()

    def test_files_and_archives(self):
        self.volume("files", size_mb=10)
        sandbox = self.with_volumes("files:/data")
        self.assertEqual(201, sandbox.put("/data/d/file", b"text").status)
        self.assertEqual(b"text", sandbox.get("/data/d/file").body)
        archive = sandbox.get("/data/d", Accept="application/x-tar")
        self.assertIn(sandbox.put("/data/copy", archive.body, **{"Content-Type": "application/x-tar"}).status, (200, 201))
        self.assertEqual("text", sandbox.run("cat /data/copy/file")["stdout"])
        self.assertEqual(204, sandbox.remove("/data/d", "?recursive=true").status)

    def test_beside_a_workspace_on_the_disk(self):
        self.volume("beside", size_mb=20)
        sandbox = self.with_volumes("beside:/data", disk_kind="directory", limits={"disk_mb": 8})
        sandbox.run("head -c 15000000 /dev/zero > /data/large; echo x > file")
        self.assertEqual(201, sandbox.put("/data/more", bytes(MB)).status)
        self.assertEqual(507, sandbox.put("/workspace/more", bytes(10 * MB)).status)
        self.assertEqual("running", sandbox.now()["state"])

    def test_files_without_a_name_count_where_they_are(self):
        self.volume("nameless", size_mb=8)
        self.volume("other", size_mb=8)
        sandbox = self.with_volumes("nameless:/small", "other:/other", disk_kind="directory", limits={"disk_mb": 60, "memory_mb": 128})
        holder = sandbox.start(["python3", "-c", """
import os, time
held = []
for place, count in (("/workspace", 4), ("/small", 1), ("/other", 1)):
    for number in range(count):
        held.append(os.open(place, os.O_TMPFILE | os.O_RDWR))
        os.write(held[-1], bytes(5_000_000))
        os.fsync(held[-1])
print("written", flush=True)
time.sleep(1000)
"""])
        holder.says("written")
        def used():
            return [self.shown(name)["used_bytes"] >= 5_000_000 for name in ("nameless", "other")]
        self.assertTrue(host_view.wait_until(lambda: all(used()), 20), used())
        self.assertEqual("running", sandbox.now()["state"], sandbox.now()["outcome"])
        sandbox.start(["python3", "-c", "import os, time; f = os.open('/small', os.O_TMPFILE | os.O_RDWR); os.write(f, bytes(5_000_000)); time.sleep(1000)"])
        self.assertTrue(host_view.wait_until(lambda: sandbox.now()["state"] == "ended", 30), sandbox.now())
        self.assertIn("its volume nameless", sandbox.now()["outcome"]["cause"])

    def test_several_in_one_sandbox(self):
        for number in range(8):
            self.volume(f"several-{number}", size_mb=10)
        sandbox = self.with_volumes(*(f"several-{number}:/data/{number}" for number in range(8)))
        sandbox.run("for i in 0 1 2 3 4 5 6 7; do echo $i > /data/$i/file; done")
        self.assertEqual("7\n", sandbox.run("cat /data/7/file")["stdout"])

    def test_links_lead_nowhere(self):
        with tempfile.TemporaryDirectory(prefix="agent-sandbox-outside.") as outside:
            os.chmod(outside, 0o777)
            secret = pathlib.Path(outside) / "kept"
            secret.write_text("kept", encoding="utf-8")
            secret.chmod(0o666)
            made = self.volume("links", size_mb=10)
            sandbox = self.with_volumes("links:/data")
            sandbox.run(f"cd /data; ln -s {outside} link; ln -s {outside}/kept file; mkdir d; ln -s ../../../../.. d/up; mkfifo fifo; "
                        f"python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind(\"socket\")'; cat {outside}/kept file link/kept")
            self.assertEqual(404, sandbox.get("/data/file").status)
            sandbox.delete()
            copy = self.volume("links-copy", copy_of="links", size_mb=10)
            kept = self.place / "disks" / "volumes" / copy["id"]
            self.assertEqual(["d", "file", "link"], sorted(os.listdir(kept)))
            self.assertEqual((outside, f"{outside}/kept", "../../../../.."),
                             tuple(os.readlink(kept / name) for name in ("link", "file", "d/up")))
            for one in ("links", "links-copy"):
                self.assertEqual(204, self.remove(one).status)
            self.nothing_is_left()
            self.assertEqual("kept", secret.read_text(encoding="utf-8"))
            self.assertNotIn(made["id"], self.kept())

    def test_a_copy_is_independent(self):
        self.volume("original", size_mb=50)
        first = self.with_volumes("original:/data")
        first.run("cd /data; mkdir -p d/e; echo one > d/e/file; head -c 3000000 /dev/urandom > large; truncate -s 30M hole; ln large hard; "
                  "cp /usr/bin/true run; chmod 4755 run; echo shut > shut; chmod 0 shut; mkdir closed; echo x > closed/x; chmod 0 closed; "
                  "touch -d 2001-02-03T04:05:06Z d/e/file; sha256sum large hole > sums")
        self.assert_problem(409, "volume_in_use", self.client.post({"name": "early", "copy_of": "original"}, "/v1/volumes"), "copy_of", first.id)
        first.delete()
        reader = self.with_volumes("original:/data:ro")
        copy = self.volume("copied", copy_of="original")
        self.assertEqual(50, copy["size_mb"])
        self.assertGreater(copy["used_bytes"], 6_000_000)
        self.assertLess(copy["used_bytes"], 12_000_000)
        second = self.with_volumes("copied:/data")
        done = second.run("cd /data; sha256sum -c sums; ./run && echo runs; stat -c '%a %Y' run d/e/file; chmod 700 closed; cat closed/x; "
                          "chmod 600 shut; cat shut; echo two > d/e/file; rm large; stat -c %h hard")
        self.assertIn("large: OK\nhole: OK\nruns\n755 ", done["stdout"])
        self.assertIn("644 981173106\nx\nshut\n1\n", done["stdout"])
        self.assertEqual("one\n", reader.run("cd /data; cat d/e/file; sha256sum -c --quiet sums")["stdout"])

    def test_a_copy_that_does_not_fit(self):
        self.volume("big", size_mb=50)
        sandbox = self.with_volumes("big:/data")
        sandbox.run("head -c 8000000 /dev/zero > /data/file; sync /data/file")
        sandbox.delete()
        before = self.kept()
        self.assert_problem(409, "volume_full", self.client.post({"name": "small", "copy_of": "big", "size_mb": 4}, "/v1/volumes"), "size_mb")
        self.assert_problem(404, "no_such_volume", self.client.post({"name": "small", "copy_of": "nobody"}, "/v1/volumes"), "copy_of")
        self.assert_problem(404, "no_such_volume", self.client.send("GET", "/v1/volumes/small"))
        self.nothing_is_left()
        self.assertEqual(before, self.kept())
        self.volume("small", copy_of="big", size_mb=9)

    def test_a_full_one_ends_its_sandbox_and_says_so(self):
        self.volume("full", size_mb=16)
        sandbox = self.with_volumes("full:/data", limits={"memory_mb": 128})
        sandbox.start("for i in $(seq 1000); do head -c 1000000 /dev/zero > /data/$i; done; sleep 1000")
        self.assertTrue(host_view.wait_until(lambda: sandbox.now()["state"] == "ended", 30), sandbox.now())
        outcome = sandbox.now()["outcome"]
        self.assertEqual("disk_full", outcome["code"], outcome)
        self.assertIn("its volume full", outcome["cause"])
        self.assertIn("16 MB", outcome["cause"])
        self.assert_problem(409, "volume_full", self.refused("full:/data"), "volumes[0]: volume: full")
        self.assertEqual("1000000\n", self.with_volumes("full:/data:ro").run("stat -c %s /data/1")["stdout"])
        self.volume("larger", copy_of="full", size_mb=300)
        self.with_volumes("larger:/data").run("rm /data/2")

    def test_one_file_is_bounded_by_the_kernel(self):
        self.volume("file", size_mb=16)
        sandbox = self.with_volumes("file:/data", limits={"disk_mb": 8})
        done = sandbox.run("head -c 40000000 /dev/zero > /data/file; stat -c %s /data/file; rm /data/file")
        self.assertEqual(16 * MB, int(done["stdout"]))

    def test_what_its_owner_writes_is_bounded(self):
        self.volume("owner", size_mb=8)
        sandbox = self.with_volumes("owner:/data")
        self.assertEqual(201, sandbox.put("/data/fits", bytes(4 * MB)).status)
        answer = sandbox.put("/data/does_not", bytes(6 * MB))
        self.assert_problem(507, "disk_full", answer, "volume owner")
        self.assertEqual(8, answer.json["limit"])
        self.assertEqual("fits\n", sandbox.run("ls /data")["stdout"])
        self.assertEqual("running", sandbox.now()["state"])

    def test_pages(self):
        names = [f"page-{number}" for number in range(5)]
        for name in names:
            self.volume(name, size_mb=1)
        seen, cursor = [], ""
        while cursor is not None:
            page = self.client.send("GET", f"/v1/volumes?limit=2{cursor and '&cursor=' + cursor}").json
            self.assertLessEqual(len(page["volumes"]), 2)
            seen += [volume["name"] for volume in page["volumes"]]
            cursor = page["next_cursor"]
        self.assertEqual(names[::-1], [name for name in seen if name in names])
        self.assertEqual(400, self.client.send("GET", "/v1/volumes?cursor=x").status)
        self.assertEqual(400, self.client.send("GET", "/v1/volumes?limit=0").status)

    def test_requests_that_are_none(self):
        self.volume("fine", size_mb=10)
        self.volume("fine-too", size_mb=10)
        def volumes(fields):
            return self.client.post(fields, "/v1/volumes")
        self.assert_problem(409, "name_taken", volumes({"name": "fine"}), "name: fine")
        self.assert_problem(400, "missing_field", volumes({}), "name")
        for name in ("", "Name", "a_b", "a" * 51, "a" * 26, "a/b", "..", 1, None):
            self.assert_bad_field(volumes({"name": name}), "name: expected")
        for size in (0, 401, -1):
            self.assert_problem(400, "out_of_range", volumes({"name": "x", "size_mb": size}), "size_mb")
        self.assert_problem(400, "bad_request", volumes({"name": "x", "size_mb": "1"}), "size_mb")
        self.assert_problem(400, "bad_request", volumes({"name": "x", "copy_of": "../fine"}), "copy_of")
        self.assert_problem(400, "unknown_field", volumes({"name": "x", "size": 1}), "size")
        for path in ("/", "data", "/a/../b", "/a/", "//a", "/a//b", "/./a", "", "/\n", "/" + "a" * 255, "/a\0b"):
            self.assert_problem(400, "bad_request", self.refused(f"fine:{path}"), "volumes: [0]: path: expected")
        for path in ("/usr", "/usr/x", "/etc", "/tmp", "/tmp/x", "/workspace", "/workspace/x", "/proc", "/dev/x", "/lib64", "/run", "/bin"):
            self.assert_problem(400, "bad_request", self.refused(f"fine:{path}"), "volumes: [0]: path: ", "is the sandbox's own")
        self.assert_problem(400, "bad_request", self.refused("fine:/a", "fine-too:/a"), "volumes: [1]: path: /a")
        self.assert_problem(400, "bad_request", self.refused("fine:/a/b", "fine-too:/a"), "volumes: [1]: path: /a")
        self.assert_problem(400, "bad_request", self.refused("fine:/a", "fine:/b"), "volumes[1]: volume: expected each volume once")
        for fields, words in (({"path": "/a"}, "volume: expected"), ({"volume": "fine"}, "path: expected"), ("fine:/a", "expected an object"),
                              ({"volume": "fine", "path": "/a", "read_only": 1}, "read_only: expected"),
                              ({"volume": "fine", "path": "/a", "ro": True}, "no other member"), ({"volume": "A B", "path": "/a"}, "volume: expected")):
            self.assert_problem(400, "bad_request", self.client.post({"volumes": [fields]}, "/v1/sandboxes"), "volumes: [0]: ", words)
        self.assert_problem(400, "bad_request", self.client.post({"volumes": "fine"}, "/v1/sandboxes"), "volumes: expected a list")
        nine = [{"volume": "fine", "path": f"/{number}"} for number in range(9)]
        self.assertEqual(400, self.client.post({"volumes": nine}, "/v1/sandboxes").status)
        self.assertEqual([], self.shown("fine")["sandboxes"])

    def test_the_event_that_a_sandbox_was_made_names_them(self):
        self.volume("told", size_mb=10)
        sandbox = self.with_volumes("told:/data:ro")
        event, = self.client.send("GET", f"{sandbox.path}/events?kind=created").json["events"]
        self.assertEqual([{"volume": "told", "path": "/data", "read_only": True}], event["detail"]["volumes"])


class Bounds(VolumeTest):
    more_environment = {"API_KEYS": "first-key,second-key", "SANDBOX_MAX_VOLUMES": "5", "SANDBOX_MAX_VOLUMES_MB": "100"}

    def setUp(self):
        super().setUp()
        for key in ("first-key", "second-key"):
            client = self.client_with(key)
            for volume in client.send("GET", "/v1/volumes").json["volumes"]:
                self.assertEqual(204, self.remove(volume["id"], client).status)

    def test_of_another_key_it_is_not_there(self):
        mine, other = self.client_with("first-key"), self.client_with("second-key")
        made = self.volume("secret", mine, size_mb=10)
        self.volume("secret", other, size_mb=1)
        self.assertNotEqual(made["id"], self.shown("secret", other)["id"])
        for answer in (other.send("GET", f"/v1/volumes/{made['id']}"), other.send("DELETE", f"/v1/volumes/{made['id']}"),
                       self.refused(f"{made['id']}:/data", client=other),
                       other.post({"name": "copy", "copy_of": made["id"]}, "/v1/volumes")):
            self.assertEqual((404, "no_such_volume"), (answer.status, answer.json["code"]), answer)
        self.assertNotIn(made["id"], [one["id"] for one in other.send("GET", "/v1/volumes").json["volumes"]])

    def test_there_are_so_many_and_so_large(self):
        first, second = self.client_with("first-key"), self.client_with("second-key")
        self.assert_problem(429, "caller_limit", first.post({"name": "large", "size_mb": 51}, "/v1/volumes"), "MB together")
        for number in range(3):
            self.volume(f"a-{number}", first, size_mb=10)
        self.assert_problem(429, "caller_limit", first.post({"name": "more", "size_mb": 1}, "/v1/volumes"), "too many volumes")
        for number in range(2):
            self.volume(f"b-{number}", second, size_mb=10)
        self.assert_problem(503, "busy", second.post({"name": "more", "size_mb": 1}, "/v1/volumes"), "SANDBOX_MAX_VOLUMES")


class Restarts(VolumeTest):
    """Each server has the same place and the same records as the one before."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.server.stop()

    def setUp(self):
        super().setUp()
        self.start()

    def start(self):
        self.running = live_server.LiveServer(environment=self.environment)
        self.addCleanup(self.running.stop)
        self.now = self.running.client()
        self.addCleanup(self.now.close)

    def make_here(self, *volumes):
        answer = self.now.post({"volumes": self.mounts(*volumes)}, "/v1/sandboxes")
        self.assertEqual(201, answer.status, answer)
        return Sandbox(self.now, answer.json)

    def test_a_server_that_ends_leaves_them_to_the_next(self):
        made = self.volume("restart", self.now, size_mb=20)
        sandbox = self.make_here("restart:/data")
        sandbox.run("echo text > /data/file; chmod 0 /data")
        self.assertEqual(0, self.running.stop())
        self.assertIn(made["id"], self.kept())
        self.start()
        ended = self.now.send("GET", sandbox.path).json
        self.assertEqual(("ended", [{"volume": "restart", "path": "/data", "read_only": False}]), (ended["state"], ended["volumes"]))
        again = self.shown("restart", self.now)
        self.assertEqual((made["id"], made["created_at"], 20, []), (again["id"], again["created_at"], again["size_mb"], again["sandboxes"]))
        self.assertEqual("text\n", self.make_here("restart:/data").run("cat /data/file")["stdout"])

    def test_a_server_that_is_killed_leaves_them_free(self):
        made = self.volume("killed", self.now, size_mb=20)
        self.make_here("killed:/data").run("head -c 5000000 /dev/zero > /data/file; sync /data/file")
        self.running.kill()
        self.start()
        self.assertTrue(host_view.wait_until(lambda: self.shown("killed", self.now)["used_bytes"] >= 5_000_000, 20), self.shown("killed", self.now))
        sandbox = self.make_here("killed:/data")
        self.assertEqual("5000000\n", sandbox.run("stat -c %s /data/file")["stdout"])
        sandbox.delete()
        self.assertEqual(204, self.remove("killed", self.now).status)
        self.assertNotIn(made["id"], self.kept())
        self.nothing_is_left()

    def test_a_copy_that_is_cut_short_leaves_nothing(self):
        self.volume("source", self.now, size_mb=300)
        self.make_here("source:/data").run("for d in $(seq 60); do mkdir /data/$d; for i in $(seq 500); do echo $i > /data/$d/$i; done; done")
        for end in ("kill", "stop"):
            self.running.stop()
            self.start()
            before = self.kept()
            def copy(client):
                with client:
                    try:
                        client.post({"name": "half", "copy_of": "source"}, "/v1/volumes")
                    except (OSError, live_server.http.client.HTTPException):
                        pass
            thread = threading.Thread(target=copy, args=(self.running.client(),))
            thread.start()
            self.assertTrue(host_view.wait_until(lambda: self.left() or len(self.kept()) > len(before), 20))
            getattr(self.running, end)()
            thread.join()
            self.start()
            self.nothing_is_left()
            names = [one["name"] for one in self.now.send("GET", "/v1/volumes").json["volumes"]]
            self.assertEqual(len(names), len(self.kept()), names)
            if "half" in names:
                self.assertEqual(204, self.remove("half", self.now).status)


class CommandLine(Command):
    subcommand = []

    @classmethod
    def setUpClass(cls):
        cls.environment = live_server.place_for_volumes(cls)
        super().setUpClass()

    def test_all_of_it(self):
        made = self.good("volume", "create", "data", "--size", "20m").strip()
        self.assertRegex(made, "^[a-z2-7]{26}$")
        box = self.good("sandbox", "create", "--volume", "data:/data").strip()
        self.good("sandbox", "exec", box, "-n", "--", "sh", "-c", "echo text > /data/file")
        self.assertIn("volumes: data:/data\n", self.good("sandbox", "get", box))
        shown = self.good("volume", "get", "data")
        self.assertIn(f"id: {made}\nname: data\n", shown)
        self.assertIn("size: 20 MB\n", shown)
        self.assertIn(f"sandboxes: {box}:/data\n", shown)
        self.assertIn(box, self.one_line("volume", "delete", "data"))
        self.good("sandbox", "delete", box)
        copy = json.loads(self.good("volume", "copy", made, "copy", "--json"))
        self.assertEqual(("copy", 20), (copy["name"], copy["size_mb"]))
        reader = self.good("sandbox", "create", "--volume", "copy:/data:ro").strip()
        self.assertEqual("text\n", self.good("sandbox", "exec", reader, "-n", "--", "cat", "/data/file"))
        lines = self.good("volume", "list").splitlines()
        self.assertEqual(["NAME", "copy", "data"], [line.split()[0] for line in lines])
        self.assertIn(f"{reader}:/data:ro", lines[1])
        self.good("sandbox", "delete", reader)
        self.assertIn("no such volume", self.one_line("volume", "delete", "nobody", "copy", "data"))
        self.assertEqual([], json.loads(self.good("volume", "list", "--json"))["volumes"])


class Off(unittest.TestCase):
    def says_what_to_set(self, environment, word):
        server = live_server.LiveServer(environment=environment)
        self.addCleanup(server.stop)
        with server.client() as client:
            for answer in (client.post({"name": "data"}, "/v1/volumes"), client.send("GET", "/v1/volumes"), client.send("DELETE", "/v1/volumes/data"),
                           client.post({"volumes": [{"volume": "data", "path": "/data"}]}, "/v1/sandboxes")):
                self.assertEqual((403, "volumes_off"), (answer.status, answer.json["code"]), answer)
                self.assertIn(word, answer.json["detail"])
            self.assertIn('"/v1/volumes"', json.dumps(client.send("GET", "/openapi.json").json))

    def test_without_a_place_there_are_none(self):
        self.says_what_to_set({"JOBS_PATH": ":memory:"}, "SANDBOX_DISK_PATH")

    def test_without_a_file_of_records_there_are_none(self):
        place = pathlib.Path(tempfile.mkdtemp(prefix="agent-sandbox-volumes."))
        place.chmod(0o1777)
        self.addCleanup(shutil.rmtree, place, True)
        self.says_what_to_set({"JOBS_PATH": ":memory:", "SANDBOX_DISK_PATH": str(place / "disks")}, "JOBS_PATH")


if __name__ == "__main__":
    live_server.main()
