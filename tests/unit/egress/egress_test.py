"""The proxy of named egress from one end to the other: its process as the library starts it, real clients (curl,
Python's own) before it, real servers behind it. No jail: the listening socket is one of this host."""
import hashlib
import os
import pathlib
import shutil
import socket
import struct
import subprocess
import tempfile
import time
import urllib.error
import urllib.request

from stand import ALLOWED, PATIENCE, EgressTest, WebServer, eventually, read_all


class Egress(EgressTest):
    @staticmethod
    def curl(*arguments, data=None):
        return subprocess.run(["curl", "-sS", "--noproxy", "", "--max-time", str(PATIENCE), *arguments], input=data,
                              capture_output=True, check=False)

    def ways(self, stand):
        """The four ways in which curl goes through a proxy."""
        at = f"127.0.0.1:{stand.port}"
        return {"http": ["-x", f"http://{at}"], "connect": ["-p", "-x", f"http://{at}"],
                "socks by name": ["--socks5-hostname", at], "socks by address": ["--socks5", at]}

    # What is allowed.

    def test_curl_gets(self):
        stand = self.allowing()
        for way, options in self.ways(stand).items():
            host = "127.0.0.1" if way == "socks by address" else ALLOWED
            done = self.curl(*options, "-H", "X-Mine: 1", f"http://{host}:{self.web.port}/a?b")
            self.assertEqual(0, done.returncode, f"{way}: {done.stderr}")
            self.assertIn(b"GET /a?b\n", done.stdout, way)
            self.assertIn(b"X-Mine: 1", done.stdout, way)
            self.assertIn(f"Host: {host}:{self.web.port}".encode(), done.stdout, way)
            self.assertNotIn(b"Proxy-", done.stdout, way)
        for decision in stand.decisions(4):
            self.assertEqual(("jail-0", "127.0.0.1", "allowed"), (decision.jail, decision.address, decision.allowed))
        for decision in stand.decisions(4, "ended"):
            self.assertGreater(int(decision.sent), 50)
            self.assertGreater(int(decision.received), 50)

    def test_curl_posts_megabytes(self):
        stand = self.allowing()
        body = os.urandom(5 << 20)
        for way, options in self.ways(stand).items():
            done = self.curl(*options, "--data-binary", "@-", f"http://127.0.0.1:{self.web.port}/", data=body)
            self.assertEqual(hashlib.sha256(body).hexdigest().encode(), done.stdout, f"{way}: {done.stderr}")
        self.assertGreater(min(int(decision.sent) for decision in stand.decisions(4, "ended")), 5 << 20)

    def test_curl_gets_megabytes(self):
        stand = self.allowing()
        for way, options in self.ways(stand).items():
            done = self.curl(*options, f"http://127.0.0.1:{self.web.port}/big?{20 << 20}")
            self.assertEqual((0, 20 << 20), (done.returncode, len(done.stdout)), f"{way}: {done.stderr}")
        self.assertGreater(min(int(decision.received) for decision in stand.decisions(4, "ended")), 20 << 20)

    def test_urllib(self):
        stand = self.allowing()
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({"http": f"http://127.0.0.1:{stand.port}"}))
        with opener.open(f"http://{ALLOWED}:{self.web.port}/x", timeout=PATIENCE) as answer:
            self.assertIn(b"GET /x\n", answer.read())
        with self.assertRaises(urllib.error.HTTPError) as refused:
            opener.open(f"http://evil.test:{self.web.port}/x", timeout=PATIENCE)
        with refused.exception as answer:
            self.assertEqual(403, answer.code)
            self.assertIn(f"agent-sandbox: egress to evil.test:{self.web.port} is not allowed", answer.read().decode())

    def test_tls_through_a_tunnel(self):
        if shutil.which("openssl") is None:
            self.skipTest("no openssl to make a certificate with")
        with tempfile.TemporaryDirectory() as folder:
            key, certificate = pathlib.Path(folder, "key"), pathlib.Path(folder, "certificate")
            subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
                            "-subj", f"/CN={ALLOWED}", "-addext", f"subjectAltName=DNS:{ALLOWED}", "-keyout", key, "-out", certificate],
                           check=True, capture_output=True)
            with socket.create_server(("127.0.0.1", 0)) as free:
                port = free.getsockname()[1]
            server = subprocess.Popen(["openssl", "s_server", "-accept", f"127.0.0.1:{port}", "-key", key, "-cert", certificate, "-www",
                                       "-quiet"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            self.addCleanup(server.wait)
            self.addCleanup(server.kill)
            stand = self.allowing(port)

            def listens():
                with socket.socket() as probe:
                    return probe.connect_ex(("127.0.0.1", port)) == 0
            eventually(listens)
            for way in ("connect", "socks by name"):
                done = self.curl(*self.ways(stand)[way], "--cacert", str(certificate), f"https://{ALLOWED}:{port}/")
                self.assertEqual(0, done.returncode, f"{way}: {done.stderr}")
                self.assertIn(b"TLSv1.3", done.stdout)

    def test_ends_are_passed_on(self):
        server = self.raw(lambda client: client.sendall(b"got " + read_all(client)))
        stand = self.allowing(server.port)
        with stand.tunnel(f"{ALLOWED}:{server.port}") as client:
            client.sendall(b"all of it")
            client.shutdown(socket.SHUT_WR)
            self.assertEqual(b"got all of it", read_all(client))

    def test_the_other_side_may_end_first(self):
        heard = []

        def serve(client):
            client.sendall(b"that is all")
            client.shutdown(socket.SHUT_WR)
            heard.append(read_all(client))
        server = self.raw(serve)
        with self.allowing(server.port).tunnel(f"{ALLOWED}:{server.port}") as client:
            self.assertEqual(b"that is all", read_all(client))
            client.sendall(b"and more")
            client.shutdown(socket.SHUT_WR)
            eventually(lambda: heard)
        self.assertEqual([b"and more"], heard)

    def test_a_cut_is_no_end(self):
        def serve(client):
            client.sendall(b"the beginning")
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            client.recv(1)
        server = self.raw(serve)
        with self.allowing(server.port).tunnel(f"{ALLOWED}:{server.port}") as client:
            self.assertEqual(b"t", client.recv(1))
            client.sendall(b"x")
            with self.assertRaises(ConnectionResetError):
                read_all(client)

    def test_bytes_before_the_way_is_open(self):
        server = self.raw(lambda client: client.sendall(client.recv(5)))
        request = f"CONNECT {ALLOWED}:{server.port} HTTP/1.1\r\n\r\nearly".encode()
        self.assertTrue(self.allowing(server.port).ask(request).endswith(b"\r\n\r\nearly"))

    # What is refused.

    def test_destinations_that_no_rule_names(self):
        port = self.web.port
        stand = self.stand([f"{ALLOWED}:{port}", f"*.below.test:{port}"])
        hosts = ("evil.test", "127.0.0.1", "127.1", "2130706433", "0x7f000001", "0x7f.1", "0177.0.0.1", "localhost",
                 f"{ALLOWED}.evil.test", f"x.{ALLOWED}", "below.test", "169.254.169.254", "10.0.0.1", "8.8.8.8")
        destinations = [f"{host}:{port}" for host in (*hosts, "[::1]", "[::ffff:127.0.0.1]", "[::]", "[fe80::1]")]
        destinations += [f"{ALLOWED}:{port + 1}", f"{ALLOWED}:22"]
        for destination in destinations:
            self.assertEqual([b"403"], self.connect_status(stand, destination), destination)
        for destination in destinations:
            answer = stand.ask(f"GET http://{destination}/ HTTP/1.1\r\nHost: {ALLOWED}:{port}\r\n\r\n".encode())
            self.assertTrue(answer.startswith(b"HTTP/1.1 403 "), (destination, answer))
        for host in (*hosts, "::1", "::ffff:127.0.0.1"):
            answer = stand.ask(self.socks(host, port))
            self.assertEqual((b"\x05\x00", 5, 2), (answer[:2], answer[2], answer[3]), host)
        logged = stand.decisions(2 * len(destinations) + len(hosts) + 2)
        self.assertEqual(destinations, [decision.destination for decision in logged[:len(destinations)]])
        self.assertEqual({("", "refused")}, {(decision.address, decision.allowed) for decision in logged})

    def test_socks_by_address(self):
        stand = self.stand([f"{ALLOWED}:{self.web.port}"])
        port = struct.pack(">H", self.web.port)
        for kind, address in ((1, "127.0.0.1"), (4, "::1"), (4, "::ffff:127.0.0.1"), (4, "::ffff:10.0.0.1")):
            packed = socket.inet_pton(socket.AF_INET if kind == 1 else socket.AF_INET6, address)
            answer = stand.ask(b"\x05\x01\x00\x05\x01\x00" + bytes([kind]) + packed + port)
            self.assertEqual(2, answer[3], address)

    def test_a_name_that_leads_to_loopback(self):
        name = "metadata.test"
        refused = self.stand([f"{name}:{self.web.port}"], addresses=(f"{name}=127.0.0.1",))
        self.assertEqual([b"403"], self.connect_status(refused, f"{name}:{self.web.port}"))
        self.assertIn("loopback", refused.decisions(1)[0].reason)
        allowed = self.stand([f"{name}:{self.web.port}", f"127.0.0.0/8:{self.web.port}"], addresses=(f"{name}=127.0.0.1",))
        with allowed.tunnel(f"{name}:{self.web.port}"):
            self.assertEqual("127.0.0.1", allowed.decisions(1)[0].address)

    def test_localhost_names_loopback_by_itself(self):
        """The name is resolved by this host's own name service."""
        stand = self.stand([f"localhost:{self.web.port}"], addresses=())
        with stand.tunnel(f"localhost:{self.web.port}"):
            self.assertEqual("127.0.0.1", stand.decisions(1)[0].address)
        elsewhere = self.stand([f"localhost:{self.web.port}"], addresses=("localhost=10.0.0.1",))
        self.assertEqual([b"403"], self.connect_status(elsewhere, f"localhost:{self.web.port}"))
        self.assertIn("private", elsewhere.decisions(1)[0].reason)

    def test_a_wide_network_does_not_mean_the_host(self):
        stand = self.stand([f"0.0.0.0/0:{self.web.port}", f"[::/0]:{self.web.port}", f"{ALLOWED}:{self.web.port}"])
        for host in (ALLOWED, "127.0.0.1", "[::1]", "[::ffff:127.0.0.1]"):
            self.assertEqual([b"403"], self.connect_status(stand, f"{host}:{self.web.port}"), host)

    def test_a_redirect_to_another_place(self):
        other = WebServer("127.0.0.2")
        self.addCleanup(other.close)
        stand = self.allowing()
        for target in (f"http://127.0.0.2:{other.port}/", "http://169.254.169.254/latest/", f"http://[::1]:{self.web.port}/"):
            for way in ("http", "connect", "socks by name"):
                done = self.curl(*self.ways(stand)[way], "-L", "-w", "%{http_code} %{http_connect}", f"http://{ALLOWED}:{self.web.port}/to?{target}")
                if way == "http":
                    self.assertTrue(done.stdout.endswith(b"403 000"), (target, done.stdout))
                else:
                    self.assertNotEqual(0, done.returncode, (way, target))
                self.assertNotIn(b"GET /", done.stdout)
        refused = [decision for decision in stand.decisions(18) if decision.allowed == "refused"]
        self.assertEqual(9, len(refused))

    def test_commands_of_socks(self):
        stand = self.allowing()
        for command in (2, 3, 9):
            self.assertEqual(7, stand.ask(self.socks(ALLOWED, self.web.port, command))[3])
        self.assertEqual(b"\x05\xff", stand.ask(b"\x05\x01\x02"))
        self.assertEqual(["refused"] * 4, [decision.allowed for decision in stand.decisions(4)])

    def test_what_cannot_be_read(self):
        stand = self.allowing()
        host = f"{ALLOWED}:{self.web.port}"
        get = f"GET http://{host}/ HTTP/1.1\r\n"
        for request in (f"GET / HTTP/1.1\r\nHost: {host}\r\n\r\n", f"GET http://u:p@{host}/ HTTP/1.1\r\n\r\n",
                        f"CONNECT u@{host} HTTP/1.1\r\n\r\n", get + "A: b\r\n c\r\n\r\n", get + "A : b\r\n\r\n",
                        get + "A: b\nC: d\r\n\r\n", get + "A: b\0\r\n\r\n", get + "A: b\rc\r\n\r\n", "\x16\x03\x01\x02",
                        f"GET http://{host}/\0 HTTP/1.1\r\n\r\n", f"GET http://{host}/ HTTP/2.0\r\n\r\n", "CONNECT a\r\n\r\n"):
            answer = stand.ask(request.encode())
            self.assertTrue(answer.startswith(b"HTTP/1.1 400 "), (request, answer))
        self.assertTrue(stand.ask((get + "A: " + "a" * 70000).encode()).startswith(b"HTTP/1.1 431 "))
        self.assertEqual({"refused"}, {decision.allowed for decision in stand.decisions(13)})

    def test_an_answer_outlives_what_is_still_sent(self):
        """A client that is refused while it sends its body still gets the reason."""
        stand = self.allowing()
        for _ in range(20):
            with stand.connect() as client:
                client.sendall(b"POST http://evil.test/ HTTP/1.1\r\nContent-Length: 200000\r\n\r\n" + bytes(200000))
                self.assertIn(b" 403 ", read_all(client))

    def test_nobody_answers(self):
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        stand = self.allowing(port)
        self.assertEqual([b"502"], self.connect_status(stand, f"{ALLOWED}:{port}"))
        self.assertEqual(5, stand.ask(self.socks(ALLOWED, port))[3])
        for decision in stand.decisions(2):
            self.assertEqual(("allowed", "", "Connection refused"), (decision.allowed, decision.address, decision.reason))
        unknown = self.stand(["no-such-name.invalid:80"])
        self.assertEqual([b"502"], self.connect_status(unknown, "no-such-name.invalid:80"))
        self.assertEqual(4, unknown.ask(self.socks("no-such-name.invalid", 80))[3])

    def test_slow_heads(self):
        stand = self.allowing()
        began = time.monotonic()
        with stand.connect() as slow, stand.connect() as silent, stand.connect() as socks:
            slow.sendall(b"CONNECT ")
            socks.sendall(b"\x05\x01\x00")
            self.assertIn(b" 408 ", read_all(slow))
            self.assertEqual(b"", read_all(silent))
            self.assertEqual(b"\x05\x00\x05\x01", read_all(socks)[:4])
        self.assertGreater(time.monotonic() - began, 9)

    def test_idle_connections_are_cut(self):
        server = self.raw(read_all)
        stand = self.allowing(server.port, idle=1)
        with stand.tunnel(f"{ALLOWED}:{server.port}") as client, self.assertRaises(ConnectionResetError):
            read_all(client)
