"""Processes in a living sandbox: started, waited for, written to, signalled, and what they see of each other."""
import base64
import json
import threading
import time

import host_view
import living_sandbox
import time_scale
from living_sandbox import SandboxTest

FIELDS = {"pid", "command", "state", "exit_code", "signal", "outcome", "background", "pty", "warm", "started_at", "ended_at",
          "output_from", "output_to", "cpu_time_ms", "memory_peak_mb"}
OUTPUT = {"stdout", "stderr", "stdout_truncated", "stderr_truncated"}
MEBIBYTE = 1 << 20


class ProcessTest(SandboxTest):
    def setUp(self):
        super().setUp()
        self.sandbox = self.make()

    def refused(self, fragment, command=("true",), **fields):
        self.assert_bad_field(self.sandbox.ask(command, **fields), fragment)


class Foreground(ProcessTest):
    def test_every_field(self):
        ran = self.sandbox.run(["sh", "-c", "echo out; echo err >&2"])
        self.assertEqual(FIELDS | OUTPUT, set(ran))
        self.assertEqual(("ended", 0, None, "success", False, False, "out\n", "err\n", False, False), (
            ran["state"], ran["exit_code"], ran["signal"], ran["outcome"]["code"], ran["background"], ran["pty"],
            ran["stdout"], ran["stderr"], ran["stdout_truncated"], ran["stderr_truncated"]))
        self.assertEqual(["-c", "echo out; echo err >&2"], ran["command"][1:])
        self.assertEqual("/usr/bin/sh", ran["command"][0])
        self.assertEqual((0, 8), (ran["output_from"], ran["output_to"]))
        self.assertGreaterEqual(ran["ended_at"], ran["started_at"])
        self.assertGreaterEqual(ran["cpu_time_ms"], 0)
        self.assertEqual({name: value for name, value in ran.items() if name in FIELDS},
                         self.client.send("GET", f"{self.sandbox.path}/processes/{ran['pid']}").json)

    def test_how_it_ended(self):
        for script, exit_code, signal, code in (("exit 7", 7, None, "exit_status"),
                                                ("kill -SEGV $$", None, "SIGSEGV", "signal"),
                                                ("kill -9 $$", None, "SIGKILL", "signal"),
                                                ("true", 0, None, "success")):
            with self.subTest(script):
                ran = self.sandbox.run(script)
                self.assertEqual((exit_code, signal, code), (ran["exit_code"], ran["signal"], ran["outcome"]["code"]))

    def test_arguments_are_passed_as_they_are(self):
        arguments = ["a b", "", "$HOME", "*", "ü", "'\"\n", "-n"]
        self.assertEqual(f"{arguments}\n", self.sandbox.python("import sys; print(sys.argv[1:])", *arguments)["stdout"])

    def test_a_text_is_a_script(self):
        self.assertEqual("42 B\n", self.sandbox.run("echo $((6*7)) b | tr a-z A-Z")["stdout"])

    def test_the_pid_is_the_one_that_it_sees(self):
        ran = self.sandbox.run(["sh", "-c", "echo $$"])
        self.assertEqual(f"{ran['pid']}\n", ran["stdout"])

    def test_environment(self):
        sandbox = self.make(env={"A": "of the sandbox", "B": "of the sandbox"})
        self.assertEqual("of the sandbox|of the process|\n",
                         sandbox.run('echo "$A|$B|$C"', env={"B": "of the process", "C": ""})["stdout"])
        self.assertEqual("of the sandbox\n", sandbox.run('echo "$B"')["stdout"])

    def test_working_directory(self):
        self.sandbox.run("mkdir -p here && printf '#!/bin/sh\\necho relative' > here/program && chmod +x here/program")
        self.assertEqual("/workspace\n", self.sandbox.run(["pwd"])["stdout"])
        self.assertEqual("/workspace/here\n", self.sandbox.run(["pwd"], working_directory="/workspace/here")["stdout"])
        self.assertEqual("relative\n", self.sandbox.run(["./program"], working_directory="/workspace/here")["stdout"])
        self.assertEqual("relative\n", self.sandbox.run(["here/program"])["stdout"])

    def test_what_is_not_there(self):
        self.assert_problem(400, "command_not_found", self.sandbox.ask(["no-such-command"]), "no-such-command", "PATH")
        self.assert_problem(400, "command_not_found", self.sandbox.ask(["./no-such-command"]), "./no-such-command")
        self.refused("/workspace/nowhere", working_directory="/workspace/nowhere")
        self.assertEqual(127, self.sandbox.run("no-such-command")["exit_code"])
        self.assertEqual("running", self.sandbox.now()["state"])

    def test_a_path_of_its_own_is_searched(self):
        self.sandbox.run("mkdir bin && printf '#!/bin/sh\\necho mine' > bin/own && chmod +x bin/own")
        self.assertEqual("mine\n", self.sandbox.run(["own"], env={"PATH": "/workspace/bin"})["stdout"])

    def test_what_is_refused(self):
        for fragment, fields in (
                ("nonsense", {"nonsense": 1}), ("command", {"command": []}), ("command", {"command": [1]}),
                ("command", {"command": ["a\0"]}),
                ("command", {"command": ["x"] * 257}), ("command", {"command": None}), ("command", {"command": [""]}),
                ("env", {"env": {"A=": ""}}), ("working_directory", {"working_directory": "relative"}),
                ("stdin", {"stdin": 1}),
                ("keep_stdin_open", {"keep_stdin_open": "yes"}), ("pty", {"pty": True}),
                ("columns", {"pty": {"columns": 0, "rows": 24}}),
                ("rows", {"pty": {"columns": 80, "rows": 1001}}), ("nonsense", {"pty": {"nonsense": 1}}),
                ("timeout_seconds", {"timeout_seconds": 0.04}), ("timeout_seconds", {"timeout_seconds": 86401}),
                ("background", {"background": 1}), ("output_encoding", {"output_encoding": "latin-1"})):
            with self.subTest(fields):
                self.refused(fragment, **{"command": ["true"], **fields})
        self.assert_bad_field(self.client.post({}, f"{self.sandbox.path}/processes"), "command")
        self.assertEqual([], self.sandbox.processes())

    def test_input(self):
        self.assertEqual("4 ab\r\nc", self.sandbox.python("import sys; t = sys.stdin.buffer.read().decode(); "
                                                          "sys.stdout.write(str(len(t) - 1) + ' ' + t)",
                                                          stdin="ab\r\nc")["stdout"])
        self.assertEqual("", self.sandbox.run(["cat"])["stdout"])
        text = "line of the input\n" * 50_000
        self.assertEqual(f"{len(text)}\n", self.sandbox.python("import sys; print(len(sys.stdin.read()))",
                                                               stdin=text)["stdout"])
        self.assertEqual("success", self.sandbox.run(["true"], stdin=text)["outcome"]["code"])

    def test_output_that_is_too_long(self):
        ran = self.sandbox.python("import os\nfor i in range(30): os.write(1, b'%d' % (i % 10) * 100_000)\n"
                                  "os.write(2, b'the end')")
        self.assertEqual("".join(str(number % 10) * 100_000 for number in range(30))[:MEBIBYTE], ran["stdout"])
        self.assertEqual((True, "the end", False), (ran["stdout_truncated"], ran["stderr"], ran["stderr_truncated"]))
        self.assertEqual(3_000_007, ran["output_to"])
        ran = self.sandbox.python(f"import sys; sys.stderr.write('x' * {MEBIBYTE})")
        self.assertEqual((MEBIBYTE, False), (len(ran["stderr"]), ran["stderr_truncated"]))

    def test_output_that_is_no_text(self):
        code = r"import os; os.write(1, bytes(range(256))); os.write(2, b'\xff')"
        ran = self.sandbox.python(code, output_encoding="base64")
        self.assertEqual((bytes(range(256)), b"\xff"), (base64.b64decode(ran["stdout"]),
                                                        base64.b64decode(ran["stderr"])))
        self.assertEqual("\ufffd", self.sandbox.python(code)["stderr"])

    def test_timeout(self):
        began = time.monotonic()
        seconds = time_scale.scaled(3)  # in which the shell begins
        ran = self.sandbox.run("echo before; sleep 50", timeout_seconds=seconds)
        self.assertLess(time.monotonic() - began, time_scale.scaled(10))
        self.assertEqual(("before\n", "timeout_wall", seconds, None, "SIGKILL"), (
            ran["stdout"], ran["outcome"]["code"], ran["outcome"]["limit"], ran["exit_code"], ran["signal"]))
        self.assertEqual("42\n", self.sandbox.run("echo $((6*7))")["stdout"])

    def test_usage(self):
        ran = self.sandbox.python("import time\nx = bytearray(b'x') * (40 << 20)\nend = time.process_time() + 0.5\n"
                                  "while time.process_time() < end: pass")
        self.assertGreater(ran["cpu_time_ms"], 450)
        self.assertGreater(ran["memory_peak_mb"], 38)

    def test_a_caller_who_leaves_ends_it(self):
        for accept, word in (("application/json", "6601"), ("text/event-stream", "6602")):
            with self.subTest(accept):
                client = self.server.client()
                connection = client._connection
                connection.request("POST", f"{self.sandbox.path}/processes",
                                   json.dumps({"command": ["sleep", word]}).encode(),
                                   {"Content-Type": "application/json", "Accept": accept})
                self.wait_for(lambda word=word: self.on_host(word))
                client.close()
                self.wait_until_gone(word)
        self.wait_for(lambda: {each["state"] for each in self.sandbox.processes()} == {"ended"})
        self.assertEqual({"cancelled"}, {each["outcome"]["code"] for each in self.sandbox.processes()})


