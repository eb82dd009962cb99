"""agent-sandbox exec --server: the same program on a server, with the streams, exit statuses and messages that it has here."""
import http.server
import json
import os
import pty
import signal
import subprocess
import threading
import time

import host_view
import live_server
import time_scale
from sandbox_command import Command

GRACEFUL = ("try:\n  import time\n  print('now', flush=True)\n  while True: time.sleep(0.01)\nexcept KeyboardInterrupt:\n  print('interrupted')\n"
            "finally:\n  print('finally')\n  open('left.txt', 'w').write('left')\n")
COMPARED = ("status", "success", "outcome", "exit_code", "signal", "stdout", "stderr", "stdout_truncated", "output_encoding", "artifacts", "network")


class OnServer(Command):
    """Each command is run on the server and, where the test says so, here as well."""

    environment = {"JOBS_PATH": ":memory:", "SANDBOX_NETWORK_ENABLED": "true", "SANDBOX_NETWORK_ALLOW": "*.example.test:443"}
    subcommand = ["exec"]

    def there(self, *arguments, **more):
        return self.run_it("--server", self.url(), *arguments, **more)

    def here(self, *arguments, **more):
        return self.run_it("--rootfs", "host", *arguments, **more)

    def check_same(self, *arguments, **more):
        here = self.here(*arguments, **more)
        self.assertEqual(here, self.there(*arguments, **more))
        return here


