"""Volumes: directories that outlive sandboxes, written to by one of them or read by many."""
import concurrent.futures
import json
import pathlib
import shutil
import tempfile
import unittest

import host_view
import live_server
from living_sandbox import Sandbox
from sandbox_command import Command
from volume_place import MB, VolumeTest


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
        self.assert_problem(409, "volume_in_use", self.refused("one:/data"), "volumes: [0]: volume: one", writer.id)
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
        self.assert_problem(404, "no_such_volume", self.refused("free:/data", "nobody:/other"), "volumes: [1]: volume")
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

    def test_it_may_be_where_processes_start(self):
        self.volume("start", size_mb=10)
        sandbox = self.with_volumes("start:/home/agent", working_directory="/home/agent", env={"HOME": "/home/agent"})
        self.assertEqual("/home/agent\n", sandbox.run("echo text > file; cd; pwd")["stdout"])
        self.assertEqual(b"text\n", sandbox.get("/home/agent/file").body)

    def test_several_in_one_sandbox(self):
        for number in range(8):
            self.volume(f"several-{number}", size_mb=10)
        sandbox = self.with_volumes(*(f"several-{number}:/data/{number}" for number in range(8)))
        sandbox.run("for i in 0 1 2 3 4 5 6 7; do echo $i > /data/$i/file; done")
        self.assertEqual("7\n", sandbox.run("cat /data/7/file")["stdout"])

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
        self.assert_problem(400, "bad_request", self.refused("fine:/a", "fine:/b"), "volumes: [1]: volume: expected each volume once")
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


class CommandLine(Command):
    subcommand = []

    @classmethod
    def setUpClass(cls):
        cls.environment = live_server.place_for_volumes(cls)
        super().setUpClass()

    def test_all_of_it(self):
        made = self.good("volume", "create", "data", "--size", "20m").strip()
        self.assertRegex(made, "^[a-z2-7]{26}$")
        self.assertEqual("agent-sandbox: NAME: data is the name of another volume\n", self.one_line("volume", "create", "data"))
        self.assertEqual("agent-sandbox: --volume nosuch:/x: no such volume\n", self.one_line("sandbox", "create", "--volume", "nosuch:/x"))
        self.assertIn("agent-sandbox: --volume data:/usr/x: ", self.one_line("sandbox", "create", "--volume", "data:/usr/x"))
        writer = self.good("sandbox", "create", "--name", "writer", "--volume", "data:/data").strip()
        self.assertIn("sandboxes: writer:/data\n", self.good("volume", "get", "data"))
        self.assertIn("writer:/data\n", self.good("volume", "list"))
        self.assertEqual("agent-sandbox: --volume data:/d:ro: data is written to by sandbox writer\n",
                         self.one_line("sandbox", "create", "--volume", "data:/d:ro"))
        self.assertEqual("agent-sandbox: sandbox writer writes to volume data\n", self.one_line("volume", "copy", "data", "other"))
        self.good("sandbox", "delete", writer)
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
        self.assertEqual("agent-sandbox: no such volume: nobody\n", self.one_line("volume", "delete", "nobody", "copy", "data"))
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
