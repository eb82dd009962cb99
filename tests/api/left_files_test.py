"""Files that a program leaves where a later one, or somebody on the host, might take them for settings or code: hooks of interpreters, shells
and tools, in every place that can be written. The next run, cold or warm, is as on a volume that nobody wrote to."""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

import live_server
import ordinary_user
import time_scale

MARK = "left-by-the-first"
LEAVE = r'''
import os, sys
mark = "left-by-" + "the-first"
python = f"import sys\nsys.stderr.write('{mark}')\nprint('{mark}')\n"
shell = f"echo {mark}\necho {mark} >&2\n"
script = f"console.log('{mark}')\n"
version = "python%d.%d" % sys.version_info[:2]
files = {name: python for name in ("sitecustomize.py", "usercustomize.py", "conftest.py", "main.py", "json.py", "encodings.py", "os.py", "site.py", "__init__.py",
                                   "__main__.py", ".pythonrc", ".pythonrc.py", "startup.py")}
files.update({"left.pth": f"import sys; print('{mark}')\n", version + "._pth": "/data\n", "pyvenv.cfg": "home = /data\ninclude-system-site-packages = true\n"})
for folder in (f".local/lib/{version}/site-packages", f"lib/{version}/site-packages", f"local/lib/{version}/dist-packages", "dist-packages", "site-packages"):
    files.update({f"{folder}/{name}": files[name] for name in ("sitecustomize.py", "usercustomize.py", "left.pth")})
files.update({name: shell for name in (".bashrc", ".bash_profile", ".profile", ".bash_login", ".bash_aliases", ".inputrc", ".env", "bash.bashrc", "main.sh", "ls", "cat")})
files.update({"package.json": '{"type": "module", "main": "main.js", "scripts": {"preinstall": "echo ' + mark + '"}}', "main.js": script, "index.js": script,
              "node_modules/fs/index.js": script, "node_modules/left/index.js": script, ".node_modules/left/index.js": script, ".npmrc": f"node-options=--require /data/main.js\n"})
files.update({".gitconfig": f"[core]\n\tfsmonitor = echo {mark}\n\thooksPath = /data/hooks\n", ".git/hooks/post-checkout": "#!/bin/sh\n" + shell, "hooks/post-checkout": "#!/bin/sh\n" + shell,
              ".git/config": f"[core]\n\tfsmonitor = echo {mark}\n", "pip.conf": "[global]\nindex-url = http://left.test/\n", ".config/pip/pip.conf": "[global]\nindex-url = http://left.test/\n",
              ".netrc": "default login left password left\n", "agent-sandbox.json": '{"rootfs": "/left"}', "ld.so.preload": "/data/left.so\n", "openssl.cnf": mark})
places, written = ("/", "/data", "/tmp", "/workspace", "/dev", "/dev/shm", "/etc", "/usr", "/usr/bin", "/usr/lib", "/var", "/run", "/home", "/root", os.environ["HOME"], os.getcwd()), {}
for place in places:
    for name, text in files.items():
        path = os.path.join(place, name)
        try:
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w") as file:
                file.write(text)
            os.chmod(path, 0o777)
            written[place] = written.get(place, 0) + 1
        except OSError:
            pass
print(len(files), sorted(written.items()))
'''
# Describes the surroundings of the next run, twice, since warm and cold runs may differ in what is imported.
LOOK = r'''
import sys
modules = sorted(name for name in sys.modules if getattr(sys.modules[name], "__file__", None) and not sys.modules[name].__file__.startswith("/usr/"))
import glob, importlib.util, json, os, site, subprocess
print(modules, sys.path, sys.flags, sys.prefix, sys.exec_prefix, site.ENABLE_USER_SITE, site.getusersitepackages())
print(os.getcwd(), sorted(os.environ.items()), [importlib.util.find_spec(name) for name in ("sitecustomize", "usercustomize", "conftest", "left")][1:])
print([(place, sorted(os.listdir(place))) for place in ("/", "/tmp", "/workspace", "/dev/shm/", os.environ["HOME"], "/etc")])
for command in COMMANDS:
    try:
        done = subprocess.run(command, capture_output=True, text=True)
        print(command, done.returncode, done.stdout, [line for line in done.stderr.splitlines() if "job control" not in line and "terminal process group" not in line])
    except OSError as error:
        print(command, error.errno)
'''
COMMANDS = [["python3", "-c", "import sys, json; print(sys.path, json.__file__)"], ["bash", "-c", "echo $PATH $ENV $BASH_ENV; type ls cat"], ["bash", "-lc", "echo login"],
            ["bash", "-ic", "echo interactive"], ["sh", "-c", "echo $ENV"], ["git", "config", "--list"]]
SLOW_COMMANDS = [["node", "-e", "console.log(module.paths, process.env.NODE_OPTIONS)"], ["python3", "-m", "pip", "config", "list"]]
SHELL = "shopt; set -o; alias; echo $PATH $ENV $BASH_ENV; pwd; type ls cat; python3 -c 'import sys; print(sys.path)'; ls -a /tmp /workspace /dev/shm/"
SCRIPT = "console.log(process.cwd(), process.execArgv, process.env, module.paths); try { require('left') } catch (error) { console.log(error.code) }"


