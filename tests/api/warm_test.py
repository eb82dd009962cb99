"""Jails that wait: which requests get one, what their programs see, and what happens when zygotes, launchers
and pools fail."""
import concurrent.futures
import json
import os
import pathlib
import signal
import subprocess
import tempfile
import threading
import unittest

import host_view
import live_server
import time_scale

# Whether the Python of the programs has pandas.
HAS_PANDAS = subprocess.run(["/usr/bin/python3", "-c", "import pandas, matplotlib"], capture_output=True, check=False).returncode == 0
HAS_NODE = os.access("/usr/bin/node", os.X_OK)


class PoolTest(live_server.ServerTest):
    def pool(self, name="python"):
        return self.pools()[name]

    def warm(self, code, **fields):
        self.wait_until_warm()
        result = self.execute(code, **fields)
        self.assertTrue(result["warm"], result)
        return result


class Warm(PoolTest):
    environment = {"SANDBOX_POOL_SIZE": "4", "JOBS_PATH": ":memory:"}

    def test_pools_fill_to_their_target(self):
        self.wait_for(lambda: self.pool()["warm"] == self.pool()["target"] >= 2)
        pool = self.pool()
        self.assertEqual((0, 0), (pool["leased"], pool["refilling"]))
        self.assertGreaterEqual(pool["zygotes"], 1)
        self.assertNotIn("trouble", pool)

    def test_python_is_warm_unless_the_request_says_none(self):
        self.assertEqual("42\n", self.warm("print(6*7)")["stdout"])
        self.assertTrue(self.warm("print(6*7)", template="python")["warm"])
        result = self.execute("print(6*7)", template="none")
        self.assertEqual(("42\n", False), (result["stdout"], result["warm"]))

    def test_a_lease_is_counted_and_made_up_for(self):
        self.wait_for(lambda: self.pool()["warm"] == self.pool()["target"])
        before = self.client.send("GET", "/stats").json
        self.warm("pass")
        after = self.client.send("GET", "/stats").json
        self.assertEqual(1, after["pools"]["python"]["leases"] - before["pools"]["python"]["leases"])
        self.assertEqual(1, after["started_ms"]["warm"]["count"] - before["started_ms"]["warm"]["count"])
        self.assertEqual(0, after["started_ms"]["cold"]["count"] - before["started_ms"]["cold"]["count"])
        self.wait_for(lambda: self.pool()["warm"] == self.pool()["target"])
        text = self.client.send("GET", "/metrics").body.decode()
        self.assertRegex(text, r'agent_sandbox_pool_ready\{template="python"\} [1-9]')
        self.assertRegex(text, r'agent_sandbox_pool_leases_total\{template="python"\} [1-9]')
        self.assertRegex(text, r'agent_sandbox_started_seconds_count\{start="warm"\} [1-9]')

    def test_templates_that_do_not_exist_or_do_not_fit(self):
        for fields, words in (({"template": "pandas"}, "template: expected one of none, "),
                              ({"template": "data", "language": "bash"}, "template: data runs python"),
                              ({"template": "bash"}, "for python expected one of none, data, python")):
            answer = self.client.post({"code": "x", **fields})
            self.assertEqual(400, answer.status, answer)
            self.assertIn(words, answer.json["detail"])

    def test_other_languages_open_their_pool_at_the_first_request(self):
        languages = [("bash", "echo 42")] + [("javascript", "console.log(42)")] * HAS_NODE
        for language, code in languages:
            result = self.execute(code, language=language)
            self.assertEqual("42\n", result["stdout"])
            self.wait_until_warm(language)
            result = self.execute(code, language=language)
            self.assertEqual(("42\n", True), (result["stdout"], result["warm"]), language)
            # argv was fixed when the jail was made.
            result = self.execute(code, language=language, args=["a"])
            self.assertEqual(("42\n", False), (result["stdout"], result["warm"]), language)

    @unittest.skipUnless(HAS_NODE, "node is missing")
    def test_a_module_of_javascript_is_warm_too(self):
        self.execute("1", language="javascript", template="javascript")
        for code, files in (("import 'fs'; console.log(42)", {}), ("console.log(typeof require === 'undefined' && 42)", {"package.json": '{"type": "module"}'})):
            self.wait_until_warm("javascript")
            result = self.execute(code, language="javascript", template="javascript", files=files)
            self.assertEqual(("42\n", True), (result["stdout"], result["warm"]))

    def test_arguments_and_variables_reach_the_program(self):
        result = self.warm("import os, sys; print(sys.argv, os.environ['GREETING'])",
                           args=["a b", "", "ü"], env={"GREETING": "hé"})
        self.assertEqual("['/workspace/main.py', 'a b', '', 'ü'] hé\n", result["stdout"])
        result = self.warm("import os; print(open('/proc/self/cmdline').read().split('\\0')[1:])", args=["x"])
        self.assertEqual("['/workspace/main.py', 'x', '']\n", result["stdout"])

    def test_what_an_interpreter_reads_at_its_start_makes_it_cold(self):
        code = "import sys; print(hash('a'), sys.flags.hash_randomization)"
        first, second = (self.execute(code, env={"PYTHONHASHSEED": "7"}) for _ in range(2))
        self.assertEqual((False, first["stdout"]), (first["warm"], second["stdout"]))
        self.assertNotEqual(first["stdout"], self.execute(code, env={"PYTHONHASHSEED": "8"})["stdout"])

    def test_files_input_and_artifacts(self):
        result = self.warm("import sys, mine; open('out.txt', 'w').write(mine.word + sys.stdin.read())",
                           files={"mine.py": "word = 'a'"}, stdin="b", artifacts=["**"])
        self.assertEqual("success", result["status"], result)
        found = {artifact["path"]: artifact["base64"] for artifact in result["artifacts"]}
        self.assertEqual("YWI=", found.get("out.txt"))

    def test_no_jail_serves_twice(self):
        code = ("import os\nprint(os.path.exists('/tmp/mark'), os.listdir('.'))\n"
                "open('/tmp/mark', 'w').write('x'); open('mark', 'w').write('x')")
        seen = {self.execute(code)["stdout"] for _ in range(12)}
        self.assertEqual({"False ['main.py']\n"}, seen)

    def test_random_state_is_fresh_in_each_jail(self):
        code = "import random, uuid, secrets; print(random.random(), uuid.uuid4(), secrets.token_hex())"
        seen = [self.warm(code)["stdout"].split() for _ in range(3)]
        for values in zip(*seen):
            self.assertEqual(3, len(set(values)), values)

    def test_a_memory_limit_of_the_request_holds(self):
        grows = "x = []\nwhile True: x.append(bytearray(b'x') * (1 << 20))"
        result = self.warm(grows, memory_limit_mb=64)
        self.assertEqual("out_of_memory", result["status"], result)
        self.assertLess(result["memory_peak_mb"], 128)
        result = self.warm("x = bytearray(b'x') * (400 << 20); print(len(x))", memory_limit_mb=768)
        self.assertEqual(f"{400 << 20}\n", result["stdout"], result)

    def test_deadlines_hold(self):
        result, took = self.seconds("while True: pass", timeout_seconds=0.5)
        self.assertEqual(("timeout", 0.5), (result["status"], result["outcome"]["limit"]), result)
        self.assertLess(took, time_scale.scaled(10))
        result = self.warm("import time; time.sleep(20)", timeout_seconds=0.3)
        self.assertEqual("timeout", result["status"], result)

    def test_a_client_that_leaves_cancels_its_run(self):
        self.wait_until_warm()
        leaving = self.server.client()
        leaving._connection.request("POST", "/execute", b'{"code": "import time; time.sleep(50)", "timeout_seconds": 55}',
                                    {"Content-Type": "application/json"})
        self.wait_for(lambda: self.pool()["leased"] == 1)
        leaving.close()
        self.wait_for(lambda: self.pool()["leased"] == 0)

    def test_a_job_that_is_deleted_is_cancelled(self):
        self.wait_until_warm()
        with concurrent.futures.ThreadPoolExecutor(1) as threads, self.server.client() as other:
            answer = threads.submit(other.execute, "import time; time.sleep(50)", timeout_seconds=55)
            self.wait_for(lambda: self.pool()["leased"] == 1)
            job = self.client.send("GET", "/jobs?status=running").json["jobs"][0]["job_id"]
            self.assertEqual(202, self.client.send("DELETE", f"/jobs/{job}").status)
            self.assertEqual(("cancelled", True), (answer.result()["status"], answer.result()["warm"]))


