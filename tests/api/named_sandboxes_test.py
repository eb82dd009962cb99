"""Sandboxes below /api/v1/sandbox: by name, in minutes, millicores and mebibytes, answered in envelopes."""
import base64
import json
import random
import threading
import time
import urllib.parse

import host_view
import living_sandbox
import time_scale

BOUNDARY = "a-boundary"


def form(*parts, boundary=BOUNDARY):
    """A body of the type multipart/form-data; a part is a name, a filename or None, and bytes."""
    body = b""
    for name, filename, content in parts:
        file = "" if filename is None else f'; filename="{filename}"'
        body += f'--{boundary}\r\nContent-Disposition: form-data; name="{name}"{file}\r\n\r\n'.encode() + content + b"\r\n"
    return body + f"--{boundary}--\r\n".encode()


class NamedTest(living_sandbox.SandboxTest):
    def assert_envelope(self, status, answer, **members):
        self.assertEqual((status, "application/json"), (answer.status, answer.headers["Content-Type"]), answer)
        self.assertEqual(members, answer.json)

    def done(self, answer):
        """Returns the data of a success."""
        self.assertEqual((200, "application/json", "0"), (answer.status, answer.headers["Content-Type"], answer.json.get("code")), answer)
        self.assertEqual({"code", "data"}, set(answer.json))
        return answer.json["data"]

    def refused(self, status, answer, *fragments, code="500"):
        """Returns the text of a failure."""
        self.assertEqual((status, "application/json", code), (answer.status, answer.headers["Content-Type"], answer.json.get("code")), answer)
        self.assertEqual({"code", "error"}, set(answer.json))
        for fragment in fragments:
            self.assertIn(fragment, answer.json["error"])
        return answer.json["error"]

    def create(self, client=None, **fields):
        return (client or self.client).post(fields, "/api/v1/sandbox")

    def made(self, name, client=None, **fields):
        """Makes a sandbox that is deleted when the test is over."""
        client = client or self.client
        answer = self.create(client, name=name, **fields)
        self.assertEqual(f"Sandbox {name} created successfully", self.done(answer))
        self.addCleanup(client.send, "DELETE", f"/v1/sandboxes/{name}")
        return self.shown(name, client)

    def shown(self, name, client=None):
        return self.done((client or self.client).send("GET", f"/api/v1/sandbox/{name}"))

    def run_in(self, name, command):
        return self.done(self.client.post({"command": command}, f"/api/v1/terminal/sandbox/{name}"))

    def files_of(self, name, path="/workspace"):
        return self.done(self.client.send("GET", f"/api/v1/sandbox/files/{name}?path={urllib.parse.quote(path)}"))

    def upload(self, name, body, path="/workspace/", boundary=BOUNDARY, **headers):
        return self.client.send("POST", f"/api/v1/sandbox/files/{name}/upload?path={urllib.parse.quote(path)}", body,
                                **{"Content-Type": f"multipart/form-data; boundary={boundary}", **headers})

    def download(self, name, path, method="GET"):
        return self.client.send(method, f"/api/v1/sandbox/files/{name}/download?path={urllib.parse.quote(path)}")


