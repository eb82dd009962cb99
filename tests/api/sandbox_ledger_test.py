"""Acknowledged changes are there, whatever happens: clients write to files of several sandboxes and keep a ledger
while processes are killed, disks are full, output floods and sandboxes are paused. Others are answered meanwhile,
what ends says why, and nothing is left."""
import concurrent.futures
import http.client
import io
import json
import os
import random
import tarfile
import threading

import host_view
import live_server
import time_scale
from event_stream import NDJSON, Stream
from host_view import kill, name_of
from ledger import APPEND, APPENDER, Writer, files_below
from living_sandbox import Sandbox, SandboxTest, init_of
from sandbox_watch import WatchTest
from server_snapshot import Snapshot, assert_nothing_left, settled

# The number of times that one sandbox is paused and resumed.
PAUSES = int(os.environ.get("JAIL_TEST_PAUSES", "100"))


class LedgerTest(SandboxTest):
    environment = {"JOBS_PATH": ":memory:", "SANDBOX_POOL_SIZE": "0"}

    def setUp(self):
        super().setUp()
        self.writers = []
        # After this everything exists that the server makes once.
        self.make().delete()
        self.rest()
        self.before = Snapshot(self.server)

    def rest(self):
        """Waits until nothing comes or goes by itself any more."""
        self.wait_for(lambda: len(self.server.processes()) == 1)

    def write_to(self, sandbox, count=1, **more):
        """Starts writers, and waits until they have begun."""
        begun = [Writer(self.server, sandbox, seed=len(self.writers) + number, **more) for number in range(count)]
        self.writers += begun
        for writer in begun:
            writer.start()
        return begun

    def go_on(self, operations=20, writers=None):
        """Waits until this many more operations have been acknowledged to each."""
        writers = self.writers if writers is None else writers
        wanted = {writer: writer.acknowledged + operations for writer in writers}
        self.assertTrue(host_view.wait_until(lambda: all(writer.acknowledged >= least or not writer.goes_on
                                                         for writer, least in wanted.items()), 40),
                        {writer.directory: writer.acknowledged for writer in writers})
        for writer in writers:
            self.assertTrue(writer.goes_on, (writer.failure, writer.refusals, writer.cut_short))

    def finish(self, *sandboxes):
        """Checks the ledgers and deletes the sandboxes; nothing is left then."""
        for writer in self.writers:
            writer.finish()
        for sandbox in sandboxes:
            self.assertEqual("running", sandbox.now()["state"])
        for writer in self.writers:
            if writer.sandbox.id in [sandbox.id for sandbox in sandboxes]:
                writer.check(sandbox=Sandbox(self.client, writer.sandbox.made))
        for sandbox in sandboxes:
            self.assertEqual(204, sandbox.delete().status)
            self.assert_ended(sandbox, "deleted")
        self.rest()
        assert_nothing_left(self, self.before, settled(self.server, self.before))

    def assert_ended(self, sandbox, code):
        now = sandbox.now()
        self.assertEqual(("ended", code), (now["state"], (now["outcome"] or {}).get("code")), now)
        self.assertTrue(now["outcome"]["cause"])

    def named(self, name):
        return [pid for pid in host_view.descendants(os.getpid()) if name_of(pid) == name]


