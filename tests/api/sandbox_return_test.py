"""A restart brings back the sandboxes whose /workspace is on the host's disk: what they have again, what is gone, and what
became of the others."""
import http.client
import itertools
import json
import math
import os
import random
import shutil
import threading
import time

import host_view
import live_server
import time_scale
from ledger import files_below
from living_sandbox import moment
from return_place import ReturnTest
from secret_upstream import Authority, Upstream
from webhook_receiver import Receiver


class Return(ReturnTest):
    def test_files_names_and_rights_are_the_same_and_processes_are_gone(self):
        for how in ("stop", "kill", "interrupt"):
            with self.subTest(how):
                self.start()
                made = self.make(name="box", metadata={"a": "b"}, env={"GREETING": "hello"}, idle_seconds=5000, timeout_seconds=3000)
                done = made.run("mkdir -p d/e && head -c 3000000 /dev/urandom > d/e/bytes && chmod 640 d/e/bytes && ln -s e/bytes d/link && "
                         "ln d/e/bytes hard && chmod 0 d/e d && touch -d @5 old")
                self.assertEqual(("", 0), (done["stderr"], done["exit_code"]))
                before = made.now()
                digest = made.run("chmod 700 d d/e; sha256sum < hard; stat -c '%a %h' d/e/bytes; stat -c %Y old; find . | sort")["stdout"]
                running = made.start(["sleep", "1000"])
                made.run("chmod 0 d/e d; chmod 0 /workspace")
                self.assertIn("process_started", self.kinds(made))
                url = self.client.post({"path": "/workspace/old"}, f"{made.path}/sign").json["url"]
                processes = self.server.processes()
                self.end(how)
                self.assertTrue(host_view.wait_until(lambda: not any(host_view.alive(pid) for pid in processes), 10))
                self.start()
                now = self.again(made).now()
                same = [name for name in before if name not in ("processes",)]
                self.assertEqual({name: before[name] for name in same}, {name: now[name] for name in same})
                self.assertEqual("running", now["state"])
                box = self.again(made)
                self.assertEqual([], box.processes())
                self.assertEqual(digest, box.run("chmod 700 d d/e; sha256sum < hard; stat -c '%a %h' d/e/bytes; stat -c %Y old; find . | sort")["stdout"])
                self.assertEqual("hello\n", box.run("echo $GREETING")["stdout"])
                self.assertEqual("0\n", box.run("pgrep -c sleep")["stdout"])
                self.assertEqual(200, self.client.send("GET", f"/v1/sandboxes/box").status)
                self.assertEqual(404, self.client_with("second-key").send("GET", f"/v1/sandboxes/{made.id}").status)
                with self.server.client() as nobody:
                    path = url[url.index("/v1/"):]
                    opened = nobody.send("GET", path)
                    self.assertEqual(200, opened.status, (opened, path))
                    self.assertEqual(409, self.client.post({"name": "box"}, "/v1/sandboxes").status)
                events = self.events(made)
                self.assertEqual(1, [event["kind"] for event in events].count("restarted"), events)
                ended = [event["detail"] for event in events if event["kind"] == "process_ended" and event["detail"]["pid"] == running.pid]
                self.assertEqual(1, len(ended), events)
                if how == "kill":
                    self.assertEqual("server_ended", ended[0]["outcome"]["code"])
                self.assertNotIn("ended", [event["kind"] for event in events])
                self.assertEqual(204, box.delete().status)
                self.wait_for_disks(0)
                self.assertEqual("deleted", box.now()["outcome"]["code"])
                self.server.stop()

    def test_its_volumes_and_its_working_directory_come_back_with_it(self):
        for how in ("stop", "kill"):
            with self.subTest(how):
                self.start()
                self.assertEqual(201, self.client.post({"name": "data", "size_mb": 20}, "/v1/volumes").status)
                made = self.make(name="box", working_directory="/tmp/work", volumes=[{"volume": "data", "path": "/data"}])
                self.assertEqual("", made.run("echo kept > /data/file; echo here > /workspace/file")["stderr"])
                self.end(how)
                self.start()
                again = self.again(made)
                self.assertEqual("kept\nhere\n/tmp/work\n", again.run("cat /data/file /workspace/file; pwd")["stdout"])
                refused = self.client.post({"volumes": [{"volume": "data", "path": "/data"}]}, "/v1/sandboxes")
                self.assertEqual((409, "volume_in_use"), (refused.status, refused.json["code"]), "it has one that writes to it again")
                self.assertEqual(204, self.client.send("DELETE", again.path).status)
                self.assertEqual(204, self.client.send("DELETE", "/v1/volumes/data").status)
                self.end("stop")

    def test_it_comes_back_as_often_as_the_server_does(self):
        self.start()
        made = self.make()
        for number in range(4):
            self.again(made).run(f"echo {number} >> log; sync")
            self.events(made)
            self.end(("stop", "kill")[number % 2])
            self.start()
        self.assertEqual("0\n1\n2\n3\n", self.again(made).run("cat log")["stdout"])
        self.assertEqual(1, len(self.disks()))

    def test_what_was_changed_last(self):
        self.start()
        made = self.make(timeout_seconds=1000, metadata={"a": "old"})
        made.pause()
        self.assertEqual("running", made.ask_to("resume").json["state"])
        self.assertEqual(200, made.change(metadata={"a": "new", "b": "c"}, timeout_seconds=2000, idle_seconds=500).status)
        before = made.now()
        self.end("kill")
        self.start()
        self.assertEqual(before, self.again(made).now())
        self.assertEqual(("running", {"a": "new", "b": "c"}, 500), tuple(before[name] for name in ("state", "metadata", "idle_seconds")))

    def test_files_that_were_acknowledged_are_there_after_a_kill(self):
        self.start()
        made = self.make()
        written = {}

        def write():
            client = self.client_with("first-key")
            try:
                for number in itertools.count():
                    content = os.urandom(random.randrange(100_000))
                    answer = client.send("PUT", f"{made.path}/files/workspace/{number % 40}", content)
                    if answer.status not in (200, 201, 204):
                        return
                    written[str(number % 40)] = content
            except (OSError, http.client.HTTPException):
                pass

        writer = threading.Thread(target=write, daemon=True)
        writer.start()
        self.assertTrue(host_view.wait_until(lambda: len(written) >= 30, 30), len(written))
        self.end("kill")
        writer.join()
        self.start()
        found = files_below(self.again(made), "/workspace")
        different = [name for name, content in written.items() if found[name] != content]
        # The one that had no answer may be there already.
        self.assertLessEqual(len(different), 1, different)
        self.assertLessEqual(len(found.keys() - written.keys()), 1)

    def test_memory_has_ended_with_the_server(self):
        for how in ("stop", "kill"):
            with self.subTest(how):
                self.start()
                made = self.make("memory")
                process = made.start(["sleep", "1000"])
                self.events(made)
                self.end(how)
                self.start()
                now = self.again(made).now()
                self.assertEqual(("ended", "server_ended", "the server ended"), (now["state"], now["outcome"]["code"], now["outcome"]["cause"]))
                events = self.events(made)
                self.assertEqual([process.pid], [event["detail"]["pid"] for event in events if event["kind"] == "process_ended"], events)
                self.assertEqual("ended", events[-1]["kind"])
                self.server.stop()

    def test_many(self):
        self.start()
        made = [self.make(disk_mb=2) for _ in range(30)]
        for number, sandbox in enumerate(made):
            self.assertEqual(201, sandbox.put("/workspace/number", str(number).encode()).status)
        self.end("kill")
        self.start()
        for number, sandbox in enumerate(made):
            self.assertEqual(str(number).encode(), self.again(sandbox).get("/workspace/number").body)
        listed = self.client.send("GET", "/v1/sandboxes?limit=100").json["sandboxes"]
        self.assertEqual([sandbox.id for sandbox in reversed(made)], [each["id"] for each in listed])

    def test_webhooks_hear_of_it(self):
        receiver = Receiver()
        self.addCleanup(receiver.close)
        self.environment["SANDBOX_WEBHOOKS_ALLOW"] = f"http://127.0.0.1:{receiver.port}"
        self.start()
        answer = self.client.post({"url": receiver.url("/hook"), "events": ["restarted", "ended"]}, "/v1/webhooks")
        self.assertEqual(201, answer.status, answer)
        made = self.make()
        self.end("stop")
        self.start()
        self.assertTrue(host_view.wait_until(lambda: receiver.at("/hook"), 20))
        self.assertEqual([("restarted", made.id)], [(each.type, each.json["data"]["sandbox_id"]) for each in receiver.at("/hook")])

    def test_its_token_opens_its_ports(self):
        self.start()
        made = self.make(name="ports")
        renewed = self.client.send("POST", f"{made.path}/token").json["access_token"]
        self.end("kill")
        self.start()
        box = self.again(made)
        self.assertEqual(renewed, box.now()["access_token"])
        box.start(["python3", "-m", "http.server", "8000"])
        with self.server.client() as nobody:
            def opened(token):
                return nobody.send("GET", f"{made.path}/ports/8000/", **{"X-Access-Token": token}).status
            self.assertTrue(host_view.wait_until(lambda: opened(renewed) == 200, 20))
            self.assertEqual(401, opened(made.made["access_token"]))


