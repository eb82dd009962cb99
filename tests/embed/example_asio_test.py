"""An example: the Asio service of jail/examples/asio_service, and HTTP clients of it."""
import concurrent.futures
import http.client
import subprocess
import socket
import time
import uuid

import host_view
import built_examples
import time_scale


class AsioService(built_examples.ExampleTest):
    example = "asio_service"

    def setUp(self):
        self.daemon = self.start(self.built / "asio_service", "0")
        self.port = int(self.daemon.place)

    def post(self, program, path="/run"):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=time_scale.scaled(60))
        connection.request("POST", path, program)
        return connection, connection.getresponse()

    def run_program(self, program):
        """Returns the output."""
        connection, response = self.post(program)
        with response:
            self.assertEqual(200, response.status, response.headers)
            printed = response.read()
        connection.close()
        return printed.decode()

    def curl(self, program):
        """The body, and the trailer that Python's client does not show."""
        done = subprocess.run(["curl", "-sS", "-D-", "--data-binary", "@-", f"http://127.0.0.1:{self.port}/run"], input=program,
                              capture_output=True, text=True, check=True, timeout=time_scale.scaled(60))
        head, _, rest = done.stdout.partition("\n\n" if "\r" not in done.stdout else "\r\n\r\n")
        self.assertIn("200 OK", head)
        body, _, trailer = rest.rpartition("Jail-Ended: ")
        return body, trailer.strip()

    def test_runs_a_program(self):
        self.assertEqual(("42\n", "exited 0"), self.curl("print(6*7)"))
        self.assertEqual(("out\nerr\n", "exited 3"), self.curl("import sys\nprint('out')\nprint('err', file=sys.stderr)\nsys.exit(3)"))
        self.assertEqual(("", "signaled 9"), self.curl("import os\nos.kill(os.getpid(), 9)"))
        self.assert_stops(self.daemon)

    def test_streams(self):
        started = time.monotonic()
        connection, response = self.post("import time\nfor i in range(3):\n  print(i)\n  time.sleep(1)\n")
        self.assertEqual(b"0\n", response.readline())
        self.assertLess(time.monotonic() - started, 3, "the program sleeps for as long")
        for wanted in (b"1\n", b"2\n"):
            self.assertEqual(wanted, response.readline())
        self.assertEqual(b"", response.read())
        connection.close()

    def test_many_at_once(self):
        def right(number):
            return self.run_program(f"print({number} * 7)") == f"{number * 7}\n"
        before = self.daemon.settled_descriptors()
        with concurrent.futures.ThreadPoolExecutor(16) as clients:
            self.assertTrue(all(clients.map(right, range(400))))
        self.assert_no_more_descriptors(self.daemon, before)
        self.assert_stops(self.daemon)

    def test_time_limit(self):
        self.assertEqual(("begun\n", "timed out"), self.curl("print('begun')\nwhile True: pass"))

    def test_client_that_does_not_read_keeps_its_program_waiting(self):
        client = socket.create_connection(("127.0.0.1", self.port))
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        program = b"while True: print('x' * 1000)"
        client.sendall(b"POST /run HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s" % (len(program), program))
        time.sleep(2)
        self.assertLess(host_view.resident_bytes(self.daemon.pid), 64 << 20)
        self.assertEqual("42\n", self.run_program("print(6*7)"), "others are served meanwhile")
        before = len(host_view.descendants(self.daemon.pid))
        # Its time is up; the service does not wait for the client for ever.
        self.assert_soon(lambda: len(host_view.descendants(self.daemon.pid)) < before or client.recv(1 << 20) == b"", 30)
        client.close()

    def test_large_output(self):
        self.assertEqual(20_000_000, len(self.run_program("for i in range(20): print('x' * 999_999)")))

    def test_client_that_leaves_ends_its_jail(self):
        word = f"4.5{uuid.uuid4().int % 10**9:09}"
        connection, response = self.post(f"import subprocess\nprint('begun')\nsubprocess.run(['/usr/bin/sleep', '{word}'])\n")
        self.assertEqual(b"begun\n", response.readline())
        self.assert_soon(lambda: host_view.processes_with(word), 4)
        started = time.monotonic()
        response.close()
        connection.close()
        self.assert_soon(lambda: not host_view.processes_with(word), 4)
        self.assertLess(time.monotonic() - started, 4, "not by its time limit")

    def test_refuses(self):
        for path, size, status in (("/", 1, 404), ("/run", 2 << 20, 400)):
            connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=time_scale.scaled(60))
            connection.putrequest("POST", path)
            connection.putheader("Content-Length", str(size))
            # No more than that: who refuses early may close while the rest is on its way.
            connection.endheaders(b"#")
            self.assertEqual(status, connection.getresponse().status)
            connection.close()

    def test_drains(self):
        connection, response = self.post("import time\nprint('begun')\ntime.sleep(2)\nprint('done')\n")
        self.assertEqual(b"begun\n", response.readline())
        self.daemon.process.terminate()
        self.assert_soon(self.refuses_connections)
        self.assertEqual(b"done\n", response.read())
        connection.close()
        self.assertEqual(0, self.daemon.wait(time_scale.scaled(20)))
        self.assertEqual({}, host_view.left_behind())

    def refuses_connections(self):
        try:
            socket.create_connection(("127.0.0.1", self.port), 5).close()
        except ConnectionRefusedError:
            return True
        return False
