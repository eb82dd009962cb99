"""The client for Python, against the description and against a running server."""
import contextlib
import dataclasses
import functools
import inspect
import io
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import threading
import types
import urllib.request

import client_calls
import host_view
import live_server
import task_server
import time_scale

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "server" / "clients" / "python"
sys.path.insert(0, str(FOLDER))
# pylint: disable=wrong-import-position
import agent_sandbox as clients
from agent_sandbox import answers, sandbox_answers

KEY = "a-key-made-for-this-test"
# The variable may be set for the person who runs the tests.
os.environ.pop("AGENT_SANDBOX_KEY", None)
NO_SANDBOX = types.SimpleNamespace(id="s", domain=None, access_token=None)
NO_PROCESS = types.SimpleNamespace(pid=1)


def public_methods(owner):
    return [(name, method) for name, method in inspect.getmembers(owner, callable)
            if not name.startswith("_") and inspect.signature(method) and not inspect.isclass(method)]


def call(method):
    """Calls a method with each of its parameters, and begins to read a result that is read lazily."""
    given = {name: io.BytesIO(b"x") if name == "file" else b"x" if name in ("content", "archive", "data") else client_calls.value_for(name)
             for name in inspect.signature(method).parameters if name != "on_output"}
    outcome = method(**given)
    if hasattr(outcome, "__enter__"):
        with outcome:
            pass
    elif hasattr(outcome, "__next__"):
        next(outcome)


class Described(live_server.ServerTest):
    environment = {"JOBS_PATH": ":memory:"}

    def setUp(self):
        super().setUp()
        self.description = client_calls.Description(self.client.send("GET", "/openapi.json").json)

    def test_every_operation_has_a_method_and_every_field_a_parameter(self):
        recorder = client_calls.Recorder()
        self.addCleanup(recorder.stop)
        client = clients.Client(recorder.url)
        self.addCleanup(client.close)
        session = client.jobs._session  # what all of it shares
        sandbox = clients.Sandbox(session, NO_SANDBOX)
        owners = (client, client.jobs, client.lessons, client.volumes, client.webhooks, client.sandboxes, sandbox, sandbox.files, sandbox.processes,
                  clients.Process(session, f"{sandbox.path}/processes", NO_PROCESS))
        for owner in owners:
            for name, method in public_methods(owner):
                if name in ("close", "port_url", "tunnel_url"):
                    continue
                with self.subTest(f"{type(owner).__name__}.{name}"):
                    with self.assertRaises(clients.ApiError) as refused:
                        call(method)
                    self.assertEqual((418, client_calls.REFUSED), (refused.exception.status, refused.exception.problem))
        client_calls.assert_all_is_asked_for(self, self.description, recorder.requests)

    def test_nothing_is_left_out_in_vain(self):
        client_calls.assert_nothing_is_left_out_in_vain(self, self.description)

    def test_answers_have_the_members_that_are_described(self):
        kinds = {kind for module in (answers, sandbox_answers) for kind in vars(module).values()
                 if dataclasses.is_dataclass(kind) and kind is not answers.Answer}
        self.assertGreater(len(kinds), 40)
        for kind in sorted(kinds, key=lambda kind: kind.__name__):
            with self.subTest(kind.__name__):
                names = {field.name.rstrip("_") for field in dataclasses.fields(kind)} - {"raw"}
                self.assertEqual(client_calls.members_of(self.description, kind.__name__), names)

    def test_both_clients_have_the_same_names(self):
        for blocking, waiting in ((clients.Client, clients.AsyncClient), (clients.Sandbox, clients.AsyncSandbox),
                                  (clients.Process, clients.AsyncProcess), (clients.Terminal, clients.AsyncTerminal)):
            self.assertEqual({name for name in dir(blocking) if not name.startswith("_")},
                             {name for name in dir(waiting) if not name.startswith("_")})
        check = subprocess.run([sys.executable, FOLDER / "write_synchronous.py", "--check"], capture_output=True, text=True, check=False)
        self.assertEqual(0, check.returncode, f"write_synchronous.py was not run: {check.stdout}")

    def test_types(self):
        if shutil.which("mypy") is None:
            self.skipTest("mypy is missing (Debian: mypy)")
        with tempfile.TemporaryDirectory() as cache:
            checked = subprocess.run(["mypy", "--strict", "--python-version", "3.9", "--cache-dir", cache, FOLDER / "agent_sandbox"],
                                     capture_output=True, text=True, check=False)
        self.assertEqual(0, checked.returncode, checked.stdout + checked.stderr)