class Clocks(ReturnTest):
    def test_time_goes_on_without_a_server(self):
        self.start()
        seconds = math.ceil(time_scale.scaled(4))  # in which the server is killed
        long, short = self.make(timeout_seconds=3000), self.make(timeout_seconds=seconds)
        pauses = self.make(timeout_seconds=seconds, on_timeout="pause")
        self.events(long)
        ends_at = short.now()["ends_at"]
        self.end("kill")
        self.assertTrue(host_view.wait_until(lambda: time.time() > moment(ends_at) + 0.1, seconds + 10))
        self.start()
        now = self.again(short).now()
        self.assertEqual(("ended", "lifetime", ends_at), (now["state"], now["outcome"]["code"], now["ended_at"]))
        self.assertEqual("ended", self.kinds(short)[-1])
        self.assertEqual(long.made["ends_at"], self.again(long).now()["ends_at"])
        self.assertEqual("paused", self.again(pauses).now()["state"])
        self.wait_for_disks(2)
        self.assertEqual("", self.again(pauses).run("ls")["stdout"])

    def test_a_paused_one_is_paused_again(self):
        self.start()
        made = self.make(timeout_seconds=1000, auto_resume=False)
        made.run("echo kept > file")
        before = made.pause()
        self.events(made)
        self.end("kill")
        self.start()
        box = self.again(made)
        now = box.now()
        self.assertEqual(("paused", before["paused_at"]), (now["state"], now["paused_at"]))
        self.assertEqual(before["ends_at"], now["ends_at"])
        self.assertEqual(409, box.ask("true").status)
        self.assertEqual("running", box.ask_to("resume").json["state"])
        self.assertEqual("kept\n", box.run("cat file")["stdout"])
        left = moment(box.now()["ends_at"]) - time.time()
        self.assertTrue(900 < left <= 1000, left)

    def test_the_longest_lifetime_counts_from_the_beginning(self):
        self.start(SANDBOX_MAX_LIFETIME_SECONDS="100")
        made = self.make(timeout_seconds=100)
        self.end("stop")
        self.start(SANDBOX_MAX_LIFETIME_SECONDS="100")
        box = self.again(made)
        self.assertEqual(200, box.change(timeout_seconds=100).status)
        self.assertLessEqual(moment(box.now()["ends_at"]), moment(made.made["created_at"]) + 100.1)