class Together(ProcessTest):
    def test_two_at_once_see_each_others_files(self):
        waiting = self.sandbox.start("until [ -e letter ]; do sleep 0.02; done; cat letter; echo answer > /tmp/answer")
        self.sandbox.run("echo 'dear neighbour' > .letter && mv .letter letter")
        self.assertEqual(0, waiting.ended()["exit_code"])
        self.assertEqual("dear neighbour\n", waiting.text())
        self.assertEqual("answer\n", self.sandbox.run(["cat", "/tmp/answer"])["stdout"])

    def test_files_outlive_processes(self):
        self.sandbox.run("mkdir -p a/b && echo kept > a/b/c && echo too > /tmp/d && chmod 600 a/b/c")
        self.assertEqual("kept\ntoo\n600\n", self.sandbox.run("cat a/b/c /tmp/d; stat -c %a a/b/c")["stdout"])
        self.assertEqual("", self.make().run("ls /workspace /tmp/d 2>/dev/null | grep -v :$ | tr -d '\\n'")["stdout"])

    def test_they_reach_each_other_over_loopback(self):
        server = self.sandbox.start(["python3", "-u", "-c",
                                     "import socket\ns = socket.create_server(('127.0.0.1', 8080))\nprint('listens')\n"
                                     "c = s.accept()[0]; c.sendall(b'hello'); c.close()"])
        server.says("listens")
        self.assertEqual("hello\n", self.sandbox.python(
            "import socket; print(socket.create_connection(('127.0.0.1', 8080)).recv(9).decode())")["stdout"])

    def test_a_daemon_goes_on_and_may_print(self):
        code = ("import os, time\n"
                "if os.fork() == 0:\n"
                "    os.setsid()\n"
                "    if os.fork() == 0:\n"
                "        try:\n"
                "            open('begun', 'w').close()\n"
                "            while not os.path.exists('go'): time.sleep(0.02)\n"
                "            for _ in range(200): os.write(1, b'x' * 4096); os.write(2, b'still here\\n')\n"
                "            open('.fate', 'w').write('printed it all')\n"
                "        except BaseException as error:\n"
                "            open('.fate', 'w').write(repr(error))\n"
                "        os.rename('.fate', 'fate')\n"
                "        time.sleep(50)\n"
                "    os._exit(0)\n"
                "os.wait()\n"
                "print('parent')\n")
        began = time.monotonic()
        ran = self.sandbox.python(code)
        self.assertLess(time.monotonic() - began, time_scale.scaled(20))
        self.assertEqual(("parent\n", 0), (ran["stdout"], ran["exit_code"]))
        self.sandbox.put("/workspace/go", b"")
        self.wait_for(lambda: self.sandbox.get("/workspace/fate").status == 200)
        self.assertEqual(b"printed it all", self.sandbox.get("/workspace/fate").body)

    def test_an_orphan_dies_with_the_sandbox(self):
        sandbox = self.make()
        sandbox.run("setsid sleep 6611 & disown")
        # The shell does not wait until the program that it started in the background is this one.
        self.wait_for(lambda: len(self.on_host("6611")) == 1)
        sandbox.delete()
        self.assertEqual([], self.on_host("6611"))

    def test_many_at_a_time_and_one_more(self):
        sandbox = self.make()
        started = [sandbox.start(["sleep", "50"]) for _ in range(64)]
        self.assertEqual(64, len({process.pid for process in started}))
        self.assertEqual(64, sandbox.now()["processes"])
        self.assert_problem(503, "busy", sandbox.ask(["true"]), "many processes")
        started[0].delete()
        self.assertEqual("42\n", sandbox.run("echo $((6*7))")["stdout"])

    def test_those_that_ended_last_are_listed(self):
        running = self.sandbox.start(["sleep", "50"])
        pids = [self.sandbox.run(["true"])["pid"] for _ in range(40)]
        listed = self.sandbox.processes()
        self.assertEqual({running.pid, *pids[-32:]}, {each["pid"] for each in listed})
        self.assertEqual(["running"], [each["state"] for each in listed if each["pid"] == running.pid])
        self.assertEqual(404, self.client.send("GET", f"{self.sandbox.path}/processes/{pids[0]}").status)
        # It began before all others, and is the last that ends.
        running.delete()
        self.assertEqual(("ended", "SIGKILL"), (running.now()["state"], running.now()["signal"]))
        self.assertEqual({running.pid, *pids[-31:]}, {each["pid"] for each in self.sandbox.processes()})

    def test_many_callers_at_once(self):
        answers = []

        def ask(number):
            with self.server.client() as client:
                sandbox = living_sandbox.Sandbox(client, self.sandbox.made)
                for turn in range(10):
                    answers.append((f"{number} {turn}\n", sandbox.run(f"echo {number} {turn}")["stdout"]))

        threads = [threading.Thread(target=ask, args=(number,)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(80, len(answers))
        self.assertEqual([], [pair for pair in answers if pair[0] != pair[1]])


class Signals(ProcessTest):
    TRAP = "trap 'echo caught; exit 3' TERM; echo ready; while :; do sleep 0.05; done"

    def test_by_name_and_by_number(self):
        for signal in ("SIGTERM", 15):
            process = self.sandbox.start(self.TRAP)
            process.says("ready")
            self.assertEqual(204, process.post("signal", signal=signal).status)
            self.assertEqual((3, None), tuple(process.ended()[name] for name in ("exit_code", "signal")))
            self.assertEqual("ready\ncaught\n", process.text())
            self.assert_problem(409, "process_ended", process.post("signal", signal=signal))

    def test_that_end_it(self):
        for signal in ("SIGKILL", "SIGUSR1"):
            process = self.sandbox.start(["sleep", "50"])
            self.assertEqual(204, process.post("signal", signal=signal).status)
            ended = process.ended()
            self.assertEqual((None, signal, "signal"), (ended["exit_code"], ended["signal"], ended["outcome"]["code"]))

    def test_a_group_or_one(self):
        for group, word in ((False, "6621"), (True, "6622")):
            def asleep(line=f"sleep {word}"):
                """Returns the process itself, without the shell and without its fork, which has the same command
                line before it becomes sleep."""
                return [each for each in self.server.processes().values() if each == line]
            process = self.sandbox.start(f"sleep {word} & echo ready; wait")
            process.says("ready")
            self.wait_for(asleep)
            self.assertEqual(204, process.post("signal", signal="SIGTERM", group=group).status)
            self.assertEqual("SIGTERM", process.ended()["signal"])
            if group:
                self.wait_until_gone(f"sleep {word}")
            else:
                self.assertEqual(1, len(asleep()))

    def test_what_is_refused(self):
        process = self.sandbox.start(["sleep", "50"])
        for fragment, fields in (("signal", {}), ("signal", {"signal": "SIGNONSENSE"}), ("signal", {"signal": 0}),
                                 ("signal", {"signal": 65}),
                                 ("signal", {"signal": "TERM\0"}), ("group", {"signal": 9, "group": 1}),
                                 ("nonsense", {"signal": 9, "nonsense": 1})):
            with self.subTest(fields):
                self.assert_bad_field(process.post("signal", **fields), fragment)
        for pid in ("999999", "0", "-1", "1", "x", str(2**70)):
            answer = self.client.post({"signal": 9}, f"{self.sandbox.path}/processes/{pid}/signal")
            self.assertEqual(404, answer.status, f"{pid}: {answer}")
        self.assertEqual("running", process.now()["state"])

    def test_delete_kills_then_forgets(self):
        process = self.sandbox.start("sleep 6631 & wait")
        self.wait_for(lambda: self.on_host("sleep 6631"))
        self.assertEqual(204, process.delete().status)
        self.wait_until_gone("sleep 6631")
        self.assertEqual("SIGKILL", process.ended()["signal"])
        self.assertEqual([204, 404], [process.delete().status, process.delete().status])
        self.assertEqual([], self.sandbox.processes())


class Input(ProcessTest):
    def test_now_and_later_and_closed(self):
        process = self.sandbox.start(["cat"], stdin="now ", keep_stdin_open=True)
        process.says("now ")
        self.assertEqual(204, process.post("stdin", data="later ü ").status)
        process.says("now later ü ")
        self.assertEqual(204, process.post("stdin", data=base64.b64encode(b"bytes").decode(), encoding="base64").status)
        self.assertEqual("running", process.now()["state"])
        self.assertEqual(204, process.post("stdin", data="the end", close=True).status)
        self.assertEqual(0, process.ended()["exit_code"])
        self.assertEqual("now later ü bytesthe end", process.text())
        self.assertEqual(409, process.post("stdin", data="x").status)

    def test_input_that_is_closed(self):
        process = self.sandbox.start("cat; sleep 50", stdin="all of it")
        process.says("all of it")
        self.assert_problem(409, "input_closed", process.post("stdin", data="more"))
        process = self.sandbox.start("exec <&-; echo shut; sleep 50", keep_stdin_open=True)
        process.says("shut")
        self.assert_problem(409, "input_closed", process.post("stdin", data="more"))

    def test_much_input(self):
        process = self.sandbox.start(["sh", "-c", "wc -c; exec sleep 0"], keep_stdin_open=True)
        for _ in range(3):
            self.assertEqual(204, process.post("stdin", data="x" * MEBIBYTE).status)
        encoded = base64.b64encode(b"x" * MEBIBYTE).decode()
        self.assertEqual(204, process.post("stdin", data=encoded, encoding="base64", close=True).status)
        self.assertEqual(400, process.post("stdin", data=f"{encoded}AAAA", encoding="base64").status)
        process.ended()
        self.assertEqual(f"{4 * MEBIBYTE}\n", process.text())

    def test_one_request_writes_at_a_time(self):
        process = self.sandbox.start(["sleep", "50"], keep_stdin_open=True)
        answers = []

        def write():
            with self.server.client() as client:
                answers.append(client.post({"data": "x" * MEBIBYTE}, f"{process.path}/stdin"))

        thread = threading.Thread(target=write)
        thread.start()
        self.wait_for(lambda: (process.post("stdin", data="").status, answers) == (409, []))
        self.assert_problem(409, "input_busy", process.post("stdin", data="y"))
        process.delete()
        thread.join()
        self.assertEqual(409, answers[0].status, answers)

    def test_what_is_refused(self):
        process = self.sandbox.start(["cat"], keep_stdin_open=True)
        for fragment, fields in (("data", {"data": 1}), ("encoding", {"data": "", "encoding": "latin-1"}),
                                 ("data", {"data": "%", "encoding": "base64"}), ("close", {"data": "", "close": 1}),
                                 ("nonsense", {"data": "", "nonsense": 1})):
            with self.subTest(fields):
                self.assert_bad_field(process.post("stdin", **fields), fragment)
        self.assertEqual(204, process.post("stdin", close=True).status)
        self.assertEqual(("", 0), (process.text(), process.ended()["exit_code"]))


class Terminals(ProcessTest):
    SIZE = {"columns": 80, "rows": 24}

    def test_all_three_streams_are_a_terminal_of_that_size(self):
        ran = self.sandbox.run("stty size; test -t 0 && test -t 1 && test -t 2 && echo yes; echo err >&2",
                               pty={"columns": 81, "rows": 25})
        self.assertEqual(("25 81\r\nyes\r\nerr\r\n", "", True, 0),
                         (ran["stdout"], ran["stderr"], ran["pty"], ran["exit_code"]))

    def test_resize(self):
        process = self.sandbox.start(["python3", "-uc",
                                      "import os, signal\nsignal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGWINCH])\n"
                                      "print('ready')\nsignal.sigwait([signal.SIGWINCH])\n"
                                      "print(*os.get_terminal_size())"], pty=self.SIZE)
        process.says("ready")
        self.assertEqual(204, process.post("resize", columns=132, rows=43).status)
        process.ended()
        self.assertEqual("ready\r\n132 43\r\n", process.text())

    def test_resize_refused(self):
        process = self.sandbox.start(["sleep", "50"])
        self.assert_problem(409, "no_terminal", process.post("resize", columns=80, rows=24))
        process = self.sandbox.start(["sleep", "50"], pty=self.SIZE)
        for fragment, fields in (("columns", {"rows": 24}), ("rows", {"columns": 80}),
                                 ("rows", {"columns": 80, "rows": 0}),
                                 ("columns", {"columns": 1001, "rows": 1}), ("nonsense", {**self.SIZE, "nonsense": 1})):
            with self.subTest(fields):
                self.assert_bad_field(process.post("resize", **fields), fragment)

    def test_keys_are_signals_and_ends(self):
        process = self.sandbox.start(["cat"], pty=self.SIZE)
        self.assertEqual(204, process.post("stdin", data="hello\n").status)
        process.says("hello\r\nhello\r\n")
        self.assertEqual(204, process.post("stdin", data="\x04").status)
        self.assertEqual(0, process.ended()["exit_code"])
        process = self.sandbox.start("echo ready; sleep 50", pty=self.SIZE)
        process.says("ready")
        self.assertEqual(204, process.post("stdin", data="\x03").status)
        self.assertEqual("SIGINT", process.ended()["signal"])

    def test_a_shell_with_jobs(self):
        process = self.sandbox.start(["bash", "--norc", "-i"], pty=self.SIZE, env={"PS1": "> "})
        process.says("> ")
        self.assertEqual(204, process.post("stdin", data="sleep 6641\n").status)
        self.wait_for(lambda: self.on_host("6641"))
        self.assertEqual(204, process.post("stdin", data="\x03echo $((6*7))\n").status)
        process.says("42\r\n")
        self.assertEqual([], self.on_host("6641"))
        self.assertNotIn("no job control", process.text())
        self.assertEqual(204, process.post("stdin", data="exit 5\n").status)
        self.assertEqual(5, process.ended()["exit_code"])

    def test_a_terminal_that_nobody_reads(self):
        process = self.sandbox.start("head -c 3000000 /dev/zero | tr '\\0' x; echo done", pty=self.SIZE)
        self.assertEqual(0, process.ended()["exit_code"])
        self.assertEqual("xxdone\r\n", process.text()[-8:])


class Elsewhere(ProcessTest):
    def test_sandboxes_do_not_see_each_other(self):
        self.sandbox.start(["sleep", "6651"])
        self.assertEqual("", self.make().run("cat /proc/[0-9]*/comm | grep sleep")["stdout"])

    def test_the_server_is_not_there(self):
        ran = self.sandbox.run("cat /proc/[0-9]*/comm")
        self.assertTrue(set(ran["stdout"].split()) <= {"jail-init", "bash", "cat", "jail-process"}, ran["stdout"])

    def test_a_process_of_another_sandbox_is_none_of_this_one(self):
        theirs = self.make().start(["sleep", "50"])
        mine = [each["pid"] for each in self.sandbox.processes()]
        self.assertEqual([], mine)
        self.assertEqual(404, self.client.send("GET", f"{self.sandbox.path}/processes/{theirs.pid}").status)
        self.assertTrue(host_view.wait_until(lambda: theirs.now()["state"] == "running", 5))
