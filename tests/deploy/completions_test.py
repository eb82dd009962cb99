"""Completions, tested in the shells themselves: they offer exactly what --help lists, and what a server knows."""
import contextlib
import os
import pathlib
import pty
import select
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "api"))
import command_line  # noqa: E402
import live_server  # noqa: E402
import time_scale  # noqa: E402

COMPLETIONS = command_line.DEPLOY / "completions"
LANGUAGES = {"python", "bash", "javascript", "typescript"}
# Words for which each shell is asked, with what must and what must not be offered.
VALUES = [("exec --language ", LANGUAGES), ("serve --log-format ", {"text", "json"}),
          ("serve --log-level ", {"debug", "info", "warning", "error"}), ("lessons ", {"list", "erase"}),
          ("run --provider ", {"groq", "openrouter", "anthropic", "google", "openai", "cerebras", "ollama", "replay"}),
          ("sandbox ", {"create", "list", "get", "exec", "shell", "cp", "ls", "rm", "url", "watch", "ps", "logs", "kill", "port", "token", "events", "metrics", "renew",
                      "change", "resize", "pause", "resume", "delete"}),
          ("volume ", {"create", "list", "get", "copy", "change", "delete"}),
          ("webhook ", {"create", "list", "get", "change", "test", "secret", "delete"}),
          ("webhook create --event ", {"created", "changed", "process_started", "process_ended", "file_written", "file_removed", "file_moved",
                                       "directory_made", "file_read", "url_signed", "pause_asked", "paused", "resume_asked", "resumed",
                                       "delete_asked", "ended", "forgotten", "egress_allowed", "egress_refused", "egress_ended",
                                       "memory_given_back", "restarted"}),
          ("jobs ", {"list", "show", "cancel"}),
          ("jobs --status ", {"running", "success", "error", "timeout", "failed", "out_of_memory", "killed", "violation", "cancelled", "completed"}),
          ("sandbox list --state ", {"running", "paused", "ended"}),
          ("sandbox create --on-timeout ", {"delete", "pause"}),
          ("sandbox create --disk-kind ", {"memory", "directory"}),
          ("", {"exec", "serve", "mcp", "run", "sandbox", "volume", "webhook", "jobs", "logs", "benchmark", "lessons", "doctor"})]
ASK_BASH = """
source "$1"
COMP_WORDS=("${@:2}") COMP_CWORD=$(($# - 2))
_agent_sandbox
printf '%s\\n' "${COMPREPLY[@]}"
"""
NOBODY = "http://127.0.0.1:1"
SHIPPED = {path.stem for path in (command_line.DEPLOY.parents[1] / "rootfs" / "templates").glob("*.json")}


class Known:
    """A server with a sandbox that runs, one that is paused and one that has ended, a job, a volume, a webhook, and a template of its own."""

    def __init__(self, place):
        self.templates = tempfile.TemporaryDirectory(prefix="agent-sandbox-templates.")
        os.chmod(self.templates.name, 0o755)
        (pathlib.Path(self.templates.name) / "own.json").write_text('{"name": "own", "language": "bash", "warmth": "prepared"}', encoding="utf-8")
        self.server = live_server.LiveServer(environment={"SANDBOX_TEMPLATES_DIR": self.templates.name, "SANDBOX_WEBHOOKS_ALLOW": "http://127.0.0.1:9", **place})
        self.url = f"http://127.0.0.1:{self.server.port}"
        client = self.server.client()
        self.ids = {name: client.post({"name": name}, "/v1/sandboxes").json["id"] for name in ("alpha", "asleep", "gone")}
        client.post({}, "/v1/sandboxes/asleep/pause")
        client.send("DELETE", "/v1/sandboxes/gone")
        self.job = client.post({"code": "true", "language": "bash"}, "/execute").json["job_id"]
        client.post({"name": "vault", "size_mb": 10}, "/v1/volumes")
        self.webhook = client.post({"url": "http://127.0.0.1:9/", "events": ["ended"]}, "/v1/webhooks").json["id"]
        client.close()

    def stop(self):
        self.server.stop()
        self.templates.cleanup()


