"""Files of a living sandbox by HTTP: successes, refusals, and what hostile programs do to it."""
import hashlib
import http.client
import os
import pathlib
import stat
import time

import host_view
import time_scale
from living_sandbox import Sandbox, SandboxTest

FIELDS = {"path", "name", "type", "size", "mode", "modified_at", "target"}
MEBIBYTE = 1 << 20
# The number of requests for a path that a guest keeps changing meanwhile.
SWAPS = int(os.environ.get("JAIL_TEST_SWAPS", "500"))


class FilesTest(SandboxTest):
    def setUp(self):
        super().setUp()
        self.sandbox = self.make()

    def read(self, path):
        answer = self.sandbox.get(path)
        self.assertEqual((200, "application/octet-stream"), (answer.status, answer.headers["Content-Type"]), answer)
        return answer.body

    def write(self, path, body, query=""):
        answer = self.sandbox.put(path, body, query)
        self.assertIn(answer.status, (200, 201), answer)
        return answer.json

    def entries(self, path, query=""):
        answer = self.sandbox.get(path, f"?list=true{query}")
        self.assertEqual(200, answer.status, answer)
        self.assertFalse(answer.json["truncated"])
        return {entry["path"]: entry for entry in answer.json["entries"]}

    def at_once(self, ask):
        began = time.monotonic()
        answer = ask()
        self.assertLess(time.monotonic() - began, time_scale.scaled(5))
        return answer


