"""agent-sandbox sandbox port --listen: programs of the host that talk to servers in a sandbox."""
import hashlib
import os
import shutil
import signal
import socket
import struct
import subprocess
import threading

import host_view
import live_server
import sandbox_command
import time_scale
from sandbox_tunnel import BREAK, ECHO, FLOOD, GUEST, SINK, SOURCE, STORE, WATCH, pattern


class Listen(sandbox_command.Command):
    def with_servers(self, *arguments):
        sandbox = self.make(*arguments)
        (self.directory / "tunnel_guest.py").write_bytes(GUEST)
        self.good("cp", "tunnel_guest.py", f"{sandbox}:/workspace/")
        self.good("exec", sandbox, "--background", "--", "python3", "tunnel_guest.py")
        self.assertTrue(host_view.wait_until(lambda: "listens" in self.good("logs", sandbox), 30))
        return sandbox

    def listen(self, sandbox, port, where="0", **more):
        """Starts it; returns the process and the address that it prints."""
        process = self.start("port", sandbox, port, "--listen", where, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **more)
        line = self.read_until(process.stdout.fileno(), b"\n").decode().strip()
        host, _, number = line.rpartition(":")
        return process, (host.strip("[]"), int(number))

    def connect(self, address):
        connection = socket.create_connection(address, timeout=time_scale.scaled(30))
        self.addCleanup(connection.close)
        return connection

    @staticmethod
    def exactly(connection, count):
        had = b""
        while len(had) < count and (piece := connection.recv(count - len(had))):
            had += piece
        return had

    @staticmethod
    def rest(connection):
        return b"".join(iter(lambda: connection.recv(1 << 16), b""))

    def says(self, process, words):
        self.read_until(process.stderr.fileno(), words)

    def stop(self, process, number=signal.SIGINT):
        process.send_signal(number)
        self.assertEqual(128 + number, process.wait(time_scale.scaled(20)))
        return process.stderr.read().decode()


class Protocols(Listen):
    def setUp(self):
        super().setUp()
        self.sandbox = self.with_servers()

    def test_half_a_connection_can_be_closed(self):
        process, address = self.listen(self.sandbox, ECHO)
        self.assertEqual("127.0.0.1", address[0])
        connection = self.connect(address)
        for text in (b"one", b"\0\r\n\xff" * 50_000):
            connection.sendall(text)
            self.assertEqual(text, self.exactly(connection, len(text)))
        connection.shutdown(socket.SHUT_WR)
        self.assertEqual(b"bye", self.rest(connection))
        self.assertEqual("", self.stop(process))

    def test_a_hundred_megabytes_each_way_at_the_same_time(self):
        size, block = 100 << 20, os.urandom(1 << 20)
        (process, to_sink), (other, to_source) = self.listen(self.sandbox, SINK), self.listen(self.sandbox, SOURCE)
        sink, source = self.connect(to_sink), self.connect(to_source)

        def send():
            for _ in range(size >> 20):
                sink.sendall(block)
            sink.shutdown(socket.SHUT_WR)

        sender = threading.Thread(target=send)
        sender.start()
        source.sendall(b"%d\n" % size)
        had, count = hashlib.sha256(), 0
        while piece := source.recv(1 << 20):
            had.update(piece)
            count += len(piece)
        sender.join()
        self.assertEqual((size, hashlib.sha256(pattern(size)).hexdigest()), (count, had.hexdigest()))
        self.assertEqual(f"{size} {hashlib.sha256(block * (size >> 20)).hexdigest()}", self.rest(sink).decode())
        for each in (process, other):
            self.assertLess(host_view.resident_bytes(each.pid), (240 if host_view.has_sanitizer(each.pid) else 60) << 20)
            self.assertEqual("", self.stop(each))

    def test_several_programs_at_once(self):
        _, address = self.listen(self.sandbox, STORE)
        connections = [self.connect(address) for _ in range(20)]
        for number, connection in enumerate(connections):
            connection.sendall(b"*3\r\n$3\r\nSET\r\n$1\r\na\r\n$2\r\n%02d\r\n" % number)
        for connection in connections:
            self.assertEqual(b"+OK\r\n", self.exactly(connection, 5))
            connection.sendall(b"*2\r\n$3\r\nGET\r\n$1\r\na\r\n")
        for number, connection in enumerate(connections):
            self.assertEqual(b"$2\r\n%02d\r\n" % number, self.exactly(connection, 8))

    def test_http(self):
        if shutil.which("curl") is None:
            self.skipTest("curl is missing")
        self.good("exec", self.sandbox, "--background", "--", "python3", "-m", "http.server", "8000", "--bind", "127.0.0.1")
        serves = "import socket; socket.create_connection(('127.0.0.1', 8000))"
        self.assertTrue(host_view.wait_until(lambda: self.exec(self.sandbox, "python3", "-c", serves)[0] == 0, 30))
        _, address = self.listen(self.sandbox, 8000)
        got = subprocess.run(["curl", "-sS", f"http://127.0.0.1:{address[1]}/tunnel_guest.py", f"http://127.0.0.1:{address[1]}/tunnel_guest.py"],
                             capture_output=True, check=False, timeout=time_scale.scaled(60))
        self.assertEqual((0, GUEST + GUEST, b""), (got.returncode, got.stdout, got.stderr))

    def test_what_breaks_off_inside_breaks_off_here(self):
        process, address = self.listen(self.sandbox, BREAK)
        connection = self.connect(address)
        self.assertEqual(b"about to break", self.exactly(connection, 14))
        connection.sendall(b"now")
        with self.assertRaises(ConnectionResetError):
            connection.recv(1)
        self.says(process, b"broke the connection off")

    def test_what_breaks_off_here_breaks_off_inside(self):
        _, address = self.listen(self.sandbox, WATCH)
        connection = self.connect(address)
        self.assertEqual(b"watching", self.exactly(connection, 8))
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        connection.close()
        ends = lambda: self.exec(self.sandbox, "cat", "ends")[1]
        self.assertTrue(host_view.wait_until(lambda: ends() == "reset\n", 20), ends())

    def test_a_program_that_does_not_read_holds_the_guest_up(self):
        process, address = self.listen(self.sandbox, FLOOD)
        connection = self.connect(address)
        self.assertTrue(host_view.wait_until(lambda: "stuck" in self.good("ls", self.sandbox), 30))
        most = (240 if host_view.has_sanitizer(process.pid) else 60) << 20
        self.assertLess(host_view.resident_bytes(process.pid), most)
        had = 0
        while had < 100 << 20:
            had += len(connection.recv(1 << 20))
        self.assertLess(host_view.resident_bytes(process.pid), most)