class ClientTest(live_server.ServerTest):
    environment = {"JOBS_PATH": ":memory:"}

    def setUp(self):
        super().setUp()
        self.url = f"http://127.0.0.1:{self.server.port}"
        self.sandboxes = self.connect().sandboxes

    def connect(self, url=None, **options):
        client = clients.Client(url or self.url, answer_seconds=time_scale.scaled(60), **options)
        client.execute = functools.partial(client.execute, timeout_seconds=time_scale.timeout(5))
        self.addCleanup(client.close)
        return client

    def make(self, **fields):
        sandbox = self.sandboxes.create(**fields)
        self.addCleanup(self.forget, sandbox)
        return sandbox

    @staticmethod
    def forget(sandbox):
        with contextlib.suppress(clients.NotFound):
            sandbox.delete()

    def refused(self, kind, code, what, *arguments, **fields):
        with self.assertRaises(kind) as refusal:
            what(*arguments, **fields)
        self.assertEqual(code, refusal.exception.code, refusal.exception)
        return refusal.exception


class Programs(ClientTest):
    def test_execute(self):
        result = self.connect().execute(
            "import os, sys\nprint(sys.stdin.read(), sys.argv[1], os.environ['A'], open('b', 'rb').read())\nopen('c', 'w').write('made')",
            stdin="in", args=["argument"], env={"A": "a"}, files={"b": b"\xff"}, artifacts=["c"], timeout_seconds=time_scale.timeout(5))
        self.assertEqual(("in argument a b'\\xff'\n", "success", 0), (result.stdout, result.status, result.exit_code))
        self.assertEqual([("c", b"made")], [(each.path, each.content) for each in result.artifacts])
        self.assertEqual(("success", result.job_id), (result.outcome.code, result.raw["job_id"]))
        self.assertIsNotNone(result.created_at.tzinfo)

    def test_a_program_that_fails_is_a_result(self):
        self.assertEqual(("error", 3), (lambda result: (result.status, result.exit_code))(self.connect().execute("exit(3)")))

    def test_a_refusal_names_the_field(self):
        error = self.refused(clients.BadRequest, "out_of_range", self.connect().execute, "1", memory_limit_mb=1)
        self.assertEqual((400, "memory_limit_mb", "Bad Request"), (error.status, error.field, error.title))
        self.assertRegex(error.request_id, "^[0-9a-f-]{36}$")
        self.assertIn("memory_limit_mb", str(error))

    def test_a_stream_begins_before_the_end_and_leaving_it_cancels(self):
        client = self.connect()
        with client.execute_stream("import time\nprint('begun', flush=True)\ntime.sleep(50)", timeout_seconds=60) as events:
            job = next(events).data["job_id"]
            self.assertEqual(("stdout", "begun\n"), (lambda event: (event.type, event.data))(next(events)))
            self.assertEqual("running", client.jobs.get(job).status)
        self.assertTrue(host_view.wait_until(lambda: client.jobs.get(job).status == "cancelled", 20))
        self.assertEqual([], list(events))

    def test_a_stream_to_its_end(self):
        events = list(self.connect().execute_stream("print(1)", timeout_seconds=time_scale.timeout(5)))
        self.assertEqual(["started", "stdout", "execution_result", "complete"], [event.type for event in events])
        self.assertEqual("1\n", events[2].data.stdout)

    def test_jobs(self):
        client = self.connect()
        ids = [client.execute(f"print({number})").job_id for number in range(3)]
        self.assertEqual(ids[::-1], [job.job_id for job in client.jobs.iterate()][:3])
        page = client.jobs.list(limit=2)
        self.assertEqual(ids[0], client.jobs.list(limit=2, cursor=page.next_cursor).jobs[0].job_id)
        self.assertEqual("0\n", client.jobs.get(ids[0]).run.stdout)
        self.refused(clients.Conflict, "job_ended", client.jobs.cancel, ids[0])
        self.refused(clients.Conflict, "job_ended", client.jobs.signal, ids[0], "SIGINT")
        self.refused(clients.NotFound, "no_such_job", client.jobs.get, "../x?y")
        with client.execute_stream("import time; time.sleep(50)", timeout_seconds=60) as events:
            job = next(events).data["job_id"]
            with client.jobs.stream(job) as followed:
                client.jobs.cancel(job)
                self.assertEqual("cancelled", followed.last().data.status)

    def test_the_server_itself(self):
        client = self.connect()
        client.execute("print(1)")
        self.assertEqual("ok", client.health().status)
        self.assertGreater(client.stats().by_status["success"], 0)
        self.assertIn("pandas", {each.name: each for each in client.templates()}["data"].imports)
        self.assertIn("# HELP", client.metrics())
        self.assertEqual("3.1.0", client.openapi()["openapi"])
        self.refused(clients.NoProvider, "no_provider", client.run, "Add two numbers")
        self.assertEqual(([], 0), (client.lessons.list().lessons, client.lessons.erase_all()))

    def test_one_client_in_many_threads(self):
        client, said, threads = self.connect(), {}, []

        def run(number):
            for _ in range(5):
                said.setdefault(number, []).append(client.execute(f"print({number})", timeout_seconds=60).stdout)

        for number in range(8):
            threads.append(threading.Thread(target=run, args=(number,)))
            threads[-1].start()
        for thread in threads:
            thread.join(time_scale.scaled(120))
        self.assertEqual({number: [f"{number}\n"] * 5 for number in range(8)}, said)

    def test_readme(self):
        examples = re.findall(r"```python\n(.*?)```", (FOLDER / "README.md").read_text(encoding="utf-8"), re.DOTALL)
        self.assertEqual(2, len(examples))
        environment = {"PYTHONPATH": str(FOLDER), "AGENT_SANDBOX_URL": self.url, "PATH": os.environ["PATH"]}
        for example, wanted in zip(examples, ("1+2+3", "'81'")):
            finished = subprocess.run([sys.executable, "-W", "error", "-c", example], env=environment, capture_output=True, text=True,
                                      timeout=time_scale.scaled(60), check=False)
            self.assertEqual((0, ""), (finished.returncode, finished.stderr))
            self.assertIn(wanted, finished.stdout)


