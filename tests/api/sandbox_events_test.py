"""Events of sandboxes, and what a later server knows about them."""
import threading

import event_stream
import host_view
import live_server
from living_sandbox import Sandbox, SandboxTest


def kinds(answer):
    return [event["kind"] for event in answer.json["events"]]


class Events(SandboxTest):
    def test_the_life_of_a_sandbox(self):
        sandbox = self.make(name="told", limits={"memory_mb": 100})
        ran = sandbox.run(["sh", "-c", "exit 3", "x" * 1000])
        sandbox.change(metadata={"a": "secret"}, timeout_seconds=50)
        self.assertEqual(204, sandbox.delete().status)
        answer = self.client.send("GET", f"{sandbox.path}/events")
        self.assertEqual(["created", "process_started", "process_ended", "changed", "delete_asked", "ended"],
                         kinds(answer))
        events = {event["kind"]: event for event in answer.json["events"]}
        self.assertEqual({sandbox.id}, {event["sandbox_id"] for event in answer.json["events"]})
        created = events["created"]["detail"]
        self.assertEqual(("told", 100, False, []),
                         (created["name"], created["memory_mb"], created["warm"], created["network"]))
        started = events["process_started"]["detail"]
        self.assertEqual((ran["pid"], ["/usr/bin/sh", "-c", "exit 3", "x" * 256], 4),
                         (started["pid"], started["command"], started["words"]))
        self.assertEqual((ran["pid"], "exit_status"),
                         (events["process_ended"]["detail"]["pid"], events["process_ended"]["detail"]["outcome"]["code"]))
        self.assertIsNone(events["process_ended"]["request_id"])
        self.assertEqual({"timeout_seconds": 50, "metadata": ["a"]}, events["changed"]["detail"])
        self.assertEqual("deleted", events["ended"]["detail"]["outcome"]["code"])

    def test_the_end_of_a_sandbox_is_the_last_that_happens(self):
        for _ in range(10):
            sandbox = self.make()
            for _ in range(4):
                sandbox.start(["sleep", "50"])
            sandbox.delete()
            told = kinds(self.client.send("GET", f"{sandbox.path}/events"))
            self.assertEqual(["delete_asked", *["process_ended"] * 4, "ended"], told[-6:], told)

    def test_who_asked(self):
        sandbox = self.make()
        request = "6f9619ff-8b86-4d01-b42d-00c04fc964ff"
        answer = self.client.post({"command": ["true"]}, f"{sandbox.path}/processes", **{"X-Request-ID": request})
        self.assertEqual(200, answer.status, answer)
        answer = self.client.send("GET", f"{sandbox.path}/events?kind=process_started")
        self.assertEqual([request], [event["request_id"] for event in answer.json["events"]])

    def test_files(self):
        sandbox = self.make()
        answers = [
            self.client.post({"make_directory": True}, f"{sandbox.path}/files/workspace/d"),
            self.client.send("PUT", f"{sandbox.path}/files/workspace/d/a", b"x"),
            self.client.send("HEAD", f"{sandbox.path}/files/workspace/d/a"),
            self.client.send("GET", f"{sandbox.path}/files/workspace/d/a"),
            self.client.post({"move_to": "/workspace/b"}, f"{sandbox.path}/files/workspace/d/a"),
            self.client.send("DELETE", f"{sandbox.path}/files/workspace/b"),
            self.client.send("DELETE", f"{sandbox.path}/files/workspace/b")]
        self.assertEqual([201, 201, 200, 200, 200, 204, 404], [answer.status for answer in answers])
        events = self.client.send("GET", f"{sandbox.path}/events").json["events"][1:]
        self.assertEqual([("directory_made", {"path": "/workspace/d"}), ("file_written", {"path": "/workspace/d/a"}),
                          ("file_read", {"path": "/workspace/d/a"}),
                          ("file_moved", {"path": "/workspace/d/a", "move_to": "/workspace/b"}),
                          ("file_removed", {"path": "/workspace/b"})],
                         [(event["kind"], event["detail"]) for event in events])

    def test_pages_from_the_oldest_to_the_newest(self):
        sandbox = self.make()
        for _ in range(3):
            sandbox.run(["true"])
        path = f"{sandbox.path}/events"
        whole = self.client.send("GET", path).json["events"]
        pages, query = [], "?limit=3"
        while query:
            page = self.client.send("GET", path + query).json
            pages += page["events"]
            query = page["next_cursor"] and f"?limit=3&cursor={page['next_cursor']}"
        self.assertEqual(whole, pages)
        sandbox.run(["true"])
        since = self.client.send("GET", f"{path}?cursor={whole[-1]['number']}")
        self.assertEqual(["process_started", "process_ended"], kinds(since))

    def test_the_audit_of_all_sandboxes_newest_first(self):
        first, second = self.make(), self.make()
        second.run(["true"])
        first.delete()
        first.delete()
        self.assertEqual(404, self.client.send("GET", f"{first.path}/events").status)
        audit = self.client.send("GET", "/v1/audit?limit=7").json["events"]
        self.assertEqual([("forgotten", first.id), ("ended", first.id), ("delete_asked", first.id),
                          ("process_ended", second.id), ("process_started", second.id), ("created", second.id),
                          ("created", first.id)], [(event["kind"], event["sandbox_id"]) for event in audit])
        of_one = self.client.send("GET", f"/v1/audit?sandbox={first.id}")
        self.assertEqual(["forgotten", "ended", "delete_asked", "created"], kinds(of_one))
        next_page = self.client.send("GET", f"/v1/audit?sandbox={first.id}&cursor={of_one.json['events'][1]['number']}")
        self.assertEqual(["delete_asked", "created"], kinds(next_page))

    def test_the_kinds_are_those_that_are_described(self):
        document = self.client.send("GET", "/openapi.json").json
        described = document["components"]["schemas"]["SandboxEvent"]["properties"]["kind"]["enum"]
        complaint = self.client.send("GET", "/v1/audit?kind=what").json["detail"]
        self.assertEqual(described, complaint.removeprefix("kind: expected one of ").split(", "))
        for kind in described:
            self.assertEqual(200, self.client.send("GET", f"/v1/audit?kind={kind}").status, kind)

    def test_bad_parameters(self):
        sandbox = self.make()
        for query, complaint in (("kind=what", "kind: expected one of created,"), ("limit=0", "limit: expected"),
                                 ("cursor=x", "cursor: expected"), (f"cursor={1 << 63}", "cursor: expected"), ("from=1", "from")):
            for path in (f"{sandbox.path}/events", "/v1/audit"):
                answer = self.client.send("GET", f"{path}?{query}")
                self.assertEqual(400, answer.status, answer)
                self.assertIn(complaint, answer.json["detail"])