class Killed(LedgerTest):
    # Writes a file beside the one that it replaces, and tells its number when that is done.
    RECORDS = """
import os, sys
for number in range(10**9):
    with open('beside', 'wb') as file:
        file.write(b'%09d\\n' % number * 20_000)
    os.rename('beside', str(number % 20))
    print(number, flush=True)
"""

    def killed_records(self, sandbox):
        """Kills the program on the host while it writes. Returns the number of the last record that it reported."""
        process = sandbox.start(["python3", "-c", self.RECORDS, "records"], working_directory="/workspace/records")
        process.says("30\n")
        kill(self.on_host("records"))
        ended = process.ended()
        self.assertEqual(("signal", "SIGKILL"), (ended["outcome"]["code"], ended["signal"]))
        self.assertTrue(ended["outcome"]["cause"])
        output = process.output(max(0, ended["output_to"] - 1000))
        return int("".join(piece["data"] for piece in output["pieces"]).splitlines()[-1])

    def test_programs_in_the_middle_of_a_write(self):
        sandbox, other = self.make(), self.make()
        self.write_to(other)
        sandbox.act("/workspace/records", make_directory=True)
        for _ in range(5):
            last = self.killed_records(sandbox)
            found = files_below(sandbox, "/workspace/records")
            for number in range(last - 19, last + 1):
                expected = [b"%09d\n" % each * 20_000 for each in (number, number + 20)[:1 + (number == last - 19)]]
                self.assertIn(found[str(number % 20)], expected, number)
        self.go_on()
        self.finish(sandbox, other)

    def test_programs_that_append(self):
        """Input that was taken is there when they are killed in the middle of it, and so is everything before."""
        sandbox, other = self.make(), self.make()
        self.write_to(sandbox)
        self.write_to(other)
        expected = b"first\n" * 1000
        self.assertEqual(201, sandbox.put("/workspace/appended", expected).status)
        for number in range(5):
            process = sandbox.start([*APPEND, "/workspace/appended"], keep_stdin_open=True)
            self.assertEqual(204, process.post("stdin", data=f"{number}\n" * 1000).status)
            expected += f"{number}\n".encode() * 1000
            self.assertTrue(host_view.wait_until(lambda: sandbox.get("/workspace/appended").body == expected, 20))
            kill([pid for pid in self.on_host(APPENDER) if host_view.alive(pid)])
            self.assertEqual("SIGKILL", process.ended()["signal"])
            self.assertEqual(expected, sandbox.get("/workspace/appended").body)
        self.go_on()
        self.finish(sandbox, other)

    def test_an_init(self):
        sandboxes = [self.make() for _ in range(3)]
        for sandbox in sandboxes:
            self.write_to(sandbox, 2)
        sandboxes[0].start(["sleep", "5601"])
        self.go_on()
        kill([init_of(self.started_on_host("5601"))])
        self.go_on(writers=self.writers[2:])
        self.wait_until_ended(sandboxes[0])
        self.assert_ended(sandboxes[0], "killed")
        for writer in self.writers[:2]:
            writer.finish()
            self.assertEqual({"sandbox_ended"}, set(writer.refusals))
        self.finish(*sandboxes[1:])

    def test_a_launcher(self):
        """The jails that it has made live on, and end like those of another launcher."""
        sandboxes = [self.make(), self.make()]
        for sandbox in sandboxes:
            self.write_to(sandbox)
        self.go_on()
        for _ in range(3):
            launchers = self.server.launchers()
            kill(launchers)
            self.wait_for(lambda launchers=launchers: not any(map(host_view.alive, launchers)))
            self.go_on(5)
            sandboxes.append(self.make())
            self.write_to(sandboxes[-1])
        self.go_on()
        self.finish(*sandboxes)

    def test_launchers_while_sandboxes_are_made(self):
        """Every request gets a sandbox, from the next launcher if need be."""
        made, goes_on = [0] * 3, True

        def make_and_delete(caller):
            with self.server.client() as client:
                while goes_on:
                    answer = client.post({}, "/v1/sandboxes")
                    self.assertEqual(201, answer.status, answer)
                    self.assertEqual(204, Sandbox(client, answer.json).delete().status)
                    made[caller] += 1

        with concurrent.futures.ThreadPoolExecutor(len(made)) as pool:
            callers = [pool.submit(make_and_delete, caller) for caller in range(len(made))]
            try:
                for _ in range(30):
                    # Each asks for the next one then, so that nobody meets two launchers that are killed.
                    least = [count + 2 for count in made]
                    self.wait_for(lambda least=least: all(count >= few for count, few in zip(made, least)) or any(
                        caller.done() for caller in callers), 20)
                    kill(self.server.launchers())
            finally:
                goes_on = False
            for caller in callers:
                caller.result()
        self.rest()


class Zygotes(live_server.SteadyPools, LedgerTest):
    environment = {"JOBS_PATH": ":memory:", "SANDBOX_POOL_SIZE": "2"}

    def rest(self):
        self.wait_for(self.pools_are_full)
        # Each process has its final name, and none that has ended waits for its parent.
        self.wait_for(lambda: all(line.startswith(("/", "jail-")) for line in self.server.processes().values()))

    def test_a_zygote(self):
        sandboxes = [self.make(template="python"), self.make()]
        for sandbox in sandboxes:
            self.write_to(sandbox)
        self.go_on()
        for _ in range(3):
            self.wait_until_warm()
            hosts = self.named("jail-template")
            kill([pid for host in hosts for pid in host_view.descendants(host) if host_view.parent_of(pid) == host])
            self.wait_for(lambda hosts=hosts: not any(map(host_view.alive, hosts)))
            self.go_on(5)
        self.finish(*sandboxes)