@unittest.skipUnless(HAS_PANDAS, "pandas is missing")
class Numbers(PoolTest):
    """The template data, which is opened when it is first named."""

    environment = {"JOBS_PATH": ":memory:"}

    def data(self, code, **fields):
        return self.execute(code, template="data", timeout_seconds=50, **fields)

    def test_who_names_it_waits_for_it(self):
        result = self.data("import sys; print('pandas' in sys.modules, 'matplotlib.pyplot' in sys.modules)")
        self.assertEqual(("True True\n", True), (result["stdout"], result["warm"]), result)

    def test_a_program_that_imports_it_gets_it(self):
        self.data("pass")
        for code in ("import pandas as pd; print(pd.Series([20, 22]).sum())", "from numpy import dot; print(dot([6], [7]))"):
            self.wait_until_warm("data")
            result = self.execute(code)
            self.assertEqual(("42\n", True, "data"), (result["stdout"], result["warm"], result["template"]), result)
        result = self.execute("import pandas; print(pandas.answer)", files={"pandas.py": "answer = 42"})
        self.assertEqual(("42\n", "python"), (result["stdout"], result["template"]), result)

    def test_programs_use_what_is_imported(self):
        code = ("import pandas as pd, numpy as np, matplotlib.pyplot as plt\n"
                "frame = pd.DataFrame({'a': np.arange(5)})\nprint(frame.a.sum(), plt.get_fignums())\n"
                "frame.plot(); plt.savefig('plot.png'); print(plt.get_backend().lower())")
        result = self.data(code, artifacts=["*.png"])
        self.assertEqual("10 []\nagg\n", result["stdout"], result["stderr"])
        self.assertEqual(["plot.png"], [artifact["path"] for artifact in result["artifacts"]])

    def test_the_state_of_numpys_generator_is_fresh(self):
        seen = {self.data("import numpy; print(numpy.random.rand())")["stdout"] for _ in range(3)}
        self.assertEqual(3, len(seen), seen)

    def test_a_program_begins_with_its_own_names_alone(self):
        code = "print(sorted(globals()), sorted(vars(__builtins__)) == sorted(dir(__builtins__)))"
        self.assertEqual(self.execute(code, template="none")["stdout"], self.data(code)["stdout"])


