"""What a restart does not bring back: whose settings count for what a server left, and what the host or the operator has no
room for any more."""
import contextlib
import json
import os
import sqlite3

import host_view
import live_server
from return_place import ReturnTest

LONG = {"SANDBOX_MAX_LIFETIME_SECONDS": "3000", "SANDBOX_MAX_PAUSED_SECONDS": "3000"}
SHORT = {"SANDBOX_MAX_LIFETIME_SECONDS": "100", "SANDBOX_MAX_PAUSED_SECONDS": "100"}


class BoundsTest(ReturnTest):
    def waits(self, sandbox, *words):
        """It was not brought back, for a reason that has these words, and its files are kept."""
        now = self.again(sandbox).now()
        self.assertEqual(("ended", "not_restarted"), (now["state"], now["outcome"]["code"]), now)
        for word in words:
            self.assertIn(word, now["outcome"]["cause"])

    def is_back(self, sandbox, name="file"):
        self.assertEqual("kept\n", self.again(sandbox).run(f"cat {name}")["stdout"])

    def make_with_a_file(self, **fields):
        made = self.make(**fields)
        self.assertEqual("", made.run("echo kept > file")["stderr"])
        return made


class Room(BoundsTest):
    def free_mb(self):
        status = os.statvfs(self.place)
        return status.f_bavail * status.f_frsize >> 20

    def test_a_start_with_less_room_than_the_reserve_keeps_them(self):
        self.start()
        made = self.make_with_a_file(name="box")
        self.end("kill")
        self.start(SANDBOX_DISK_RESERVE_MB=str(self.free_mb() + 10_000))
        self.waits(made, "SANDBOX_DISK_RESERVE_MB")
        self.assertIn("no sandbox of an earlier server is brought back", "".join(self.server.log))
        self.assertEqual(1, len(self.disks()))
        self.end("stop")
        self.start()
        self.is_back(made)
        self.assertEqual("box", self.again(made).now()["name"])

    def test_the_reserve_ends_one_that_came_back_and_keeps_its_files(self):
        self.start()
        made, grows = self.make_with_a_file(), self.make_with_a_file()
        self.end("stop")
        reserve = str(self.free_mb() - 500)
        self.start(SANDBOX_DISK_RESERVE_MB=reserve)
        self.is_back(made)
        for sandbox in (made, grows):
            self.assertTrue(host_view.wait_until(lambda: self.used(self.again(sandbox)) > 0, 20))
        self.assertEqual(201, self.again(grows).put("/workspace/more", bytes(5 << 20)).status)
        with open(self.place / "others", "wb") as file:
            os.posix_fallocate(file.fileno(), 0, 1000 << 20)
        for sandbox in (made, grows):
            self.assertTrue(host_view.wait_until(lambda: self.again(sandbox).now()["state"] == "ended", 20))
            self.assertEqual("disk_full", self.again(sandbox).now()["outcome"]["code"])
        self.assertIn("its files are kept", self.again(made).now()["outcome"]["cause"])
        self.assertNotIn("its files are kept", self.again(grows).now()["outcome"]["cause"])
        self.assertEqual("ended", self.kinds(made)[-1])
        self.wait_for_disks(1)
        self.end("stop")
        os.unlink(self.place / "others")
        self.start()
        self.is_back(made)
        self.assertEqual(["ended", "restarted"], [kind for kind in self.kinds(made) if kind in ("ended", "restarted")][-2:])
        self.assertEqual("ended", self.again(grows).now()["state"])


