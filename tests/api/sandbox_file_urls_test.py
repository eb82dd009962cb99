"""Signed URLs of a living sandbox's files: what one opens without a key, and that it opens nothing else."""
import datetime
import json
import time
import urllib.parse

import host_view
import time_scale
from living_sandbox import SandboxTest, moment
from sandbox_command import Command

OWNER, OTHER = "a-key-of-the-owner", "a-key-of-somebody-else"


class Urls(SandboxTest):
    key = None  # the owner's

    def setUp(self):
        super().setUp()
        self.owner = self.client_with(self.key) if self.key else self.client
        self.sandbox = self.make()

    def make(self, client=None, **fields):
        return super().make(client or self.owner, **fields)

    def ask(self, path, sandbox=None, **fields):
        return self.owner.post({"path": path, **fields}, f"{(sandbox or self.sandbox).path}/sign")

    def sign(self, path, operation="read", sandbox=None, **fields):
        """Returns the URL without the server's name."""
        answer = self.ask(path, sandbox, operation=operation, **fields)
        self.assertEqual(200, answer.status, answer)
        self.assertEqual({"url", "method", "expires_at"}, set(answer.json))
        return self.target_of(answer)

    @staticmethod
    def target_of(answer):
        target = urllib.parse.urlsplit(answer.json["url"])
        return f"{target.path}?{target.query}"

    def open(self, target, method="GET", body=None, **headers):
        """Opens the URL without a key."""
        with self.server.client() as nobody:
            return nobody.send(method, target, body, **headers)

    def assert_refused(self, target, method="GET", body=None):
        answer = self.open(target, method, body)
        self.assertEqual((401, "application/problem+json"), (answer.status, answer.headers["Content-Type"]), (method, target, answer))
        return answer

    def events(self, *kinds):
        answer = self.owner.send("GET", f"{self.sandbox.path}/events")
        return [(event["kind"], event["detail"]) for event in answer.json["events"] if event["kind"] in kinds]