class WhatIsLess(ReturnTest):
    """What a sandbox had and does not get again, and what happens where it cannot come back."""

    def test_secrets_are_in_no_file(self):
        authority = Authority()
        self.addCleanup(authority.remove)
        site = Upstream(authority)
        self.addCleanup(site.stop)
        place = f"localhost:{site.port}"
        self.environment.update(SANDBOX_NETWORK_ENABLED="true", SANDBOX_NETWORK_ALLOW=f"{place},example.org:443",
                                SANDBOX_SECRETS_CA_FILE=str(authority.file))
        self.start()
        secret = {"host": "localhost", "port": site.port, "header": "Authorization", "value": "Bearer never-in-a-file"}
        made = self.make(network={"allow": [place, "example.org:443"], "secrets": [secret]})
        self.end("stop")
        for path in self.place.glob("jobs.sqlite*"):
            self.assertNotIn(b"never-in-a-file", path.read_bytes())
        self.start(SANDBOX_NETWORK_ALLOW=place)
        box = self.again(made)
        self.assertEqual({"allow": [place]}, box.now()["network"])
        detail = [event["detail"] for event in self.events(made) if event["kind"] == "restarted"][0]
        self.assertEqual({"lost_secrets": [f"{place} Authorization"], "lost_network": ["example.org:443"]}, detail)
        self.assertEqual("\n", box.run("echo $SANDBOX_SECRETS_URL")["stdout"])
        self.assertEqual(200, box.change(network={"allow": [place], "secrets": [secret]}).status)
        asked = box.run(f"curl -s $SANDBOX_SECRETS_URL/localhost:{site.port}/x -o /dev/null")
        self.assertEqual(0, asked["exit_code"], asked)
        self.assertIn("Bearer never-in-a-file", [value for _, value in site.requests[-1]["headers"]])

    def test_environment_and_token_leave_the_file_with_it(self):
        self.start()
        made = self.make(env={"HIDDEN": "a-value-of-the-environment"})
        token = made.made["access_token"]
        made.delete()
        self.end("stop")
        text = b"".join(path.read_bytes() for path in self.place.glob("jobs.sqlite*"))
        self.assertIn(made.id.encode(), text)
        for secret in ("a-value-of-the-environment", token):
            self.assertNotIn(secret.encode(), text)

    def test_a_template_that_is_gone(self):
        templates = self.place / "templates"
        templates.mkdir()
        (templates / "mine.json").write_text(json.dumps({"name": "mine", "language": "python", "warmth": "forked"}), encoding="utf-8")
        self.start(SANDBOX_TEMPLATES_DIR=str(templates))
        made = self.make(template="mine", name="box")
        made.run("echo kept > file")
        self.end("stop")
        self.start()
        now = self.again(made).now()
        self.assertEqual(("ended", "not_restarted"), (now["state"], now["outcome"]["code"]), now)
        self.assertIn("template: there is no such one", now["outcome"]["cause"])
        self.assertEqual(1, len(self.disks()))
        self.assertEqual(409, self.client.post({"name": "box"}, "/v1/sandboxes").status)
        self.end("kill")
        self.start(SANDBOX_TEMPLATES_DIR=str(templates))
        self.assertEqual("kept\n", self.again(made).run("cat file")["stdout"])
        self.end("stop")
        self.start()
        self.assertEqual(204, self.again(made).delete().status)
        self.wait_for_disks(0)
        self.end("stop")
        self.start(SANDBOX_TEMPLATES_DIR=str(templates))
        self.assertEqual(404, self.client.send("GET", made.path).status)

    def test_a_place_that_is_not_set_or_is_empty(self):
        self.start()
        made = self.make()
        made.run("echo kept > file")
        self.end("stop")
        for other in ("", str(self.place / "others")):
            self.start(SANDBOX_DISK_PATH=other)
            now = self.again(made).now()
            self.assertEqual(("ended", "not_restarted"), (now["state"], now["outcome"]["code"]), now)
            self.assertIn("SANDBOX_DISK_PATH", now["outcome"]["cause"])
            self.end("stop")
        self.start()
        self.assertEqual("kept\n", self.again(made).run("cat file")["stdout"])

    def test_a_disk_that_has_too_much_is_full(self):
        self.start()
        made, other = self.make(disk_mb=50), self.make(disk_mb=50)
        self.end("stop")
        for directory in (self.place / "disks").glob("*/disk-*"):
            with open(directory / "more", "wb") as file:
                file.write(bytes(60 << 20))
            shutil.chown(directory / "more", directory.stat().st_uid)
        self.start()
        box = self.again(made)
        self.assertTrue(host_view.wait_until(lambda: self.used(box) >= 60 << 20, 20), self.used(box))
        self.assertEqual(507, box.put("/workspace/one", b"more").status)
        self.assertEqual(60 << 20, len(box.get("/workspace/more").body))
        self.assertEqual(204, box.remove("/workspace/more").status)
        self.assertEqual(201, box.put("/workspace/one", b"more").status)
        self.assertEqual("running", box.now()["state"])
        self.assertTrue(host_view.wait_until(lambda: self.used(self.again(other)) >= 60 << 20, 20))
        self.again(other).ask("head -c 20000000 /dev/zero > added; sleep 1000", background=True)
        self.assertTrue(host_view.wait_until(lambda: self.again(other).now()["state"] == "ended", 20))
        self.assertEqual("disk_full", self.again(other).now()["outcome"]["code"])
        self.wait_for_disks(1)

    def test_its_room_counts_what_is_there(self):
        self.start()
        made = self.make(disk_mb=50)
        self.assertEqual(201, made.put("/workspace/most", bytes(40 << 20)).status)
        self.end("kill")
        self.start()
        box = self.again(made)
        self.assertTrue(host_view.wait_until(lambda: self.used(box) >= 40 << 20, 20), self.used(box))
        self.assertEqual(507, box.put("/workspace/more", bytes(20 << 20)).status)


