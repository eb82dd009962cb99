"""`files` in and `artifacts` out: what a caller sends and gets, and what a hostile program leaves there."""
import base64
import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import time
import unittest

import host_view
import live_server
import time_scale

MEBIBYTE = 1 << 20
LISTED = 256


class FilesTest(live_server.ServerTest):
    def artifacts(self, code, globs=("**",), **fields):
        """Returns the result, and its artefacts as {path: bytes}."""
        result = self.execute(code, artifacts=list(globs), **fields)
        return result, {item["path"]: base64.b64decode(item["base64"], validate=True) for item in result["artifacts"]}

    def skipped(self, result):
        return {item["path"]: item["reason"] for item in result["artifacts_skipped"]}

    def refused(self, fragment, **fields):
        answer = self.client.post({"code": "pass", **fields})
        self.assertEqual(400, answer.status, answer)
        self.assertIn(fragment, answer.json["detail"])


class Files(FilesTest):
    def test_text_and_bytes_in_and_out(self):
        noise = bytes(range(256)) * 100
        result, files = self.artifacts(
            "import os\n"
            "os.makedirs('out/deep')\n"
            "open('out/deep/copy.bin', 'wb').write(open('in/noise.bin', 'rb').read())\n"
            "open('out/upper.txt', 'w').write(open('words.txt').read().upper())\n",
            ["out/**"], files={"words.txt": "grün\n", "in/noise.bin": {"base64": base64.b64encode(noise).decode()}})
        self.assertEqual("success", result["status"], result)
        self.assertEqual({"out/deep/copy.bin": noise, "out/upper.txt": "GRÜN\n".encode()}, files)
        self.assertEqual({"application/octet-stream", "text/plain"}, {item["media_type"] for item in result["artifacts"]})
        self.assertEqual([25600, 6], [item["size"] for item in result["artifacts"]])
        self.assertEqual(([], 0), (result["artifacts_skipped"], result["artifacts_skipped_total"]))

    def test_files_belong_to_the_program(self):
        result = self.execute("import os\nopen('a/b', 'a').write('more')\nos.rename('a/b', 'c')\nos.rmdir('a')\n"
                              "print(open('c').read(), oct(os.stat('c').st_mode))", files={"a/b": "some"})
        self.assertEqual("somemore 0o100644\n", result["stdout"], result)

    def test_files_for_bash(self):
        result, files = self.artifacts("sort words > sorted", ["sorted"], language="bash", files={"words": "b\na\n"})
        self.assertEqual({"sorted": b"a\nb\n"}, files, result)

    def test_only_what_a_glob_names(self):
        _, files = self.artifacts("for name in 'a.png', 'b.txt', '.c.png': open(name, 'w')", ["*.png", "nothing*"])
        self.assertEqual(["a.png"], list(files))

    def test_the_program_itself_is_no_artefact(self):
        _, files = self.artifacts("open('other.py', 'w')", ["*.py"])
        self.assertEqual(["other.py"], list(files))

    def test_nothing_asked_nothing_given(self):
        result = self.execute("open('a', 'w')")
        self.assertEqual(([], [], 0), (result["artifacts"], result["artifacts_skipped"], result["artifacts_skipped_total"]))

    def test_whatever_the_fate(self):
        for status, end in (("error", "raise SystemExit(3)"), ("timeout", "while True: pass"),
                            ("killed", "import os; os.kill(os.getpid(), 11)"),
                            ("out_of_memory", "x = []\nwhile True: x.append(bytearray(1 << 20))")):
            with self.subTest(status):
                result, files = self.artifacts(f"open('kept', 'w').write('kept')\n{end}", memory_limit_mb=64,
                                               timeout_seconds=time_scale.timeout(3) if status == "timeout" else 20)
                self.assertEqual((status, {"kept": b"kept"}), (result["status"], files))

    def test_eight_mebibytes_in(self):
        half = "x" * (4 * MEBIBYTE)
        result = self.execute("import os; print(os.stat('a').st_size + os.stat('b').st_size)", files={"a": half, "b": half})
        self.assertEqual(f"{8 * MEBIBYTE}\n", result["stdout"])
        self.refused("8388608 bytes", files={"a": half, "b": half + "x"})

    def test_bad_files(self):
        self.refused("files: expected a map", files=["a"])
        self.refused('files: "a": expected a string', files={"a": 1})
        self.refused('files: "a": expected a string', files={"a": {"base64": "Zg"}})
        self.refused('files: "a": expected a string', files={"a": {"base64": "Zg==", "more": 1}})
        self.refused("empty components, . and ..", files={"../a": ""})
        self.refused("expected a relative path", files={"/etc/passwd": ""})
        self.refused("the program itself", files={"main.py": ""})
        self.refused("needs a directory", files={"a": "", "a/b": ""})
        self.refused("at most 64 files", files={f"f{number}": "" for number in range(65)})

    def test_bad_globs(self):
        self.refused("artifacts: expected a list", artifacts="*.png")
        self.refused("artifacts: expected a list", artifacts=[1])
        self.refused("artifacts: expected a list", artifacts=["*"] * 65)
        self.refused('artifacts: "../*": a glob with . or ..', artifacts=["../*"])
        self.refused("a glob that is empty", artifacts=[""])