class Tasks(task_server.TaskTest):
    records = (task_server.record("Solve it", "raise ValueError", "print(42)"), task_server.record("Solve it slowly", "print(43)"))

    def test_tasks(self):
        with clients.Client(f"http://127.0.0.1:{self.server.port}", answer_seconds=time_scale.scaled(60)) as client:
            result = client.run("Solve it", max_attempts=2)
            self.assertEqual((True, "42\n", 2), (result.success, result.output, result.attempts))
            self.assertEqual(["error", "success"], [attempt.execution_result.status for attempt in result.history])
            self.assertEqual(result.output, client.jobs.get(result.job_id).task.output)
            events = list(client.run_stream("Solve it slowly"))
            self.assertLess({"started", "generating", "code", "executing", "complete"}, {event.type for event in events})
            self.assertEqual("43\n", events[-1].data.output)


class Sandboxes(ClientTest):
    def test_life(self):
        sandbox = self.make(name="client", metadata={"for": "test"}, timeout_seconds=60, idle_seconds=None, limits={"memory_mb": 64})
        self.assertEqual((64, None, "running"), (sandbox.details.limits.memory_mb, sandbox.details.idle_seconds, sandbox.state))
        self.assertEqual(sandbox.id, self.sandboxes.get("client").id)
        self.assertEqual([sandbox.id], [each.id for each in self.sandboxes.iterate(metadata="for:test", state="running")])
        self.refused(clients.Conflict, "name_taken", self.sandboxes.create, name="client")
        before = sandbox.details.ends_at
        self.assertGreater(sandbox.renew(3000).ends_at, before)
        self.assertEqual({"for": "more"}, sandbox.change(metadata={"for": "more"}).metadata)
        self.assertEqual(200, sandbox.change(limits={"memory_mb": 200}).limits.memory_mb)
        token = sandbox.details.access_token
        self.assertNotEqual(token, sandbox.renew_token().access_token)
        with sandbox:
            self.assertEqual("hi\n", sandbox.run(["echo", "hi"]).stdout)
        self.assertEqual(("ended", "deleted"), (sandbox.refresh().state, sandbox.details.outcome.code))
        self.refused(clients.Conflict, "sandbox_ended", sandbox.run, "true")

    def test_a_request_resumes_it(self):
        sandbox = self.make()
        self.assertEqual("paused", sandbox.pause().state)
        self.assertEqual("hi\n", sandbox.run("echo hi").stdout)
        self.assertEqual("running", sandbox.refresh().state)
        stays = self.make(auto_resume=False)
        stays.pause()
        self.refused(clients.Conflict, "sandbox_paused", stays.run, "true")
        self.assertEqual("running", stays.resume().state)

    def test_code(self):
        program = self.make().run(code="import sys; print(sys.argv[1:], input())", args=["a b"], stdin="in")
        self.assertEqual(("['a b'] in\n", False), (program.stdout, program.warm))

    def test_commands(self):
        sandbox = self.make()
        result = sandbox.run("cat; echo $A >&2; exit 3", stdin="in", env={"A": "a"})
        self.assertEqual(("in", "a\n", 3, False), (result.stdout, result.stderr, result.exit_code, result.success))
        self.assertEqual([result.pid], [each.pid for each in sandbox.processes.list()])
        with sandbox.run_stream("echo first; cat", keep_stdin_open=True) as events:
            process = sandbox.processes.get(next(events).data.pid)
            self.assertEqual("first\n", next(events).data)
            process.write(b"sec")
            process.write("ond", close=True)
            said = [event.data for event in events if event.type == "stdout"]
            self.assertEqual("second", "".join(said))
        with sandbox.run_stream("exec sleep 50") as events:
            process = sandbox.processes.get(next(events).data.pid)
        self.assertEqual("SIGKILL", process.wait().signal)

    def test_processes_in_the_background(self):
        sandbox, heard = self.make(), []
        process = sandbox.start("echo out; echo err >&2; exec cat", keep_stdin_open=True)
        with process.output_stream() as events:
            self.assertEqual({"out\n", "err\n"}, {next(events).data, next(events).data})
        process.close_input()
        self.assertEqual(0, process.wait(on_output=lambda *said: heard.append(said)).exit_code)
        self.assertEqual([("stderr", "err\n"), ("stdout", "out\n")], sorted(heard))
        self.assertEqual(("out\n", True), (process.output().pieces[0].data, process.output(start=0).over))
        process.delete()
        self.refused(clients.NotFound, "no_such_process", process.refresh)
        sleeper = sandbox.start(["sleep", "50"], pty={"columns": 80, "rows": 24})
        sleeper.resize(100, 30)
        sleeper.signal("SIGTERM", group=True)
        self.assertEqual("SIGTERM", sleeper.wait().signal)

    def test_logs_events_metrics_audit(self):
        sandbox = self.make()
        with sandbox.logs_stream() as logs, sandbox.events_stream(kind="process_started") as events:
            pid = sandbox.run("echo said").pid
            self.assertEqual((pid, "said\n"), (lambda event: (event.data.pid, event.data.data))(next(logs)))
            self.assertEqual(pid, next(events).data.detail["pid"])
            sandbox.delete()
            self.assertEqual("sandbox_ended", logs.last().data["reason"])
        self.assertEqual(["said\n"], [entry.data for entry in sandbox.logs(tail=1).entries])
        self.assertIn("deleted", [(event.detail.get("outcome") or {}).get("code") for event in sandbox.events().events])
        self.assertIsNone(sandbox.metrics(start=0).now)
        self.assertEqual({sandbox.id}, {event.sandbox_id for event in self.connect().audit(sandbox=sandbox.id).events})

    def test_a_terminal(self):
        sandbox = self.make()
        with sandbox.terminal(columns=100, rows=30) as terminal:
            terminal.resize(90, 20)
            terminal.write("stty size; exit 5\n")
            self.assertIn(b"20 90", b"".join(terminal))
        self.assertEqual(5, terminal.exit.exit_code)
        with sandbox.terminal(command="echo ready; sleep 50") as terminal:
            shown = b""
            while b"ready" not in shown:
                shown += terminal.read()
            terminal.signal("SIGTERM")
            list(terminal)
        self.assertEqual("SIGTERM", terminal.exit.signal)
        self.refused(clients.NotFound, "no_such_process", sandbox.terminal(pid=99).__enter__)

    def test_a_server_inside(self):
        sandbox = self.make()
        sandbox.files.write("/workspace/page.txt", "from inside")
        server = sandbox.start(["python3", "-u", "-m", "http.server", "8000"])
        with server.output_stream() as events:
            next(event for event in events if "Serving" in event.data)
        with urllib.request.urlopen(sandbox.port_url(8000, "/page.txt", with_token=True), timeout=time_scale.scaled(30)) as page:
            self.assertEqual(b"from inside", page.read())
        tunnel = f"ws://127.0.0.1:{self.server.port}/v1/sandboxes/{sandbox.id}/tunnel?port=8000"
        self.assertEqual((tunnel, f"{tunnel}&access_token={sandbox.details.access_token}"),
                         (sandbox.tunnel_url(8000), sandbox.tunnel_url(8000, with_token=True)))