class Completions(unittest.TestCase):
    """A subclass for each shell runs these: offers() returns what the shell offers for a line whose last word is
    unfinished."""
    shell = None
    # Whether a shell also offers options of other parts of `lessons`.
    whole_lessons = False
    # The time after which a shell that shows nothing has nothing to offer.
    patience = 20.0

    @classmethod
    def setUpClass(cls):
        if cls.shell is None:
            raise unittest.SkipTest("the base of the others")
        if shutil.which(cls.shell) is None:
            raise unittest.SkipTest(f"{cls.shell} is not installed")
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.directory = pathlib.Path(folder.name)
        (cls.directory / "program.py").touch()
        (cls.directory / "folder").mkdir()
        cls.known = Known(live_server.place_for_volumes(cls))
        cls.addClassCleanup(cls.known.stop)
        cls.environment = {"PATH": f"{pathlib.Path(command_line.BINARY).parent}:{os.environ['PATH']}", "HOME": str(cls.directory),
                           "LC_ALL": "C.UTF-8", "AGENT_SANDBOX_URL": cls.known.url}
        cls.start()

    @classmethod
    def start(cls):
        pass

    def offers(self, line):
        raise NotImplementedError

    def check_options(self):
        lessons = {option for words, options in command_line.options_by_subcommand().items()
                   if words[:1] == ("lessons",) for option in options}
        for words, known in command_line.options_by_subcommand().items():
            line = " ".join((*words, "-"))
            offered = self.offers(line) | self.offers(line + "-")
            offered = {word for word in offered if word.startswith("-")}
            missing = known - offered
            with self.subTest(line):
                self.assertEqual(set(), missing)
                allowed = known | lessons if self.whole_lessons and words[:1] == ("lessons",) else known
                self.assertEqual(set(), offered - allowed)

    def check_values(self):
        for line, expected in VALUES:
            with self.subTest(line):
                self.assertEqual(expected, {word for word in self.offers(line) if not word.startswith("-")})

    def check_paths(self):
        for line in ("exec ", "exec --file ", "exec --json ", "sandbox cp ", "serve --config ", "mcp --config ", "run --tests ", "run --trace ", "benchmark --suite "):
            with self.subTest(line):
                self.assertIn("program.py", self.offers(line + "pro"))
        for line in ("doctor ", "serve ", "serve --port ", "lessons list ", "sandbox get ", "exec -c "):
            with self.subTest(line):
                self.patience = 2.0
                self.assertNotIn("program.py", self.offers(line + "pro"))
        self.patience = 20.0
        self.assertIn("folder", {word.rstrip("/") for word in self.offers("serve --rootfs fol")})
        self.assertEqual({"root"}, self.offers("doctor --user roo") & {"root"})


    def check_known(self):
        living = {"alpha", "asleep", self.known.ids["alpha"], self.known.ids["asleep"]}
        for line, expected in (("sandbox exec ", living), ("sandbox exec --workdir /tmp ", living), ("sandbox logs ", living),
                               ("sandbox delete ", living), ("sandbox pause alpha ", living), ("sandbox get alpha ", set()),
                               ("sandbox get al", {"alpha"}), ("jobs show ", {self.known.job}), ("jobs cancel ", {self.known.job}),
                               (f"jobs show {self.known.job} ", set()), ("logs ", living | {self.known.job}),
                               ("volume get ", {"vault"}), ("volume copy va", {"vault"}), ("volume change ", {"vault"}), ("volume delete vault ", {"vault"}),
                               ("webhook get ", {self.known.webhook}), (f"webhook test {self.known.webhook} ", set()),
                               ("webhook delete ", {self.known.webhook}),
                               ("exec --template ", SHIPPED | {"own"}), ("sandbox create --template ow", {"own"})):
            with self.subTest(line):
                self.patience = 20.0 if expected else 2.0
                self.assertEqual(expected, {word for word in self.offers(line) if not word.startswith("-")})
        self.patience = 20.0
        self.assertEqual({"alpha"}, {word.rstrip(":") for word in self.offers("sandbox cp al")})
        self.assertEqual({"vault"}, {word.rstrip(":") for word in self.offers("sandbox create --volume va")})


