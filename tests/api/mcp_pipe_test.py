"""`agent-sandbox mcp`: the Model Context Protocol on standard input and output, by its own client from npm and by hand."""
import json
import os
import select
import signal
import subprocess
import tempfile
import threading
import unittest

import host_view
import live_server
import mcp_client
import time_scale

MOST_LINE_BYTES = 16 << 20


class PipeTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="agent-sandbox-mcp.")
        self.addCleanup(folder.cleanup)
        self.directory = folder.name
        # Started as root the program works as another user.
        os.chmod(self.directory, 0o755)
        self.environment = {"PATH": os.environ["PATH"], "HOME": self.directory, "SANDBOX_ROOTFS": "host"}

    def start(self, **streams):
        usual = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        process = subprocess.Popen([live_server.BINARY, "mcp"], cwd=self.directory, env=self.environment, **{**usual, **streams})
        self.addCleanup(self.end, process)
        return process

    def end(self, process):
        process.kill()
        process.wait()
        for stream in (process.stdin, process.stdout, process.stderr):
            if stream is not None and not stream.closed:
                stream.close()

    def all_answers(self, *lines):
        """Returns the answers to a client that writes everything and then closes its end."""
        process = self.start()
        output, errors = process.communicate(b"".join(lines), timeout=time_scale.scaled(60))
        self.assertEqual(0, process.returncode, errors)
        return [json.loads(line) for line in output.splitlines()]

    def say(self, process, message):
        process.stdin.write(line_of(message))
        process.stdin.flush()

    def hear(self, process):
        """Returns the next answer; ends the process where there is none."""
        patience = threading.Timer(time_scale.patience(30), process.kill)
        patience.start()
        line = process.stdout.readline()
        patience.cancel()
        self.assertTrue(line.endswith(b"\n"), "there was no answer")
        return json.loads(line)

    def call(self, process, number, tool, **arguments):
        self.say(process, request(number, "tools/call", {"name": tool, "arguments": arguments}))

    def ask(self, process, tool, **arguments):
        self.call(process, 1, tool, **arguments)
        answer = self.hear(process)
        self.assertEqual(1, answer["id"])
        result = answer["result"]
        self.assertFalse(result["isError"], result)
        return result["structuredContent"]


def line_of(message):
    return json.dumps(message).encode() + b"\n"


def request(number, method, params=None):
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": params or {}}


class Clients(PipeTest):
    def test_the_official_client(self):
        calls = [{"name": "execute_code", "arguments": {"code": "print(6*7)"}},
                 {"name": "create_sandbox", "arguments": {"name": "mine"}},
                 {"name": "run_command", "arguments": {"sandbox": "mine", "command": "echo grüße; exit 3"}}]
        finished, answers = mcp_client.run(self, live_server.BINARY, calls, env=self.environment, cwd=self.directory)
        self.assertEqual(0, finished.returncode, finished.stderr)
        first, code, made, ran = answers
        self.assertEqual("agent-sandbox", first["server"]["name"])
        self.assertIn("execute_code", [tool["name"] for tool in first["tools"]])
        self.assertEqual("42\n", code["structuredContent"]["stdout"])
        self.assertEqual("mine", made["structuredContent"]["name"])
        self.assertEqual(("grüße\n", 3), (ran["structuredContent"]["stdout"], ran["structuredContent"]["exit_code"]))

    def test_the_official_inspector(self):
        options = {"env": self.environment, "cwd": self.directory}
        done = mcp_client.inspect(self, "tools/call", live_server.BINARY, "mcp", tool="execute_code", code="print(6*7)", options=options)
        self.assertEqual((False, "42\n"), (done["isError"], done["structuredContent"]["stdout"]))

    def test_all_is_answered_when_the_input_ends(self):
        code = request("code", "tools/call", {"name": "execute_code", "arguments": {"code": "import time; time.sleep(.3); print(1)"}})
        notification = {"jsonrpc": "2.0", "method": "notifications/initialized"}
        last = line_of(request(2, "ping"))[:-1]
        answers = self.all_answers(line_of(code), line_of(notification), b"\r\n", last)
        self.assertEqual(2, len(answers), answers)
        results = {answer["id"]: answer["result"] for answer in answers}
        self.assertEqual({2, "code"}, set(results))
        self.assertEqual("1\n", results["code"]["structuredContent"]["stdout"])

    def test_what_is_no_message_is_refused_and_the_next_is_answered(self):
        answers = self.all_answers(b"{\n", b"[]\n", b"\xff\xfe\n", line_of(request(1, "none")), line_of(request(2, "ping")))
        refused = sorted(answer["error"]["code"] for answer in answers if answer["id"] is None)
        self.assertEqual([-32700, -32700, -32600], refused)
        self.assertEqual({1: -32601}, {answer["id"]: answer["error"]["code"] for answer in answers if answer["id"] == 1})
        self.assertIn({"jsonrpc": "2.0", "id": 2, "result": {}}, answers)

    def test_a_line_without_end_is_refused_and_the_next_is_answered(self):
        long, fits = b"x" * (MOST_LINE_BYTES + 1), b" " * MOST_LINE_BYTES
        answers = self.all_answers(long, long, b"\n", fits + b"\n", line_of(request(2, "ping")))
        self.assertEqual([(None, f"a line is at most {MOST_LINE_BYTES} bytes")],
                         [(answer["id"], answer["error"]["message"]) for answer in answers if "error" in answer])
        self.assertEqual([2], [answer["id"] for answer in answers if "result" in answer])

    def test_more_than_are_done_at_a_time(self):
        answers = self.all_answers(*(line_of(request(number, "tools/list")) for number in range(300)))
        self.assertEqual(list(range(300)), sorted(answer["id"] for answer in answers))