class Follow(SandboxTest):
    environment = {"JOBS_PATH": ":memory:", "SANDBOX_EVENTS_KEPT": "200"}

    def follow(self, path, accept=event_stream.SSE, **headers):
        stream = self.stream("GET", path, accept=accept, **headers)
        self.assertEqual((200, accept), (stream.status, stream.headers["Content-Type"]))
        return stream

    def until(self, stream, kind):
        """Returns the events up to the first of that kind."""
        seen = []
        for event in stream:
            if event["type"] != "heartbeat":
                seen.append(event)
            if event["type"] == "event" and event["data"]["kind"] == kind:
                return seen
        raise AssertionError(f"no {kind}: {seen}")

    def test_what_is_stored_and_what_happens_up_to_the_end(self):
        for accept in (event_stream.SSE, event_stream.NDJSON):
            with self.subTest(accept=accept):
                sandbox = self.make()
                stream = self.follow(f"{sandbox.path}/events", accept)
                self.until(stream, "created")
                sandbox.run(["true"])
                self.until(stream, "process_ended")
                sandbox.delete()
                events = [event for event in stream if event["type"] != "heartbeat"]
                self.assertEqual(["delete_asked", "ended"], [event["data"]["kind"] for event in events[:-1]])
                self.assertEqual(("end", {"reason": "sandbox_ended"}), (events[-1]["type"], events[-1]["data"]))
                # Streamed events equal those of pages.
                stored = self.client.send("GET", f"{sandbox.path}/events").json["events"]
                told = list(self.follow(f"{sandbox.path}/events", accept))
                self.assertEqual(stored, [event["data"] for event in told[:-1]])
                self.assertEqual("end", told[-1]["type"])

    def test_one_that_is_forgotten_while_it_is_followed(self):
        sandbox = self.make()
        stream = self.follow(f"{sandbox.path}/events?kind=changed")
        sandbox.change(metadata={"a": "b"})
        self.until(stream, "changed")
        sandbox.delete()
        sandbox.delete()
        self.assertEqual("end", list(stream)[-1]["type"])

    def test_no_gap_while_much_happens(self):
        sandbox = self.make()
        first = int(self.client.send("GET", "/v1/audit?limit=1").json["events"][0]["number"])
        stream = self.follow(f"/v1/audit?cursor={first}&sandbox={sandbox.id}&limit=3")

        def work():
            with self.server.client() as client:
                for number in range(60):
                    client.send("PUT", f"{sandbox.path}/files/workspace/f{number}", b"x")

        worker = threading.Thread(target=work)
        worker.start()
        events = [event for _, event in zip(range(60), (event for event in stream if event["type"] != "heartbeat"))]
        worker.join()
        self.assertEqual([f"/workspace/f{number}" for number in range(60)], [event["data"]["detail"]["path"] for event in events])

    def test_the_audit_from_now_on_and_from_a_place(self):
        sandbox = self.make()
        sandbox.change(metadata={"a": "b"})
        stream = self.follow("/v1/audit?kind=created")
        other = self.make()
        self.assertEqual([("created", other.id)], [(event["data"]["kind"], event["data"]["sandbox_id"])
                                                   for event in self.until(stream, "created")])
        stream.leave()
        other.change(metadata={"a": "b"})
        again = self.follow("/v1/audit?kind=changed", **{"Last-Event-ID": stream.ids[-1]})
        self.assertEqual([other.id], [event["data"]["sandbox_id"] for event in self.until(again, "changed")])
        whole = self.follow(f"/v1/audit?cursor=0&sandbox={sandbox.id}")
        self.assertEqual(["created", "changed"], [event["data"]["kind"] for event in self.until(whole, "changed")])

    def test_what_the_store_has_dropped_is_said_to_be_lost(self):
        sandbox = self.make()
        number = int(self.client.send("GET", f"{sandbox.path}/events").json["events"][-1]["number"])
        for _ in range(210):
            sandbox.put("/workspace/f", b"x")
        events = self.until(self.follow(f"{sandbox.path}/events?cursor={number}"), "file_written")
        self.assertEqual(["lost", "event"], [event["type"] for event in events])
        # There may be more, since an event of another sandbox may have come in between.
        self.assertGreaterEqual(events[0]["data"]["events"], 10)
        self.assertGreater(events[1]["data"]["number"], number + events[0]["data"]["events"])
        # A follower with a filter has not lost the other events.
        stream = self.follow(f"{sandbox.path}/events?kind=changed")
        sandbox.change(metadata={"a": "1"})
        self.until(stream, "changed")
        for _ in range(5):
            for _ in range(60):
                sandbox.put("/workspace/f", b"x")
            sandbox.change(metadata={"a": "2"})
            self.assertEqual(["event"], [event["type"] for event in self.until(stream, "changed")])

    def test_a_client_that_does_not_read(self):
        sandbox = self.make()
        self.follow(f"{sandbox.path}/events")
        before = host_view.resident_bytes(self.server.pid)
        for _ in range(500):
            self.assertIn(sandbox.put("/workspace/" + "f" * 200, b"x").status, (200, 201, 204))
        self.assertLess(host_view.resident_bytes(self.server.pid) - before, 32 << 20)

    def test_bad_follow(self):
        sandbox = self.make()
        for path in (f"{sandbox.path}/events", "/v1/audit"):
            answer = self.client.send("GET", f"{path}?follow=maybe")
            self.assertEqual(400, answer.status)
            self.assertIn("follow: expected", answer.json["detail"])


