"""POST /execute where everything succeeds: the contract's fields, both languages, both encodings."""
import base64
import datetime
import re
import uuid

import host_view
import live_server

FIELDS = {"job_id", "status", "success", "outcome", "exit_code", "signal", "stdout", "stderr", "stdout_truncated",
          "stderr_truncated", "output_encoding", "execution_time_ms", "cpu_time_ms", "memory_peak_mb", "warm", "template", "timings_us", "limits",
          "created_at"}
CAP = 1 << 20


class Execute(live_server.ServerTest):
    def test_python(self):
        result = self.execute("print(6*7)")
        self.assertEqual(("success", True, 0, None, "42\n", ""),
                         tuple(result[name] for name in ("status", "success", "exit_code", "signal", "stdout", "stderr")))

    def test_an_outcome_says_why_and_what_can_be_done(self):
        def outcome(code, **fields):
            return self.execute(code, **fields)["outcome"]

        self.assertEqual({"code": "success", "cause": "the program ended with exit status 0", "limit": None, "used": None,
                          "remedy": None}, outcome("pass"))
        self.assertEqual(("exit_status", "the program ended with exit status 3"),
                         tuple(outcome("raise SystemExit(3)")[name] for name in ("code", "cause")))
        late = outcome("while True: pass", timeout_seconds=0.5)
        self.assertEqual("timeout_wall", late["code"])
        self.assertEqual((0.5, "raise timeout_seconds, up to 60"), (late["limit"], late["remedy"]))
        self.assertGreater(late["used"], 0.4)
        asleep = outcome("import time; time.sleep(20)", timeout_seconds=0.5)
        self.assertEqual(("timeout_wall", "the program did not end within the 0.5 s that it may run"),
                         (asleep["code"], asleep["cause"]))
        large = outcome("x = [bytearray(b'x') * (1 << 20) for _ in range(4000)]", memory_limit_mb=64)
        self.assertEqual(("out_of_memory", 64, "raise memory_limit_mb, up to 2048"),
                         (large["code"], large["limit"], large["remedy"]))
        self.assertGreater(large["used"], 32)
        self.assertEqual("the program died of SIGSEGV", outcome("import os; os.kill(os.getpid(), 11)")["cause"])

    def test_every_field_of_the_contract(self):
        result = self.execute("print(1)")
        self.assertEqual(set(), FIELDS - set(result), result)
        self.assertEqual({"queued", "started", "ran"}, set(result["timings_us"]))
        self.assertEqual({"memory", "pids", "cpu"}, set(result["limits"]))
        for name, enforcer in result["limits"].items():
            self.assertIn(enforcer, ("cgroup", "rlimit", "watchdog"), name)
        for name in ("execution_time_ms", "cpu_time_ms", "memory_peak_mb"):
            self.assertGreater(result[name], 0, name)
        self.assertLess(result["execution_time_ms"], 60_000)
        self.assertLess(result["memory_peak_mb"], 256)
        self.assertIsInstance(result["warm"], bool)
        created = datetime.datetime.fromisoformat(result["created_at"].replace("Z", "+00:00"))
        age = datetime.datetime.now(datetime.timezone.utc) - created
        self.assertLess(abs(age.total_seconds()), 60)
        self.assertRegex(result["created_at"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$")

    def test_usage_grows_with_use(self):
        idle = self.execute("print(1)")
        busy = self.execute("x = bytearray(60 << 20)\nfor _ in range(3 * 10**6): pass")
        self.assertGreater(busy["cpu_time_ms"], idle["cpu_time_ms"])
        self.assertGreater(busy["memory_peak_mb"], 55, busy)

    def test_job_ids_differ(self):
        self.assertEqual(8, len({self.execute("pass")["job_id"] for _ in range(8)}))

    def test_second_path(self):
        answer = self.client.post({"code": "print(6*7)"}, "/api/v1/execute")
        self.assertEqual((200, "42\n"), (answer.status, answer.json["stdout"]))
        self.assertRegex(answer.headers["Content-Type"], "^application/json")

    def test_bash(self):
        result = self.execute('echo "$((6*7))"; echo oops >&2; exit 3', language="bash")
        self.assertEqual(("error", False, 3, "42\n", "oops\n"),
                         tuple(result[name] for name in ("status", "success", "exit_code", "stdout", "stderr")))

    def test_standard_input(self):
        self.assertEqual("4 ab\r\nc", self.execute("import sys; t = sys.stdin.buffer.read().decode(); "
                                                   "sys.stdout.write(str(t.count('a') + 3) + ' ' + t)",
                                                   stdin="ab\r\nc")["stdout"])

    def test_standard_input_is_empty_unless_given(self):
        self.assertEqual("''\n", self.execute("import sys; print(repr(sys.stdin.read()))")["stdout"])

    def test_long_standard_input(self):
        text = "line of the input\n" * 50_000
        self.assertEqual(f"{len(text)}\n", self.execute("import sys; print(len(sys.stdin.read()))", stdin=text)["stdout"])

    def test_standard_input_that_nobody_reads(self):
        self.assertEqual("success", self.execute("print(1)", stdin="x" * 500_000)["status"])

    def test_arguments(self):
        arguments = ["a b", "", "-x", "--", "ü", "$HOME", "'\"\n"]
        self.assertEqual(f"{arguments}\n", self.execute("import sys; print(sys.argv[1:])", args=arguments)["stdout"])
        self.assertEqual("2:a b:-x\n", self.execute('echo "$#:$1:$2"', language="bash", args=["a b", "-x"])["stdout"])

    def test_environment(self):
        result = self.execute("import os; print(os.environ['GREETING'], os.environ['EMPTY'] == '')",
                              env={"GREETING": "héllo = x", "EMPTY": ""})
        self.assertEqual("héllo = x True\n", result["stdout"])

    def test_exit_codes(self):
        for code in (1, 2, 77, 124, 125, 137, 255):
            result = self.execute(f"import sys; sys.exit({code})")
            self.assertEqual(("error", code, None), (result["status"], result["exit_code"], result["signal"]))

    def test_exception(self):
        result = self.execute("raise ValueError('told so')")
        self.assertEqual(("error", 1), (result["status"], result["exit_code"]))
        self.assertIn("ValueError: told so", result["stderr"])

    def test_signal(self):
        result = self.execute("import os; os.kill(os.getpid(), 11)")
        self.assertEqual(("killed", None, "SIGSEGV", False),
                         (result["status"], result["exit_code"], result["signal"], result["success"]))

    def test_own_kill_is_no_memory_limit(self):
        result = self.execute("import os; os.kill(os.getpid(), 9)")
        self.assertEqual(("killed", "SIGKILL"), (result["status"], result["signal"]))

    def test_text_that_is_not_utf8(self):
        result = self.execute(r"import os; os.write(1, b'a\xff\xe2\x82b\xe2\x82\xac')")
        self.assertEqual("success", result["status"])
        self.assertRegex(result["stdout"], "^a\ufffd{2,3}b€$")

    def test_nul_and_control_bytes(self):
        self.assertEqual("\0\x01\x1b[0m\x7f\"\\\n", self.execute(r"import os; os.write(1, b'\0\x01\x1b[0m\x7f\"\\\n')")["stdout"])

    def test_base64(self):
        result = self.execute(r"import os; os.write(1, bytes(range(256))); os.write(2, b'\xff')", output_encoding="base64")
        self.assertEqual(bytes(range(256)), base64.b64decode(result["stdout"], validate=True))
        self.assertEqual(b"\xff", base64.b64decode(result["stderr"], validate=True))

    def test_output_at_the_cap(self):
        result = self.execute(f"import sys; sys.stdout.write('x' * {CAP})")
        self.assertEqual((CAP, False), (len(result["stdout"]), result["stdout_truncated"]))

    def test_output_past_the_cap(self):
        result = self.execute(f"import sys; sys.stdout.write('x' * {CAP + 1}); sys.stderr.write('the end')")
        self.assertEqual((CAP, True, False, "the end"), (len(result["stdout"]), result["stdout_truncated"],
                                                         result["stderr_truncated"], result["stderr"]))

    def test_longest_code(self):
        code = "print(6*7)\n#"
        self.assertEqual("42\n", self.execute(code + "x" * (CAP - len(code)))["stdout"])

    def test_boundaries_of_numbers(self):
        for fields in ({"timeout_seconds": 60}, {"timeout_seconds": 2}, {"memory_limit_mb": 2048}, {"memory_limit_mb": 64}):
            self.assertEqual("success", self.execute("print(1)", **fields)["status"], fields)
        # A busy host may need longer than this to start an interpreter.
        self.assertIn(self.execute("print(1)", timeout_seconds=0.5)["status"], ("success", "timeout"))

    def test_working_directory_is_writable_and_fresh(self):
        code = "import os; print(os.listdir('.')); open('left', 'w').write('x'); open('/tmp/left', 'w').write('x'); print(os.path.exists('left'))"
        for _ in range(2):
            lines = self.execute(code)["stdout"].splitlines()
            self.assertNotIn("left", lines[0])
            self.assertEqual("True", lines[1])
        self.assertEqual("False\n", self.execute("import os; print(os.path.exists('/tmp/left'))")["stdout"])

    def test_standard_library_and_children(self):
        result = self.execute("import json, sqlite3, subprocess, multiprocessing, tempfile, threading, ssl\n"
                              "print(subprocess.run(['echo', 'child'], capture_output=True, text=True).stdout, end='')\n"
                              "from concurrent.futures import ThreadPoolExecutor\n"
                              "print(sum(ThreadPoolExecutor(4).map(int, '1234')))\n"
                              "print(sqlite3.connect('x.db').execute('select 6*7').fetchone()[0])\n")
        self.assertEqual(("success", "child\n10\n42\n"), (result["status"], result["stdout"]), result)

    def test_what_a_finished_program_leaves_running_is_not_waited_for(self):
        result, seconds = self.seconds("import os, time\nif os.fork() == 0: time.sleep(30)\nprint('done')")
        self.assertEqual(("success", "done\n"), (result["status"], result["stdout"]))
        self.assertLess(seconds, 5)

    def test_output_in_the_pipe_is_delivered(self):
        for _ in range(20):
            self.assertEqual(30_000, len(self.execute("import os; os.write(1, b'x' * 30000); os._exit(0)")["stdout"]))

    def test_request_id(self):
        answer = self.client.post({"code": "pass"})
        uuid.UUID(answer.headers["X-Request-Id"])
        mine = str(uuid.uuid4())
        self.assertEqual(mine, self.client.post({"code": "pass"}, **{"X-Request-Id": mine}).headers["X-Request-Id"])
        spoof = self.client.post({"code": "pass"}, **{"X-Request-Id": "not a uuid"}).headers["X-Request-Id"]
        self.assertNotEqual("not a uuid", spoof)
        uuid.UUID(spoof)

    def test_health(self):
        for path in ("/health", "/api/v1/health"):
            answer = self.client.send("GET", path)
            self.assertEqual(200, answer.status, answer)
            self.assertTrue({"status", "version", "uptime_seconds"} <= set(answer.json), answer)
            self.assertTrue(re.search("rlimit|watchdog|cgroup", answer.body.decode()), answer)
            self.assertEqual(host_view.landlock_version(), answer.json["landlock"], answer)
            self.assertIn(answer.json["users"], ("own", "shared"), answer)
