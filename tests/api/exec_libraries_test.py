"""Libraries that agent-sandbox loads when it needs them: a command that needs none works without, and who needs one says what to install."""
import os
import pathlib
import re
import subprocess

import live_server
import time_scale
from exec_command import ExecTest


def file_of_simdjson():
    """The name that the program asks for, and the number in it."""
    (name,) = set(re.findall(rb"libsimdjson\.so\.\d+", pathlib.Path(live_server.BINARY).read_bytes()))
    return name.decode(), name.decode().rpartition(".")[2]


class WithoutLibraries(ExecTest):
    def setUp(self):
        super().setUp()
        # As root a command goes on as another user.
        self.directory.chmod(0o755)

    def hide(self, *names):
        # The loader takes the first file of a library's name, and gives up if that is no library.
        for name in names:
            (self.directory / name).touch()

    def command(self, *arguments):
        done = subprocess.run([live_server.BINARY, *arguments], cwd=self.directory, text=True, capture_output=True, stdin=subprocess.DEVNULL,
                              timeout=time_scale.scaled(60), check=False,
                              env={"PATH": os.environ["PATH"], "HOME": str(self.directory), "LD_LIBRARY_PATH": str(self.directory)})
        return done.returncode, done.stdout, done.stderr

    def test_exec_needs_none(self):
        self.hide("libcurl.so.4", "libcrypto.so.3", file_of_simdjson()[0], "libsqlite3.so.0", "libstdc++.so.6")
        self.assertEqual((0, "1\n", ""), self.command("exec", "--rootfs", "host", "-c", "print(1)"))

    def test_a_server_needs_two_more(self):
        simdjson, number = file_of_simdjson()
        for name, advice in (("libsqlite3.so.0", "SQLite 3 (Debian: libsqlite3-0)"), (simdjson, f"simdjson (Debian: libsimdjson{number})")):
            with self.subTest(name):
                self.hide(name)
                code, _, says = self.command("serve", "--rootfs", "host", "--port", "0")
                self.assertEqual(125, code)
                self.assertIn(f"agent-sandbox: {self.directory}/{name}: file too short; install {advice}\n", says)
                (self.directory / name).unlink()

    def test_who_needs_one_says_what_to_install(self):
        self.hide("libcurl.so.4", "libcrypto.so.3")
        says = (f"agent-sandbox: {self.directory}/libcurl.so.4: file too short; install libcurl 7.87 or newer (Debian: libcurl4)\n")
        for arguments in (("sandbox", "list"), ("serve", "--rootfs", "host", "--port", "0")):
            with self.subTest(arguments):
                self.assertEqual((125, "", says), self.command(*arguments))