class Others(ReturnTest):
    def test_other_servers_and_other_names_are_left_alone(self):
        self.start()
        made = self.make()
        made.run("echo kept > file")
        volumes = self.place / "disks" / "volumes" / "mine"
        volumes.mkdir(parents=True)
        (volumes / "file").write_text("volume", encoding="utf-8")
        shutil.chown(volumes.parent, (self.place / "disks").stat().st_uid)
        first = self.server
        other = live_server.LiveServer(environment={**self.environment, "JOBS_PATH": ":memory:"})
        self.addCleanup(other.stop)
        self.assertEqual("kept\n", made.run("cat file")["stdout"])
        first.kill()
        # One that comes while the first one is gone.
        third = live_server.LiveServer(environment={**self.environment, "JOBS_PATH": str(self.place / "other.sqlite")})
        self.addCleanup(third.stop)
        self.assertEqual(0, other.stop())
        self.assertEqual(0, third.stop())
        self.start()
        self.assertEqual("kept\n", self.again(made).run("cat file")["stdout"])
        self.assertEqual("volume", (volumes / "file").read_text(encoding="utf-8"))
        self.assertEqual(1, len(list((self.place / "disks").glob("kept-*"))))

    def test_a_copy_of_the_file_gets_no_disk(self):
        self.start()
        made = self.make()
        copy = self.place / "copy.sqlite"
        for path in self.place.glob("jobs.sqlite*"):
            shutil.copy2(path, str(path).replace("jobs", "copy"))
        for path in self.place.glob("copy.sqlite*"):
            shutil.chown(path, (self.place / "jobs.sqlite").stat().st_uid)
        with self.assertRaises(live_server.DidNotStart) as raised:
            live_server.LiveServer(environment={**self.environment, "JOBS_PATH": str(copy)})
        self.assertIn("a copy of the same JOBS_PATH", str(raised.exception))
        self.assertEqual(0, made.run("true")["exit_code"])

    def test_what_nobody_comes_back_for_is_removed(self):
        self.start()
        made = self.make()
        self.end("stop")
        directory, = (self.place / "disks").glob("kept-*")
        stray = directory / "disk-0123456789abcdef0123456789abcdef"
        stray.mkdir()
        (stray / "file").write_text("stray", encoding="utf-8")
        shutil.chown(stray, directory.stat().st_uid)
        outside = self.place / "outside"
        outside.write_text("outside", encoding="utf-8")
        (directory / "disk-link").symlink_to(outside)
        self.start()
        self.assertTrue(host_view.wait_until(lambda: not stray.exists() and not (directory / "disk-link").is_symlink(), 20), self.disks())
        self.assertEqual("outside", outside.read_text(encoding="utf-8"))
        self.assertEqual("running", self.again(made).now()["state"])
        self.assertEqual(204, self.again(made).delete().status)


if __name__ == "__main__":
    live_server.main()