class Volume(unittest.TestCase):
    """Runs `exec` with one volume, twice."""

    def setUp(self):
        if obstacle := live_server.host_view.no_user_namespaces():
            self.skipTest(obstacle)
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix="agent-sandbox-left.")).resolve()
        self.addCleanup(shutil.rmtree, self.directory, ignore_errors=True)
        self.binary = self.directory / "agent-sandbox"
        shutil.copy(live_server.BINARY, self.binary)
        os.chmod(self.directory, 0o755)
        for name in ("clean", "left"):
            (self.directory / name).mkdir()
            if ordinary_user.NOT_ROOT:
                os.chown(self.directory / name, ordinary_user.ID, ordinary_user.ID)

    def exec(self, volume, language, code):
        jail, program = self.directory / "jail.json", self.directory / "program"
        jail.write_text(json.dumps({"volumes": [{"source": volume, "target": "/data", "programs": "allowed", "why": "the test looks at it"}]}), encoding="utf-8")
        program.write_text(code, encoding="utf-8")
        done = subprocess.run([self.binary, "exec", "--rootfs", "host", "--jail", jail, "--timeout", f"{time_scale.timeout(30):g}", "--language", language, program], cwd="/", text=True,
                              capture_output=True, timeout=time_scale.scaled(90), check=False, env={"PATH": os.environ["PATH"], "HOME": str(self.directory)},
                              **ordinary_user.NOT_ROOT)
        return done.returncode, done.stdout, done.stderr

    def test_a_later_run_is_as_on_a_clean_volume(self):
        status, said, complaint = self.exec("left", "python", LEAVE)
        self.assertEqual(0, status, complaint)
        count = said.split()[0]
        self.assertGreaterEqual(int(count), 50)
        self.assertRegex(said, rf"^{count} \[\('/data', {count}\), \('/dev/shm', {count}\), \('/tmp', \d+\), \('/workspace', \d+\)\]$")
        for language, code in (("python", f"COMMANDS = {COMMANDS + SLOW_COMMANDS}\n{LOOK}"), ("bash", SHELL), ("javascript", SCRIPT)):
            if language == "javascript" and not os.access("/usr/bin/node", os.X_OK):
                continue
            with self.subTest(language):
                clean, after = (self.exec(volume, language, code) for volume in ("clean", "left"))
                self.assertEqual(0, clean[0], clean)
                self.assertEqual(clean, after)
                self.assertNotIn(MARK, "".join(after[1:]))

    def test_control_they_work_where_somebody_asks_for_them(self):
        """A program that opts to load files of the volume gets them, as it would anywhere."""
        self.exec("left", "python", LEAVE)
        for code in ("import sys\nsys.path.insert(0, '/data')\nimport usercustomize", "import site\nsite.addsitedir('/data')",
                     "import os, subprocess\nprint(subprocess.run(['bash', '-c', ''], env={**os.environ, 'BASH_ENV': '/data/.bashrc'}, capture_output=True, text=True).stdout)",
                     "import os, subprocess\nprint(subprocess.run(['python3', '-c', 'import conftest'], cwd='/data', env={**os.environ}, capture_output=True, text=True).stdout)"):
            self.assertIn(MARK, self.exec("left", "python", code)[1], code)

    def test_nothing_of_it_is_read_on_the_host(self):
        """The programs that run jails are started beside files that a jail of another user left."""
        self.exec("left", "python", LEAVE)
        if not ordinary_user.NOT_ROOT:
            self.skipTest("takes root, who is another user than the one whose jail left the files")
        done = subprocess.run([live_server.BINARY, "exec", "-c", "print(1)"], cwd=self.directory / "left", text=True, capture_output=True, check=False,
                              timeout=time_scale.scaled(60), env={"PATH": os.environ["PATH"], "HOME": str(self.directory)})
        self.assertIn(f"agent-sandbox.json: belongs to user {ordinary_user.ID}", done.stderr)
        self.assertNotIn(MARK, done.stdout + done.stderr)


class Server(live_server.ServerTest):
    """Warm and cold runs of a server: files that one leaves, and files that a request brings along."""

    environment = {"JOBS_PATH": ":memory:"}

    def test_runs_after_it_are_as_before(self):
        look = f"COMMANDS = {COMMANDS}\n{LOOK}"
        for template in ("python", "none"):
            with self.subTest(template):
                run = lambda code: self.client.execute(code, template=template, timeout_seconds=30)
                before = run(look)
                for _ in range(3):
                    self.assertEqual("success", run(LEAVE)["status"])
                after = run(look)
                self.assertEqual(("success", template == "python"), (before["status"], after["warm"]))
                self.assertEqual((before["stdout"], before["stderr"]), (after["stdout"], after["stderr"]))
                self.assertNotIn(MARK, after["stdout"])

    def test_hooks_that_a_request_brings_do_not_run_before_its_program(self):
        """The directory of a program is on its path, as everywhere; nothing there is code before the program imports it."""
        text = f"print('{MARK}')\n"
        files = {name: text for name in ("sitecustomize.py", "usercustomize.py", "conftest.py", "left.pth", ".bashrc", ".profile", ".pythonrc", "site.py", "os.py")}
        files["pyvenv.cfg"] = "home = /workspace\n"
        for template in ("python", "none"):
            with self.subTest(template):
                result = self.client.execute("print('first')", template=template, timeout_seconds=30, files=files)
                self.assertEqual(("success", "first\n", ""), (result["status"], result["stdout"], result["stderr"]))
        result = self.client.execute("echo first", language="bash", timeout_seconds=30, files=files)
        self.assertEqual(("success", "first\n", ""), (result["status"], result["stdout"], result["stderr"]))
        result = self.client.execute("import usercustomize", timeout_seconds=30, files=files)
        self.assertEqual(f"{MARK}\n", result["stdout"], "the control: its own directory is on its path")


if __name__ == "__main__":
    unittest.main()