class Ends(Listen):
    def test_signals(self):
        sandbox = self.with_servers()
        for number in (signal.SIGINT, signal.SIGTERM):
            process, address = self.listen(sandbox, WATCH)
            connection = self.connect(address)
            self.assertEqual(b"watching", self.exactly(connection, 8))
            self.assertEqual("", self.stop(process, number))
            with self.assertRaises(ConnectionResetError):
                connection.recv(1)

    def test_the_end_of_the_sandbox(self):
        sandbox = self.with_servers()
        process, address = self.listen(sandbox, WATCH)
        connection = self.connect(address)
        self.assertEqual(b"watching", self.exactly(connection, 8))
        self.good("delete", sandbox)
        self.assertEqual(0, process.wait(time_scale.scaled(20)))
        self.assertEqual("agent-sandbox: the sandbox has ended\n", process.stderr.read().decode())
        with self.assertRaises(ConnectionResetError):
            connection.recv(1)
        with self.assertRaises(ConnectionRefusedError):
            socket.create_connection(address)

    def test_the_end_of_the_server(self):
        server = live_server.LiveServer(environment=self.environment)
        self.addCleanup(server.stop)
        environment = self.variables(AGENT_SANDBOX_URL=f"http://127.0.0.1:{server.port}")
        with server.client() as client:
            sandbox = client.post({}, "/v1/sandboxes").json["id"]
        process, _ = self.listen(sandbox, WATCH, environment=environment)
        server.stop()
        self.assertIn(process.wait(time_scale.scaled(20)), (0, 125))
        self.assertRegex(process.stderr.read().decode(), "server|sandbox has ended")

    def test_where_nobody_listens_it_goes_on(self):
        sandbox = self.make()
        process, address = self.listen(sandbox, 8001)
        for _ in range(2):
            with self.assertRaises((ConnectionResetError, BrokenPipeError)):
                connection = self.connect(address)
                connection.recv(1)
                raise ConnectionResetError
            self.says(process, b"nobody listens")
        self.assertIsNone(process.poll())

    def test_a_pause(self):
        sandbox = self.with_servers("--no-auto-resume")
        process, address = self.listen(sandbox, ECHO)
        connection = self.connect(address)
        connection.sendall(b"before")
        self.assertEqual(b"before", self.exactly(connection, 6))
        self.good("pause", sandbox)
        connection.sendall(b"behind")
        with self.assertRaises(ConnectionResetError):
            self.connect(address).recv(1)
        self.says(process, b"--no-auto-resume")
        self.good("resume", sandbox)
        self.assertEqual(b"behind", self.exactly(connection, 6))


