"""The description at /openapi.json: complete, clean, and true of every answer of this ring."""
import functools
import json
import os
import pathlib
import re
import shutil
import subprocess
import unittest

import live_server
import suite
import validating_proxy

HERE = pathlib.Path(__file__).resolve().parent
PROJECT = HERE.parents[1]
NODE_MODULES = pathlib.Path(os.environ.get("AGENT_SANDBOX_BUILD", "/nonexistent")).parent / "npm" / "node_modules"

# Bodies for the operations that check their body before they look up their path.
BODIES = {
    "/processes": {"command": ["true"]},
    "/stdin": {"data": ""},
    "/signal": {"signal": 1},
    "/resize": {"columns": 1, "rows": 1},
    "/files/{path}": {"make_directory": True},
    "/sign": {"path": "/x"},
    "/v1/sandboxes/{id}": {},
    "/v1/volumes/{id}": {},
    "/v1/webhooks/{id}": {},
    "/mcp": {"jsonrpc": "2.0", "id": 1, "method": "ping"},
}
METHODS = {"get", "post", "put", "patch", "delete", "head", "options"}  # of the members of a path that are operations

# Suites that cannot go through a proxy, with the reason. Suites that are not listed are about connections, load,
# signals and leaks, not about answers; those of /stream use WebSocket.
EXCLUDED = {
    "execute": {},
    "bad_requests": {},
    "jobs": {
        "Jobs.test_a_job_whose_client_left_is_kept_as_cancelled": "the proxy does not leave with its client",
        "Files": "servers that start and end; the answers are those of Jobs",
    },
    "stats": {"Figures.test_standard_client": "a client of its own"},
    "keys": {},
    "task": {
        "Leaving": "the proxy does not leave with its client",
        "Killed": "servers that start and end; the answers are those of Tasks",
        "Many": "a load",
    },
    "lessons_api": {},
    "sandboxes": {
        "Leaks": "it is about what the server keeps",
        "ServerEnds": "servers that start and end",
    },
    "sandbox_processes": {
        "Foreground.test_a_caller_who_leaves_ends_it": "the proxy does not leave with its client",
    },
    "sandbox_files": {
        "Files.test_in_pieces_without_a_length": "it goes past the client",
        "Large": "a load",
        "Hostile": "paths of several parts, which the proxy does not take",
    },
    "sandbox_file_urls": {
        "WithKeys.test_the_server_is_named_as_it_was_asked": "the proxy has a Host of its own",
        "WithoutKeys.test_the_server_is_named_as_it_was_asked": "the proxy has a Host of its own",
        "CommandLine": "it goes past the client",
    },
    "sandbox_logs": {
        "Follow": "streams, which go past the client",
        "ServerEnds": "servers that start and end",
    },
    "sandbox_metrics": {"Metrics.test_samples": "it waits for them"},
    "scopes": {
        "Routes": "what WebSockets and forms answer, which the proxy does not pass on as they are",
        "Settings": "servers that do not start",
    },
    "strangers": {},
    "named_pools": {
        "Proxy": "paths of several parts, which the proxy does not take",
        "Keys": "the same",
    },
    "sandbox_versions": {},
    "volume_changes": {
        "CommandLine": "it goes past the client",
        "Restarts": "servers that start and end",
    },
    "volume_contents": {"Restarts": "servers that start and end"},
    "volumes": {
        "CommandLine": "it goes past the client",
        "Off": "servers that start and end",
        "Volumes.test_requests_that_are_none": "requests that the proxy refuses by itself",
    },
    "webhook_secret": {"Kept": "servers that start and end"},
    "webhooks": {
        "Delivered.test_a_slow_receiver_keeps_nobody_else_waiting": "it is about who waits",
        "Refused.test_a_receiver_that_says_nothing_is_not_waited_for": "the proxy does not wait that long",
        "Restart": "servers that start and end",
    },
    "mcp": {
        "Sessions.test_a_page_of_another_site_is_refused": "the proxy has a Host of its own",
        "OneSandbox.test_a_page_of_another_site_is_refused": "the proxy has a Host of its own",
    },
    "named_sandboxes": {
        "Refused.test_a_page_of_another_site_uploads_nothing": "the proxy has a Host of its own",
        "Life.test_many_at_once_and_one_of_each_name": "the proxy is slow",
        "Output.test_endless_output_is_kept_up_to_a_bound_and_ends_with_its_reader": "the proxy does not leave with its client",
        "Files": "forms, which the proxy does not pass on as they are",
    },
    "rate_limits": {
        "Rate": "time passes in the proxy as well",
        "Streams": "the proxy speaks no WebSocket",
        "Handshakes": "the proxy speaks no WebSocket",
        "Concurrency.test_a_client_that_leaves_makes_room": "the proxy does not leave with its client",
        "Concurrency.test_a_flood_of_one_key_is_not_felt_by_another": "it is about how long answers take",
        "Defaults": "a load",
        "WithoutKeys": "a load",
    },
}


