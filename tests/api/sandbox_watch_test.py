"""GET /v1/sandboxes/{id}/watch: changes to files, as events."""
import json
import math
import threading
import time

import event_stream
import host_view
import time_scale
from sandbox_watch import WatchTest


class Watch(WatchTest):
    def test_what_happens_to_a_file(self):
        sandbox = self.make()
        for accept in (event_stream.SSE, event_stream.NDJSON):
            with self.subTest(accept=accept):
                stream = self.watch(sandbox, accept)
                sandbox.run("cd /workspace; echo a > f; chmod 600 f; mv f g; rm g; mkdir d; rmdir d; touch last; rm last")
                seen = self.until(stream, "/workspace/last", ("removed",))
                # A file that is made and written at once may be reported as written once or twice.
                seen = [event for place, event in enumerate(seen) if place == 0 or event != seen[place - 1]]
                self.assertEqual([("created", "/workspace/f"), ("written", "/workspace/f"), ("attributes", "/workspace/f"),
                                  ("moved", "/workspace/g"), ("removed", "/workspace/g"), ("created", "/workspace/d"),
                                  ("removed", "/workspace/d"), ("created", "/workspace/last")], seen[:8])
                stream.leave()

    def test_what_an_event_says(self):
        sandbox = self.make()
        stream = self.watch(sandbox)
        sandbox.run("mkdir /workspace/d; mv /workspace/d /workspace/e; echo > '/workspace/a b'")
        events = [event for event, _ in zip(stream, range(3))]
        self.assertEqual([{"path": "/workspace/d", "directory": True},
                          {"path": "/workspace/e", "directory": True, "from": "/workspace/d"},
                          {"path": "/workspace/a b", "directory": False}], [event["data"] for event in events])
        self.assertEqual([2, 3, 4], [event["seq"] for event in events])

    def test_only_the_directory_itself_unless_recursive(self):
        sandbox = self.make()
        sandbox.run("mkdir -p /workspace/sub/deep")
        plain = self.watch(sandbox, path="/workspace")
        deep = self.watch(sandbox, path="/workspace", recursive="true")
        sandbox.run("touch /workspace/sub/x /workspace/sub/deep/y; touch /workspace/last")
        self.assertEqual([("created", "/workspace/last")], self.until(plain, "/workspace/last"))
        seen = self.until(deep, "/workspace/last")
        self.assertIn(("created", "/workspace/sub/x"), seen)
        self.assertIn(("created", "/workspace/sub/deep/y"), seen)

    def test_files_made_before_their_directory_was_watched(self):
        sandbox = self.make()
        stream = self.watch(sandbox, recursive="true")
        sandbox.run("mkdir -p /workspace/a/b/c; touch /workspace/a/1 /workspace/a/b/2 /workspace/a/b/c/3; touch /workspace/last")
        seen = self.until(stream, "/workspace/last")
        created = [path for kind, path in seen if kind == "created"]
        expected = {"/workspace/a", "/workspace/a/b", "/workspace/a/b/c", "/workspace/a/1", "/workspace/a/b/2",
                    "/workspace/a/b/c/3", "/workspace/last"}
        if not expected <= set(created):  # these come behind it then
            created += [path for _, path in self.until(stream, "/workspace/a/b/c/3")]
        self.assertEqual(sorted(expected), sorted(created), "each once")
        sandbox.run("touch /workspace/a/b/c/later")
        self.until(stream, "/workspace/a/b/c/later")

    def test_directories_that_move(self):
        sandbox = self.make()
        sandbox.run("mkdir -p /workspace/w/a/b /workspace/outside/in")
        stream = self.watch(sandbox, path="/workspace/w", recursive="true")
        sandbox.run("mv /workspace/w/a /workspace/w/z; touch /workspace/w/z/b/1")
        self.assertIn(("moved", "/workspace/w/z"), self.until(stream, "/workspace/w/z/b/1"))
        sandbox.run("mv /workspace/outside /workspace/w/o; touch /workspace/w/o/in/2")
        self.assertIn(("created", "/workspace/w/o/in"), self.until(stream, "/workspace/w/o/in/2"))
        sandbox.run("mv /workspace/w/z /workspace/gone; touch /workspace/gone/b/3 /workspace/w/4")
        seen = self.until(stream, "/workspace/w/4")
        self.assertIn(("removed", "/workspace/w/z"), seen)
        self.assertNotIn("/3", "".join(path for _, path in seen))

    def test_directories_that_are_exchanged_or_move_at_once(self):
        sandbox = self.make()
        sandbox.run("mkdir -p /workspace/a/in /workspace/b/in")
        stream = self.watch(sandbox, recursive="true")
        sandbox.python("""
import ctypes, os
os.chdir('/workspace')
ctypes.CDLL(None).renameat2(-100, b'a', -100, b'b', 2)
for number in range(50):
    os.mkdir('new')
    os.rename('new', f'moved-{number}')
""")
        self.until(stream, "/workspace/moved-49", ("moved",))
        paths = ["/workspace/a/in/1", "/workspace/b/in/1", *(f"/workspace/moved-{number}/1" for number in range(50))]
        for path in paths:
            sandbox.put(path, b"x")
        for path in paths:
            with self.subTest(path=path):
                # A file gets its name when it is whole.
                self.until(stream, path, ("created",))

    def test_it_ends_with_the_sandbox_and_with_the_directory(self):
        sandbox = self.make()
        sandbox.run("mkdir /workspace/d")
        stream = self.watch(sandbox, path="/workspace/d")
        sandbox.run("rmdir /workspace/d")
        self.assertEqual({"reason": "directory_gone"}, list(stream)[-1]["data"])
        stream = self.watch(sandbox)
        sandbox.delete()
        self.assertEqual({"reason": "sandbox_ended"}, list(stream)[-1]["data"])

    def test_an_open_one_keeps_the_sandbox_from_being_idle(self):
        idle = math.ceil(time_scale.scaled(3))  # in which the watch is opened
        sandbox = self.make(idle_seconds=idle)
        stream = self.watch(sandbox)
        time.sleep(idle + 1)
        self.assertFalse(self.has_ended(sandbox))
        stream.leave()
        self.assertEqual("idle", self.wait_until_ended(sandbox, idle + 20)["outcome"]["code"])

    def has_ended(self, sandbox):
        page = self.client.send("GET", "/v1/sandboxes?state=ended&limit=200").json
        return sandbox.id in [each["id"] for each in page["sandboxes"]]

    def test_refusals(self):
        sandbox = self.make()
        sandbox.put("/workspace/f", b"x")
        for query, status, code in (({"path": "/none"}, 404, "no_such_file"), ({"path": "/workspace/f"}, 409, "not_a_directory"),
                                    ({"path": "workspace"}, 400, "bad_request"), ({"path": "/a\0b"}, 400, "bad_request"),
                                    ({"recursive": "perhaps"}, 400, "bad_request"), ({"depth": 2}, 400, "unknown_field")):
            with self.subTest(query=query):
                self.assert_problem(status, code, self.problem(sandbox, **query))


