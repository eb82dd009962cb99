"""An example: the module of jail/examples/apache_module in Debian's Apache httpd with the event MPM."""
import concurrent.futures
import http.client
import os
import pathlib
import shutil
import signal
import socket
import time
import unittest

import host_view
import built_examples
import time_scale

SERVER = "/usr/sbin/apache2"
MODULES = pathlib.Path("/usr/lib/apache2/modules")
CHILDREN = 2
SERVERS = 32  # with those that have yet to end: under a sanitizer that takes seconds, and httpd starts no other meanwhile
SETTINGS = """
ServerRoot {directory}
DefaultRuntimeDir {directory}
ServerName localhost
PidFile {directory}/pid
ErrorLog {directory}/error.log
DocumentRoot {directory}
Listen 127.0.0.1:{port}
LoadModule mpm_event_module {modules}/mod_mpm_event.so
LoadModule authz_core_module {modules}/mod_authz_core.so
LoadModule jail_module {built}/mod_jail.so
StartServers {children}
ServerLimit {servers}
MaxRequestWorkers {workers}
ThreadsPerChild 16
MinSpareThreads 1
MaxSpareThreads {workers}
GracefulShutdownTimeout 10
<Location "/answer">
  SetHandler jail-python
  JailPython "import os; print(6 * 7, os.getpid())"
</Location>
<Location "/run">
  SetHandler jail-python
  JailTimeLimit 3
</Location>
"""