class Hostile(FilesTest):
    """Names, types and sizes are the program's. The host must not follow, wait or take more than it says."""

    def test_links_lead_nowhere(self):
        result, files = self.artifacts(
            "import os\n"
            "os.symlink('/etc/passwd', 'passwd'); os.symlink('/proc/self/environ', 'environ')\n"
            "os.symlink('/proc/1/root/etc/shadow', 'shadow'); os.symlink('../' * 20 + 'etc/hostname', 'relative')\n"
            "os.symlink('/etc', 'etc'); os.symlink('/proc', 'proc'); os.symlink('loop', 'loop')\n"
            "open('once', 'w').write('mine'); os.link('once', 'twice')\n",
            ["**", "etc/*", "proc/self/*", "etc/passwd"])
        self.assertEqual({}, files)
        links = {name: "not a regular file" for name in ("passwd", "environ", "shadow", "relative", "etc", "proc", "loop")}
        self.assertEqual({**links, "once": "more than one link", "twice": "more than one link"}, self.skipped(result))

    def test_special_files_do_not_block(self):
        result, seconds = self.seconds(
            "import os, socket\n"
            "socket.socket(socket.AF_UNIX).bind('socket')\n"
            "for make in (lambda: os.mkfifo('fifo'), lambda: os.mknod('device', 0o20666, os.makedev(1, 5))):\n"
            "    try: make()\n"
            "    except OSError as error: print(error.strerror)\n", artifacts=["*"])
        self.assertLess(seconds, 5)
        self.assertEqual("not a regular file", self.skipped(result).get("socket"), result)
        self.assertEqual([], result["artifacts"])

    def test_sizes_are_bounded(self):
        result, files = self.artifacts(
            "open('a', 'wb').write(bytes(4 << 20)); open('b', 'wb').write(bytes((4 << 20) + 1))\n"
            "open('c', 'wb').write(bytes(3 << 20)); open('d', 'wb').write(bytes(2 << 20))\n"
            "open('e', 'wb').write(bytes(1 << 20))\n", memory_limit_mb=256)
        self.assertEqual(["a", "c", "e"], list(files))
        self.assertEqual({"b": "too large", "d": "too large together with the others"}, self.skipped(result))

    def test_sparse_files(self):
        result, seconds = self.seconds(
            "import os\n"
            "for power in (20, 25, 50):\n"
            "    with open(f'sparse{power}', 'wb') as file:\n"
            "        try: os.ftruncate(file.fileno(), 1 << power)\n"
            "        except OSError as error: print(error.strerror)\n", artifacts=["sparse*"])
        self.assertLess(seconds, 5)
        self.assertEqual({"sparse20": MEBIBYTE, "sparse50": 0}, {item["path"]: item["size"] for item in result["artifacts"]})
        self.assertEqual({"sparse25": "too large"}, self.skipped(result))

    def test_a_hundred_thousand_files(self):
        result, seconds = self.seconds(
            "made = 0\n"
            "try:\n"
            "    for made in range(100_000): open(f'f{made}', 'w').close()\n"
            "except OSError as error: print(made, error.strerror)\n", artifacts=["**", *["*a*b*c*d*"] * 63],
            timeout_seconds=30)
        self.assertLess(seconds, 30)
        self.assertEqual(64, len(result["artifacts"]), result["stdout"])
        self.assertLessEqual(len(result["artifacts_skipped"]), LISTED)
        self.assertGreaterEqual(result["artifacts_skipped_total"], 1)

    def test_a_thousand_directories_deep(self):
        result, seconds = self.seconds(
            "import os\n"
            "for _ in range(1000): os.mkdir('d'); os.chdir('d')\n"
            "open('file', 'w')\n", artifacts=["**", "d/d/d/*", "/".join(["d"] * 31 + ["*"])])
        self.assertLess(seconds, 10)
        self.assertEqual(([], {"/".join(["d"] * 33): "too deep"}), (result["artifacts"], self.skipped(result)))

    def test_names_that_are_not_text(self):
        result, files = self.artifacts(
            "import os\n"
            "for name in (b'\\xff.txt', b'a\\nb.txt', b'\\x1b[31mred.txt', '\\u202egnp.txt'.encode()): open(name, 'w').close()\n")
        self.assertEqual({"a\nb.txt", "\x1b[31mred.txt", "\u202egnp.txt"}, set(files), result)
        self.assertEqual({"\ufffd.txt": "its name is not UTF-8"}, self.skipped(result))
        self.assertEqual(1, result["artifacts_skipped_total"])

    def test_what_its_mode_forbids(self):
        result, files = self.artifacts(
            "import os\n"
            "os.mkdir('shut'); open('shut/file', 'w'); open('secret', 'w'); open('open', 'w')\n"
            "os.chmod('shut', 0); os.chmod('secret', 0)\n")
        self.assertEqual(["open"], list(files))
        self.assertEqual({"shut": "permission denied", "secret": "permission denied"}, self.skipped(result))

    def test_the_directory_itself_shut_or_removed(self):
        for code in ("import os; os.chmod('.', 0)", "import os, shutil; shutil.rmtree('.', ignore_errors=True)"):
            result, files = self.artifacts(code)
            self.assertEqual({}, files, result)
            self.assertEqual(200, self.client.post({"code": "print(1)"}).status)

    def test_a_swapped_file_is_never_followed(self):
        """Children go on exchanging the file for a link when the program ends: they must be dead before the file is
        read."""
        swapper = ("import os\n"
                   "secret = '/etc/passwd'\n"
                   "for _ in range(6):\n"
                   "    if os.fork() == 0:\n"
                   "        os.setsid()\n"
                   "        own = str(os.getpid())\n"
                   "        while True:\n"
                   "            open(own, 'w').write('mine'); os.rename(own, 'x')\n"
                   "            os.symlink(secret, own); os.rename(own, 'x')\n"
                   "import time; time.sleep(0.2)\n")
        for _ in range(10):
            result, files = self.artifacts(swapper, ["x"])
            self.assertIn((list(files.values()), self.skipped(result)),
                          (([b"mine"], {}), ([b""], {}), ([], {"x": "not a regular file"}), ([], {})), result)

    def test_other_mounts_are_not_entered(self):
        result, files = self.artifacts("import os; os.symlink('/tmp', 'tmp'); open('/tmp/there', 'w').write('x')", ["tmp/*", "**"])
        self.assertEqual(({}, {"tmp": "not a regular file"}), (files, self.skipped(result)))

    def test_artefacts_cost_the_server_nothing_lasting(self):
        # Jails that wait have descriptors as well.
        self.wait_for(lambda: self.pools()["python"]["warm"] == self.pools()["python"]["target"])
        before = host_view.open_descriptors(self.server.pid)
        for _ in range(20):
            self.artifacts("import os; os.makedirs('a/b/c'); open('a/b/c/d', 'w')", template="none")
        self.wait_for(lambda: host_view.open_descriptors(self.server.pid) <= before + 2)