class Full(LedgerTest):
    def test_a_disk_that_is_full_again_and_again(self):
        sandbox, other = self.make(limits={"disk_mb": 1}), self.make()
        writers = self.write_to(sandbox, 2, max_bytes=200_000)
        self.write_to(other)

        def often():
            return all(writer.refusals["disk_full"] >= 10 for writer in writers)

        self.assertTrue(host_view.wait_until(lambda: often() or not all(writer.goes_on for writer in writers), 40))
        self.go_on()
        for writer in writers:
            self.assertEqual({"disk_full"}, set(writer.refusals))
            self.assertLessEqual(set(writer.cut_short), {"exit_status"})
        self.assertEqual({}, self.writers[-1].refusals)
        self.finish(sandbox, other)

    def test_what_is_said_of_it(self):
        sandbox = self.make(limits={"disk_mb": 1})
        self.assertEqual(201, sandbox.put("/workspace/file", b"a" * 600_000).status)
        self.assert_problem(507, "disk_full", sandbox.put("/workspace/file", b"b" * 600_000), "does not fit")
        ran = sandbox.run("head -c 600000 /dev/zero > more; echo $?; rm more; mv file moved; cat moved | tr -d a | wc -c")
        self.assertEqual("1\n0\n", ran["stdout"])
        self.assertIn("No space left on device", ran["stderr"])
        self.assertEqual(b"a" * 600_000, sandbox.get("/workspace/moved").body)
        self.finish(sandbox)


class Many(LedgerTest):
    def test_ten_thousand_files(self):
        """Made by requests, by an archive and by a program; found by an archive, one by one, and by a program."""
        sandbox, other = self.make(), self.make()
        self.write_to(other)
        rounds = random.Random(5)
        files = {f"{number:05}": rounds.randbytes(rounds.randrange(300)) for number in range(10_000)}
        names = sorted(files)
        for name in names[:1000]:
            self.assertEqual(201, sandbox.put(f"/workspace/many/{name}", files[name]).status)
        packed = io.BytesIO()
        with tarfile.open(fileobj=packed, mode="w") as tar:
            for name in names[1000:9000]:
                info = tarfile.TarInfo(name)
                info.size = len(files[name])
                tar.addfile(info, io.BytesIO(files[name]))
        answer = sandbox.put("/workspace/many", packed.getvalue(), **{"Content-Type": "application/x-tar"})
        self.assertEqual(200, answer.status, answer)
        rest = {name: files[name].hex() for name in names[9000:]}
        sandbox.put("/workspace/rest", json.dumps(rest).encode())
        sandbox.python("import json\nfor name, content in json.load(open('rest')).items():\n"
                       "    open(f'many/{name}', 'wb').write(bytes.fromhex(content))")
        self.assertTrue(files == files_below(sandbox, "/workspace/many"))
        for name in rounds.sample(names, 200):
            self.assertEqual(files[name], sandbox.get(f"/workspace/many/{name}").body)
        self.assertEqual((10_000, False), (lambda page: (len(page["entries"]), page["truncated"]))(
            sandbox.get("/workspace/many", "?list=true").json))
        self.go_on()
        self.assertEqual(204, sandbox.remove("/workspace/many", "?recursive=true").status)
        self.finish(sandbox, other)


