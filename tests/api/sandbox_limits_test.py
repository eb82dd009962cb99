"""The limits of living sandboxes are changed: what runs in them meanwhile, what is refused, and what a restart makes of it."""
import json

import host_view
from living_sandbox import SandboxTest
from return_place import ReturnTest

# Fills so many megabytes, says so, and waits for a line before each further step.
FILLS = """
import sys
kept = []
for megabytes in sys.argv[1:]:
    kept.append([b'x' * (1 << 20) for _ in range(int(megabytes))])
    print('filled', megabytes, flush=True)
    sys.stdin.readline()
"""
COUNTS_CHILDREN = """
import os, time
children = []
try:
    while len(children) < 300:
        child = os.fork()
        if child == 0: time.sleep(60); os._exit(0)
        children.append(child)
except BlockingIOError: pass
for child in children: os.kill(child, 9)
for child in children: os.waitpid(child, 0)
print(len(children))
"""
SIZES = "df -B1M --output=size /workspace /tmp | tail -2 | xargs"


class Limits(SandboxTest):
    def filler(self, sandbox, *megabytes):
        process = sandbox.start(["python3", "-c", FILLS, *map(str, megabytes)], keep_stdin_open=True)
        process.says(f"filled {megabytes[0]}")
        return process

    def changed(self, sandbox, **limits):
        answer = sandbox.change(limits=limits)
        self.assertEqual(200, answer.status, answer)
        self.assertEqual(limits, {name: answer.json["limits"][name] for name in limits})
        self.assertEqual(answer.json, sandbox.now())
        return answer.json

    def refused(self, sandbox, status, code, words, **limits):
        before = sandbox.now()["limits"]
        answer = sandbox.change(limits=limits)
        self.assert_problem(status, code, answer, words)
        self.assertEqual(before, sandbox.now()["limits"])
        return answer.json

    def test_more_memory_is_there_for_what_runs(self):
        sandbox = self.make(limits={"memory_mb": 128})
        process = self.filler(sandbox, 60, 150)
        self.changed(sandbox, memory_mb=512)
        process.post("stdin", data="\n")
        process.says("filled 150")
        self.assertEqual("running", sandbox.now()["state"])
        metrics = sandbox.client.send("GET", f"{sandbox.path}/metrics").json
        self.assertEqual(512 << 20, metrics["limits"]["memory_bytes"])

    def test_less_memory_holds_for_what_runs(self):
        sandbox = self.make(limits={"memory_mb": 512})
        process = self.filler(sandbox, 40, 200)
        self.changed(sandbox, memory_mb=128)
        process.post("stdin", data="\n")
        self.assertTrue(host_view.wait_until(lambda: sandbox.now()["state"] == "ended", 20))
        outcome = sandbox.now()["outcome"]
        self.assertEqual(("out_of_memory", 128), (outcome["code"], outcome["limit"]["value"]
                                                  if isinstance(outcome["limit"], dict) else outcome["limit"]), outcome)
        self.assertIn("128 MB", outcome["cause"])

    def test_less_memory_than_is_in_use_is_refused(self):
        sandbox = self.make(limits={"memory_mb": 512})
        self.filler(sandbox, 200)
        refusal = self.refused(sandbox, 409, "limit_in_use", "limits: memory_mb", memory_mb=128, processes=100)
        self.assertEqual(128, refusal["limit"])
        self.assertGreater(refusal["used"], 200)
        self.assertEqual("running", sandbox.now()["state"])

    def test_processes(self):
        sandbox = self.make(limits={"processes": 20})
        self.assertEqual("19\n", sandbox.python(COUNTS_CHILDREN)["stdout"])
        self.changed(sandbox, processes=60)
        self.assertEqual("59\n", sandbox.python(COUNTS_CHILDREN)["stdout"])
        # One that began under the higher limit meets the lower one.
        process = sandbox.start(["python3", "-c", "print('ready', flush=True)\ninput()\n" + COUNTS_CHILDREN], keep_stdin_open=True)
        process.says("ready")
        self.changed(sandbox, processes=10)
        process.post("stdin", data="\n", close=True)
        process.ended()
        self.assertEqual("ready\n9\n", process.text())

    def test_fewer_processes_than_there_are_is_refused(self):
        sandbox = self.make(limits={"processes": 60})
        sleepers = sandbox.start("for i in $(seq 20); do sleep 100 & done; echo ready; wait")
        sleepers.says("ready")
        refusal = self.refused(sandbox, 409, "limit_in_use", "limits: processes", processes=10, memory_mb=200)
        self.assertEqual((10, 21), (refusal["limit"], refusal["used"]))
        self.changed(sandbox, processes=21)

    def test_disk(self):
        sandbox = self.make(limits={"disk_mb": 16})
        self.assertNotEqual(0, sandbox.run("head -c 30M /dev/zero > /workspace/file")["exit_code"])
        sandbox.run("rm -f /workspace/file")
        process = sandbox.start("echo ready; read line; for i in 1 2 3; do head -c 15M /dev/zero > $i || exit 1; done; echo done", keep_stdin_open=True)
        process.says("ready")
        self.changed(sandbox, disk_mb=64)
        self.assertEqual("64 64\n", sandbox.run(SIZES)["stdout"])
        process.post("stdin", data="\n")
        process.says("done")
        refusal = self.refused(sandbox, 409, "limit_in_use", "limits: disk_mb: more is in /workspace", disk_mb=16, processes=100)
        self.assertEqual((16, 45), (refusal["limit"], int(refusal["used"])))
        self.assertEqual("64 64\n", sandbox.run(SIZES)["stdout"])
        self.assertEqual(0, sandbox.run("rm 1 2 3; head -c 60M /dev/zero > file; rm file")["exit_code"])
        self.changed(sandbox, disk_mb=16)
        self.assertEqual("16 16\n", sandbox.run(SIZES)["stdout"])

    def test_files_in_memory_stay_within_memory(self):
        sandbox = self.make(limits={"memory_mb": 256, "disk_mb": 200})
        self.changed(sandbox, memory_mb=100)
        self.assertEqual("100 100\n", sandbox.run(SIZES)["stdout"])
        self.changed(sandbox, memory_mb=300)
        self.assertEqual("200 200\n", sandbox.run(SIZES)["stdout"])

    def test_a_paused_one_stays_paused(self):
        sandbox = self.make(limits={"memory_mb": 128})
        process = self.filler(sandbox, 60, 150)
        sandbox.pause()
        self.changed(sandbox, memory_mb=512, disk_mb=32)
        self.assertEqual("paused", sandbox.now()["state"])
        self.refused(sandbox, 409, "limit_in_use", "limits: memory_mb", memory_mb=40)
        self.assertEqual("paused", sandbox.now()["state"])
        process.post("stdin", data="\n")
        process.says("filled 150")

    def test_all_or_nothing_with_the_network(self):
        sandbox = self.make(limits={"memory_mb": 128})
        answer = sandbox.change(limits={"memory_mb": 256}, network={"allow": ["example.org:443"]})
        self.assertEqual(400, answer.status, answer)
        self.assertEqual(128, sandbox.now()["limits"]["memory_mb"])

    def test_bad_input(self):
        sandbox = self.make()
        for limits, words in (({"memory_mb": 31}, "memory_mb"), ({"memory_mb": 1 << 30}, "memory_mb"), ({"memory_mb": "128"}, "memory_mb"),
                              ({"memory_mb": None}, "memory_mb"), ({"memory_mb": 128.5}, "memory_mb"), ({"processes": 0}, "processes"),
                              ({"processes": 1025}, "processes"), ({"processes": []}, "processes"), ({"disk_mb": 0}, "disk_mb"),
                              ({"disk_mb": 1025}, "disk_mb"), ({"disk_mb": True}, "disk_mb"), ({"cpu": 0}, "cpu"), ({"cpu": 4097}, "cpu"),
                              ({"cpu": "1"}, "cpu"), ({"memory": 128}, "memory"), ([], "limits"), (5, "limits"), (None, "limits")):
            with self.subTest(limits):
                before = sandbox.now()
                answer = sandbox.change(limits=limits)
                self.assertEqual(400, answer.status, answer)
                self.assertIn(words, answer.json["detail"])
                self.assertEqual(before, sandbox.now())
        self.assertEqual(200, sandbox.change(limits={}).status)

    def test_processors_take_a_cgroup(self):
        if self.make().made["enforced_by"]["cpu"] == "cgroup":
            self.skipTest("the sandboxes have cgroups")
        answer = self.client.post({"limits": {"cpu": 0.5}}, "/v1/sandboxes")
        self.assert_problem(400, "bad_request", answer, "limits: cpu: the sandboxes of this server have no cgroups")
        self.assertIn("agent-sandbox doctor", answer.json["detail"])
        refusal = self.refused(self.make(), 400, "bad_request", "limits: cpu", cpu=0.5, memory_mb=128)
        self.assertIn("agent-sandbox doctor", refusal["detail"])

    def test_who_may(self):
        ended = self.make()
        ended.delete()
        self.assert_problem(409, "sandbox_ended", ended.change(limits={"memory_mb": 128}), "ended")
        answer = self.client.send("PATCH", "/v1/sandboxes/nosuch", b'{"limits":{"memory_mb":128}}', **{"Content-Type": "application/json"})
        self.assert_problem(404, "no_such_sandbox", answer, "nosuch")

    def test_events(self):
        sandbox = self.make()
        self.changed(sandbox, memory_mb=200, processes=100)
        events = self.client.send("GET", f"{sandbox.path}/events").json["events"]
        changes = [event["detail"] for event in events if event["kind"] == "changed"]
        self.assertEqual([{"limits": {"memory_mb": 200, "processes": 100}}], changes)