class Places(Listen):
    def test_a_port_that_is_taken(self):
        sandbox = self.make()
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = taken.getsockname()[1]
            self.assertIn(f"--listen 127.0.0.1:{port}: another program uses this port",
                          self.one_line("port", sandbox, 80, "--listen", port, status=2))

    def test_an_address_that_is_not_here(self):
        sandbox = self.make()
        self.assertIn("this host does not have this address", self.one_line("port", sandbox, 80, "--listen", "192.0.2.1:0", status=2))

    def test_everybody_can_use_it_elsewhere_than_on_loopback(self):
        sandbox = self.with_servers()
        process, address = self.listen(sandbox, ECHO, "0.0.0.0:0")
        self.assertEqual("0.0.0.0", address[0])
        self.says(process, f"everybody who reaches 0.0.0.0:{address[1]} can use port {ECHO} of the sandbox\n".encode())
        connection = self.connect(("127.0.0.1", address[1]))
        connection.sendall(b"x")
        self.assertEqual(b"x", connection.recv(1))

    def test_ipv6(self):
        if not socket.has_ipv6 or not os.path.exists("/proc/net/if_inet6"):
            self.skipTest("this host has no IPv6")
        sandbox = self.with_servers()
        _, address = self.listen(sandbox, ECHO, "[::1]:0")
        connection = self.connect(address)
        connection.sendall(b"x")
        self.assertEqual(b"x", connection.recv(1))

    def test_by_its_name_and_a_unix_socket(self):
        directory = self.directory / "socket"
        directory.mkdir(mode=0o777)
        directory.chmod(0o777)
        self.directory.chmod(0o755)
        server = live_server.LiveServer("--host", f"unix:{directory}/s", environment=self.environment)
        self.addCleanup(server.stop)
        environment = self.variables(AGENT_SANDBOX_URL=f"unix:{server.path}")
        with server.client() as client:
            client.post({"name": "box"}, "/v1/sandboxes")
            client.send("PUT", "/v1/sandboxes/box/files/workspace/tunnel_guest.py", GUEST, **{"Content-Type": "application/octet-stream"})
            client.post({"command": ["python3", "tunnel_guest.py"], "background": True}, "/v1/sandboxes/box/processes")
            self.assertTrue(host_view.wait_until(lambda: b"listens" in client.send("GET", "/v1/sandboxes/box/logs").body, 30))
            _, address = self.listen("box", ECHO, environment=environment)
            connection = self.connect(address)
            connection.sendall(b"x")
            self.assertEqual(b"x", connection.recv(1))

    def test_sandboxes_that_are_none(self):
        self.assertIn("no such sandbox", self.one_line("port", "nosuch", 80, "--listen", 0))
        sandbox = self.make()
        self.good("delete", sandbox)
        self.assertIn("has ended", self.one_line("port", sandbox, 80, "--listen", 0))

    def test_no_server(self):
        message = self.one_line("port", "box", 80, "--listen", 0, status=125, AGENT_SANDBOX_URL="http://127.0.0.1:1")
        self.assertIn("no server at http://127.0.0.1:1", message)


class Keys(Listen):
    environment = {**Listen.environment, "API_KEYS": "k-one,k-two"}

    def variables(self, **more):
        return super().variables(**{"AGENT_SANDBOX_KEY": "k-one", **more})

    def test_the_key_is_shown_to_the_server_and_not_inside(self):
        sandbox = self.with_servers()
        _, address = self.listen(sandbox, ECHO)
        connection = self.connect(address)
        connection.shutdown(socket.SHUT_WR)
        self.assertEqual(b"bye", self.rest(connection))
        self.assertIn("no such sandbox", self.one_line("port", sandbox, ECHO, "--listen", 0, AGENT_SANDBOX_KEY="k-two"))


if __name__ == "__main__":
    live_server.main()