class SmallPool(PoolTest):
    environment = {"SANDBOX_POOL_SIZE": "2"}

    def test_a_burst_is_answered(self):
        self.wait_until_warm()

        def run(number):
            with self.server.client() as client:
                return client.execute(f"print({number} * 1000)", timeout_seconds=50)["stdout"]

        with concurrent.futures.ThreadPoolExecutor(32) as threads:
            answers = list(threads.map(run, range(32)))
        self.assertEqual([f"{number * 1000}\n" for number in range(32)], answers)

    def test_a_zygote_that_is_killed_is_replaced_and_no_request_is_lost(self):
        self.wait_until_warm()
        stop, answers = threading.Event(), []

        def run():
            with self.server.client() as client:
                while not stop.is_set():
                    answer = client.post({"code": "import time; time.sleep(0.05); print(6*7)", "timeout_seconds": 30})
                    answers.append((answer.status, answer.json.get("stdout")))

        threads = [threading.Thread(target=run) for _ in range(8)]
        for thread in threads:
            thread.start()
        try:
            for _ in range(3):
                before = self.pool()["zygotes"]
                self.wait_for(host_view.zygotes)  # one that was just started has no name yet
                # Among them may be one that was forked to start a jail, and has ended since.
                host_view.kill(host_view.zygotes())
                self.wait_for(lambda before=before: self.pool()["zygotes"] > before and self.pool()["warm"] > 0)
            # Answers under way at the last kill are among them.
            so_far = len(answers)
            self.wait_for(lambda: len(answers) > so_far + len(threads))
        finally:
            stop.set()
            for thread in threads:
                thread.join()
        self.assertEqual({(200, "42\n")}, set(answers))

    def test_a_launcher_that_is_killed_is_replaced(self):
        self.wait_until_warm()
        for _ in range(2):
            # Zygotes go on without the launcher, so only another template needs the next one.
            self.wait_for(self.has_a_launcher_for_bash)
            os.kill(self.server.launcher(), signal.SIGKILL)
            for _ in range(6):
                self.assertEqual("42\n", self.execute("print(6*7)", timeout_seconds=30)["stdout"])
            self.wait_for(lambda: self.execute("print(6*7)", timeout_seconds=30)["warm"])
        self.wait_for(self.has_a_launcher_for_bash)

    def has_a_launcher_for_bash(self):
        self.assertEqual("42\n", self.execute("echo 42", language="bash", timeout_seconds=30)["stdout"])
        return self.server.launcher() is not None


