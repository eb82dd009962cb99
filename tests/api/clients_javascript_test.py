"""The client for JavaScript, against the description and, by clients_javascript.mjs, against a running server."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile

import client_calls
import live_server
import task_server
import time_scale
from typescript_declarations import Declarations, snake

HERE = pathlib.Path(__file__).resolve().parent
FOLDER = HERE.parents[1] / "server" / "clients" / "javascript"
MODULE = FOLDER / "agent_sandbox.js"
BUILDS = pathlib.Path(os.environ.get("AGENT_SANDBOX_BUILD", "/nonexistent")).parent
TYPESCRIPT = BUILDS / "npm-llm" / "node_modules" / "typescript" / "bin" / "tsc"
WS = BUILDS / "npm" / "node_modules" / "ws"
KEY = "a-key-made-for-this-test"
# The classes whose methods send requests.
OWNERS = ("Client", "Jobs", "Lessons", "Volumes", "Webhooks", "Sandboxes", "Sandbox", "SandboxFiles", "Processes", "Process")
ASK_NOTHING = {"constructor", "portUrl", "tunnelUrl", "terminalRequest"}
# Options of a call that are not fields of a request.
OF_THE_CALL = {"signal", "answerSeconds", "onOutput"}


def camel(name):
    """Converts a name as session.js does."""
    return re.sub(r"_([a-z0-9])", lambda found: found.group(1).upper(), name)


class NodeTest(live_server.ServerTest):
    environment = {"JOBS_PATH": ":memory:"}

    def setUp(self):
        self.node = shutil.which("node")
        if self.node is None:
            self.skipTest("node is missing (Debian: nodejs)")
        super().setUp()
        self.url = f"http://127.0.0.1:{self.server.port}"

    def run_node(self, *arguments, text=None, **environment):
        finished = subprocess.run([self.node, *arguments], input=text, capture_output=True, text=True, check=False,
                                  timeout=time_scale.scaled(120), env={"PATH": os.environ["PATH"], **environment})
        self.assertTrue(finished.returncode == 0 and not finished.stderr, finished.stdout + finished.stderr)
        return finished.stdout

    def check(self, name, **environment):
        """Runs one function of clients_javascript.mjs, which fails by throwing."""
        environment = {"AGENT_SANDBOX_URL": self.url, "JAIL_TEST_TIME_SCALE": str(time_scale.SCALE), **environment}
        self.assertEqual("done\n", self.run_node("--expose-gc", HERE / "clients_javascript.mjs", str(MODULE), name, **environment))


class Described(NodeTest):
    def setUp(self):
        super().setUp()
        self.description = client_calls.Description(self.client.send("GET", "/openapi.json").json)
        self.declared = Declarations((FOLDER / "agent_sandbox.d.ts").read_text(encoding="utf-8"))

    def calls(self):
        """Calls each method with each of its parameters, and each member of its options."""
        for owner in OWNERS:
            for method, parameters in self.declared.methods(owner).items():
                if method not in ASK_NOTHING:
                    yield [owner, method, [self.value(*parameter) for parameter in parameters]]
        yield ["Processes", "run", [{name: client_calls.value_for(name) for name in ("code", "language", "args")}]]

    def value(self, name, kind):
        if name == "options":
            return {each: client_calls.value_for(snake(each)) for each in sorted(self.declared.options(kind) - OF_THE_CALL)}
        return client_calls.value_for(snake(name))

    def test_every_operation_has_a_method_and_every_field_an_option(self):
        recorder = client_calls.Recorder()
        self.addCleanup(recorder.stop)
        calls = list(self.calls())
        self.assertGreater(len(calls), 70)
        told = "".join(json.dumps(call) + "\n" for call in calls)
        self.assertEqual("", self.run_node(HERE / "clients_javascript_calls.mjs", str(MODULE), recorder.url, text=told))
        # These two methods add bytes in base64 and a terminal, each in place of an option.
        recorder.requests += [("post", "/v1/sandboxes/s/processes/1/stdin", {"encoding": "base64"}),
                              ("get", "/v1/sandboxes/s/terminal?" + "&".join(f"{snake(name)}=1" for name in
                                                                             self.declared.properties("TerminalOptions")), None)]
        client_calls.assert_all_is_asked_for(self, self.description, recorder.requests)

    def test_answers_have_the_members_that_are_described(self):
        answers = Declarations((FOLDER / "answers.d.ts").read_text(encoding="utf-8"))
        self.assertGreater(len(answers.names()), 40)
        for name in sorted(answers.names()):
            with self.subTest(name):
                wanted = {camel(each) for each in client_calls.members_of(self.description, name)}
                self.assertEqual(wanted, answers.properties(name))

    def test_names_are_those_of_the_client_for_python(self):
        python = FOLDER.parent / "python" / "agent_sandbox" / "synchronous"
        names = {owner: set() for owner in OWNERS}
        for path in python.glob("*.py"):
            for owner, body in re.findall(r"^class (\w+)[^\n]*:\n(.*?)(?=^\S|\Z)", path.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE):
                owner = "SandboxFiles" if owner == "Files" else owner
                if owner in names:
                    names[owner] |= set(re.findall(r"^    (?:def |    self\.)([a-z]\w+)(?:\(self| = self\.processes\.)", body, re.MULTILINE))
        properties = {"id", "name", "state", "pid", "close"}
        own = {"SandboxFiles": {"read_to", "read_tree_to"}, "Sandbox": {"terminal"}, "Processes": {"terminal"}}
        for owner in OWNERS:
            with self.subTest(owner):
                declared = {snake(name) for name in self.declared.methods(owner)} - {"constructor", "terminal_request"}
                self.assertEqual(names[owner] - properties - own.get(owner, set()), declared)

    def test_types(self):
        if not TYPESCRIPT.exists():
            self.skipTest(f"typescript is not in {TYPESCRIPT.parents[1]}; ./dev test installs it")
        with tempfile.TemporaryDirectory() as folder:
            use = pathlib.Path(folder, "use.mts")
            use.write_text(self.example().replace('"agent-sandbox-client"', json.dumps(str(MODULE))), encoding="utf-8")
            wrong = pathlib.Path(folder, "wrong.mts")
            wrong.write_text(f"import {{ Client }} from {json.dumps(str(MODULE))};\nawait new Client().execute('', {{ timeout: 1 }});\n",
                             encoding="utf-8")
            options = ["--noEmit", "--strict", "--target", "es2022", "--module", "nodenext", "--moduleResolution", "nodenext",
                       "--lib", "es2022,dom,dom.iterable,dom.asynciterable"]
            self.run_node(TYPESCRIPT, *options, use)
            finished = subprocess.run([self.node, TYPESCRIPT, *options, wrong], capture_output=True, text=True, check=False)
            self.assertIn("'timeout' does not exist in type 'CodeOptions'", finished.stdout)

    @staticmethod
    def example():
        return re.search(r"```javascript\n(.*?)```", (FOLDER / "README.md").read_text(encoding="utf-8"), re.DOTALL).group(1)

    def test_readme(self):
        with tempfile.TemporaryDirectory() as folder:
            package = pathlib.Path(folder, "node_modules", "agent-sandbox-client")
            package.parent.mkdir()
            package.symlink_to(FOLDER)
            example = pathlib.Path(folder, "example.mjs")
            example.write_text(self.example(), encoding="utf-8")
            said = self.run_node(example, AGENT_SANDBOX_URL=self.url)
        self.assertIn("42\n success", said)
        self.assertIn("1+2+3", said)
        self.assertIn("400 out_of_range timeout_seconds", said)

    def test_its_package_has_its_files(self):
        package = json.loads((FOLDER / "package.json").read_text(encoding="utf-8"))
        self.assertEqual({path.name for path in FOLDER.iterdir() if path.suffix in (".js", ".ts")}, set(package["files"]))


class Served(NodeTest):
    def test_programs(self):
        self.check("programs")

    def test_refusals(self):
        self.check("refusals")

    def test_a_stream_begins_before_the_end_and_leaving_it_cancels(self):
        self.check("streams")

    def test_fifty_at_once(self):
        self.check("fiftyAtOnce")

    def test_patience_and_signals(self):
        self.check("patience")

    def test_life_of_a_sandbox(self):
        self.check("life")

    def test_commands(self):
        self.check("commands")

    def test_processes_in_the_background(self):
        self.check("background")

    def test_files(self):
        self.check("files")

    def test_watching_and_following(self):
        self.check("following")

    def test_fifty_megabytes_are_never_held(self):
        self.check("largeFiles")

    def test_an_upload_that_is_refused_meanwhile(self):
        self.check("refusedUpload")

    def test_an_endless_upload_that_is_refused(self):
        server = client_calls.RefusesAtOnce()
        self.addCleanup(server.stop)
        self.check("endlessUpload", REFUSES=server.url)

    def test_a_server_inside(self):
        self.check("serverInside")

    def test_the_server_itself(self):
        self.check("server")

    def test_a_terminal(self):
        if not WS.is_dir():
            self.skipTest(f"ws is not in {WS.parent}; ./dev test installs it")
        self.check("terminal", WS=str(WS / "wrapper.mjs"))

    def test_what_breaks_off(self):
        self.check("brokenAnswers")


class Tasks(task_server.TaskTest, NodeTest):
    records = (task_server.record("Solve it", "raise ValueError", "print(42)"),)

    def test_tasks(self):
        self.check("tasks")


class Volumes(NodeTest):
    @classmethod
    def setUpClass(cls):
        cls.environment = live_server.place_for_volumes(cls)
        super().setUpClass()

    def test_volumes(self):
        self.check("volumes")


class Keys(NodeTest):
    environment = {"JOBS_PATH": ":memory:", "API_KEYS": KEY, "SANDBOX_WEBHOOKS_ALLOW": "http://127.0.0.1:9"}

    def test_keys(self):
        self.check("keys", KEY=KEY)

    def test_webhooks(self):
        self.check("webhooks", AGENT_SANDBOX_KEY=KEY)
