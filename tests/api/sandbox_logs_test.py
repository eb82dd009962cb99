"""GET /v1/sandboxes/{id}/logs: the output of all processes of a sandbox, in the order in which it came."""
import base64
import threading
import urllib.parse

import event_stream
import host_view
import live_server
import time_scale
from living_sandbox import Sandbox, SandboxTest, moment

MOST_OF_A_KEY = 32
# Waits for its turn, which somebody gives by a file.
TURN = "while ! [ -e /workspace/{turn} ]; do sleep 0.01; done"


class LogsTest(SandboxTest):
    def logs(self, sandbox, **query):
        answer = sandbox.client.send("GET", f"{sandbox.path}/logs?{urllib.parse.urlencode(query)}")
        self.assertEqual(200, answer.status, answer)
        return answer.json

    def text(self, sandbox, **query):
        return "".join(entry["data"] for entry in self.logs(sandbox, **query)["entries"])

    def follow(self, sandbox, accept=event_stream.SSE, headers=None, **query):
        stream = self.stream("GET", f"{sandbox.path}/logs?{urllib.parse.urlencode(query)}", accept=accept, **headers or {})
        self.assertEqual((200, accept), (stream.status, stream.headers["Content-Type"]))
        return stream

    def until(self, stream, text):
        """Returns the events up to the one with which `text` was printed."""
        seen, said = [], ""
        for event in stream:
            seen.append(event)
            said += event["data"]["data"] if event["type"] == "log" else ""
            if text in said:
                return seen
        raise AssertionError(f"no {text!r}: {seen}")