class WithoutKeys(Urls):
    def test_a_file_is_read(self):
        self.assertEqual(201, self.sandbox.put("/workspace/a file+ü%?", b"0123456789").status)
        url = self.sign("/workspace/a file+ü%?")
        answer = self.open(url)
        self.assertEqual((200, b"0123456789"), (answer.status, answer.body))
        head = self.open(url, "HEAD")
        self.assertEqual((200, "10", b""), (head.status, head.headers["Content-Length"], head.body))
        part = self.open(url, Range="bytes=2-4")
        self.assertEqual((206, b"234"), (part.status, part.body))

    def test_what_is_read_is_no_page(self):
        self.sandbox.put("/workspace/page.html", b"<script>alert(1)</script>")
        headers = self.open(self.sign("/workspace/page.html"), Accept="text/html").headers
        self.assertEqual(("application/octet-stream", "attachment", "nosniff", "no-store"), tuple(
            headers[name] for name in ("Content-Type", "Content-Disposition", "X-Content-Type-Options", "Cache-Control")))

    def test_a_file_is_written(self):
        url = self.sign("/workspace/new/file", "write")
        self.assertEqual(201, self.open(url, "PUT", b"first").status)
        self.assertEqual(200, self.open(url, "PUT", b"second", **{"Content-Type": "text/plain"}).status)
        self.assertEqual("second", self.sandbox.run("cat new/file")["stdout"])

    def test_it_is_for_bytes_alone(self):
        # An archive is one file here, and a directory none.
        url = self.sign("/workspace/tree", "write")
        self.assertEqual(201, self.open(url, "PUT", b"no archive", **{"Content-Type": "application/x-tar"}).status)
        self.assertEqual(b"no archive", self.sandbox.get("/workspace/tree").body)
        self.sandbox.run("mkdir directory && echo secret > directory/file")
        answer = self.open(self.sign("/workspace/directory"), Accept="application/x-tar")
        self.assert_problem(409, "is_directory", answer)

    def test_what_is_changed_opens_nothing(self):
        self.sandbox.put("/workspace/file", b"x")
        self.sandbox.put("/workspace/other", b"y")
        url = self.sign("/workspace/file")
        expires = int(urllib.parse.parse_qs(url.partition("?")[2])["expires"][0])
        signature = urllib.parse.parse_qs(url.partition("?")[2])["signature"][0]
        path = url.partition("?")[0]
        other = self.make()
        other.put("/workspace/file", b"z")
        wrong = [url.replace("/workspace/file", "/workspace/other"), url.replace("/workspace/file", "/workspace/file/"),
                 url.replace("/workspace/file", "//workspace/file"), url.replace(self.sandbox.id, other.id),
                 url.replace(self.sandbox.id, "a" * 26), url.replace(self.sandbox.id, "x"),
                 url.replace(f"={expires}", f"={expires + 1}"), url.replace(f"={expires}", f"={expires - 1}"),
                 url.replace(f"={expires}", "=never"), url.replace(f"={expires}", f"={2 ** 64 - 1}"),
                 url.replace(f"={expires}", f"={2 ** 70}"), url[:-1], url + "0", url.replace(signature, signature.upper()),
                 url.replace(signature, ""), url.replace(signature, "0" * 64), f"{path}?signature={signature}", f"{path}?signature",
                 f"{url}&stat=true", f"{url}&list=true", f"{url}&tar=true", f"{url}&signature={signature}", f"{url}&expires={expires}",
                 url.replace("/file?", "/%zz?"), url.replace("/file?", "/file%00?")]
        for target in wrong:
            self.assertNotEqual(url, target)
            self.assert_refused(target)
        self.assert_refused(url, "PUT", b"overwritten")
        writes = self.sign("/workspace/file", "write")
        self.assert_refused(writes)
        self.assert_refused(writes, "HEAD")
        self.assert_refused(f"{writes}&mode=0755", "PUT", b"overwritten")
        self.assertEqual(b"x", self.open(url).body)
        # The parameters may stand in any order, and the path may be encoded otherwise: it is the same file.
        self.assertEqual(b"x", self.open(f"{path}?signature={signature}&expires={expires}").body)
        self.assertEqual(b"x", self.open(url.replace("/file?", "/%66ile?")).body)

    def test_a_name_is_no_id(self):
        named = self.make(name="signed")
        named.put("/workspace/file", b"x")
        answer = self.owner.post({"path": "/workspace/file"}, "/v1/sandboxes/signed/sign")
        self.assertEqual(200, answer.status, answer)
        url = self.target_of(answer)
        path, _, query = url.partition("?")
        self.assertEqual(f"{named.path}/files/workspace/file", path)
        self.assertEqual(b"x", self.open(url).body)
        self.assert_refused(f"/v1/sandboxes/signed/files/workspace/file?{query}")

    def test_it_expires(self):
        self.sandbox.put("/workspace/file", b"x")
        answer = self.ask("/workspace/file", expires_in_seconds=1)
        self.assertEqual(200, answer.status, answer)
        url = self.target_of(answer)
        self.assertTrue(host_view.wait_until(lambda: self.open(url).status != 200, 20))
        self.assert_problem(403, "url_expired", self.open(url), answer.json["expires_at"])
        self.assertGreaterEqual(time.time(), moment(answer.json["expires_at"]))
        # Without the right signature nobody learns that it has expired.
        self.assert_refused(url[:-1] + ("0" if url[-1] != "0" else "1"))
        writes = self.sign("/workspace/file", "write", expires_in_seconds=1)
        self.assertTrue(host_view.wait_until(lambda: self.open(writes, "PUT", b"y").status == 403, 20))

    def test_when_it_expires(self):
        for fields, seconds in (({}, 3600), ({"expires_in_seconds": 60}, 60), ({"expires_in_seconds": 604800}, 604800)):
            before = time.time()
            expires = moment(self.ask("/workspace/file", **fields).json["expires_at"])
            self.assertTrue(before + seconds <= expires <= time.time() + seconds + 1, (fields, expires - before))

    def test_it_ends_with_its_sandbox(self):
        sandbox = self.make()
        sandbox.put("/workspace/file", b"x")
        reads, writes = self.sign("/workspace/file", sandbox=sandbox), self.sign("/workspace/file", "write", sandbox=sandbox)
        self.assertEqual(204, sandbox.delete().status)
        self.assert_problem(409, "sandbox_ended", self.open(reads))
        self.assert_problem(409, "sandbox_ended", self.open(writes, "PUT", b"y"))
        self.assert_problem(409, "sandbox_ended", self.ask("/workspace/file", sandbox=sandbox))
        self.assertEqual(204, sandbox.delete().status)
        self.assert_refused(reads)
        self.assertEqual(404, self.ask("/workspace/file", sandbox=sandbox).status)

    def test_a_paused_sandbox(self):
        self.sandbox.put("/workspace/file", b"x")
        self.sandbox.pause()
        url = self.sign("/workspace/file")
        self.assertEqual("paused", self.sandbox.now()["state"])
        self.assertEqual(b"x", self.open(url).body)
        self.assertEqual("running", self.sandbox.now()["state"])

    def test_bad_requests(self):
        for fields, complaint in (({}, "path: expected"), ({"path": "relative"}, "path: expected an absolute"),
                                  ({"path": "/a/../b"}, "path: "), ({"path": "/a/."}, "path: "), ({"path": "/a\0b"}, "path: "),
                                  ({"path": "/" + "a" * 4096}, "path: "), ({"path": 1}, "path: "),
                                  ({"path": "/a", "operation": "delete"}, "operation: expected read or write"),
                                  ({"path": "/a", "expires_in_seconds": 0}, "expires_in_seconds: expected an integer 1 .. 604800"),
                                  ({"path": "/a", "expires_in_seconds": 604801}, "expires_in_seconds"),
                                  ({"path": "/a", "expires_in_seconds": 1.5}, "expires_in_seconds"), ({"path": "/a", "method": "GET"}, "method")):
            answer = self.owner.post(fields, f"{self.sandbox.path}/sign")
            self.assertEqual(400, answer.status, answer)
            self.assertIn(complaint, answer.json["detail"])
        # Only whole segments are dots.
        self.sandbox.put("/workspace/..a/b..", b"x")
        self.assertEqual(b"x", self.open(self.sign("/workspace/..a/b..")).body)

    def test_what_is_not_there(self):
        self.assert_problem(404, "no_such_file", self.open(self.sign("/workspace/none")))
        self.assert_problem(403, "not_a_file", self.open(self.sign("/dev/null")))

    def test_the_server_is_named_as_it_was_asked(self):
        for headers, origin in (({"Host": "localhost:81"}, "http://localhost:81/"),
                                ({"Host": "localhost", "X-Forwarded-Proto": "https"}, "https://localhost/")):
            answer = self.owner.post({"path": "/workspace/a"}, f"{self.sandbox.path}/sign", **headers)
            self.assertTrue(answer.json["url"].startswith(f"{origin}v1/sandboxes/{self.sandbox.id}/files/workspace/a?"), answer)

    def test_who_asked_is_told(self):
        self.sandbox.put("/workspace/file", b"x")
        reads, writes = self.sign("/workspace/file"), self.sign("/workspace/file", "write", expires_in_seconds=60)
        request = "6f9619ff-8b86-4d01-b42d-00c04fc964ff"
        self.open(reads, **{"X-Request-ID": request})
        self.open(writes, "PUT", b"y")
        self.sandbox.get("/workspace/file")
        path = {"path": "/workspace/file"}
        signed = self.events("url_signed")
        self.assertEqual([("url_signed", path | {"operation": operation}) for operation in ("read", "write")],
                         [(kind, {name: detail[name] for name in ("path", "operation")}) for kind, detail in signed])
        self.assertLess(moment(signed[1][1]["expires_at"]), moment(signed[0][1]["expires_at"]))
        self.assertEqual([("file_written", path), ("file_read", path | {"by": "signed_url", "uses": 1}),
                          ("file_written", path | {"by": "signed_url", "uses": 1}), ("file_read", path)], self.events("file_read", "file_written"))
        told = self.owner.send("GET", f"{self.sandbox.path}/events?kind=file_read").json["events"]
        self.assertEqual(request, told[0]["request_id"])

    def test_many_uses_drive_out_no_other_events(self):
        self.sandbox.put("/workspace/file", b"x")
        reads = self.sign("/workspace/file")
        for _ in range(300):
            self.assertEqual(200, self.open(reads).status)
        told = self.events("file_read")
        self.assertLess(len(told), 150)
        self.assertLessEqual(sum(detail["uses"] for _, detail in told), 300)