class Bash(Completions):
    shell = "bash"

    def offers(self, line):
        words = ["agent-sandbox", *line.split(" ")]
        finished = subprocess.run(["bash", "--norc", "-c", ASK_BASH, "ask", COMPLETIONS / "agent-sandbox", *words], cwd=self.directory,
                                  capture_output=True, text=True, check=False, timeout=time_scale.scaled(60), env=self.environment)
        self.assertEqual("", finished.stderr)
        return set(finished.stdout.split())

    def test_bash_options(self):
        self.check_options()

    def test_bash_values(self):
        self.check_values()

    def test_bash_paths(self):
        self.check_paths()
        self.assertIn("program.py", self.offers("exec -c 1 -- pro"))
        self.assertIn("program.py", self.offers("sandbox exec box -- pro"))

    def test_bash_known(self):
        self.check_known()
        # readline splits box:path and HOST:PORT like this.
        for line in ("sandbox cp alpha :", "sandbox cp alpha : pro"):
            self.assertEqual(set(), self.offers(line))
        self.assertLessEqual({"asleep:", "program.py"}, self.offers("sandbox cp alpha : /x "))
        self.assertEqual({"alpha"}, self.offers("sandbox change --allow a.example : 443 al"))

    def test_bash_at_a_terminal(self):
        pid, terminal = pty.fork()
        if pid == 0:
            os.chdir(self.directory)
            os.execvpe("bash", ["bash", "--norc", "-i"], {**self.environment, "TERM": "dumb"})
        self.addCleanup(os.waitpid, pid, 0)
        self.addCleanup(os.close, terminal)  # which hangs up
        os.write(terminal, f"bind 'set enable-bracketed-paste off'; source {COMPLETIONS}/agent-sandbox; PS1='re''ady: '\n".encode())
        # Before the prompt it is the terminal that shows what is typed.
        self.assertIn("ready: ", self.shown(terminal, "ready: "))
        for typed, line in (("sandbox exec al\t|", "sandbox exec alpha |"), ("sandbox cp prog\t|", "sandbox cp program.py |"),
                            ("sandbox cp al\t|", "sandbox cp alpha:|"), ("sandbox cp alpha:pro\t|", "sandbox cp alpha:pro|"),
                            (f"jobs show {self.known.job[:6]}\t|", f"jobs show {self.known.job} |")):
            with self.subTest(typed):
                os.write(terminal, f"agent-sandbox {typed}".encode())
                self.assertIn(f"agent-sandbox {line}", self.shown(terminal, "|").replace("\a", ""))
                os.write(terminal, b"\x15")  # the line is discarded

    @staticmethod
    def shown(terminal, mark):
        output, deadline = "", time.monotonic() + time_scale.patience(30)
        while mark not in output and select.select([terminal], [], [], max(0.0, deadline - time.monotonic()))[0]:
            output += os.read(terminal, 65536).decode(errors="replace")
        return output

    def test_bash_option_and_value_by_equals_sign(self):
        # readline splits --language=py like this.
        self.assertEqual({"python"}, self.offers("exec --language = py"))
        self.assertEqual(LANGUAGES, self.offers("exec --language ="))

    def test_bash_values_of_options_are_no_subcommands(self):
        self.assertIn("--artifact", self.offers("exec --language serve --"))

    def test_bash_shellcheck(self):
        if shutil.which("shellcheck") is None:
            self.skipTest("shellcheck is not installed")
        checked = subprocess.run(["shellcheck", "-s", "bash", COMPLETIONS / "agent-sandbox"], capture_output=True, text=True, check=False)
        self.assertEqual((0, ""), (checked.returncode, checked.stdout))


class Fish(Completions):
    shell = "fish"
    # An option of `lessons` itself is one of its parts, too.
    whole_lessons = True

    def offers(self, line):
        script = 'source $argv[1]; complete -C "agent-sandbox $argv[2]"'
        finished = subprocess.run(["fish", "--no-config", "-c", script, COMPLETIONS / "agent-sandbox.fish", line], cwd=self.directory,
                                  capture_output=True, text=True, check=False, timeout=time_scale.scaled(60), env=self.environment)
        self.assertEqual("", finished.stderr)
        return {offer.partition("\t")[0] for offer in finished.stdout.splitlines()}

    def test_fish_options(self):
        self.check_options()

    def test_fish_values(self):
        self.check_values()

    def test_fish_paths(self):
        self.check_paths()

    def test_fish_known(self):
        self.check_known()

    def test_fish_syntax(self):
        checked = subprocess.run(["fish", "-n", COMPLETIONS / "agent-sandbox.fish"], capture_output=True, text=True, check=False)
        self.assertEqual((0, ""), (checked.returncode, checked.stderr))


