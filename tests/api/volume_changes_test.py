"""Volumes with another name and another size."""
import concurrent.futures
import json

import host_view
import live_server
from living_sandbox import Sandbox
from sandbox_command import Command
from volume_place import MB, VolumeTest


class ChangeTest(VolumeTest):
    def change(self, volume, client=None, /, **fields):
        return (client or self.client).send("PATCH", f"/v1/volumes/{volume}", json.dumps(fields).encode(), **{"Content-Type": "application/json"})

    def changed(self, volume, /, **fields):
        answer = self.change(volume, **fields)
        self.assertEqual(200, answer.status, answer)
        return answer.json

    def written(self, name, megabytes, **fields):
        """A sandbox that has written so much into the volume, at /data."""
        sandbox = self.with_volumes(f"{name}:/data", **fields)
        sandbox.run(f"for i in $(seq {megabytes}); do head -c {MB} /dev/urandom > /data/$i; done; sync -f /data")
        return sandbox


class Changes(ChangeTest):
    def test_a_name(self):
        made = self.volume("first", size_mb=10)
        self.assertEqual({**made, "name": "renamed"}, self.changed("first", name="renamed"))
        self.assert_problem(404, "no_such_volume", self.client.send("GET", "/v1/volumes/first"))
        self.assertEqual(made["id"], self.shown("renamed")["id"])
        self.volume("first", size_mb=10)
        self.assert_problem(409, "name_taken", self.change(made["id"], name="first"), "name: first is the name of another volume")
        self.assertEqual("renamed", self.changed(made["id"], name="renamed")["name"])
        self.assertEqual("renamed", self.changed("renamed")["name"])
        self.with_volumes("renamed:/data").delete()

    def test_who_has_it_keeps_its_name(self):
        self.volume("held", size_mb=10)
        for mount in ("held:/data", "held:/data:ro"):
            sandbox = self.with_volumes(mount)
            sandbox.pause()
            self.assert_problem(409, "volume_in_use", self.change("held", name="other", size_mb=20), f"name: sandbox {sandbox.id} has volume held")
            self.assertEqual(("held", 10), tuple(self.shown("held")[name] for name in ("name", "size_mb")))
            self.assertEqual("held", self.changed("held", name="held")["name"])
            sandbox.delete()
        self.changed("held", name="other")

    def test_it_grows_under_who_writes_to_it(self):
        self.volume("grows", size_mb=8)
        sandbox = self.written("grows", 4, limits={"disk_mb": 60, "memory_mb": 128})
        self.assertTrue(host_view.wait_until(lambda: self.shown("grows")["used_bytes"] >= 4 * MB, 20), self.shown("grows"))
        self.assert_problem(507, "disk_full", sandbox.put("/data/upload", bytes(6 * MB)))
        self.assertEqual(40, self.changed("grows", size_mb=40)["size_mb"])
        self.assertEqual(201, sandbox.put("/data/upload", bytes(6 * MB)).status)
        sandbox.run(f"for i in $(seq 10 19); do head -c {MB} /dev/urandom > /data/$i; done; sync -f /data")
        self.assertTrue(host_view.wait_until(lambda: self.shown("grows")["used_bytes"] > 18 * MB, 20), self.shown("grows"))
        self.assertEqual("running", sandbox.now()["state"], sandbox.now()["outcome"])
        self.assert_problem(409, "volume_in_use", self.change("grows", size_mb=30), f"sandbox {sandbox.id} writes to volume grows")
        sandbox.start("for i in $(seq 100 200); do head -c 1000000 /dev/zero > /data/$i; done; sleep 1000")
        self.assertTrue(host_view.wait_until(lambda: sandbox.now()["state"] == "ended", 30), sandbox.now())
        self.assertIn("more than the 40 MB", sandbox.now()["outcome"]["cause"])
        self.assert_problem(409, "volume_full", self.refused("grows:/data"))
        self.changed("grows", size_mb=300)
        self.with_volumes("grows:/data").run("rm /data/1")

    def test_it_shrinks_to_what_is_in_it(self):
        self.volume("shrinks", size_mb=50)
        writer = self.written("shrinks", 12)
        self.assert_problem(409, "volume_in_use", self.change("shrinks", size_mb=20), writer.id)
        writer.delete()
        answer = self.change("shrinks", size_mb=10, name="smaller")
        self.assert_problem(409, "volume_full", answer, "size_mb: the files of volume shrinks take ", "more than 10")
        self.assertEqual(10, answer.json["limit"])
        self.assertTrue(12 <= answer.json["used"] <= 14, answer.json)
        self.assertEqual(50, self.shown("shrinks")["size_mb"])
        reader = self.with_volumes("shrinks:/data:ro")
        self.assertEqual(20, self.changed("shrinks", size_mb=20)["size_mb"])
        self.assertEqual("running", reader.now()["state"])
        reader.delete()
        full = self.with_volumes("shrinks:/data", limits={"memory_mb": 128})
        self.assert_problem(507, "disk_full", full.put("/data/more", bytes(10 * MB)), "of 20 MB")

    def test_what_its_latest_writer_left_is_counted(self):
        self.volume("late", size_mb=50)
        for _ in range(3):
            sandbox = self.with_volumes("late:/data")
            sandbox.run(f"rm -f /data/*; head -c {20 * MB} /dev/urandom > /data/file; sync /data/file")
            sandbox.delete()
            self.assert_problem(409, "volume_full", self.change("late", size_mb=15))

    def test_of_many_at_once_one_has_the_name(self):
        for number in range(6):
            self.volume(f"race-{number}", size_mb=1)
        def ask(number):
            with self.server.client() as client:
                return self.change(f"race-{number}", client, name="winner")
        with concurrent.futures.ThreadPoolExecutor(6) as pool:
            answers = list(pool.map(ask, range(6)))
        self.assertEqual([200] + [409] * 5, sorted(answer.status for answer in answers), answers)
        self.assertEqual({"name_taken"}, {answer.json["code"] for answer in answers if answer.status == 409})

    def test_no_reader_begins_under_a_name_that_goes(self):
        """A sandbox that comes back after a restart finds its volumes by name."""
        def rename(number):
            with self.server.client() as client:
                return self.change(f"goes-{number}", client, name=f"came-{number}")
        def read(number):
            fields = {"volumes": self.mounts(f"goes-{number}:/data:ro"), "limits": {"memory_mb": 64}}
            with self.server.client() as client:
                return client.post(fields, "/v1/sandboxes")
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            for number in range(60):
                made = self.volume(f"goes-{number}", size_mb=1)
                renamed, reader = pool.submit(rename, number), pool.submit(read, number)
                statuses = renamed.result().status, reader.result().status
                self.assertIn(statuses, ((200, 404), (200, 409), (409, 201)))
                if statuses[1] == 201:
                    Sandbox(self.client, reader.result().json).delete()
                self.assertEqual(204, self.client.send("DELETE", f"/v1/volumes/{made['id']}").status)

    def test_requests_that_are_none(self):
        self.volume("fine", size_mb=10)
        for name in ("", "Name", "a" * 51, "a" * 26, "a/b", 1, None):
            self.assert_bad_field(self.change("fine", name=name), "name: expected")
        for size in (0, 401, -1):
            self.assert_problem(400, "out_of_range", self.change("fine", size_mb=size), "size_mb")
        self.assert_problem(400, "unknown_field", self.change("fine", copy_of="fine"), "copy_of")
        self.assert_problem(404, "no_such_volume", self.change("nobody", name="other"))
        self.assertEqual(("fine", 10), tuple(self.shown("fine")[name] for name in ("name", "size_mb")))