class Same(OnServer):
    def test_streams_and_exit_statuses(self):
        for code in ("print(6*7)", "import sys; print('a'); sys.exit('b')", "raise SystemExit(3)", "import os; os.abort()",
                     "import os; os.kill(os.getpid(), 9)"):
            with self.subTest(code):
                self.check_same("-c", code)
        self.assertEqual((0, "42\n", ""), self.there("-c", "print(6*7)"))

    def test_limits_that_are_met(self):
        status, out, error = self.there("--timeout", "300ms", "-c", "import time; time.sleep(50)")
        self.assertEqual((124, "", "agent-sandbox: the program did not end within the 0.3 s that it may run; raise --timeout, up to 60\n"), (status, out, error))
        for run in (self.here, self.there):
            status, _, error = run("--memory", "64", "-c", "x = bytearray(1 << 30)\nfor i in range(0, 1 << 30, 4096): x[i] = 1")
            self.assertIn(status, (1, 137), error)

    def test_what_a_program_used_is_told_where_asked(self):
        busy = "import time\nwhile time.process_time() < 0.2: pass\nx = b'1' * 40_000_000"
        for run in (self.here, self.there):
            status, out, error = run("--stats", "-c", busy)
            self.assertEqual((0, ""), (status, out), error)
            self.assertRegex(error, r"\Aagent-sandbox: ran \d+\.\d{3} s, processor time 0\.[2-9]\d\d s, memory (4\d|5\d|6\d)\.\d MB at most(, warm)?\n\Z")

    def test_input_arguments_and_variables(self):
        self.check_same("-e", "A=b c", "-e", "MINE", "-c", "import os, sys; print(sys.argv[1:], sys.stdin.read(), os.environ['A'], os.environ['MINE'])",
                        "--", "-x", "ü", input="grün\n".encode(), MINE="mine")

    def test_python_that_holds_nothing_back(self):
        code = "import os; print('kept'); os._exit(3)"
        for run, template in ((self.here, ()), (self.there, ()), (self.there, ("--template", "python"))):
            with self.subTest((run, template)):
                self.assertEqual((3, "kept\n", ""), run(*template, "-e", "PYTHONUNBUFFERED=1", "-c", code))
                self.assertEqual((3, "", ""), run(*template, "-c", code))

    def test_a_terminal_is_no_input_which_is_told_who_reads_some(self):
        for code, expected in (("input('name? ')", "does not go to a server; pipe it in, or use agent-sandbox sandbox exec"), ("print(1)", "")):
            master, slave = pty.openpty()
            self.addCleanup(os.close, master)
            process = self.start("--server", self.url(), "-c", code, stdin=slave, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            os.close(slave)
            _, error = process.communicate(timeout=time_scale.scaled(30))
            self.assertIn(expected, error.decode())
            self.assertEqual(bool(expected), b"agent-sandbox:" in error)

    def test_a_program_from_standard_input(self):
        self.check_same("-", input=b"import sys; print(repr(sys.stdin.read()))")

    def test_bytes_go_through_as_they_are(self):
        code = "import os; os.write(1, bytes(range(256)) * 1000); os.write(2, bytes(range(255, -1, -1)))"
        self.assertEqual((0, bytes(range(256)) * 1000, bytes(range(255, -1, -1))), self.bytes_of("--server", self.url(), "-c", code))

    def test_languages(self):
        (self.directory / "a.sh").write_text("echo \"$1 $(cat in/b)\"\n", encoding="utf-8")
        (self.directory / "b").write_bytes(b"\xff\x01 b")
        arguments = ("--file", "b:in/b", "a.sh", "--", "a")
        self.assertEqual(self.bytes_of("--rootfs", "host", *arguments), self.bytes_of("--server", self.url(), *arguments))

    def test_artifacts(self):
        code = "import os\nos.mkdir('out')\nopen('out/a.bin', 'wb').write(bytes(range(256)))\nopen('b.txt', 'w').write('b')"
        status, out, error = self.there("-c", code, "--artifact", "out/*:kept", "--artifact", "*.txt:.", "--artifact", "*.none:.")
        self.assertEqual((0, ""), (status, out), error)
        self.assertEqual(bytes(range(256)), (self.directory / "kept/out/a.bin").read_bytes())
        for line in ('wrote "kept/out/a.bin", 256 bytes', 'wrote "b.txt", 1 byte', 'no file matched'):
            self.assertIn(line, error)
        status, _, error = self.there("-c", code, "--artifact", "*.txt:.")
        self.assertEqual(125, status)
        self.assertIn("--overwrite", error)

    def test_the_network_is_told(self):
        code = ("import urllib.request\ntry: urllib.request.urlopen('https://other.example.test')\n"
                "except OSError as error: print('no')")
        status, out, error = self.there("--allow", "a.example.test:443", "-c", code)
        self.assertEqual((0, "no\n"), (status, out), error)
        self.assertIn("agent-sandbox: network: other.example.test:443: not allowed by --allow\n", error)
        status, out, error = self.there("--allow", "pypi.org:443", "-c", "pass")
        self.assertEqual((125, ""), (status, out))
        self.assertIn("agent-sandbox: --allow: pypi.org:443 is beyond what the operator allows, which is ", error)

    def test_json_is_what_the_server_answers(self):
        for code in ("print('ü')", "raise SystemExit(3)"):
            (status, here, _), (there_status, there, _) = self.here("--json", "-c", code), self.there("--json", "-c", code)
            self.assertEqual(status, there_status)
            here, there = json.loads(here), json.loads(there)
            self.assertEqual([here[name] for name in COMPARED], [there[name] for name in COMPARED])
            self.assertEqual(200, self.client.send("GET", f"/jobs/{there['job_id']}").status)

    def test_templates_of_the_server(self):
        result = json.loads(self.there("--json", "--template", "python", "-c", "pass")[1])
        self.assertEqual("python", result["template"])


class Live(OnServer):
    def begin(self, code, *arguments):
        return self.start("--server", self.url(), "--timeout", "60", *arguments, "-c", code, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def test_output_comes_while_the_program_runs(self):
        process = self.begin("import time; print('now', flush=True); time.sleep(50)")
        self.read_until(process.stdout.fileno(), b"now\n")
        self.assertIsNone(process.poll())

    def begun(self, code, *arguments):
        process = self.begin(code, *arguments)
        self.read_until(process.stdout.fileno(), b"now\n")
        return process, self.the_running_job()

    def rest(self, process, status):
        out, error = process.communicate(timeout=time_scale.scaled(20))
        self.assertEqual(status, process.returncode, (out, error))
        return out.decode(), error.decode()

    def test_ctrl_c_is_a_keyboard_interrupt(self):
        process, job = self.begun(GRACEFUL, "--artifact", "*.txt:kept")
        process.send_signal(signal.SIGINT)
        out, error = self.rest(process, 130)
        self.assertEqual("interrupted\nfinally\n", out)
        self.assertIn('wrote "kept/left.txt", 4 bytes', error)
        self.assertEqual("success", self.status_of(job))

    def test_a_program_that_does_not_care_shows_where_it_was(self):
        process, job = self.begun("import time\nprint('now', flush=True)\nwhile True: time.sleep(0.01)")
        process.send_signal(signal.SIGINT)
        self.assertTrue(self.rest(process, 130)[1].endswith("KeyboardInterrupt\n"))
        process, job = self.begun("import time; print('now', flush=True); time.sleep(50)")
        process.send_signal(signal.SIGTERM)
        self.assertEqual(("", ""), self.rest(process, 143))
        self.assertEqual("killed", self.status_of(job))

    def test_one_that_ignores_it_has_two_seconds_and_a_second_one_ends_it_at_once(self):
        for more, least in (((), 1.9), ((signal.SIGTERM,), 0)):
            process, job = self.begun("import os, signal, time\nsignal.signal(signal.SIGINT, lambda *_: os.write(1, b'first\\n'))\n"
                                      "print('now', flush=True)\nwhile True: time.sleep(0.01)")
            started = time.monotonic()
            process.send_signal(signal.SIGINT)
            self.read_until(process.stdout.fileno(), b"first\n")
            for number in more:
                process.send_signal(number)
            self.assertEqual(("", ""), self.rest(process, 130))
            self.assertGreater(time.monotonic() - started, least)
            self.assertTrue(host_view.wait_until(lambda job=job: self.status_of(job) == "cancelled", 20))

    def test_json_is_printed_where_it_ended_by_itself(self):
        process = self.begin("import subprocess\ntry:\n  subprocess.run(['sleep', f'{47}.17'])\nexcept KeyboardInterrupt:\n  print('interrupted')", "--json")
        self.assertTrue(self.server.wait_for_program("47.17"))
        process.send_signal(signal.SIGINT)
        result = json.loads(self.rest(process, 130)[0])
        self.assertEqual(("success", "interrupted\n"), (result["status"], result["stdout"]))

    def test_somebody_else_cancels_it(self):
        process = self.begin("import time; print('now', flush=True); time.sleep(50)")
        self.read_until(process.stdout.fileno(), b"now\n")
        self.assertEqual(202, self.client.send("DELETE", f"/jobs/{self.the_running_job()}").status)
        _, error = process.communicate(timeout=time_scale.scaled(20))
        self.assertEqual(143, process.returncode)
        self.assertRegex(error.decode(), r"\Aagent-sandbox: [^\n]*cancelled[^\n]*\n\Z")

    def test_nobody_reads(self):
        process = self.begin("import time\nwhile True: print('tick', flush=True); time.sleep(0.01)")
        self.read_until(process.stdout.fileno(), b"tick")
        process.stdout.close()
        self.assertEqual(141, process.wait(time_scale.scaled(30)))

    def test_the_server_ends(self):
        server = live_server.LiveServer(environment={"JOBS_PATH": ":memory:"})
        self.addCleanup(server.stop)
        process = self.start("--server", f"http://127.0.0.1:{server.port}", "-c", "import time; print('now', flush=True); time.sleep(50)",
                             stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.read_until(process.stdout.fileno(), b"now\n")
        server.kill()
        _, error = process.communicate(timeout=time_scale.scaled(30))
        self.assertEqual(125, process.returncode)
        self.assertRegex(error.decode(), r"\Aagent-sandbox: [^\n]+\n\Z")


class Refused(OnServer):
    environment = {"JOBS_PATH": ":memory:", "API_KEYS": "the-key"}

    def test_the_key_is_shown(self):
        self.assertEqual((0, "1\n", ""), self.there("-c", "print(1)", AGENT_SANDBOX_KEY="the-key"))
        status, out, error = self.there("-c", "print(1)", AGENT_SANDBOX_KEY="another")
        self.assertEqual((125, ""), (status, out))
        self.assertIn("AGENT_SANDBOX_KEY", error)
        self.assertNotIn("another", error)

    def test_what_the_server_does_not_allow(self):
        status, _, error = self.there("--timeout", "1h", "-c", "pass", AGENT_SANDBOX_KEY="the-key")
        self.assertEqual((125, "agent-sandbox: --timeout: the server expects a number 0.05 .. 60\n"), (status, error))
        self.assertEqual((125, "", error), self.there("--json", "--timeout", "1h", "-c", "pass", AGENT_SANDBOX_KEY="the-key"))

    def test_mistakes(self):
        for words, expected in ((["--jail", "a.json"], "--jail"), (["--explain"], "--explain"), (["--rootfs", "host"], "--rootfs"),
                                (["--cgroup", "none"], "--cgroup"), (["--user", "root"], "--user"), (["--require-cgroup"], "--require-cgroup")):
            with self.subTest(words):
                status, out, error = self.there(*words, "-c", "pass")
                self.assertEqual((2, ""), (status, out))
                self.assertTrue(error.startswith(f"agent-sandbox: {expected} cannot be used with --server"), error)
        for url in ("", "ftp://a", "127.0.0.1:8000", "unix:relative"):
            status, out, error = self.run_it("--server", url, "-c", "pass")
            self.assertEqual((2, ""), (status, out))
            self.assertIn("--server: expected", error)

    def test_what_no_request_can_hold(self):
        status, _, error = self.there("-c", "pass", input=b"\xff")
        self.assertEqual(2, status)
        self.assertIn("standard input is not UTF-8", error)
        (self.directory / "a.py").write_bytes(b"print('\xff')")
        self.assertIn("the program is not UTF-8", self.there("a.py")[2])

    def test_no_server(self):
        status, out, error = self.run_it("--server", "http://127.0.0.1:1", "-c", "pass")
        self.assertEqual((125, ""), (status, out))
        self.assertRegex(error, r"\Aagent-sandbox: no server at http://127.0.0.1:1: [^\n]+--server[^\n]*\n\Z")

    def test_no_configuration_and_no_right_is_needed(self):
        # A configuration that would stop a program of this host.
        (self.directory / "agent-sandbox.json").write_text("no json", encoding="utf-8")
        (self.directory / ".env").write_text("AGENT_SANDBOX_KEY=the-key\n", encoding="utf-8")
        self.assertEqual(125, self.there("-c", "print(1)")[0])
        self.assertEqual((0, "1\n", ""), self.there("-c", "print(1)", AGENT_SANDBOX_KEY="the-key"))


class UnixSocket(OnServer):
    def test_a_socket(self):
        path = os.path.join(self.directory, "socket")
        os.chmod(self.directory, 0o777)
        server = live_server.LiveServer("--host", f"unix:{path}", environment={"JOBS_PATH": ":memory:"})
        self.addCleanup(server.stop)
        self.assertEqual((0, "1\n", ""), self.run_it("--server", f"unix:{path}", "-c", "print(1)"))


class Hostile(OnServer):
    """A server of the test's own, which sends artifacts of any path, and does not end its answer."""

    PATHS = ("agent-sandbox.json\0x", ".env\0x", "/etc/x", "a//b", "../x", "a/./b", "")

    def setUp(self):
        super().setUp()
        answer = self.execute("print(1)")
        answer["artifacts"] = [{"path": path, "size": 1, "media_type": "text/plain", "base64": "eA=="} for path in (*self.PATHS, "good")]
        events = [{"type": "execution_result", "data": answer}, {"type": "complete", "data": {}}]
        body = b"".join(json.dumps(event).encode() + b"\n" for event in events)

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                self.rfile.read(int(self.headers["Content-Length"]))
                self.send_response(200)
                self.send_header("Content-Type", "application/x-ndjson")
                self.end_headers()
                self.wfile.write(body)
                self.rfile.read(1)  # the connection stays open until the other side leaves

            def log_message(self, *_):
                pass

        self.hostile = http.server.HTTPServer(("127.0.0.1", 0), Handler)
        self.addCleanup(self.hostile.server_close)
        threading.Thread(target=self.hostile.serve_forever, daemon=True).start()
        self.addCleanup(self.hostile.shutdown)

    def test_no_path_leads_elsewhere_and_none_is_a_configuration(self):
        url = f"http://127.0.0.1:{self.hostile.server_port}"
        self.run_it("--server", url, "--json", "-c", "1", "--artifact", "**:kept", "--artifact", ".*:kept", "--overwrite")
        self.assertEqual(["kept", "kept/good"], sorted(str(path.relative_to(self.directory)) for path in self.directory.rglob("*")))