class Life(NamedTest):
    def test_envelopes_byte_by_byte(self):
        answer = self.client.send("GET", "/api/v1/sandbox")
        self.assertEqual((200, b'{"code":"500","error":"no sandboxes found"}'), (answer.status, answer.body))
        answer = self.create(name="bytes")
        self.assertEqual((200, b'{"code":"0","data":"Sandbox bytes created successfully"}'), (answer.status, answer.body))
        answer = self.create(name="bytes")
        self.assertEqual((409, b'{"code":"500","error":"sandbox bytes already exists"}'), (answer.status, answer.body))
        for done in ("pause", "resume"):
            answer = self.client.send("POST", f"/api/v1/sandbox/{done}/bytes")
            self.assertEqual((200, f'{{"code":"0","data":"Sandbox bytes {done}d successfully"}}'.encode()), (answer.status, answer.body))
        answer = self.client.send("DELETE", "/api/v1/sandbox/bytes")
        self.assertEqual((200, b'{"code":"0","data":"Sandbox bytes deleted successfully"}'), (answer.status, answer.body))
        answer = self.client.send("GET", "/api/v1/sandbox/bytes")
        self.assertEqual((404, b'{"code":"500","error":"no such sandbox: bytes"}'), (answer.status, answer.body))

    def test_defaults(self):
        seen = self.made("plain")
        expected = {"name": "plain", "environment": "none", "app": "", "timeout": 60, "idle_timeout": 10, "idle_policy": "delete",
                    "workdir": "/workspace", "cpu_limit": "1000m", "memory_limit": "1024Mi", "ports": [], "status": "running"}
        self.assertEqual(expected, {name: seen[name] for name in expected})
        at_v1 = self.client.send("GET", f"/v1/sandboxes/{seen['id']}").json
        self.assertEqual((1024, 600, "delete"), (at_v1["limits"]["memory_mb"], at_v1["idle_seconds"], at_v1["on_timeout"]))
        lives = living_sandbox.moment(at_v1["ends_at"]) - living_sandbox.moment(at_v1["created_at"])
        self.assertAlmostEqual(3600, lives, delta=time_scale.scaled(5))

    def test_what_is_asked_for(self):
        seen = self.made("asked", environment="none", app="shop", timeout=1440, idle_timeout=60, idle_policy="scaledown", workdir="/tmp",
                         cpu="250m", cpu_limit="1", memory="64Mi", memory_limit="128Mi", ports=[8080, 9000], env={"COLOUR": "blue"})
        expected = {"app": "shop", "timeout": 1440, "idle_timeout": 60, "idle_policy": "scaledown", "workdir": "/tmp",
                    "memory_limit": "128Mi", "ports": [8080, 9000]}
        self.assertEqual(expected, {name: seen[name] for name in expected})
        ran = self.run_in("asked", "pwd; echo $COLOUR")
        self.assertEqual("/tmp\nblue\n", ran["output"])
        self.assertNotIn("blue", json.dumps(seen))

    def test_what_is_sent_empty_is_left_out(self):
        seen = self.made("empty", environment="", args=[], app="", image="", env=None, timeout=0, idle_timeout=0, idle_policy="", workdir="",
                         cpu="", memory="", cpu_limit="", memory_limit=None, ports=None, status="")
        self.assertEqual((60, "1024Mi", "none"), (seen["timeout"], seen["memory_limit"], seen["environment"]))

    def test_nothing_of_one_request_is_left_for_the_next(self):
        self.made("first", env={"LEAKED": "yes"}, timeout=7, app="first")
        seen = self.made("second")
        self.assertEqual((60, ""), (seen["timeout"], seen["app"]))
        self.assertEqual("\n", self.run_in("second", "echo $LEAKED")["output"])

    def test_a_name_is_made_where_none_is_given(self):
        names = []
        for _ in range(3):
            words = self.done(self.create()).split()
            self.assertEqual(["Sandbox", "created", "successfully"], [words[0], *words[2:]])
            names.append(words[1])
            self.addCleanup(self.client.send, "DELETE", f"/v1/sandboxes/{words[1]}")
            self.assertRegex(words[1], r"^sandbox-none-\d+(-\d+)?$")
            self.assertEqual("running", self.shown(words[1])["status"])
        self.assertEqual(3, len(set(names)), names)

    def test_many_at_once_and_one_of_each_name(self):
        answers = []

        def create():
            with self.server.client() as client:
                answers.append(self.create(client, name="wanted"))

        threads = [threading.Thread(target=create) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.addCleanup(self.client.send, "DELETE", "/v1/sandboxes/wanted")
        self.assertEqual([200, 409, 409, 409], sorted(answer.status for answer in answers))

    def test_lists_and_doors_see_the_same(self):
        self.made("listed")
        other = self.make(name="from-v1")
        listed = self.done(self.client.send("GET", "/api/v1/sandbox"))
        self.assertLessEqual({"listed", "from-v1"}, {each["name"] for each in listed})
        unnamed = self.make()
        self.assertEqual(unnamed.id, self.shown(unnamed.id)["name"])
        self.done(self.client.send("DELETE", "/api/v1/sandbox/from-v1"))
        self.assertEqual("deleted", other.now()["outcome"]["code"])

    def test_paused_and_resumed(self):
        self.made("sleeper")
        self.done(self.client.post({}, "/api/v1/sandbox/pause/sleeper"))
        self.assertEqual("paused", self.shown("sleeper")["status"])
        self.done(self.client.post({}, "/api/v1/sandbox/resume/sleeper"))
        self.assertEqual("running", self.shown("sleeper")["status"])

    def test_one_that_has_ended(self):
        seen = self.made("short")
        self.done(self.client.send("DELETE", "/api/v1/sandbox/short"))
        self.assertEqual("ended", self.shown(seen["id"])["status"])
        for name in (seen["id"], "short"):
            self.refused(409, self.client.send("POST", f"/api/v1/sandbox/pause/{name}"), "sandbox short ended at")
            self.refused(409, self.client.post({"command": "true"}, f"/api/v1/terminal/sandbox/{name}"), "sandbox short ended at")
            self.refused(409, self.client.send("GET", f"/api/v1/logs/sandbox/{name}"), "sandbox short ended at")
        self.refused(404, self.client.send("DELETE", "/api/v1/sandbox/short"), "no such sandbox: short")

    def test_status_and_what_there_is_room_for(self):
        before = self.done(self.client.send("GET", "/api/v1/ratelimit"))
        self.made("counted")
        after = self.done(self.client.send("GET", "/api/v1/ratelimit"))
        self.assertEqual(1, after["sandboxes"]["used"] - before["sandboxes"]["used"])
        self.assertIsNone(after["requests"])
        status = self.done(self.client.send("GET", "/api/v1/status"))
        self.assertTrue(status["leader"])
        self.assertEqual(after["sandboxes"]["used"], status["sandboxes"]["total"])
        answer = self.client.send("GET", "/healthz")
        self.assertEqual((200, "ok"), (answer.status, answer.json["status"]))
        self.assertIn("version", answer.json)


class Refused(NamedTest):
    def test_fields(self):
        cases = [({"name": "No"}, "name: "), ({"name": "a" * 51}, "name: "), ({"name": "a/b"}, "name: "), ({"name": "../x"}, "name: "),
                 ({"environment": "aio"}, "environment: ", "none"), ({"image": "python:3.12"}, "image: ", "environment"),
                 ({"args": ["-c"]}, "args: ", "/api/v1/terminal/sandbox"), ({"status": "running"}, "status: "),
                 ({"timeout": 1441}, "timeout: ", "minutes", "1 .. 1440"), ({"timeout": -1}, "timeout: "), ({"timeout": "60s"}, "timeout: ", "minutes"),
                 ({"timeout": 1.5}, "timeout: "), ({"idle_timeout": 61}, "idle_timeout: ", "1 .. 60"),
                 ({"idle_policy": "pause"}, "idle_policy: ", "delete, scaledown"), ({"workdir": "here"}, "workdir: ", "absolute"),
                 ({"workdir": "/nosuch"}, "workdir: /nosuch"),
                 ({"cpu": 1}, "cpu: ", "500m"), ({"cpu": "1.5m"}, "cpu: "), ({"cpu": "one"}, "cpu: "), ({"cpu": "-1"}, "cpu: "),
                 ({"cpu_limit": "64"}, "cpu_limit: ", "1000m"), ({"cpu": "2"}, "cpu: ", "1000m"),
                 ({"cpu": "500m", "cpu_limit": "200m"}, "cpu: ", "cpu_limit"),
                 ({"memory": "128MB"}, "memory: ", "128Mi"), ({"memory": 128}, "memory: "), ({"memory_limit": "16Mi"}, "memory_limit: ", "32Mi"),
                 ({"memory_limit": "1Ti"}, "memory_limit: "), ({"memory_limit": "99999999999999999999Gi"}, "memory_limit: "),
                 ({"memory": "256Mi", "memory_limit": "128Mi"}, "memory: ", "128Mi"), ({"env": {"A=B": "x"}}, "env: "), ({"env": {"A": 1}}, "env: "),
                 ({"ports": [0]}, "ports: "), ({"ports": ["80"]}, "ports: "), ({"ports": 80}, "ports: "), ({"app": 1}, "app: "),
                 ({"enviroment": "none"}, '"enviroment": unknown field', "environment"), ({"lifetime": 5}, '"lifetime": unknown field')]
        for fields, *fragments in cases:
            with self.subTest(fields):
                self.refused(400, self.create(**fields), *fragments)

    def test_bodies(self):
        for body in (b"", b"{", b"[]", b'{"name":"a","name":"b"}', b'{"name":"\xff"}'):
            self.refused(400, self.client.post(body, "/api/v1/sandbox"))
        answer = self.client.send("POST", "/api/v1/sandbox", b"{}", **{"Content-Type": "text/plain"})
        self.refused(415, answer, "application/json")

    def test_paths_methods_and_parameters(self):
        answer = self.client.send("PATCH", "/api/v1/sandbox")
        self.assertEqual("POST, GET, HEAD", answer.headers["Allow"])
        self.refused(405, answer, "POST, GET, HEAD")
        self.refused(400, self.client.send("GET", "/api/v1/sandbox?all=1"), "all")
        for path in ("/sandbox", "/sandbox/none-of-it", "/logs/sandbox/none-of-it", "/api/v1/sandbox/pause"):
            self.assertEqual(404, self.client.send("GET", path).status, path)

    def test_no_such_sandbox(self):
        for method, path in (("GET", "sandbox/{}"), ("DELETE", "sandbox/{}"), ("GET", "logs/sandbox/{}"), ("GET", "events?sandbox={}"),
                             ("GET", "sandbox/files/{}"), ("DELETE", "sandbox/files/{}?path=/x"), ("GET", "sandbox/files/{}/download?path=/x")):
            self.refused(404, self.client.send(method, "/api/v1/" + path.format("none-of-it")), "no such sandbox")
        for path in ("sandbox/pause/{}", "sandbox/resume/{}"):
            self.refused(404, self.client.post({}, "/api/v1/" + path.format("none-of-it")), "no such sandbox")
        self.refused(404, self.client.post({"command": "true"}, "/api/v1/terminal/sandbox/none-of-it"), "no such sandbox")
        self.refused(404, self.client.post({"names": ["none-of-it"]}, "/api/v1/sandbox/metrics"), '"none-of-it"', "no such sandbox")
        self.refused(404, self.upload("none-of-it", form(("file", "a", b""))), "no such sandbox")

    def test_a_page_of_another_site_uploads_nothing(self):
        self.made("visited")
        body = form(("file", "a.txt", b"evil"))
        self.refused(403, self.upload("visited", body, Origin="http://evil.example"), "Origin")
        self.refused(403, self.upload("visited", body, Origin="null"), "Origin")
        self.assertEqual([], self.files_of("visited")["entries"])
        self.done(self.upload("visited", body, Origin=f"http://127.0.0.1:{self.server.port}"))
        answer = self.client.send("GET", "/api/v1/sandbox", Host="evil.example")
        self.refused(421, answer, "Host")


class Output(NamedTest):
    def test_a_command(self):
        self.made("ran")
        ran = self.run_in("ran", "echo out; echo err >&2; exit 3")
        self.assertEqual(("ran", "out\n", "err\n", 3, "exit_status", False),
                         tuple(ran[name] for name in ("sandbox", "output", "errorOutput", "exitCode", "outcome", "truncated")))
        living_sandbox.moment(ran["executedAt"])
        killed = self.run_in("ran", "kill -9 $$")
        self.assertIsNone(killed["exitCode"])
        self.assertEqual("\ufffd\n", self.run_in("ran", r"printf '\xff\n'")["output"])

    def test_commands_that_are_none(self):
        self.made("still")
        for fields in ({}, {"command": ""}, {"command": ["ls"]}, {"command": "a\0b"}, {"command": "x" * 65537}, {"command": "ls", "shell": "sh"}):
            with self.subTest(str(fields)[:60]):
                self.refused(400, self.client.post(fields, "/api/v1/terminal/sandbox/still"), "command")

    def test_endless_output_is_kept_up_to_a_bound_and_ends_with_its_reader(self):
        self.made("endless")
        flood = self.run_in("endless", "head -c 8000000 /dev/zero | tr '\\0' x; head -c 3000000 /dev/zero | tr '\\0' y >&2")
        self.assertEqual((1 << 18, 1 << 18, True), (len(flood["output"]), len(flood["errorOutput"]), flood["truncated"]))
        leaver = self.server.client()
        body = json.dumps({"command": "yes this-has-no-end"}).encode()
        leaver._connection.request("POST", "/api/v1/terminal/sandbox/endless", body, {"Content-Type": "application/json"})
        self.assertTrue(host_view.wait_until(lambda: self.on_host("this-has-no-end"), 20))
        before = host_view.resident_bytes(self.server.pid)
        time.sleep(1)  # in which it prints as fast as it is read
        self.assertLess(host_view.resident_bytes(self.server.pid) - before, 64 << 20)
        leaver.close()
        self.wait_until_gone("this-has-no-end", 20)

    def test_logs(self):
        self.made("told")
        self.run_in("told", "seq 1 5")
        self.run_in("told", "printf 'no line end'")
        self.run_in("told", r"printf '\xff\n'")
        logs = self.done(self.client.send("GET", "/api/v1/logs/sandbox/told"))
        self.assertEqual("1\n2\n3\n4\n5\nno line end\ufffd\n", logs["logs"])
        self.assertEqual({"sandbox", "pod", "container", "logs", "fetchedAt"}, set(logs))
        for lines, expected in ((1, "no line end\ufffd\n"), (2, "5\nno line end\ufffd\n"), (6, logs["logs"]), (2000, logs["logs"])):
            tail = self.done(self.client.send("GET", f"/api/v1/logs/sandbox/told?tailLines={lines}"))
            self.assertEqual(expected, tail["logs"], lines)
        for lines in ("0", "2001", "-1", "x", ""):
            self.refused(400, self.client.send("GET", f"/api/v1/logs/sandbox/told?tailLines={lines}"), "tailLines: ", "2000")

    def test_logs_are_in_the_order_in_which_they_were_printed(self):
        self.made("in-turn")
        self.run_in("in-turn", "echo first; (while ! [ -e go ]; do sleep 0.02; done; echo third) &")
        self.run_in("in-turn", "echo second")
        self.run_in("in-turn", "touch go")
        logs = []

        def all_is_there():
            logs.append(self.done(self.client.send("GET", "/api/v1/logs/sandbox/in-turn"))["logs"])
            return "third" in logs[-1]

        self.wait_for(all_is_there)
        self.assertEqual("first\nsecond\nthird\n", logs[-1])

    def test_logs_of_one_line_without_end_are_bounded(self):
        self.made("long-line")
        for _ in range(6):
            self.run_in("long-line", "head -c 1000000 /dev/zero | tr '\\0' x")
        logs = self.done(self.client.send("GET", "/api/v1/logs/sandbox/long-line"))["logs"]
        self.assertLessEqual(len(logs), 1 << 20)
        self.assertGreater(len(logs), 1 << 17)

    def test_events(self):
        seen = self.made("eventful")
        self.run_in("eventful", "true")
        kinds = {}

        def has_all():
            items = self.done(self.client.send("GET", "/api/v1/events?sandbox=eventful&limit=500"))["items"]
            kinds.update({item["reason"]: item for item in items})
            return {"created", "process_started", "process_ended"} <= set(kinds)

        self.assertTrue(host_view.wait_until(has_all, 20), kinds)
        for item in kinds.values():
            self.assertEqual("eventful", item["sandbox"])
            json.loads(item["message"])
            living_sandbox.moment(item["timestamp"])
        one = self.done(self.client.send("GET", f"/api/v1/events?sandbox={seen['id']}&limit=1"))["items"]
        self.assertEqual(1, len(one))
        for limit in ("0", "501", "x"):
            self.refused(400, self.client.send("GET", f"/api/v1/events?limit={limit}"), "limit: ")

    def test_what_was_used(self):
        self.made("worker")
        self.run_in("worker", "python3 -c 'b = bytearray(20_000_000); open(\"begun\", \"w\")\nwhile True: pass' & while ! [ -e begun ]; do sleep 0.02; done")

        def used_now():
            items = self.done(self.client.post({"names": ["worker", "worker"]}, "/api/v1/sandbox/metrics"))["items"]
            self.assertEqual({"worker"}, set(items))
            return items["worker"]

        self.wait_for(lambda: used_now()["cpuMilli"] > 0)
        used = used_now()
        self.assertEqual({"cpuMilli", "memoryBytes", "memoryMB", "sampledAt"}, set(used))
        self.assertGreater(used["memoryBytes"], 20_000_000)
        living_sandbox.moment(used["sampledAt"])
        self.assertAlmostEqual(used["memoryBytes"] / (1 << 20), used["memoryMB"], delta=0.01)
        for body in ({}, {"names": []}, {"names": "worker"}, {"names": [1]}, {"names": ["worker"] * 101}, {"names": ["worker"], "x": 1}):
            self.refused(400, self.client.post(body, "/api/v1/sandbox/metrics"), "names")


class Files(NamedTest):
    def test_up_down_list_and_delete(self):
        self.made("shelves")
        content = random.Random(7).randbytes(300_000)
        up = self.done(self.upload("shelves", form(("file", "a b.bin", content))))
        self.assertEqual({"name": "a b.bin", "path": "/workspace/a b.bin", "size": len(content)}, up)
        down = self.download("shelves", "/workspace/a b.bin")
        self.assertEqual((200, "application/octet-stream", content), (down.status, down.headers["Content-Type"], down.body))
        self.assertEqual("attachment; filename*=UTF-8''a%20b.bin", down.headers["Content-Disposition"])
        head = self.download("shelves", "/workspace/a b.bin", "HEAD")
        self.assertEqual((200, str(len(content)), b""), (head.status, head.headers["Content-Length"], head.body))
        self.run_in("shelves", "mkdir d; echo x > d/y")
        self.assertEqual([{"name": "a b.bin", "path": "/workspace/a b.bin", "isDir": False, "size": len(content)}],
                         [entry for entry in self.files_of("shelves")["entries"] if not entry["isDir"]])
        self.assertEqual(["d"], [entry["name"] for entry in self.files_of("shelves")["entries"] if entry["isDir"]])
        gone = self.client.send("DELETE", "/api/v1/sandbox/files/shelves?path=/workspace/a%20b.bin")
        self.assertEqual("File /workspace/a b.bin deleted successfully", self.done(gone))
        self.refused(404, self.download("shelves", "/workspace/a b.bin"), "no such file")
        self.refused(409, self.client.send("DELETE", "/api/v1/sandbox/files/shelves?path=/workspace/d"))
        self.done(self.client.send("DELETE", "/api/v1/sandbox/files/shelves?path=/workspace/d&recursive=true"))
        self.assertEqual([], self.files_of("shelves")["entries"])

    def test_where_an_upload_goes(self):
        self.made("places")
        self.run_in("places", "mkdir dir; ln -s dir link")
        for path, filename, expected in (("/workspace", "a", "/workspace/a"), ("/workspace/dir", "b", "/workspace/dir/b"),
                                         ("/workspace/link", "c", "/workspace/link/c"), ("/workspace/new/", "d", "/workspace/new/d"),
                                         ("/workspace/own-name", "e", "/workspace/own-name"), ("/workspace/", "C:\\dir\\f", "/workspace/f"),
                                         ("/workspace/", "../../etc/g", "/workspace/g"), ("/workspace/", "grüße", "/workspace/grüße")):
            with self.subTest(path=path, filename=filename):
                self.assertEqual(expected, self.done(self.upload("places", form(("file", filename, b"in")), path))["path"])
                self.assertEqual(b"in", self.download("places", expected).body)

    def test_paths_that_are_none(self):
        self.made("fenced")
        for path in ("relative", "/../etc/passwd", "/workspace/../../x", "/workspace/..", "/a\0b", ""):
            quoted = urllib.parse.quote(path)
            with self.subTest(path):
                self.refused(400, self.client.send("GET", f"/api/v1/sandbox/files/fenced?path={quoted}"), "path: ")
                self.refused(400, self.download("fenced", path), "path: ")
                self.refused(400, self.client.send("DELETE", f"/api/v1/sandbox/files/fenced?path={quoted}"), "path: ")
                self.refused(400, self.upload("fenced", form(("file", "a", b"")), path), "path: ")
        self.refused(400, self.client.send("GET", "/api/v1/sandbox/files/fenced/download"), "path: ")
        self.refused(400, self.client.send("DELETE", "/api/v1/sandbox/files/fenced?path=/"), "path")
        self.refused(404, self.client.send("GET", "/api/v1/sandbox/files/fenced?path=/workspace/none"), "no such file")
        self.refused(400, self.client.send("GET", "/api/v1/sandbox/files/fenced?path=%zz"), "path: ")

    def test_names_that_a_guest_makes(self):
        self.made("hostile")
        self.run_in("hostile", "python3 -c 'import os, socket\n"
                    "for name in (b\"a\\nb\", b\"c\\xff\", b\"d\\\"e\", b\"<i>\", b\"\\x1b[2J\"): open(b\"/workspace/\" + name, \"w\")\n"
                    "os.symlink(\"/etc/passwd\", \"/workspace/link\")\nsocket.socket(socket.AF_UNIX).bind(\"/workspace/socket\")'")
        entries = {entry["name"]: entry for entry in self.files_of("hostile")["entries"]}
        self.assertEqual({"a\nb", "c\ufffd", 'd"e', "<i>", "\x1b[2J", "link", "socket"}, set(entries))
        self.assertEqual({False}, {entry["isDir"] for entry in entries.values()})
        down = self.download("hostile", "/workspace/a\nb")
        self.assertEqual((200, "attachment; filename*=UTF-8''a%0Ab"), (down.status, down.headers["Content-Disposition"]))
        self.refused(403, self.download("hostile", "/workspace/socket"))
        inside = base64.b64decode(self.run_in("hostile", "base64 -w0 /etc/passwd")["output"])
        self.assertEqual(inside, self.download("hostile", "/workspace/link").body, "a link leads where it leads inside")

    def test_forms_that_are_none(self):
        self.made("formal")
        whole = form(("file", "a.txt", b"content"))
        bad = [("no type", whole, {"Content-Type": "application/octet-stream"}, 415), ("no boundary", whole, {"Content-Type": "multipart/form-data"}, 415),
               ("an empty boundary", whole, {"Content-Type": "multipart/form-data; boundary="}, 415),
               ("another boundary", whole, {"Content-Type": "multipart/form-data; boundary=other"}, 400),
               ("nothing", b"", {}, 400), ("no parts", f"--{BOUNDARY}--\r\n".encode(), {}, 400), ("a field", form(("file", None, b"text")), {}, 400),
               ("another name", form(("upload", "a.txt", b"content")), {}, 400), ("no filename", form(("file", "", b"content")), {}, 400),
               ("dots", form(("file", "..", b"")), {}, 400), ("a long filename", form(("file", "x" * 256, b"")), {}, 400),
               ("two files", form(("file", "a.txt", b"content"), ("file", "b.txt", b"")), {}, 400),
               ("another part", form(("file", "a.txt", b"content"), ("path", None, b"/x")), {}, 400)]
        bad += [(f"cut at {at}", whole[:at], {}, 400) for at in range(1, len(whole) - 2)]
        for what, body, headers, status in bad:
            with self.subTest(what):
                self.refused(status, self.upload("formal", body, **headers))
        self.assertEqual([], self.files_of("formal")["entries"], "nothing is left of what was refused")

    def test_forms_that_are_broken_at_random(self):
        self.made("fuzzed")
        whole = form(("file", "a.txt", b"content\r\n--a-boundary-not\r\n"))
        chosen = random.Random(20)
        pieces = [b"--a-boundary", b"\r\n", b"--", b"\n", b"\0", b'"', b"; filename=", b"Content-Disposition: form-data", b"\xff"]
        for number in range(300):
            body = bytearray(whole)
            for _ in range(chosen.randint(1, 4)):
                at = chosen.randrange(len(body))
                body[at:at + chosen.randrange(3)] = chosen.choice(pieces)
            answer = self.upload("fuzzed", bytes(body))
            self.assertIn(answer.status, (200, 400), f"{number}: {bytes(body)!r} {answer}")
            self.assertIn(answer.json["code"], ("0", "500"))
            listed = self.files_of("fuzzed")["entries"]
            self.assertTrue(all(".." not in entry["path"].split("/") for entry in listed), listed)
        self.assertEqual("running", self.shown("fuzzed")["status"])

    def test_a_full_disk(self):
        self.made("small", memory_limit="128Mi")
        # The rest of the form is small, so the server reads it before it answers.
        self.refused(507, self.upload("small", form(("file", "big", bytes((64 << 20) + (16 << 10))))))
        self.assertEqual([], self.files_of("small")["entries"])


    def test_a_file_that_is_too_large(self):
        self.made("large")
        most = 100 << 20
        self.refused(413, self.upload("large", form(("file", "a", bytes(most + 1)))), "104857600", code="413")
        self.assertEqual([], self.files_of("large")["entries"])
        self.assertEqual(most, self.done(self.upload("large", form(("file", "a", bytes(most)))))["size"])


class Keys(NamedTest):
    environment = {"JOBS_PATH": ":memory:", "API_KEYS": "first,second"}

    def test_nobody_comes_in_without_a_key(self):
        for method, path in (("GET", "sandbox"), ("POST", "sandbox"), ("GET", "sandbox/x"), ("DELETE", "sandbox/x"), ("POST", "sandbox/metrics"),
                             ("GET", "logs/sandbox/x"), ("GET", "events"), ("POST", "terminal/sandbox/x"), ("GET", "sandbox/files/x"),
                             ("POST", "sandbox/files/x/upload"), ("GET", "ratelimit")):
            answer = self.client.send(method, f"/api/v1/{path}")
            self.assertEqual((401, b'{"code":"401","error":"Unauthorized"}'), (answer.status, answer.body), path)
        answer = self.client.send("GET", "/api/v1/status")
        self.assertEqual((200, b'{"code":"0","data":{"leader":true}}'), (answer.status, answer.body))
        self.assertEqual({"status": "ok"}, self.client.send("GET", "/healthz").json)

    def test_another_keys_sandbox_is_not_there(self):
        first, second = self.client_with("first"), self.server.client(Authorization="Bearer second")
        self.addCleanup(second.close)
        seen = self.made("mine", first)
        for name in ("mine", seen["id"]):
            for method, path in (("GET", "sandbox/{}"), ("DELETE", "sandbox/{}"), ("GET", "logs/sandbox/{}"), ("GET", "events?sandbox={}"),
                                 ("GET", "sandbox/files/{}"), ("GET", "sandbox/files/{}/download?path=/etc/passwd")):
                self.refused(404, second.send(method, "/api/v1/" + path.format(name)), "no such sandbox")
            for path in ("sandbox/pause/{}", "sandbox/resume/{}"):
                self.refused(404, second.post({}, "/api/v1/" + path.format(name)), "no such sandbox")
            self.refused(404, second.post({"command": "true"}, f"/api/v1/terminal/sandbox/{name}"), "no such sandbox")
            self.refused(404, second.post({"names": [name]}, "/api/v1/sandbox/metrics"), "no such sandbox")
        self.assertEqual("no sandboxes found", second.send("GET", "/api/v1/sandbox").json["error"])
        self.assertEqual([], self.done(second.send("GET", "/api/v1/events"))["items"])
        self.assertEqual(0, self.done(second.send("GET", "/api/v1/ratelimit"))["sandboxes"]["used"])
        self.assertNotEqual(seen["id"], self.made("mine", second)["id"])
        self.assertEqual(seen["id"], self.shown("mine", first)["id"])


class Bounds(NamedTest):
    environment = {"JOBS_PATH": ":memory:", "SANDBOX_MAX_LIFETIME_SECONDS": "300", "SANDBOX_MAX_LIVING": "2"}

    def test_the_operators_time_and_number(self):
        self.assertEqual(5, self.made("one")["timeout"])
        self.refused(400, self.create(name="two", timeout=6), "timeout: ", "1 .. 5")
        self.made("two")
        answer = self.create(name="three")
        self.assertIn(answer.status, (429, 503))
        self.refused(answer.status, answer, code="429" if answer.status == 429 else "500")
        self.assertTrue(answer.headers["Retry-After"])