def obstacle():
    if shutil.which("node") is None:
        return "node is missing"
    for name in ("prism-cli", "spectral-cli"):
        if not (NODE_MODULES / "@stoplight" / name).is_dir():
            return f"@stoplight/{name} is missing in {NODE_MODULES}; ./dev test installs it"
    return None


def filled(path):
    """Fills the braces of a path; nothing has such an id."""
    return re.sub(r"\{[^}]*\}", "x", path)


def fits(target, path):
    """Returns whether a request for `target` may be one for `path`, where one segment stands for a name in braces."""
    return re.fullmatch(re.sub(r"\\{[^}]*\\}", "[^/]+", re.escape(path)), target) is not None


class Description(live_server.ServerTest):
    @classmethod
    def setUpClass(cls):
        cls.environment = live_server.place_for_volumes(cls)
        super().setUpClass()

    def setUp(self):
        super().setUp()
        self.document = self.client.send("GET", "/openapi.json").json

    def test_spectral(self):
        if reason := obstacle():
            self.skipTest(reason)
        path = pathlib.Path(self.server.temporary, "openapi.json")
        path.write_text(json.dumps(self.document, indent=1), encoding="utf-8")
        for document in (path, PROJECT / "server" / "openapi.yaml"):
            finished = subprocess.run(
                [shutil.which("node"), NODE_MODULES / "@stoplight" / "spectral-cli" / "dist" / "index.js", "lint", "--fail-severity",
                 "hint", "--ruleset", HERE / "spectral.yaml", document], capture_output=True, text=True, check=False)
            self.assertEqual(0, finished.returncode, finished.stdout + finished.stderr)

    def test_spectral_finds_a_planted_fault(self):
        if reason := obstacle():
            self.skipTest(reason)
        del self.document["info"]["title"]
        path = pathlib.Path(self.server.temporary, "faulty.json")
        path.write_text(json.dumps(self.document), encoding="utf-8")
        finished = subprocess.run(
            [shutil.which("node"), NODE_MODULES / "@stoplight" / "spectral-cli" / "dist" / "index.js", "lint", "--ruleset",
             HERE / "spectral.yaml", path], capture_output=True, text=True, check=False)
        self.assertEqual(1, finished.returncode, finished.stdout + finished.stderr)

    def test_nothing_is_left_to_fill_in(self):
        self.assertEqual([], re.findall(r'"x-[a-z-]+-(?:fields|query)"', json.dumps(self.document)))

    def test_every_described_path_is_there(self):
        for path, methods in self.document["paths"].items():
            for method in METHODS & set(methods):
                body = next((json.dumps(body).encode() for end, body in BODIES.items() if path.endswith(end)), None)
                answer = self.client.send(method.upper(), filled(path), body if method in ("post", "put", "patch") else None,
                                          **{"Content-Type": "application/json"})
                self.assertNotEqual(405, answer.status, f"{method} {path}")
                self.assertEqual("{" in path, answer.status == 404, f"{method} {path}: {answer}")

    def test_every_path_of_the_server_is_described(self):
        # The rows are found by their form, which server/api/README.md prescribes.
        sources = "".join(path.read_text(encoding="utf-8") for path in sorted((PROJECT / "server" / "api").rglob("api*.cc")))
        rows = re.findall(r'\.add\(\s*\{\s*"(\w+)",\s*"(/[^"]*)"(.*?)\}\);', sources, re.DOTALL)
        self.assertGreater(len(rows), 12)
        rows = [(method, path.replace("...}", "}"), rest) for method, path, rest in rows]  # that take several segments
        known = {path for _, path, _ in rows} | {f"/api/v1{path}" for _, path, rest in rows if "Versions::plain" not in rest}
        self.assertEqual(known, set(self.document["paths"]))

    def test_methods_are_those_that_are_allowed(self):
        for path in self.document["paths"]:
            answer = self.client.send("BREW", filled(path))
            self.assertEqual(405, answer.status, path)
            # One route's path may match the name in that of another, which takes no path of its own as a rest.
            described = {method.upper() for other, methods in self.document["paths"].items()
                         if fits(filled(path), other) and (other == path or not other.endswith("{path}"))
                         for method in METHODS & set(methods)}
            self.assertEqual(described, set(answer.headers["Allow"].split(", ")), path)