class Httpd(built_examples.Daemon):
    def __init__(self, package, directory, built, settings="", **options):
        held = host_view.held_port()
        self.directory, self.port = directory, held.getsockname()[1]
        text = SETTINGS.format(directory=directory, port=self.port, modules=MODULES, built=built, children=CHILDREN,
                               servers=SERVERS, workers=16 * CHILDREN) + settings
        (directory / "httpd.conf").write_text(text, encoding="utf-8")
        self.start(package, SERVER, "-f", directory / "httpd.conf", "-DFOREGROUND", **options)
        with held:
            answers = host_view.wait_until(lambda: self.process.poll() is not None or self.answers(), 30)
        if not answers or self.process.returncode is not None:
            self.stop()
            raise AssertionError(f"httpd does not answer: {self.said()}")

    def said(self):
        log = self.directory / "error.log"
        return super().said() + (log.read_text(encoding="utf-8") if log.exists() else "")

    def answers(self):
        try:
            return self.ask("/answer")[0] == 200
        except OSError:
            return False

    def ask(self, path, program=None):
        """Status, Jail-Ended, body."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=time_scale.scaled(60))
        try:
            connection.request("GET" if program is None else "POST", path, program)
            response = connection.getresponse()
            return response.status, response.getheader("Jail-Ended"), response.read().decode()
        finally:
            connection.close()

    def children(self):
        return [pid for pid in host_view.descendants(self.pid) if host_view.parent_of(pid) == self.pid]

    def descriptors_beside_jails(self):
        """The count of the child that has most; one may end while it is inspected."""
        return max(self.of_children(built_examples.descriptors_beside_jails))

    def resident_bytes(self):
        return host_view.resident_bytes(self.pid) + max(self.of_children(host_view.resident_bytes))

    def of_children(self, count):
        found = []
        for child in self.children():
            try:
                found.append(count(child))
            except (OSError, AttributeError):  # a process that has ended has no descriptors, and no VmRSS
                continue
        return found or [0]

    def restart(self):
        self.process.send_signal(signal.SIGUSR1)


class ApacheModule(built_examples.ExampleTest):
    example = "apache_module"

    @classmethod
    def setUpClass(cls):
        for tool, package in ((SERVER, "apache2-bin"), ("apxs", "apache2-dev"), ("ab", "apache2-utils")):
            if shutil.which(tool) is None:
                raise unittest.SkipTest(f"no {tool} (Debian: {package})")
        super().setUpClass()

    def setUp(self):
        self.directory = self.package.scratch(self.id().rpartition(".")[2])

    def start_server(self, settings="", **options):
        self.server = Httpd(self.package, self.directory, self.built, settings, **options)
        self.addCleanup(lambda: self.server.process.returncode is None and self.server.stop())

    def test_answers(self):
        self.start_server()
        self.assertEqual((200, "exited 0", "42 2\n"), self.server.ask("/answer"))
        self.assertEqual((200, "exited 0", "hello\n"), self.server.ask("/run", "print('hello')"))
        self.assertEqual((500, "exited 3", "begun\n"), self.server.ask("/run", "print('begun')\nraise SystemExit(3)"))
        self.assertEqual((500, "signaled 9", ""), self.server.ask("/run", "import os\nos.kill(os.getpid(), 9)"))
        self.assertEqual((504, "timed out", ""), self.server.ask("/run", "while True: pass"))
        self.assertEqual((500, "printed too much"), self.server.ask("/run", "while True: print('x' * 1000)")[:2])
        self.assertEqual(405, self.server.ask("/run")[0])
        self.assertEqual(413, self.server.ask("/run", "#" * (1 << 20))[0])
        self.assert_stops(self.server)

    def test_right_answers_under_load(self):
        self.start_server()
        before = self.server.settled_descriptors()
        # ab fails an answer whose length differs from the first one's.
        said = built_examples.checked("ab", "-q", "-c", "16", "-n", "600", f"http://127.0.0.1:{self.server.port}/answer")
        self.assertRegex(said, r"Complete requests: +600\n")
        self.assertRegex(said, r"Failed requests: +0\n")
        self.assertNotIn("Non-2xx", said)

        def right(number):
            return self.server.ask("/run", f"print({number} * 7)") == (200, "exited 0", f"{number * 7}\n")
        with concurrent.futures.ThreadPoolExecutor(16) as clients:
            self.assertTrue(all(clients.map(right, range(200))))
        # Each of its threads may have one connection open.
        self.assertLessEqual(self.server.settled_descriptors(), before + 2)
        self.assert_stops(self.server)

    def test_graceful_restart_leaves_nothing(self):
        self.start_server()
        for _ in range(3):
            first = set(host_view.descendants(self.server.pid))
            with concurrent.futures.ThreadPoolExecutor(1) as client:
                slow = client.submit(self.server.ask, "/run", "import time\ntime.sleep(2)\nprint('done')")
                time.sleep(0.5)
                self.server.restart()
                self.assertEqual((200, "exited 0", "done\n"), slow.result(), "who is in gets an answer")
            self.assert_soon(lambda old=first: not old & set(host_view.descendants(self.server.pid)), 30)
            self.assertEqual((200, "exited 0", "42 2\n"), self.server.ask("/answer"))
        self.assert_stops(self.server)

    def test_stops_gracefully(self):
        self.start_server()
        self.server.process.send_signal(signal.SIGWINCH)
        self.assertEqual(0, self.server.wait(time_scale.scaled(30)))
        self.assertEqual({}, host_view.left_behind())

    def test_child_that_is_killed_takes_its_jails_along(self):
        self.start_server()
        child = self.server.children()[0]
        self.assert_soon(lambda: host_view.descendants(child))
        below = set(host_view.descendants(child))
        os.kill(child, signal.SIGKILL)
        self.assert_soon(lambda: not any(host_view.alive(pid) for pid in below))
        self.assert_soon(self.server.answers)
        self.assert_stops(self.server)

    def test_client_that_leaves_ends_its_jail(self):
        self.start_server("<Location /long>\nSetHandler jail-python\nJailTimeLimit 60\n</Location>\n")
        client = socket.create_connection(("127.0.0.1", self.server.port))
        # Longer than anybody waits here, so that it does not end by itself.
        program = b"import subprocess\nsubprocess.run(['/usr/bin/sleep', '50.75'])\n"
        client.sendall(b"POST /long HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s" % (len(program), program))
        def sleeps():
            return [pid for pid, command in host_view.descendants(self.server.pid).items() if command == "/usr/bin/sleep 50.75"]
        self.assert_soon(sleeps)
        client.close()
        self.assert_soon(lambda: not sleeps())

    def test_started_by_root(self):
        if os.geteuid() != 0:
            self.skipTest("only root can")
        self.start_server("User www-data\nGroup www-data\n", user={})
        self.assertEqual((200, "exited 0", "1000\n"), self.server.ask("/run", "import os\nprint(os.getuid())"))
        self.server.restart()
        time.sleep(1)
        self.assertEqual((200, "exited 0", "1000\n"), self.server.ask("/run", "import os\nprint(os.getuid())"))
        self.assert_stops(self.server)

    def test_says_what_is_wrong_in_the_settings(self):
        with self.assertRaisesRegex(AssertionError, "JailTimeLimit is 1 to 60 seconds"):
            self.start_server("<Location /x>\nJailTimeLimit 0\n</Location>\n")