class TwoKeys(SandboxTest):
    environment = {"API_KEYS": "first-key,second-key"}

    def test_nobody_reads_what_others_did(self):
        first = self.server.client(Authorization="Bearer first-key")
        second = self.server.client(Authorization="Bearer second-key")
        with first, second:
            made = first.post({}, "/v1/sandboxes").json
            self.assertEqual(["created"], kinds(first.send("GET", f"/v1/sandboxes/{made['id']}/events")))
            self.assertEqual(404, second.send("GET", f"/v1/sandboxes/{made['id']}/events").status)
            self.assertEqual([], kinds(second.send("GET", "/v1/audit")))
            self.assertEqual([], kinds(second.send("GET", f"/v1/audit?sandbox={made['id']}")))
            self.assertEqual(401, self.client.send("GET", "/v1/audit").status)
            self.assertEqual(404, second.send("GET", f"/v1/sandboxes/{made['id']}/events?follow=true").status)
            self.assertEqual(401, self.client.send("GET", "/v1/audit?follow=true").status)
            # Following is covered as well.
            stream = self.stream("GET", "/v1/audit", Authorization="Bearer second-key")
            first.post({}, "/v1/sandboxes")
            own = second.post({}, "/v1/sandboxes").json
            self.assertEqual(own["id"], next(iter(stream))["data"]["sandbox_id"])


