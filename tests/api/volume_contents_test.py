"""What is in volumes: copies, bounds, links, other keys', and what a server that ends or is killed leaves."""
import os
import pathlib
import tempfile
import threading

import host_view
import live_server
from living_sandbox import Sandbox
from volume_place import MB, VolumeTest


class Contents(VolumeTest):
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
        self.assert_problem(409, "volume_full", self.refused("full:/data"), "volumes: [0]: volume: full")
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
        self.assert_problem(507, "disk_full", answer, "it does not fit on volume owner: 4 of 8 MB are used")
        self.assertEqual(8, answer.json["limit"])
        self.assertEqual("fits\n", sandbox.run("ls /data")["stdout"])
        self.assertEqual("running", sandbox.now()["state"])


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


if __name__ == "__main__":
    live_server.main()