class Hostile(WatchTest):
    def test_links_are_not_followed(self):
        sandbox = self.make()
        sandbox.run("mkdir -p /workspace/w/d /tmp/secret; ln -s /tmp/secret /workspace/w/link")
        stream = self.watch(sandbox, path="/workspace/w", recursive="true")
        sandbox.run("mv /workspace/w/d /workspace/away; ln -s /tmp/secret /workspace/w/d; ln -s /tmp/secret /workspace/w/new;"
                    "touch /tmp/secret/seen /workspace/away/seen; touch /workspace/w/last")
        seen = self.until(stream, "/workspace/w/last")
        self.assertNotIn("seen", json.dumps(seen))
        self.assertIn(("created", "/workspace/w/new"), seen)

    def test_links_that_are_exchanged_with_directories(self):
        sandbox = self.make()
        sandbox.run("mkdir -p /tmp/secret /workspace/w")
        stream = self.watch(sandbox, path="/workspace/w", recursive="true")
        sandbox.python("""
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
os.chdir('/workspace/w')
os.symlink('/tmp/secret', 'x')
for number in range(500):
    os.mkdir('d')
    libc.renameat2(-100, b'd', -100, b'x', 2)
    open('/tmp/secret/seen', 'w').close()
    libc.renameat2(-100, b'd', -100, b'x', 2)
    os.rmdir('d')
open('last', 'w').close()
""")
        seen = self.until(stream, "/workspace/w/last")
        self.assertNotIn("seen", json.dumps(seen))

    def test_a_flood_is_bounded_and_said(self):
        sandbox = self.make()
        stream = self.watch(sandbox, recursive="true")
        flood = sandbox.start(["python3", "-c", """
import os
while True:
    for number in range(100):
        os.close(os.open(f'/workspace/{number}', os.O_CREAT | os.O_WRONLY))
    for number in range(100):
        os.unlink(f'/workspace/{number}')
"""])
        for event in stream:
            if event["type"] == "overflow":
                break
        self.assertEqual({"path": "/workspace", "directory": True}, event["data"])
        # Others are served meanwhile.
        self.assertEqual(200, self.client.send("GET", sandbox.path).status)
        flood.delete()
        self.until_quiet(sandbox, stream)

    def test_names_of_any_bytes(self):
        sandbox = self.make()
        names = [b"new\nline", b"data: {}\n\n", b'"quote\\', b"\x1b[31m", b"\xff", b"x" * 255]
        for accept in (event_stream.SSE, event_stream.NDJSON):
            stream = self.watch(sandbox, accept)
            sandbox.python(f"for name in {names!r}: open(b'/workspace/' + name, 'w').close()")
            created = []
            for event in stream:
                if event["type"] == "created":
                    created.append(event["data"]["path"])
                if len(created) == len(names):
                    break
            self.assertEqual([f"/workspace/{name.decode(errors='replace')}" for name in names], created)
            stream.leave()
            sandbox.run("rm /workspace/*")

    def test_a_flood_delays_nobody_for_long(self):
        sandbox, other = self.make(), self.make()
        streams = [self.watch(sandbox, recursive="true") for _ in range(8)]
        flood = sandbox.start(["python3", "-c", """
import os
os.chdir('/workspace')
while True:
    for number in range(50):
        os.makedirs(f'{number}/b/c')
    for number in range(50):
        os.removedirs(f'{number}/b/c')
"""])
        readers = [threading.Thread(target=self.read_all, args=(stream,)) for stream in streams]
        for reader in readers:
            reader.start()
        waits = []
        for _ in range(20):
            begun = time.monotonic()
            self.assertEqual(200, other.get("/workspace", "?stat=true").status)
            waits.append(time.monotonic() - begun)
        # A host that stalls delays a few of them, a flood all.
        self.assertLess(sorted(waits)[-4], time_scale.scaled(2), waits)
        flood.delete()
        sandbox.delete()
        for reader in readers:
            reader.join(time_scale.scaled(20))
            self.assertFalse(reader.is_alive())

    @staticmethod
    def read_all(stream):
        for _ in stream:
            pass

    def test_directories_are_bounded(self):
        sandbox = self.make()
        sandbox.run("mkdir -p /workspace/many; cd /workspace/many; mkdir $(seq 1100)")
        self.assert_problem(503, "busy", self.problem(sandbox, recursive="true"), "too many directories")
        sandbox.run("mv /workspace/many /tmp/many")
        stream = self.watch(sandbox, recursive="true")
        sandbox.run("mkdir -p /workspace/many; cd /workspace/many; mkdir $(seq 1100)")
        kinds = set()
        for event in stream:
            kinds.add(event["type"])
            if event["type"] == "overflow":
                break
        self.assertEqual({"created", "overflow"}, kinds)
        # There is room for watches again once their removal is reported.
        sandbox.run("rm -r /workspace/many")
        self.until(stream, "/workspace/many", ("removed",))
        other = self.watch(sandbox, path="/tmp")
        self.assertTrue(other)

    def test_watches_are_bounded(self):
        sandbox = self.make()
        streams = [self.watch(sandbox) for _ in range(8)]
        self.assert_problem(503, "busy", self.problem(sandbox), "as many watches are open as there may be")
        streams.pop().leave()
        self.assertTrue(host_view.wait_until(lambda: self.can_be_watched(sandbox), 10))

    def can_be_watched(self, sandbox):
        stream = self.stream("GET", f"{sandbox.path}/watch")
        status = stream.status
        stream.leave()
        return status == 200

    def test_a_client_that_does_not_read(self):
        sandbox = self.make()
        stream = self.watch(sandbox)
        sandbox.python("""
import os
for number in range(30000):
    os.close(os.open(f'/workspace/{number % 3000}-' + 'x' * 200, os.O_CREAT | os.O_WRONLY))
    if number % 3000 == 2999:
        for name in os.listdir('/workspace'):
            os.unlink(f'/workspace/{name}')
""")
        self.assertIn("overflow", self.until_quiet(sandbox, stream))


class SeveralKeys(WatchTest):
    environment = {"JOBS_PATH": ":memory:", "API_KEYS": "first-key,second-key"}

    def test_a_key_leaves_watches_to_others(self):
        first, second = self.client_with("first-key"), self.client_with("second-key")
        for _ in range(8):
            sandbox = self.make(first)
            for _ in range(8):
                self.watch(sandbox, key="first-key")
        busy = self.make(first)
        answer = first.send("GET", f"{busy.path}/watch")
        self.assert_problem(503, "busy", answer, "as many watches are open as there may be")
        self.watch(self.make(second), key="second-key")