class Pages(LogsTest):
    def test_processes_are_told_in_the_order_in_which_they_print(self):
        sandbox = self.make()
        self.assertEqual({"entries": [], "from": 0, "next": 0, "lost_bytes": 0, "has_more": False}, self.logs(sandbox))
        first = sandbox.start(f"echo one; {TURN.format(turn='a')}; echo three; {TURN.format(turn='b')}; echo five >&2")
        first.says("one\n")
        second = sandbox.start(f"echo two; {TURN.format(turn='c')}; echo four")
        second.says("two\n")
        sandbox.put("/workspace/a", b"")
        first.says("three\n")
        sandbox.put("/workspace/c", b"")
        second.says("four\n")
        sandbox.put("/workspace/b", b"")
        first.says("five\n")
        page = self.logs(sandbox)
        self.assertEqual([(first.pid, "stdout", "one\n"), (second.pid, "stdout", "two\n"), (first.pid, "stdout", "three\n"),
                          (second.pid, "stdout", "four\n"), (first.pid, "stderr", "five\n")],
                         [(entry["pid"], entry["stream"], entry["data"]) for entry in page["entries"]])
        self.assertEqual([0, 4, 8, 14, 19], [entry["place"] for entry in page["entries"]])
        times = [moment(entry["at"]) for entry in page["entries"]]
        self.assertEqual(sorted(times), times)
        self.assertEqual((0, 24, 0, False), (page["from"], page["next"], page["lost_bytes"], page["has_more"]))
        self.assertEqual("two\nfour\n", self.text(sandbox, process=second.pid))
        self.assertEqual("five\n", self.text(sandbox, stream="stderr"))
        self.assertEqual("", self.text(sandbox, process=second.pid, stream="stderr"))
        self.assertEqual("", self.text(sandbox, process=1))

    def test_pages(self):
        sandbox = self.make()
        process = sandbox.start("; ".join(f"{TURN.format(turn=turn)}; echo {turn} >&{1 + turn % 2}" for turn in range(6)))
        for turn in range(6):
            sandbox.put(f"/workspace/{turn}", b"")
            process.says(f"{turn}\n")
        whole = self.logs(sandbox)
        self.assertGreater(len(whole["entries"]), 2)
        entries, place = [], 0
        while True:
            page = self.logs(sandbox, **{"from": place, "limit": 2})
            self.assertEqual(place, page["from"])
            self.assertLessEqual(len(page["entries"]), 2)
            entries += page["entries"]
            place = page["next"]
            if not page["has_more"]:
                break
        self.assertEqual(whole["entries"], entries)
        self.assertEqual([], self.logs(sandbox, **{"from": place})["entries"])
        self.assertEqual(place, self.logs(sandbox, **{"from": 10 ** 9})["next"])
        # A page may begin within an entry as well.
        self.assertEqual(self.text(sandbox)[3:], self.text(sandbox, **{"from": 3}))

    def test_the_tail(self):
        sandbox = self.make()
        sandbox.run("seq 100")
        # The streams are checked one by one: nobody knows which of two pipes was written to first.
        sandbox.run("seq 200 210 >&2")
        sandbox.run("printf unfinished")
        self.assertEqual("unfinished", self.text(sandbox, tail=1))
        self.assertEqual("209\n210\nunfinished", self.text(sandbox, tail=3))
        self.assertEqual("99\n100\n", self.text(sandbox, tail=14)[:7])
        self.assertEqual("210\n", self.text(sandbox, tail=1, stream="stderr"))
        self.assertEqual("", self.text(sandbox, tail=0))
        self.assertTrue(self.text(sandbox, tail=10_000).startswith("1\n2\n"))

    def test_bytes_that_are_no_text(self):
        sandbox = self.make()
        sandbox.python(r"""
import os, time
os.write(1, b'\xe2\x82'); os.write(2, b'x'); os.write(1, b'\xac\xff')
""")
        self.assertEqual("€�", self.text(sandbox, stream="stdout"))
        entries = self.logs(sandbox, encoding="base64", stream="stdout")["entries"]
        self.assertEqual(b"\xe2\x82\xac\xff", b"".join(base64.b64decode(entry["data"]) for entry in entries))

    def test_what_a_flood_has_driven_out_is_said_to_be_lost(self):
        sandbox = self.make()
        sandbox.run("echo before")
        flood = sandbox.start("head -c 3000000 /dev/zero | tr '\\0' x; echo; echo last")
        flood.ended()
        self.assertTrue(host_view.wait_until(lambda: "last\n" in self.text(sandbox, tail=1), 20))
        read, lost, place, pages = 0, 0, 0, 0
        while True:
            page = self.logs(sandbox, **{"from": place, "encoding": "base64"})
            size = sum(len(base64.b64decode(entry["data"])) for entry in page["entries"])
            self.assertLessEqual(size, 256 << 10)
            read, lost, place, pages = read + size, lost + page["lost_bytes"], page["next"], pages + 1
            if not page["has_more"]:
                break
        self.assertEqual(7 + 3_000_000 + 6, place)
        self.assertEqual(place, read + lost)
        self.assertGreater(lost, 2_000_000)
        # A process that floods drives out nobody else's output.
        self.assertEqual("before\n", self.logs(sandbox, limit=1)["entries"][0]["data"])

    def test_output_of_forgotten_processes_is_lost(self):
        sandbox = self.make()
        gone = sandbox.start("echo gone")
        gone.ended()
        gone.says("gone\n")
        sandbox.run("echo stays")
        self.assertEqual(204, gone.delete().status)
        page = self.logs(sandbox)
        self.assertEqual((5, ["stays\n"]), (page["lost_bytes"], [entry["data"] for entry in page["entries"]]))

    def test_a_paused_sandbox_tells_and_stays_paused(self):
        sandbox = self.make()
        sandbox.run("echo said")
        sandbox.pause()
        self.assertEqual("said\n", self.text(sandbox))
        self.assertEqual("paused", sandbox.now()["state"])

    def test_the_latest_of_a_sandbox_that_has_ended(self):
        sandbox = self.make()
        sandbox.run("seq 50000")
        ended = sandbox.start("echo by the end; sleep 1000")
        ended.says("by the end\n")
        sandbox.delete()
        page = self.logs(sandbox)
        text = "".join(entry["data"] for entry in page["entries"])
        self.assertTrue(text.endswith("50000\nby the end\n"), text[-100:])
        self.assertLessEqual(len(text), 128 << 10)
        self.assertGreater(len(text), 32 << 10)
        self.assertEqual(page["next"], page["lost_bytes"] + len(text))
        self.assertEqual("by the end\n", self.text(sandbox, tail=1))

    def test_an_ended_sandbox_keeps_few_pieces(self):
        sandbox = self.make()
        sandbox.python("import os\nfor _ in range(4000): os.write(1, b'a'); os.write(2, b'b')")
        sandbox.delete()
        page = self.logs(sandbox)
        self.assertFalse(page["has_more"])
        self.assertEqual(8000, page["lost_bytes"] + sum(len(entry["data"]) for entry in page["entries"]))

    def test_bad_parameters(self):
        sandbox = self.make()
        for query, complaint in (("from=x", "from: expected"), ("limit=0", "limit: expected"), ("process=0", "process: expected"),
                                 ("process=99999999999", "process: expected"), ("stream=stdin", "stream: expected"),
                                 ("tail=-1", "tail: expected"), ("tail=10001", "tail: expected"), ("tail=1&from=0", "tail: expected"),
                                 ("encoding=latin1", "encoding: expected"), ("follow=maybe", "follow: expected"), ("what=1", "what")):
            answer = self.client.send("GET", f"{sandbox.path}/logs?{query}")
            self.assertEqual(400, answer.status, answer)
            self.assertIn(complaint, answer.json["detail"])
        self.assertEqual(404, self.client.send("GET", "/v1/sandboxes/nobody/logs").status)