class Floods(LedgerTest, WatchTest):
    def test_a_gigabyte_that_nobody_reads(self):
        sandbox, other = self.make(), self.make()
        self.write_to(sandbox, runs_commands=False)  # which would let what has ended be forgotten
        self.write_to(other)
        before = host_view.resident_bytes(self.server.pid)
        process = sandbox.start(["python3", "-c", "import os\nfor number in range(1 << 14): os.write(1, b'%07d\\n' % number * (1 << 13))"])
        self.go_on()
        ended = process.ended(120)
        self.assertEqual((0, 1 << 30), (ended["exit_code"], ended["output_to"]))
        output = process.output()
        kept = "".join(piece["data"] for piece in output["pieces"])
        self.assertEqual((1 << 30, output["next"]), (output["lost_bytes"] + len(kept), ended["output_to"]))
        self.assertTrue(kept and kept == "".join(f"{number:07}\n" * (1 << 13) for number in range(1 << 14)[-8:])[-len(kept):])
        most = (64 if host_view.has_sanitizer(self.server.pid) else 32) << 20
        self.assertLess(host_view.resident_bytes(self.server.pid) - before, most)
        self.finish(sandbox, other)

    def test_a_storm_of_events_that_nobody_reads(self):
        sandbox, other = self.make(), self.make()
        streams = [self.watch(sandbox, recursive="true") for _ in range(4)]
        self.write_to(sandbox, 2)
        self.write_to(other)
        before = host_view.resident_bytes(self.server.pid)
        storm = sandbox.start(["python3", "-uc", """
import os
print('blows')
while True:
    for number in range(50): os.makedirs(f'storm/{number}/b')
    for number in range(50): os.removedirs(f'storm/{number}/b')
"""])
        storm.says("blows")
        self.go_on(60)
        self.assertEqual(204, storm.delete().status)
        most = (64 if host_view.has_sanitizer(self.server.pid) else 32) << 20
        self.assertLess(host_view.resident_bytes(self.server.pid) - before, most)
        for writer in self.writers:
            writer.finish()
        sandbox.run("rm -rf storm")
        # Lost events were reported, and new ones come.
        self.until_quiet(sandbox, streams[0])
        for stream in streams:
            stream.leave()
        self.finish(sandbox, other)


class Paused(LedgerTest):
    def test_again_and_again_under_load(self):
        """Requests for files wake it; a program that counts goes on where it was."""
        sandbox, other = self.make(), self.make()
        counts = sandbox.start(["python3", "-uc", "import time\nfor number in range(10**9): print(number); time.sleep(0.005)"])
        counts.says("1\n")
        writers = self.write_to(sandbox, 2)
        self.write_to(other)
        states = set()
        for number in range(PAUSES):
            answer = sandbox.ask_to("pause")
            self.assertEqual(200, answer.status, answer)
            states.add(answer.json["state"])
            # Commands of the writers may be all that waits, and wake nobody.
            answer = sandbox.ask_to("resume") if number % 2 else sandbox.get("/workspace", "?list=true")
            self.assertEqual(200, answer.status, answer)
            if number % 10 == 0:
                self.go_on(1)
        self.assertIn("paused", states)
        self.go_on()
        for writer in writers:
            self.assertEqual(({}, {}), (writer.refusals, writer.cut_short))
        at = len(counts.text())
        self.assertTrue(host_view.wait_until(lambda: len(counts.text()) > at, 20))
        for writer in self.writers:
            writer.finish()  # whose commands would let it be forgotten
        self.assertEqual(204, counts.delete().status)
        numbers = counts.text().splitlines()
        self.assertEqual([str(number) for number in range(len(numbers) - 1)], numbers[:-1])
        self.finish(sandbox, other)


class Expected:
    """The states that the next server may report for a sandbox: that it ended for one of these reasons, None where
    it is forgotten, with one of these notes. More than one as long as what was asked last has no answer."""

    def __init__(self):
        self.codes, self.notes, self.acknowledged = {"server_ended"}, ["0"], 1

    def ask(self, ask, status, code=None, note=None):
        """Returns whether it was done."""
        codes, notes = ({code} if code else self.codes), ([note] if note else self.notes)
        self.codes, self.notes = self.codes | codes, self.notes + notes
        answer = ask()
        if answer.status != status:
            raise AssertionError(f"expected {status}: {answer}")
        self.codes, self.notes, self.acknowledged = codes, notes, self.acknowledged + 1


