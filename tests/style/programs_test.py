"""tests/programs/run.py against a server made up here: it must see every wrong answer."""
import base64
import http.server
import json
import pathlib
import subprocess
import sys
import tempfile
import threading
import unittest
import unittest.mock

RUN = pathlib.Path(__file__).resolve().parents[1] / "programs" / "run.py"
GOOD = {"status": "success", "exit_code": 0, "stdout": "ok\n", "stderr": "", "artifacts": [], "artifacts_skipped": [],
        "warm": False}
PLOT = base64.b64encode(b"\x89PNG\r\n\x1a\n...IEND\xaeB`\x82").decode()
COLD = []  # not empty: the server runs nothing warm
VERSIONS = {"numpy": "1.24.2", "pandas": "1.5.3", "matplotlib": "3.6.3"}
LACKING = []  # code that the server answers with 400


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        status, answer = 200, dict(GOOD)
        answer["warm"] = "template" in request and request["template"] != "none" and not COLD
        if request["code"] == "fails":
            answer.update(status="error", exit_code=1)
        elif request["code"] == "prints":
            answer.update(stdout="other\n")
        elif request["code"].startswith("prints "):
            answer.update(stdout=request["code"].removeprefix("prints ") + "\n")
        elif request["code"].startswith("raises "):
            answer.update(status="error", exit_code=1, stderr=request["code"].removeprefix("raises "))
        elif "importlib.metadata" in request["code"]:
            answer.update(stdout=json.dumps(VERSIONS))
        elif request["code"] == "hangs":
            answer.update(status="timeout", exit_code=None)
        elif request["code"] == "draws":
            answer["artifacts"] = [{"path": "a.png", "base64": PLOT}] if request["artifacts"] == ["a.png"] else []
        elif request["code"] == "scribbles":
            answer["artifacts"] = [{"path": "a.png", "base64": ""}]
        elif request["code"] == "reads":
            answer["stdout"] = base64.b64decode(request["files"]["in.csv"]["base64"]).decode()
        elif LACKING and LACKING[0] in request["code"]:
            status, answer = 400, {"detail": "not available here"}
        elif request["code"] == "breaks":
            status, answer = 500, {}
        body = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class Programs(unittest.TestCase):
    def setUp(self):
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.addCleanup(self.server.server_close)
        self.addCleanup(self.server.shutdown)
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def write(self, name, *records):
        self.folder.joinpath(f"{name}.jsonl").write_text("".join(json.dumps({"id": str(number), **record}) + "\n"
                                                                 for number, record in enumerate(records)), encoding="utf-8")

    def run_sets(self, *names, template=None):
        option = ["--template", template] if template else []
        finished = subprocess.run([sys.executable, RUN, *option, f"http://127.0.0.1:{self.server.server_port}", self.folder, *names],
                                  capture_output=True, text=True, check=False)
        return finished.returncode, finished.stdout.splitlines(), finished.stderr

    def test_outputs_and_exit_codes(self):
        self.write("humaneval", *({"code": code, "exit": 0, "stdout": "ok\n"} for code in ("good", "fails", "prints", "breaks")),
                   {"code": "fails", "exit": 1, "stdout": "ok\n"})
        status, lines, _ = self.run_sets("humaneval")
        self.assertEqual((1, "2 passed, 3 failed, 0 skipped"), (status, lines[-1]))
        self.assertIn("humaneval: 2 passed, 3 failed", lines[-2])
        self.assertEqual(["FAILED humaneval 1:", "FAILED humaneval 2:", "FAILED humaneval 3:"],
                         [" ".join(line.split()[:3]) for line in lines[:-2]])

    def test_both_ways(self):
        self.write("quixbugs", {"buggy": "fails", "fixed": "good"}, {"buggy": "hangs", "fixed": "good"},
                   {"buggy": "good", "fixed": "fails"})
        self.assertEqual((1, "4 passed, 2 failed, 0 skipped"), (lambda status, lines, _: (status, lines[-1]))(*self.run_sets("quixbugs")))

    def test_recorded_time_outs(self):
        self.write("llm_written", {"code": "hangs", "exit": None}, {"code": "good", "exit": None}, {"code": "good", "exit": 0})
        self.assertEqual("2 passed, 1 failed, 0 skipped", self.run_sets("llm_written")[1][-1])

    def test_all_good_and_absent_sets_are_said(self):
        self.write("bash", {"code": "good"})
        status, lines, _ = self.run_sets()
        self.assertEqual((0, "1 passed, 0 failed, 7 skipped"), (status, lines[-1]))
        self.assertEqual(7, sum(line.startswith("SKIPPED ") for line in lines))

    def test_plots_and_inputs(self):
        self.folder.joinpath("inputs").mkdir()
        self.folder.joinpath("inputs", "in.csv").write_text("ok\n", encoding="utf-8")
        common = {"exit": 0, "stdout": "ok\n", "stdout_stable": True, "files": [], "pngs": []}
        self.write("data_analysis", {**common, "code": "draws", "pngs": ["a.png"]}, {**common, "code": "scribbles", "pngs": ["a.png"]},
                   {**common, "code": "good", "pngs": ["a.png"]}, {**common, "code": "reads", "files": ["in.csv"]},
                   {**common, "code": "prints"}, {**common, "code": "prints", "stdout_stable": False})
        status, lines, _ = self.run_sets("data_analysis")
        self.assertEqual((1, "3 passed, 3 failed, 0 skipped"), (status, lines[-1]))
        self.assertEqual(["1:", "2:", "4:"], [line.split()[2] for line in lines if line.startswith("FAILED")])

    def test_newer_libraries_do_just_what_is_listed(self):
        common = {"exit": 0, "stdout_stable": True, "files": [], "pngs": []}
        old, new, other = "(1, 5, 3)", "(np.int64(1), np.int64(5), np.int64(3))", "(1, 5, 4)"
        style, gone = "OSError: 'seaborn-white' is not a valid package style, ...", "OSError: no such file"
        records = [{**common, "id": "numpy100/020", "stdout": old + "\n", "code": f"prints {text}"} for text in (old, new, other)]
        records += [{**common, "id": "pdsh/04.05", "stdout": "ok\n", "pngs": ["a.png"], "code": code}
                    for code in ("draws", f"raises {style}", f"raises {gone}")]
        self.write("data_analysis", *records)
        for versions, passed in (({}, [0, 3]), ({"matplotlib": "3.7.9"}, [0, 3]), ({"numpy": "2.2.4"}, [1, 3]),
                                 ({"numpy": "10", "matplotlib": "3.10.1+dfsg1"}, [1, 4])):
            with self.subTest(versions), unittest.mock.patch.dict(VERSIONS, versions):
                status, lines, _ = self.run_sets("data_analysis")
                self.assertEqual((1, "2 passed, 4 failed, 0 skipped"), (status, lines[-1]))
                failed = [line for line in lines if line.startswith("FAILED")]
                wrong = [number for number in range(6) if number not in passed]
                self.assertEqual([records[number]["id"] + ":" for number in wrong], [line.split()[2] for line in failed])
                for number, line in zip(wrong, failed, strict=True):
                    newer = "numpy" in versions if number < 3 else versions.get("matplotlib", "").startswith("3.10")
                    self.assertEqual(newer, "changed_outputs.json" in line, line)

    def test_a_set_that_the_root_cannot_run_is_skipped_with_the_reason(self):
        LACKING.append("import numpy")
        self.addCleanup(LACKING.clear)
        self.write("data_analysis", {"code": "good", "exit": 0, "stdout": "ok\n", "stdout_stable": True, "files": [], "pngs": []})
        status, lines, _ = self.run_sets("data_analysis")
        self.assertEqual((0, "0 passed, 0 failed, 1 skipped"), (status, lines[-1]))
        self.assertRegex(lines[0], "^SKIPPED data_analysis: .*not available here")

    def test_templates_are_asked_for_in_their_language(self):
        self.write("bash", {"code": "good"}, {"code": "good"})
        self.write("humaneval", {"code": "good", "exit": 0, "stdout": "ok\n"})
        for template, warm in (("python", (0, 1)), ("data", (0, 1)), ("bash", (2, 0)), ("none", (0, 0))):
            status, lines, _ = self.run_sets("bash", "humaneval", template=template)
            self.assertEqual((0, "3 passed, 0 failed, 0 skipped", f"template {template}: {sum(warm)} of 3 ran warm"),
                             (status, lines[-1], lines[-2]))
            self.assertRegex(lines[0], f"^bash: 2 passed, 0 failed, {warm[0]} warm")
            self.assertRegex(lines[1], f"^humaneval: 1 passed, 0 failed, {warm[1]} warm")

    def test_a_cold_run_on_a_template_is_a_failure(self):
        COLD.append("all")
        self.addCleanup(COLD.clear)
        self.write("humaneval", {"code": "good", "exit": 0, "stdout": "ok\n"})
        status, lines, _ = self.run_sets("humaneval")
        self.assertEqual((0, "1 passed, 0 failed, 0 skipped"), (status, lines[-1]))
        status, lines, _ = self.run_sets("humaneval", template="python")
        self.assertEqual((1, "0 passed, 1 failed, 0 skipped"), (status, lines[-1]))
        self.assertIn("warm is False on template python", lines[0])

    def test_unknown_set(self):
        self.assertEqual(2, self.run_sets("cobol")[0])
