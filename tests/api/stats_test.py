"""/stats and /metrics: the figures match what was run, in a form that third-party parsers accept."""
import re
import urllib.request

import host_view
import live_server

try:
    from prometheus_client.parser import text_string_to_metric_families as parse_text
except ImportError:
    parse_text = None


class Figures(live_server.ServerTest):
    environment = {"JOBS_PATH": ":memory:"}

    def stats(self):
        return self.client.send("GET", "/stats").json

    def samples(self):
        """Maps name and labels to value, by a third-party parser."""
        if parse_text is None:
            self.skipTest("python3-prometheus-client is missing")
        answer = self.client.send("GET", "/metrics")
        self.assertEqual((200, "text/plain; version=0.0.4; charset=utf-8"), (answer.status, answer.headers["Content-Type"]))
        return {(sample.name, tuple(sorted(sample.labels.items()))): sample.value
                for family in parse_text(answer.body.decode()) for sample in family.samples}

    def test_stats_count_what_was_run(self):
        before = self.stats()
        self.execute("pass")
        self.execute("pass")
        self.execute("exit 3", language="bash")
        after = self.stats()
        self.assertEqual(3, after["runs"]["total"] - before["runs"]["total"])
        self.assertEqual(2, after["by_status"]["success"] - before["by_status"].get("success", 0))
        self.assertEqual(1, after["by_status"]["error"] - before["by_status"].get("error", 0))
        self.assertEqual(1, after["by_language"]["bash"] - before["by_language"].get("bash", 0))
        self.assertEqual((0, 0), (after["runs"]["running"], after["runs"]["queued"]))
        self.assertGreater(after["uptime_seconds"], 0)

    def test_percentiles_are_those_of_the_runs(self):
        server = live_server.LiveServer(environment=self.environment)
        self.addCleanup(server.stop)
        with server.client() as client:
            took = [client.execute(f"import time; time.sleep({seconds})")["timings_us"]["ran"] / 1000
                    for seconds in (0, 0, 0, 0, 0, 0, 0, 0, 0.3, 0.6)]
            phases = client.send("GET", "/stats").json["latency_ms"]
        self.assertEqual({"queued", "started", "ran", "total"}, set(phases))
        ran = phases["ran"]
        self.assertEqual(10, ran["count"])
        self.assertAlmostEqual(sorted(took)[4], ran["p50"], delta=sorted(took)[4] * 0.05)
        self.assertAlmostEqual(max(took), ran["p99"], delta=max(took) * 0.05)
        self.assertAlmostEqual(sum(took) / 10, ran["mean"], delta=0.01)
        for phase in phases.values():
            self.assertLessEqual(phase["p50"], phase["p90"])
            self.assertLessEqual(phase["p90"], phase["p99"])
        # Percentiles of two phases that differ by a hundredth may be the same, means are not.
        self.assertGreater(phases["total"]["mean"], phases["ran"]["mean"])

    def test_templates_have_as_many_jails_ready_as_their_pools(self):
        def ready():
            return {each["name"]: each["ready"] for each in self.client.send("GET", "/v1/templates").json["templates"]}

        self.execute("pass")
        self.assertTrue(host_view.wait_until(lambda: ready()["python"] > 0, 10), ready())
        templates = {each["name"]: each for each in self.client.send("GET", "/v1/templates").json["templates"]}
        self.assertLessEqual({"python", "bash", "javascript", "typescript", "data"}, templates.keys())
        self.assertEqual(("python", []), (templates["python"]["language"], templates["python"]["imports"]))
        self.assertIn("pandas", templates["data"]["imports"])

        def is_the_same():
            pools = self.client.send("GET", "/health").json["pools"]
            return all(count == (pools[name]["warm"] if name in pools else 0) for name, count in ready().items())
        self.assertTrue(host_view.wait_until(is_the_same, 10), ready())

    def test_prometheus_counts_what_was_run(self):
        self.execute("pass")
        before = self.samples()
        self.execute("pass")
        self.execute("pass")
        self.client.post({"code": ""})
        after = self.samples()

        def grew(name, **labels):
            key = (name, tuple(sorted(labels.items())))
            return after[key] - before.get(key, 0)

        self.assertEqual(2, grew("agent_sandbox_runs_total", status="success", language="python"))
        self.assertEqual(2, grew("agent_sandbox_http_responses_total", route="/execute", status="2xx"))
        self.assertEqual(1, grew("agent_sandbox_http_responses_total", route="/execute", status="4xx"))
        for phase in ("queued", "started", "ran", "total"):
            self.assertEqual(2, grew("agent_sandbox_phase_seconds_count", phase=phase))
            self.assertEqual(2, grew("agent_sandbox_phase_seconds_bucket", phase=phase, le="+Inf"))
        self.assertGreater(after["process_resident_memory_bytes", ()], 1 << 20)
        self.assertGreater(after["process_open_fds", ()], 3)
        self.assertEqual(0, after["agent_sandbox_job_store_errors_total", ()])

    def test_histograms_are_cumulative(self):
        self.execute("pass")
        buckets = {}
        for (name, labels), value in self.samples().items():
            if name == "agent_sandbox_phase_seconds_bucket":
                named = dict(labels)
                buckets.setdefault(named["phase"], []).append((float(named["le"]), value))
        self.assertEqual(4, len(buckets))
        for phase in buckets.values():
            phase.sort()
            self.assertEqual((5e-05, float("inf")), (phase[0][0], phase[-1][0]))
            self.assertEqual(sorted(value for _, value in phase), [value for _, value in phase])

    def test_paths_of_clients_make_no_labels(self):
        self.client.send("GET", "/no/such/path/7461")
        text = self.client.send("GET", "/metrics").body.decode()
        self.assertNotIn("7461", text)
        self.assertRegex(text, r'route="other",status="4xx"\} \d')

    def test_every_family_has_help_and_type_before_its_samples(self):
        described = set()
        for line in self.client.send("GET", "/metrics").body.decode().splitlines():
            if line.startswith("# TYPE "):
                described.add(line.split()[2])
            elif not line.startswith("#"):
                name = re.match(r"\w+", line).group()
                self.assertTrue({name, re.sub("_(bucket|sum|count)$", "", name)} & described, line)

    def test_standard_client(self):
        with urllib.request.urlopen(f"http://127.0.0.1:{self.server.port}/metrics") as answer:
            self.assertIn(b"agent_sandbox_build_info{version=", answer.read())


class WithKeys(live_server.ServerTest):
    environment = {"JOBS_PATH": ":memory:", "API_KEYS": "the-key"}

    def test_figures_need_a_key(self):
        for path in ("/stats", "/api/v1/stats", "/metrics", "/jobs"):
            self.assertEqual(401, self.client.send("GET", path).status, path)
            self.assertEqual(200, self.client.send("GET", path, **{"X-API-Key": "the-key"}).status, path)

    def test_the_description_needs_none(self):
        answer = self.client.send("GET", "/openapi.json")
        self.assertEqual((200, "3.1.0"), (answer.status, answer.json["openapi"]))


