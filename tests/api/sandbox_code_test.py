"""Programs that a request brings as text, run in a living sandbox: by an interpreter that is started for them, or as
forks of the one that a template keeps warm."""
import concurrent.futures
import io
import os
import subprocess
import unittest
import zipfile

import host_view
import time_scale
from living_sandbox import SandboxTest

HAS_NODE = os.access("/usr/bin/node", os.X_OK)
HAS_PANDAS = subprocess.run(["/usr/bin/python3", "-c", "import pandas, matplotlib"], capture_output=True, check=False).returncode == 0
# Landlock of Linux 6.12 keeps processes of a sandbox from signalling each other.
KNOWS_SIGNALS = host_view.landlock_version() >= 6
SCOPED = unittest.skipUnless(KNOWS_SIGNALS, "this kernel's Landlock is older than Linux 6.12")


def wheel(name, version, text):
    """Returns a wheel with one module."""
    about = f"{name}-{version}.dist-info"
    files = {f"{name}.py": text,
             f"{about}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n",
             f"{about}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"}
    files[f"{about}/RECORD"] = "".join(f"{path},,\n" for path in [*files, f"{about}/RECORD"])
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for path, content in files.items():
            archive.writestr(path, content)
    return packed.getvalue()


class CodeTest(SandboxTest):
    def code(self, sandbox, text, client=None, **fields):
        """Runs code to its end; returns the process with its output."""
        answer = (client or self.client).post({"code": text, "timeout_seconds": time_scale.scaled(60), **fields},
                                  f"{sandbox.path}/processes")
        self.assertEqual(200, answer.status, answer)
        return answer.json

    def at_once(self, sandbox, programs, **fields):
        """Runs several programs at the same time; returns the processes."""
        def one(text):
            with self.server.client() as client:
                return self.code(sandbox, text, client, **fields)
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            return list(pool.map(one, programs))

    def refused(self, sandbox, fragment, **fields):
        self.assert_bad_field(self.client.post(fields, f"{sandbox.path}/processes"), fragment)

    def files(self, sandbox):
        return sandbox.run("ls -A")["stdout"]

    def warm(self, **fields):
        return self.make(warm=True, **fields)


class Cold(CodeTest):
    def setUp(self):
        super().setUp()
        self.sandbox = self.make()

    def test_python_by_default(self):
        self.sandbox.put("/workspace/beside.py", b"WORD = 'imported'")
        ran = self.code(self.sandbox, "import beside, sys\nprint(beside.WORD, input(), sys.argv[1:])\nraise SystemExit(3)",
                        stdin="typed\n", args=["a b", ""])
        self.assertEqual(("imported typed ['a b', '']\n", "", 3, False),
                         (ran["stdout"], ran["stderr"], ran["exit_code"], ran["warm"]))
        self.assertFalse(self.sandbox.now()["warm"])

    def test_other_languages(self):
        programs = {"bash": 'echo "$0 $*" | sed s/.*main-[a-z0-9]*/main/'}
        if HAS_NODE:
            programs["javascript"] = "console.log('main.sh', ...process.argv.slice(2))"
        for language, text in programs.items():
            with self.subTest(language):
                ran = self.code(self.sandbox, text, language=language, args=["one"])
                self.assertEqual(("main.sh one\n", "", False), (ran["stdout"], ran["stderr"], ran["warm"]))
        self.assertEqual("", self.files(self.sandbox))

    @unittest.skipUnless(HAS_NODE and os.access("/usr/bin/esbuild", os.X_OK), "node or esbuild is missing")
    def test_typescript(self):
        programs = [f"const n: number = {n}; console.log(n, process.argv.slice(2))" for n in (1, 2)]
        ran = self.at_once(self.sandbox, programs, language="typescript", args=["a"])
        self.assertEqual(["1 [ 'a' ]\n", "2 [ 'a' ]\n"], [process["stdout"] for process in ran], ran)
        self.assertEqual("", self.sandbox.run("ls -A /workspace; ls -A /tmp | grep main")["stdout"])
        self.sandbox.run(["mkdir", "/workspace/a b"])
        self.refused(self.sandbox, "working_directory", code="1", language="typescript", working_directory="/workspace/a b")

    def test_the_language_of_the_template(self):
        self.assertEqual("42\n", self.code(self.make(template="bash"), "echo $((6*7))")["stdout"])

    def test_its_directory_is_where_it_runs(self):
        self.sandbox.run("mkdir here && echo 'WORD = 1' > here/beside.py")
        ran = self.code(self.sandbox, "import beside, os; print(os.getcwd(), len(os.listdir()))", working_directory="/workspace/here")
        self.assertEqual("/workspace/here 2\n", ran["stdout"], ran["stderr"])
        self.assert_problem(403, "not_permitted", self.client.post({"code": "1", "working_directory": "/usr"},
                                                                   f"{self.sandbox.path}/processes"), "code")

    def test_its_file_goes_with_it(self):
        ran = self.code(self.sandbox, "import os; print(os.listdir())")
        self.assertRegex(ran["stdout"], r"^\['\.main-[a-z0-9]{10}\.py'\]\n$")
        self.assertEqual("", self.files(self.sandbox))
        self.code(self.sandbox, "import os, sys; os.remove(sys.argv[0]); os.makedirs(sys.argv[0] + '/full')")
        self.assertRegex(self.files(self.sandbox), r"^\.main-")

    def test_in_the_background_and_in_a_terminal(self):
        started = self.client.post({"code": "print(input())", "background": True, "keep_stdin_open": True},
                                   f"{self.sandbox.path}/processes")
        self.assertEqual(201, started.status, started)
        path = f"{self.sandbox.path}/processes/{started.json['pid']}"
        self.client.post({"data": "late\n"}, path + "/stdin")
        self.wait_for(lambda: self.client.send("GET", path).json["state"] == "ended")
        self.assertEqual("late\n", self.client.send("GET", path + "/output").json["pieces"][0]["data"])
        self.assertEqual("True\r\n", self.code(self.sandbox, "import sys; print(sys.stdin.isatty())", pty={})["stdout"])

    def test_what_is_refused(self):
        self.assert_problem(400, "missing_field", self.client.post({}, f"{self.sandbox.path}/processes"), "command and code")
        self.refused(self.sandbox, "exactly one of", code="1", command="true")
        self.refused(self.sandbox, "code", code="")
        self.refused(self.sandbox, "language", code="1", language="cobol")
        self.refused(self.sandbox, "language", command="true", language="python")
        self.refused(self.sandbox, "args", command="true", args=["x"])
        self.refused(self.sandbox, "args", code="1", args=["a\0b"])

    def test_a_full_disk(self):
        self.sandbox.run("head -c 80m /dev/zero > full; true")
        answer = self.client.post({"code": "#" * 8192}, f"{self.sandbox.path}/processes")
        self.assert_problem(507, "disk_full", answer, "code")