class OfOthers(SandboxTest):
    environment = {"JOBS_PATH": ":memory:", "API_KEYS": "first-key,second-key"}

    def test_another_key(self):
        sandbox = self.make(self.client_with("first-key"))
        answer = self.client_with("second-key").send("PATCH", sandbox.path, json.dumps({"limits": {"memory_mb": 128}}).encode(),
                                                     **{"Content-Type": "application/json"})
        self.assert_problem(404, "no_such_sandbox", answer, sandbox.id)
        self.assertEqual(256, sandbox.now()["limits"]["memory_mb"])


class OnDisk(ReturnTest):
    def test_a_directory(self):
        self.start()
        sandbox = self.make(disk_mb=20)
        self.assertEqual(0, sandbox.run("head -c 15M /dev/zero > first")["exit_code"])
        answer = sandbox.change(limits={"disk_mb": 100, "memory_mb": 200, "processes": 50})
        self.assertEqual(200, answer.status, answer)
        self.assertEqual(0, sandbox.run("head -c 60M /dev/zero > second")["exit_code"])
        answer = sandbox.change(limits={"disk_mb": 30})
        self.assertEqual((409, "limit_in_use"), (answer.status, answer.json["code"]), answer)
        answer = sandbox.change(limits={"disk_mb": 90})
        self.assertEqual((200, 90), (answer.status, answer.json["limits"]["disk_mb"]), answer)
        answer = sandbox.change(limits={"disk_mb": 100})
        self.assertEqual(200, answer.status, answer)
        answer = sandbox.change(limits={"disk_mb": 401})
        self.assertEqual((400, "out_of_range"), (answer.status, answer.json["code"]), answer)
        self.assertEqual("running", sandbox.now()["state"])
        limits = sandbox.now()["limits"]
        self.assertEqual((100, 200, 50), (limits["disk_mb"], limits["memory_mb"], limits["processes"]))
        self.end("stop")
        self.start()
        again = self.again(sandbox)
        self.assertEqual(limits, again.now()["limits"])
        self.assertEqual("49\n", again.python(COUNTS_CHILDREN)["stdout"])
        again.delete()
