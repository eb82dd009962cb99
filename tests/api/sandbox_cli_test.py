"""agent-sandbox sandbox: exit statuses, streams, signals, background processes."""
import fcntl
import json
import os
import signal
import struct
import subprocess
import termios
import time

import host_view
import time_scale
from sandbox_command import CONTROLS, Command


class Life(Command):
    def test_create_get_renew_delete(self):
        sandbox = self.make("--name", "box", "--timeout", "600", "--idle", "500", "--memory", "64", "--processes", "16", "--disk", "8",
                            "--metadata", "owner=me", "--metadata", "odd=a=b", "--env", "GREETING=hello", "--workdir", "/tmp")
        shown = json.loads(self.good("get", "box", "--json"))
        self.assertEqual((sandbox, "box", "running"), (shown["id"], shown["name"], shown["state"]))
        self.assertEqual({"owner": "me", "odd": "a=b"}, shown["metadata"])
        self.assertEqual((64, 16, 8, 500), (*(shown["limits"][name] for name in ("memory_mb", "processes", "disk_mb")), shown["idle_seconds"]))
        text = self.good("get", sandbox)
        for line in (f"id: {sandbox}", "name: box", "state: running", "working directory: /tmp", "idle seconds: 500",
                     "limits: 64 MB of memory, 16 processes, 8 MB of disk", "network: none", "processes: 0"):
            self.assertIn(line + "\n", text)
        self.assertEqual((0, "hello\n/tmp\n", ""), self.exec("box", "sh", "-c", "echo $GREETING; pwd"))
        before = shown["ends_at"]
        self.assertRegex(self.good("renew", "box", "1200"), r"\Aends at \d{4}-\d\d-\d\d [\d:]{8} UTC\n\Z")
        self.assertLess(before, json.loads(self.good("get", "box", "--json"))["ends_at"])
        self.assertIn("idle seconds: 400\n", self.good("change", "box", "--idle", "400", "--no-network"))
        self.assertIn("this server gives programs no network", self.one_line("change", "box", "--allow", "example.org:443"))
        self.assertEqual("", self.good("delete", "box"))
        self.assertIn("state: deleted\n", self.good("get", "box"))

    def test_port_prints_an_address_that_opens(self):
        sandbox = self.make("--name", "web")
        self.exec("web", "sh", "-c", "echo hello > file; python3 -m http.server 8000 > log 2>&1 &")
        address = self.good("port", "web", "8000").rstrip("\n")
        self.assertTrue(address.startswith(f"{self.url()}/v1/sandboxes/{sandbox}/ports/8000/?access_token="), address)
        path = address.removeprefix(self.url()).replace("/?", "/file?")
        self.assertTrue(host_view.wait_until(lambda: self.client.send("GET", path).body == b"hello\n", 20))

    def test_json(self):
        shown = json.loads(self.good("create", "--json"))
        self.assertEqual("running", shown["state"])
        self.good("delete", shown["id"])

    def test_list(self):
        first, second = self.make("--metadata", "colour=red"), self.make("--metadata", "colour=blue", "--name", "second")
        listed = json.loads(self.good("list", "--json"))["sandboxes"]
        self.assertLessEqual({first, second}, {one["id"] for one in listed})
        blue = self.good("list", "--metadata", "colour=blue").splitlines()
        self.assertEqual(2, len(blue), blue)
        self.assertRegex(blue[0], r"^ID +NAME +STATE +ENDS")
        self.assertRegex(blue[1], rf"^{second} +second +running +\d{{4}}-")
        self.good("delete", second)
        self.assertIn(first, self.good("list", "--state", "running"))
        self.assertNotIn(second, self.good("list", "--state", "running"))

    def test_pause_and_resume(self):
        first = self.make("--name", "rests", "--on-timeout", "pause", "--no-auto-resume")
        second = self.make()
        self.assertEqual("", self.good("pause", "rests", second))
        shown = json.loads(self.good("get", first, "--json"))
        self.assertEqual(("paused", "pause", False), (shown["state"], shown["on_timeout"], shown["auto_resume"]))
        self.assertRegex(self.good("get", first), r"state: paused\n(.*\n)*paused: \d{4}-")
        listed = self.good("list", "--state", "paused")
        self.assertIn(first, listed)
        self.assertIn(second, listed)
        self.assertIn("resume", self.one_line("exec", "rests", "--", "true", status=125))
        self.assertEqual(0, self.exec(second, "true")[0])
        self.assertNotIn(second, self.good("list", "--state", "paused"))
        self.assertEqual("", self.good("resume", "rests", second))
        self.assertEqual((0, "42\n", ""), self.exec("rests", "sh", "-c", "echo $((6*7))"))
        status, out, error = self.run_it("pause", "no-such-one", first)
        self.assertEqual((1, ""), (status, out))
        self.assertEqual(1, error.count("agent-sandbox: "), error)
        self.assertIn("state: paused\n", self.good("get", first))

    def test_resize(self):
        box = self.make("--memory", "128", "--disk", "16")
        shown = self.good("resize", box, "--memory", "200m", "--processes", "50")
        self.assertIn("200 MB of memory, 50 processes, 16 MB of disk", shown)
        self.assertIn("200 MB of memory, 50 processes, 32 MB of disk", self.good("change", box, "--disk", "32"))
        limits = json.loads(self.good("resize", box, "--memory", "100", "--json"))["limits"]
        self.assertEqual((100, 50, 32), tuple(limits[name] for name in ("memory_mb", "processes", "disk_mb")))
        self.assertEqual(0, self.exec(box, "sh", "-c", "head -c 20M /dev/zero > /workspace/file")[0])
        refused = self.one_line("resize", box, "--disk", "16")
        self.assertIn("--disk: more is in /workspace", refused)
        self.assertIn("--memory: the server expects", self.one_line("resize", box, "--memory", "900g"))
        self.assertIn("no such sandbox", self.one_line("resize", "no-such-one", "--memory", "100"))
        if json.loads(self.good("get", box, "--json"))["enforced_by"]["cpu"] != "cgroup":
            refused = self.one_line("resize", box, "--cpu", "0.5")
            self.assertIn("--cpu: the sandboxes of this server have no cgroups", refused)
            self.assertIn("agent-sandbox doctor", refused)

    def test_another_token(self):
        box = self.make()
        before = self.good("port", box, "8000")
        token = self.good("token", box)
        self.assertRegex(token, r"\A[a-z2-7]{26}\n\Z")
        self.assertNotIn(token.strip(), before)
        self.assertTrue(self.good("port", box, "8000").endswith("=" + token))
        self.assertIn("no such sandbox", self.one_line("token", "no-such-one", status=1))

    def test_many_are_deleted_and_what_is_not_there_is_named(self):
        first, second = self.make(), self.make()
        status, out, error = self.run_it("delete", first, "no-such-one", second)
        self.assertEqual((1, ""), (status, out))
        self.assertEqual("agent-sandbox: no such sandbox: no-such-one\n", error)
        for sandbox in (first, second):
            self.assertIn("state: deleted\n", self.good("get", sandbox))

    def test_what_the_server_refuses_is_one_line(self):
        self.make("--name", "taken")
        self.assertIn("--name: taken is the name of", self.one_line("create", "--name", "taken"))
        self.assertIn("--template: the server expects", self.one_line("create", "--template", "no-such-template"))
        self.assertIn("--name: the server expects", self.one_line("create", "--name", "No!"))
        self.assertIn("--memory: the server expects an integer 32 .. ", self.one_line("create", "--memory", "4g"))
        self.assertIn("--allow: this server gives programs no network", self.one_line("create", "--allow", "example.org:443"))
        self.assertIn("--workdir: /workspace/src is no directory of the sandbox", self.one_line("exec", "--workdir", "src", "taken", "--", "true", status=125))
        self.assertIn("the time: the server expects", self.one_line("renew", "taken", "86401"))
        self.exec("taken", "mkdir", "-p", "src/a")
        self.assertIn("-r removes it with what is in it", self.one_line("rm", "taken", "src"))
        self.good("pause", "taken")
        self.make("--name", "asleep", "--no-auto-resume")
        self.good("pause", "asleep")
        self.assertIn("was created with --no-auto-resume", self.one_line("exec", "asleep", "--", "true", status=125))

    def test_what_needs_too_much_memory_names_the_option(self):
        box = self.make("--memory", "64")
        status, _, error = self.exec(box, "python3", "-c", "a = bytearray(200_000_000)")
        self.assertEqual(137, status, error)
        self.assertIn("; raise --memory of sandbox create, up to ", error)

    def test_an_ended_one_says_why(self):
        sandbox = self.make("--timeout", "1")
        self.assertTrue(host_view.wait_until(
            lambda: json.loads(self.good("get", sandbox, "--json"))["state"] == "ended", 20))
        self.assertIn("state: lifetime\n", self.good("get", sandbox))
        self.assertIn("lifetime", self.good("list", "--state", "ended"))
        self.assertRegex(self.one_line("exec", sandbox, "--", "true", status=125), rf"sandbox {sandbox} ended at .* UTC: its time was over\n")

    def test_an_ended_one_by_its_name(self):
        sandbox = self.make("--name", "over")
        self.assertEqual((0, "kept\n", ""), self.exec("over", "echo", "kept"))
        self.assertEqual("", self.good("delete", "over"))
        self.assertRegex(self.one_line("exec", "over", "--", "true", status=125), r"sandbox over ended at .* UTC: it was deleted\n")
        self.assertIn(f"id: {sandbox}\nname: over\nstate: deleted\n", self.good("get", "over"))
        self.assertIn("process_started", self.good("events", "over"))
        self.assertEqual("kept\n", self.good("logs", "over"))
        self.assertEqual("", self.good("delete", "over"))
        self.assertEqual("agent-sandbox: no such sandbox: over\n", self.one_line("get", "over"))