class Files(ClientTest):
    def test_files(self):
        files = self.make().files
        entry = files.write("/workspace/a/b ü%?.txt", "tëxt", mode="0600")
        self.assertEqual(("/workspace/a/b ü%?.txt", 5, "0600"), (entry.path, entry.size, entry.mode))
        self.assertEqual(("tëxt", entry), (files.read_text(entry.path), files.stat(entry.path)))
        self.assertEqual(b"\xab", files.read_stream(entry.path, start=2, end=3).read())
        self.assertEqual([True, False], [files.exists(entry.path), files.exists("/workspace/none")])
        files.make_directory("/workspace/c/d")
        self.assertEqual("/workspace/c/e", files.move(entry.path, "/workspace/c/e").path)
        self.assertEqual(["/workspace/a", "/workspace/c"], [each.path for each in files.list("/workspace").entries])
        self.assertEqual(4, len(files.list("/workspace", depth=2).entries))
        self.assertEqual([("/workspace/c/e", 1, "tëxt")], [(each.path, each.line, each.text) for each in files.search("ëx").matches])
        self.refused(clients.Conflict, "not_empty", files.remove, "/workspace/c")
        files.remove("/workspace/c", recursive=True)
        self.refused(clients.NotFound, "no_such_file", files.read, "/workspace/c/e")
        with self.assertRaisesRegex(ValueError, "/workspace/relative"):
            files.read("relative")

    def test_a_tree(self):
        files, archive = self.make().files, io.BytesIO()
        with tarfile.open(fileobj=archive, mode="w") as tar:
            member = tarfile.TarInfo("dir/file")
            member.size = 3
            tar.addfile(member, io.BytesIO(b"abc"))
        archive.seek(0)
        files.write_tree("/workspace/tree", archive)
        back = io.BytesIO()
        self.assertEqual(files.read_tree_to("/workspace/tree", back), len(back.getvalue()))
        back.seek(0)
        with tarfile.open(fileobj=back) as tar:
            self.assertEqual(b"abc", tar.extractfile("dir/file").read())

    def test_a_signed_url(self):
        files = self.make().files
        files.write("/workspace/f", "shared")
        signed = files.sign("/workspace/f", expires_in_seconds=600)
        with urllib.request.urlopen(signed.url, timeout=time_scale.scaled(30)) as answer:
            self.assertEqual(("GET", b"shared"), (signed.method, answer.read()))

    def test_watching(self):
        sandbox = self.make()
        with sandbox.files.watch("/workspace", recursive=True) as events:
            self.assertEqual("watching", next(events).type)
            sandbox.run("touch f; mv f g")
            moved = next(event for event in events if event.type == "moved")
            self.assertEqual(("/workspace/f", "/workspace/g"), (moved.data.from_, moved.data.path))

    def test_fifty_megabytes_are_never_held(self):
        script = """
import asyncio, resource, sys, agent_sandbox
SIZE = 50 << 20
peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10
def blocks():
    for _ in range(SIZE >> 16): yield bytes(1 << 16)
async def waiting(sandbox_id):
    async def more():
        for block in blocks(): yield block
    async with agent_sandbox.AsyncClient() as client:
        files = (await client.sandboxes.get(sandbox_id)).files
        assert (await files.write("/workspace/big", more())).size == SIZE
        with open("/dev/null", "wb") as sink: assert await files.read_to("/workspace/big", sink) == SIZE
with agent_sandbox.Client() as client, client.sandboxes.create() as sandbox:
    sandbox.files.write("/workspace/small", "x")
    asyncio.run(asyncio.sleep(0))
    before = peak()
    assert sandbox.files.write("/workspace/big", blocks()).size == SIZE
    assert sum(map(len, sandbox.files.read_stream("/workspace/big"))) == SIZE
    sandbox.files.remove("/workspace/big")
    asyncio.run(waiting(sandbox.id))
    print(peak() - before)
"""
        finished = subprocess.run([sys.executable, "-c", script], env={"PYTHONPATH": str(FOLDER), "AGENT_SANDBOX_URL": self.url},
                                  capture_output=True, text=True, timeout=time_scale.scaled(120), check=False)
        self.assertEqual(0, finished.returncode, finished.stderr)
        self.assertLess(int(finished.stdout), 16 << 20)

    def test_an_upload_that_is_refused_meanwhile(self):
        files = self.make(limits={"disk_mb": 16}).files
        error = self.refused(clients.DiskFull, "disk_full", files.write, "/workspace/big", io.BytesIO(bytes(20 << 20)))
        self.assertEqual(507, error.status)
        self.assertEqual(1, files.write("/workspace/small", b"x").size)
        with self.assertRaisesRegex(TypeError, "opened for bytes"):
            files.write("/workspace/text", io.StringIO("text"))


