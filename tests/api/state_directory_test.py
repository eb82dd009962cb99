"""The place of files that outlive a command which root starts and which then runs as another user."""
import os
import pathlib
import pwd
import shutil
import signal
import subprocess
import tempfile
import threading
import unittest

import live_server
import time_scale

# The command sees the directory of the test as /var/lib, and a list of users in it as the host's, and nobody else does.
IN_PLACE = ["unshare", "--mount", "--propagation", "private", "sh", "-c",
            'mount --bind "$0" /var/lib && if [ -e "$0/passwd" ]; then mount --bind "$0/passwd" /etc/passwd; fi && exec "$@"']


@unittest.skipUnless(os.geteuid() == 0, "only root becomes another user")
class OfRoot(unittest.TestCase):
    def setUp(self):
        if obstacle := live_server.host_view.no_user_namespaces():
            self.skipTest(obstacle)
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix="agent-sandbox-state."))
        self.addCleanup(shutil.rmtree, self.directory)
        self.directory.chmod(0o755)
        if subprocess.run([*IN_PLACE, self.directory, "true"], capture_output=True, check=False).returncode != 0:
            self.skipTest("no mount namespace here")

    def start(self, *arguments, **environment):
        process = subprocess.Popen([*IN_PLACE, self.directory, live_server.BINARY, *arguments], cwd="/", text=True, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                   env={"PATH": os.environ["PATH"], "HOME": pwd.getpwuid(0).pw_dir, "SANDBOX_ROOTFS": "host", **environment})
        self.addCleanup(self.end, process)
        return process

    @staticmethod
    def end(process):
        if process.poll() is None:
            process.kill()
        process.wait()
        process.stdout.close()

    def served(self, **environment):
        """What a server says from its start to its end."""
        process = self.start("serve", "--port", "0", **environment)
        timer = threading.Timer(time_scale.scaled(60), process.kill)
        timer.start()
        self.addCleanup(timer.cancel)
        said = ""
        while "listening on" not in said:
            line = process.stdout.readline()
            self.assertTrue(line, said)
            said += line
        process.send_signal(signal.SIGTERM)
        return said + process.communicate()[0]

    def test_a_server_keeps_jobs_and_lessons(self):
        said = self.served()
        self.assertNotIn("kept in memory", said)
        server = self.directory / "agent-sandbox" / "server"
        self.assertNotEqual(0, server.stat().st_uid)
        self.assertEqual((0o700, 0), (server.stat().st_mode & 0o777, (self.directory / "agent-sandbox").stat().st_uid))
        self.assertTrue({"jobs.sqlite", "lessons.sqlite"} <= {file.name for file in server.iterdir()})
        process = self.start("lessons", "list")
        self.assertEqual("agent-sandbox: no lesson is kept yet\n", process.communicate(timeout=time_scale.scaled(60))[0])

    def test_a_named_user_has_lessons_of_their_own(self):
        self.served()
        home, user = self.directory / "home", 60802
        home.mkdir(mode=0o700)
        os.chown(home, user, user)
        users = pathlib.Path("/etc/passwd").read_text(encoding="utf-8")
        (self.directory / "passwd").write_text(f"{users}somebody:x:{user}:{user}::/var/lib/home:/bin/sh\n", encoding="utf-8")
        process = self.start("lessons", "--user", "somebody", "list")
        self.assertEqual("agent-sandbox: no lesson is kept yet\n", process.communicate(timeout=time_scale.scaled(60))[0])
        self.assertEqual(user, (home / ".local/state/agent-sandbox/lessons.sqlite").stat().st_uid)

    def test_a_directory_that_is_there_stays_as_it_is(self):
        server = self.directory / "agent-sandbox" / "server"
        server.mkdir(parents=True, mode=0o700)
        said = self.served()
        self.assertRegex(said, r"/var/lib/agent-sandbox/server/jobs.sqlite: open it as uid [1-9]\d*: Permission denied")
        self.assertEqual(0, server.stat().st_uid)

    def test_nothing_is_made_below_a_directory_that_others_may_change(self):
        parent = self.directory / "agent-sandbox"
        parent.mkdir()
        parent.chmod(0o777)
        self.served()
        self.assertEqual([], list(parent.iterdir()))

    def test_no_link_is_followed(self):
        other = self.directory / "other"
        other.mkdir()
        (self.directory / "agent-sandbox").symlink_to(other)
        self.served()
        self.assertEqual([], list(other.iterdir()))

    def test_another_place_that_is_named_counts(self):
        named = self.directory / "named"
        named.mkdir(mode=0o777)
        named.chmod(0o777)
        self.assertNotIn("kept in memory", self.served(STATE_DIRECTORY="/var/lib/named"))
        self.assertTrue((named / "jobs.sqlite").exists())
        self.assertFalse((self.directory / "agent-sandbox").exists())
