"""GET /v1/sandboxes/{id}/metrics: the usage of a sandbox, compared with what its processes do."""
import datetime
import time

import host_view
from living_sandbox import SandboxTest, moment

MB = 1 << 20
# Holds 50 MiB of its own, and says so.
HOLD = """
import sys, time
held = bytearray(b"x") * (50 << 20)
print("held", flush=True)
time.sleep(1000)
"""


class Metrics(SandboxTest):
    def metrics(self, sandbox, query=""):
        answer = sandbox.client.send("GET", f"{sandbox.path}/metrics{query}")
        self.assertEqual(200, answer.status, answer)
        return answer.json

    def now(self, sandbox):
        usage = self.metrics(sandbox)["now"]
        self.assertIsNotNone(usage)
        self.assertTrue(usage["complete"])
        self.assertLess(abs(moment(usage["at"]) - time.time()), 60)
        return usage

    def test_an_empty_sandbox_and_its_limits(self):
        sandbox = self.make(limits={"memory_mb": 200, "processes": 50, "disk_mb": 10})
        metrics = self.metrics(sandbox)
        cores = sandbox.now()["limits"]["cpu"]
        self.assertEqual({"memory_bytes": 200 * MB, "processes": 50, "workspace_bytes": 10 * MB, "tmp_bytes": 10 * MB, "cpu": cores},
                         metrics["limits"])
        self.assertEqual(10, metrics["interval_seconds"])
        now = metrics["now"]
        self.assertEqual("cgroup" if sandbox.now()["enforced_by"]["memory"] == "cgroup" else "processes", now["source"])
        self.assertEqual(1, now["processes"])
        self.assertLess(now["memory_bytes"], 20 * MB)

    def test_memory_and_its_peak(self):
        sandbox = self.make()
        before = self.now(sandbox)
        holder = sandbox.start(["python3", "-c", HOLD])
        holder.says("held")
        held = self.now(sandbox)
        self.assertGreater(held["memory_bytes"] - before["memory_bytes"], 45 * MB)
        self.assertLess(held["memory_bytes"], 150 * MB)
        holder.delete()
        holder.ended()
        self.assertTrue(host_view.wait_until(lambda: self.now(sandbox)["memory_bytes"] < held["memory_bytes"] - 45 * MB, 20))
        self.assertGreaterEqual(self.now(sandbox)["memory_peak_bytes"], held["memory_bytes"])

    def test_processor_time_does_not_go_back(self):
        sandbox = self.make()
        before = self.now(sandbox)["cpu_seconds"]
        sandbox.python("import time\nwhile time.process_time() < 0.5: pass")
        after = self.now(sandbox)["cpu_seconds"]
        self.assertGreater(after - before, 0.45)
        # The usage of a running process counts, and that of a killed one.
        burner = sandbox.start(["python3", "-c", "while True: pass"])
        self.assertTrue(host_view.wait_until(lambda: self.now(sandbox)["cpu_seconds"] > after + 0.3, 30))
        burning = self.now(sandbox)["cpu_seconds"]
        burner.delete()
        burner.ended()
        self.assertGreaterEqual(self.now(sandbox)["cpu_seconds"], burning)

    def test_processes_and_threads(self):
        sandbox = self.make()
        process = sandbox.start(["python3", "-c", """
import os, threading, time
for _ in range(4): threading.Thread(target=time.sleep, args=[1000], daemon=True).start()
for _ in range(3):
    if os.fork() == 0: time.sleep(1000)
print('made', flush=True)
time.sleep(1000)
"""])
        process.says("made")
        self.assertEqual(1 + 1 + 4 + 3, self.now(sandbox)["processes"])

    def test_orphans_count(self):
        sandbox = self.make()
        sandbox.run("setsid sleep 1000 > /dev/null 2>&1 < /dev/null & (setsid sleep 1000 > /dev/null 2>&1 < /dev/null &)")
        self.assertTrue(host_view.wait_until(lambda: self.now(sandbox)["processes"] == 3, 20), self.now(sandbox))

    def test_disk(self):
        sandbox = self.make(limits={"disk_mb": 20})
        before = self.now(sandbox)
        sandbox.run("head -c 8388608 /dev/zero > /workspace/file; head -c 4194304 /dev/zero > /tmp/file")
        after = self.now(sandbox)
        self.assertEqual((8 * MB, 4 * MB), tuple(after[name] - before[name] for name in ("workspace_bytes", "tmp_bytes")))
        self.assertGreaterEqual(after["memory_bytes"] - before["memory_bytes"], 11 * MB)

    def test_a_paused_sandbox_is_looked_at_and_stays_paused(self):
        sandbox = self.make()
        sandbox.start("while :; do :; done")
        sandbox.pause()
        first = self.now(sandbox)
        self.assertLess(self.now(sandbox)["cpu_seconds"] - first["cpu_seconds"], 0.1)
        self.assertEqual("paused", sandbox.now()["state"])

    def test_samples(self):
        sandbox = self.make()
        idle = self.make()
        idle.pause()
        sandbox.start(["sleep", "1000"])
        # It may be paused while it is sampled.
        self.assertTrue(host_view.wait_until(lambda: self.metrics(sandbox)["samples"], 60))
        before = self.metrics(idle)["samples"]
        self.assertTrue(host_view.wait_until(lambda: len(self.metrics(sandbox)["samples"]) >= 2, 60))
        samples = self.metrics(sandbox)["samples"]
        times = [moment(sample["at"]) for sample in samples]
        self.assertEqual(sorted(times), times)
        self.assertGreater(times[1] - times[0], 5)
        self.assertEqual(2, samples[-1]["processes"])
        # The range includes its ends, with either kind of time.
        second = samples[1]["at"]
        self.assertEqual(second, self.metrics(sandbox, f"?from={second}")["samples"][0]["at"])
        self.assertEqual([samples[0]], self.metrics(sandbox, f"?to={samples[0]['at']}")["samples"])
        self.assertEqual([samples[0]], self.metrics(sandbox, f"?to={int(times[1]) - 1}")["samples"])
        later = datetime.datetime.fromtimestamp(time.time() + 3600, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
        self.assertEqual([], self.metrics(sandbox, f"?from={later}")["samples"])
        self.assertEqual(before, self.metrics(idle)["samples"], "one that is paused is left out")
        # They stay when it has ended.
        sandbox.delete()
        ended = self.metrics(sandbox)
        self.assertIsNone(ended["now"])
        self.assertEqual(samples, ended["samples"][:len(samples)])

    def test_bad_parameters(self):
        sandbox = self.make()
        for value in ("x", "-1", "2026-11-21", "2026-11-21T20:16:00", "2026-11-21T20:16:00Zx", "9" * 15, "253402300799",
                      "9999-12-31T23:59:59Z", "0000-01-01T00:00:00Z"):
            for name in ("from", "to"):
                answer = self.client.send("GET", f"{sandbox.path}/metrics?{name}={value}")
                self.assertEqual(400, answer.status, answer)
                self.assertIn(f"{name}: expected a time", answer.json["detail"])
        self.assertEqual(404, self.client.send("GET", "/v1/sandboxes/nobody/metrics").status)


class TwoKeys(SandboxTest):
    environment = {"JOBS_PATH": ":memory:", "API_KEYS": "first-key,second-key"}

    def test_they_are_their_keys_alone(self):
        first, second = self.client_with("first-key"), self.client_with("second-key")
        sandbox = self.make(first)
        self.assertEqual(200, first.send("GET", f"{sandbox.path}/metrics").status)
        self.assertEqual(404, second.send("GET", f"{sandbox.path}/metrics").status)
        self.assertEqual(401, self.client.send("GET", f"{sandbox.path}/metrics").status)