class Zsh(Completions):
    """zsh completes only at a terminal, so it gets one, and Ctrl-D, which lists the possible words."""
    shell = "zsh"
    whole_lessons = True

    @classmethod
    def start(cls):
        shutil.copy(COMPLETIONS / "_agent-sandbox", cls.directory / "_agent-sandbox")
        pid, cls.terminal = pty.fork()
        if pid == 0:
            os.chdir(cls.directory)
            os.execvpe("zsh", ["zsh", "-f", "-i"], {**cls.environment, "HOME": ".", "TERM": "dumb", "LC_ALL": "C"})
        cls.addClassCleanup(os.waitpid, pid, 0)
        cls.addClassCleanup(os.close, cls.terminal)  # which hangs up
        cls.type("PS1=; PS2=; stty columns 250 rows 500; fpath=($PWD $fpath); autoload -Uz compinit; compinit -u -D; "
                 "zstyle ':completion:*' verbose no; LISTMAX=10000; unsetopt auto_menu list_types prompt_cr prompt_sp; print rea''dy\n")
        cls.read_until("ready")
        cls.type("agent-sandbox \x04")  # the first time it loads all that it needs
        cls.read_until("serve")
        cls.type("\x15")

    @classmethod
    def type(cls, text):
        os.write(cls.terminal, text.encode())

    @classmethod
    def read_until(cls, mark, times=1, patience=30.0):
        output, deadline = "", time.monotonic() + patience
        while output.count(mark) < times and select.select([cls.terminal], [], [], max(0.0, deadline - time.monotonic()))[0]:
            output += os.read(cls.terminal, 65536).decode(errors="replace")
        return output

    def offers(self, line):
        command = f"agent-sandbox {line}"
        self.read_until("nothing", patience=0.1)  # what the last question left
        self.type(command + "\x04")
        # It shows the line once more below a list; where there is nothing to list it shows nothing.
        text = self.read_until(command, times=2, patience=self.patience)
        self.type("\x15")
        lists = text.split(command)[1:2] if text.count(command) >= 2 else []
        return {word for shown in lists for word in shown.split()}

    def test_zsh_options(self):
        self.check_options()

    def test_zsh_values(self):
        self.check_values()

    def test_zsh_paths(self):
        self.check_paths()

    def test_zsh_known(self):
        self.check_known()

    def test_zsh_syntax(self):
        checked = subprocess.run(["zsh", "-n", COMPLETIONS / "_agent-sandbox"], capture_output=True, text=True, check=False)
        self.assertEqual((0, ""), (checked.returncode, checked.stderr))


class Complete(unittest.TestCase):
    """agent-sandbox complete, which the shells ask: it says nothing but names."""

    def complete(self, url, kind="sandboxes"):
        finished = subprocess.run([command_line.BINARY, "complete", kind], env={"PATH": os.environ["PATH"], "AGENT_SANDBOX_URL": url},
                                  capture_output=True, text=True, check=False, timeout=time_scale.scaled(30))
        self.assertEqual((0, ""), (finished.returncode, finished.stderr))
        return finished.stdout.split()

    def test_complete_without_a_server(self):
        for url in (NOBODY, "nonsense", "unix:/none/of/it"):
            for kind in ("sandboxes", "jobs", "templates", "volumes"):
                self.assertEqual([], self.complete(url, kind))

    def test_complete_does_not_wait_for_a_server_that_does_not_answer(self):
        with contextlib.closing(socket.create_server(("127.0.0.1", 0))) as silent:
            self.assertEqual([], self.complete(f"http://127.0.0.1:{silent.getsockname()[1]}"))

    def test_complete_where_a_key_is_missing(self):
        server = live_server.LiveServer(environment={"JOBS_PATH": ":memory:", "API_KEYS": "a-key"})
        self.addCleanup(server.stop)
        self.assertEqual([], self.complete(f"http://127.0.0.1:{server.port}"))