@SCOPED
class Warm(CodeTest):
    environment = {"SANDBOX_POOL_SIZE": "2", "JOBS_PATH": ":memory:"}

    def setUp(self):
        super().setUp()
        self.sandbox = self.warm()

    def test_it_says_so(self):
        now = self.sandbox.now()
        self.assertEqual((True, "python", "memory"), (now["warm"], now["template"], now["disk_kind"]))
        ran = self.code(self.sandbox, "print(6 * 7)")
        self.assertEqual(("42\n", True), (ran["stdout"], ran["warm"]))
        self.assertFalse(self.sandbox.run("true")["warm"])
        self.assertEqual("", self.files(self.sandbox))

    def test_a_fork_prints_what_a_new_interpreter_does(self):
        programs = (
            "import sys, os\nprint(sys.argv[1:], __name__, os.getcwd(), os.getppid(), sorted(os.listdir('/')), input())",
            "import sys\nprint(sys.path, sys.flags, sys.executable, sys.version)",
            "import os\nprint(sorted(name for name in os.environ), os.environ['HOME'], os.path.isdir('/tmp'))",
            "print(open('/proc/self/limits').read(), sorted(__import__('os').listdir('/proc/self/fd')))",
            "import signal, os\nos.kill(os.getpid(), signal.SIGSEGV)",
            "raise SystemExit('words')",
            "import subprocess\nprint(subprocess.run(['echo', 'child'], capture_output=True, text=True).stdout)",
            "import multiprocessing as m\nprint(m.Pool(2).map(abs, [-1, -2]))",
            "import threading\nt = threading.Thread(target=print, args=('thread',)); t.start(); t.join()",
            "import time, sys\nprint('first', flush=True); print('second', file=sys.stderr)")
        cold = self.make(template="python")
        for text in programs:
            with self.subTest(text):
                ran, expected = (self.code(sandbox, text, args=["a b"], stdin="typed\n") for sandbox in (self.sandbox, cold))
                self.assertEqual((True, False), (ran["warm"], expected["warm"]))
                for name in ("stdout", "stderr", "exit_code", "signal"):
                    self.assertEqual(expected[name], ran[name])

    def test_a_traceback_names_its_file(self):
        ran = self.code(self.sandbox, "def f():\n    1 / 0\nf()\n")
        self.assertRegex(ran["stderr"], r'File "/workspace/\.main-[a-z0-9]{10}\.py", line 2, in f\n    1 / 0\n')

    def test_several_at_once(self):
        ran = self.at_once(self.sandbox, [f"import time; time.sleep(.05); print({number})" for number in range(16)])
        self.assertEqual([f"{number}\n" for number in range(16)], [process["stdout"] for process in ran])
        self.assertTrue(all(process["warm"] for process in ran))
        self.assertEqual(16, len({process["pid"] for process in ran}))

    def test_files_stay_and_a_deadline_is_its_own(self):
        self.code(self.sandbox, "open('kept', 'w').write('left')")
        self.assertEqual("left", self.sandbox.get("/workspace/kept").body.decode())
        late = self.code(self.sandbox, "import time; time.sleep(60)", timeout_seconds=0.3)
        self.assertEqual(("timeout_wall", True), (late["outcome"]["code"], late["warm"]))
        self.assertEqual("left\n", self.code(self.sandbox, "print(open('kept').read())")["stdout"])

    def test_signals_and_input_of_a_fork(self):
        started = self.client.post({"code": "import time; time.sleep(60)", "background": True}, f"{self.sandbox.path}/processes")
        self.assertEqual((201, True), (started.status, started.json["warm"]), started)
        path = f"{self.sandbox.path}/processes/{started.json['pid']}"
        self.assertEqual(204, self.client.post({"signal": "SIGTERM"}, path + "/signal").status)
        self.wait_for(lambda: self.client.send("GET", path).json["signal"] == "SIGTERM")

    def test_what_a_fork_cannot_be_is_executed(self):
        self.sandbox.run("mkdir here")
        for fields in ({"working_directory": "/workspace/here"}, {"env": {"PYTHONHASHSEED": "0"}}, {"env": {"__PYVENV_LAUNCHER__": "/tmp"}},
                       {"language": "bash"}):
            with self.subTest(fields):
                ran = self.code(self.sandbox, "true=1" if "language" in fields else "print(1)", **fields)
                self.assertEqual((0, False), (ran["exit_code"], ran["warm"]), ran)
        self.assertTrue(self.code(self.sandbox, "import os; print(os.environ['MINE'])", env={"MINE": "1"})["warm"])

    def test_packages_of_its_user_are_found(self):
        """Python looks for them when it starts, so a new one does."""
        self.assertTrue(self.code(self.sandbox, "pass")["warm"])
        name = self.code(self.sandbox, "import site; print(site.getusersitepackages())")["stdout"].strip()
        self.sandbox.put(f"{name}/greet.py", b"WORD = 'hello'")
        ran = self.code(self.sandbox, "import greet; print(greet.WORD)")
        self.assertEqual(("hello\n", "", False), (ran["stdout"], ran["stderr"], ran["warm"]))
        # .pth files and the module that Python imports at its start count like packages.
        self.sandbox.put("/workspace/more/beyond.py", b"WORD = 'beyond'")
        self.sandbox.put(f"{name}/more.pth", b"/workspace/more\n")
        self.sandbox.put(f"{name}/usercustomize.py", b"print('customized')")
        ran = self.code(self.sandbox, "import beyond, greet; print(beyond.WORD, greet.WORD)")
        self.assertEqual(("customized\nbeyond hello\n", False), (ran["stdout"], ran["warm"]), ran)
        self.sandbox.run("rm -r /tmp/.local")
        self.assertTrue(self.code(self.sandbox, "pass")["warm"])

    def test_what_pip_installs_is_found(self):
        if self.sandbox.run("python3 -m pip --version")["exit_code"] != 0:
            self.skipTest("the Python of the programs has no pip")
        self.sandbox.put("/workspace/greet-1.0-py3-none-any.whl", wheel("greet", "1.0", "WORD = 'hello'\n"))
        for options, warm in (("--target /workspace/packages", True), ("", False)):
            installed = self.sandbox.run(f"python3 -m pip install {options} --no-index ./greet-1.0-py3-none-any.whl")
            self.assertEqual(0, installed["exit_code"], installed)
            place = "import sys; sys.path.append('packages')\n" if warm else ""
            ran = self.code(self.sandbox, place + "import greet; print(greet.WORD)")
            self.assertEqual(("hello\n", "", warm), (ran["stdout"], ran["stderr"], ran["warm"]))

    def test_memory_beyond_the_limit_ends_the_sandbox(self):
        sandbox = self.warm(limits={"memory_mb": 128})
        waits = sandbox.start(["sleep", "60"])
        ran = self.code(sandbox, "x = b'x' * (300 << 20)")
        if ran["outcome"]["code"] == "out_of_memory":
            self.wait_for(lambda: sandbox.now()["state"] == "ended")
            self.assertEqual("out_of_memory", sandbox.now()["outcome"]["code"])
        else:
            # RLIMIT_DATA has refused the memory first, and nothing else was harmed.
            self.assertIn("MemoryError", ran["stderr"])
            self.assertEqual("running", waits.now()["state"])

    def test_limits_of_its_own(self):
        sandbox = self.warm(limits={"memory_mb": 1024, "disk_mb": 1, "processes": 12})
        self.assertEqual({"memory_mb": 1024, "disk_mb": 1, "processes": 12},
                         {name: sandbox.now()["limits"][name] for name in ("memory_mb", "disk_mb", "processes")})
        ran = self.code(sandbox, "x = b'x' * (500 << 20)\ntry: open('big', 'wb').write(bytes(2 << 20))\n"
                                 "except OSError as error: print(error.strerror)")
        self.assertEqual(("No space left on device\n", True), (ran["stdout"], ran["warm"]), ran)
        ran = self.code(sandbox, "import threading, time\nfor n in range(40):\n"
                                 "  threading.Thread(target=time.sleep, args=(9,), daemon=True).start()")
        self.assertIn("can't start new thread", ran["stderr"])

    def test_fewer_processes_than_a_fork_takes_are_refused(self):
        answer = self.sandbox.change(limits={"processes": 3, "memory_mb": 300})
        self.assert_problem(400, "out_of_range", answer, "limits: processes: expected an integer 4 .. ")
        self.assertEqual((128, 256), tuple(self.sandbox.now()["limits"][name] for name in ("processes", "memory_mb")))
        self.assertEqual(200, self.sandbox.change(limits={"processes": 4}).status)
        self.assertTrue(self.code(self.sandbox, "pass")["warm"])
        self.assertEqual(200, self.make().change(limits={"processes": 3}).status)

    def test_its_events_say_so(self):
        made = self.client.send("GET", f"{self.sandbox.path}/events?kind=created").json["events"][0]["detail"]
        self.assertEqual((True, "memory"), (made["warm"], made["disk_kind"]))

    def test_a_pause_stops_forks(self):
        started = self.client.post({"code": "import time\nwhile True: print(time.monotonic(), flush=True); time.sleep(.01)",
                                    "background": True}, f"{self.sandbox.path}/processes").json
        path = f"{self.sandbox.path}/processes/{started['pid']}"
        self.wait_for(lambda: self.client.send("GET", path).json["output_to"] > 0)
        self.sandbox.pause()
        printed = []

        def is_still():  # what it printed before may be read a moment later
            printed.append(self.client.send("GET", path).json["output_to"])
            return printed[-3:] == printed[-1:] * 3
        self.wait_for(is_still)
        self.assertEqual("paused", self.sandbox.now()["state"])
        self.assertTrue(self.code(self.sandbox, "pass")["warm"])
        self.wait_for(lambda: self.client.send("GET", path).json["output_to"] > printed[-1])

    def test_what_is_refused(self):
        self.refused(self.sandbox, "pty", code="1", pty={})
        self.refused(self.sandbox, "pty", command="true", pty={})
        for fragment, fields in (("template none|without a template", {"template": "none"}), ("bash", {"template": "bash"}),
                                 ("javascript", {"template": "javascript"}), ("4 ..", {"limits": {"processes": 3}})):
            with self.subTest(fragment):
                answer = self.client.post({"warm": True, **fields}, "/v1/sandboxes")
                self.assertEqual(400, answer.status, answer)
                self.assertRegex(answer.json["detail"], fragment)

    def test_processes_of_a_warm_sandbox_do_not_see_each_other(self):
        self.sandbox.start(["sleep", "60"])
        seen = "import os; print([n for n in os.listdir('/proc') if n.isdigit() and int(n) != os.getpid()])"
        self.assertEqual("[]\n", self.code(self.sandbox, seen)["stdout"])

    def test_a_program_that_replaces_another_ones_file(self):
        """Processes of one sandbox share its files: what one of them does to a program's file is the caller's own."""
        spoil = ("import os, time\nend = time.monotonic() + 3\nwhile time.monotonic() < end:\n"
                 "  for name in os.listdir():\n    if name.startswith('.main-') and name != os.path.basename(__file__):\n"
                 "      try:\n        open(name, 'w').write('print(\"spoilt\")')\n      except OSError: pass\n")
        self.client.post({"code": spoil, "background": True}, f"{self.sandbox.path}/processes")
        for _ in range(10):
            ran = self.code(self.sandbox, "print('whole')")
            self.assertTrue(ran["warm"])
        other = self.warm()
        self.assertEqual(("whole\n", True), tuple(self.code(other, "print('whole')")[name] for name in ("stdout", "warm")))

    def test_without_its_zygote_code_runs_by_a_new_interpreter(self):
        self.assertTrue(self.code(self.sandbox, "pass")["warm"])
        before = self.pools()["python"]["zygotes"]
        host_view.kill(host_view.zygotes())
        self.wait_for(lambda: self.pools()["python"]["zygotes"] > before and self.pools()["python"]["warm"] > 0)
        ran = self.code(self.sandbox, "print(6 * 7)")
        self.assertEqual(("42\n", False), (ran["stdout"], ran["warm"]))
        self.assertTrue(self.code(self.warm(), "pass")["warm"])
        self.assertFalse(self.code(self.sandbox, "pass")["warm"])

    def test_nothing_is_left_for_the_next_one(self):
        self.code(self.sandbox, "import builtins, sys, json\nbuiltins.print = None\njson.dumps = None\nsys.modules['left'] = 1")
        ran = self.code(self.sandbox, "import sys, json\nprint('left' in sys.modules, json.dumps(1))")
        self.assertEqual("False 1\n", ran["stdout"], ran["stderr"])


