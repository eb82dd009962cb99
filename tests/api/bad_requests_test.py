"""Invalid requests: their status, and a detail that names the field."""
import json

import live_server

MEBIBYTE = 1 << 20


class BadRequests(live_server.ServerTest):
    def refused(self, body, status, *named, path="/execute", **headers):
        answer = self.client.post(body, path, **headers)
        self.assertEqual(status, answer.status, (str(body)[:200], answer))
        self.assertRegex(answer.headers["Content-Type"], "^application/problem\\+json")
        problem = answer.json
        self.assertEqual(status, problem["status"])
        self.assertTrue(problem["title"])
        for name in named:
            self.assertIn(name, problem["detail"], (str(body)[:200], problem))
        return problem

    def tearDown(self):
        # After any of these the server goes on.
        with self.server.client() as client:
            self.assertEqual("42\n", client.execute("print(6*7)")["stdout"])

    def test_no_body(self):
        self.refused(b"", 400)

    def test_broken_json(self):
        for body in (b"{", b"not json", b'{"code": "x"', b'{"code": "x",}', b"{'code': 'x'}", b'{"code": "x"} x',
                     b'{"code": "x"}{"code": "x"}', b"\xef\xbb\xbf{}x", b'{"code": "a\nb"}', b'{"code": "\\x41"}',
                     b'{"code": "x" "timeout_seconds": 1}', b'{"code": "\xff"}', b'{"code": "\\ud800"}', b"\0"):
            with self.subTest(body):
                self.refused(body, 400)

    def test_broken_value_inside_of_a_field_that_is_not_used(self):
        for value in (b'{"a": tru}', b'[1, 2', b'{"a": 01}', b'"\\ud800"', b"nul", b"+1", b'{"a": 1, "a": 2}'):
            with self.subTest(value):
                self.refused(b'{"code": "x", "unknown": ' + value + b"}", 400)
                self.refused(b'{"code": "x", "env": {"A": ' + value + b"}}", 400)

    def test_not_an_object(self):
        for body in (b"[]", b"null", b"1", b'"code"', b'[{"code": "x"}]'):
            with self.subTest(body):
                self.refused(body, 400)

    def test_duplicate_keys(self):
        self.refused(b'{"code": "print(1)", "code": "print(2)"}', 400, "code")
        self.refused(b'{"code": "x", "env": {"A": "1", "A": "2"}}', 400, "A")
        self.refused(b'{"code": "x", "c\\u006fde": "y"}', 400, "code")

    def test_too_deep(self):
        self.refused(b'{"code": "x", "args": ' + b"[" * 40 + b"]" * 40 + b"}", 400)
        self.refused(b"[" * 100_000, 400)

    def test_unknown_field(self):
        for name in ("cod", "Code", "timeout", "memory", "stdin ", "language_"):
            with self.subTest(name):
                self.refused({"code": "x", name: 1}, 400, name)

    def test_code_and_task(self):
        self.refused({}, 400, "code", "task")
        self.refused({"code": "x", "task": "y"}, 400, "code", "task")
        self.refused({"language": "python"}, 400, "code")

    def test_code(self):
        for code in ("", 1, None, ["x"], {"a": 1}, True):
            with self.subTest(str(code)):
                self.refused({"code": code}, 400, "code")
        self.refused({"code": "#" * (MEBIBYTE + 1)}, 400, "code")
        self.refused({"code": "ü" * (MEBIBYTE // 2 + 1)}, 400, "code")

    def test_timeout(self):
        for value in (b"0", b"-1", b"1e9", b"60.1", b"0.049", b"61", b'"5"', b"null", b"true", b"[]", b"-0.0", b"1e-300",
                      b"1e400", b"-1e400", b"99999999999999999999999"):
            with self.subTest(value):
                self.refused(b'{"code": "x", "timeout_seconds": ' + value + b"}", 400, "timeout_seconds")
        # These are not JSON: they are refused before there are fields.
        for value in (b"NaN", b"Infinity", b"-Infinity", b".5", b"5.", b"0x5"):
            with self.subTest(value):
                self.refused(b'{"code": "x", "timeout_seconds": ' + value + b"}", 400)

    def test_numbers_past_every_bound(self):
        digits = b"1" + b"0" * 400
        for value in (digits, b"-" + digits, b"1" * 1_000_000, b"0." + b"0" * 400 + b"1", digits + b".5", b"1e400", b"-1e400",
                      b"1e" + b"9" * 400, b"1e-" + b"9" * 400, b"1E+309", b"1" + b"0" * 308, b"9007199254740993",
                      b"9223372036854775808", b"-9223372036854775809", b"18446744073709551616"):
            with self.subTest(value[:40]):
                self.refused(b'{"code": "x", "memory_limit_mb": ' + value + b"}", 400, "memory_limit_mb")
                self.refused(b'{"code": "x", "timeout_seconds": ' + value + b"}", 400, "timeout_seconds")
                self.refused(b'{"code": "x", "unknown": [' + value + b"]}", 400, "unknown")
                self.refused(b'{"code": "x", "args": [' + value + b"]}", 400, "args")

    def test_depth_and_number_of_values(self):
        def nested(levels):
            return b'{"code": "x", "unknown": ' + b"[" * levels + b"]" * levels + b"}"

        # The object is itself a level.
        self.refused(nested(31), 400, "unknown")
        self.assertNotIn("32 levels", self.refused(nested(31), 400)["detail"])
        self.assertIn("32 levels", self.refused(nested(32), 400)["detail"])
        self.refused(b'{"a":' * 1_000_000, 400)
        self.assertIn("100000 values", self.refused(b'{"code": "x", "args": [' + b'"",' * 100_000 + b'""]}', 400)["detail"])

    def test_memory(self):
        for value in ("lots", 31, 0, -1, 2049, 1.5, None, True, 2 ** 63, "256"):
            with self.subTest(str(value)):
                self.refused({"code": "x", "memory_limit_mb": value}, 400, "memory_limit_mb")
        self.refused({"code": "x", "memory_limit_mb": 2 ** 64 + 64}, 400)

    def test_language(self):
        for value in ("cobol", "", "Python", 3, None, "python ", "../bash"):
            with self.subTest(str(value)):
                self.refused({"code": "x", "language": value}, 400, "language")

    def test_output_encoding(self):
        for value in ("latin-1", "", 1, None):
            with self.subTest(str(value)):
                self.refused({"code": "x", "output_encoding": value}, 400, "output_encoding")

    def test_stdin(self):
        for value in (1, None, ["x"], {}):
            with self.subTest(str(value)):
                self.refused({"code": "x", "stdin": value}, 400, "stdin")

    def test_arguments(self):
        for value in ("x", [1], [None], {"a": "b"}, ["a\0b"], [["x"]]):
            with self.subTest(str(value)):
                self.refused({"code": "x", "args": value}, 400, "args")

    def test_environment(self):
        for value in ("x", ["A=1"], {"A": 1}, {"A": None}, {"A=B": "1"}, {"": "1"}, {"A\0B": "1"}, {"A": "a\0b"}):
            with self.subTest(str(value)):
                self.refused({"code": "x", "env": value}, 400, "env")

    def test_too_large(self):
        body = b'{"code": "x", "stdin": "' + b"x" * (16 * MEBIBYTE) + b'"}'
        self.refused(body, 413)

    def test_content_type(self):
        body = json.dumps({"code": "print(1)"}).encode()
        for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "application/jsonx",
                     "text/json; application/json"):
            with self.subTest(kind):
                self.refused(body, 415, **{"Content-Type": kind})
        for kind in ("application/json; charset=utf-8", "Application/JSON", "application/json;charset=UTF-8"):
            with self.subTest(kind):
                self.assertEqual(200, self.client.post(body, **{"Content-Type": kind}).status)

    def test_method(self):
        for method in ("GET", "PUT", "DELETE", "PATCH"):
            with self.subTest(method):
                answer = self.client.send(method, "/execute")
                self.assertEqual(405, answer.status, answer)
                self.assertIn("POST", answer.headers["Allow"])
        answer = self.client.send("POST", "/health", b"{}", **{"Content-Type": "application/json"})
        self.assertEqual(405, answer.status, answer)
        self.assertIn("GET", answer.headers["Allow"])

    def test_unknown_path(self):
        for path in ("/exec", "/execute/", "/api/v2/execute", "/execute/../health", "/%65xecute/x"):
            with self.subTest(path):
                self.assertEqual(404, self.client.post({"code": "x"}, path).status)

    def test_the_root_says_where_the_documentation_is(self):
        answer = self.client.send("GET", "/")
        self.assertEqual((200, "/openapi.json", "/health"), (answer.status, answer.json["documentation"], answer.json["health"]), answer)
        self.assertEqual(200, self.client.send("GET", answer.json["documentation"]).status)
        self.assertEqual(405, self.client.post({}, "/").status)

    def test_codes_are_for_programs(self):
        for body, code, limit, used in (
                (b"{", "bad_json", None, None), (b"[]", "bad_json", None, None), (b"{}", "missing_field", None, None),
                (b'{"code": "x", "task": "y"}', "bad_request", None, None), (b'{"code": 1}', "bad_request", None, None),
                (b'{"code": "x", "extra": 1}', "unknown_field", None, None), (b'{"code": ""}', "out_of_range", 1, 0),
                (b'{"code": "x", "timeout_seconds": 61}', "out_of_range", 60, 61),
                (b'{"code": "x", "timeout_seconds": 0.01}', "out_of_range", 0.05, 0.01),
                (b'{"code": "x", "timeout_seconds": "1"}', "bad_request", None, None),
                (b'{"code": "x", "memory_limit_mb": 1e9}', "out_of_range", 2048, 1e9),
                (b'{"code": "x", "args": [' + b'"",' * 256 + b'""]}', "out_of_range", 256, 257),
                (b'{"code": "x", "args": ["' + b"a" * (128 << 10) + b'"]}', "out_of_range", 128 << 10, (128 << 10) + 1)):
            with self.subTest(body[:60]):
                problem = self.refused(body, 400)
                self.assertEqual((code, limit, used), (problem["code"], problem.get("limit"), problem.get("used")), problem)
        query = self.client.send("GET", "/jobs?limit=0").json
        self.assertEqual(("out_of_range", 1, 0), (query["code"], query["limit"], query["used"]))
        self.assertEqual("unknown_field", self.client.send("GET", "/jobs?limits=1").json["code"])
        self.assertIn("did you mean limit?", self.client.send("GET", "/jobs?limits=1").json["detail"])
        unknown = self.client.send("GET", "/nowhere").json
        self.assertEqual(("no_such_path", "no such path", "/openapi.json lists the paths"), (unknown["code"], unknown["detail"], unknown["remedy"]))
        for path in ("/v1/jobs", "/v1/v1/sandboxes", "/v1/v1/sandboxes/a/events"):
            self.assertEqual("no such path; without /v1 it is one", self.client.send("GET", path).json["detail"], path)
        self.assertEqual("no such path", self.client.send("GET", "/v1/nowhere").json["detail"])

    def test_a_mistyped_name_is_named_and_the_nearest_one_suggested(self):
        for body, name in ((b'{"cod": "x"}', "code"), (b'{"taks": "x"}', "task"), (b'{"code": "x", "timeout_second": 1}', "timeout_seconds")):
            with self.subTest(body):
                self.assertEqual("unknown_field", self.refused(body, 400, f"did you mean {name}?", "known are")["code"])
        self.assertNotIn("mean", self.refused(b'{"nonsense": 1}', 400, '"nonsense"')["detail"])

    def test_broken_json_has_a_place(self):
        self.refused(b'{\n  "code": "x",\n}', 400, "line 3, column 1")

    def test_details_name_no_path_of_the_host(self):
        for body in (b"{", b'{"code": 1}', b'{"code": "x", "x": 1}'):
            problem = self.refused(body, 400)
            self.assertNotRegex(json.dumps(problem), r"/(?:home|root|usr|tmp|build)/|\.cc\b")
