"""Programs that install and fetch packages by the allow-list, with the tools of the built root."""
import contextlib
import functools
import http.server
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import threading
import unittest
import zipfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import built_root  # noqa: E402

WHEEL = "tiny-1.0-py3-none-any.whl"
# These names are otherwise taken for local ones, and so are reached by no rule.
NO_EXCEPTION = ("--env", "no_proxy=", "--env", "NO_PROXY=")


def write_index(directory):
    """An index of packages that contains one."""
    page = directory / "simple" / "tiny"
    page.mkdir(parents=True)
    (page / "index.html").write_text(f'<a href="{WHEEL}">{WHEEL}</a>', encoding="utf-8")
    with zipfile.ZipFile(page / WHEEL, "w") as wheel:
        wheel.writestr("tiny.py", "ANSWER = 42\n")
        wheel.writestr("tiny-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: tiny\nVersion: 1.0\n")
        wheel.writestr("tiny-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nGenerator: by hand\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr("tiny-1.0.dist-info/RECORD", "tiny.py,,\n")


def write_repository(directory):
    """A repository that is served as files."""
    work = directory / "work"
    for command in (["init", "-q", work], ["-C", work, "commit", "-q", "--allow-empty", "-m", "one commit"],
                    ["clone", "-q", "--bare", work, directory / "one.git"], ["-C", directory / "one.git", "update-server-info"]):
        subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@example.org", *command], check=True)


@contextlib.contextmanager
def served(directory):
    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=directory))
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


class PackagesInside(built_root.RootTest):
    def setUp(self):
        self.directory = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.port = self.enterContext(served(self.directory))

    def result(self, script, *options):
        command = [built_root.BINARY, "exec", "--rootfs", self.root, "--language", "bash", "--timeout", "120", "--memory", "512",
                   "--json", *NO_EXCEPTION, *options, "-c", script]
        finished = subprocess.run(command, capture_output=True, text=True, check=False)
        self.assertTrue(finished.stdout, finished.stderr)
        return json.loads(finished.stdout)

    def said(self, script):
        result = self.result(script, "--allow", f"127.0.0.1:{self.port}")
        self.assertEqual("success", result["status"], result["stderr"])
        return result["stdout"]

    def pip(self):
        return (f"pip install --quiet --retries 0 --disable-pip-version-check --index-url http://127.0.0.1:{self.port}/simple --target lib tiny && "
                "PYTHONPATH=lib python3 -c 'import tiny; print(tiny.ANSWER)'")

    def test_pip(self):
        write_index(self.directory)
        self.assertEqual("42\n", self.said(self.pip()))

    def test_pip_as_it_is_usually_typed(self):
        write_index(self.directory)
        self.assertEqual("42\n", self.said(self.pip().replace("--target lib", "").replace("PYTHONPATH=lib", "")))

    def test_control_without_a_rule_nothing_is_installed(self):
        write_index(self.directory)
        result = self.result(self.pip() + "; ls lib")
        self.assertNotEqual(0, result["exit_code"], result)
        self.assertNotIn("42", result["stdout"])

    def test_curl_and_requests(self):
        (self.directory / "word").write_text("served", encoding="utf-8")
        url = f"http://127.0.0.1:{self.port}/word"
        self.assertEqual("served served", self.said(f"""curl -s {url}; python3 -c 'import requests; print("", requests.get("{url}").text, end="")'"""))

    @unittest.skipUnless(shutil.which("git"), "git is not installed here")
    def test_git(self):
        write_repository(self.directory)
        self.assertIn("one commit", self.said(f"git clone -q http://127.0.0.1:{self.port}/one.git && git -C one log --oneline"))


if __name__ == "__main__":
    unittest.main()