class Exec(Command):
    def setUp(self):
        super().setUp()
        self.sandbox = self.make()

    def test_exit_statuses(self):
        for command, status in (("true", 0), ("exit 7", 7), ("kill -9 $$", 137), ("kill -TERM $$", 143), ("exit 255", 255)):
            with self.subTest(command):
                self.assertEqual(status, self.exec(self.sandbox, "sh", "-c", command)[0])

    def test_code(self):
        program = "import sys; print(sys.argv[1:], input()); sys.exit(3)"
        self.assertEqual((3, "['a b', '-c'] typed\n", ""), self.run_it("exec", self.sandbox, "-c", program, "--", "a b", "-c", input=b"typed\n"))
        self.assertEqual("42\n", self.good("exec", self.sandbox, "-n", "--language", "bash", "-c", "echo $((6*7))"))
        status, _, error = self.run_it("exec", self.sandbox)
        self.assertEqual((2, "agent-sandbox: sandbox exec: expected -- COMMAND, or -c CODE"), (status, error.splitlines()[0]))
        if host_view.landlock_version() >= 6:
            warm = self.make("--warm")
            self.assertIn("warm: yes\n", self.good("get", warm))
            self.assertTrue(json.loads(self.good("exec", warm, "--json", "-n", "-c", "pass"))["warm"])

    def test_a_timeout_is_124(self):
        status, out, error = self.run_it("exec", self.sandbox, "--timeout", time_scale.scaled(3), "--", "sh", "-c", "echo begun; sleep 50")
        self.assertEqual((124, "begun\n"), (status, out))
        self.assertRegex(error, r"\Aagent-sandbox: [^\n]+\n\Z")

    def test_what_is_not_there(self):
        self.assertIn("no-such-program", self.one_line("exec", self.sandbox, "--", "no-such-program", status=127))
        self.assertIn("-- bash -c 'COMMAND'", self.one_line("exec", self.sandbox, "--", "ls | wc", status=127))
        self.assertIn("/nowhere", self.one_line("exec", self.sandbox, "--workdir", "/nowhere", "--", "true", status=125))
        self.one_line("exec", "no-such-sandbox", "--", "true", status=125)
        self.assertEqual(2, self.run_it("exec", self.sandbox)[0])

    def test_streams_are_kept_apart_and_bytes_are_as_they_were(self):
        status, out, error = self.bytes_of("exec", self.sandbox, "--", "sh", "-c", r"printf '\000\377\033[1m'; printf '\376' >&2")
        self.assertEqual((0, b"\0\xff\x1b[1m", b"\xfe"), (status, out, error))

    def test_output_comes_as_it_is_written(self):
        process = self.start("exec", self.sandbox, "--", "sh", "-c", "echo first; read line; echo $line",
                             stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.read_until(process.stdout.fileno(), b"first\n")
        process.stdin.write(b"second\n")
        process.stdin.flush()
        self.read_until(process.stdout.fileno(), b"second\n")
        self.assertEqual(0, process.wait(time_scale.scaled(20)))

    def test_input_of_any_size_and_of_any_bytes(self):
        for size in (0, 1, 70_000, 3_000_000):
            with self.subTest(size):
                content = os.urandom(size)
                status, out, error = self.bytes_of("exec", self.sandbox, "--", "cat", input=content)
                self.assertEqual((0, b""), (status, error))
                self.assertTrue(content == out, f"{len(out)} of {size} bytes")

    def test_input_that_nobody_reads(self):
        self.assertEqual((3, "", ""), self.exec(self.sandbox, "sh", "-c", "exit 3", input=bytes(3_000_000)))
        self.assertEqual((0, "begun\n", ""), self.exec(self.sandbox, "sh", "-c", "exec <&-; echo begun; sleep 0.5", input=bytes(3_000_000)))

    def test_input_that_never_ends_keeps_nobody(self):
        process = self.start("exec", self.sandbox, "--", "sh", "-c", "exit 4", stdin=subprocess.PIPE)
        self.assertEqual(4, process.wait(time_scale.scaled(20)))

    def test_a_closed_input_is_empty(self):
        process = self.start("exec", self.sandbox, "--", "cat", stdin=subprocess.DEVNULL)
        self.assertEqual(0, process.wait(time_scale.scaled(20)))

    def test_env_and_working_directory(self):
        self.assertEqual((0, "b c\n/tmp\n", ""), self.run_it(
            "exec", self.sandbox, "--env", "A=b c", "--workdir", "/tmp", "--", "sh", "-c", 'echo "$A"; pwd'))

    def test_a_relative_directory_is_below_the_working_directory(self):
        sandbox = self.make("--workdir", "app")
        self.assertEqual((0, "/workspace/app\n", ""), self.exec(sandbox, "sh", "-c", "pwd; mkdir -p src/deep"))
        for directory, expected in (("src", "src"), ("./src/deep", "src/deep"), (".", "")):
            self.assertEqual((0, f"/workspace/app/{expected}".rstrip("/") + "\n", ""),
                             self.run_it("exec", sandbox, "--workdir", directory, "--", "pwd"))
        self.assertIn("/workspace/app/nowhere", self.one_line("exec", sandbox, "--workdir", "nowhere", "--", "true", status=125))
        self.good("exec", "--background", "--workdir", "src", sandbox, "--", "touch", "here")
        self.wait_until_idle(sandbox)
        self.assertIn(" here\n", self.good("ls", sandbox, "src"))

    def test_a_working_directory_that_cannot_be_is_refused(self):
        self.assertEqual("agent-sandbox: --workdir: /nosuch is no directory of the sandbox, and only below /workspace and /tmp can it be made\n",
                         self.one_line("create", "--name", "nowhere", "--workdir", "/nosuch"))
        self.assertEqual("agent-sandbox: no such sandbox: nowhere\n", self.one_line("get", "nowhere"))
        self.assertNotIn("nowhere", self.good("list"))

    def test_a_disk_that_the_server_does_not_have(self):
        self.assertEqual("agent-sandbox: --disk-kind: the server expects one of memory; SANDBOX_DISK_PATH of its operator adds directory\n",
                         self.one_line("create", "--disk-kind", "directory"))

    def test_what_a_command_was_refused_is_told(self):
        sandbox = self.make("--processes", "16", "--disk", "2")
        threads = "import threading, time\nfor _ in range(40): threading.Thread(target=time.sleep, args=(0.1,)).start()"
        status, _, error = self.exec(sandbox, "python3", "-c", threads)
        self.assertEqual(1, status)
        self.assertIn("agent-sandbox: the command seems to have been refused a process or thread: the sandbox may have 16 at once; "
                      "sandbox resize --processes gives more\n", error)
        status, _, error = self.exec(sandbox, "cp", "/usr/bin/python3", "/workspace/copy")
        self.assertEqual(128 + signal.SIGXFSZ, status)
        self.assertIn("agent-sandbox: the command seems to have been refused space: what the sandbox may have on a disk is 2 MB; "
                      "sandbox resize --disk gives more\n", error)

    def test_files_stay_and_arguments_are_the_commands(self):
        self.assertEqual(0, self.exec(self.sandbox, "sh", "-c", "echo kept > file")[0])
        self.assertEqual((0, "kept\n", ""), self.exec(self.sandbox, "cat", "file"))
        self.assertEqual((0, "--json -- -x\n", ""), self.exec(self.sandbox, "echo", "--json", "--", "-x"))

    def test_json(self):
        status, out, error = self.run_it("exec", self.sandbox, "--json", "--", "sh", "-c", "cat; echo bad >&2; exit 5", input=b"good")
        result = json.loads(out)
        self.assertEqual((5, ""), (status, error))
        self.assertEqual(("good", "bad\n", 5, "ended", False),
                         tuple(result[name] for name in ("stdout", "stderr", "exit_code", "state", "stdout_truncated")))

    def interrupted(self, number):
        process = self.start("exec", self.sandbox, "--", "sh", "-c", "echo begun; sleep 50", stdin=subprocess.DEVNULL,
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.read_until(process.stdout.fileno(), b"begun\n")
        process.send_signal(number)
        status = process.wait(time_scale.scaled(20))
        self.assertEqual(b"", process.stderr.read())
        self.wait_until_idle(self.sandbox)
        return status

    def test_signals_end_it_and_the_command(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            with self.subTest(number):
                self.assertEqual(128 + number, self.interrupted(number))

    def interruptible(self, code):
        process = self.start("exec", self.sandbox, "--", "python3", "-c", "import os, signal, time\n" + code, stdin=subprocess.DEVNULL,
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.read_until(process.stdout.fileno(), b"begun\n")
        return process

    def rest(self, process, status):
        out, error = process.communicate(timeout=time_scale.scaled(20))
        self.assertEqual(status, process.returncode, (out, error))
        self.wait_until_idle(self.sandbox)
        return out.decode(), error.decode()

    def test_ctrl_c_is_a_keyboard_interrupt(self):
        process = self.interruptible("try:\n  print('begun', flush=True)\n  while True: time.sleep(0.01)\nexcept KeyboardInterrupt: print('interrupted')")
        process.send_signal(signal.SIGINT)
        self.assertEqual(("interrupted\n", ""), self.rest(process, 130))

    def test_one_that_ignores_it_has_two_seconds_and_a_second_one_ends_it_at_once(self):
        for more, least in (((), 1.9), ((signal.SIGTERM,), 0)):
            process = self.interruptible("signal.signal(signal.SIGINT, lambda *_: os.write(1, b'first\\n'))\nprint('begun', flush=True)\n"
                                         "while True: time.sleep(0.01)")
            started = time.monotonic()
            process.send_signal(signal.SIGINT)
            self.read_until(process.stdout.fileno(), b"first\n")
            for number in more:
                process.send_signal(number)
            self.assertEqual(("", ""), self.rest(process, 130))
            self.assertGreater(time.monotonic() - started, least)

    def test_even_being_killed_ends_the_command(self):
        self.assertEqual(-signal.SIGKILL, self.interrupted(signal.SIGKILL))

    @staticmethod
    def waiting_bytes(pipe):
        return struct.unpack("i", fcntl.ioctl(pipe, termios.FIONREAD, bytes(4)))[0]

    def test_ctrl_c_while_nobody_reads_what_we_write(self):
        process = self.start("exec", self.sandbox, "--", "sh", "-c", "yes | head -c 3000000; sleep 50", stdin=subprocess.DEVNULL,
                             stdout=subprocess.PIPE)
        self.read_until(process.stdout.fileno(), b"y\n")
        self.assertTrue(host_view.wait_until(lambda: self.waiting_bytes(process.stdout) == 65536, 20), self.waiting_bytes(process.stdout))
        process.send_signal(signal.SIGINT)
        self.assertEqual(130, process.wait(time_scale.scaled(20)))
        self.wait_until_idle(self.sandbox)

    def test_who_reads_no_more_ends_it(self):
        process = self.start("exec", self.sandbox, "--", "yes", stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE)
        self.read_until(process.stdout.fileno(), b"y\n")
        process.stdout.close()
        self.assertEqual(141, process.wait(time_scale.scaled(20)))
        self.assertEqual(b"", process.stderr.read())
        self.wait_until_idle(self.sandbox)

    def test_a_sandbox_that_is_deleted_meanwhile(self):
        process = self.start("exec", self.sandbox, "--", "sh", "-c", "echo begun; sleep 50", stdin=subprocess.DEVNULL,
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.read_until(process.stdout.fileno(), b"begun\n")
        self.good("delete", self.sandbox)
        self.assertEqual(143, process.wait(time_scale.scaled(20)))
        self.assertEqual(b"agent-sandbox: the sandbox was deleted\n", process.stderr.read())

    def test_a_sandbox_whose_time_is_over_meanwhile(self):
        process = self.start("exec", self.sandbox, "--", "sh", "-c", "echo begun; sleep 50", stdin=subprocess.DEVNULL,
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.read_until(process.stdout.fileno(), b"begun\n")
        self.good("renew", self.sandbox, "1")
        self.assertEqual(143, process.wait(time_scale.scaled(20)))
        self.assertEqual(b"agent-sandbox: the sandbox's time was over\n", process.stderr.read())


class Background(Command):
    def setUp(self):
        super().setUp()
        self.sandbox = self.make()

    def begin(self, script, *arguments):
        out = self.good("exec", self.sandbox, "--background", *arguments, "--", "sh", "-c", script)
        self.assertRegex(out, r"\A\d+\n\Z")
        return out.strip()

    def test_events(self):
        pid = self.begin("sleep 50")
        lines = self.good("events", self.sandbox).splitlines()
        self.assertRegex(lines[0], r"^AT \(UTC\) +EVENT +WHAT$")
        self.assertRegex(lines[1], r"^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d +created")
        self.assertRegex(lines[2], rf"process_started +pid {pid} .*/sh -c sleep 50$")
        events = json.loads(self.good("events", self.sandbox, "--json"))["events"]
        self.assertEqual(["created", "process_started"], [event["kind"] for event in events])

    def test_logs_of_all_processes(self):
        first = self.begin("echo first; echo err >&2; while ! [ -e /workspace/go ]; do sleep 0.01; done; echo late")
        self.assertTrue(host_view.wait_until(lambda: self.run_it("logs", self.sandbox) == (0, "first\n", "err\n"), 10))
        self.begin("echo second; sleep 50")
        self.assertTrue(host_view.wait_until(lambda: self.run_it("logs", self.sandbox, "--tail", "1") == (0, "second\n", ""), 10))
        self.assertEqual((0, "first\n", "err\n"), self.run_it("logs", self.sandbox, first, "--tail", "5"))
        process = self.start("logs", self.sandbox, "--follow", "--tail", "1", stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
        self.read_until(process.stdout.fileno(), b"second\n")
        self.good("exec", self.sandbox, "--", "touch", "/workspace/go")
        self.read_until(process.stdout.fileno(), b"late\n")
        self.good("delete", self.sandbox)
        self.assertEqual(0, process.wait(time_scale.scaled(20)))

    def test_metrics(self):
        self.begin("sleep 50")
        lines = self.good("metrics", self.sandbox).splitlines()
        self.assertRegex(lines[0], r"^WHAT +NOW +PEAK +LIMIT$")
        self.assertRegex(lines[1], r"^memory +\d+\.\d MB +\d+\.\d MB +\d+\.0 MB$")
        self.assertRegex(lines[2], r"^processor +[\d.e-]+ s +- +[\d.]+ cores?$")
        self.assertRegex(lines[3], r"^processes +\d+ +- +128$")
        self.assertRegex(lines[4], r"^/workspace +0\.0 MB +- +64\.0 MB$")
        self.assertGreaterEqual(json.loads(self.good("metrics", self.sandbox, "--json"))["now"]["processes"], 2)
        self.good("delete", self.sandbox)
        self.assertEqual("the sandbox has ended\n", self.good("metrics", self.sandbox))

    def test_ps_logs_kill(self):
        pid = self.begin("echo out; echo err >&2; sleep 50")
        lines = self.good("ps", self.sandbox).splitlines()
        self.assertRegex(lines[0], r"^PID +STATE +STATUS +STARTED \(UTC\) +TIME +COMMAND$")
        self.assertRegex(lines[1], rf"^{pid} +running +- +\d{{4}}-.*/sh -c echo out; echo err >&2; sleep 50$")
        self.assertTrue(host_view.wait_until(
            lambda: self.run_it("logs", self.sandbox, pid) == (0, "out\n", "err\n"), 10), self.run_it("logs", self.sandbox, pid))
        self.good("kill", self.sandbox, pid, "--signal", "KILL", "--group")
        self.wait_until_idle(self.sandbox)
        self.assertRegex(self.good("ps", self.sandbox), rf"(?m)^{pid} +\w+ +SIGKILL ")
        self.one_line("kill", self.sandbox, pid)

    def test_kill_sends_term_unless_said(self):
        pid = self.begin("trap 'echo heard; exit 0' TERM; echo ready; while :; do sleep 0.05; done")
        self.assertTrue(host_view.wait_until(lambda: "ready" in self.run_it("logs", self.sandbox, pid)[1], 10))
        self.good("kill", self.sandbox, pid)
        self.wait_until_idle(self.sandbox)
        self.assertEqual("ready\nheard\n", self.good("logs", self.sandbox, pid))

    def test_follow(self):
        pid = self.begin("echo first; while [ ! -e go ]; do sleep 0.05; done; echo last")
        process = self.start("logs", self.sandbox, pid, "--follow", stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.read_until(process.stdout.fileno(), b"first\n")
        self.assertEqual(0, self.exec(self.sandbox, "touch", "go")[0])
        self.assertEqual(0, process.wait(time_scale.scaled(20)))
        self.assertEqual((b"last\n", b""), (process.stdout.read(), process.stderr.read()))

    def test_who_follows_may_leave(self):
        pid = self.begin("echo first; sleep 50")
        process = self.start("logs", self.sandbox, pid, "-f", stdout=subprocess.PIPE)
        self.read_until(process.stdout.fileno(), b"first\n")
        process.send_signal(signal.SIGINT)
        self.assertEqual(130, process.wait(time_scale.scaled(20)))
        self.assertEqual([pid], [str(running["pid"]) for running in self.running(self.sandbox)])

    def test_nothing_in_a_table_moves_the_cursor(self):
        self.assertEqual(0, self.exec(self.sandbox, "sh", "-c", "true", "\x1b[2J", "\u202e", "a\nb")[0])
        self.assertEqual(0, self.exec(self.sandbox, "python3", "-c", "open('\\x1b]0;x\\x07\\u202e\\n', 'w')")[0])
        for command, lines in (("ps", 3), ("ls", 2)):
            text = self.good(command, self.sandbox)
            self.assertNotRegex(text, CONTROLS)
            self.assertEqual(lines, text.count("\n"), text)

    def test_a_process_that_is_not_there(self):
        self.one_line("logs", self.sandbox, "4000000")
        self.one_line("kill", self.sandbox, "4000000")