class Volumes(ClientTest):
    @classmethod
    def setUpClass(cls):
        cls.environment = live_server.place_for_volumes(cls)
        super().setUpClass()

    def test_volumes(self):
        client = self.connect()
        made = client.volumes.create("data", size_mb=20)
        self.assertEqual(("data", 20, []), (made.name, made.size_mb, made.sandboxes))
        with client.sandboxes.create(volumes=[{"volume": "data", "path": "/data"}]) as sandbox:
            sandbox.run("echo text > /data/file")
            self.assertEqual([("data", "/data", False)], [(each.volume, each.path, each.read_only) for each in sandbox.details.volumes])
            self.assertEqual([(sandbox.id, "/data")], [(each.id, each.path) for each in client.volumes.get("data").sandboxes])
            self.refused(clients.Conflict, "volume_in_use", client.volumes.delete, "data")
        copy = client.volumes.create("copy", copy_of=made.id)
        self.assertEqual([copy.id, made.id], [each.id for each in client.volumes.iterate()])
        renamed = client.volumes.change("copy", name="second", size_mb=30)
        self.assertEqual((copy.id, "second", 30), (renamed.id, renamed.name, renamed.size_mb))
        self.refused(clients.Conflict, "name_taken", client.volumes.change, "data", name="second")
        self.assertEqual("copy", client.volumes.change("second", name="copy").name)
        with client.sandboxes.create(volumes=[{"volume": "copy", "path": "/data", "read_only": True}]) as sandbox:
            self.assertEqual("text\n", sandbox.run("cat /data/file").stdout)
        for name in ("data", "copy"):
            client.volumes.delete(name)
        self.assertEqual([], client.volumes.list(limit=1).volumes)


