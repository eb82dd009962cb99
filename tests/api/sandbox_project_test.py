"""Typical work in a sandbox: a web server that a browser opens, an editor at a terminal, a repository that is cloned
and built, packages that are installed. By the tools themselves; where this host has none a test is skipped."""
import os
import re
import shutil
import signal
import subprocess
import tempfile

import host_view
import live_server
import npm_registry
import time_scale
from living_sandbox import Sandbox, SandboxTest
from sandbox_command import Command
from sandbox_port import DOMAIN, PORT, PortTest

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


def needs(test, sandbox, *tools):
    """Skips the test where the root of sandboxes, here the host's /usr, lacks one of these."""
    for tool in tools:
        if sandbox.run(["sh", "-c", 'command -v "$1"', "sh", tool])["exit_code"] != 0:
            test.skipTest(f"{tool} is not in this host's /usr")


class Browser(PortTest):
    environment = {**PortTest.environment, "API_KEYS": "the-key", "SANDBOX_PORTS_TIMEOUT_SECONDS": "60"}

    def setUp(self):
        live_server.ServerTest.setUp(self)
        if CHROMIUM is None:
            self.skipTest("chromium is not installed")
        self.sandbox = self.with_server(self.client_with("the-key"))
        self.server_inside = self.sandbox.processes()[-1]["pid"]

    def open(self, address):
        """Opens the address in a browser that lives until the test is over."""
        profile = tempfile.TemporaryDirectory(prefix="agent-sandbox-browser.", ignore_cleanup_errors=True)
        self.addCleanup(profile.cleanup)
        # A browser of root's has no sandbox of its own; it meets pages of this test alone.
        browser = subprocess.Popen(
            [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
             f"--user-data-dir={profile.name}", f"--host-resolver-rules=MAP *.{DOMAIN} 127.0.0.1, EXCLUDE 127.0.0.1", address],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
            env={"PATH": os.environ["PATH"], "HOME": profile.name, "TMPDIR": profile.name})
        self.addCleanup(browser.wait)
        self.addCleanup(os.killpg, browser.pid, signal.SIGKILL)

    def seen(self, word):
        """Returns what the page sent to its server under this word, once it has."""
        output = f"{self.sandbox.path}/processes/{self.server_inside}/output"
        found = []

        def is_told():
            text = "".join(piece["data"] for piece in self.sandbox.client.send("GET", output).json["pieces"])
            found[:] = re.findall(f"^seen {word} (.*)$", text, re.MULTILINE)
            return found

        self.assertTrue(host_view.wait_until(is_told, 60), f"the page does not tell {word}")
        return found[0]

    def test_a_page_by_host_name(self):
        """It is opened by the token in its address, and goes on by a cookie that it cannot read."""
        token = self.sandbox.made["access_token"]
        self.open(f"http://{self.name()}:{self.server.port}/page?access_token={token}")
        self.assertEqual("hello echoed", self.seen("websocket"))
        self.assertEqual("GET /echo HTTP/1.1", self.seen("fetch"))
        self.assertEqual(f"http://{self.name()}:{self.server.port}/page", self.seen("address"))
        self.assertEqual("nothing", self.seen("cookie"))

    def test_a_page_by_path(self):
        """It is opened by the token, and again by the cookie that this becomes. It has no origin, so its scripts reach nothing."""
        self.open(f"http://127.0.0.1:{self.server.port}{self.path('/page')}?access_token={self.sandbox.made['access_token']}")
        self.assertTrue(host_view.wait_until(self.page_was_asked_for, 60), "the page is not opened")

    def page_was_asked_for(self):
        answer = self.sandbox.client.send("GET", self.path("/opened"))
        self.assertEqual(200, answer.status, answer)
        return int(answer.body) > 0


class Editor(Command):
    def setUp(self):
        super().setUp()
        if shutil.which("tmux") is None:
            self.skipTest("tmux is not installed")
        self.sandbox = Sandbox(self.client, self.client.send("GET", f"/v1/sandboxes/{self.make('--env', 'PS1=ready$ ')}").json)
        needs(self, self.sandbox, "vim")
        self.socket = str(self.directory / "tmux")
        self.addCleanup(self.tmux, "kill-server", check=False)

    def tmux(self, *arguments, check=True):
        return subprocess.run(["tmux", "-f", "/dev/null", "-S", self.socket, *arguments], env=self.variables(LANG="C.UTF-8"), check=check,
                              capture_output=True, text=True, timeout=time_scale.scaled(60)).stdout

    def screen(self):
        return self.tmux("capture-pane", "-p")

    def shows(self, pattern):
        shown = []
        self.assertTrue(host_view.wait_until(lambda: shown.append(self.screen()) or re.search(pattern, shown[-1], re.MULTILINE), 30),
                        f"no {pattern!r}: {shown[-1]}")

    def type(self, *keys):
        self.tmux("send-keys", *keys)

    def test_vim_in_a_shell_under_tmux(self):
        command = f'"$PROGRAM" sandbox shell {self.sandbox.id}; echo "it ended with $?"; exec sleep 50'
        self.tmux("new-session", "-d", "-x", "90", "-y", "25", "-e", f"PROGRAM={live_server.BINARY}", command)
        self.shows(r"^ready\$")
        self.type("vim -u NONE -N note.txt", "Enter")
        self.shows("^~")
        self.type("i")
        self.type("-l", "first line: äöü")
        self.type("Enter")
        self.type("-l", "second line")
        self.type("Escape")
        self.shows("^second line")
        self.type("-l", ":echo 'has' &columns 'by' &lines")
        self.type("Enter")
        self.shows("^has 90 by 2[45]")
        self.tmux("resize-window", "-x", "120", "-y", "40")
        self.assertTrue(host_view.wait_until(self.has_new_size, 30), self.screen())
        self.type("-l", ":wq")
        self.type("Enter")
        self.shows(r"^ready\$ *$")
        self.assertEqual("first line: äöü\nsecond line\n", self.sandbox.get("/workspace/note.txt").body.decode())
        self.type("exit 7", "Enter")
        self.shows("^it ended with 7")
        self.wait_until_idle(self.sandbox.id)

    def has_new_size(self):
        self.type("Escape")
        self.type("-l", ":echo 'now' &columns 'by' &lines")
        self.type("Enter")
        return re.search("^now 120 by (39|40)", self.screen(), re.MULTILINE)


