"""The output of processes in a living sandbox: as events while they run, from any byte on, to readers of any speed."""
import base64
import json
import socket
import threading
import time

import host_view
import time_scale
from event_stream import NDJSON, SSE, Stream
from living_sandbox import SandboxTest

KEPT = 256 << 10
# 64 MiB, and in a file how many pieces of 64 KiB are written so far.
FLOOD = ("import os\n"
         "count = os.open('count', os.O_CREAT | os.O_WRONLY)\n"
         "for number in range(1024):\n"
         "    os.write(1, b'%07d\\n' % number * 8192)\n"
         "    os.pwrite(count, b'%d' % (number + 1), 0)\n")
FLOODED = 1024 * 65536
NUMBERS = "import os\nfor number in range(131072): os.write(1, b'%07d\\n' % number)\nos.write(2, b'the end')"


class OutputTest(SandboxTest):
    def setUp(self):
        super().setUp()
        self.sandbox = self.make()

    def started(self, command, accept=SSE, **fields):
        """The stream of a process in the foreground."""
        return self.stream("POST", f"{self.sandbox.path}/processes", {"command": command, **fields}, accept)

    def attached(self, process, start=0, accept=SSE, encoding="utf-8"):
        return self.stream("GET", f"{process.path}/output?from={start}&encoding={encoding}", accept=accept)

    def written_so_far(self):
        return int(self.sandbox.get("/workspace/count").body or b"0")

    def wait_until_it_stands_still(self):
        """Waits until FLOOD has made no progress for a whole second. Returns how far it came."""
        seen = [-1]

        def stands_still():
            seen.append(self.written_so_far() if self.sandbox.get("/workspace/count").status == 200 else -1)
            time.sleep(1)
            return seen[-1] == seen[-2] > 0

        self.assertTrue(host_view.wait_until(stands_still, 30), seen)
        return seen[-1]

    def assert_no_more_memory(self, before):
        most = (64 if host_view.has_sanitizer(self.server.pid) else 32) << 20
        self.assertLess(host_view.resident_bytes(self.server.pid) - before, most)

    def unread(self, method, path, body=b"", room=None):
        """Returns a connection on which events were requested, of which nobody reads any, with room for this many
        bytes."""
        connection = socket.socket()
        self.addCleanup(connection.close)
        connection.settimeout(time_scale.scaled(10))
        if room is not None:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, room)
        connection.connect(("127.0.0.1", self.server.port))
        connection.sendall(f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                           f"Accept: {NDJSON}\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body)
        return connection

    @staticmethod
    def lines_of(connection):
        """The events on it, to the last one."""
        events = []
        for line in connection.makefile("rb"):
            if line.startswith(b"{"):
                events.append(json.loads(line))
                if events[-1]["type"] == "exit":
                    break
        return events


class Live(OutputTest):
    def test_from_start_to_end(self):
        for accept in (SSE, NDJSON):
            stream = self.started("echo out; until [ -e go ]; do sleep 0.02; done; rm go; echo err >&2; exit 3", accept)
            events = []
            for event in stream:
                events.append(event)
                if event["type"] == "stdout":  # which comes while the process runs
                    self.sandbox.put("/workspace/go", b"")
            self.assertEqual((200, accept), (stream.status, stream.headers["Content-Type"]))
            self.assertEqual([1, 2, 3, 4], [event["seq"] for event in events])
            self.assertEqual(["started", "stdout", "stderr", "exit"], [event["type"] for event in events])
            self.assertEqual(["out\n", "err\n"], [event["data"] for event in events[1:3]])
            started, ended = events[0]["data"], events[-1]["data"]
            self.assertEqual(("running", "ended", started["pid"]), (started["state"], ended["state"], ended["pid"]))
            self.assertEqual((3, "exit_status"), (ended["exit_code"], ended["outcome"]["code"]))
            self.assertEqual(ended, self.client.send("GET", f"{self.sandbox.path}/processes/{ended['pid']}").json)

    def test_what_is_refused_is_a_problem(self):
        for command, code in ((["no-such-command"], "command_not_found"), ([], "bad_request")):
            stream = self.started(command)
            self.assertEqual((400, "application/problem+json"), (stream.status, stream.headers["Content-Type"]))
            self.assertEqual(code, json.loads(stream.response.read())["code"])

    def test_characters_are_not_cut_and_base64_is_untouched(self):
        text = "aüß€😀z"
        command = ["python3", "-c", f"import os, time\nfor b in {text.encode()!r}:\n"
                   "  os.write(1, bytes([b])); time.sleep(0.01)"]
        self.assertEqual(text, self.said(self.events_of(self.started(command))))
        events = self.events_of(self.started(command, output_encoding="base64"))
        self.assertEqual(text.encode(), b"".join(
            base64.b64decode(event["data"]) for event in events if event["type"] == "stdout"))

    def test_it_is_not_cut(self):
        events = self.events_of(self.started(["python3", "-c", NUMBERS]))
        self.assertEqual("".join(f"{number:07}\n" for number in range(131072)), self.said(events, "stdout"))
        self.assertEqual("the end", self.said(events, "stderr"))
        self.assertEqual((1 << 20) + 7, events[-1]["data"]["output_to"])

    def test_a_timeout_is_an_exit(self):
        events = self.events_of(self.started("echo x; sleep 50", timeout_seconds=time_scale.scaled(3)))
        self.assertEqual(("x\n", "timeout_wall"), (self.said(events), events[-1]["data"]["outcome"]["code"]))

    def test_a_reader_who_leaves_ends_it(self):
        stream = self.started("echo ready; sleep 7701")
        events = iter(stream)
        while next(events)["type"] != "stdout":
            pass
        self.wait_for(lambda: self.on_host("7701"))
        stream.leave()
        self.wait_until_gone("7701")
        self.wait_for(lambda: self.sandbox.processes()[0]["state"] == "ended")
        self.assertEqual("cancelled", self.sandbox.processes()[0]["outcome"]["code"])

    def test_who_does_not_read_slows_it_and_loses_nothing(self):
        before = host_view.resident_bytes(self.server.pid)
        connection = self.unread("POST", f"{self.sandbox.path}/processes",
                                 json.dumps({"command": ["python3", "-c", FLOOD]}).encode())
        self.assertLess(self.wait_until_it_stands_still(), 1024)
        self.assert_no_more_memory(before)
        self.assertEqual("".join(f"{number:07}\n" * 8192 for number in range(1024)),
                         self.said(self.lines_of(connection)))

    def test_nothing_is_lost_of_many_small_pieces_either(self):
        # The output is so slow that the server reads each byte by itself.
        code = "import os, time\nfor _ in range(40_000): os.write(1, b'o'); os.write(2, b'e'); time.sleep(0.00002)"
        connection = self.unread("POST", f"{self.sandbox.path}/processes", json.dumps({"command": ["python3", "-c", code]}).encode(), 4096)
        ends = [-1]

        def stands_still():
            ends.append(sum(process["output_to"] for process in self.sandbox.processes()))
            time.sleep(1)
            return ends[-1] == ends[-2] > 0

        self.assertTrue(host_view.wait_until(stands_still, 40), ends)
        events = self.lines_of(connection)
        self.assertEqual(("o" * 40_000, "e" * 40_000), (self.said(events, "stdout"), self.said(events, "stderr")))
        self.assertNotIn("lost", [event["type"] for event in events])

    def test_another_process_is_not_slowed(self):
        self.unread("POST", f"{self.sandbox.path}/processes",
                    json.dumps({"command": ["python3", "-c", FLOOD]}).encode())
        self.wait_until_it_stands_still()
        events = self.events_of(self.started("head -c 8000000 /dev/zero | tr '\\0' x"))
        self.assertEqual(8_000_000, len(self.said(events)))

    def test_descendants_that_go_on_printing_do_not_keep_it_open(self):
        began = time.monotonic()
        events = self.events_of(self.started("yes & echo over >&2"))
        self.assertEqual(("over\n", 0), (self.said(events, "stderr"), events[-1]["data"]["exit_code"]))
        self.assertEqual(0, self.sandbox.run("yes & exit")["exit_code"])
        self.assertLess(time.monotonic() - began, time_scale.scaled(20))

    def test_the_end_of_the_sandbox_ends_the_stream(self):
        stream = self.started("echo ready; sleep 50")
        events = iter(stream)
        while next(events)["type"] != "stdout":
            pass
        self.assertEqual(204, self.sandbox.delete().status)
        last = list(events)[-1]
        self.assertEqual(("exit", "ended"), (last["type"], last["data"]["state"]))


class Background(OutputTest):
    def test_it_is_answered_at_once_and_goes_on(self):
        answer = self.sandbox.ask("echo begun; until [ -e go ]; do sleep 0.02; done; echo over; exit 4",
                                  background=True)
        self.assertEqual((201, "running", True), (answer.status, answer.json["state"], answer.json["background"]))
        path = f"{self.sandbox.path}/processes/{answer.json['pid']}"
        self.assertEqual(path, answer.headers["Location"])
        self.assertEqual("running", self.client.send("GET", path).json["state"])
        self.sandbox.put("/workspace/go", b"")
        self.wait_for(lambda: self.client.send("GET", path).json["state"] == "ended")
        self.assertEqual(4, self.client.send("GET", path).json["exit_code"])
        self.assertEqual({"from": 0, "next": 11, "lost_bytes": 0, "over": True,
                          "pieces": [{"stream": "stdout", "data": "begun\nover\n"}]},
                         self.client.send("GET", f"{path}/output").json)

    def test_its_caller_may_leave(self):
        client = self.server.client()
        pid = client.post({"command": "sleep 0.5; echo over", "background": True},
                          f"{self.sandbox.path}/processes").json["pid"]
        client.close()
        self.wait_for(lambda: self.client.send("GET", f"{self.sandbox.path}/processes/{pid}").json["exit_code"] == 0)

    def test_from_any_byte_on(self):
        process = self.sandbox.start("printf 0123456789; until [ -e go ]; do sleep 0.02; done; printf abc")
        process.says("9")
        for start, text in ((0, "0123456789"), (4, "456789"), (10, "")):
            output = process.output(start)
            self.assertEqual((start, 10, 0, False, text),
                             (output["from"], output["next"], output["lost_bytes"], output["over"],
                                                           "".join(piece["data"] for piece in output["pieces"])))
        self.sandbox.put("/workspace/go", b"")
        process.ended()
        output = process.output(10)
        self.assertEqual((10, 13, True, [{"stream": "stdout", "data": "abc"}]),
                         (output["from"], output["next"], output["over"], output["pieces"]))

    def test_both_streams_in_their_order(self):
        wait = "until [ -e go-%s ]; do sleep 0.02; done"
        process = self.sandbox.start(f"for i in 1 2 3; do echo o$i; {wait % 'o$i'}; echo e$i >&2; {wait % 'e$i'}; done")
        for word in ("o1", "e1", "o2", "e2", "o3", "e3"):
            process.says(f"{word}\n")
            self.sandbox.put(f"/workspace/go-{word}", b"")
        process.ended()
        self.assertEqual([("stdout", "o1\n"), ("stderr", "e1\n"), ("stdout", "o2\n"), ("stderr", "e2\n"),
                          ("stdout", "o3\n"), ("stderr", "e3\n")],
                         [(piece["stream"], piece["data"]) for piece in process.output()["pieces"]])

    def test_base64(self):
        process = self.sandbox.start(["python3", "-c", "import os; os.write(1, bytes(range(256)))"])
        process.ended()
        for start in (0, 100, 255):
            pieces = process.output(start, "base64")["pieces"]
            self.assertEqual(bytes(range(start, 256)), b"".join(base64.b64decode(piece["data"]) for piece in pieces))

    def test_bad_parameters(self):
        process = self.sandbox.start(["true"])
        for query, fragment in (("from=-1", "from"), ("from=x", "from"), ("encoding=latin-1", "encoding"),
                                ("nonsense=1", "nonsense"),
                                ("from=99999999999999999999999", "from")):
            self.assert_bad_field(self.client.send("GET", f"{process.path}/output?{query}"), fragment)

    def test_what_is_lost_is_said(self):
        process = self.sandbox.start(["python3", "-c", NUMBERS])
        self.assertEqual((1 << 20) + 7, process.ended()["output_to"])
        numbers = "".join(f"{number:07}\n" for number in range(131072))
        everything = len(numbers) + len("the end")
        output = process.output()
        out, err = ("".join(piece["data"] for piece in output["pieces"] if piece["stream"] == stream)
                    for stream in ("stdout", "stderr"))
        self.assertEqual((everything - len(out + err), output["from"]), (output["lost_bytes"], output["lost_bytes"]))
        self.assertEqual((everything, True), (output["next"], output["over"]))
        self.assertGreaterEqual(len(out), KEPT // 2)
        self.assertLessEqual(len(out + err), KEPT)
        self.assertTrue(numbers.endswith(out))
        self.assertEqual("the end", err)
        self.assertEqual(process.now()["output_from"], output["from"])
        output = process.output(output["from"] + 8)
        self.assertEqual(0, output["lost_bytes"])
        events = self.events_of(self.attached(process))
        lost = [event["data"] for event in events if event["type"] == "lost"]
        self.assertEqual([everything - len(self.said(events))], lost)

    def test_a_gigabyte_for_nobody(self):
        self.sandbox.start("head -c 10000000 /dev/zero").ended()
        before = host_view.resident_bytes(self.server.pid)
        process = self.sandbox.start(["head", "-c", "1000000000", "/dev/zero"])
        self.assertEqual((0, 1_000_000_000), tuple(process.ended(120)[name] for name in ("exit_code", "output_to")))
        self.assert_no_more_memory(before)


class Followers(OutputTest):
    def test_to_the_end(self):
        for accept in (SSE, NDJSON):
            process = self.sandbox.start("echo one; until [ -e go ]; do sleep 0.02; done; rm go\n"
                                         "echo ü; sleep 0.3; echo three >&2")
            process.says("one")
            stream = self.attached(process, accept=accept)
            self.sandbox.put("/workspace/go", b"")
            events = self.events_of(stream)
            self.assertEqual(("one\nü\n", "three\n"), (self.said(events, "stdout"), self.said(events, "stderr")))
            self.assertEqual(process.now(), events[-1]["data"])

    def test_from_a_byte_on(self):
        process = self.sandbox.start("printf 0123456789; until [ -e go ]; do sleep 0.02; done; printf abc")
        process.says("9")
        streams = [self.attached(process, start) for start in (0, 7, 10)]
        self.sandbox.put("/workspace/go", b"")
        self.assertEqual(["0123456789abc", "789abc", "abc"], [self.said(self.events_of(stream)) for stream in streams])
        self.assertEqual(["exit"], [event["type"] for event in self.events_of(self.attached(process, 13))])

    def test_who_comes_again_goes_on_where_they_were(self):
        process = self.sandbox.start(["python3", "-uc", "import itertools, os, time\nfor number in itertools.count():\n"
                                      "    print('%05d' % number); time.sleep(0.02)\n    if os.path.exists('stop'): break"])
        text = ""
        for _ in range(4):
            stream = self.attached(process, len(text))
            events = iter(stream)
            for _ in range(5):
                text += next(events)["data"]
            stream.leave()
        self.sandbox.put("/workspace/stop", b"")
        text += self.said(self.events_of(self.attached(process, len(text))))
        self.assertEqual("".join(f"{number:05}\n" for number in range(len(text) // 6)), text)

    def test_head_is_answered_at_once(self):
        process = self.sandbox.start(["sleep", "50"])
        began = time.monotonic()
        stream = self.stream("HEAD", f"{process.path}/output")
        self.assertEqual((200, SSE, b""), (stream.status, stream.headers["Content-Type"], stream.response.read()))
        self.assertLess(time.monotonic() - began, time_scale.scaled(5))

    def test_one_who_does_not_read_slows_nobody_and_takes_no_memory(self):
        process = self.sandbox.start(["python3", "-c", "import os\nwhile not os.path.exists('go'): pass\n" + FLOOD])
        before = host_view.resident_bytes(self.server.pid)
        connection = self.unread("GET", f"{process.path}/output")
        beside = self.attached(process)
        said = []
        reader = threading.Thread(target=lambda: said.extend(beside))
        reader.start()
        self.sandbox.put("/workspace/go", b"")
        self.assertEqual((0, FLOODED), tuple(process.ended(60)[name] for name in ("exit_code", "output_to")))
        self.assert_no_more_memory(before)
        reader.join()
        lines = self.lines_of(connection)
        for events in (lines, said):
            self.assertEqual("exit", events[-1]["type"])
            lost = sum(event["data"] for event in events if event["type"] == "lost")
            self.assertEqual(FLOODED, lost + len(self.said(events)))
        self.assertGreater(sum(event["data"] for event in lines if event["type"] == "lost"), FLOODED // 2)

    def test_followers_leave_and_it_goes_on(self):
        process = self.sandbox.start("for i in {1..20}; do echo $i; sleep 0.05; done")
        for _ in range(5):
            stream = self.attached(process)
            next(iter(stream))
            stream.leave()
        self.assertEqual(0, process.ended()["exit_code"])
        self.assertEqual("".join(f"{number}\n" for number in range(1, 21)), process.text())

    def test_a_process_in_the_foreground_is_followed_too(self):
        stream = self.started("echo one; sleep 1; echo two")
        events = iter(stream)
        pid = next(events)["data"]["pid"]
        following = Stream(self.server.port, "GET", f"{self.sandbox.path}/processes/{pid}/output")
        self.addCleanup(following.close)
        self.assertEqual("one\ntwo\n", self.said(self.events_of(following)))
        self.assertEqual("one\ntwo\n", self.said(list(events)))

    def test_the_end_of_the_sandbox_ends_them(self):
        process = self.sandbox.start("echo ready; sleep 50")
        stream = self.attached(process)
        events = iter(stream)
        self.assertEqual("stdout", next(events)["type"])
        self.assertEqual(204, self.sandbox.delete().status)
        self.assertEqual(["exit"], [event["type"] for event in events])

    def test_a_hundred_at_once(self):
        process = self.sandbox.start("until [ -e go ]; do sleep 0.02; done; for i in {1..100}; do echo $i; done")
        streams = [self.attached(process, accept=NDJSON) for _ in range(100)]
        self.sandbox.put("/workspace/go", b"")
        expected = "".join(f"{number}\n" for number in range(1, 101))
        self.assertEqual({expected}, {self.said(self.events_of(stream)) for stream in streams})
