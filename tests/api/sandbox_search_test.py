"""GET /v1/sandboxes/{id}/search: text in files."""
import time
import urllib.parse

import living_sandbox
import time_scale


class SearchTest(living_sandbox.SandboxTest):
    @staticmethod
    def ask(sandbox, **query):
        return sandbox.client.send("GET", f"{sandbox.path}/search?{urllib.parse.urlencode(query)}")

    def search(self, sandbox, query, **more):
        answer = self.ask(sandbox, query=query, **more)
        self.assertEqual(200, answer.status, answer)
        return [(match["path"], match["line"], match["text"]) for match in answer.json["matches"]], answer.json["truncated"]


class Search(SearchTest):
    def test_lines(self):
        sandbox = self.make()
        sandbox.put("/workspace/b/f.py", b"one\ntwo needle\n\nneedle needle\nlast needle")
        sandbox.put("/workspace/a.txt", "a grün+needle".encode())
        sandbox.put("/workspace/empty", b"")
        self.assertEqual(([("/workspace/a.txt", 1, "a grün+needle"), ("/workspace/b/f.py", 2, "two needle"),
                           ("/workspace/b/f.py", 4, "needle needle"), ("/workspace/b/f.py", 5, "last needle")], False),
                         self.search(sandbox, "needle"))
        self.assertEqual(([("/workspace/a.txt", 1, "a grün+needle")], False), self.search(sandbox, "grün+"))
        self.assertEqual(([("/workspace/b/f.py", 2, "two needle")], False), self.search(sandbox, "o n", path="/workspace/b/"))
        self.assertEqual(([], False), self.search(sandbox, "ne.dle"), "it is no pattern")
        found, is_cut = self.search(sandbox, "needle", limit=2)
        self.assertEqual((2, True), (len(found), is_cut))

    def test_binary_files_are_left_out(self):
        sandbox = self.make()
        sandbox.put("/workspace/binary", b"needle\0needle\n")
        self.assertEqual(([], False), self.search(sandbox, "needle"))

    def test_long_lines(self):
        sandbox = self.make()
        # The text lies across the end of each part in which a line is searched.
        for place in range((64 << 10) - 8, (64 << 10) + 2):
            sandbox.put("/workspace/f", b"x" * place + b"needle" + b"y" * 200000 + b"\nneedle\n")
            (first, second), _ = self.search(sandbox, "needle")
            self.assertEqual(("/workspace/f", 1), first[:2])
            self.assertIn("needle", first[2])
            self.assertLessEqual(len(first[2]), 400)
            self.assertEqual(("/workspace/f", 2, "needle"), second)

    def test_refusals(self):
        sandbox = self.make()
        sandbox.put("/workspace/f", b"x")
        for query, status, code in (({}, 400, "missing_field"), ({"query": ""}, 400, "out_of_range"), ({"query": "a\nb"}, 400, "bad_request"),
                                    ({"query": "x" * 1025}, 400, "out_of_range"), ({"query": "x", "limit": 1001}, 400, "out_of_range"),
                                    ({"query": "x", "path": "relative"}, 400, "bad_request"), ({"query": "x", "regex": 1}, 400, "unknown_field"),
                                    ({"query": "x", "path": "/none"}, 404, "no_such_file"), ({"query": "x", "path": "/workspace/f"}, 409, "not_a_directory")):
            with self.subTest(query=query):
                self.assert_problem(status, code, self.ask(sandbox, **query))


class Hostile(SearchTest):
    def test_links_are_not_followed(self):
        sandbox = self.make()
        sandbox.run("mkdir /tmp/out /workspace/d; echo needle > /tmp/out/f; ln -s /tmp/out /workspace/d/dir; ln -s /tmp/out/f /workspace/d/file;"
                    "mkfifo /workspace/d/pipe; ln -s /proc /workspace/d/proc")
        self.assertEqual(([], False), self.search(sandbox, "needle"))

    def test_what_is_found_is_bounded(self):
        sandbox = self.make()
        sandbox.run("yes needle | head -c 20000000 > /workspace/f; cp /workspace/f /workspace/g")
        found, is_cut = self.search(sandbox, "needle", limit=1000)
        self.assertEqual((1000, True), (len(found), is_cut))

    def test_time_is_bounded(self):
        sandbox = self.make(limits={"disk_mb": 256, "memory_mb": 512})
        sandbox.run("head -c 200M /dev/zero | tr '\\0' a > /workspace/f; for n in $(seq 40); do ln /workspace/f /workspace/$n; done")
        begun = time.monotonic()
        found, is_cut = self.search(sandbox, "needle")
        self.assertEqual(([], True), (found, is_cut))
        self.assertLess(time.monotonic() - begun, time_scale.scaled(20))