class WithKeys(WithoutKeys):
    environment = {"JOBS_PATH": ":memory:", "API_KEYS": f"{OTHER},{OWNER}"}
    key = OWNER

    def test_nothing_else_is_opened(self):
        self.sandbox.put("/workspace/file", b"x")
        url = self.sign("/workspace/file")
        query = url.partition("?")[2]
        for method, path in (("DELETE", f"{self.sandbox.path}/files/workspace/file"), ("POST", f"{self.sandbox.path}/files/workspace/file"),
                             ("GET", self.sandbox.path), ("GET", f"{self.sandbox.path}/watch"), ("POST", f"{self.sandbox.path}/sign"),
                             ("GET", "/v1/sandboxes"), ("GET", f"{self.sandbox.path}/files/"), ("GET", "/v1/audit")):
            for target in (path, f"{path}?{query}"):
                self.assert_refused(target, method, None if method == "GET" else b"{}")
        without = self.assert_refused(f"{self.sandbox.path}/files/workspace/file").json["detail"]
        self.assertEqual(without, self.assert_refused(url[:-1]).json["detail"])
        self.assertEqual(b"x", self.sandbox.get("/workspace/file").body)

    def test_the_sandbox_is_the_owners(self):
        with self.server.client(**{"X-API-Key": OTHER}) as other:
            self.assertEqual(404, other.post({"path": "/workspace/file"}, f"{self.sandbox.path}/sign").status)
            # A URL is judged by its signature, whoever has it.
            self.sandbox.put("/workspace/file", b"x")
            url = self.sign("/workspace/file")
            self.assertEqual(b"x", other.send("GET", url).body)
            self.assertEqual(401, other.send("GET", url[:-1]).status)
        self.assertEqual(401, self.owner.send("GET", url[:-1]).status)
        # Only the owner can see what was read.
        with self.server.client(**{"X-API-Key": OTHER}) as other:
            self.assertEqual([], other.send("GET", "/v1/audit").json["events"])
        self.assertEqual([("file_read", {"path": "/workspace/file", "by": "signed_url", "uses": 1})], self.events("file_read"))