class WithoutPools(PoolTest):
    environment = {"SANDBOX_POOL_SIZE": "0"}

    def test_everything_is_cold(self):
        self.assertEqual({}, self.pools())
        for fields in ({}, {"template": "python"}, {"template": "data"}):
            result = self.execute("print(6*7)", **fields)
            self.assertEqual(("42\n", False), (result["stdout"], result["warm"]), fields)
        self.wait_for(lambda: len(self.server.processes()) == 1)
        self.assertEqual(400, self.client.post({"code": "1", "template": "unknown"}).status)


class OwnTemplates(PoolTest):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="agent-sandbox-templates.")
        os.chmod(cls.folder, 0o755)
        cls.environment = {"SANDBOX_TEMPLATES_DIR": cls.folder}
        cls.write("mine", imports=["json", "decimal"], warm_up="import builtins; builtins.answer = 42",
                  after_fork="import builtins; builtins.forked = True", limits={"memory_limit_mb": 300})
        cls.write("broken", imports=["no_such_module"])
        cls.write("small", imports=["decimal"], automatic=False, limits={"memory_limit_mb": 64})
        super().setUpClass()

    @classmethod
    def write(cls, name, **fields):
        path = pathlib.Path(cls.folder, f"{name}.json")
        path.write_text(json.dumps({"name": name, "language": "python", "warmth": "forked", **fields}), encoding="utf-8")
        path.chmod(0o644)

    def test_one_of_an_operators_own(self):
        code = "import sys; print('decimal' in sys.modules, answer, forked)"
        result = self.execute(code, template="mine", timeout_seconds=50)
        self.assertEqual(("True 42 True\n", True), (result["stdout"], result["warm"]), result)

    def test_a_request_for_more_memory_than_it_gives_is_cold(self):
        self.assertFalse(self.execute("pass", template="mine", memory_limit_mb=301)["warm"])

    def test_one_that_is_never_warm_by_default_is_told(self):
        self.assertIn("template small: limits.memory_limit_mb is less than SANDBOX_MEMORY_LIMIT_MB", "".join(self.server.log))

    def test_modules_that_are_not_there_are_the_templates_trouble_alone(self):
        result = self.execute("print(6*7)", template="broken", timeout_seconds=50)
        self.assertEqual(("42\n", False), (result["stdout"], result["warm"]), result)
        self.assertIn("no_such_module", self.pool("broken")["trouble"])
        self.assertNotIn("Traceback", self.pool("broken")["trouble"], "its lines and paths are for the log")
        self.assertIn("no_such_module", "".join(self.server.log))
        self.wait_until_warm()
        self.assertTrue(self.execute("pass")["warm"])

    def test_a_file_with_an_error_stops_the_start(self):
        with tempfile.TemporaryDirectory() as folder:
            os.chmod(folder, 0o755)
            path = pathlib.Path(folder, "bad.json")
            path.write_text('{"name": "bad", "language": "python", "warmth": "hot"}', encoding="utf-8")
            with self.assertRaises(live_server.DidNotStart) as raised:
                live_server.LiveServer(environment={"SANDBOX_TEMPLATES_DIR": folder})
            self.assertIn("bad.json: warmth: expected forked, started or prepared", str(raised.exception))


class Turns(PoolTest):
    environment = {"SANDBOX_MAX_RUNNING": "1", "API_KEYS": "first,second"}

    def test_who_asks_for_many_delays_his_own(self):
        def run(key):
            with self.server.client(**{"X-API-Key": key}) as client:
                return client.execute("import time; time.sleep(0.2)", timeout_seconds=50)["job_id"]

        with concurrent.futures.ThreadPoolExecutor(21) as threads, self.server.client(**{"X-API-Key": "first"}) as client:
            many = [threads.submit(run, "first") for _ in range(20)]
            self.assertTrue(host_view.wait_until(lambda: client.send("GET", "/health").json["runs"]["queued"] >= 10, 10))
            self.assertIsNotNone(threads.submit(run, "second").result())
            for one in many:
                one.result()
            jobs = client.send("GET", "/jobs?limit=100").json["jobs"]
        with self.server.client(**{"X-API-Key": "second"}) as client:
            [second] = client.send("GET", "/jobs").json["jobs"]
        self.assertEqual(20, len(jobs))
        # As the server tells the times: the one that runs, at most one more whose turn it is, and one that ended while this was taken in.
        before = [job for job in jobs if second["created_at"] <= job["finished_at"] <= second["finished_at"]]
        self.assertLessEqual(len(before), 3, (second, jobs))