class Bounds(ChangeTest):
    more_environment = {"API_KEYS": "first-key,second-key", "SANDBOX_MAX_VOLUMES": "6", "SANDBOX_MAX_VOLUMES_MB": "100"}

    def test_each_caller_has_its_share(self):
        first, second = self.client_with("first-key"), self.client_with("second-key")
        self.volume("a", first, size_mb=10)
        self.volume("b", first, size_mb=10)
        answer = self.change("a", first, size_mb=41, name="c")
        self.assert_problem(429, "caller_limit", answer, "size_mb: with it the volumes of this caller would have too many MB together")
        self.assertEqual((50, 20), (answer.json["limit"], answer.json["used"]))
        self.assertEqual(("a", 10), tuple(self.shown("a", first)[name] for name in ("name", "size_mb")))
        self.assertEqual(200, self.change("a", first, size_mb=40).status)
        self.assert_problem(404, "no_such_volume", self.change("a", second, name="mine"))
        self.volume("b", second, size_mb=1)
        self.assertEqual(200, self.change("b", second, name="a").status)


class Restarts(ChangeTest):
    def test_the_next_server_knows_them(self):
        made = self.volume("before", size_mb=20)
        self.changed("before", name="after", size_mb=30)
        self.server.stop()
        server = live_server.LiveServer(environment=self.environment)
        self.addCleanup(server.stop)
        with server.client() as client:
            shown = self.shown("after", client)
            self.assertEqual((made["id"], 30), (shown["id"], shown["size_mb"]))
            answer = client.post({"volumes": self.mounts("after:/data")}, "/v1/sandboxes")
            self.assertEqual(201, answer.status, answer)
            Sandbox(client, answer.json).run("echo text > /data/file")


class CommandLine(Command):
    subcommand = []

    @classmethod
    def setUpClass(cls):
        cls.environment = live_server.place_for_volumes(cls)
        super().setUpClass()

    def test_all_of_it(self):
        made = self.good("volume", "create", "data", "--size", "20m").strip()
        shown = self.good("volume", "change", "data", "--name", "kept", "--size", "1g")
        self.assertIn(f"id: {made}\nname: kept\n", shown)
        self.assertIn("size: 1024 MB\n", shown)
        self.assertEqual(30, json.loads(self.good("volume", "change", made, "--size", "30", "--json"))["size_mb"])
        self.good("volume", "create", "data", "--size", "20m")
        self.assertEqual("agent-sandbox: --name: data is the name of another volume\n", self.one_line("volume", "change", "kept", "--name", "data"))
        self.assertEqual("agent-sandbox: no such volume: nobody\n", self.one_line("volume", "change", "nobody", "--size", "5"))
        self.good("sandbox", "create", "--name", "box", "--volume", "data:/data")
        self.assertIn("sandboxes: box:/data\n", self.good("volume", "change", "data", "--size", "25"))
        self.assertEqual("agent-sandbox: --name: sandbox box has volume data by this name\n",
                         self.one_line("volume", "change", "data", "--name", "other"))
        self.assertIn("box writes to volume data", self.one_line("volume", "change", "data", "--size", "24"))


if __name__ == "__main__":
    live_server.main()