def labels(test):
    return {type(test).__name__, f"{type(test).__name__}.{test._testMethodName}"}


class Answers(unittest.TestCase):
    """The ring's own suites once more, through the proxy."""

    def setUp(self):
        if reason := obstacle():
            self.skipTest(reason)
        live_server.LiveServer.make_proxy = staticmethod(
            functools.partial(validating_proxy.ValidatingProxy, NODE_MODULES))
        self.addCleanup(setattr, live_server.LiveServer, "make_proxy", None)

    def through_the_proxy(self, name):
        module = suite.load(HERE / f"{name}_test.py")
        tests = list(suite.select(unittest.defaultTestLoader.loadTestsFromModule(module), "test_"))
        names = {label for test in tests for label in labels(test)}
        self.assertEqual(set(), set(EXCLUDED[name]) - names, "excluded, but not there")
        kept = [test for test in tests if not labels(test).intersection(EXCLUDED[name])]
        before = validating_proxy.ValidatedClient.validated
        result = unittest.TestResult()
        unittest.TestSuite(kept).run(result)
        for test, text in (*result.failures, *result.errors):
            with self.subTest(str(test)):
                self.fail(text)
        self.assertGreater(validating_proxy.ValidatedClient.validated - before, len(kept) / 2)

    def test_execute(self):
        self.through_the_proxy("execute")

    def test_bad_requests(self):
        self.through_the_proxy("bad_requests")

    def test_jobs(self):
        self.through_the_proxy("jobs")

    def test_stats(self):
        self.through_the_proxy("stats")

    def test_keys(self):
        self.through_the_proxy("keys")

    def test_rate_limits(self):
        self.through_the_proxy("rate_limits")

    def test_task(self):
        self.through_the_proxy("task")

    def test_lessons_api(self):
        self.through_the_proxy("lessons_api")

    def test_mcp(self):
        self.through_the_proxy("mcp")

    def test_named_sandboxes(self):
        self.through_the_proxy("named_sandboxes")

    def test_sandboxes(self):
        self.through_the_proxy("sandboxes")

    def test_sandbox_processes(self):
        self.through_the_proxy("sandbox_processes")

    def test_sandbox_files(self):
        self.through_the_proxy("sandbox_files")

    def test_sandbox_file_urls(self):
        self.through_the_proxy("sandbox_file_urls")

    def test_sandbox_logs(self):
        self.through_the_proxy("sandbox_logs")

    def test_sandbox_metrics(self):
        self.through_the_proxy("sandbox_metrics")

    def test_scopes(self):
        self.through_the_proxy("scopes")

    def test_strangers(self):
        self.through_the_proxy("strangers")

    def test_named_pools(self):
        self.through_the_proxy("named_pools")

    def test_sandbox_versions(self):
        self.through_the_proxy("sandbox_versions")

    def test_volume_changes(self):
        self.through_the_proxy("volume_changes")

    def test_volume_contents(self):
        self.through_the_proxy("volume_contents")

    def test_volumes(self):
        self.through_the_proxy("volumes")

    def test_webhook_secret(self):
        self.through_the_proxy("webhook_secret")

    def test_webhooks(self):
        self.through_the_proxy("webhooks")
