"""Conditions on the version of a file: If-Match and If-None-Match."""
import concurrent.futures

import living_sandbox


class Versions(living_sandbox.SandboxTest):
    def setUp(self):
        super().setUp()
        self.sandbox = self.make()

    def put(self, content, path="/workspace/file", client=None, **headers):
        return (client or self.client).send("PUT", self.sandbox.file_path(path), content, **headers)

    def get(self, **headers):
        return self.client.send("GET", self.sandbox.file_path("/workspace/file"), **headers)

    def refused(self, answer, *fragments):
        self.assert_problem(412, "precondition_failed", answer, *fragments)

    def test_a_version_is_replaced_once(self):
        made = self.put(b"one")
        first = made.headers["ETag"]
        self.assertEqual((201, first), (made.status, self.get().headers["ETag"]))
        replaced = self.put(b"two", **{"If-Match": first})
        self.assertEqual(200, replaced.status, replaced)
        self.assertNotEqual(first, replaced.headers["ETag"])
        self.refused(self.put(b"three", **{"If-Match": first}), "its ETag is " + replaced.headers["ETag"])
        self.assertEqual(b"two", self.get().body)
        self.assertEqual(200, self.put(b"four", **{"If-Match": f'"x", {replaced.headers["ETag"]}'}).status)
        self.assertEqual(200, self.put(b"five", **{"If-Match": "*"}).status)
        self.refused(self.put(b"six", **{"If-Match": "W/" + self.get().headers["ETag"]}))

    def test_what_a_program_writes_is_another_version(self):
        first = self.put(b"one").headers["ETag"]
        self.sandbox.run("echo more >> file")
        self.refused(self.put(b"two", **{"If-Match": first}))
        self.assertEqual(b"onemore\n", self.get().body)

    def test_a_file_is_made_once(self):
        self.assertEqual(201, self.put(b"one", **{"If-None-Match": "*"}).status)
        self.refused(self.put(b"two", **{"If-None-Match": "*"}))
        self.refused(self.put(b"two", "/workspace/none", **{"If-Match": "*"}), "no such file")
        self.assertEqual(404, self.client.send("GET", self.sandbox.file_path("/workspace/none")).status)

    def test_of_many_at_once_one_replaces_it(self):
        for round_ in range(5):
            before = self.put(b"before").headers["ETag"]
            def ask(number):
                with self.server.client() as client:
                    return self.put(str(number).encode() * 20_000, client=client, **{"If-Match": before})
            with concurrent.futures.ThreadPoolExecutor(8) as pool:
                answers = list(pool.map(ask, range(8)))
            self.assertEqual([200] + [412] * 7, sorted(answer.status for answer in answers), round_)
            winner, = (number for number, answer in enumerate(answers) if answer.status == 200)
            self.assertEqual(str(winner).encode() * 20_000, self.get().body)

    def test_reading(self):
        etag = self.put(b"text").headers["ETag"]
        for value in (etag, "*", f'"x" , W/{etag}'):
            answer = self.get(**{"If-None-Match": value})
            self.assertEqual((304, etag, b""), (answer.status, answer.headers["ETag"], answer.body))
        self.assertEqual((200, b"text"), (self.get(**{"If-None-Match": '"x"'}).status, self.get(**{"If-Match": etag}).body))
        self.refused(self.get(**{"If-Match": '"x"'}))
        self.assertEqual(206, self.get(**{"If-Match": etag, "Range": "bytes=0-1"}).status)

    def test_removing(self):
        first = self.put(b"one").headers["ETag"]
        second = self.put(b"two").headers["ETag"]
        path = self.sandbox.file_path("/workspace/file")
        self.refused(self.client.send("DELETE", path, **{"If-Match": first}))
        self.assertEqual(204, self.client.send("DELETE", path, **{"If-Match": second}).status)
        self.refused(self.client.send("DELETE", path, **{"If-Match": second}), "no such file")

    def test_an_archive_has_no_version(self):
        answer = self.put(bytes(1024), "/workspace/d", **{"Content-Type": "application/x-tar", "If-Match": "*"})
        self.assert_problem(400, "bad_request", answer, "If-Match")


if __name__ == "__main__":
    living_sandbox.live_server.main()