class WhatTheOperatorAllows(BoundsTest):
    def restart(self, *arguments, **environment):
        self.end("stop")
        self.start(*arguments, **environment)

    def test_a_disk_that_is_too_large_now(self):
        self.start()
        large, small = self.make_with_a_file(disk_mb=300), self.make_with_a_file(disk_mb=20)
        self.restart(SANDBOX_MAX_DISK_MB="20")
        self.waits(large, "SANDBOX_MAX_DISK_MB")
        self.is_back(small)
        self.restart()
        self.is_back(large)

    def test_memory_that_is_too_much_now(self):
        self.start()
        made = self.make_with_a_file()
        config = self.place / "agent-sandbox.json"
        config.write_text(json.dumps({"ceilings": {"memory_limit_mb": 100}}), encoding="utf-8")
        self.restart("--config", str(config), SANDBOX_MEMORY_LIMIT_MB="64")
        self.waits(made, "ceilings.memory_limit_mb")
        self.restart()
        self.is_back(made)

    def test_more_than_may_live_now(self):
        self.start()
        made = [self.make_with_a_file(name=f"box{number}") for number in range(3)]
        # Where there are two keys, sandboxes of one may be at most half of all.
        self.restart(SANDBOX_MAX_LIVING="3")
        self.is_back(made[0])
        self.is_back(made[1])
        self.waits(made[2], "SANDBOX_MAX_LIVING", "of its owner")
        self.restart(SANDBOX_MAX_LIVING="1", API_KEYS="first-key")
        self.is_back(made[0])
        for each in made[1:]:
            self.waits(each, "SANDBOX_MAX_LIVING")
        self.assertEqual(204, self.again(made[0]).delete().status)
        self.assertEqual(409, self.client.post({"name": "box1"}, "/v1/sandboxes").status, "the name waits with it")
        self.assertEqual(201, self.client.post({"name": "box0"}, "/v1/sandboxes").status, "one that waits takes no place")
        self.restart()
        self.is_back(made[1])
        self.is_back(made[2])

    def test_a_key_that_was_taken_away(self):
        self.start()
        made, other = self.make_with_a_file(name="box"), self.client_with("second-key")
        url = self.client.post({"path": "/workspace/file"}, f"{made.path}/sign").json["url"]
        path = url[url.index("/v1/"):]
        token = made.made["access_token"]
        answer = other.post({"disk_kind": "directory", "limits": {"disk_mb": 20}}, "/v1/sandboxes")
        self.assertEqual(201, answer.status, answer)
        self.restart(API_KEYS="second-key")
        other = self.client_with("second-key")
        self.assertEqual("running", other.send("GET", f"/v1/sandboxes/{answer.json['id']}").json["state"])
        self.assertEqual(404, other.send("GET", made.path).status)
        with self.server.client() as nobody:
            for asked in (nobody.send("GET", path), nobody.send("GET", f"{made.path}/ports/8000/", **{"X-Access-Token": token})):
                self.assertEqual((409, "sandbox_ended"), (asked.status, asked.json["code"]), asked)
        self.assertEqual(2, len(self.disks()))
        self.restart()
        self.is_back(made)
        with self.server.client() as nobody:
            self.assertEqual(b"kept\n", nobody.send("GET", path).body)
        # Without keys everybody sees all of them.
        del self.environment["API_KEYS"]
        self.restart()
        self.is_back(made)


class Records(BoundsTest):
    def change(self, statement):
        """What somebody has done to the file of the jobs."""
        with contextlib.closing(sqlite3.connect(self.place / "jobs.sqlite")) as database:
            database.execute(statement)
            database.commit()

    def test_records_that_cannot_be_read_are_told(self):
        self.start()
        made = self.make_with_a_file()
        self.end("stop")
        self.change("CREATE TABLE copies AS SELECT id, record FROM sandboxes")
        self.change("UPDATE sandboxes SET record = x'00ff'")
        self.start()
        told = [line for line in self.server.log if "records of sandboxes cannot be read" in line]
        self.assertEqual(1, len(told), self.server.log)
        self.assertIn("sandboxes=1", told[0])
        self.end("stop")
        self.assertEqual(1, len(self.disks()))
        self.change("UPDATE sandboxes SET record = (SELECT record FROM copies WHERE copies.id = sandboxes.id)")
        self.start()
        self.is_back(made)

    def test_the_id_of_a_volume_leads_nowhere_else(self):
        self.start()
        self.assertEqual(201, self.client.post({"name": "data", "size_mb": 20}, "/v1/volumes").status)
        self.end("stop")
        other = self.place / "disks" / "other"
        other.mkdir()
        os.chown(other, (self.place / "disks").stat().st_uid, -1)
        for state in range(3):
            self.change(f"UPDATE volumes SET id = '../other', state = {state}")
            self.start()
            self.client.send("DELETE", "/v1/volumes/data")
            self.end("stop")
            self.assertTrue(other.exists(), state)


class OtherServers(BoundsTest):
    def pass_time(self, seconds):
        """As if what the server left had been there for so long."""
        kept, = (self.place / "disks").glob("kept-*")
        for path in (kept, kept / "kept-until"):
            date = path.stat().st_mtime - seconds
            os.utime(path, (date, date))

    def let_another_one_remove(self, **environment):
        other = live_server.LiveServer(environment={**self.environment, **environment, "JOBS_PATH": str(self.place / "other.sqlite")})
        self.addCleanup(other.stop)
        self.assertEqual(0, other.stop())

    def test_the_settings_of_the_server_that_left_them_count(self):
        self.start(**LONG)
        made = self.make_with_a_file()
        self.end("kill")
        self.pass_time(1000)
        self.let_another_one_remove(**SHORT)
        self.start(**LONG)
        self.is_back(made)
        self.end("stop")
        self.start(**SHORT)
        self.end("stop")
        self.pass_time(1000)
        self.let_another_one_remove(**LONG)
        self.assertEqual([], self.disks())


if __name__ == "__main__":
    live_server.main()