class Restart(live_server.KeptJobsTest):
    def test_what_ended_is_known_to_the_next_server(self):
        server = self.start()
        with server.client() as client:
            made = client.post({"name": "kept", "metadata": {"a": "b"}, "env": {"TOKEN": "hidden"}}, "/v1/sandboxes").json
            sandbox = Sandbox(client, made)
            sandbox.delete()
            before = sandbox.now()
            events = client.send("GET", f"{sandbox.path}/events").json
        self.assertEqual(0, server.stop())
        with self.start().client() as client:
            self.assertEqual(before, client.send("GET", f"/v1/sandboxes/{made['id']}").json)
            del before["access_token"]
            self.assertEqual([before], client.send("GET", "/v1/sandboxes").json["sandboxes"])
            self.assertEqual(events, client.send("GET", f"/v1/sandboxes/{made['id']}/events").json)
            # The name is free, and a later one is listed before it.
            later = client.post({"name": "kept"}, "/v1/sandboxes").json
            listed = client.send("GET", "/v1/sandboxes").json["sandboxes"]
            self.assertEqual([later["id"], made["id"]], [each["id"] for each in listed])
            for route in ("processes", "files/workspace"):
                answer = client.send("GET", f"/v1/sandboxes/{made['id']}/{route}")
                self.assertEqual((409, "sandbox_ended"), (answer.status, answer.json["code"]), answer)
        with open(self.path, "rb") as file:
            self.assertNotIn(b"hidden", file.read())

    def test_what_lived_when_the_server_was_killed_has_ended(self):
        server = self.start(JOBS_DURABLE="true")
        with server.client() as client:
            made = client.post({}, "/v1/sandboxes").json
            server.kill()
        server = self.start()
        with server.client() as client:
            now = client.send("GET", f"/v1/sandboxes/{made['id']}").json
            self.assertEqual(("ended", "server_ended", 0), (now["state"], now["outcome"]["code"], now["processes"]))
            self.assertIsNotNone(now["ended_at"])
            self.assertEqual(["created", "ended"], kinds(client.send("GET", f"/v1/sandboxes/{made['id']}/events")))
            self.assertEqual(204, client.send("DELETE", f"/v1/sandboxes/{made['id']}").status)
        self.assertEqual(0, server.stop())
        with self.start().client() as client:
            self.assertEqual(404, client.send("GET", f"/v1/sandboxes/{made['id']}").status)

    def test_what_was_answered_just_before_the_server_was_killed_is_kept(self):
        asked = {"changed": lambda sandbox: sandbox.change(metadata={"a": "new"}), "deleted": Sandbox.delete, "forgotten": Sandbox.delete}
        expected = {"changed": (200, "server_ended", {"a": "new"}), "deleted": (200, "deleted", {"a": "b"}), "forgotten": (404, None, None)}
        for what, ask in asked.items():
            with self.subTest(what):
                server = self.start(JOBS_DURABLE="true")
                with server.client() as client:
                    sandbox = Sandbox(client, client.post({"metadata": {"a": "b"}}, "/v1/sandboxes").json)
                    if what == "forgotten":
                        self.assertEqual(204, sandbox.delete().status)
                    self.assertIn(ask(sandbox).status, (200, 204))
                    server.kill()
                server = self.start()
                with server.client() as client:
                    answer = client.send("GET", sandbox.path)
                    now = answer.json if answer.status == 200 else {"outcome": {"code": None}, "metadata": None}
                    self.assertEqual(expected[what], (answer.status, now["outcome"]["code"], now["metadata"]))
                self.assertEqual(0, server.stop())