@SCOPED
class WarmNetwork(CodeTest):
    environment = {"SANDBOX_POOL_SIZE": "2", "JOBS_PATH": ":memory:", "SANDBOX_NETWORK_ENABLED": "true",
                   "SANDBOX_NETWORK_ALLOW": "example.org:443"}

    def test_its_way_out_is_that_of_the_sandbox(self):
        sandbox = self.warm(network={"allow": ["example.org:443"]})
        ran = self.code(sandbox, "import os; print(os.environ['HTTPS_PROXY'])")
        self.assertEqual(sandbox.run('echo "$HTTPS_PROXY"')["stdout"], ran["stdout"])
        self.assertTrue(ran["warm"])

    def test_ports(self):
        sandbox = self.warm()
        serve = "from http.server import *\nHTTPServer(('127.0.0.1', 8080), SimpleHTTPRequestHandler).serve_forever()"
        started = self.client.post({"code": serve, "background": True}, f"{sandbox.path}/processes")
        self.assertTrue(started.json["warm"])
        self.wait_for(lambda: self.client.send("GET", f"{sandbox.path}/ports/8080/").status == 200)


@SCOPED
@unittest.skipUnless(HAS_PANDAS, "the Python of the programs has no pandas")
class WarmModules(CodeTest):
    environment = {"SANDBOX_POOL_SIZE": "2", "JOBS_PATH": ":memory:"}

    def test_modules_of_the_template_are_there(self):
        """A fork reads none of pandas from the disk, and so takes few of the page faults of an import."""
        count = ("import resource, pandas\nprint(pandas.DataFrame({'a': [1, 2]}).a.sum(), "
                 "resource.getrusage(resource.RUSAGE_SELF).ru_minflt)")
        fields = {"template": "data", "limits": {"memory_mb": 512}}
        warm, cold = (self.code(self.make(warm=warm, **fields), count) for warm in (True, False))
        self.assertEqual((True, False), (warm["warm"], cold["warm"]))
        (warm_sum, warm_faults), (cold_sum, cold_faults) = (map(int, ran["stdout"].split()) for ran in (warm, cold))
        self.assertEqual((3, 3), (warm_sum, cold_sum))
        self.assertLess(warm_faults * 5, cold_faults)


@unittest.skipIf(KNOWS_SIGNALS, "this kernel has what it takes")
class OldKernel(CodeTest):
    def test_the_refusal_names_the_kernel(self):
        answer = self.client.post({"warm": True}, "/v1/sandboxes")
        self.assertEqual(400, answer.status, answer)
        self.assertIn("Linux 6.12", answer.json["detail"])


class NoPool(CodeTest):
    environment = {"SANDBOX_POOL_SIZE": "0", "JOBS_PATH": ":memory:"}

    def test_without_a_pool_there_is_no_warm_sandbox(self):
        answer = self.client.post({"warm": True}, "/v1/sandboxes")
        self.assertEqual(400, answer.status, answer)
        self.assertIn("warm", answer.json["detail"])
        self.assertFalse(self.code(self.make(template="python"), "pass")["warm"])