MAKEFILE = """\
answer: main.o seven.o
\t$(CC) -o $@ $^
check: answer
\t./answer > said && test "$$(cat said)" = 42 && echo passed
"""
SOURCES = {"Makefile": MAKEFILE,
           "main.c": '#include <stdio.h>\nint seven(void);\nint main(void) { printf("%d\\n", 6 * seven()); return 0; }\n',
           "seven.c": "int seven(void) { return 7; }\n"}


class Build(SandboxTest):
    def test_cloned_changed_built_and_pushed(self):
        sandbox = self.make(limits={"memory_mb": 512, "disk_mb": 128})
        needs(self, sandbox, "git", "make", "cc")
        for name, content in SOURCES.items():
            sandbox.put(f"/workspace/first/{name}", content.encode())
        said = sandbox.run("set -e; export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b\n"
                           "git init -q --bare origin.git; cd first; git init -q -b main; git add .; git commit -qm first\n"
                           "git push -q ../origin.git main; cd ..; git clone -q -b main origin.git work; cd work; git status --short\n"
                           "make -j4 check\n"
                           "sed -i s/7/6/ seven.c; make answer; ./answer; git commit -qam second; git push -q origin main; git log --oneline | wc -l")
        self.assertEqual(0, said["exit_code"], said)
        self.assertRegex(said["stdout"], r"(?s)\npassed\n.*\n36\n2\n\Z")

    def test_make_starts_every_kind_of_recipe(self):
        """make uses posix_spawn(3), which must keep the present ids."""
        sandbox = self.make()
        needs(self, sandbox, "make")
        sandbox.put("/workspace/Makefile", b"all: plain shell other\nplain:\n\tprintf 'plain\\n'\nshell:\n\techo $$((6*7)) | cat\n"
                                           b"other:\n\t@$(MAKE) -s -f more\n")
        sandbox.put("/workspace/more", b"all:\n\techo $(shell echo below)\n")
        said = sandbox.run(["make", "-s"])
        self.assertEqual((0, "plain\n42\nbelow\n"), (said["exit_code"], said["stdout"]), said)


class Packages(SandboxTest):
    @classmethod
    def setUpClass(cls):
        cls.registry = npm_registry.Registry()
        cls.addClassCleanup(cls.registry.stop)
        cls.environment = {**SandboxTest.environment, "SANDBOX_NETWORK_ENABLED": "true", "SANDBOX_NETWORK_ALLOW": cls.registry.rule}
        super().setUpClass()

    def project(self, **fields):
        sandbox = self.make(limits={"memory_mb": 1024, "disk_mb": 128}, **fields)
        needs(self, sandbox, "node", "npm")
        test = f"node -e \\\"process.exit(require('{npm_registry.NAME}')(6) == 42 ? 0 : 1)\\\"".replace('\\"', '"')
        for name, content in self.registry.project(test=test).items():
            sandbox.put(f"/workspace/project/{name}", content.encode())
        return sandbox

    def install(self, sandbox):
        return sandbox.run(["npm", "ci", "--no-audit", "--no-fund", "--no-update-notifier", "--fetch-retries=0", "--registry", self.registry.url],
                           working_directory="/workspace/project")

    def test_installed_through_the_allow_list(self):
        sandbox = self.project(network={"allow": [self.registry.rule]})
        installed = self.install(sandbox)
        self.assertEqual(0, installed["exit_code"], installed)
        self.assertIn("added 1 package", installed["stdout"])
        self.assertIn(f"/{npm_registry.NAME}-{npm_registry.VERSION}.tgz", self.registry.asked)
        tested = sandbox.run(["npm", "test", "--no-update-notifier"], working_directory="/workspace/project")
        self.assertEqual(0, tested["exit_code"], tested)
        # The request may arrive before the event that reports it.
        self.assertTrue(host_view.wait_until(lambda: str(self.registry.server_port) in self.allowed(sandbox), 20), self.allowed(sandbox))

    def allowed(self, sandbox):
        events = self.client.send("GET", f"{sandbox.path}/events?kind=egress_allowed").json["events"]
        return " ".join(event["detail"]["destination"] for event in events)

    def test_without_a_network_it_is_not(self):
        sandbox = self.project()
        before = len(self.registry.asked)
        installed = self.install(sandbox)
        self.assertNotEqual(0, installed["exit_code"])
        self.assertEqual(before, len(self.registry.asked))