class CommandLine(unittest.TestCase):
    def setUp(self):
        if obstacle := live_server.host_view.no_user_namespaces():
            self.skipTest(obstacle)
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix="agent-sandbox-files."))
        self.addCleanup(shutil.rmtree, self.directory, ignore_errors=True)
        # Started as root exec works as another user, and still writes what it writes as root.
        self.directory.chmod(0o755)

    def exec(self, *arguments):
        return subprocess.run([live_server.BINARY, "exec", *arguments], cwd=self.directory, capture_output=True, text=True,
                              timeout=time_scale.scaled(60), check=False)

    def test_files_and_artefacts(self):
        (self.directory / "numbers.csv").write_text("1\n2\n", encoding="utf-8")
        done = self.exec("-c", "import os\nprint(open('in/n.csv').read() == open('numbers.csv').read())\n"
                         "os.mkdir('out'); open('out/sum.txt', 'w').write('3'); os.symlink('x', 'out/link')",
                         "--file", "numbers.csv:in/n.csv", "--file", "numbers.csv", "--artifact", "out/*:results")
        self.assertEqual((0, "True\n", 'agent-sandbox: artifact "out/link" skipped: not a regular file\n'
                          'agent-sandbox: wrote "results/out/sum.txt", 1 byte\n'), (done.returncode, done.stdout, done.stderr))
        self.assertEqual("3", (self.directory / "results" / "out" / "sum.txt").read_text(encoding="utf-8"))

    def test_a_glob_without_a_match_and_a_file_that_is_too_large_are_told(self):
        done = self.exec("-c", "open('big', 'w').write('x' * (4 << 20) + 'x')", "--artifact", "*.zip:results", "--artifact", "big:results")
        self.assertEqual((125, 'agent-sandbox: artifact "big" skipped: too large (4 MiB at most)\n'
                          'agent-sandbox: --artifact "*.zip": no file matched\n'
                          'agent-sandbox: the program ended with exit status 0, but an artifact was not written\n'), (done.returncode, done.stderr))

    def test_nothing_is_replaced_unasked(self):
        (self.directory / "notes.txt").write_text("mine", encoding="utf-8")
        done = self.exec("-c", "open('notes.txt', 'w').write('new')", "--artifact", "*:.")
        told = 'agent-sandbox: write "notes.txt" into .: File exists. Hint: --overwrite replaces it\n'
        lost = "agent-sandbox: the program ended with exit status 0, but an artifact was not written\n"
        self.assertEqual((125, told + lost), (done.returncode, done.stderr))
        done = self.exec("-c", "open('notes.txt', 'w').write('new'); open('other.txt', 'w').write('new'); exit(3)", "--artifact", "*:.")
        self.assertEqual((3, 'agent-sandbox: wrote "other.txt", 3 bytes\n' + told), (done.returncode, done.stderr))
        self.assertEqual("mine", (self.directory / "notes.txt").read_text(encoding="utf-8"))

    def test_what_the_next_start_would_obey_is_not_written(self):
        for name in ("agent-sandbox.json", ".env", "d/agent-sandbox.json"):
            with self.subTest(name):
                done = self.exec("-c", f"import os; os.makedirs('d'); open('{name}', 'w').write('{{}}')", "--artifact", f"{name}:.", "--overwrite")
                self.assertEqual(125, done.returncode)
                self.assertIn(f'write "{name}" into .: Operation not permitted. Hint: a start would take it as its configuration', done.stderr)
                self.assertFalse((self.directory / name).exists())

    def test_the_language_is_told_by_the_first_line(self):
        (self.directory / "tool").write_text("#!/usr/bin/env -S bash\necho $0", encoding="utf-8")
        (self.directory / "a.rb").write_text("puts 1", encoding="utf-8")
        self.assertEqual("/workspace/tool\n", self.exec("tool").stdout)
        done = self.exec("a.rb")
        self.assertEqual((2, ""), (done.returncode, done.stdout))
        self.assertIn("the language of a.rb is told neither by its name nor by its first line; say --language", done.stderr)

    def test_a_program_has_the_name_of_its_file(self):
        (self.directory / "script.py").write_text("import sys\nprint(sys.argv[0])\nraise ValueError", encoding="utf-8")
        (self.directory / "odd name.py").write_text("import sys\nprint(sys.argv[0])", encoding="utf-8")
        done = self.exec("script.py")
        self.assertEqual((1, "/workspace/script.py\n"), (done.returncode, done.stdout), done.stderr)
        self.assertIn('File "/workspace/script.py", line 3', done.stderr)
        self.assertEqual("/workspace/main.py\n", self.exec("odd name.py").stdout)
        self.assertEqual("/workspace/main.py\n", self.exec("script.py", "--file", "/etc/hostname:script.py").stdout)
        done = self.exec("script.py", "--artifact", "*.py:results")
        self.assertIn('--artifact "*.py": no file matched', done.stderr)

    def test_a_template_is_named(self):
        done = self.exec("-c", "echo $0", "--language", "bash", "--template", "bash", "--json")
        self.assertEqual("bash", json.loads(done.stdout)["template"], done.stderr)
        done = self.exec("-c", "1", "--template", "bash")
        self.assertEqual((2, "agent-sandbox: --template: bash runs bash; for python expected one of none, data, python\n"),
                         (done.returncode, done.stderr))
        done = self.exec("-c", "1", "--template", "nobody")
        self.assertEqual(2, done.returncode)
        self.assertIn('--template: expected one of none, data, python, not "nobody"', done.stderr)
        self.assertEqual(0, self.exec("-c", "1", "--template", "none").returncode)

    def test_a_program_where_a_file_belongs(self):
        done = self.exec("print(6*7)")
        self.assertEqual((2, ""), (done.returncode, done.stdout))
        self.assertIn('a program itself goes behind -c: exec -c "print(6*7)"', done.stderr)

    def test_a_variable_is_passed_on(self):
        done = subprocess.run([live_server.BINARY, "exec", "-e", "MINE", "-c", "import os; print(os.environ['MINE'])"], capture_output=True,
                              text=True, timeout=time_scale.scaled(60), check=False, env={**os.environ, "MINE": "a b"}, cwd=self.directory)
        self.assertEqual((0, "a b\n", ""), (done.returncode, done.stdout, done.stderr))
        done = self.exec("-e", "NOT_SET_HERE", "-c", "1")
        self.assertEqual((2, "agent-sandbox: --env NOT_SET_HERE: it is not set here; write NOT_SET_HERE=VALUE\n"),
                         (done.returncode, done.stderr))

    def test_an_older_result_is_replaced_where_that_is_asked_for_and_links_are_not_followed(self):
        (self.directory / "victim").write_text("untouched", encoding="utf-8")
        (self.directory / "a.txt").symlink_to("victim")
        (self.directory / "b.txt").write_text("old", encoding="utf-8")
        (self.directory / "elsewhere").mkdir()
        (self.directory / "sub").symlink_to("elsewhere")
        done = self.exec("-c", "for name in 'ab': open(name + '.txt', 'w').write('new')", "--artifact", "*.txt:.", "--overwrite")
        self.assertEqual((0, 'agent-sandbox: wrote "a.txt", 3 bytes\nagent-sandbox: wrote "b.txt", 3 bytes\n'),
                         (done.returncode, done.stderr))
        self.assertEqual(["new", "new", "untouched"], [(self.directory / name).read_text(encoding="utf-8")
                                                       for name in ("a.txt", "b.txt", "victim")])
        done = self.exec("-c", "import os; os.mkdir('sub'); open('sub/x', 'w')", "--artifact", "sub/*:.")
        self.assertEqual((125, []), (done.returncode, os.listdir(self.directory / "elsewhere")), done)
        self.assertIn('"sub/x"', done.stderr)

    def test_without_a_directory_they_are_in_the_json_result_alone(self):
        done = self.exec("-c", "open('a.txt', 'w').write('new'); open('b.txt', 'w')", "--json", "--artifact", "a.*", "--artifact", "b.*:out",
                         "--artifact", "c.*")
        self.assertEqual(0, done.returncode, done)
        self.assertEqual(["a.txt", "b.txt"], [item["path"] for item in json.loads(done.stdout)["artifacts"]])
        self.assertEqual('agent-sandbox: --artifact "c.*": no file matched\nagent-sandbox: wrote "out/b.txt", 0 bytes\n', done.stderr)

    def test_mistakes_are_told_before_the_program_runs(self):
        for status, fragment, arguments in ((2, "open nothing.csv", ["--file", "nothing.csv"]),
                                            (2, "--file: ", ["--file", "/:x"]),
                                            (2, "--file: \"../x\"", ["--file", "/etc/hostname:../x"]),
                                            (2, "expected GLOB:DIR", ["--artifact", "*.png"]),
                                            (2, "a glob with . or ..", ["--artifact", "../*:."]),
                                            (2, "write into /proc/x", ["--artifact", "*:/proc/x"])):
            with self.subTest(arguments):
                started = time.monotonic()
                done = self.exec("-c", "import time; time.sleep(3); print('ran')", *arguments)
                self.assertEqual((status, ""), (done.returncode, done.stdout), done)
                self.assertIn(fragment, done.stderr)
                self.assertLess(time.monotonic() - started, 3)