class Files(FilesTest):
    def test_written_and_read(self):
        noise = os.urandom(300_000)
        answer = self.sandbox.put("/workspace/noise.bin", noise)
        self.assertEqual((201, FIELDS), (answer.status, set(answer.json)))
        self.assertEqual(("/workspace/noise.bin", "noise.bin", "file", len(noise), "0644", None), tuple(
            answer.json[name] for name in ("path", "name", "type", "size", "mode", "target")))
        self.assertRegex(answer.json["modified_at"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$")
        self.assertEqual(noise, self.read("/workspace/noise.bin"))
        self.assertEqual(hashlib.sha256(noise).hexdigest(),
                         self.sandbox.run("sha256sum noise.bin")["stdout"].split()[0])
        answer = self.sandbox.put("/workspace/noise.bin", b"")
        self.assertEqual((200, 0), (answer.status, answer.json["size"]))
        self.assertEqual(b"", self.read("/workspace/noise.bin"))

    def test_a_programs_file_is_read(self):
        self.sandbox.run("mkdir -p a/b && printf 'of a program' > a/b/c && printf x > /tmp/d")
        self.assertEqual((b"of a program", b"x"), (self.read("/workspace/a/b/c"), self.read("/tmp/d")))
        self.assertEqual(self.sandbox.run("cat /etc/passwd")["stdout"].encode(), self.read("/etc/passwd"))

    def test_what_is_written_is_the_programs(self):
        self.write("/workspace/new/tree/file", b"before")
        self.write("/workspace/program", b"#!/bin/sh\necho runs", "?mode=0755")
        ran = self.sandbox.run("echo after >> new/tree/file && cat new/tree/file && "
                               "stat -c '%a %u' new/tree/file program new && id -u && ./program && "
                               "rm -r new program && ls")
        user = ran["stdout"].split("\n")[4]
        self.assertEqual(f"beforeafter\n644 {user}\n755 {user}\n755 {user}\n{user}\nruns\n", ran["stdout"], ran)

    def test_any_content_type(self):
        for kind in ("text/plain", "application/json", "multipart/form-data; boundary=x", "image/png"):
            self.assertEqual(201, self.sandbox.put(f"/workspace/{kind[:4]}", b"{not json",
                                                   **{"Content-Type": kind}).status)

    def test_ranges(self):
        self.write("/workspace/digits", b"0123456789")
        for asked, content, body in (("2-4", "bytes 2-4/10", b"234"), ("7-", "bytes 7-9/10", b"789"),
                                     ("-3", "bytes 7-9/10", b"789"),
                                     ("0-99", "bytes 0-9/10", b"0123456789")):
            answer = self.sandbox.get("/workspace/digits", Range=f"bytes={asked}")
            self.assertEqual((206, content, body), (answer.status, answer.headers["Content-Range"], answer.body))
        answer = self.sandbox.get("/workspace/digits", Range="bytes=10-")
        self.assertEqual((416, "bytes */10"), (answer.status, answer.headers["Content-Range"]))
        self.assertEqual((200, b"0123456789"), (lambda all_of_it: (all_of_it.status, all_of_it.body))(
            self.sandbox.get("/workspace/digits", Range="lines=1-2")))

    def test_etag_and_head(self):
        self.write("/workspace/file", b"first")
        first = self.sandbox.get("/workspace/file")
        self.assertRegex(first.headers["ETag"], '^"[^"]+"$')
        self.assertEqual(first.headers["ETag"], self.sandbox.get("/workspace/file").headers["ETag"])
        head = self.client.send("HEAD", self.sandbox.file_path("/workspace/file"))
        self.assertEqual((200, "5", first.headers["ETag"], b""),
                         (head.status, head.headers["Content-Length"], head.headers["ETag"], head.body))
        part = self.sandbox.get("/workspace/file", Range="bytes=1-2", **{"If-Range": first.headers["ETag"]})
        self.assertEqual((206, b"ir"), (part.status, part.body))
        self.write("/workspace/file", b"again")
        second = self.sandbox.get("/workspace/file", Range="bytes=1-2", **{"If-Range": first.headers["ETag"]})
        self.assertEqual((200, b"again"), (second.status, second.body))
        self.assertNotEqual(first.headers["ETag"], second.headers["ETag"])
        self.assertEqual(404, self.client.send("HEAD", self.sandbox.file_path("/workspace/none")).status)

    def test_stat(self):
        self.sandbox.run("mkdir -m 700 d && printf 12345 > d/f && chmod 640 d/f && ln -s ../else d/l && "
                         "touch -d 2001-02-03T04:05:06Z d/f")
        self.sandbox.python("import socket; socket.socket(socket.AF_UNIX).bind('d/s')")
        for name, kind, size, mode, target in (("d", "directory", None, "0700", None), ("d/f", "file", 5, "0640", None),
                                               ("d/l", "link", None, None, "../else"), ("d/s", "other", 0, None, None)):
            answer = self.sandbox.get(f"/workspace/{name}", "?stat=true")
            self.assertEqual((200, "application/json", FIELDS),
                             (answer.status, answer.headers["Content-Type"], set(answer.json)))
            entry = answer.json
            self.assertEqual((f"/workspace/{name}", name.rpartition("/")[2], kind, target),
                             tuple(entry[part] for part in ("path", "name", "type", "target")))
            self.assertEqual((size, mode), (entry["size"] if size is not None else None,
                                            entry["mode"] if mode else None))
        entry = self.sandbox.get("/workspace/d/f", "?stat=true").json
        self.assertEqual("2001-02-03T04:05:06.000Z", entry["modified_at"])
        self.assertEqual("directory", self.sandbox.get("/dev", "?stat=true").json["type"])
        self.assertEqual("other", self.sandbox.get("/dev/null", "?stat=true").json["type"])

    def test_list(self):
        self.sandbox.run("mkdir -p b/c/d && touch a b/x b/c/y b/c/d/z .hidden && ln -s b link")
        one = ["/workspace/.hidden", "/workspace/a", "/workspace/b", "/workspace/link"]
        self.assertEqual(one, list(self.entries("/workspace")))
        for name, entry in self.entries("/workspace").items():
            self.assertEqual(self.sandbox.get(name, "?stat=true").json, entry)
        self.assertEqual([*one[:3], "/workspace/b/c", "/workspace/b/x", one[3]],
                         list(self.entries("/workspace", "&depth=2")))
        self.assertEqual(sorted([*one, *[f"/workspace/b/{name}" for name in ("c", "c/d", "c/d/z", "c/y", "x")]]),
                         sorted(self.entries("/workspace", "&depth=16")))
        self.assertEqual({}, self.entries("/tmp"))
        self.assert_problem(409, "not_a_directory", self.sandbox.get("/workspace/a", "?list=true"))
        for query in ("?list=true&depth=0", "?list=true&depth=17", "?list=yes", "?stat=1x", "?nonsense=1"):
            self.assert_bad_field(self.sandbox.get("/workspace", query))

    def test_many_files(self):
        self.sandbox.python("import os\nos.mkdir('many')\n"
                            "for number in range(2000): open(f'many/{number:04}', 'w').close()")
        self.assertEqual([f"/workspace/many/{number:04}" for number in range(2000)],
                         list(self.entries("/workspace/many")))
        made = self.sandbox.python("for number in range(2000, 11000): open(f'many/{number:05}', 'w').close()")
        self.assertEqual(0, made["exit_code"], made)
        page = self.sandbox.get("/workspace/many", "?list=true").json
        self.assertEqual((10_000, True), (len(page["entries"]), page["truncated"]))

    def test_moved(self):
        self.sandbox.run("mkdir d e && echo new > new && echo old > old && touch e/x")
        answer = self.sandbox.act("/workspace/new", move_to="/workspace/old")
        self.assertEqual((200, "/workspace/old"), (answer.status, answer.json["path"]))
        self.assertEqual(b"new\n", self.read("/workspace/old"))
        self.assert_problem(404, "no_such_file", self.sandbox.get("/workspace/new"))
        self.assertEqual(200, self.sandbox.act("/workspace/e", move_to="/workspace/d/f").status)
        self.assertEqual(b"", self.read("/workspace/d/f/x"))
        across = self.sandbox.act("/workspace/old", move_to="/tmp/old")
        self.assertIn(across.status, (200, 409))
        if across.status == 200:
            self.assertEqual(200, self.sandbox.act("/tmp/old", move_to="/workspace/old").status)
        self.assertEqual(409, self.sandbox.act("/workspace/old", move_to="/workspace/d").status)
        self.assert_problem(404, "no_such_file", self.sandbox.act("/workspace/none", move_to="/workspace/x"))
        self.assertIn(self.sandbox.act("/workspace/d", move_to="/workspace/d/f/inside").status, (400, 409))
        self.assertEqual("d\nold\n", self.sandbox.run("ls")["stdout"])

    def test_directories_made(self):
        for status in (201, 200):
            answer = self.sandbox.act("/workspace/a/b/c", make_directory=True)
            self.assertEqual((status, "directory", "/workspace/a/b/c"),
                             (answer.status, answer.json["type"], answer.json["path"]))
        self.write("/workspace/file", b"x")
        self.assert_problem(409, "exists", self.sandbox.act("/workspace/file", make_directory=True))
        self.assert_problem(409, "not_a_directory", self.sandbox.act("/workspace/file/below", make_directory=True))

    def test_actions_refused(self):
        self.write("/workspace/file", b"x")
        for fields in ({}, {"make_directory": True, "move_to": "/workspace/x"}, {"make_directory": False},
                       {"make_directory": 1},
                       {"move_to": "relative"}, {"move_to": ""}, {"move_to": "/workspace/a\0b"}, {"move_to": None},
                       {"nonsense": 1}):
            with self.subTest(fields):
                self.assert_bad_field(self.sandbox.act("/workspace/file", **fields))
        for query in ("?mode=9", "?mode=99999", "?mode=rw", "?mode=7777777", "?nonsense=1"):
            self.assert_bad_field(self.sandbox.put("/workspace/file", b"", query))
        self.assertEqual(b"x", self.read("/workspace/file"))

    def test_deleted(self):
        self.sandbox.run("mkdir -p d/e/f && touch a d/x d/e/y && ln -s d link")
        self.assertEqual(204, self.sandbox.remove("/workspace/a").status)
        self.assert_problem(404, "no_such_file", self.sandbox.remove("/workspace/a"))
        self.assert_problem(409, "not_empty", self.sandbox.remove("/workspace/d"))
        self.assertEqual(204, self.sandbox.remove("/workspace/link", "?recursive=true").status)
        self.assertEqual(204, self.sandbox.remove("/workspace/d/e/f").status)
        self.assertEqual("d\nd/e\nd/e/y\nd/x\n", self.sandbox.run("find d | sort")["stdout"])
        self.assertEqual(204, self.sandbox.remove("/workspace/d", "?recursive=true").status)
        self.assertEqual({}, self.entries("/workspace"))

    def test_kinds_that_do_not_fit(self):
        self.sandbox.run("mkdir d && touch f")
        self.assert_problem(409, "is_directory", self.sandbox.get("/workspace/d"))
        self.assert_problem(409, "is_directory", self.sandbox.put("/workspace/d", b""))
        self.assert_problem(409, "not_a_directory", self.sandbox.get("/workspace/f/x"))
        self.assert_problem(409, "not_a_directory", self.sandbox.put("/workspace/f/x", b""))
        self.assert_problem(404, "no_such_file", self.sandbox.get("/workspace/nowhere/x"))

    def test_names(self):
        for name in ("a b", "grün 😀", "100%", "%41", "a+b&c=d?e#f", "'\"\\", "-rf", "line\nbreak", " ", "..a",
                     "x" * 255):
            with self.subTest(name):
                self.assertEqual(name, self.write(f"/workspace/{name}", name.encode())["name"])
                self.assertEqual(name.encode(), self.read(f"/workspace/{name}"))
                self.assertEqual(name, self.sandbox.python("import sys; sys.stdout.write(open(sys.argv[1]).read())",
                                                           f"./{name}")["stdout"])
                self.assertEqual([f"/workspace/{name}"], list(self.entries("/workspace")))
                self.assertEqual(204, self.sandbox.remove(f"/workspace/{name}").status)
        self.assertEqual(400, self.sandbox.put("/workspace/" + "x" * 256, b"").status)
        self.assertEqual(400, self.sandbox.put("/workspace" + "/xxxx" * 1000, b"").status)

    def test_in_pieces_without_a_length(self):
        self.client._connection.request("PUT", self.sandbox.file_path("/workspace/chunks"),
                                        iter([b"x" * 70_000, b"y" * 10]),
                                        {"Content-Type": "application/octet-stream"}, encode_chunked=True)
        response = self.client._connection.getresponse()
        self.assertEqual(201, response.status, response.read())
        response.read()
        self.assertEqual(b"x" * 70_000 + b"y" * 10, self.read("/workspace/chunks"))


class Large(FilesTest):
    def test_fifty_megabytes_are_streamed(self):
        before = host_view.resident_bytes(self.server.pid)
        size, digest = 50 * MEBIBYTE, hashlib.sha256()
        most = [0]

        def pieces():
            for number in range(50):
                piece = bytes([number]) * MEBIBYTE
                digest.update(piece)
                most[0] = max(most[0], host_view.resident_bytes(self.server.pid))
                yield piece

        self.client._connection.request("PUT", self.sandbox.file_path("/workspace/large"), pieces(),
                                        {"Content-Length": str(size)})
        response = self.client._connection.getresponse()
        self.assertEqual(201, response.status, response.read())
        response.read()
        bound = (64 if host_view.has_sanitizer(self.server.pid) else 24) << 20
        self.assertLess(most[0] - before, bound)
        self.assertEqual(digest.hexdigest(), self.sandbox.run("sha256sum large")["stdout"].split()[0])
        self.assertEqual(digest.digest(), hashlib.sha256(self.read("/workspace/large")).digest())
        self.assertLess(host_view.resident_bytes(self.server.pid) - before, bound)

    def test_a_full_disk(self):
        sandbox = self.sandbox = self.make(limits={"disk_mb": 1})
        self.write("/workspace/old", b"o" * 300_000)
        for path in ("/workspace/old", "/workspace/new", "/workspace/made/on/the/way"):
            with self.server.client() as client:  # the server does not wait for the rest of such a body
                answer = Sandbox(client, sandbox.made).put(path, b"n" * 2 * MEBIBYTE)
            self.assert_problem(507, "disk_full", answer, "of 1 MB are used")
            self.assertIn("it does not fit on the disk of the sandbox: 0.", answer.json["detail"])
            self.assertEqual(1, answer.json["limit"], answer)
            # What had come of the file is not counted.
            self.assertTrue(0.2 < answer.json["used"] < 0.4, answer)
        self.assertEqual(b"o" * 300_000, self.read("/workspace/old"))
        self.assertEqual(["old"], [name for name in sandbox.run("find . -type f -printf '%P\\n'")["stdout"].split()])
        self.write("/workspace/new", b"n" * 500_000)
        self.write("/workspace/old", b"p" * 200_000)
        self.assertEqual(b"p" * 200_000, self.read("/workspace/old"))

    def test_an_upload_that_breaks_off(self):
        self.write("/workspace/file", b"old")
        for path in ("/workspace/file", "/workspace/never"):
            connection = http.client.HTTPConnection("127.0.0.1", self.server.port)
            connection.putrequest("PUT", self.sandbox.file_path(path))
            connection.putheader("Content-Length", "1000000")
            connection.endheaders()
            connection.send(b"x" * 400_000)
            connection.close()
        self.wait_for(lambda: self.sandbox.run("ls -A")["stdout"] == "file\n")
        self.assertEqual(b"old", self.read("/workspace/file"))

    def test_a_reader_has_the_old_or_the_new_file(self):
        self.write("/workspace/file", b"a" * 200_000)
        reader = self.sandbox.start(["python3", "-uc",
                                     "import os\n"
                                     "seen, last = 0, b''\n"
                                     "while not os.path.exists('stop'):\n"
                                     "    text = open('file', 'rb').read()\n"
                                     "    assert text in (b'a' * 200_000, b'b' * 100_000), (len(text), text[:9])\n"
                                     "    if last == b'': print('reads')\n"
                                     "    seen, last = seen + (text[:1] != last), text[:1]\n"
                                     "    if seen == 5: print('often')\n"])
        reader.says("reads")
        number, deadline = 0, time.monotonic() + time_scale.scaled(30)
        while number < 100 or (number % 100 or "often" not in reader.text()) and time.monotonic() < deadline:
            number += 1
            self.write("/workspace/file", (b"b" * 100_000, b"a" * 200_000)[number % 2])
        self.write("/workspace/stop", b"")
        self.assertEqual(0, reader.ended()["exit_code"], reader.text())
        self.assertIn("often", reader.text())


class Hostile(FilesTest):
    """Names, types and links are the guest's. `outside` is a file of the host that everybody may read there."""

    def setUp(self):
        super().setUp()
        self.outside = pathlib.Path(self.server.temporary, "outside")
        self.outside.mkdir(mode=0o777, exist_ok=True)
        self.outside.chmod(0o777)
        (self.outside / "f").write_text("outside", encoding="utf-8")

    def raw(self, path, method="GET", body=None):
        return self.client.send(method, f"{self.sandbox.path}/files/{path}", body)

    def test_paths_that_are_none(self):
        for path in ("workspace/%zz", "workspace/%4", "workspace/%", "workspace/a%00b", "%00", "workspace/%+1"):
            for method in ("GET", "PUT", "DELETE"):
                with self.subTest(f"{method} {path}"):
                    self.assert_bad_field(self.raw(path, method, b"" if method == "PUT" else None))
        self.assertEqual({}, self.entries("/workspace"))

    def test_dots_stay_within_the_root(self):
        self.write("/workspace/file", b"inside")
        outside = str(self.outside / "f").lstrip("/")
        for dots in ("../", "workspace/../../../", "%2e%2e/", "..%2f", "workspace/%2e./.%2e/../../", "../" * 100):
            with self.subTest(dots):
                answer = self.raw(f"{dots}workspace/file")
                self.assertEqual((200, b"inside"), (answer.status, answer.body))
                self.assert_problem(404, "no_such_file", self.raw(dots + outside))
        self.assertEqual(b"inside", self.raw("workspace/./file").body)

    def test_links_lead_where_they_lead_inside(self):
        self.sandbox.run("mkdir d && printf inside > d/f && ln -s /workspace/d/f absolute && ln -s d/f relative && "
                         "ln -s d directory && ln -s ../../../workspace/d up")
        for path in ("absolute", "relative", "directory/f", "up/f"):
            self.assertEqual(b"inside", self.read(f"/workspace/{path}"))
        self.write("/workspace/directory/new", b"by a link")
        self.assertEqual("by a link", self.sandbox.run("cat d/new")["stdout"])
        self.assertEqual("link", self.sandbox.get("/workspace/directory", "?stat=true").json["type"])

    def test_links_out_of_the_root_lead_nowhere(self):
        outside = str(self.outside)
        self.sandbox.run(f"ln -s {outside}/f absolute; ln -s ../../../../../../..{outside}/f relative; "
                         f"ln -s {outside} directory; ln -s /proc/self/root{outside}/f magic; "
                         f"ln -s /proc/1/root rooted; ln -s {outside}/new dangling")
        for path in ("absolute", "relative", "directory/f", "dangling"):
            self.assert_problem(404, "no_such_file", self.sandbox.get(f"/workspace/{path}"))
        for path in ("magic", f"rooted{outside}/f"):
            self.assertIn(self.sandbox.get(f"/workspace/{path}").status, (403, 404))
        for path in ("directory/new", "dangling", f"rooted{outside}/new", "absolute"):
            self.sandbox.put(f"/workspace/{path}", b"written")
        self.sandbox.act("/workspace/directory", make_directory=True)
        self.write("/workspace/x", b"x")
        self.sandbox.act("/workspace/x", move_to="/workspace/directory/moved")
        self.sandbox.remove("/workspace/directory/f")
        self.sandbox.remove("/workspace/directory", "?recursive=true")
        self.assertEqual(["f"], os.listdir(self.outside))
        self.assertEqual("outside", (self.outside / "f").read_text(encoding="utf-8"))

    def test_links_in_a_loop(self):
        self.sandbox.run("ln -s b a; ln -s a b; ln -s self/x self; ln -s . here")
        for path in ("a", "self", "a/x"):
            answer = self.at_once(lambda path=path: self.sandbox.get(f"/workspace/{path}"))
            self.assert_problem(400, "too_many_links", answer)
        self.assertEqual(200, self.at_once(lambda: self.sandbox.get("/workspace", "?list=true&depth=16")).status)
        self.assertIn(self.at_once(lambda: self.sandbox.get("/workspace/" + "here/" * 100 + "a", "?stat=true")).status,
                      (200, 400))

    def test_what_is_no_file_is_refused_without_waiting(self):
        made = self.sandbox.python(
            "import os, socket\nsocket.socket(socket.AF_UNIX).bind('socket'); os.symlink('socket', 'to_socket')\n"
            "os.symlink('/dev/zero', 'zero'); os.symlink('/proc/self/environ', 'environ')\n"
            "try: os.mkfifo('fifo')\nexcept PermissionError: print('the policy makes none')")
        fifos = [] if "none" in made["stdout"] else ["/workspace/fifo"]
        special = (*fifos, "/workspace/to_socket", "/workspace/socket", "/workspace/zero", "/dev/zero", "/dev/null")
        for path in special:
            with self.subTest(path):
                self.assert_problem(403, "not_a_file", self.at_once(lambda path=path: self.sandbox.get(path)))
        for path in ("/proc/self/environ", "/proc/1/mem", "/proc/version", "/workspace/environ"):
            with self.subTest(path):
                answer = self.at_once(lambda path=path: self.sandbox.get(path))
                self.assertIn((answer.status, answer.json["code"]), ((403, "not_a_file"), (404, "no_such_file")))
        for path in (*special, "/proc/version", "/workspace/environ"):
            self.assertIn(self.at_once(lambda path=path: self.sandbox.put(path, b"x")).status, (200, 201, 403, 404), path)
        self.assertEqual(204, self.at_once(lambda: self.sandbox.remove("/workspace/socket")).status)

    def test_places_that_are_read_only(self):
        for path in ("/usr/new", "/etc/passwd", "/usr/bin/python3", "/new"):
            with self.subTest(path):
                self.assert_problem(403, "not_permitted", self.sandbox.put(path, b"x"))
                self.assert_problem(403, "not_permitted", self.sandbox.act(f"{path}.d", make_directory=True))
        self.write("/workspace/x", b"x")
        self.assert_problem(403, "not_permitted", self.sandbox.remove("/etc/passwd"))
        self.assertEqual(403, self.sandbox.remove("/usr", "?recursive=true").status)
        self.assert_problem(403, "not_permitted", self.sandbox.act("/usr/bin/env", move_to="/usr/bin/x"))
        self.assertIn(self.sandbox.act("/workspace/x", move_to="/usr/x").status, (403, 409))
        for path in ("/workspace", "/", "/proc", "/dev"):
            self.assertIn(self.sandbox.remove(path, "?recursive=true").status, (400, 403, 404, 409), path)
        self.assertEqual("42\n", self.sandbox.run("echo $((6*7))")["stdout"])

    def test_what_its_modes_forbid(self):
        self.sandbox.run("mkdir shut && touch shut/f secret && chmod 0 secret shut")
        for path in ("secret", "shut/f"):
            answer = self.sandbox.get(f"/workspace/{path}")
            self.assertIn(answer.status, (200, 403), answer)
        self.assertEqual(204, self.sandbox.remove("/workspace/secret").status)

    def test_names_that_are_no_text(self):
        self.sandbox.python("open(b'\\xff.txt', 'w').write('found'); open('text', 'w').close()")
        self.assertEqual(["/workspace/text", "/workspace/\ufffd.txt"], list(self.entries("/workspace")))
        self.assertEqual(b"found", self.raw("workspace/%ff.txt").body)
        self.assertEqual(204, self.raw("workspace/%ff.txt", "DELETE").status)

    def test_a_thousand_directories_deep(self):
        self.sandbox.python("import os\nfor _ in range(1000): os.mkdir('d'); os.chdir('d')")
        self.assertEqual(200, self.at_once(lambda: self.sandbox.get("/workspace", "?list=true&depth=16")).status)
        self.assertIn(self.at_once(lambda: self.sandbox.remove("/workspace/d", "?recursive=true")).status,
                      (204, 400, 409))
        self.assertEqual(200, self.sandbox.get("/workspace", "?list=true").status)

    def test_a_directory_that_is_filled_while_it_is_removed(self):
        maker = self.sandbox.start(["python3", "-uc", "import os\nnumber = 0\nos.mkdir('d'); print('makes')\nwhile True:\n"
                                    "    number += 1\n    try: open(f'd/{number}', 'w').close()\n"
                                    "    except OSError: os.makedirs('d', exist_ok=True)"])
        maker.says("makes")
        for _ in range(3):
            answer = self.at_once(lambda: self.sandbox.remove("/workspace/d", "?recursive=true"))
            self.assertIn(answer.status, (204, 404, 409))
        self.assertEqual(200, self.at_once(lambda: self.sandbox.get("/workspace", "?list=true")).status)

    def test_a_list_takes_little_memory(self):
        self.sandbox.python("import os\nfor number in range(10000): os.symlink('\\x01' * 4000, f'{number:05}')")
        before = host_view.resident_bytes(self.server.pid)
        answer = self.sandbox.get("/workspace", "?list=true")
        self.assertEqual((200, True), (answer.status, answer.json["truncated"]))
        self.assertLess(host_view.resident_bytes(self.server.pid) - before, 96 << 20)

    def test_a_directory_that_is_swapped_for_a_link(self):
        """The guest exchanges `x`, a directory with a file of its own, for links that would lead to the host's."""
        for target in (str(self.outside), "../" * 20 + str(self.outside).lstrip("/")):
            swapper = self.sandbox.start(["python3", "-uc", "import ctypes, os, sys\nos.mkdir('x')\n"
                                          "open('x/f', 'w').write('inside'); os.symlink(sys.argv[1], 'y')\n"
                                          "exchange = ctypes.CDLL(None).renameat2\nprint('swaps')\n"
                                          "while True: assert exchange(-100, b'x', -100, b'y', 2) == 0", target])
            swapper.says("swaps")
            seen, number = set(), 0
            deadline = time.monotonic() + time_scale.scaled(30)
            # On a busy host the guest may not run at all during many requests.
            while number < SWAPS or (seen != {b"inside", 404} and time.monotonic() < deadline):
                number += 1
                answer = self.sandbox.get("/workspace/x/f")
                seen.add(answer.body if answer.status == 200 else answer.status)
                if number % 10 == 0:
                    self.sandbox.put("/workspace/x/new", b"new")
                    self.sandbox.get("/workspace/x", "?list=true")
                    self.sandbox.act("/workspace/x/made", make_directory=True)
                    self.sandbox.remove("/workspace/x/new")
            self.assertEqual("running", swapper.now()["state"], swapper.text())
            self.assertEqual({b"inside", 404}, seen)
            swapper.delete()
            self.assertEqual(["f"], os.listdir(self.outside))
            self.sandbox.run("rm -rf x y")

    def test_a_file_that_shrinks_while_it_is_read(self):
        self.write("/workspace/file", b"x" * 8 * MEBIBYTE)
        connection = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=time_scale.scaled(30))
        self.addCleanup(connection.close)
        connection.request("GET", self.sandbox.file_path("/workspace/file"))
        response = connection.getresponse()
        self.assertEqual(b"x" * 1000, response.read(1000))
        self.sandbox.run("truncate -s 10 file")
        with self.assertRaises((http.client.IncompleteRead, ConnectionError)):
            while piece := response.read(1 << 16):
                self.assertEqual({ord("x")}, set(piece))
            raise ConnectionError if response.length else AssertionError("all of it came")
        self.assertEqual("42\n", self.sandbox.run("echo $((6*7))")["stdout"])

    def test_special_modes_are_not_given(self):
        answer = self.sandbox.put("/workspace/file", b"x", "?mode=4755")
        if answer.status != 400:
            self.assertEqual(0, int(answer.json["mode"], 8) & (stat.S_ISUID | stat.S_ISGID))