class Lives(threading.Thread):
    """Makes sandboxes, changes, pauses, deletes and forgets them until there is no server any more."""

    def __init__(self, server, seed):
        super().__init__(daemon=True)
        self.client, self.known, self.failure, self._seed = server.client(), {}, None, seed

    @property
    def acknowledged(self):
        return sum(expected.acknowledged for expected in list(self.known.values()))

    def run(self):
        try:
            for number in range(8):
                self._one(number, random.Random(f"{self._seed} {number}").randrange(5))
        except (OSError, http.client.HTTPException):
            pass
        except Exception as failure:  # pylint: disable=broad-exception-caught # the test raises it
            self.failure = failure
        finally:
            self.client.close()

    def _one(self, number, fate):
        answer = self.client.post({"metadata": {"note": "0"}}, "/v1/sandboxes")
        if answer.status != 201:
            raise AssertionError(f"expected 201: {answer}")
        sandbox, expected = Sandbox(self.client, answer.json), Expected()
        self.known[sandbox.id] = expected
        for _ in range(2):
            expected.ask(lambda: sandbox.ask(["setsid", "sleep", "5621"], background=True), 201)
        expected.ask(lambda: sandbox.change(metadata={"note": f"{number + 1}"}), 200, note=f"{number + 1}")
        if fate == 0:
            expected.ask(lambda: sandbox.ask_to("pause"), 200)
        if fate >= 2:
            expected.ask(sandbox.delete, 204, code="deleted")
        if fate >= 4:
            expected.ask(sandbox.delete, 204, code="forgotten")


class KilledServer(live_server.KeptJobsTest):
    def left_behind(self):
        """Returns the processes that killed servers left behind: this process is their reaper."""
        own = {self.server.pid, *self.server.processes()}
        return {pid: line for pid, line in host_view.descendants(os.getpid()).items() if pid not in own}

    def check(self, client, known):
        for identity, expected in known.items():
            answer = client.send("GET", f"/v1/sandboxes/{identity}")
            if answer.status == 404:
                self.assertIn("forgotten", expected.codes)
                continue
            self.assertEqual(("ended", 0), (answer.json["state"], answer.json["processes"]))
            self.assertIn(answer.json["outcome"]["code"], expected.codes, (answer, expected.notes))
            self.assertIn(answer.json["metadata"]["note"], expected.notes, (answer, expected.codes))
            self.assertTrue(answer.json["outcome"]["cause"] and answer.json["ended_at"])
            kinds = [event["kind"] for event in client.send("GET", f"/v1/sandboxes/{identity}/events").json["events"]]
            self.assertEqual(("created", 1), (kinds[0], kinds.count("ended")), kinds)

    def one_life(self, target, without_launcher):
        """Runs a server that is killed once the Lives have got `target` answers. Returns what its callers know."""
        server = self.start(JOBS_DURABLE="true")
        mounts, files = host_view.mounts(), os.listdir(server.temporary)
        callers = [Lives(server, f"{target} {number}") for number in range(3)]
        with server.client() as client:
            written = Sandbox(client, client.post({"metadata": {"note": "0"}}, "/v1/sandboxes").json)
            stream = Stream(server.port, "GET", f"{written.path}/watch", accept=NDJSON)
            self.addCleanup(stream.close)
            callers.append(Writer(server, written, 1))
            for caller in callers:
                caller.start()

            def come(count):
                # Without the writer's, which is so fast that few sandboxes might be known by then.
                return host_view.wait_until(lambda: sum(caller.acknowledged for caller in callers[:-1]) >= count, 40)

            self.assertTrue(come(target // 2))
            if without_launcher:
                kill(server.launchers())
            self.assertTrue(come(target))
            server.kill()
        for caller in callers:
            caller.join(time_scale.scaled(60))
            self.assertFalse(caller.is_alive())
            if caller.failure:
                raise caller.failure
        self.assertTrue(host_view.wait_until(lambda: not self.left_behind(), 10), self.left_behind())
        self.assertEqual(mounts, host_view.mounts())
        self.assertEqual(files, os.listdir(server.temporary))
        self.assertEqual(set(), host_view.cgroups_of(server.pid))
        return {written.id: Expected()} | {identity: expected for caller in callers[:-1] for identity, expected in caller.known.items()}

    def test_what_lived_is_known_and_gone(self):
        rounds, known = random.Random(7), {}
        for number in range(4):
            known |= self.one_life(rounds.randrange(10, 120), without_launcher=number % 2 == 1)
            server = self.start()
            with server.client() as client:
                self.check(client, known)
            self.assertEqual(0, server.stop())
        self.assertEqual({"deleted", "server_ended", "forgotten"}, {code for expected in known.values() for code in expected.codes})
        self.assertEqual(["jobs.sqlite", "lessons.sqlite"], sorted(os.listdir(self.directory)))