class Life(PipeTest):
    def test_a_call_is_cancelled_and_not_answered(self):
        process = self.start()
        made = self.ask(process, "create_sandbox")
        self.call(process, 7, "run_command", sandbox=made["id"], command="sleep 3600")
        self.say(process, request(8, "ping"))
        self.assertEqual(8, self.hear(process)["id"])
        self.assertTrue(host_view.wait_until(lambda: self.processes_of(process, made["id"]) == 1, time_scale.patience(20)))
        self.say(process, {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 7}})
        self.assertTrue(host_view.wait_until(lambda: self.processes_of(process, made["id"]) == 0, time_scale.patience(20)))

    def processes_of(self, process, sandbox):
        """Each answer belongs to the last request: the call that was cancelled was not answered."""
        return self.ask(process, "get_sandbox", sandbox=sandbox)["processes"]

    def test_a_signal_ends_what_runs_and_leaves_nothing(self):
        for number in (signal.SIGTERM, signal.SIGINT):
            process = self.start()
            made = self.ask(process, "create_sandbox")
            self.call(process, 7, "run_command", sandbox=made["id"], command="sleep 3600")
            self.assertTrue(host_view.wait_until(lambda: self.processes_of(process, made["id"]) == 1, time_scale.patience(20)))
            children = list(host_view.descendants(process.pid))
            process.send_signal(number)
            self.assertEqual(0, process.wait(time_scale.scaled(20)))
            self.assertTrue(host_view.wait_until(lambda: not any(os.path.exists(f"/proc/{pid}") for pid in children), time_scale.patience(20)))

    def test_a_client_that_goes_away_ends_it(self):
        process = self.start()
        made = self.ask(process, "create_sandbox")
        self.call(process, 7, "run_command", sandbox=made["id"], command="sleep 3600")
        process.stdout.close()
        process.stdin.close()
        self.assertEqual(0, process.wait(time_scale.scaled(20)))

    def test_a_signal_ends_it_though_nobody_reads(self):
        unread, written = os.pipe()
        self.addCleanup(os.close, unread)
        self.addCleanup(os.close, written)
        process = self.start(stdout=written)
        for number in range(200):
            self.say(process, request(number, "tools/list"))
        self.assertTrue(host_view.wait_until(lambda: not select.select([], [written], [], 0)[1], time_scale.patience(20)), "the pipe is never full")
        process.send_signal(signal.SIGTERM)
        self.assertEqual(0, process.wait(time_scale.scaled(20)))

    def test_only_answers_go_to_standard_output(self):
        self.environment["LOG_LEVEL"] = "debug"
        process = self.start()
        output, errors = process.communicate(line_of(request(1, "tools/call", {"name": "create_sandbox", "arguments": {}})),
                                             timeout=time_scale.scaled(30))
        self.assertEqual(1, len(output.splitlines()), output)
        self.assertIn(b"sandbox ended", errors)

    def test_mistakes_on_the_command_line(self):
        for arguments, said in ((["--config", "/nonexistent"], b"/nonexistent"), (["extra"], b"extra"), (["--port", "1"], b"--port")):
            finished = subprocess.run([live_server.BINARY, "mcp", *arguments], cwd=self.directory, env=self.environment,
                                      stdin=subprocess.DEVNULL, capture_output=True, check=False, timeout=time_scale.scaled(20))
            self.assertNotEqual(0, finished.returncode)
            self.assertEqual(b"", finished.stdout)
            self.assertIn(said, finished.stderr)