class Follow(LogsTest):
    def test_what_was_there_and_what_comes(self):
        for accept in (event_stream.SSE, event_stream.NDJSON):
            with self.subTest(accept=accept):
                sandbox = self.make()
                sandbox.run("echo old")
                stream = self.follow(sandbox, accept)
                self.until(stream, "old\n")
                sandbox.run("echo new")
                sandbox.run("echo other >&2")
                self.until(stream, "other\n")
                sandbox.delete()
                events = [event for event in stream if event["type"] != "heartbeat"]
                self.assertEqual([("end", {"reason": "sandbox_ended"})], [(event["type"], event["data"]) for event in events])

    def test_follow_in_the_query_is_enough(self):
        sandbox = self.make()
        sandbox.run("echo old; echo more; echo last")
        stream = self.stream("GET", f"{sandbox.path}/logs?follow=true&tail=1", accept="*/*")
        self.assertEqual(event_stream.SSE, stream.headers["Content-Type"])
        stream.accept = event_stream.SSE
        events = self.until(stream, "last\n")
        self.assertEqual(["last\n"], [event["data"]["data"] for event in events])

    def test_a_client_that_connects_again_goes_on(self):
        sandbox = self.make()
        sandbox.run("echo one")
        stream = self.follow(sandbox)
        self.until(stream, "one\n")
        stream.leave()
        self.assertEqual(["4"], stream.ids)
        sandbox.run("echo two")
        events = self.until(self.follow(sandbox, headers={"Last-Event-ID": stream.ids[-1]}), "two\n")
        self.assertEqual(["two\n"], [event["data"]["data"] for event in events])

    def test_of_one_process_and_stream(self):
        sandbox = self.make()
        wanted = sandbox.start(f"{TURN.format(turn='a')}; echo no; echo yes >&2")
        stream = self.follow(sandbox, process=wanted.pid, stream="stderr")
        sandbox.run("echo other; echo other >&2")
        sandbox.put("/workspace/a", b"")
        events = self.until(stream, "yes\n")
        self.assertEqual([(wanted.pid, "yes\n")], [(event["data"]["pid"], event["data"]["data"]) for event in events])

    def test_what_a_process_prints_as_it_begins_is_not_lost(self):
        sandbox = self.make()
        stream = self.follow(sandbox)
        for _ in range(300):
            sandbox.run(["echo", "printed at once"])
        sandbox.run(["echo", "the last"])
        kinds = {event["type"] for event in self.until(stream, "the last\n")}
        self.assertEqual({"log"}, kinds)

    def test_the_last_words_of_a_sandbox_that_is_ended(self):
        sandbox = self.make()
        stream = self.follow(sandbox)
        process = sandbox.start("echo last words; sleep 1000")
        process.says("last words\n")
        sandbox.delete()
        events = list(stream)
        self.assertEqual("last words\n", "".join(event["data"]["data"] for event in events if event["type"] == "log"))
        self.assertEqual("end", events[-1]["type"])

    def test_a_sandbox_that_has_ended_is_told_to_its_end(self):
        sandbox = self.make()
        sandbox.run("echo said")
        sandbox.delete()
        self.assertEqual(["log", "end"], [event["type"] for event in self.follow(sandbox)])

    def test_a_client_that_does_not_read_takes_no_memory_and_slows_nobody(self):
        sandbox = self.make()
        stream = self.follow(sandbox)
        sandbox.run("echo begin")
        self.until(stream, "begin\n")
        before = host_view.resident_bytes(self.server.pid)
        # 64 MiB, which would take for ever if anybody waited for the client.
        flood = sandbox.start("head -c 67108864 /dev/zero | tr '\\0' x; echo; echo end of flood")
        flood.ended(60)
        most = (64 if host_view.has_sanitizer(self.server.pid) else 32) << 20
        self.assertLess(host_view.resident_bytes(self.server.pid) - before, most)
        events = self.until(stream, "end of flood\n")
        lost = sum(event["data"]["bytes"] for event in events if event["type"] == "lost")
        read = sum(len(event["data"]["data"]) for event in events if event["type"] == "log")
        self.assertGreater(lost, 0)
        self.assertEqual(67_108_864 + 1 + 13, lost + read)

    def test_a_flood_is_told_to_several(self):
        sandbox = self.make()
        streams = [self.follow(sandbox, event_stream.NDJSON) for _ in range(4)]
        sums = [0] * 4

        def read(number):
            for event in streams[number]:
                if event["type"] == "end":
                    return
                if event["type"] == "lost":
                    sums[number] += event["data"]["bytes"]
                elif event["type"] == "log":
                    sums[number] += len(event["data"]["data"])

        threads = [threading.Thread(target=read, args=[number], daemon=True) for number in range(4)]
        for thread in threads:
            thread.start()
        # Several at a time, so that the order between them is put to the test.
        floods = [sandbox.start("i=0; while [ $i -lt 3000 ]; do echo 0123456; echo 0123456 >&2; i=$((i+1)); done")
                  for _ in range(3)]
        for flood in floods:
            flood.ended(60)
        sandbox.delete()
        for thread in threads:
            thread.join(time_scale.scaled(60))
        self.assertEqual([3 * 3000 * 2 * 8] * 4, sums)

    def test_followers_past_their_bound(self):
        sandbox = self.make()
        streams = [self.follow(sandbox) for _ in range(MOST_OF_A_KEY)]
        answer = self.client.send("GET", f"{sandbox.path}/logs?follow=true")
        self.assert_problem(429, "too_many_followers", answer)
        self.assertEqual((MOST_OF_A_KEY, MOST_OF_A_KEY), (answer.json["limit"], answer.json["used"]))
        # Followers of events are counted with them; pages are not.
        self.assert_problem(429, "too_many_followers", self.client.send("GET", "/v1/audit?follow=true"))
        self.assertEqual(200, self.client.send("GET", f"{sandbox.path}/logs").status)
        streams.pop().leave()
        # The end of a follower is noticed when an event is sent.

        def has_room():
            sandbox.run("echo more")
            stream = event_stream.Stream(self.server.port, "GET", f"{sandbox.path}/logs")
            self.addCleanup(stream.close)
            return stream.status == 200

        self.assertTrue(host_view.wait_until(has_room, 20))


