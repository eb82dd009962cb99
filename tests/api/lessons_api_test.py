"""/lessons and /benchmark over HTTP: owners, pages, erasing."""
import live_server
import task_server
from task_server import record

BROKEN = "raise ValueError('not yet')"
SOLVED = "print(40 + 2)"


class Lessons(task_server.TaskTest):
    environment = {"LESSONS_PATH": ":memory:"}
    records = tuple(record(f"{word} the numbers of a list", BROKEN, SOLVED) for word in ("Sort", "Add", "Count", "Square"))

    def lessons(self, query=""):
        answer = self.client.send("GET", f"/lessons{query}")
        self.assertEqual(200, answer.status, answer)
        return answer.json

    def setUp(self):
        super().setUp()
        self.client.send("DELETE", "/lessons")

    def test_one_is_learnt_from_what_failed_first(self):
        self.assertTrue(self.solve("Sort the numbers of a list")["success"])
        [lesson] = self.lessons()["lessons"]
        self.assertEqual({"id", "task", "error", "advice", "code", "learnt_at", "seen"}, set(lesson))
        self.assertEqual("Sort the numbers of a list", lesson["task"])
        self.assertIn("ValueError", lesson["error"])
        self.assertEqual(SOLVED, lesson["code"].strip())

    def test_pages_and_forgetting(self):
        for word in ("Add", "Count"):
            self.assertTrue(self.solve(f"{word} the numbers of a list")["success"])
        page = self.lessons("?limit=1")
        self.assertEqual(1, len(page["lessons"]))
        rest = self.lessons(f"?limit=1&cursor={page['next_cursor']}")
        self.assertEqual(1, len(rest["lessons"]))
        self.assertNotEqual(page["lessons"], rest["lessons"])
        one = page["lessons"][0]["id"]
        self.assertEqual({"erased": 1}, self.client.send("DELETE", f"/api/v1/lessons/{one}").json)
        self.assertEqual(404, self.client.send("DELETE", f"/lessons/{one}").status)
        self.assertEqual({"erased": 1}, self.client.send("DELETE", "/lessons").json)
        self.assertEqual([], self.lessons()["lessons"])

    def test_a_task_may_do_without(self):
        self.assertTrue(self.solve("Square the numbers of a list", lessons=False)["success"])
        self.assertEqual([], self.lessons()["lessons"])

    def test_bad_parameters_are_named(self):
        for query, name in (("limit=0", "limit"), ("limit=201", "limit"), ("cursor=x", "cursor"), ("page=2", "page"),
                            ("limit=1&limit=2", "limit")):
            answer = self.client.send("GET", f"/lessons?{query}")
            self.assertEqual(400, answer.status)
            self.assertIn(name, answer.json["detail"])

    def test_methods(self):
        self.assertEqual("GET, HEAD, DELETE", self.client.post({}, path="/lessons").headers["Allow"])
        self.assertEqual(405, self.client.send("GET", "/lessons/x").status)

    def test_a_benchmark(self):
        answer = self.client.post({"suite": "quick", "max_problems": 1, "max_attempts": 1}, path="/api/v1/benchmark")
        self.assertEqual(200, answer.status, answer)
        self.assertEqual(("quick", 1, 1, 0), tuple(answer.json[name] for name in ("suite", "asked", "run", "solved")))
        self.assertEqual(1, len(answer.json["tasks"]))

    def test_a_bad_benchmark(self):
        for body, name in (({"suite": "none"}, "suite"), ({"max_problems": 0}, "max_problems"), ({"x": 1}, "x")):
            answer = self.client.post(body, path="/benchmark")
            self.assertEqual(400, answer.status)
            self.assertIn(name, answer.json["detail"])


class Owners(task_server.TaskTest):
    environment = {"LESSONS_PATH": ":memory:", "API_KEYS": "first-key,second-key"}
    records = (record("Sort the numbers of a list", BROKEN, SOLVED),)

    def test_lessons_are_their_keys_alone(self):
        first = self.server.client(**{"X-API-Key": "first-key"})
        second = self.server.client(**{"X-API-Key": "second-key"})
        with first, second:
            self.assertTrue(self.solve("Sort the numbers of a list", client=first)["success"])
            [lesson] = first.send("GET", "/lessons").json["lessons"]
            self.assertEqual([], second.send("GET", "/lessons").json["lessons"])
            self.assertEqual(404, second.send("DELETE", f"/lessons/{lesson['id']}").status)
            self.assertEqual({"erased": 0}, second.send("DELETE", "/lessons").json)
            self.assertEqual(1, len(first.send("GET", "/lessons").json["lessons"]))
            self.assertEqual(401, self.client.send("GET", "/lessons").status)


class WithoutAProvider(live_server.ServerTest):
    environment = {"JOBS_PATH": ":memory:"}

    def test_what_needs_one_says_what_to_set(self):
        for path, body in (("/execute", {"task": "x"}), ("/benchmark", {}), ("/execute", {"task": "x", "provider": "groq"})):
            answer = self.client.post(body, path=path)
            self.assertEqual(424, answer.status, answer)
            self.assertIn("GROQ_API_KEY", answer.json["detail"])
        self.assertEqual(200, self.client.send("GET", "/lessons").status)


class Off(live_server.ServerTest):
    environment = {"JOBS_PATH": ":memory:", "LESSONS": "off"}

    def test_the_routes_say_so(self):
        for method, path in (("GET", "/lessons"), ("DELETE", "/lessons"), ("DELETE", "/lessons/x")):
            self.assertEqual(404, self.client.send(method, path).status)