class Rates(Urls):
    """They count against the rate of the owner's key, and wrong ones against nobody's."""
    environment = {"JOBS_PATH": ":memory:", "API_KEYS": f"{OTHER},{OWNER}", "API_KEY_RATE": "30/h"}
    key = OWNER

    def test_it_counts_for_the_owner(self):
        self.sandbox.put("/workspace/file", b"x")
        url = self.sign("/workspace/file")
        for _ in range(60):
            self.assert_refused(url[:-1])
        seen = [self.open(url).status for _ in range(40)]
        self.assertEqual(200, seen[0])
        self.assertEqual({200, 429}, set(seen))
        self.assertEqual(429, self.owner.send("GET", "/v1/sandboxes").status)
        with self.server.client(**{"X-API-Key": OTHER}) as other:
            self.assertEqual(200, other.send("GET", "/v1/sandboxes").status)


class CommandLine(Command):
    environment = {"JOBS_PATH": ":memory:", "API_KEYS": OWNER}

    def variables(self, **more):
        return super().variables(AGENT_SANDBOX_KEY=OWNER, **more)

    def open(self, url, method="GET", body=None):
        self.assertTrue(url.startswith(f"{self.url()}/v1/"), url)
        return self.client.send(method, url.removeprefix(self.url()), body)

    def test_a_url_is_printed(self):
        sandbox = self.make("--name", "shared")
        url = self.good("url", "shared", "/workspace/a b", "--write").removesuffix("\n")
        self.assertIn(f"/{sandbox}/files/workspace/a%20b?", url)
        self.assertEqual(401, self.open(url).status)
        self.assertEqual(201, self.open(url, "PUT", b"x").status)
        self.assertEqual(b"x", self.open(self.good("url", sandbox, "/workspace/a b").removesuffix("\n")).body)
        shown = json.loads(self.good("url", sandbox, "/workspace/a b", "--expires", "60", "--json"))
        self.assertEqual("GET", shown["method"])
        self.assertLess(datetime.datetime.fromisoformat(shown["expires_at"].replace("Z", "+00:00")).timestamp(), time.time() + time_scale.scaled(62))
        self.assertIn("url_signed", self.good("events", sandbox))
        self.assertIn("by signed_url", self.good("events", sandbox))

    def test_what_is_wrong(self):
        sandbox = self.make()
        self.assertIn("/files/workspace/relative?", self.good("url", sandbox, "relative"), "it begins in /workspace")
        self.assertIn("without . and ..", self.one_line("url", sandbox, "/a/../b"))
        self.assertIn("no such sandbox", self.one_line("url", "no-such-sandbox", "/a"))
        self.assertIn("Unix socket", self.one_line("url", sandbox, "/a", status=2, AGENT_SANDBOX_URL="unix:/nowhere/api.sock"))
