"""An example: the epoll daemon in C of jail/examples/script_daemon, and clients on its socket."""
import concurrent.futures
import os
import socket
import time
import uuid

import host_view
import built_examples
import time_scale


class Client:
    def __init__(self, path, script):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(time_scale.scaled(60))
        self.socket.connect(path)
        self.socket.sendall(script.encode())
        self.socket.shutdown(socket.SHUT_WR)
        self.file = self.socket.makefile("rb")

    def line(self):
        return self.file.readline()

    def close(self):
        self.file.close()
        self.socket.close()

    def answer(self):
        with self.socket, self.file:
            return self.file.read()


class ScriptDaemon(built_examples.ExampleTest):
    example = "script_daemon"

    def setUp(self):
        # Short: the path of a socket has 107 bytes.
        self.path = str(self.package.scratch(uuid.uuid4().hex[:8]) / "socket")
        self.daemon = self.start(self.built / "script_daemon", self.path)

    def run_script(self, script):
        return Client(self.path, script).answer()

    def test_runs_a_script(self):
        self.assertEqual(b"42\njail: exited 0\n", self.run_script("print(6*7)"))
        self.assertEqual(b"no newline\njail: exited 3\n", self.run_script("import sys\nsys.stdout.write('no newline')\nsys.exit(3)"))
        self.assertIn(b"ZeroDivisionError: division by zero\njail: exited 1\n", self.run_script("1/0"))
        self.assertEqual(b"jail: signaled 9\n", self.run_script("import os\nos.kill(os.getpid(), 9)"))
        self.assertEqual(b"jail: exited 0\n", self.run_script(""))
        self.assert_stops(self.daemon)
        self.assertFalse(os.path.exists(self.path))

    def test_streams(self):
        started = time.monotonic()
        client = Client(self.path, "import time\nfor i in range(3):\n  print(i)\n  time.sleep(1)\n")
        self.assertEqual(b"0\n", client.line())
        self.assertLess(time.monotonic() - started, 3, "the program sleeps for as long")
        for wanted in (b"1\n", b"2\n"):
            self.assertEqual(wanted, client.line())
        self.assertEqual(b"jail: exited 0\n", client.answer())

    def test_many_at_once(self):
        def right(number):
            return self.run_script(f"print({number} * 7)") == f"{number * 7}\njail: exited 0\n".encode()
        before = self.daemon.settled_descriptors()
        with concurrent.futures.ThreadPoolExecutor(48) as clients:
            self.assertTrue(all(clients.map(right, range(400))))
        self.assert_no_more_descriptors(self.daemon, before)
        self.assert_stops(self.daemon)

    def test_deadline(self):
        started = time.monotonic()
        self.assertEqual(b"jail: timed out\n", self.run_script("while True: pass"))
        self.assertGreater(time.monotonic() - started, 4)

    def test_jail_holds(self):
        answer = self.run_script(f"import os\nprint(os.path.exists({self.path!r}), os.listdir('/proc/self/fd'))\n"
                                 "import socket\nsocket.create_connection(('192.0.2.1', 80), 2)")
        self.assertTrue(answer.startswith(b"False ['0', '1', '2', '3']\n"), answer)
        self.assertTrue(answer.endswith(b"jail: exited 1\n"), answer)

    def test_client_that_leaves_ends_its_jail(self):
        word = f"4.5{uuid.uuid4().int % 10**9:09}"
        client = Client(self.path, f"import subprocess\nprint('begun')\nsubprocess.run(['/usr/bin/sleep', '{word}'])\n")
        self.assertEqual(b"begun\n", client.line())
        self.assert_soon(lambda: host_view.processes_with(word), 4)
        started = time.monotonic()
        client.close()
        self.assert_soon(lambda: not host_view.processes_with(word), 4)
        self.assertLess(time.monotonic() - started, 4, "not by its deadline")

    def test_client_that_does_not_read_keeps_its_script_waiting(self):
        client = Client(self.path, "while True: print('x' * 1000)")
        time.sleep(1)
        self.assertLess(host_view.resident_bytes(self.daemon.pid), 64 << 20)
        busy = os.times()
        before = self.processor_time()
        time.sleep(1)
        self.assertLess(self.processor_time() - before, 0.5, busy)
        self.assertEqual(b"42\njail: exited 0\n", self.run_script("print(6*7)"), "others are served meanwhile")
        client.close()

    def processor_time(self):
        with open(f"/proc/{self.daemon.pid}/stat", encoding="ascii") as file:
            fields = file.read().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def test_script_that_is_too_large(self):
        client = socket.socket(socket.AF_UNIX)
        client.connect(self.path)
        with self.assertRaises(OSError):
            while True:
                client.sendall(b"#" * 65536)
        self.assertEqual(b"jail: the script is too large\n", client.recv(100))
        client.close()

    def test_drains(self):
        client = Client(self.path, "import time\nprint('begun')\ntime.sleep(2)\nprint('done')\n")
        self.assertEqual(b"begun\n", client.line())
        self.daemon.process.terminate()
        self.assertEqual(b"done\njail: exited 0\n", client.answer())
        self.assertEqual(0, self.daemon.wait(time_scale.scaled(20)))
        self.assertEqual({}, host_view.left_behind())

    def test_killed_takes_everything_along(self):
        client = Client(self.path, "import time\nprint('begun')\ntime.sleep(4)\n")
        self.assertEqual(b"begun\n", client.line())
        self.daemon.process.kill()
        self.daemon.wait(time_scale.scaled(10))
        client.close()
        self.assertEqual({}, host_view.left_behind())