class TwoKeys(LogsTest):
    environment = {"JOBS_PATH": ":memory:", "API_KEYS": "first-key,second-key"}

    def test_logs_are_their_keys_alone(self):
        first, second = self.client_with("first-key"), self.client_with("second-key")
        sandbox = self.make(first)
        sandbox.run("echo secret")
        self.assertEqual("secret\n", self.text(sandbox))
        for query in ("", "?follow=true"):
            self.assertEqual(404, second.send("GET", f"{sandbox.path}/logs{query}").status)
            self.assertEqual(401, self.client.send("GET", f"{sandbox.path}/logs{query}").status)


class ServerEnds(live_server.KeptJobsTest):
    def test_a_follower_hears_that_the_server_ends(self):
        server = self.start()
        with server.client() as client:
            sandbox = Sandbox(client, client.post({}, "/v1/sandboxes").json)
            sandbox.run("echo said")
            streams = [event_stream.Stream(server.port, "GET", f"{sandbox.path}/{what}") for what in ("logs", "events")]
            streams.append(event_stream.Stream(server.port, "GET", "/v1/audit?cursor=0"))
            for stream in streams:
                self.assertEqual(200, stream.status)
                next(iter(stream))
        self.assertEqual(0, server.stop())
        for stream in streams:
            last = list(stream)[-1]
            self.assertIn(last["type"], ("end", "error"))
            stream.close()
        # The output of the processes went with the server.
        with self.start().client() as client:
            for query in ("", "?follow=true"):
                answer = client.send("GET", f"{sandbox.path}/logs{query}")
                self.assertEqual((409, "output_gone"), (answer.status, answer.json["code"]))