class Webhooks(ClientTest):
    environment = {"JOBS_PATH": ":memory:", "SANDBOX_WEBHOOKS_ALLOW": "http://127.0.0.1:9"}

    def test_webhooks(self):
        webhooks = self.connect().webhooks
        made = webhooks.create("http://127.0.0.1:9/x", ["created"], name="n")
        self.assertEqual([(made.id, "n")], [(each.id, each.name) for each in webhooks.list()])
        self.assertFalse(webhooks.change(made.id, enabled=False).enabled)
        self.assertNotEqual(made.secret, webhooks.replace_secret(made.id, previous_seconds=60).secret)
        self.assertIsNotNone(webhooks.get(made.id).previous_secret_until)
        self.assertFalse(webhooks.test(made.id).delivered)
        webhooks.delete(made.id)
        self.refused(clients.NotFound, "no_such_webhook", webhooks.get, made.id)


class Keys(ClientTest):
    environment = {"JOBS_PATH": ":memory:", "API_KEYS": KEY}

    def test_keys(self):
        self.assertEqual("42\n", self.connect(key=KEY).execute("print(42)").stdout)
        for key in (None, "another"):
            self.refused(clients.Unauthorized, "unauthorized", self.connect(key=key).execute, "1")
        health = self.connect().health()
        self.assertEqual(("ok", None), (health.status, health.version))
        os.environ["AGENT_SANDBOX_KEY"] = KEY
        self.addCleanup(os.environ.pop, "AGENT_SANDBOX_KEY")
        self.assertIsNotNone(self.connect().health().version)
        with self.connect().sandboxes.create() as sandbox, sandbox.terminal(command="exit 4") as terminal:
            list(terminal)
        self.assertEqual(4, terminal.exit.exit_code)
